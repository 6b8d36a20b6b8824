"""Explanations: what each n-gram contributes to the prediction of each class."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from dropglm import checks
from dropglm.estimators.linear_model import LogisticModel
from dropglm.text.hashing import NgramHasher
from dropglm.text.vectorizer import NgramVectorizer


class NgramWeight(NamedTuple):
    """An n-gram and what it adds to the predictor of a class."""

    ngram: str
    weight: float


class Contribution(NamedTuple):
    """The contribution of an n-gram of a text.

    ``label`` is the class to which the n-gram contributes most and ``weight`` its contribution: positive
    values favour the class, negative ones count against it. ``weights`` has the contribution to each class.
    """

    ngram: str
    label: Any
    weight: float
    weights: list[float]


@dataclass(frozen=True)
class Explanation:
    """Explanation of the prediction for one text; print it, or show it in a notebook.

    The contributions to a class and its ``base`` add up to the predictor of that class.

    Attributes
    ----------
    label : object
        The predicted class.
    probability : float
        Its probability.
    probabilities : dict
        The probability of each class.
    base : list of float
        The predictor of each class for a text without known n-grams.
    contributions : list of Contribution
        The n-grams of the text that are features, those with the largest absolute contribution to the
        predicted class first.
    unknown : list of str
        The words of the text that occur in none of the features, in their order in the text.
    """

    label: Any
    probability: float
    probabilities: dict[Any, float]
    base: list[float]
    contributions: list[Contribution]
    unknown: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in plain types, for JSON."""
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

    def _repr_html_(self) -> str:
        """Return the explanation as HTML for notebooks: the prediction and a table of contributions."""
        rows = "".join(
            f"<tr><td>{escape(entry.ngram)}</td><td>{escape(str(entry.label))}</td>"
            f'<td style="text-align:right">{entry.weight:+.2f}</td></tr>'
            for entry in self.contributions
        )
        table = (
            "<table><thead><tr><th>n-gram</th><th>class</th><th>contribution</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )
        unknown = f"<p>Unknown words: {escape(', '.join(self.unknown))}</p>" if self.unknown else ""
        label = escape(str(self.label))
        return (
            f"<div><p><strong>{label}</strong>, probability {self.probability:.2f}</p>"
            f"{table if self.contributions else ''}{unknown}</div>"
        )


def weights_by_class(model: LogisticModel, columns: Any = slice(None)) -> np.ndarray:
    """Return what each feature adds to the predictor of each class; shape (K, features).

    For two classes, the weights of the first are the negative of those of the second. In a multinomial model
    only differences between classes matter, so each feature's weights are centred over the classes.
    """
    return _expand_to_classes(model, model.coef_[:, columns])


def _expand_to_classes(model: LogisticModel, weights: np.ndarray) -> np.ndarray:
    if len(weights) == 1:
        return np.concatenate([-weights, weights])
    return weights - weights.mean(axis=0) if model.multi_class_ == "multinomial" else weights


def top_ngrams(
    names: Callable[[np.ndarray], list[str]],
    weights: np.ndarray,
    scale: np.ndarray,
    classes: np.ndarray,
    k: int,
) -> dict[Any, list[NgramWeight]]:
    """Return at most k n-grams with positive weights for each class, ranked by weight times ``scale``.

    The scale measures how often an n-gram was seen. Without it, n-grams of two or three texts would come
    first.
    """
    checks.whole_number(k, "k")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}.")
    top = {}
    scales = np.broadcast_to(scale, weights.shape)
    for label, row, factors in zip(classes.tolist(), weights, scales, strict=True):
        first = np.argsort(-row * factors, kind="stable")[:k]
        first = first[row[first] > 0]
        top[label] = [NgramWeight(name, float(row[j])) for name, j in zip(names(first), first, strict=True)]
    return top


def top_to_dict(top: dict[Any, list[NgramWeight]]) -> dict[str, list[dict[str, Any]]]:
    """Return the result of ``top_features`` in plain types, for JSON."""
    return {str(label): [entry._asdict() for entry in entries] for label, entries in top.items()}


def explain_text(vectorizer: NgramVectorizer | NgramHasher, model: LogisticModel, text: str) -> Explanation:
    """Explain the prediction for one text."""
    columns, values, names, unknown = vectorizer._describe(text)
    weights = weights_by_class(model, columns) * values
    labels = model.classes_.tolist()
    probabilities = model.predict_proba(vectorizer.transform([text]))[0]
    best = int(probabilities.argmax())
    contributions = []
    for j in np.argsort(-np.abs(weights[best]), kind="stable"):
        by_class = [float(weight) for weight in weights[:, j]]
        # Two classes have opposite weights: take the class with the positive one.
        k = int(np.argmax(by_class if len(by_class) == 2 else np.abs(by_class)))
        contributions.append(Contribution(names[j], labels[k], by_class[k], by_class))
    return Explanation(
        label=labels[best],
        probability=float(probabilities[best]),
        probabilities={label: float(p) for label, p in zip(labels, probabilities, strict=True)},
        base=[float(b) for b in _expand_to_classes(model, np.atleast_1d(model.intercept_)[:, None])[:, 0]],
        contributions=contributions,
        unknown=unknown,
    )
