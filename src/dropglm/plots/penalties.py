"""The paper's figures of the noising penalty, and the penalties that they show."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dropglm.base.errors import InputError
from dropglm.core.families import Logistic
from dropglm.core.noise import Gaussian
from dropglm.core.penalties import EXPECTATIONS, RowPenalty
from dropglm.core.settings import noising_penalty, penalty_from
from dropglm.plots.pages import COLORS, INK, colors_of, line_style, panels

STYLES = ("--", "-.", ":")
# Distances of the level curves from the centre, relative to that of the optimum.
RINGS = (0.5, 1.0, 1.5)


@dataclass(eq=False, repr=False)
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

    noise_levels: np.ndarray
    probabilities: np.ndarray
    true: np.ndarray
    quadratic: np.ndarray

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
        (ax,) = panels(ax, 1)
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


class PenaltyPathDisplay:
    """The exact penalty and its approximations at each step of an optimisation.

    The left panel shows the penalties, the right panel the relative errors of the approximations. It is
    recommended to use :meth:`from_path` to create a display.

    Parameters
    ----------
    exact : array-like of shape (n_steps,)
        The exact penalty after each step.
    approximations : mapping of str to array-like of shape (n_steps,)
        Approximate penalties at the same coefficients, by name.
    title : str, default=""
        Title of both panels.

    Attributes
    ----------
    ax_ : ndarray of shape (2,) of matplotlib Axes
        The two panels.
    figure_ : matplotlib Figure
        Figure of the left panel.
    exact_line_ : matplotlib Line2D
        The exact penalty.
    lines_ : ndarray of shape (2, n_approximations) of matplotlib Line2D
        The approximations (left panel) and their errors (right panel).

    See Also
    --------
    dropglm.noising_penalty : Computes the penalties.
    PenaltyCurvesDisplay : The true and the quadratic penalty against the noise level.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.plots import PenaltyPathDisplay
    >>> X = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
    >>> path = [([0.1, -0.2, 0.0], 0.0), ([0.5, -1.0, 0.25], 0.0)]
    >>> display = PenaltyPathDisplay.from_path(path, X, dropout=0.5)
    >>> display.exact.round(4), display.error("quadratic").round(3)
    (array([0.0062, 0.1604]), array([0.001, 0.028]))
    """

    def __init__(self, exact: Any, approximations: Mapping[str, Any], title: str = "") -> None:
        self.exact = np.asarray(exact, float)
        self.approximations = {name: np.asarray(values, float) for name, values in approximations.items()}
        self.title = title

    @classmethod
    def from_path(
        cls,
        path: Iterable[tuple[Any, float]],
        X: Any,
        *,
        dropout: float = 0.0,
        noise_std: float = 0.0,
        expectations: Sequence[str] = ("quadratic", "gaussian"),
        title: str = "",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the penalties of a logistic model along a path of coefficients.

        Parameters
        ----------
        path : iterable of (array-like of shape (n_features,), float)
            Coefficients and intercept after each step.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        dropout : float, default=0.0
            Probability that a feature is dropped, in [0, 1).
        noise_std : float, default=0.0
            Standard deviation of additive Gaussian noise.
        expectations : sequence of str, default=("quadratic", "gaussian")
            Approximations to compare with the exact penalty, as in :func:`dropglm.noising_penalty`.
        title : str, default=""
            Title of both panels.
        ax : array-like of 2 matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot`` for the approximations and their errors.

        Returns
        -------
        PenaltyPathDisplay
            The display.
        """
        penalties = penalties_along(
            path, X, expectations=("exact", *expectations), dropout=dropout, noise_std=noise_std
        )
        return cls(penalties.pop("exact"), penalties, title).plot(ax, **kwargs)

    def error(self, name: str) -> np.ndarray:
        """Return the relative error of an approximation.

        Parameters
        ----------
        name : str
            Name of an approximation.

        Returns
        -------
        ndarray of shape (n_steps,)
            Errors.
        """
        return self.approximations[name] / self.exact - 1.0

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw both panels.

        Parameters
        ----------
        ax : array-like of 2 matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot`` for the approximations and their errors.

        Returns
        -------
        PenaltyPathDisplay
            The display itself.
        """
        left, right = axes = panels(ax, 2)
        steps = np.arange(1, len(self.exact) + 1)
        (self.exact_line_,) = left.plot(steps, self.exact, color=INK, label="exact")
        right.axhline(0.0, color=INK, linewidth=1)
        colors, lines = colors_of(self.approximations), []
        for k, (name, values) in enumerate(self.approximations.items()):
            style = line_style(kwargs, color=colors[name], linestyle=STYLES[k % len(STYLES)], label=name)
            lines.append(left.plot(steps, values, **style) + right.plot(steps, self.error(name), **style))
        left.set(ylabel="penalty", yscale="log", title=self.title)
        right.set(ylabel="relative error", title=self.title)
        for panel in axes:
            panel.set(xlabel="step")
            panel.legend(frameon=False)
        self.ax_, self.figure_, self.lines_ = axes, left.figure, np.array(lines, dtype=object).T
        return self


def penalties_along(
    path: Iterable[tuple[Any, float]],
    X: Any,
    *,
    expectations: Sequence[str],
    dropout: float = 0.0,
    noise_std: float = 0.0,
) -> dict[str, list[float]]:
    """Return the penalties of a logistic model after each step, by expectation."""
    steps = list(path)

    def penalty(coef: Any, intercept: float, expectation: str) -> float:
        return noising_penalty(
            coef, X, expectation=expectation, intercept=intercept, dropout=dropout, noise_std=noise_std
        )

    return {name: [penalty(coef, b, name) for coef, b in steps] for name in expectations}


@dataclass(eq=False, repr=False)
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

    eta: np.ndarray
    loss: np.ndarray
    probabilities: np.ndarray
    expansions: np.ndarray

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
        (ax,) = panels(ax, 1)
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
            raise InputError(
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
        cls, X: Any, probabilities: Any, coef: Any, strength: float = 1.0, *, ax: Any = None, **kwargs: Any
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
        axes = panels(ax, 2)
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
                reach = 1.05 * RINGS[-1] * np.sqrt(size)
                corners += [centre - reach, centre + reach]
        return np.min(corners, axis=0), np.max(corners, axis=0)


def fisher_information(X: Any, probabilities: Any) -> np.ndarray:
    """Return XᵀVX with V = diag(p (1 - p)), the Fisher information of a logistic model."""
    X, p = np.asarray(X, float), np.asarray(probabilities, float)
    return X.T @ ((p * (1.0 - p))[:, None] * X)


def _form(matrix: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return vᵀ M v for every v along the last axis."""
    return np.einsum("...i,ij,...j->...", vectors, matrix, vectors)
