"""Noising penalties along the path of an optimisation (the paper's Figure 1b)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from dropglm.noising import noising_penalty
from dropglm.plots.axes import INK, colours_of, fresh_axes

STYLES = ("--", "-.", ":")


class PenaltyPathDisplay:
    """The exact penalty and approximations of it, step by step, and how far off these are.

    Parameters
    ----------
    exact : ndarray of shape (m,)
        The expectation itself after steps 1 to m.
    approximations : mapping of str to ndarray of shape (m,)
        Other penalties at the same coefficients.
    title : str

    Attributes
    ----------
    axes_, figure_
        What ``plot`` drew on.

    Examples
    --------
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
        kinds: Sequence[str] = ("quadratic", "gaussian"),
        title: str = "",
    ) -> Self:
        """Compute the penalties of a logistic model whose coefficients and intercept take this path."""
        penalties: dict[str, list[float]] = {expectation: [] for expectation in ("exact", *kinds)}
        for coef, b in path:
            for expectation, values in penalties.items():
                values.append(
                    noising_penalty(
                        coef, X, expectation=expectation, intercept=b, dropout=dropout, noise_std=noise_std
                    )
                )
        return cls(penalties.pop("exact"), penalties, title)

    def error(self, name: str) -> np.ndarray:
        """Relative error of an approximation; (m,)."""
        return self.approximations[name] / self.exact - 1.0

    def plot(self, axes: Any = None) -> Self:
        """Draw the penalties and their relative errors, on new axes if none are given."""
        axes = fresh_axes(columns=2) if axes is None else axes
        steps = np.arange(1, len(self.exact) + 1)
        axes[0].plot(steps, self.exact, color=INK, label="exact")
        axes[1].axhline(0.0, color=INK, linewidth=1)
        colours = colours_of(self.approximations)
        for k, (name, values) in enumerate(self.approximations.items()):
            style = {"color": colours[name], "linestyle": STYLES[k % len(STYLES)], "label": name}
            axes[0].plot(steps, values, **style)
            axes[1].plot(steps, self.error(name), **style)
        axes[0].set(ylabel="penalty", yscale="log", title=self.title)
        axes[1].set(ylabel="relative error", title=self.title)
        for ax in axes:
            ax.set(xlabel="steps")
            ax.legend(frameon=False)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
