"""What speaks for which class."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from dropglm import checks
from dropglm.estimators.logistic_model import LogisticModel
from dropglm.text.hashing import NgramHasher
from dropglm.text.vectorizer import NgramVectorizer


class Weighted(NamedTuple):
    """An n-gram, and what it adds to the predictor of a class."""

    ngram: str
    weight: float


class Contribution(NamedTuple):
    """An n-gram of a text, the class that it matters to most, and what it adds to that and to each class.

    It speaks for the class if the weight is above 0, and against it below.
    """

    ngram: str
    label: Any
    weight: float
    weights: list[float]


@dataclass(frozen=True)
class Explanation:
    """Why a text is given its class.

    Attributes
    ----------
    label, probability
        The class that is most likely.
    probabilities : dict
        That of each class.
    base : list of float
        The predictor of each class for a text without known n-grams.
    contributions : list of Contribution
        The n-grams of the text that the model knows, those that matter most to the class given first.
    unknown : list of str
        Words that the model does not know, in the order of the text.
    """

    label: Any
    probability: float
    probabilities: dict[Any, float]
    base: list[float]
    contributions: list[Contribution]
    unknown: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The same in plain types, for JSON."""
        return asdict(self) | {
            "probabilities": {str(label): p for label, p in self.probabilities.items()},
            "contributions": [entry._asdict() for entry in self.contributions],
        }

    def __str__(self) -> str:
        width = max((len(str(entry.label)) for entry in self.contributions), default=0)
        length = max((len(entry.ngram) for entry in self.contributions), default=0)
        lines = [f"{self.label}, probability {self.probability:.2f}"]
        lines += [
            f"  {entry.label!s:<{width}}  {entry.ngram:<{length}}  {entry.weight:+.2f}"
            for entry in self.contributions
        ]
        if self.unknown:
            lines.append(f"unknown: {', '.join(self.unknown)}")
        return "\n".join(lines)


def class_weights(model: LogisticModel, columns: Any = slice(None)) -> np.ndarray:
    """What each feature adds to the predictor of each class; (K, features).

    For two classes that of the first is the negative of the second's. In a multinomial model only differences
    between classes matter, and each feature's weights are taken from their mean over the classes.
    """
    return _of_classes(model, model.coef_[:, columns])


def _of_classes(model: LogisticModel, weights: np.ndarray) -> np.ndarray:
    if len(weights) == 1:
        return np.concatenate([-weights, weights])
    return weights - weights.mean(axis=0) if model.multi_class_ == "multinomial" else weights


def strongest(
    names: Callable[[np.ndarray], list[str]],
    weights: np.ndarray,
    spread: np.ndarray,
    classes: np.ndarray,
    k: int,
) -> dict[Any, list[Weighted]]:
    """The k n-grams that matter most to each class, of those with weights above 0.

    What matters is the weight times ``spread``, some measure of how much the n-gram has been seen. By the
    weight alone the first would be n-grams of two or three texts.
    """
    checks.whole_number(k, "k")
    if k < 1:
        raise ValueError(f"k must be above 0, got {k}.")
    found = {}
    for label, row, seen in zip(
        classes.tolist(), weights, np.broadcast_to(spread, weights.shape), strict=True
    ):
        first = np.argsort(-row * seen, kind="stable")[:k]
        first = first[row[first] > 0]
        found[label] = [Weighted(name, float(row[j])) for name, j in zip(names(first), first, strict=True)]
    return found


def top_to_dict(top: dict[Any, list[Weighted]]) -> dict[str, list[dict[str, Any]]]:
    """The strongest n-grams in plain types, for JSON."""
    return {str(label): [entry._asdict() for entry in entries] for label, entries in top.items()}


def explanation(vectorizer: NgramVectorizer | NgramHasher, model: LogisticModel, text: str) -> Explanation:
    """What each n-gram of the text adds to which class."""
    columns, names, unknown = vectorizer.described(text)
    weights = class_weights(model, columns)
    labels = model.classes_.tolist()
    probabilities = model.predict_proba(vectorizer.transform([text]))[0]
    best = int(probabilities.argmax())
    contributions = []
    for j in np.argsort(-np.abs(weights[best]), kind="stable"):
        mine = [float(weight) for weight in weights[:, j]]
        # Of two classes it is as much for the one as against the other: take the one.
        k = int(np.argmax(mine if len(mine) == 2 else np.abs(mine)))
        contributions.append(Contribution(names[j], labels[k], mine[k], mine))
    return Explanation(
        label=labels[best],
        probability=float(probabilities[best]),
        probabilities={label: float(p) for label, p in zip(labels, probabilities, strict=True)},
        base=[float(b) for b in _of_classes(model, np.atleast_1d(model.intercept_)[:, None])[:, 0]],
        contributions=contributions,
        unknown=unknown,
    )
