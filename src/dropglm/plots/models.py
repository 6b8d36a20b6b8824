"""Plots of fitted models: convergence, scores of a search, weights of n-grams, and errors among answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dropglm.base.blocks import PerBlock
from dropglm.base.errors import InputError, InputTypeError
from dropglm.core.solvers import Result
from dropglm.plots.pages import COLORS, INK, line_style, panels
from dropglm.search import LogisticRegressionCV
from dropglm.text import TextClassifier, TextModel
from dropglm.text.explanation import NgramWeight
from dropglm.text.guarantees import Curve
from dropglm.text.labels import find_class_numbers

MAX_NAME = 24  # characters of an n-gram beside its bar
MAX_TITLE = 44


@dataclass(eq=False, repr=False)
class ConvergenceDisplay:
    """Convergence of a fit.

    The left panel shows the objective minus its final value, the right panel the relative norm of the
    gradient and the tolerance. It is recommended to use :meth:`from_estimator` to create a display.

    Parameters
    ----------
    results : sequence of Result
        One per minimisation; there are several if each class was fitted against the rest.
    labels : sequence of str
        Names of the results.
    tol : float
        Tolerance of the gradient norm.

    Attributes
    ----------
    ax_ : ndarray of shape (2,) of matplotlib Axes
        The two panels.
    figure_ : matplotlib Figure
        Figure of the left panel.
    lines_ : ndarray of shape (2, n_results) of matplotlib Line2D
        The curves of each panel.
    tol_line_ : matplotlib Line2D
        The tolerance.

    See Also
    --------
    CVSurfaceDisplay : Cross-validation scores over dropout and l2.

    Examples
    --------
    >>> from dropglm import LogisticRegression
    >>> from dropglm.plots import ConvergenceDisplay
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> display.tol, display.ax_[1].get_ylabel()
    (0.0001, 'relative gradient norm')
    """

    results: Sequence[Result]
    labels: Sequence[str]
    tol: float

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Plot the convergence of a fitted estimator.

        Parameters
        ----------
        estimator : estimator instance
            A fitted :class:`~dropglm.TextClassifier`, or another fitted estimator with an attribute
            ``result_``, such as :class:`~dropglm.LogisticRegression`.
        ax : array-like of 2 matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot`` for the curves of both panels.

        Returns
        -------
        ConvergenceDisplay
            The display.
        """
        check_is_fitted(estimator)
        name = type(estimator).__name__
        model = estimator.model_ if isinstance(estimator, TextClassifier) else estimator
        if not hasattr(model, "result_"):
            if model is not estimator:
                raise InputError(
                    f"This {name} was loaded from a file, which does not hold the iterations of the fit; fit "
                    "it again to plot them."
                )
            raise InputTypeError(
                "ConvergenceDisplay supports TextClassifier and estimators with an attribute result_, such "
                f"as LogisticRegression, got {name}."
            )
        results = model.result_ if isinstance(model.result_, tuple) else (model.result_,)
        labels = tuple(map(str, model.classes_)) if len(results) > 1 else (name,)
        return cls(results, labels, model.tol).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw both panels.

        Parameters
        ----------
        ax : array-like of 2 matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot`` for the curves of both panels.

        Returns
        -------
        ConvergenceDisplay
            The display itself.
        """
        left, right = axes = panels(ax, 2)
        lines = []
        for k, (result, label) in enumerate(zip(self.results, self.labels, strict=True)):
            style = line_style(kwargs, color=COLORS[k % len(COLORS)], marker=".", label=label)
            objective, norm, _ = result.history
            # The final value minus itself is 0, which a logarithmic axis cannot show.
            lines.append(left.plot(objective[:-1] - objective[-1], **style) + right.plot(norm, **style))
        self.tol_line_ = right.axhline(self.tol, color=INK, linestyle="--", label="tolerance")
        left.set(title="Objective", ylabel="objective minus its final value")
        right.set(title="Gradient", ylabel="relative gradient norm")
        for panel in axes:
            panel.set(xlabel="iteration", yscale="log")
        right.legend(frameon=False)
        self.ax_, self.figure_, self.lines_ = axes, left.figure, np.array(lines, dtype=object).T
        return self


@dataclass(eq=False, repr=False)
class CVSurfaceDisplay:
    """Mean cross-validation score against dropout and l2.

    The scores are those at the ``l2_weights`` and the ``discount`` that the search chose; a frame marks the
    chosen dropout and l2. It is recommended to use :meth:`from_estimator` to create a display.

    Parameters
    ----------
    dropouts : ndarray of shape (n_dropouts,)
        Values of dropout in increasing order.
    l2s : ndarray of shape (n_l2s,)
        Values of l2 in increasing order.
    scores : ndarray of shape (n_dropouts, n_l2s)
        Mean score over the folds.
    chosen : tuple of (float, float)
        The dropout and l2 that the search chose.
    title : str, default="Cross-validation"
        Title of the plot.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    surface_ : matplotlib QuadMesh
        The coloured cells.
    text_ : ndarray of shape (n_dropouts, n_l2s) of matplotlib Text
        The scores written into the cells.
    frame_ : matplotlib Rectangle
        The frame around the chosen cell.

    See Also
    --------
    ConvergenceDisplay : Convergence of a fit.

    Examples
    --------
    >>> from dropglm import LogisticRegressionCV
    >>> from dropglm.plots import CVSurfaceDisplay
    >>> X, y = [[0.0], [1.0], [2.0], [0.5]] * 5, [0, 1, 1, 0] * 5
    >>> grid = {"dropout": (0.2, 0.5), "l2": (0.1, 1.0, 10.0)}
    >>> model = LogisticRegressionCV(**grid, cv=2, extend_l2=False).fit(X, y)
    >>> display = CVSurfaceDisplay.from_estimator(model, cmap="Greens")
    >>> display.scores.shape, display.ax_.get_xlabel()
    ((2, 3), 'l2')
    """

    dropouts: np.ndarray
    l2s: np.ndarray
    scores: np.ndarray
    chosen: tuple[float, float]
    title: str = "Cross-validation"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Plot the cross-validation scores of a fitted estimator.

        Parameters
        ----------
        estimator : LogisticRegressionCV or TextClassifier
            A fitted :class:`~dropglm.LogisticRegressionCV`, or a :class:`~dropglm.TextClassifier` that was
            fitted with tuning.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.pcolormesh``.

        Returns
        -------
        CVSurfaceDisplay
            The display.
        """
        if not isinstance(estimator, (LogisticRegressionCV, TextClassifier)):
            raise InputTypeError(
                "CVSurfaceDisplay supports LogisticRegressionCV and TextClassifier, got "
                f"{type(estimator).__name__}."
            )
        check_is_fitted(estimator)
        if isinstance(estimator, TextClassifier):
            if not hasattr(estimator, "search_"):
                raise InputError(
                    "This TextClassifier has no cross-validation scores, since it was fitted without tuning "
                    "or loaded from a file."
                )
            estimator = estimator.search_
        found, best = estimator.cv_results_, estimator.best_index_
        chosen = found["params"][best]
        here = [
            k
            for k, params in enumerate(found["params"])
            if params["l2_weights"] is chosen["l2_weights"]
            and (params["discount"], params["noise_std"]) == (chosen["discount"], chosen["noise_std"])
            and _rates(params["dropout"])[1:] == _rates(chosen["dropout"])[1:]
        ]
        dropout = np.array([float(_rates(rates)[0]) for rates in found["param_dropout"][here]])
        l2 = found["param_l2"][here].astype(float)
        dropouts, l2s = np.unique(dropout), np.unique(l2)
        scores = np.full((len(dropouts), len(l2s)), np.nan)
        scores[np.searchsorted(dropouts, dropout), np.searchsorted(l2s, l2)] = found["mean_test_score"][here]
        weights = estimator.l2_weights_ if isinstance(estimator.l2_weights_, str) else "array"
        title = f"Mean score over the folds, {weights.replace('_', ' ')} l2 weights"
        best_point = _rates(estimator.dropout_)[0], estimator.l2_
        return cls(dropouts, l2s, scores, best_point, title).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the scores as coloured cells with their values.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.pcolormesh``.

        Returns
        -------
        CVSurfaceDisplay
            The display itself.
        """
        (ax,) = panels(ax, 1)
        # Cells rather than an image, since they stay sharp; the written values replace a colour bar.
        columns, rows = range(len(self.l2s)), range(len(self.dropouts))
        self.surface_ = ax.pcolormesh(columns, rows, self.scores, **({"cmap": "Blues"} | kwargs))
        low, high = np.nanmin(self.scores), np.nanmax(self.scores)
        self.text_ = np.empty(self.scores.shape, dtype=object)
        for (a, b), score in np.ndenumerate(self.scores):
            dark = high > low and (score - low) / (high - low) > 0.6
            color = "white" if dark else "black"
            self.text_[a, b] = ax.text(b, a, f"{score:.3g}", ha="center", va="center", color=color)
        dropout, l2 = self.chosen
        column, row = np.searchsorted(self.l2s, l2), np.searchsorted(self.dropouts, dropout)
        self.frame_ = ax.add_patch(_frame_around(column, row))
        ax.set_xticks(columns, [f"{l2:g}" for l2 in self.l2s])
        ax.set_yticks(rows, [f"{dropout:g}" for dropout in self.dropouts])
        ax.set(xlabel="l2", ylabel="dropout", title=self.title)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _frame_around(column: Any, row: Any) -> Any:
    from matplotlib.patches import Rectangle

    corner = column - 0.46, row - 0.46
    return Rectangle(corner, 0.92, 0.92, fill=False, edgecolor=COLORS[1], linewidth=3)


def _rates(dropout: Any) -> tuple[Any, ...]:
    """Return the dropout rate of each block; the first one is drawn."""
    return dropout.values if isinstance(dropout, PerBlock) else (dropout,)


@dataclass(eq=False, repr=False)
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

    ngrams: Sequence[str]
    weights: Sequence[float]
    labels: Sequence[Any]
    classes: Sequence[Any]
    title: str = ""
    xlabel: str = "contribution"

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
            raise InputTypeError(
                "NgramWeightsDisplay supports TextClassifier and OnlineTextClassifier, got "
                f"{type(estimator).__name__}."
            )
        check_is_fitted(estimator, "model_")
        top = estimator.top_features(k)
        if label not in top:
            raise InputError(f"label {label!r} is not a class of the estimator; its classes are {list(top)}.")
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

        Those that favour the class come first, then those that favour the runner-up or, of several labels
        per text, oppose the label, both in the order of their absolute contributions. N-grams with
        punctuation are left out.

        Parameters
        ----------
        explanation : Explanation
            The result of :meth:`dropglm.TextClassifier.explain`.
        k : int, default=10
            Largest number of n-grams for each of the two sides.
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
        total = "difference of predictors" if explanation.labels is None else "log odds"
        xlabel = f"contribution to the {total}"
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
        (ax,) = panels(ax, 1)
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


@dataclass(eq=False, repr=False)
class SelectiveDisplay:
    """Error among the answers against the share of texts that are answered, the surest first.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions` to create a display.

    Parameters
    ----------
    curves : mapping of str to Curve
        Share answered and error, by name of the model.
    max_error : float or None, default=0.05
        An error that is drawn as a line.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    lines_ : list of matplotlib Line2D
        The curve of each model.
    error_line_ : matplotlib Line2D or None
        The line at ``max_error``.

    See Also
    --------
    dropglm.TextClassifier.selective : Answer only where few answers are wrong.

    Examples
    --------
    >>> from dropglm.plots import SelectiveDisplay
    >>> p = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.4, 0.6]]
    >>> display = SelectiveDisplay.from_predictions([0, 1, 1, 1], p, [0, 1])
    >>> display.curves["model"].share_at(0.05), display.ax_.get_xlabel()
    (0.5, 'share of texts answered')
    """

    curves: Mapping[str, Curve]
    max_error: float | None = 0.05

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Plot the errors of a fitted classifier on texts that it was not trained on.

        Parameters
        ----------
        estimator : estimator instance
            A fitted classifier with ``predict_proba`` and ``classes_``.
        X : iterable of str
            Texts, or whatever the classifier takes.
        y : array-like of shape (n,)
            Their labels.
        name : str, default=None
            Name of the curve; None means that of the class.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        SelectiveDisplay
            The display.
        """
        probabilities = {name or type(estimator).__name__: estimator.predict_proba(X)}
        return cls.from_predictions(y, probabilities, estimator.classes_, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        probabilities: Any,
        classes: Any,
        *,
        max_error: float | None = 0.05,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the errors of predicted probabilities.

        Parameters
        ----------
        y : array-like of shape (n,)
            The true labels.
        probabilities : array-like of shape (n, K), or mapping of str to these
            Predicted probabilities, or those of several models by their names.
        classes : array-like of shape (K,)
            The classes, in the order of the columns.
        max_error : float or None, default=0.05
            An error that is drawn as a line.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        SelectiveDisplay
            The display.
        """
        models = probabilities if isinstance(probabilities, Mapping) else {"model": probabilities}
        truth = find_class_numbers(y, classes)
        curves = {name: Curve.of(p, truth) for name, p in models.items()}
        return cls(curves, max_error).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot``.

        Returns
        -------
        SelectiveDisplay
            The display itself.
        """
        (ax,) = panels(ax, 1)
        self.lines_ = []
        for k, (name, curve) in enumerate(self.curves.items()):
            style = line_style(kwargs, color=COLORS[k % len(COLORS)], label=name)
            self.lines_ += ax.plot(curve.share, curve.error, **style)
        self.error_line_ = None
        if self.max_error is not None:
            label = f"error {100 * self.max_error:g} %"
            self.error_line_ = ax.axhline(self.max_error, color=INK, linestyle="--", linewidth=1, label=label)
        ax.set(xlabel="share of texts answered", ylabel="error among the answers", xlim=(0.0, 1.0))
        ax.set_ylim(bottom=0.0)
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _shortened(text: Any, length: int) -> str:
    return str(text) if len(str(text)) <= length else f"{str(text)[: length - 1]}…"


def _plain(text: Any) -> str:
    """Escape what Matplotlib would read as a formula, and replace what it cannot draw."""
    shown = "".join(c if c.isprintable() else "\N{WHITE SQUARE}" for c in str(text))
    return shown.replace("$", r"\$")


def _legend_text(label: Any) -> str:
    return "against it" if label is None else f"for {_plain(_shortened(label, MAX_NAME))}"
