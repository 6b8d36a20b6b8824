"""What models of texts share: predictions and explanations."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from os import PathLike
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dropglm import model_files
from dropglm.text.explanation import Explanation, Weighted, class_weights, explanation, strongest
from dropglm.text.ngrams import ReadsTexts


class TextModel(ClassifierMixin, ReadsTexts, ABC):
    """Has ``vectorizer_``, ``model_``, ``classes_`` and ``summary_`` once it is fitted."""

    @abstractmethod
    def to_state(self) -> dict[str, Any]:
        """All that a file has to keep."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The model again, if its parts fit together."""

    def predict(self, texts: Iterable[str]) -> np.ndarray:
        """The class of each text that is most likely; (n,)."""
        X = self._features(texts)
        return self.model_.predict(X)

    def predict_proba(self, texts: Iterable[str]) -> np.ndarray:
        """The probability of each class; (n, K), in the order of ``classes_``."""
        X = self._features(texts)
        return self.model_.predict_proba(X)

    def predict_log_proba(self, texts: Iterable[str]) -> np.ndarray:
        """The logarithm of ``predict_proba``; (n, K)."""
        X = self._features(texts)
        return self.model_.predict_log_proba(X)

    def decision_function(self, texts: Iterable[str]) -> np.ndarray:
        """The predictors; (n,) for two classes, where they speak for the second, else (n, K)."""
        X = self._features(texts)
        return self.model_.decision_function(X)

    def _features(self, texts: Iterable[str]) -> Any:
        check_is_fitted(self, "model_")
        X = self.vectorizer_.set_params(n_jobs=self.n_jobs, verbose=self.verbose).transform(texts)
        if not X.shape[0]:
            raise ValueError("There are no texts to predict.")
        return X

    def top_features(self, k: int = 10) -> dict[Any, list[Weighted]]:
        """The n-grams that speak most for each class, and how much each adds to its predictor.

        Those come first that have a large weight and were seen often.
        """
        check_is_fitted(self, "model_")
        names, weights = self.vectorizer_.ngrams_.names, class_weights(self.model_)
        return strongest(names, weights, self._spread(), self.classes_, k)

    def _spread(self) -> np.ndarray:
        """How much the predictor varies with each n-gram, for a weight of 1.

        √(f (1 - f)), where f is the share of the texts that have it.
        """
        share = np.clip(self.vectorizer_.ngrams_.texts / self.vectorizer_.n_texts_, 0.0, 1.0)
        return np.sqrt(share * (1.0 - share))

    def explain(self, text: str) -> Explanation:
        """What each n-gram of a text adds to which class, and which words are unknown."""
        check_is_fitted(self, "model_")
        return explanation(self.vectorizer_, self.model_, text)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, all of it or nothing; ``load`` reads it. The file has no code in it."""
        check_is_fitted(self, "model_")
        model_files.write(path, type(self).__name__, self.to_state())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """The model that ``save`` wrote."""
        return opened(cls, path, model_files.read(path, cls.__name__)[1])

    def _shared(self, kind: type) -> dict[str, Any]:
        """Our settings that this kind of estimator has as well."""
        names = kind().get_params().keys() & self.get_params().keys()
        return {name: getattr(self, name) for name in names}


Model = TypeVar("Model", bound=TextModel)


def opened(kind: type[Model], path: str | PathLike[str], state: dict[str, Any]) -> Model:
    """The model of that kind with this state, which a file may have damaged."""
    try:
        return kind.from_state(state)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise model_files.ModelFileError(f"{path} is a damaged model file: {error}.") from None
    except MemoryError:
        raise model_files.ModelFileError(f"{path} asks for more memory than there is.") from None
