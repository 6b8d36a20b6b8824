"""The part of a model that is linear in the embeddings, beside the one that is linear in the n-grams.

    η = X β + b + (E - m) B

m is the mean embedding of the training texts. So the share of the embedding is 0 for an average text, and the
split between embedding and intercept has a meaning.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.estimators.predictions import LogisticPredictions
from dropglm.text.embeddings import check_embeddings, embed
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


@dataclass(eq=False)
class EmbeddingHead:
    """Coefficients of the embeddings, and the fingerprint of what they were computed with.

    Attributes
    ----------
    fingerprint : Fingerprint
    mean : ndarray of shape (k,)
        m, the mean embedding of the training texts.
    coef : ndarray of shape (1, k) for two classes, else (K, k)
        Bᵀ.
    checked : object
        The embedder that is known to have this fingerprint, or None.
    """

    fingerprint: Fingerprint
    mean: np.ndarray
    coef: np.ndarray
    checked: Any = None

    def predictors(self, E: np.ndarray) -> np.ndarray:
        """Return (E - m) B, what the embeddings add to the predictors; shape (n, K) or (n, 1)."""
        return np.asarray((E - self.mean) @ self.coef.T)

    def embeddings(self, texts: Sequence[str], given: Any, embedder: Any, *, shown: bool) -> np.ndarray:
        """Return the embeddings of the texts, given ones or those of the embedder."""
        known = self.fingerprint
        if given is not None:
            E = check_embeddings(given, len(texts))
        elif embedder is None:
            raise ValueError(_missing(known))
        else:
            self.check(embedder)
            E = embed(embedder, texts, shown=shown)
        if E.shape[1] != known.dimension:
            raise ValueError(
                f"The embeddings have {E.shape[1]} numbers per text, but the model was trained with "
                f"{known.dimension}."
            )
        return E

    def check(self, embedder: Any) -> None:
        """Raise an error if the embedder is not the one that the model was trained with."""
        if self.checked is not embedder:
            self.fingerprint.check(embedder)
            self.checked = embedder

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds."""
        return {"mean": self.mean, "coef": self.coef, "fingerprint": self.fingerprint.to_state()}

    @classmethod
    def from_state(cls, state: dict[str, Any], rows: int) -> Self:
        """Rebuild the head, after checking its parts; ``rows`` is the number of predictors."""
        fingerprint = Fingerprint.from_state(state["fingerprint"])
        mean, coef = state["mean"], state["coef"]
        for array, shape in ((mean, (fingerprint.dimension,)), (coef, (rows, fingerprint.dimension))):
            if array.shape != shape:
                raise ValueError("the coefficients of the embeddings do not match the classes")
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


def refuse_embeddings(given: Any) -> None:
    """Raise an error if there are embeddings, or an embedder, for a model that was trained without."""
    if given is not None:
        raise ValueError("The model was trained without embeddings, so it cannot use any.")


def _missing(known: Fingerprint) -> str:
    if known.name is None:
        return (
            f"The model was trained with embeddings of {known.dimension} numbers per text; pass those of the "
            "texts as embeddings."
        )
    return (
        f"The model needs its embedder {known.name}, which model files do not contain; use "
        "load_model(path, embedder=...), or pass embeddings."
    )
