"""Fitted models as scikit-learn's own: the same coefficients in an estimator that needs nothing of ours."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.multiclass import OneVsRestClassifier

from dropglm.base.errors import InputError
from dropglm.base.gpu_arrays import to_host
from dropglm.core.families import Family, Linear, Poisson
from dropglm.core.predictions import MULTILABEL


def sklearn_classifier(model: Any, dtype: Any = None) -> Any:
    """Return scikit-learn's ``LogisticRegression``, or one per class in a ``OneVsRestClassifier``.

    ``model`` has ``coef_``, ``intercept_``, ``classes_``, ``multi_class_`` and ``thresholds_``. The
    coefficients keep their type unless another one is given.
    """
    several_labels = model.multi_class_ == MULTILABEL
    coef, intercept = (np.array(part, dtype) for part in (_dense(model.coef_), to_host(model.intercept_)))
    classes = np.array(model.classes_)
    if not several_labels and (len(classes) == 2 or model.multi_class_ == "multinomial"):
        return _with_names(_logistic(coef, intercept, classes), model)
    # Its attributes differ between versions, so a fit to almost nothing sets them.
    target = np.eye(len(classes), dtype=int) if several_labels else classes
    several = OneVsRestClassifier(LogisticRegression()).fit(np.zeros((len(classes), 1)), target)
    several.classes_ = classes
    if several_labels:
        several.thresholds_ = np.full(len(classes), 0.5) if model.thresholds_ is None else model.thresholds_
    several.estimators_ = [
        _logistic(coef[k : k + 1], intercept[k : k + 1], np.array([0, 1])) for k in range(len(classes))
    ]
    several.n_features_in_ = coef.shape[1]
    return _with_names(several, model)


def _logistic(coef: np.ndarray, intercept: np.ndarray, classes: np.ndarray) -> LogisticRegression:
    model = LogisticRegression()
    model.coef_, model.intercept_, model.classes_ = coef, intercept, classes
    model.n_features_in_, model.n_iter_ = coef.shape[1], np.zeros(1, np.int32)
    return model


REGRESSORS: dict[type[Family], Callable[[], Any]] = {Linear: LinearRegression, Poisson: PoissonRegressor}


def sklearn_regressor(model: Any) -> Any:
    """Return scikit-learn's regressor of the same family with the same coefficients."""
    if model.family not in REGRESSORS:
        known = ", ".join(family.__name__ for family in REGRESSORS)
        raise InputError(
            f"scikit-learn has no regressor of the family {model.family.__name__}; to_sklearn is for {known}."
        )
    # Predictions need private attributes, which a fit to almost nothing sets.
    regressor = REGRESSORS[model.family]().fit(np.zeros((2, 1)), np.ones(2))
    regressor.coef_, regressor.intercept_ = _dense(model.coef_)[0], model.intercept_
    regressor.n_features_in_ = len(regressor.coef_)
    return _with_names(regressor, model)


def _dense(coef: Any) -> np.ndarray:
    """Return a copy of the coefficients, of shape (K, d)."""
    return np.atleast_2d(coef.toarray() if hasattr(coef, "toarray") else np.array(to_host(coef)))


def _with_names(copy: Any, model: Any) -> Any:
    if hasattr(model, "feature_names_in_"):
        copy.feature_names_in_ = model.feature_names_in_
    return copy
