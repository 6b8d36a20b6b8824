"""Prediction from ``coef_``, ``intercept_`` and, for classifiers, ``classes_``."""

from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dropglm import checks
from dropglm.blocks import Blocks
from dropglm.families import Logistic, Multinomial


class LinearModel(BaseEstimator):
    """A model that is linear in its features."""

    # Unlabelled rows mean the same to every estimator that takes them, so metadata routing needs no request.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_unlabeled": True, "unlabeled_weight": True}

    def _dense_coef(self) -> np.ndarray:
        """Return the coefficients as a dense array of shape (K, d)."""
        return np.atleast_2d(self.coef_.toarray() if sparse.issparse(self.coef_) else self.coef_)

    def _set_fitted(self, **attributes: Any) -> None:
        """Set all fitted attributes at once, so that a prediction in another thread sees old or new ones."""
        optional = ("feature_names_in_", "_block_widths")
        kept = {name: value for name, value in self.__dict__.items() if name not in optional}
        self.__dict__ = kept | attributes

    @property
    def coef_blocks_(self) -> list[Any]:
        """The coefficients of each block of X, as views of ``coef_``; only one if X is a single matrix."""
        check_is_fitted(self)
        ends = np.cumsum(getattr(self, "_block_widths", (self.coef_.shape[-1],)))
        return [self.coef_[..., start:end] for start, end in pairwise((0, *ends.tolist()))]

    def _snapshot(self) -> Self:
        """Return a copy of the fitted model, which a refit in another thread does not change."""
        check_is_fitted(self)
        snapshot = object.__new__(type(self))
        snapshot.__dict__.update(self.__dict__)
        return snapshot

    def _predictors(self, X: Any) -> np.ndarray:
        """Return Xβ + b for new rows; shape (n, K)."""
        checked = checks.features_or_blocks(X)
        widths = getattr(self, "_block_widths", None)
        if isinstance(checked, Blocks) and widths is not None and checked.widths != widths:
            raise ValueError(
                f"X has blocks of {checked.widths} columns, but the model was fitted to {widths}."
            )
        validate_data(self, X, reset=False, skip_check_array=True)
        beta = self.coef_.T if sparse.issparse(self.coef_) else np.atleast_2d(self.coef_).T
        eta = checked @ beta
        return np.asarray(eta.toarray() if sparse.issparse(eta) else eta) + np.atleast_1d(self.intercept_)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SparsifyMixin(LinearModel):
    """Conversion of ``coef_`` to a sparse matrix and back, for models whose coefficients are stored."""

    def sparsify(self) -> Self:
        """Convert ``coef_`` to a sparse matrix, which saves memory if most coefficients are zero.

        Returns
        -------
        self
            The model, which predicts as before.
        """
        check_is_fitted(self)
        self.coef_ = sparse.csr_array(self._dense_coef())
        return self

    def densify(self) -> Self:
        """Convert ``coef_`` back to a dense array.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if sparse.issparse(self.coef_):
            coef = self.coef_.toarray()
            self.coef_ = coef[0] if np.ndim(self.intercept_) == 0 else coef
        return self


class LinearClassifier(ClassifierMixin, LinearModel):
    """A linear model that predicts classes."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the predictors Xβ + b.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)

        Returns
        -------
        ndarray of shape (n,) for two classes, else (n, K)
            For two classes, positive values favour ``classes_[1]``.
        """
        eta = self._snapshot()._predictors(X)
        return eta[:, 0] if eta.shape[1] == 1 else eta

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each row.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        model = self._snapshot()
        return model.classes_[self._best_class(model._predictors(X))]

    @staticmethod
    def _best_class(eta: np.ndarray) -> np.ndarray:
        """Return the number of the class with the largest predictor; shape (n,)."""
        return (eta[:, 0] > 0).astype(np.intp) if eta.shape[1] == 1 else eta.argmax(axis=1)


class LogisticModel(LinearClassifier):
    """A linear classifier that predicts probabilities, for several classes by ``multi_class_``."""

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        With more than two classes, one against the rest, each class has its own probability, and these are
        scaled to sum to 1.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)

        Returns
        -------
        ndarray of shape (n, K)
            In the order of ``classes_``.
        """
        model = self._snapshot()
        eta = model._predictors(X)
        if eta.shape[1] == 1:
            return np.hstack([Logistic.mean(-eta), Logistic.mean(eta)])
        if model.multi_class_ == "multinomial":
            return Multinomial.mean(eta)
        # p_k / Σ p, computed from logarithms since every p_k may underflow to 0
        return Multinomial.mean(-Logistic.log_partition(-eta))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of ``predict_proba``.

        Parameters
        ----------
        X : array-like, sparse or Blocks of shape (n, d)

        Returns
        -------
        ndarray of shape (n, K)
        """
        model = self._snapshot()
        eta = model._predictors(X)
        if eta.shape[1] == 1:
            return -np.hstack([Logistic.log_partition(eta), Logistic.log_partition(-eta)])
        if model.multi_class_ == "multinomial":
            return eta - Multinomial.log_partition(eta)[:, None]
        log_p = -Logistic.log_partition(-eta)
        return log_p - Multinomial.log_partition(log_p)[:, None]
