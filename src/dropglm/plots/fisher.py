"""What adaptive rules scale their steps by, against the Fisher information."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dropglm.plots.axes import INK, colours_of, fresh_axes

MARKERS = ("o", "x", "^", "s", "+", "v")


class FisherDisplay:
    """diag(G_t)/t or diag(H_t)/t on the way to the diagonal of the Fisher information.

    The left panel has the relative error against t, solid for the mean over features and dashed for the
    largest, each a mean over runs; the right one all features at the end.

    Parameters
    ----------
    t : ndarray of shape (m,)
        Numbers of rows.
    fisher : ndarray of shape (d,)
        diag E A''(x·β) x xᵀ.
    estimates : mapping of str to ndarray of shape (runs, m, d)
        What each rule had, divided by t.
    colours : mapping of str to str, optional
        Of the rules, where several pictures are to have the same.

    Attributes
    ----------
    axes_, figure_
        What ``plot`` drew on.

    Examples
    --------
    >>> display = FisherDisplay([10, 100], [0.2, 0.1], {"adagrad": [[[0.3, 0.1], [0.2, 0.11]]]})
    >>> display.mean_error("adagrad"), display.largest_error("adagrad")
    (array([0.25, 0.05]), array([0.5, 0.1]))
    """

    def __init__(
        self,
        t: Any,
        fisher: Any,
        estimates: Mapping[str, Any],
        colours: Mapping[str, str] | None = None,
    ) -> None:
        self.t = np.asarray(t)
        self.fisher = np.asarray(fisher, float)
        self.estimates = {name: np.asarray(runs, float) for name, runs in estimates.items()}
        self.colours = colours_of(estimates, colours)

    def errors(self, name: str) -> np.ndarray:
        """Relative errors of every run, time and feature; (runs, m, d)."""
        return np.abs(self.estimates[name] / self.fisher - 1.0)

    def mean_error(self, name: str) -> np.ndarray:
        """Mean over the features, then over the runs; (m,)."""
        return self.errors(name).mean(axis=(0, 2))

    def largest_error(self, name: str) -> np.ndarray:
        """Largest over the features, mean over the runs; (m,)."""
        return self.errors(name).max(axis=2).mean(axis=0)

    def plot(self, axes: Any = None) -> Self:
        """Draw the two panels, on new axes if none are given."""
        axes = fresh_axes(columns=2) if axes is None else axes
        for k, (name, runs) in enumerate(self.estimates.items()):
            colour = self.colours[name]
            axes[0].plot(self.t, self.mean_error(name), color=colour, label=name)
            axes[0].plot(self.t, self.largest_error(name), color=colour, linestyle="--")
            axes[1].plot(
                self.fisher,
                runs[:, -1].mean(axis=0),
                MARKERS[k % len(MARKERS)],
                color=colour,
                markerfacecolor="none",
                label=name,
            )
        axes[0].plot([], [], color=INK, label="mean")
        axes[0].plot([], [], color=INK, linestyle="--", label="largest")
        ends = [self.fisher.min(), self.fisher.max()]
        axes[1].plot(ends, ends, color=INK, linewidth=1, label="equal")
        axes[0].set(xlabel="rows seen", ylabel="relative error", title="On the way")
        axes[1].set(xlabel="Fisher information", ylabel="of the rule, divided by t", title="At the end")
        for ax in axes:
            ax.set(xscale="log", yscale="log")
        for figure, mine in _by_figure(axes).items():
            shown: dict[str, Any] = {}
            for ax in mine:
                shown |= {name: handle for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
            figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=3, frameon=False)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


def _by_figure(axes: Any) -> dict[Any, list[Any]]:
    """The axes of each figure; the panels may share one or have one each."""
    found: dict[Any, list[Any]] = {}
    for ax in axes:
        found.setdefault(ax.figure, []).append(ax)
    return found
