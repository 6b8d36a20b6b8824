"""Predictions of the linear classifiers on Dask."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dropglm import checks


class ClassPredictions:
    """Predictions of collections, or of data in memory; for subclasses of ``DaskModel``."""

    classes_: np.ndarray
    _each: Callable[..., Any]

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : Dask array or data frame, list of delayed objects or futures, or data in memory

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n,)
        """
        checks.fitted(self, "classes_")
        return self._each(X, "predict", None, self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class.

        Parameters
        ----------
        X : Dask array or data frame, list of delayed objects or futures, or data in memory

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n, K)
        """
        checks.fitted(self, "classes_")
        return self._each(X, "predict_proba", len(self.classes_), np.float64)

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : Dask array or data frame, list of delayed objects or futures, or data in memory

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n, K)
        """
        checks.fitted(self, "classes_")
        return self._each(X, "predict_log_proba", len(self.classes_), np.float64)

    def decision_function(self, X: Any) -> Any:
        """Return the predictors: log odds of the second of two classes, or one per class.

        Parameters
        ----------
        X : Dask array or data frame, list of delayed objects or futures, or data in memory

        Returns
        -------
        Dask array, list of delayed objects, or ndarray, of shape (n,) or (n, K)
        """
        checks.fitted(self, "classes_")
        K = len(self.classes_)
        return self._each(X, "decision_function", None if K == 2 else K, np.float64)
