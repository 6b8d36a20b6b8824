"""How an online text model learns; this needs neither scikit-learn nor its estimators."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.design.storage import Rows
from dropglm.estimators.online_model import OnlineModel
from dropglm.text.hashed_features import HashedFeatures, HashedTexts
from dropglm.text.online_predictions import OnlinePredictions


class TextFeatures(NamedTuple):
    """The features of some texts."""

    rows: Rows
    n_texts: int
    hashed: HashedTexts | None  # the names of hashed columns; None with a fixed vocabulary


class OnlineLearning(OnlinePredictions):
    """Learning of a text model whose ``model_`` is an ``OnlineModel``.

    ``OnlineTextClassifier`` inherits it, and so does the model that commands train.
    """

    counts_: np.ndarray

    @abstractmethod
    def _new_hasher(self) -> HashedFeatures:
        """Return features without names, with the settings of this model."""

    @abstractmethod
    def _model_with_current_settings(self) -> OnlineModel:
        """Return a copy of the model, or a new one, with the current settings, after checking them."""

    def _reset(self, classes: Any) -> Self:
        """Discard what was learnt, and prepare for texts of these classes."""
        hasher, model = self._new_hasher(), self._model_with_current_settings()
        known = np.unique(np.asarray(classes))
        # In float64: in float32, the sum of a word that every text contains stops growing after 17 million
        # texts.
        model._reset(known, len(hasher.ngrams_), np.float64)
        self.vectorizer_, self.model_, self.classes_ = hasher, model, model.classes_
        self.counts_ = np.zeros(len(known), np.int64)
        return self

    def _prepare(self, texts: Sequence[str], n_texts: int) -> Iterator[TextFeatures]:
        """Yield the features of the texts in chunks, without changing the model.

        ``n_texts`` is the number of texts before them; it differs from what the model has learnt from if they
        are prepared ahead.
        """
        vectorizer = self.vectorizer_
        vectorizer.n_jobs, vectorizer.verbose = self.n_jobs, self.verbose  # set_params takes 0.2 ms
        if isinstance(vectorizer, HashedFeatures):
            for hashed in vectorizer._hash(texts, vectorizer.ngrams_, n_texts):
                yield TextFeatures(hashed.rows, len(hashed.rows.indptr) - 1, hashed)
        else:
            from dropglm.design import Design

            yield TextFeatures(Design(vectorizer.transform(texts)).rows, len(texts), None)

    def _learn_prepared(self, features: TextFeatures, numbers: np.ndarray, weights: np.ndarray) -> None:
        """Learn from texts with these class numbers, in the order in which their features were prepared."""
        if features.hashed is not None:
            self.vectorizer_._add(features.hashed)
        self.model_._learn_rows(features.rows, numbers, weights)
        self.counts_ += np.bincount(numbers, minlength=len(self.classes_))

    def _drop_prepared(self, n_texts: int) -> None:
        """Forget features that were prepared for texts up to number ``n_texts``, but not learnt from."""
        if isinstance(self.vectorizer_, HashedFeatures) and n_texts != self.vectorizer_.n_texts_:
            self.vectorizer_.ngrams_.forget_what_was_not_added()
