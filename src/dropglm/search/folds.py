"""The folds of a cross-validation."""

import warnings
from numbers import Integral
from typing import Any

import numpy as np

from dropglm.base.errors import InputError
from dropglm.places.rows import Fold
from dropglm.places.training_data import TrainingData

FOLDS = 5
# By default folds are drawn 400 / (rows · classes) times, at least once and at most four times: scores of few
# rows are noisy, and fits to them are fast.
ROWS_TIMES_CLASSES = 400
MAX_REPEATS = 4


def stratified_splits(y: np.ndarray, n_folds: int, repeats: int = 1) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training and test rows of folds in which classes have about the same shares.

    They are those of scikit-learn's ``StratifiedKFold`` or, if repeated, of ``RepeatedStratifiedKFold`` with
    ``random_state=0``, whose import takes 0.4 s.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Numbers of the classes.
    n_folds : int
        At most the number of rows of the largest class.
    repeats : int, default=1
        How often the folds are drawn; they are shuffled if this is more than 1.

    Examples
    --------
    >>> [test.tolist() for _, test in stratified_splits(np.array([0, 0, 1, 1, 0, 0]), 2)]
    [[0, 1, 2], [3, 4, 5]]
    """
    _, first, codes = np.unique(y, return_index=True, return_inverse=True)
    codes = np.argsort(np.argsort(first))[codes]
    sizes = fold_sizes(np.bincount(codes), n_folds)
    rng, splits = np.random.RandomState(0), []  # scikit-learn's generator
    for _ in range(repeats):
        fold_of = np.empty(len(y), np.intp)
        for code in range(len(first)):
            of_class = np.arange(n_folds).repeat(sizes[:, code])
            if repeats > 1:
                rng.shuffle(of_class)
            fold_of[codes == code] = of_class
        splits += [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(n_folds)]
    return splits


def fold_sizes(counts: np.ndarray, n_folds: int) -> np.ndarray:
    """Return the number of held-out rows of each class in each fold, as scikit-learn's ``StratifiedKFold``.

    Parameters
    ----------
    counts : ndarray of shape (K,)
        The number of rows of each class, in the order of their first rows.
    n_folds : int

    Returns
    -------
    ndarray of shape (n_folds, K)
        Each fold holds out consecutive rows of a class.

    Examples
    --------
    >>> fold_sizes(np.array([4, 3]), 2)
    array([[2, 2],
           [2, 1]])
    """
    # The folds take turns in the sorted list of all rows.
    ends = np.cumsum(counts)
    turns = np.arange(n_folds)[:, None]
    taken = (ends - turns + n_folds - 1) // n_folds  # of the rows before each end
    return np.diff(taken, axis=1, prepend=0)


def fold_count(cv: int, counts: np.ndarray, classes: np.ndarray, *, every_class: bool) -> int:
    """Return the number of folds, limited by the largest class, or by the smallest if folds need every class.

    Parameters
    ----------
    cv : int
    counts : ndarray of shape (K,)
        The number of rows of each class.
    classes : ndarray of shape (K,)
    every_class : bool
        Whether the score of a fold needs rows of every class.

    Raises
    ------
    ValueError
        If a class has too few rows.
    """
    if counts.max() < 2 or (every_class and counts.min() < 2):
        advice = "" if counts.max() < 2 else ", or choose the settings by log loss or accuracy"
        raise InputError(
            f"Class {classes[counts.argmin()]!s} has only one row, too few for cross-validation; "
            f"add rows of this class{advice}."
        )
    return min(cv, int(counts.min() if every_class else counts.max()))


def _splits(cv: Any, data: TrainingData) -> list[Any]:
    """Return the training and test rows of a splitter or an iterable, or raise scikit-learn's error."""
    from sklearn.model_selection import check_cv

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        rows = np.zeros((len(data.y), 1)) if data.X is None else data.X
        return list(check_cv(cv, data.y, classifier=True).split(rows, data.y))


def folds_from(cv: Any, data: TrainingData, *, every_class: bool) -> list[Fold]:
    """Return the folds that scikit-learn's ``cv`` describes.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        A number of folds is limited by the largest class or, if every class has to be in every fold, by the
        smallest. The only row of a class is then never held out, since a fit needs all classes. None means
        five folds; if there are few rows, they are shuffled and drawn several times.
    data : TrainingData
    every_class : bool
        Whether the score of a fold needs rows of every class.

    Returns
    -------
    list of Fold
    """
    n, K = len(data.y), len(data.classes)
    counts = np.bincount(data.y, minlength=K)
    alone = np.empty(0, np.intp)
    repeats = int(np.clip(ROWS_TIMES_CLASSES // (n * K), 1, MAX_REPEATS)) if cv is None else 1
    cv = FOLDS if cv is None else cv
    if isinstance(cv, Integral):
        cv = fold_count(int(cv), counts, data.classes, every_class=every_class)
        alone = np.flatnonzero(counts[data.y] == 1)
    splits = stratified_splits(data.y, cv, repeats) if isinstance(cv, int) and cv > 1 else _splits(cv, data)
    folds = []
    for number, (train, test) in enumerate(splits):
        train, test = (np.arange(n)[rows] for rows in (train, test))
        kept = np.intersect1d(test, alone)
        train, test = np.concatenate([train, kept]), test[~np.isin(test, kept)]
        fold = Fold(np.bincount(train, minlength=n).astype(np.float64), test)
        weighted = np.bincount(data.y, fold.times * data.weights, minlength=K)
        if not weighted.all():
            raise InputError(
                f"Split {number} has no row of class {data.classes[weighted.argmin()]} to train on; use "
                "fewer folds, or pass other splits as cv."
            )
        if not data.sample_weights[test].any():
            raise InputError(f"Split {number} has no row of positive weight to score.")
        folds.append(fold)
    if not folds:
        raise InputError("cv has no folds.")
    return folds
