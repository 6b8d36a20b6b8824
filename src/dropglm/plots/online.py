"""Plots of online learners: scores while they learn, and estimates of the Fisher information."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dropglm.plots.pages import INK, colors_of, line_style, panels

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
MARKERS = ("o", "x", "^", "s", "+", "v")


class ProgressiveCurvesDisplay:
    """Progressive scores of online learners against the number of rows.

    A progressive score is an average over all rows so far, each of which was predicted before the learner saw
    its label. Lines are means over runs; bands extend one standard deviation to either side.

    Parameters
    ----------
    t : array-like of shape (n_times,)
        Numbers of rows.
    curves : mapping of str to array-like of shape (n_runs, n_times) or (n_times,)
        Scores by name of the learner.
    ylabel : str, default="progressive accuracy"
        Label of the vertical axis.
    title : str, default=""
        Title of the plot.
    best : float, default=None
        Score of the true model, drawn as a horizontal line.
    colors : mapping of str to str, default=None
        Colours by name of the learner. Learners without one take the next colour of the cycle.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    lines_ : list of matplotlib Line2D
        The mean of each learner.
    bands_ : list of matplotlib FillBetweenPolyCollection
        The bands of learners with several runs.
    best_line_ : matplotlib Line2D or None
        The score of the true model.

    See Also
    --------
    FisherDisplay : Estimates of the Fisher information by adaptive update rules.

    Examples
    --------
    >>> from dropglm.plots import ProgressiveCurvesDisplay
    >>> display = ProgressiveCurvesDisplay([10, 100], {"sgd": [[0.5, 0.7], [0.6, 0.8]]})
    >>> display.mean("sgd"), display.std("sgd").round(2)
    (array([0.55, 0.75]), array([0.07, 0.07]))
    >>> display.plot(linewidth=3).ax_.get_xlabel()
    'rows seen'
    """

    def __init__(
        self,
        t: Any,
        curves: Mapping[str, Any],
        ylabel: str = "progressive accuracy",
        title: str = "",
        best: float | None = None,
        colors: Mapping[str, str] | None = None,
    ) -> None:
        self.t = np.asarray(t)
        self.curves = {name: np.atleast_2d(np.asarray(runs, float)) for name, runs in curves.items()}
        self.ylabel = ylabel
        self.title = title
        self.best = best
        self.colors = colors_of(curves, colors)

    def mean(self, name: str) -> np.ndarray:
        """Return the mean over the runs.

        Parameters
        ----------
        name : str
            Name of a curve.

        Returns
        -------
        ndarray of shape (n_times,)
            Means.
        """
        return self.curves[name].mean(axis=0)

    def std(self, name: str) -> np.ndarray:
        """Return the standard deviation over the runs, 0 for a single run.

        Parameters
        ----------
        name : str
            Name of a curve.

        Returns
        -------
        ndarray of shape (n_times,)
            Standard deviations.
        """
        runs = self.curves[name]
        return runs.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(runs.shape[1])

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot`` for the means.

        Returns
        -------
        ProgressiveCurvesDisplay
            The display itself.
        """
        (ax,) = panels(ax, 1)
        self.lines_, self.bands_, self.best_line_ = [], [], None
        for k, (name, runs) in enumerate(self.curves.items()):
            mean, std = self.mean(name), self.std(name)
            style = line_style(kwargs, color=self.colors[name], linestyle=STYLES[k % len(STYLES)], label=name)
            (line,) = ax.plot(self.t, mean, **style)
            self.lines_.append(line)
            if len(runs) > 1:
                band = {"color": line.get_color(), "alpha": 0.15, "linewidth": 0}
                self.bands_.append(ax.fill_between(self.t, mean - std, mean + std, **band))
        if self.best is not None:
            self.best_line_ = ax.axhline(self.best, color=INK, linewidth=1, label="true model")
        ax.set(xlabel="rows seen", ylabel=self.ylabel, xscale="log", title=self.title)
        # Below the axes, since any corner may hold a curve.
        entries = ax.get_legend_handles_labels()
        ax.figure.legend(*entries, loc="outside lower center", ncols=3, frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class FisherDisplay:
    """Estimates of the Fisher information by adaptive update rules.

    AdaGrad accumulates diag(G_t) and dropout descent diag(H_t). Divided by t, both approach the diagonal of
    the Fisher information. The left panel shows the relative error against t, averaged over runs: the mean
    over features (solid) and the maximum over features (dashed). The right panel shows each feature's
    estimate after the last row against its Fisher information.

    Parameters
    ----------
    t : array-like of shape (n_times,)
        Numbers of rows at which the estimates were recorded.
    fisher : array-like of shape (n_features,)
        Diagonal of the Fisher information, diag E A''(x·β) x xᵀ.
    estimates : mapping of str to array-like of shape (n_runs, n_times, n_features)
        Estimates by name of the rule: what the rule has accumulated, divided by t.
    colors : mapping of str to str, default=None
        Colours by name of the rule. Rules without one take the next colour of the cycle.

    Attributes
    ----------
    ax_ : ndarray of shape (2,) of matplotlib Axes
        The two panels.
    figure_ : matplotlib Figure
        Figure of the left panel.
    lines_ : ndarray of shape (n_rules, 2) of matplotlib Line2D
        Mean and maximum error of each rule, in the left panel.
    points_ : list of matplotlib Line2D
        The features of each rule, in the right panel.

    See Also
    --------
    ProgressiveCurvesDisplay : Scores of online learners while they learn.

    Examples
    --------
    >>> from dropglm.plots import FisherDisplay
    >>> display = FisherDisplay([10, 100], [0.2, 0.1], {"adagrad": [[[0.3, 0.1], [0.2, 0.11]]]})
    >>> display.mean_error("adagrad"), display.max_error("adagrad")
    (array([0.25, 0.05]), array([0.5, 0.1]))
    >>> display.plot(linewidth=3).ax_[0].get_ylabel()
    'relative error'
    """

    def __init__(
        self, t: Any, fisher: Any, estimates: Mapping[str, Any], colors: Mapping[str, str] | None = None
    ) -> None:
        self.t = np.asarray(t)
        self.fisher = np.asarray(fisher, float)
        self.estimates = {name: np.asarray(runs, float) for name, runs in estimates.items()}
        self.colors = colors_of(estimates, colors)

    def errors(self, name: str) -> np.ndarray:
        """Return the relative errors of a rule.

        Parameters
        ----------
        name : str
            Name of a rule.

        Returns
        -------
        ndarray of shape (n_runs, n_times, n_features)
            Relative errors.
        """
        return np.abs(self.estimates[name] / self.fisher - 1.0)

    def mean_error(self, name: str) -> np.ndarray:
        """Return the mean error over the features, averaged over the runs.

        Parameters
        ----------
        name : str
            Name of a rule.

        Returns
        -------
        ndarray of shape (n_times,)
            Errors.
        """
        return self.errors(name).mean(axis=(0, 2))

    def max_error(self, name: str) -> np.ndarray:
        """Return the maximum error over the features, averaged over the runs.

        Parameters
        ----------
        name : str
            Name of a rule.

        Returns
        -------
        ndarray of shape (n_times,)
            Errors.
        """
        return self.errors(name).max(axis=2).mean(axis=0)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw both panels.

        Parameters
        ----------
        ax : array-like of 2 matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot`` for the curves of the left panel and the
            points of the right panel.

        Returns
        -------
        FisherDisplay
            The display itself.
        """
        left, right = axes = panels(ax, 2)
        lines, self.points_ = [], []
        for k, (name, runs) in enumerate(self.estimates.items()):
            color, marker = self.colors[name], MARKERS[k % len(MARKERS)]
            solid = line_style(kwargs, color=color, label=name)
            dashed = line_style(kwargs, color=color, linestyle="--")
            points = line_style(
                kwargs, color=color, marker=marker, linestyle="none", markerfacecolor="none", label=name
            )
            lines.append(
                left.plot(self.t, self.mean_error(name), **solid)
                + left.plot(self.t, self.max_error(name), **dashed)
            )
            self.points_ += right.plot(self.fisher, runs[:, -1].mean(axis=0), **points)
        left.plot([], [], color=INK, label="mean")
        left.plot([], [], color=INK, linestyle="--", label="maximum")
        ends = [self.fisher.min(), self.fisher.max()]
        right.plot(ends, ends, color=INK, linewidth=1, label="equal")
        left.set(xlabel="rows seen", ylabel="relative error", title="Relative error")
        right.set(
            xlabel="Fisher information", ylabel="estimate", title=f"Estimates after {self.t[-1]:,} rows"
        )
        for panel in axes:
            panel.set(xscale="log", yscale="log")
        # One legend per figure: the two panels may be in different figures.
        for figure in dict.fromkeys(panel.figure for panel in axes):
            shown: dict[str, Any] = {}
            for panel in axes:
                if panel.figure is figure:
                    handles, names = panel.get_legend_handles_labels()
                    shown |= dict(zip(names, handles, strict=True))
            figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=3, frameon=False)
        self.ax_, self.figure_, self.lines_ = axes, left.figure, np.array(lines, dtype=object)
        return self
