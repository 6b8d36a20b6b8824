"""Weights of n-grams as bars."""

from collections.abc import Sequence
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from dropglm.plots.axes import COLORS, one_panel
from dropglm.text import TextModel
from dropglm.text.top_ngrams import NgramWeight

MAX_NAME = 24  # characters of an n-gram beside its bar
MAX_TITLE = 44


class NgramWeightsDisplay:
    """Bars for the weights of n-grams, coloured by the class that they favour, the first n-gram on top.

    It is recommended to use :meth:`from_estimator` or :meth:`from_explanation` to create a display.

    Parameters
    ----------
    ngrams : sequence of str
        The n-grams.
    weights : sequence of float
        Contribution of each n-gram.
    labels : sequence
        The class that each n-gram favours.
    classes : sequence
        All classes, in the order of their colours.
    title : str, default=""
        Title of the plot.
    xlabel : str, default="contribution"
        What the weights contribute to.

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
    dropglm.TextClassifier.explain : The n-grams that tip the prediction for a text.

    Examples
    --------
    >>> from dropglm import TextClassifier
    >>> from dropglm.plots import NgramWeightsDisplay
    >>> texts = ["a fine film", "a bad film", "fine", "bad"]
    >>> model = TextClassifier((1, 1), tune=False).fit(texts, [1, 0, 1, 0])
    >>> NgramWeightsDisplay.from_estimator(model, 1, k=1).ngrams
    ['fine']
    >>> NgramWeightsDisplay.from_explanation(model.explain("a bad film")).ngrams[0]
    'bad'
    """

    def __init__(
        self,
        ngrams: Sequence[str],
        weights: Sequence[float],
        labels: Sequence[Any],
        classes: Sequence[Any],
        title: str = "",
        xlabel: str = "contribution",
    ) -> None:
        self.ngrams = ngrams
        self.weights = weights
        self.labels = labels
        self.classes = classes
        self.title = title
        self.xlabel = xlabel

    @classmethod
    def from_estimator(
        cls, estimator: Any, label: Any, k: int = 15, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Plot the most important n-grams for a class, in order of their weights.

        They are those of :meth:`dropglm.TextClassifier.top_features`.

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
        NgramWeightsDisplay
            The display.
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
        return cls._of_class(label, top[label]).plot(ax, **kwargs)

    @classmethod
    def _of_class(cls, label: Any, entries: Sequence[NgramWeight]) -> Self:
        """Return the display of n-grams for a class in order of their weights, not yet drawn."""
        entries = sorted(entries, key=lambda entry: -entry.weight)
        names, weights = [entry.ngram for entry in entries], [entry.weight for entry in entries]
        title, xlabel = f"Top n-grams for {label}", "typical contribution to the predictor"
        return cls(names, weights, [label] * len(names), [label], title, xlabel)

    @classmethod
    def from_explanation(cls, explanation: Any, k: int = 10, *, ax: Any = None, **kwargs: Any) -> Self:
        """Plot the n-grams of a text that tip its prediction.

        Those that favour the predicted class come first, then those that favour the runner-up, both in the
        order of their absolute contributions. N-grams with punctuation are left out.

        Parameters
        ----------
        explanation : Explanation
            The result of :meth:`dropglm.TextClassifier.explain`.
        k : int, default=10
            Largest number of n-grams for each of the two classes.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.barh``.

        Returns
        -------
        NgramWeightsDisplay
            The display.
        """
        both = explanation.label, explanation.against
        sides = explanation.supporting[:k], explanation.opposing[:k]
        entries = [entry for side in sides for entry in side]
        names, weights = [entry.ngram for entry in entries], [entry.weight for entry in entries]
        labels = [label for label, side in zip(both, sides, strict=True) for _ in side]
        title = f"{_shortened(explanation.label, MAX_NAME)}, probability {explanation.probability:.2f}"
        xlabel = "contribution to the difference of predictors"
        return cls(names, weights, labels, both, title, xlabel).plot(ax, **kwargs)

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
        NgramWeightsDisplay
            The display itself.
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
        title = _plain(_shortened(self.title, MAX_TITLE))
        ax.set(xlabel=self.xlabel, title=title)
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
    return f"for {_plain(_shortened(label, MAX_NAME))}"
