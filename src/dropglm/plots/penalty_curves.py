"""The true and the quadratic penalty against the noise level (the paper's Figure 1a)."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dropglm.families import Logistic
from dropglm.noise import Gaussian
from dropglm.noising import penalty_from
from dropglm.penalties import EXPECTATIONS, RowPenalty
from dropglm.plots.axes import COLORS, INK, line_style, one_panel


class PenaltyCurvesDisplay:
    """Noising penalty of one row of a logistic model against the noise level.

    Normal noise of standard deviation σ is added to the row's predictor η. Solid lines show the true penalty
    E A(N(η, σ²)) - A(η), dashed lines the quadratic penalty ½ A''(η) σ², which is too large near p = ½ and
    too small for confident predictions. It is recommended to use :meth:`from_probabilities` to create a
    display.

    Parameters
    ----------
    noise_levels : ndarray of shape (n_levels,)
        Standard deviations σ.
    probabilities : ndarray of shape (n_curves,)
        Predicted probabilities p = 1 / (1 + e^-η) of the row.
    true : ndarray of shape (n_curves, n_levels)
        The true penalty.
    quadratic : ndarray of shape (n_curves, n_levels)
        The quadratic penalty.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    lines_ : ndarray of shape (n_curves, 2) of matplotlib Line2D
        The true and the quadratic penalty of each probability.

    See Also
    --------
    LossExpansionDisplay : Quadratic approximations of the logistic loss.
    PenaltyPathDisplay : Penalties along the path of an optimisation.

    Examples
    --------
    >>> from dropglm.plots import PenaltyCurvesDisplay
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
        probabilities: ArrayLike = (0.5, 0.73, 0.82, 0.88, 0.95),
        noise_levels: ArrayLike | None = None,
        *,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the penalties of rows with given predictions.

        Parameters
        ----------
        probabilities : array-like of shape (n_curves,), default=(0.5, 0.73, 0.82, 0.88, 0.95)
            Predicted probabilities, one pair of curves each.
        noise_levels : array-like of shape (n_levels,), default=None
            Standard deviations of the noise. If None, 61 values from 0 to 1.5.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot`` for all curves.

        Returns
        -------
        PenaltyCurvesDisplay
            The display.
        """
        levels = np.linspace(0.0, 1.5, 61) if noise_levels is None else np.asarray(noise_levels, float)
        penalties = row_penalties(probabilities, levels)
        return cls(levels, np.asarray(probabilities, float), *penalties).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot`` for all curves.

        Returns
        -------
        PenaltyCurvesDisplay
            The display itself.
        """
        ax = one_panel(ax)
        lines = []
        for k, p in enumerate(self.probabilities):
            color = COLORS[k % len(COLORS)]
            solid = line_style(kwargs, color=color, label=f"p = {p:g}")
            dashed = line_style(kwargs, color=color, linestyle="--", label=None)
            lines.append(
                ax.plot(self.noise_levels, self.true[k], **solid)
                + ax.plot(self.noise_levels, self.quadratic[k], **dashed)
            )
        ax.plot([], [], color=INK, label="true")
        ax.plot([], [], color=INK, linestyle="--", label="quadratic")
        ax.set(xlabel="noise level σ", ylabel="penalty of one row", title="Noising penalty")
        ax.legend(frameon=False)
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, np.array(lines, dtype=object)
        return self


def row_penalties(probabilities: ArrayLike, noise_levels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the true and the quadratic penalty, each of shape (n_probabilities, n_levels)."""
    p, sigma = np.asarray(probabilities, float), np.asarray(noise_levels, float)
    grid = np.meshgrid(Logistic.natural_parameter(p), sigma**2, indexing="ij")
    eta, s2 = (part.ravel() for part in grid)

    def penalty(expectation: str) -> np.ndarray:
        rows = penalty_from(EXPECTATIONS[expectation], Logistic, Gaussian(1.0))
        assert isinstance(rows, RowPenalty)
        return rows.rows(eta, s2)[0].reshape(len(p), len(sigma))

    return penalty("gaussian"), penalty("quadratic")
