"""What n-grams add to a class, as bars."""

from collections.abc import Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from dropglm.plots.axes import COLOURS, fresh_axes

LONGEST = 24  # characters of an n-gram beside its bar


class NgramWeightsDisplay:
    """Bars for the weights of n-grams, the first one on top, coloured by the class that they speak for.

    Parameters
    ----------
    ngrams : sequence of str
    weights : sequence of float
        What each adds to the predictor of its class.
    labels : sequence
        The class of each.
    classes : sequence
        All classes, in the order of their colours.
    title : str

    Attributes
    ----------
    ax_, figure_
        What ``plot`` drew on.

    Examples
    --------
    >>> from dropglm import TextClassifier
    >>> texts = ["a fine film", "a bad film", "fine", "bad"]
    >>> model = TextClassifier((1, 1), tune=False).fit(texts, [1, 0, 1, 0])
    >>> NgramWeightsDisplay.from_estimator(model, 1).ngrams
    ['fine']
    >>> NgramWeightsDisplay.from_explanation(model.explain("a bad film"), model.classes_).ngrams[0]
    'bad'
    """

    def __init__(
        self,
        ngrams: Sequence[str],
        weights: Sequence[float],
        labels: Sequence[Any],
        classes: Sequence[Any],
        title: str = "",
    ) -> None:
        self.ngrams = ngrams
        self.weights = weights
        self.labels = labels
        self.classes = classes
        self.title = title

    @classmethod
    def from_estimator(cls, estimator: Any, label: Any, k: int = 15) -> Self:
        """The k n-grams that speak most for a class of a TextClassifier."""
        check_is_fitted(estimator, "model_")
        top = estimator.top_features(k)
        if label not in top:
            raise ValueError(f"label {label!r} is no class of the estimator; it has {list(top)}.")
        names, weights = [entry.ngram for entry in top[label]], [entry.weight for entry in top[label]]
        return cls(names, weights, [label] * len(names), list(top), f"What speaks for {label}")

    @classmethod
    def from_explanation(cls, explanation: Any, classes: Any, k: int = 20) -> Self:
        """The k n-grams that matter most in a text."""
        first = explanation.contributions[:k]
        names, weights = [entry.ngram for entry in first], [entry.weight for entry in first]
        title = f"{explanation.label}, probability {explanation.probability:.2f}"
        return cls(names, weights, [entry.label for entry in first], list(classes), title)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars, on new axes if none are given."""
        ax = fresh_axes() if ax is None else ax
        colour = {label: COLOURS[k % len(COLOURS)] for k, label in enumerate(self.classes)}
        places = range(len(self.ngrams))
        seen: set[Any] = set()
        for place, weight, label in zip(places, self.weights, self.labels, strict=True):
            name = None if label in seen else _in_legend(label)
            ax.barh(place, weight, color=colour[label], label=name)
            seen.add(label)
        ax.set_yticks(list(places), [_plain(_short(name, LONGEST)) for name in self.ngrams])
        ax.invert_yaxis()
        ax.set(xlabel="adds to the class's predictor", title=_plain(_short(self.title, LONGEST + 12)))
        if len(seen) > 1:
            # Outside, since bars may be anywhere; long names below each other.
            longest = max(len(str(label)) for label in seen)
            columns = 4 if longest <= 10 else 1
            ax.figure.legend(loc="outside lower center", ncols=columns, frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _short(text: Any, longest: int) -> str:
    return str(text) if len(str(text)) <= longest else f"{str(text)[: longest - 1]}…"


def _plain(text: Any) -> str:
    """The text with nothing in it that Matplotlib would take for a formula or cannot draw."""
    shown = "".join(c if c.isprintable() else "\N{WHITE SQUARE}" for c in str(text))
    return shown.replace("$", r"\$")


def _in_legend(label: Any) -> str:
    """The same for a legend, which leaves out what begins with an underscore."""
    shown = _plain(_short(label, LONGEST))
    return f" {shown}" if shown.startswith("_") else shown
