"""How an online text model learns; this needs neither scikit-learn nor its estimators."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.design.storage import Rows
from dropglm.estimators.online_model import OnlineModel
from dropglm.text.hashed_features import HashedFeatures, HashedTexts, Room
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

    def _prepare(self, texts: Sequence[str]) -> Iterator[TextFeatures]:
        """Yield the features of the texts in chunks; the model learns from them before the next texts."""
        vectorizer = self._vectorizer_with_current_settings()
        if isinstance(vectorizer, HashedFeatures):
            for hashed in vectorizer._hash(texts, vectorizer.ngrams_, vectorizer.n_texts_):
                yield TextFeatures(hashed.rows, len(hashed.rows.indptr) - 1, hashed)
        else:
            yield _fixed_features(vectorizer, texts)

    def _preparers(self, n: int) -> list[Callable[[Sequence[str]], list[TextFeatures]]]:
        """Return functions that prepare texts ahead, each for a thread of its own; at most n.

        The model has to learn from what they return in the order of the texts.
        """
        vectorizer = self._vectorizer_with_current_settings()
        if isinstance(vectorizer, HashedFeatures):
            return [_Hasher(vectorizer) for _ in range(n)]
        return [lambda texts: [_fixed_features(vectorizer, texts)]]  # which uses several threads itself

    def _vectorizer_with_current_settings(self) -> Any:
        vectorizer = self.vectorizer_
        vectorizer.n_jobs, vectorizer.verbose = self.n_jobs, self.verbose  # set_params takes 0.2 ms
        return vectorizer

    def _learn_prepared(self, features: TextFeatures, numbers: np.ndarray, weights: np.ndarray) -> None:
        """Learn from texts with these class numbers, in the order in which their features were prepared."""
        if features.hashed is not None:
            self.vectorizer_._add(features.hashed)
        self.model_._learn_rows(features.rows, numbers, weights)
        self.counts_ += np.bincount(numbers, minlength=len(self.classes_))


class _Hasher:
    """Hashes texts with marks of its own; they do not depend on which texts other threads have hashed."""

    def __init__(self, features: HashedFeatures) -> None:
        self.features = features
        self.buckets = features.ngrams_.with_own_marks()
        self.room = Room()
        self.n_texts = 0

    def __call__(self, texts: Sequence[str]) -> list[TextFeatures]:
        found = []
        for hashed in self.features._hash(texts, self.buckets, self.n_texts, self.room):
            found.append(TextFeatures(hashed.rows, len(hashed.rows.indptr) - 1, hashed))
            self.n_texts += found[-1].n_texts
        return found


def _fixed_features(vectorizer: Any, texts: Sequence[str]) -> TextFeatures:
    from dropglm.design import Design

    return TextFeatures(Design(vectorizer.transform(texts)).rows, len(texts), None)
