"""Predictions of a text model that may use embeddings beside the n-grams."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from dropglm.errors import InputError
from dropglm.estimators.predictions import LogisticPredictions
from dropglm.text.base import check_texts
from dropglm.text.embedding_head import EmbeddingHead, ModelWithHead
from dropglm.text.embeddings import as_array, check_embeddings, embed
from dropglm.text.explanation import Explanation, explain_text
from dropglm.text.features import NgramFeatures
from dropglm.text.fingerprint import Fingerprint
from dropglm.text.predictions import TextPredictions, refuse_embeddings
from dropglm.text.summary import Summary

if TYPE_CHECKING:
    from dropglm.estimators import LogisticRegressionCV


class FittedState(NamedTuple):
    """The result of one fit, stored in one step: predictions never see parts of two fits."""

    vectorizer: Any  # NgramFeatures
    model: Any  # LogisticPredictions of the n-grams
    search: "LogisticRegressionCV | None"
    summary: Summary
    head: EmbeddingHead | None = None


class EmbeddedPredictions(TextPredictions):
    """Predictions of a text model with a setting ``embedder``, whose methods also take embeddings."""

    embedder: Any
    # The fingerprint of a fit, and the embedder that is known to have it. A pair, so that a refit in another
    # thread with another embedder does not pass for a check of the fit that a prediction is using.
    _checked: tuple[Fingerprint, Any] | None = None

    @abstractmethod
    def _fitted_state(self) -> FittedState:
        """Return the parts of one and the same fit."""

    def _fitted_parts(self) -> tuple[NgramFeatures, LogisticPredictions]:
        fitted = self._fitted_state()
        return fitted.vectorizer, fitted.model

    def _linear_parts(self) -> tuple[NgramFeatures, LogisticPredictions, EmbeddingHead | None]:
        fitted = self._fitted_state()
        return fitted.vectorizer, fitted.model, fitted.head

    @property
    def _uses_embeddings(self) -> bool:
        """Whether predictions need embeddings, given ones or those of the embedder."""
        return self._fitted_state().head is not None

    def explain(self, text: str, embedding: Any = None) -> Explanation:  # noqa: D102 (inherited)
        fitted = self._fitted_state()
        if fitted.head is None:
            refuse_embeddings(embedding)
            return explain_text(fitted.vectorizer, fitted.model, text)
        given = None if embedding is None else np.atleast_2d(as_array(embedding, "embedding"))
        E = self._embeddings_for(fitted.head, check_texts([text]), given)
        return explain_text(fitted.vectorizer, ModelWithHead(fitted.model, fitted.head), text, E)

    def _model_and_features(self, X: Iterable[str], embeddings: Any) -> tuple[LogisticPredictions, Any]:
        fitted = self._fitted_state()
        if fitted.head is None:
            refuse_embeddings(embeddings)
            return fitted.model, self._features(fitted.vectorizer, X)
        texts = check_texts(X)
        features = self._features(fitted.vectorizer, texts)
        E = self._embeddings_for(fitted.head, texts, embeddings)
        return ModelWithHead(fitted.model, fitted.head), (features, E)

    def _embeddings_for(self, head: EmbeddingHead, texts: list[str], given: Any) -> np.ndarray:
        """Return the embeddings of the texts, given ones or those of the embedder."""
        known = head.fingerprint
        if given is not None:
            E = check_embeddings(given, len(texts))
        else:
            embedder = self.embedder
            if embedder is None:
                raise InputError(_missing(known), "embedder", "embeddings")
            self._check_embedder(known, embedder)
            E = embed(embedder, texts, shown=bool(self.verbose))
        if E.shape[1] != known.dimension:
            raise InputError(
                f"The embeddings have {E.shape[1]} numbers per text, but the model was trained with "
                f"{known.dimension}."
            )
        return E

    def _check_embedder(self, known: Fingerprint, embedder: Any) -> None:
        """Raise an error if the embedder is not the one that the model was trained with."""
        checked = self._checked
        if checked is None or checked[0] is not known or checked[1] is not embedder:
            known.check(embedder)
            self._checked = known, embedder

    def _with_embedder(self, embedder: Any) -> Self:
        head = self._fitted_state().head
        if head is None:
            return super()._with_embedder(embedder)
        self._check_embedder(head.fingerprint, embedder)
        self.embedder = embedder
        return self


def _missing(known: Fingerprint) -> str:
    if known.name is None:
        return (
            f"The model was trained with embeddings of {known.dimension} numbers per text; pass those of the "
            "texts as embeddings."
        )
    return (
        f"The model needs its embedder {known.name}, which model files do not contain; set embedder when "
        "loading the model, or pass embeddings."
    )
