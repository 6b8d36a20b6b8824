"""Noising penalties along the path of an optimisation (the paper's Figure 1b)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from dropglm.noising import noising_penalty
from dropglm.plots.axes import INK, colors_of, line_style, two_panels

STYLES = ("--", "-.", ":")


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
        left, right = axes = two_panels(ax)
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
