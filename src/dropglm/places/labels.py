"""The labels of rows: a class each, the probabilities of the classes, or any number of labels.

All three are memberships, numbers from 0 to 1 of a row in every class. They sum to 1 over the classes, unless
rows have several labels. Certain memberships are kept as numbers of the classes, which need less memory.
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from dropglm.base import checks
from dropglm.base.errors import InputError
from dropglm.base.gpu_arrays import to_host
from dropglm.places.rows import class_factors, number_classes

# How far the probabilities of a row may be from a sum of 1; they are then scaled.
ROUNDING = 1e-3
SEVERAL = (list, tuple, set, frozenset, np.ndarray)  # what the labels of a row are, if there are several


class RowLabels(NamedTuple):
    """The labels of rows, checked.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        Sorted; the numbers of the columns, if several labels are given as an indicator matrix.
    y : ndarray of shape (n,)
        The number of the class of each row: of probabilities the likeliest one, of several labels the rarest
        one, or K if the row has none.
    membership : ndarray of shape (n, K), or None
        None if y says all.
    multilabel : bool
        Whether rows have any number of labels.
    """

    classes: np.ndarray
    y: np.ndarray
    membership: np.ndarray | None = None
    multilabel: bool = False

    @classmethod
    def of(cls, estimator: Any, y: Any, n: int, label_probabilities: Any = None) -> Self:
        """Return the labels of n rows, or raise an error if they cannot be labels.

        Parameters
        ----------
        estimator : estimator
            Named in messages.
        y : array-like, lists of labels, or RowLabels
            As users pass it to ``fit``.
        n : int
        label_probabilities : array-like, mapping or data frame, optional
            Probabilities of the classes, in place of y.

        Examples
        --------
        >>> RowLabels.of(None, ["b", "a", "b"], 3).y
        array([1, 0, 1])
        >>> RowLabels.of(None, [["b"], ["a", "b"], []], 3).membership
        array([[0., 1.],
               [1., 1.],
               [0., 0.]])
        >>> RowLabels.of(None, None, 2, {"a": [0.9, 0.2], "b": [0.1, 0.8]}).y
        array([0, 1])
        """
        if isinstance(y, RowLabels):
            return cls(*y)
        if label_probabilities is not None:
            if y is not None:
                raise InputError("Give either y or label_probabilities, not both.")
            return cls(*_from_probabilities(label_probabilities, n))
        y = list(y) if isinstance(y, Iterator) else y
        found = several_labels(y, n)
        if found is not None:
            return cls(*_from_indicators(*found))
        y = check_target(estimator, y, n)
        if checks.missing(y) is not None:
            raise InputError(
                "Input y contains NaN, None or infinity; pass rows without labels as X_unlabeled."
            )
        if not _is_vector(y):
            from sklearn.utils.multiclass import check_classification_targets

            with warnings.catch_warnings():
                # scikit-learn takes many classes with few rows each for a regression.
                warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
                check_classification_targets(y)
        return cls(*number_classes(y))

    def counts(self) -> Counter[Any]:
        """Return the number of rows with each label; of probabilities, those where it is the likeliest."""
        if not self.multilabel:
            return Counter(self.classes[self.y].tolist())
        assert self.membership is not None
        return Counter(dict(zip(self.classes.tolist(), map(int, self.membership.sum(axis=0)), strict=True)))

    def take(self, rows: Any) -> Self:
        """Return those of some rows."""
        known = self.membership
        return self._replace(y=self.y[rows], membership=None if known is None else known[rows])


def with_class_weights(class_weight: Any, labels: RowLabels, sample_weights: np.ndarray) -> np.ndarray:
    """Return sample weights times the weights of the classes, which several labels cannot have."""
    classes, y, membership, multilabel = labels
    by_class = np.bincount(y, sample_weights) if membership is None else sample_weights @ membership
    if not by_class.all():
        raise InputError(
            f"All rows of class {classes[by_class.argmin()]} have a sample_weight of 0; remove these rows."
        )
    if multilabel:
        if class_weight is not None:
            raise InputError("class_weight cannot be used if rows have several labels; use sample_weight.")
        return sample_weights
    factors = class_factors(class_weight, classes, by_class)
    return np.asarray(sample_weights * (factors[y] if membership is None else membership @ factors))


def check_labels(estimator: Any, y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and the number of each row's class, for an estimator that takes a class per row."""
    labels = RowLabels.of(estimator, y, n)
    if labels.multilabel:
        raise InputError(f"{type(estimator).__name__} takes one label per row, but y has several.")
    return labels.classes, labels.y


