"""Predictions from ``coef_``, ``intercept_`` and, for classifiers, ``classes_``.

The estimators inherit them, and so do models from files, which need neither scikit-learn nor its checks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dropglm.base.gpu_arrays import is_on_gpu, like, predictors_on_gpu, to_host
from dropglm.core.families import Logistic, Multinomial

MULTILABEL = "multilabel"  # value of ``multi_class_`` if a row has any number of labels

ENTRIES = 1 << 16  # products of entries and coefficients that are computed at a time


class LinearPredictions:
    """Predictors of a model that is linear in its features."""

    coef_: Any
    intercept_: Any
    classes_: np.ndarray
    n_features_in_: int

    def _snapshot(self) -> Self:
        """Return a fitted model that does not change while it predicts."""
        return self

    def _dense_coef(self) -> np.ndarray:
        """Return the coefficients as a dense array of shape (K, d)."""
        coef = self.coef_
        return np.atleast_2d(coef.toarray() if hasattr(coef, "toarray") else to_host(coef))

    def _coefficients_at(self, columns: np.ndarray) -> np.ndarray:
        """Return the coefficients of some features; shape (K, columns)."""
        return self.coef_[:, columns]

    def _predictors(self, X: Any) -> np.ndarray:
        """Return Xβ + b for new rows; shape (n, K)."""
        if is_on_gpu(X):
            return predictors_on_gpu(X, self.coef_, self.intercept_)
        return predictors(X, to_host(self.coef_), to_host(self.intercept_))


def predictors(X: Any, coef: Any, intercept: Any) -> np.ndarray:
    """Return Xβ + b; shape (n, K)."""
    coef = coef if hasattr(coef, "toarray") else np.atleast_2d(coef)
    single = coef.dtype == X.dtype == np.float32 and isinstance(coef, np.ndarray)
    eta = _product(X, coef) if single and getattr(X, "format", None) == "csr" else X @ coef.T
    return np.asarray(eta.toarray() if hasattr(eta, "toarray") else eta) + np.atleast_1d(intercept)


def _product(X: Any, coef: np.ndarray) -> np.ndarray:
    """Return Xβ for a sparse matrix and coefficients of single precision, summed in double precision.

    SciPy sums in single precision, and then probabilities of 20 newsgroups were off by up to 5e-6. Its
    product in double precision needs a copy of all coefficients, which takes too long for a few texts.
    """
    eta = np.zeros((X.shape[0], len(coef)))
    # Rows with entries: reduceat would give an empty one the first entry of the next.
    rows = np.flatnonzero(np.diff(X.indptr))
    size = max(1, ENTRIES * X.shape[0] // max(1, len(X.data) * len(coef)))
    for first in range(0, len(rows), size):
        some = rows[first : first + size]
        start, stop = X.indptr[some[0]], X.indptr[some[-1] + 1]
        terms = coef[:, X.indices[start:stop]] * X.data[start:stop].astype(np.float64)
        eta[some] = np.add.reduceat(terms, X.indptr[some] - start, axis=1).T
    return eta.astype(coef.dtype)


def all_classes(eta: Any) -> np.ndarray:
    """Return predictors of all classes; for two classes, that of the first is 0."""
    eta = np.asarray(eta, np.float64)
    return np.hstack([np.zeros_like(eta), eta]) if eta.shape[1] == 1 else eta


def indicators(y: np.ndarray, classes: Sequence[int]) -> np.ndarray:
    """Return 1 where a row has a class and 0 elsewhere, one column per class; y are class numbers."""
    return (y[:, None] == np.array(classes)).astype(np.float64)


def class_probabilities(eta: np.ndarray, *, multilabel: bool = False) -> np.ndarray:
    """Return the probability of every class: softmax(η), or σ(η) of each of several labels; shape (n, K)."""
    return Logistic.mean(eta) if multilabel else Multinomial.mean(all_classes(eta))


def softmax_predictors(eta: np.ndarray, *, softmax: bool) -> np.ndarray:
    """Return predictors whose softmax are the probabilities: η itself, or log σ(η) of one against the rest.

    With one against the rest and more than two classes, probabilities are σ(η), scaled to sum to 1. They are
    computed from logarithms, since every σ(η) may underflow to 0.
    """
    return eta if softmax or eta.shape[1] == 1 else -Logistic.log_partition(-eta)


class ClassPredictions(LinearPredictions):
    """Predictions of a classifier, which has ``classes_``."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the predictors Xβ + b.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)
            Features.

        Returns
        -------
        ndarray of shape (n,) for two classes, else (n, K)
            For two classes, positive values favour ``classes_[1]``.
        """
        model = self._snapshot()
        eta = model._predictors(X)
        return eta[:, 0] if eta.shape[1] == 1 and not model._multilabel else eta

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each row.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)
            Features.

        Returns
        -------
        ndarray of shape (n,), or (n, K) if rows have several labels
            Classes; of several labels, 1 for those that a row has and 0 for the others.
        """
        model = self._snapshot()
        eta = model._predictors(X)
        if model._multilabel:
            return (eta > model._thresholds()).astype(np.intp)
        best = self._best_class(eta)
        return like(best, model.classes_[to_host(best)])

    @property
    def _multilabel(self) -> bool:
        """Whether a row has any number of labels, each with a predictor of its own."""
        return False

    def _thresholds(self) -> Any:
        """Return the predictors above which a row has a label."""
        return 0.0

    @staticmethod
    def _best_class(eta: np.ndarray) -> np.ndarray:
        """Return the number of the class with the largest predictor; shape (n,)."""
        return (eta[:, 0] > 0).astype(np.intp) if eta.shape[1] == 1 else eta.argmax(axis=1)


