"""Scores of online learners while they learn."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dropglm.plots.axes import INK, colors_of, line_style, one_panel

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


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
        ax = one_panel(ax)
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
