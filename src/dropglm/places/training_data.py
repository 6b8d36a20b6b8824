"""The labels, weights and, if they are here, the features of a fit, after checks."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import compute_class_weight

from dropglm.base.errors import InputError
from dropglm.base.gpu_arrays import is_on_gpu

# A class of weight 0 gets this share of the other weights instead, so that the intercept stays finite.
NEGLIGIBLE = 1e-9


class TrainingData(NamedTuple):
    """The rows of a fit."""

    X: Any
    y: np.ndarray  # targets, or numbers of the classes
    feature_attributes: dict[str, Any]  # n_features_in_; feature_names_in_, _block_widths if there are any
    sample_weights: np.ndarray
    weights: np.ndarray  # sample weights times class weights
    X_unlabeled: Any = None
    unlabeled_weights: np.ndarray | None = None
    classes: np.ndarray = np.empty(0)  # none in a regression

    def without_zero_weights(self) -> "TrainingData":
        """Return the data without rows of weight 0, which must not matter even if they would overflow."""
        X, weights, y, sample_weights = with_weight(self.X, self.weights, self.y, self.sample_weights)
        return self._replace(X=X, weights=weights, y=y, sample_weights=sample_weights)


def number_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes, at least two, and the number of each row's class."""
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y has only one class, {classes[0]}; a classifier needs at least 2 classes.")
    return classes, numbers


def class_numbers(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the number of each row's class, given the sorted classes; unknown labels raise a ValueError."""
    if y.dtype.kind == classes.dtype.kind != "O":
        numbers = np.searchsorted(classes, y)
        numbers[classes[np.minimum(numbers, len(classes) - 1)] != y] = -1
    else:
        number_of = {label: number for number, label in enumerate(classes.tolist())}
        numbers = np.array([number_of.get(label, -1) for label in y.tolist()], np.intp)
    if (numbers < 0).any():
        row = int(numbers.argmin())
        raise InputError(f"Row {row} has the label {y[row]!s}, which is not among the classes {classes}.")
    return numbers


def class_factors(class_weight: Any, classes: np.ndarray, by_class: np.ndarray) -> np.ndarray:
    """Return the factor of each class, given the sum of the sample weights of each class."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        return by_class.sum() / (len(classes) * by_class)
    if class_weight is None:
        return np.ones(len(classes))
    if not isinstance(class_weight, dict):
        raise InputError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")
    factors = compute_class_weight(class_weight, classes=classes, y=classes)
    if not (np.isfinite(factors).all() and (factors >= 0).all()):
        raise InputError(f"class_weight must be finite and not negative, got {class_weight}.")
    if not factors.any():
        raise InputError("class_weight is zero for every class.")
    return np.where(factors > 0.0, factors, NEGLIGIBLE * factors.max())


def with_weight(X: Any, weights: np.ndarray, *others: np.ndarray) -> tuple[Any, ...]:
    """Return all arrays without the rows of weight 0."""
    kept = weights > 0
    if kept.all():
        return X, weights, *others
    if sparse.issparse(X) or (is_on_gpu(X) and hasattr(X, "tocsr")):
        X = X.tocsr()
    rows = np.flatnonzero(kept) if is_on_gpu(X) else kept
    return X[rows], weights[kept], *(other[kept] for other in others)
