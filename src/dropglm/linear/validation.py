"""Checks of an estimator's settings and of the data that users pass to ``fit``."""

from traceback import walk_stack
from types import FrameType
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from dropglm.base import checks
from dropglm.base.blocks import Blocks
from dropglm.base.errors import InputError
from dropglm.places.labels import RowLabels, check_target, with_class_weights
from dropglm.places.rows import TrainingData, with_weight

# Modules of scikit-learn that may call fit without splitting what they pass on.
PASSING_ON = ("sklearn.base", "sklearn.callback", "sklearn.compose", "sklearn.pipeline", "sklearn.utils")


def check_settings(estimator: Any, grids: tuple[str, ...] = ()) -> None:
    """Check the settings as far as the estimator has them, except those that are grids of a search."""
    for name in ("l2", "discount"):
        if name not in grids:
            checks.not_negative(getattr(estimator, name, 0.0), name)
    checks.not_negative(estimator.tol, "tol")
    checks.whole_number(estimator.max_iter, "max_iter", least=1)
    if hasattr(estimator, "rounds"):
        checks.whole_number(estimator.rounds, "rounds")
        checks.not_negative(estimator.rounds, "rounds")
    for name in (
        *("fit_intercept", "warm_start", "one_standard_error"),
        *("extend_l2", "race", "calibrate", "naive_bayes"),
    ):
        checks.yes_or_no(getattr(estimator, name, False), name)


def check_classification(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    X_unlabeled: Any,
    unlabeled_weight: Any,
    groups: Any = None,
    label_probabilities: Any = None,
) -> TrainingData:
    """Return the data of a classifier, with classes numbered from 0; the estimator is not changed."""
    X, X_unlabeled, unlabeled_weights, attributes = _checked_features(
        estimator, X, X_unlabeled, unlabeled_weight
    )
    labels = RowLabels.of(estimator, y, X.shape[0], label_probabilities)
    sample_weights = checks.weights(sample_weight, X.shape[0])
    checks.some_weight(sample_weights)
    return TrainingData(
        X,
        labels.y,
        attributes,
        sample_weights,
        with_class_weights(estimator.class_weight, labels, sample_weights),
        X_unlabeled,
        unlabeled_weights,
        labels.classes,
        None if groups is None else checks.groups(groups, X.shape[0]),
        labels.membership,
        labels.multilabel,
    )


def check_regression(
    estimator: Any, X: Any, y: Any, sample_weight: Any, X_unlabeled: Any, unlabeled_weight: Any
) -> TrainingData:
    """Return the data of a regressor; the estimator is not changed."""
    X, X_unlabeled, unlabeled_weights, attributes = _checked_features(
        estimator, X, X_unlabeled, unlabeled_weight
    )
    y = checks.numbers(check_target(estimator, y, X.shape[0]), "y")
    weights = checks.weights(sample_weight, X.shape[0])
    checks.some_weight(weights)
    return TrainingData(X, y, attributes, weights, weights, X_unlabeled, unlabeled_weights)


def _checked_features(
    estimator: Any, X: Any, X_unlabeled: Any, unlabeled_weight: Any
) -> tuple[Any, Any, np.ndarray | None, dict[str, Any]]:
    """Return what ``check_features`` returns, and the attributes that describe the features."""
    unfitted = type(estimator)(**estimator.get_params(deep=False))  # on which checks may set attributes
    X, *unlabeled = check_features(unfitted, X, X_unlabeled, unlabeled_weight, allow_blocks=True)
    names = ("n_features_in_", "feature_names_in_")
    attributes = {name: getattr(unfitted, name) for name in names if hasattr(unfitted, name)}
    if isinstance(X, Blocks):
        attributes["_block_widths"] = X.widths
    return X, *unlabeled, attributes


def check_features(
    estimator: Any,
    X: Any,
    X_unlabeled: Any = None,
    unlabeled_weight: Any = None,
    *,
    allow_blocks: bool = False,
) -> tuple[Any, Any, np.ndarray | None]:
    """Return X and X_unlabeled as finite matrices with the same features, and the weights of the latter."""
    check = checks.features_or_blocks if allow_blocks else checks.features
    checked = check(X)
    if checks.is_unnamed(X):
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
    else:
        validate_data(estimator, X, skip_check_array=True)  # sets both
    X = checked
    if X_unlabeled is None:
        if unlabeled_weight is not None:
            raise InputError("unlabeled_weight was given without X_unlabeled.")
        return X, None, None
    checks.same_names(X_unlabeled, getattr(estimator, "feature_names_in_", None))
    unlabeled = check(X_unlabeled, "X_unlabeled")
    widths = getattr(X, "widths", None)
    if widths != getattr(unlabeled, "widths", None):
        wanted = "a single matrix" if widths is None else f"Blocks of {widths} columns"
        raise InputError(f"X_unlabeled must be {wanted}, like X.")
    if unlabeled.shape[1] != X.shape[1]:
        raise InputError(f"X_unlabeled has {unlabeled.shape[1]} columns, but X has {X.shape[1]}.")
    check_not_split(X.shape[0], unlabeled.shape[0])
    weights = checks.weights(unlabeled_weight, unlabeled.shape[0], "unlabeled_weight", "X_unlabeled")
    if not weights.any():
        return X, None, None
    return X, *with_weight(unlabeled, weights)


def check_not_split(n: int, m: int) -> None:
    """Raise an error if scikit-learn may have split the unlabelled rows along with X.

    Cross-validation, searches and some meta-estimators split every array that has as many rows as X. If one
    of them passes on n labelled and m = n unlabelled rows, part of the latter was silently left out.
    """
    if n == m and any(_may_split(frame) for frame, _ in walk_stack(None)):
        raise InputError(
            f"X_unlabeled has as many rows as X ({n}), and scikit-learn, which calls this fit, splits such "
            "arrays along with X, so part of X_unlabeled may have been left out. Pass a different number of "
            "unlabelled rows, for example one fewer."
        )


def _may_split(frame: FrameType) -> bool:
    """Return whether this is code of scikit-learn that may split its input."""
    # scikit-learn splits silently and offers no public way to notice it, so we look at the callers. If it
    # renames its modules, the check does nothing.
    module = frame.f_globals.get("__name__", "")
    return module.startswith("sklearn.") and not module.startswith(PASSING_ON)


def check_classes(estimator: Any, classes: Any) -> np.ndarray:
    """Return the sorted classes of an estimator that learns from parts of the data."""
    if classes is None:
        raise InputError(
            "The first call to partial_fit requires classes, the list of all labels that can occur."
        )
    if np.ndim(classes) != 1 or len(np.unique(classes)) < 2:
        raise InputError(f"classes must list at least 2 labels, got {classes!r}.")
    return RowLabels.of(estimator, classes, len(classes)).classes