def several_labels(y: Any, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the classes and the indicators of rows with any number of labels; None if y is something else.

    Lists of labels are not arrays: lists of 0 and 1 that are as long as each other are an indicator matrix.

    Examples
    --------
    >>> classes, Y = several_labels([["b", "a"], [], ("b",)], 3)
    >>> classes, Y.tolist()
    (array(['a', 'b'], dtype='<U1'), [[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    >>> several_labels([[1, 0, 0], [0, 1, 1]], 2)[0], several_labels(["a", "b"], 2)
    (array([0, 1, 2]), None)
    """
    if not has_several(y):
        return None
    if sparse.issparse(y):
        return _of_matrix(y.toarray(), n)
    y = to_host(y)
    if isinstance(y, np.ndarray) and y.ndim == 2:
        return _of_matrix(y, n)
    if hasattr(y, "columns"):  # a data frame of indicators
        return np.array([str(name) for name in y.columns]), _of_matrix(y.to_numpy(), n)[1]
    rows = _list(y)
    for number, row in enumerate(rows):
        if not isinstance(row, SEVERAL):
            raise InputError(
                f"Row {number} of y is {row!r}, but other rows are lists of labels; give a list for each, "
                "which may be empty."
            )
    if len(rows) != n:
        raise InputError(f"y has {len(rows)} entries, but X has {n} rows: inconsistent numbers of samples.")
    lists = [list(row.tolist() if isinstance(row, np.ndarray) else row) for row in rows]
    values = [label for row in lists for label in row]
    if len(lists[0]) != 1 and _are_indicators(lists, len(lists[0])):
        return _of_matrix(np.array(lists), n)
    if not values:
        raise InputError("No row of y has a label; a classifier needs some.")
    for number, row in enumerate(lists):
        for one in row:
            if isinstance(one, (*SEVERAL, Mapping)):
                raise InputError(
                    f"Row {number} of y has {one!r} in its list of labels; a label is a string or a number."
                )
            if one is None or one != one:
                raise InputError(f"Row {number} of y has a missing label in its list; leave it out.")
    classes, numbers = np.unique(np.array(values), return_inverse=True)
    Y = np.zeros((n, len(classes)))
    Y[np.repeat(np.arange(n), [len(row) for row in lists]), numbers] = 1.0
    return classes, Y


def has_several(y: Any) -> bool:
    """Return whether y has any number of labels per row, as lists or as a matrix.

    A single column is that of one label per row, as in scikit-learn.

    Examples
    --------
    >>> has_several([None, ["a"]]), has_several(np.eye(2)), has_several(["a", None])
    (True, True, False)
    """
    if sparse.issparse(y):
        return True
    if hasattr(y, "columns") and hasattr(y, "to_numpy"):
        return len(y.columns) > 1
    if isinstance(to_host(y), np.ndarray) and y.dtype != object:
        return bool(y.ndim == 2 and y.shape[1] > 1)
    if y is None or isinstance(y, str | bytes) or not isinstance(y, Iterable):
        return False
    return any(isinstance(row, SEVERAL) for row in _list(y))


def with_labels(y: Any) -> np.ndarray:
    """Return which rows of lists of labels, or of a matrix, are not missing: None or NaN in their place.

    Examples
    --------
    >>> with_labels([["a"], None, []]), with_labels(np.array([[1.0, 0.0], [np.nan, np.nan]]))
    (array([ True, False,  True]), array([ True, False]))
    """
    if sparse.issparse(y):
        return np.ones(y.shape[0], np.bool_)
    if hasattr(y, "columns") or (isinstance(y, np.ndarray) and y.ndim == 2):
        matrix = np.asarray(y)
        if matrix.dtype.kind not in "fO":
            return np.ones(len(matrix), np.bool_)
        return ~(matrix != matrix).all(axis=1)
    return np.array([isinstance(row, SEVERAL) or not is_missing(row) for row in _list(y)], np.bool_)


def is_missing(value: Any) -> bool:
    """Return whether a label is missing: None, NaN, NaT or pandas' NA."""
    return value is None or checks.missing(np.array([value], object)) is not None


def _list(y: Any) -> list[Any]:
    return list(y.to_list() if hasattr(y, "to_list") else y)  # of a series


def indicators_of(y: Any, classes: np.ndarray) -> np.ndarray:
    """Return 1 for the labels of each row among known ones, 0 for the others; unknown labels are left out.

    Examples
    --------
    >>> indicators_of([("b",), (), ("a", "c")], np.array(["a", "b"]))
    array([[0, 1],
           [0, 0],
           [1, 0]])
    """
    y = as_rows(y)
    if y.ndim == 1 and np.array_equal(classes, np.arange(len(classes))) and _are_indicators(y, len(classes)):
        y = np.array(y.tolist())
    if y.ndim == 2:
        return np.asarray(_of_matrix(y, len(y))[1], int)
    number_of = {label: k for k, label in enumerate(classes.tolist())}
    Y = np.zeros((len(y), len(classes)), int)
    for row, labels in enumerate(y):
        Y[row, [number_of[label] for label in labels if label in number_of]] = 1
    return Y


def as_rows(y: Any) -> np.ndarray:
    """Return several labels per row as an array that can be joined to others: indicators, or tuples.

    Examples
    --------
    >>> as_rows([["a"], []])
    array([('a',), ()], dtype=object)
    """
    if sparse.issparse(y):
        return np.asarray(y.toarray())
    if (isinstance(y, np.ndarray) and y.ndim == 2) or hasattr(y, "columns"):
        return np.asarray(y)
    rows = [tuple(row) if isinstance(row, SEVERAL) else row for row in _list(y)]
    found = np.empty(len(rows), object)
    found[:] = rows
    return found


def _are_indicators(rows: Any, K: int) -> bool:
    """Return whether all rows consist of K numbers, which are 0 or 1."""
    values = [one for row in rows for one in row]
    return {len(row) for row in rows} == {K} and all(
        type(one) in (int, float, bool) and one in (0, 1) for one in values
    )


def _of_matrix(Y: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the columns, and the indicators, after checking these."""
    if len(Y) != n:
        raise InputError(f"y has {len(Y)} rows, but X has {n}: inconsistent numbers of samples.")
    if Y.dtype.kind not in "biuf" or not np.isin(Y, (0, 1)).all():
        raise InputError(
            f"y has {Y.shape[1]} columns, so rows have several labels, but it is not a matrix of 0 and 1; "
            "give such a matrix or, for each row, a list of its labels."
        )
    return np.arange(Y.shape[1]), Y.astype(np.float64)


def _from_indicators(classes: np.ndarray, Y: np.ndarray) -> tuple[Any, ...]:
    counts = Y.sum(axis=0)
    if len(classes) == 1:
        raise InputError(
            f"y has a single label, {classes.tolist()[0]!r}; several labels per row need at least two. To "
            "tell rows with the label from rows without, give one of two classes per row."
        )
    if not counts.any():
        raise InputError("No row of y has a label; a classifier needs some.")
    if not counts.all():
        raise InputError(
            f"No row of y has the label {classes[int(counts.argmin())]}; leave out columns without a 1."
        )
    rarest = np.where(Y > 0.0, counts, np.inf).argmin(axis=1)
    return classes, np.where(Y.any(axis=1), rarest, len(classes)), Y, True


def probabilities_by_class(given: Any, n: int) -> dict[Any, np.ndarray]:
    """Return the probabilities of n rows by class, from a matrix, a mapping or a data frame.

    Examples
    --------
    >>> probabilities_by_class({"b": [0.1], "a": [0.9]}, 1)
    {'a': array([0.9]), 'b': array([0.1])}
    """
    if isinstance(given, Mapping) or (hasattr(given, "columns") and hasattr(given, "to_numpy")):
        names = list(given.keys() if isinstance(given, Mapping) else given.columns)
        order = sorted(range(len(names)), key=names.__getitem__)
        columns: Any = [given[names[k]] for k in order]
        classes = np.array([names[k] for k in order])
    else:
        columns, classes = given, None
    try:
        P = np.asarray(to_host(columns), np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "label_probabilities is not numeric, or its rows or columns differ in length; give a matrix of "
            "numbers, or a column of numbers for each class."
        ) from None
    P = P if classes is None else P.T
    if P.ndim != 2 or len(P) != n or P.shape[1] < 2:
        raise InputError(
            f"label_probabilities has shape {P.shape}, but must have a row for each of the {n} rows of X and "
            "a column for each of at least two classes."
        )
    return dict(zip(range(P.shape[1]) if classes is None else classes.tolist(), P.T, strict=True))


def _from_probabilities(given: Any, n: int) -> tuple[Any, ...]:
    by_class = probabilities_by_class(given, n)
    classes, P = np.array(list(by_class)), np.column_stack(list(by_class.values()))
    sums = P.sum(axis=1)
    bad = ~(np.isfinite(P).all(axis=1) & (P >= 0.0).all(axis=1) & (np.abs(sums - 1.0) <= ROUNDING))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"Row {row} of label_probabilities is {P[row].tolist()}; give probabilities that sum to 1."
        )
    P = P / sums[:, None]
    absent = ~P.any(axis=0)
    if absent.any():
        raise InputError(
            f"No row of label_probabilities has the class {classes[int(absent.argmax())]}; leave out its "
            "column."
        )
    return classes, P.argmax(axis=1), P


def check_target(estimator: Any, y: Any, n: int) -> np.ndarray:
    """Return y as an array with one entry per row."""
    if y is None:
        raise InputError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    y = to_host(y)
    if not _is_vector(y):
        from sklearn.utils.validation import column_or_1d

        y = column_or_1d(y, warn=True)
    if len(y) != n:
        raise InputError(f"y has {len(y)} entries, but X has {n} rows: inconsistent numbers of samples.")
    return y


def _is_vector(y: Any) -> bool:
    """Return whether y is a vector of strings, integers or truth values, which needs no further check."""
    if type(y) is not np.ndarray or y.ndim != 1:
        return False
    return y.dtype.kind in "UTbiu" or (y.dtype.kind == "O" and set(map(type, y.tolist())) == {str})
