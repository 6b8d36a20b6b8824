"""Quadratic approximations of the logistic loss (the paper's Figure A.1)."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dropglm.families import Logistic
from dropglm.plots.axes import COLORS, INK, line_style, one_panel


class LossExpansionDisplay:
    """The log-partition A(η) = log(1 + e^η) of the logistic model and its second-order expansions.

    The expansion at p = ½ lies above A everywhere; expansions at confident predictions fall below A over a
    large range. This is why the quadratic penalty is too large for uncertain rows and too small for
    confident ones. It is recommended to use :meth:`from_probabilities` to create a display.

    Parameters
    ----------
    eta : ndarray of shape (n_points,)
        Natural parameters.
    loss : ndarray of shape (n_points,)
        A(η), the part of the logistic loss that does not depend on the label.
    probabilities : ndarray of shape (n_expansions,)
        Where A is expanded, as p = A'(η_0).
    expansions : ndarray of shape (n_expansions, n_points)
        A(η_0) + A'(η_0)(η - η_0) + ½ A''(η_0)(η - η_0)².

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    loss_line_ : matplotlib Line2D
        The curve of A.
    lines_ : list of matplotlib Line2D
        The expansions.

    See Also
    --------
    PenaltyCurvesDisplay : The true and the quadratic penalty against the noise level.

    Examples
    --------
    >>> from dropglm.plots import LossExpansionDisplay
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
        cls,
        probabilities: ArrayLike = (0.05, 0.5, 0.95),
        eta: ArrayLike | None = None,
        *,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the expansions of A at given predictions.

        Parameters
        ----------
        probabilities : array-like of shape (n_expansions,), default=(0.05, 0.5, 0.95)
            Predictions p = A'(η_0) at which A is expanded.
        eta : array-like of shape (n_points,), default=None
            Natural parameters at which A is computed. If None, 121 points from -6 to 6.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot`` for the expansions.

        Returns
        -------
        LossExpansionDisplay
            The display.
        """
        grid = np.linspace(-6.0, 6.0, 121) if eta is None else np.asarray(eta, float)
        loss, expansions = expanded_loss(probabilities, grid)
        return cls(grid, loss, np.asarray(probabilities, float), expansions).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the loss and its expansions.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot`` for the expansions.

        Returns
        -------
        LossExpansionDisplay
            The display itself.
        """
        ax = one_panel(ax)
        (self.loss_line_,) = ax.plot(self.eta, self.loss, color=INK, linewidth=2, label="A(η)")
        self.lines_ = []
        for k, p in enumerate(self.probabilities):
            color = COLORS[k % len(COLORS)]
            style = line_style(kwargs, color=color, linestyle="--", label=f"expansion at p = {p:g}")
            self.lines_ += ax.plot(self.eta, self.expansions[k], **style)
        ax.set(xlabel="natural parameter η", ylabel="log-partition A(η)", title="Quadratic approximations")
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def expanded_loss(probabilities: ArrayLike, eta: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return A(η), (n_points,), and its expansions where p = A'(η_0), (n_expansions, n_points)."""
    centre = Logistic.natural_parameter(np.asarray(probabilities, float))[:, None]
    step = np.asarray(eta, float) - centre
    A, A1, A2 = (f(centre) for f in (Logistic.log_partition, Logistic.mean, Logistic.variance))
    return Logistic.log_partition(np.asarray(eta, float)), A + A1 * step + 0.5 * A2 * step**2
