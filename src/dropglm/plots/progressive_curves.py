"""How well a learner does while it learns."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dropglm.plots.axes import INK, colours_of, fresh_axes

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


class ProgressiveCurvesDisplay:
    """A score over all rows so far, each predicted before it was learnt from, against their number.

    Lines are means over runs, bands one standard deviation of the runs to either side.

    Parameters
    ----------
    t : ndarray of shape (m,)
        Numbers of rows.
    curves : mapping of str to ndarray of shape (runs, m)
        The score by learner.
    ylabel, title : str
    best : float, optional
        What a model that knows the truth would have, drawn as a line across.
    colours : mapping of str to str, optional
        Of the learners, where several pictures are to have the same.

    Attributes
    ----------
    ax_, figure_
        What ``plot`` drew on.

    Examples
    --------
    >>> display = ProgressiveCurvesDisplay([10, 100], {"sgd": [[0.5, 0.7], [0.6, 0.8]]})
    >>> display.mean("sgd"), display.spread("sgd").round(2)
    (array([0.55, 0.75]), array([0.07, 0.07]))
    """

    def __init__(
        self,
        t: Any,
        curves: Mapping[str, Any],
        ylabel: str = "progressive accuracy",
        title: str = "",
        best: float | None = None,
        colours: Mapping[str, str] | None = None,
    ) -> None:
        self.t = np.asarray(t)
        self.curves = {name: np.atleast_2d(np.asarray(runs, float)) for name, runs in curves.items()}
        self.ylabel = ylabel
        self.title = title
        self.best = best
        self.colours = colours_of(curves, colours)

    def mean(self, name: str) -> np.ndarray:
        """Over the runs; (m,)."""
        return self.curves[name].mean(axis=0)

    def spread(self, name: str) -> np.ndarray:
        """Standard deviation over the runs, 0 for a single one; (m,)."""
        runs = self.curves[name]
        return runs.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(runs.shape[1])

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves, on new axes if none are given."""
        ax = fresh_axes() if ax is None else ax
        for k, (name, runs) in enumerate(self.curves.items()):
            colour, mean, spread = self.colours[name], self.mean(name), self.spread(name)
            ax.plot(self.t, mean, color=colour, linestyle=STYLES[k % len(STYLES)], label=name)
            if len(runs) > 1:
                ax.fill_between(self.t, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
        if self.best is not None:
            ax.axhline(self.best, color=INK, linewidth=1, label="the truth")
        ax.set(xlabel="rows seen", ylabel=self.ylabel, xscale="log", title=self.title)
        # Below the axes: the curves leave no corner free that can be known beforehand.
        ax.figure.legend(loc="outside lower center", ncols=3, frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
