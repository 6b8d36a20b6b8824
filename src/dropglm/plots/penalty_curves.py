"""The true and the quadratic penalty against the noise level (the paper's Figure 1a)."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dropglm.families import Logistic
from dropglm.noise import Gaussian
from dropglm.penalties import PENALTIES, RowPenalty
from dropglm.plots.axes import COLOURS, INK, fresh_axes


class PenaltyCurvesDisplay:
    """Penalty of one row of a logistic model whose predictor has normal noise of standard deviation σ.

    Solid lines are the true penalty E A(N(η, σ²)) - A(η), dashed ones the quadratic ½ A''(η) σ², which is too
    large near p = ½ and too small for confident predictions.

    Parameters
    ----------
    noise_levels : ndarray of shape (m,)
        σ.
    probabilities : ndarray of shape (k,)
        p = 1 / (1 + e^-η) of the row.
    true, quadratic : ndarray of shape (k, m)
        The two penalties.

    Attributes
    ----------
    ax_, figure_
        What ``plot`` drew on.

    Examples
    --------
    >>> display = PenaltyCurvesDisplay.from_probabilities([0.5, 0.95], noise_levels=[0.0, 1.0])
    >>> display.true.round(3)
    array([[0.   , 0.113],
           [0.   , 0.028]])
    >>> display.quadratic.round(3)
    array([[0.   , 0.125],
           [0.   , 0.024]])
    """

    def __init__(
        self,
        noise_levels: np.ndarray,
        probabilities: np.ndarray,
        true: np.ndarray,
        quadratic: np.ndarray,
    ) -> None:
        self.noise_levels = noise_levels
        self.probabilities = probabilities
        self.true = true
        self.quadratic = quadratic

    @classmethod
    def from_probabilities(
        cls,
        probabilities: Sequence[float] = (0.5, 0.73, 0.82, 0.88, 0.95),
        noise_levels: Sequence[float] | None = None,
    ) -> Self:
        """Compute the curves for rows that are predicted with these probabilities."""
        sigma = np.linspace(0.0, 1.5, 61) if noise_levels is None else np.asarray(noise_levels, float)
        p = np.asarray(probabilities, float)
        eta, s2 = Logistic.natural_parameter(p)[:, None], sigma**2
        shape = (len(p), len(sigma))

        def rows(expectation: str) -> np.ndarray:
            penalty = PENALTIES[expectation]["logistic"](Logistic, Gaussian(1.0))
            assert isinstance(penalty, RowPenalty)
            grid = (np.broadcast_to(part, shape).ravel() for part in (eta, s2))
            return penalty.rows(*grid)[0].reshape(shape)

        return cls(sigma, p, rows("gaussian"), rows("quadratic"))

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves, on new axes if none are given."""
        ax = fresh_axes() if ax is None else ax
        for k, p in enumerate(self.probabilities):
            colour = COLOURS[k % len(COLOURS)]
            ax.plot(self.noise_levels, self.true[k], color=colour, label=f"p = {p:g}")
            ax.plot(self.noise_levels, self.quadratic[k], color=colour, linestyle="--")
        ax.plot([], [], color=INK, label="true")
        ax.plot([], [], color=INK, linestyle="--", label="quadratic")
        ax.set(xlabel="noise level σ", ylabel="penalty of one row", title="Noising penalty")
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
