"""What a model says about the texts at one point of the labelling."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from dropglm.tables import class_names

if TYPE_CHECKING:
    from dropglm.text.fitted_model import AnyTextModel

WORDS = 30  # n-grams that are listed for a class
FEWEST_LABELS = 6  # with fewer, a model knows too little for its guesses to be shown
START_WORTH = 50  # the model to start from counts as much as this many labels


class Guess(NamedTuple):
    """The predicted class of a text.

    Attributes
    ----------
    label : int
        Number of the class.
    probability : float
    words : list of (str, float)
        N-grams of the text with their weights towards this class, the largest first.
    """

    label: int
    probability: float
    words: list[tuple[str, float]]


class Model(Protocol):
    """What labelling needs of a model, such as ``PoolModel``."""

    classes: list[str]
    probabilities: np.ndarray

    def words_behind(self, number: int, k: int = 8) -> list[tuple[str, float]]:
        """Return n-grams of a text with their weights towards its predicted class."""

    def words_of_classes(self, k: int = 10) -> dict[str, list[tuple[str, float]]]:
        """Return the n-grams that favour each class most."""


@dataclass(frozen=True)
class Snapshot:
    """A fitted model and what it has learnt from.

    Attributes
    ----------
    version : int
        Number of entries of the journal that the model has learnt from.
    n_labels : int
        Number of labels that it has learnt from; the model to start from counts as 50.
    labelled : frozenset of int
        Numbers of the texts whose labels it has learnt from.
    classes : list of int
        Numbers of its classes.
    probabilities : ndarray of shape (n, K)
        Probabilities of these classes for all texts.
    model : Model
        Finds the words behind a guess.
    names : mapping of str to int
        Numbers of the classes by their names in the model.
    """

    version: int
    n_labels: int
    labelled: frozenset[int]
    classes: list[int]
    probabilities: np.ndarray
    model: Model
    names: Mapping[str, int]

    @property
    def is_useful(self) -> bool:
        """Whether the model can tell classes apart and has learnt from more than a few labels."""
        return len(self.classes) > 1 and self.n_labels >= FEWEST_LABELS

    def guess(self, number: int, k: int = 8) -> Guess | None:
        """Return the guess for a text, or None if the model knows too little."""
        if not self.is_useful:
            return None
        row = self.probabilities[number]
        best = int(row.argmax())
        return Guess(self.classes[best], float(row[best]), self.model.words_behind(number, k))

    @cached_property
    def words(self) -> dict[int, list[tuple[str, float]]]:
        """The n-grams that favour each class most, by number of the class."""
        if not self.is_useful:
            return {}
        return {self.names[name]: words for name, words in self.model.words_of_classes(WORDS).items()}


def take_snapshot(
    version: int,
    model: Model,
    names: Mapping[str, int],
    labelled: frozenset[int],
    start: Model | None = None,
    start_names: Mapping[str, int] | None = None,
) -> Snapshot:
    """Return the snapshot of a model, blended with the one to start from.

    The blend is w p + (1 - w) p', where p are the probabilities of the model to start from, p' those of the
    new one and w = 50 / (50 + number of labels).
    """
    trained, n_labels = len(model.classes) > 1, len(labelled)
    if start is None or start_names is None:
        classes = [names[name] for name in model.classes]
        return Snapshot(version, n_labels, labelled, classes, model.probabilities, model, names)
    w = START_WORTH / (START_WORTH + n_labels) if trained else 1.0
    classes = sorted({*(names[name] for name in model.classes), *start_names.values()})
    column = {number: place for place, number in enumerate(classes)}
    p = np.zeros((len(start.probabilities), len(classes)))
    p[:, [column[start_names[name]] for name in start.classes]] += w * start.probabilities
    if trained:
        p[:, [column[names[name]] for name in model.classes]] += (1.0 - w) * model.probabilities
    older = w > 0.5
    shown, shown_names = (start, start_names) if older else (model, names)
    return Snapshot(version, n_labels + START_WORTH, labelled, classes, p, shown, shown_names)


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
