"""The folds of a cross-validation."""

import warnings
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, check_cv

from dropglm.estimators.validation import TrainingData

FOLDS = 5
# By default folds are drawn 400 / (rows · classes) times, at least once and at most four times: scores of few
# rows are noisy, and fits to them are fast.
ROWS_TIMES_CLASSES = 400
MAX_REPEATS = 4


class Fold(NamedTuple):
    """How often each row is trained on, and the held-out rows."""

    times: np.ndarray
    test: np.ndarray


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
        if counts.max() < 2 or (every_class and counts.min() < 2):
            advice = "" if counts.max() < 2 else ", or choose the settings by log loss or accuracy"
            raise ValueError(
                f"Class {data.classes[counts.argmin()]!s} has only one row, too few for cross-validation; "
                f"add rows of this class{advice}."
            )
        alone = np.flatnonzero(counts[data.y] == 1)
        cv = min(int(cv), int(counts.min() if every_class else counts.max()))
        if repeats > 1:
            cv = RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=0)
    folds = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        splits = list(check_cv(cv, data.y, classifier=True).split(data.X, data.y))
    for number, (train, test) in enumerate(splits):
        train, test = (np.arange(n)[rows] for rows in (train, test))
        kept = np.intersect1d(test, alone)
        train, test = np.concatenate([train, kept]), test[~np.isin(test, kept)]
        fold = Fold(np.bincount(train, minlength=n).astype(np.float64), test)
        weighted = np.bincount(data.y, fold.times * data.weights, minlength=K)
        if not weighted.all():
            raise ValueError(
                f"Split {number} has no row of class {data.classes[weighted.argmin()]} to train on; use "
                "fewer folds, or pass other splits as cv."
            )
        if not data.sample_weights[test].any():
            raise ValueError(f"Split {number} has no row of positive weight to score.")
        folds.append(fold)
    if not folds:
        raise ValueError("cv has no folds.")
    return folds
