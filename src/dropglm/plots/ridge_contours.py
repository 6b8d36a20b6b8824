"""Level curves of the plain and the Fisher-scaled ridge penalty (the paper's Figure A.2)."""

from typing import Any, Self

import numpy as np

from dropglm.plots.axes import COLORS, INK, two_panels

# Distances of the level curves from the centre, relative to that of the optimum.
RINGS = (0.5, 1.0, 1.5)


class RidgeContoursDisplay:
    """Level curves of a likelihood in two coefficients and of two ridge penalties.

    The likelihood is shown as its second-order expansion ½ (β - β̂)ᵀ I (β - β̂) at the maximum-likelihood
    estimate β̂, with Fisher information I. The left panel adds the ridge penalty ½λ‖β‖², the right panel
    ½λ βᵀ diag(I) β, which the dropout penalty resembles: it scales each coefficient as the likelihood does.

    Parameters
    ----------
    information : array-like of shape (2, 2)
        Fisher information I.
    peak : array-like of shape (2,)
        Maximum-likelihood estimate β̂.
    strength : float
        Strength λ of the scaled penalty. The plain penalty gets λ times the mean of diag(I).

    Attributes
    ----------
    ridges : ndarray of shape (2, 2, 2)
        Matrices of the plain and of the scaled penalty.
    optima : ndarray of shape (2, 2)
        Optimum under the plain penalty (first row) and under the scaled penalty (second row).
    ax_ : ndarray of shape (2,) of matplotlib Axes
        The two panels.
    figure_ : matplotlib Figure
        Figure of the left panel.
    contours_ : ndarray of shape (2, 2) of matplotlib QuadContourSet
        Level curves of the likelihood and of the penalty in each panel.
    points_ : list of matplotlib Line2D
        The optimum in each panel.

    See Also
    --------
    dropglm.noising_penalty : The dropout penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.plots import RidgeContoursDisplay
    >>> display = RidgeContoursDisplay(np.diag([1.0, 9.0]), np.array([2.0, 2.0]), strength=1.0)
    >>> display.optima.round(2)
    array([[0.33, 1.29],
           [1.  , 1.  ]])
    >>> display.plot(linewidths=2).ax_[0].get_title()
    'Plain ridge ‖β‖²'
    """

    def __init__(self, information: Any, peak: Any, strength: float) -> None:
        self.information = np.asarray(information, float)
        self.peak = np.asarray(peak, float)
        self.strength = strength
        if self.information.shape != (2, 2) or self.peak.shape != (2,):
            raise ValueError(
                "The plot shows two coefficients: information must have shape (2, 2) and peak shape (2,), "
                f"got {self.information.shape} and {self.peak.shape}."
            )
        diagonal = np.diag(self.information)
        # The plain penalty is as strong as the scaled one on average.
        self.ridges = np.stack([np.eye(2) * diagonal.mean(), np.diag(diagonal)])
        self.optima = np.stack(
            [
                np.linalg.solve(self.information + strength * ridge, self.information @ self.peak)
                for ridge in self.ridges
            ]
        )

    @classmethod
    def from_predictions(
        cls,
        X: Any,
        probabilities: Any,
        coef: Any,
        strength: float = 1.0,
        *,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the level curves for a logistic model's predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, 2)
            Features.
        probabilities : array-like of shape (n_samples,)
            Predicted probabilities of the rows.
        coef : array-like of shape (2,)
            The model's coefficients, taken as the maximum-likelihood estimate.
        strength : float, default=1.0
            Strength λ of the scaled penalty.
        ax : array-like of 2 matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.contour``.

        Returns
        -------
        RidgeContoursDisplay
            The display.
        """
        return cls(fisher_information(X, probabilities), coef, strength).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw both panels.

        Parameters
        ----------
        ax : array-like of 2 matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.contour``.

        Returns
        -------
        RidgeContoursDisplay
            The display itself.
        """
        axes = two_panels(ax)
        x, y = (np.linspace(low, high, 201) for low, high in zip(*self._corners(), strict=True))
        grid = np.stack(np.meshgrid(x, y), axis=-1)
        titles = ("Plain ridge ‖β‖²", "Fisher-scaled ridge βᵀ diag(I) β")
        contours, self.points_ = [], []
        for panel, ridge, optimum, title in zip(axes, self.ridges, self.optima, titles, strict=True):
            for matrix, centre, color, linestyle in (
                (self.information, self.peak, INK, "solid"),
                (ridge, np.zeros(2), COLORS[0], "dashed"),
            ):
                height = _form(matrix, grid - centre)
                levels = _form(matrix, optimum - centre) * np.square(RINGS)
                style = {"levels": levels, "colors": color, "linestyles": linestyle}
                contours.append(panel.contour(x, y, height, **(style | kwargs)))
            self.points_ += panel.plot(*optimum, "o", color=COLORS[1])
            label = panel.annotate(
                "optimum", optimum, xytext=(7, 7), textcoords="offset points", color=COLORS[1]
            )
            label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.0})
            panel.plot(*self.peak, "+", color=INK)
            panel.set(title=title, xlabel="β₁", ylabel="β₂", aspect="equal")
        self.ax_, self.figure_ = axes, axes[0].figure
        self.contours_ = np.array(contours, dtype=object).reshape(2, 2)
        return self

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower left and the upper right corner of a frame that all level curves fit into."""
        corners = []
        for ridge, optimum in zip(self.ridges, self.optima, strict=True):
            for matrix, centre in ((self.information, self.peak), (ridge, np.zeros(2))):
                # vᵀMv <= c reaches sqrt(c (M⁻¹)_jj) along axis j
                size = _form(matrix, optimum - centre) * np.diag(np.linalg.inv(matrix))
                corners += [
                    centre - 1.05 * RINGS[-1] * np.sqrt(size),
                    centre + 1.05 * RINGS[-1] * np.sqrt(size),
                ]
        return np.min(corners, axis=0), np.max(corners, axis=0)


def fisher_information(X: Any, probabilities: Any) -> np.ndarray:
    """Return XᵀVX with V = diag(p (1 - p)), the Fisher information of a logistic model."""
    X, p = np.asarray(X, float), np.asarray(probabilities, float)
    return X.T @ ((p * (1.0 - p))[:, None] * X)


def _form(matrix: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return vᵀ M v for every v along the last axis."""
    return np.einsum("...i,ij,...j->...", vectors, matrix, vectors)
