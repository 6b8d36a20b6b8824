"""Base class of text classifiers that may use embeddings beside the n-grams."""

from collections.abc import Iterable
from copy import copy
from typing import Any, Self

from sklearn.base import BaseEstimator

from dropglm.text.embedded_predictions import EmbeddedPredictions
from dropglm.text.model import TextModel


class EmbeddedTextModel(EmbeddedPredictions, TextModel):
    """A text classifier with a setting ``embedder``, whose methods also take embeddings."""

    def score(self, X: Iterable[str], y: Any, sample_weight: Any = None, embeddings: Any = None) -> float:
        """Return the accuracy of the predictions.

        Parameters
        ----------
        X : iterable of str
            Texts.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the texts.
        embeddings : array-like of shape (n, k), default=None
            As in ``predict``.

        Returns
        -------
        float
            Share of correct predictions.
        """
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X, embeddings), sample_weight=sample_weight))

    def __sklearn_clone__(self) -> Self:
        """Copy the settings; the embedder is shared, since it may be large and nothing changes it."""
        bare = copy(self)
        bare.embedder = None
        cloned: Self = BaseEstimator.__sklearn_clone__(bare)
        cloned.embedder = self.embedder
        return cloned
