"""Weights of n-grams as bars."""

from collections.abc import Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from dropglm.plots.axes import COLORS, one_panel
from dropglm.text import TextModel

MAX_NAME = 24  # characters of an n-gram beside its bar


class NgramWeightsDisplay:
    """Bars for the weights of n-grams, coloured by class, the first n-gram on top.

    It is recommended to use :meth:`from_estimator` or :meth:`from_explanation` to create a display.

    Parameters
    ----------
    ngrams : sequence of str
        The n-grams.
    weights : sequence of float
        Contribution of each n-gram to the decision function of its class.
    labels : sequence
        The class of each n-gram.
    classes : sequence
        All classes, in the order of their colours.
    title : str, default=""
        Title of the plot.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    bars_ : list of matplotlib Rectangle
        One bar per n-gram.

    See Also
    --------
    dropglm.TextClassifier.top_features : The n-grams with the largest weights.
    dropglm.TextClassifier.explain : The n-grams that decide how a text is classified.

    Examples
    --------
    >>> from dropglm import TextClassifier
    >>> from dropglm.plots import NgramWeightsDisplay
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
    def from_estimator(
        cls, estimator: Any, label: Any, k: int = 15, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Plot the n-grams with the largest weights for a class.

        Parameters
        ----------
        estimator : TextClassifier or OnlineTextClassifier
            A fitted :class:`~dropglm.TextClassifier` or :class:`~dropglm.OnlineTextClassifier`.
        label : object
            One of the estimator's classes.
        k : int, default=15
            Number of n-grams.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.barh``.

        Returns
        -------
        display : NgramWeightsDisplay
        """
        if not isinstance(estimator, TextModel):
            raise TypeError(
                "NgramWeightsDisplay supports TextClassifier and OnlineTextClassifier, got "
                f"{type(estimator).__name__}."
            )
        check_is_fitted(estimator, "model_")
        top = estimator.top_features(k)
        if label not in top:
            raise ValueError(f"label {label!r} is not a class of the estimator; its classes are {list(top)}.")
        names, weights = [entry.ngram for entry in top[label]], [entry.weight for entry in top[label]]
        display = cls(names, weights, [label] * len(names), list(top), f"Top n-grams for {label}")
        return display.plot(ax, **kwargs)

    @classmethod
    def from_explanation(
        cls, explanation: Any, classes: Any, k: int = 20, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Plot the n-grams of a text that contribute most to its classification.

        Parameters
        ----------
        explanation : Explanation
            The result of :meth:`dropglm.TextClassifier.explain`.
        classes : sequence
            The classifier's classes, in the order of their colours.
        k : int, default=20
            Largest number of n-grams.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.barh``.

        Returns
        -------
        display : NgramWeightsDisplay
        """
        first = explanation.contributions[:k]
        names, weights = [entry.ngram for entry in first], [entry.weight for entry in first]
        title = f"{explanation.label}, probability {explanation.probability:.2f}"
        display = cls(names, weights, [entry.label for entry in first], list(classes), title)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.barh``.

        Returns
        -------
        display : NgramWeightsDisplay
        """
        ax = one_panel(ax)
        color = {label: COLORS[k % len(COLORS)] for k, label in enumerate(self.classes)}
        places = range(len(self.ngrams))
        in_legend: set[Any] = set()
        self.bars_ = []
        for place, weight, label in zip(places, self.weights, self.labels, strict=True):
            style = {"color": color[label], "label": None if label in in_legend else _legend_text(label)}
            self.bars_ += ax.barh(place, weight, **(style | kwargs)).patches
            in_legend.add(label)
        ax.set_yticks(list(places), [_plain(_shortened(name, MAX_NAME)) for name in self.ngrams])
        ax.invert_yaxis()
        title = _plain(_shortened(self.title, MAX_NAME + 12))
        ax.set(xlabel="contribution to the decision function", title=title)
        if len(in_legend) > 1:
            # Outside the axes, since any corner may hold a bar. Long names go below each other.
            columns = 4 if max(len(str(label)) for label in in_legend) <= 10 else 1
            entries = ax.get_legend_handles_labels()
            ax.figure.legend(*entries, loc="outside lower center", ncols=columns, frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _shortened(text: Any, length: int) -> str:
    return str(text) if len(str(text)) <= length else f"{str(text)[: length - 1]}…"


def _plain(text: Any) -> str:
    """Escape what Matplotlib would read as a formula, and replace what it cannot draw."""
    shown = "".join(c if c.isprintable() else "\N{WHITE SQUARE}" for c in str(text))
    return shown.replace("$", r"\$")


def _legend_text(label: Any) -> str:
    """Do the same for a legend, which would leave out names that begin with an underscore."""
    shown = _plain(_shortened(label, MAX_NAME))
    return f" {shown}" if shown.startswith("_") else shown
