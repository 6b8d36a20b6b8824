"""The part of a model that is linear in the embeddings, beside the one that is linear in the n-grams.

    η = X β + b + (E - m) B

m is the mean embedding of the training texts. So the share of the embedding is 0 for an average text, and the
split between embedding and intercept has a meaning.
"""

from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.errors import InputError
from dropglm.estimators.predictions import LogisticPredictions
from dropglm.text.fingerprint import Fingerprint


class Scaling(NamedTuple):
    """Centring and scaling of embeddings, so that rows have length 1 like those of the n-grams.

    ``size`` is the root mean square of the distances of the rows from their mean.

    Examples
    --------
    >>> E = np.array([[1.0, 2.0], [1.0, 6.0]], np.float32)
    >>> Scaling.of(E)(E)
    array([[ 0., -1.],
           [ 0.,  1.]], dtype=float32)
    """

    mean: np.ndarray
    size: float

    @classmethod
    def of(cls, *parts: np.ndarray) -> Self:
        """Return the scaling of all these rows together."""
        n = sum(len(part) for part in parts)
        mean = sum(part.sum(axis=0, dtype=np.float64) for part in parts) / n
        squares = sum(float(np.square(part - mean).sum()) for part in parts)
        return cls(np.asarray(mean, np.float32), float(np.sqrt(squares / n)) or 1.0)

    def __call__(self, E: np.ndarray) -> np.ndarray:
        """Return (E - mean) / size."""
        return np.asarray((E - self.mean) / np.float32(self.size), np.float32)


class EmbeddingHead(NamedTuple):
    """Coefficients of the embeddings, and the fingerprint of what they were computed with.

    Attributes
    ----------
    fingerprint : Fingerprint
    mean : ndarray of shape (k,)
        m, the mean embedding of the training texts.
    coef : ndarray of shape (1, k) for two classes, else (K, k)
        Bᵀ.
    """

    fingerprint: Fingerprint
    mean: np.ndarray
    coef: np.ndarray

    def predictors(self, E: np.ndarray) -> np.ndarray:
        """Return (E - m) B, what the embeddings add to the predictors; shape (n, K) or (n, 1)."""
        return np.asarray((E - self.mean) @ self.coef.T)

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds."""
        return {"mean": self.mean, "coef": self.coef, "fingerprint": self.fingerprint.to_state()}

    @classmethod
    def of_state(cls, state: dict[str, Any], rows: int) -> Self | None:
        """Rebuild the head of a saved model; None if it has none."""
        return cls.from_state(state["embedding"], rows) if "embedding" in state else None

    @classmethod
    def from_state(cls, state: dict[str, Any], rows: int) -> Self:
        """Rebuild the head, after checking its parts; ``rows`` is the number of predictors."""
        fingerprint = Fingerprint.from_state(state["fingerprint"])
        mean, coef = state["mean"], state["coef"]
        for array, shape in ((mean, (fingerprint.dimension,)), (coef, (rows, fingerprint.dimension))):
            if array.shape != shape:
                raise InputError("the coefficients of the embeddings do not match the classes")
        return cls(fingerprint, mean, coef)


class ModelWithHead(LogisticPredictions):
    """The sum of a fitted model of n-grams and a head; its X is a pair (features, embeddings)."""

    def __init__(self, model: LogisticPredictions, head: EmbeddingHead) -> None:
        self.model, self.head = model._snapshot(), head
        self.classes_, self.multi_class_ = self.model.classes_, self.model.multi_class_
        self.coef_, self.intercept_ = self.model.coef_, self.model.intercept_
        self.n_features_in_ = self.model.n_features_in_

    def _predictors(self, X: Any) -> np.ndarray:
        features, E = X
        return self.model._predictors(features) + self.head.predictors(E)