class LogisticPredictions(ClassPredictions):
    """Predictions of a logistic model, for several classes by ``multi_class_``."""

    multi_class_: str
    thresholds_: np.ndarray | None = None

    @property
    def _multilabel(self) -> bool:
        return self.multi_class_ == MULTILABEL

    def _thresholds(self) -> Any:
        """Return log p / (1 - p) for the probability p of each label above which a row has it."""
        return 0.0 if self.thresholds_ is None else Logistic.natural_parameter(self.thresholds_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        With more than two classes, one against the rest, each class has its own probability, and these are
        scaled to sum to 1. If rows have several labels they are not scaled.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)
            Features.

        Returns
        -------
        ndarray of shape (n, K)
            In the order of ``classes_``.
        """
        model = self._snapshot()
        eta = model._predictors(X)
        if model._multilabel:
            return Logistic.mean(eta)
        if eta.shape[1] == 1:
            return np.hstack([Logistic.mean(-eta), Logistic.mean(eta)])
        return Multinomial.mean(softmax_predictors(eta, softmax=model.multi_class_ == "multinomial"))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of ``predict_proba``.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)
            Features.

        Returns
        -------
        ndarray of shape (n, K)
            In the order of ``classes_``.
        """
        model = self._snapshot()
        eta = model._predictors(X)
        if model._multilabel:
            return -Logistic.log_partition(-eta)
        if eta.shape[1] == 1:
            return -np.hstack([Logistic.log_partition(eta), Logistic.log_partition(-eta)])
        eta = softmax_predictors(eta, softmax=model.multi_class_ == "multinomial")
        return eta - Multinomial.log_partition(eta)[:, None]


@dataclass(eq=False)
class FittedLogistic(LogisticPredictions):
    """The fitted part of a logistic model, for features that need no checks.

    Examples
    --------
    >>> model = FittedLogistic(np.array(["bad", "good"]), np.array([[-1.0, 1.0]]), np.zeros(1), "ovr", 2)
    >>> model.predict(np.eye(2))
    array(['bad', 'good'], dtype='<U4')
    """

    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    multi_class_: str
    n_features_in_: int
    thresholds_: np.ndarray | None = None
