"""A trained classifier whose guesses are used until there are enough labels for a new model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dropglm.tables import class_names

if TYPE_CHECKING:
    from dropglm.text.fitted_model import AnyTextModel


class StartModel:
    """The predictions of a trained text classifier for the texts that are labelled.

    Parameters
    ----------
    model : TextClassifier or OnlineTextClassifier
        The trained classifier.
    texts : sequence of str

    Attributes
    ----------
    classes : list of str
    probabilities : ndarray of shape (n, K)

    Examples
    --------
    >>> from dropglm import TextClassifier
    >>> model = TextClassifier(tune=False, min_df=1).fit(["good film", "bad film"], ["pos", "neg"])
    >>> StartModel(model, ["a good story"]).words_behind(0, k=1)[0][0]
    'good'
    """

    def __init__(self, model: "AnyTextModel", texts: Sequence[str]) -> None:
        self.classes = class_names(model.classes_.tolist())
        self.probabilities: np.ndarray = model.predict_proba(texts)
        self._model, self._texts = model, texts

    def words_behind(self, number: int, k: int = 8) -> list[tuple[str, float]]:
        """Return n-grams of a text with their weights towards its predicted class, the largest first."""
        found = self._model.explain(self._texts[number]).contributions[:k]
        return sorted(((one.ngram, one.weight) for one in found), key=lambda one: -one[1])

    def words_of_classes(self, k: int = 10) -> dict[str, list[tuple[str, float]]]:
        """Return the n-grams that favour each class most."""
        top = self._model.top_features(k)
        weights = ([(one.ngram, one.weight) for one in found] for found in top.values())
        return dict(zip(self.classes, weights, strict=True))
