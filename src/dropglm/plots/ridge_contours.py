"""Level curves of the plain and the Fisher-scaled ridge (the paper's Figure A.2)."""

from typing import Any, Self

import numpy as np

from dropglm.plots.axes import COLOURS, INK, fresh_axes

# Level curves through the optimum, and at a half and 1.5 times its distance.
RINGS = (0.5, 1.0, 1.5)


class RidgeContoursDisplay:
    """Two coefficients, a likelihood around its peak, and two ridges that pull on it.

    The likelihood is its second-order expansion ½ (β - β̂)ᵀ I (β - β̂) with Fisher information I. The left
    panel adds the ridge ½λ‖β‖², the right one ½λ βᵀ diag(I) β, which dropout comes close to: its level
    curves take the scale of the likelihood's, feature by feature.

    Parameters
    ----------
    information : ndarray of shape (2, 2)
        I.
    peak : ndarray of shape (2,)
        β̂, the maximum-likelihood estimate.
    strength : float
        λ of the scaled ridge; the plain one gets λ times the mean of diag(I).

    Attributes
    ----------
    optima : ndarray of shape (2, 2)
        Optimum under the plain and under the scaled ridge, a row each.
    axes_, figure_
        What ``plot`` drew on.

    Examples
    --------
    >>> display = RidgeContoursDisplay(np.diag([1.0, 9.0]), np.array([2.0, 2.0]), strength=1.0)
    >>> display.optima.round(2)
    array([[0.33, 1.29],
           [1.  , 1.  ]])
    """

    def __init__(self, information: np.ndarray, peak: np.ndarray, strength: float) -> None:
        self.information = np.asarray(information, float)
        self.peak = np.asarray(peak, float)
        self.strength = strength
        if self.information.shape != (2, 2) or self.peak.shape != (2,):
            raise ValueError(
                "The picture shows two coefficients: information must have shape (2, 2) and peak (2,), "
                f"got {self.information.shape} and {self.peak.shape}."
            )
        diagonal = np.diag(self.information)
        # Ridge matrices: the plain one as strong as the other on average.
        self.ridges = np.stack([np.eye(2) * diagonal.mean(), np.diag(diagonal)])
        self.optima = np.stack(
            [
                np.linalg.solve(self.information + strength * ridge, self.information @ self.peak)
                for ridge in self.ridges
            ]
        )

    @classmethod
    def from_predictions(
        cls, X: np.ndarray, probabilities: np.ndarray, coef: np.ndarray, strength: float = 1.0
    ) -> Self:
        """Take the information XᵀVX from a logistic model's predictions, V = diag(p (1 - p)).

        Parameters
        ----------
        X : ndarray of shape (n, 2)
        probabilities : ndarray of shape (n,)
        coef : ndarray of shape (2,)
            The model's coefficients, taken as the peak.
        strength : float
        """
        X, p = np.asarray(X, float), np.asarray(probabilities, float)
        return cls(X.T @ ((p * (1.0 - p))[:, None] * X), coef, strength)

    def plot(self, axes: Any = None) -> Self:
        """Draw the two panels, on new axes if none are given."""
        axes = fresh_axes(columns=2) if axes is None else axes
        x, y = (np.linspace(low, high, 201) for low, high in zip(*self._frame(), strict=True))
        grid = np.stack(np.meshgrid(x, y), axis=-1)
        titles = ("Plain ridge ‖β‖²", "Fisher-scaled ridge βᵀ diag(I) β")
        for ax, ridge, optimum, title in zip(axes, self.ridges, self.optima, titles, strict=True):
            for matrix, centre, colour, style in (
                (self.information, self.peak, INK, "solid"),
                (ridge, np.zeros(2), COLOURS[0], "dashed"),
            ):
                height = _form(matrix, grid - centre)
                levels = _form(matrix, optimum - centre) * np.square(RINGS)
                ax.contour(x, y, height, levels=levels, colors=colour, linestyles=style)
            ax.plot(*optimum, "o", color=COLOURS[1])
            label = ax.annotate("OPT", optimum, xytext=(7, 7), textcoords="offset points", color=COLOURS[1])
            label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.0})
            ax.plot(*self.peak, "+", color=INK)
            ax.set(title=title, xlabel="β₁", ylabel="β₂", aspect="equal")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _frame(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower left and upper right corner, so that every ring fits in."""
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


def _form(matrix: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """vᵀ M v for every v on the last axis."""
    return np.einsum("...i,ij,...j->...", vectors, matrix, vectors)
