"""Quadratic approximations of the logistic loss (the paper's Figure A.1)."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dropglm.families import Logistic
from dropglm.plots.axes import COLOURS, INK, fresh_axes


class LossExpansionDisplay:
    """A(η) = log(1 + e^η), the label-free part of the logistic loss, and its second-order expansions.

    The expansion at p = ½ stays above the curve; those at confident predictions fall below it on their
    other side. That is why the quadratic penalty is too large for the one and too small for the others.

    Parameters
    ----------
    eta : ndarray of shape (m,)
        Natural parameters.
    loss : ndarray of shape (m,)
        A(η).
    probabilities : ndarray of shape (k,)
        Where A is expanded, as p = A'(η).
    expansions : ndarray of shape (k, m)
        A(η_0) + A'(η_0)(η - η_0) + ½ A''(η_0)(η - η_0)².

    Attributes
    ----------
    ax_, figure_
        What ``plot`` drew on.

    Examples
    --------
    >>> display = LossExpansionDisplay.from_probabilities([0.5], eta=[0.0, 2.0])
    >>> display.loss.round(3), display.expansions.round(3)
    (array([0.693, 2.127]), array([[0.693, 2.193]]))
    """

    def __init__(
        self, eta: np.ndarray, loss: np.ndarray, probabilities: np.ndarray, expansions: np.ndarray
    ) -> None:
        self.eta = eta
        self.loss = loss
        self.probabilities = probabilities
        self.expansions = expansions

    @classmethod
    def from_probabilities(
        cls, probabilities: Sequence[float] = (0.05, 0.5, 0.95), eta: Sequence[float] | None = None
    ) -> Self:
        """Expand A where the prediction is each of these probabilities."""
        p = np.asarray(probabilities, float)
        grid = np.linspace(-6.0, 6.0, 121) if eta is None else np.asarray(eta, float)
        centre = Logistic.natural_parameter(p)[:, None]
        step = grid - centre
        A, A1, A2 = (f(centre) for f in (Logistic.log_partition, Logistic.mean, Logistic.variance))
        return cls(grid, Logistic.log_partition(grid), p, A + A1 * step + 0.5 * A2 * step**2)

    def plot(self, ax: Any = None) -> Self:
        """Draw the loss and its expansions, on new axes if none are given."""
        ax = fresh_axes() if ax is None else ax
        ax.plot(self.eta, self.loss, color=INK, linewidth=2, label="A(η)")
        for k, p in enumerate(self.probabilities):
            colour = COLOURS[k % len(COLOURS)]
            ax.plot(self.eta, self.expansions[k], color=colour, linestyle="--", label=f"at p = {p:g}")
        ax.set(xlabel="natural parameter η", ylabel="log-partition", title="Quadratic approximations")
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
