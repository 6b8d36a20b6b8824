"""The objective and the gradient norm of a fit at each iteration."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dropglm.plots.axes import COLORS, INK, line_style, two_panels
from dropglm.solvers import Result
from dropglm.text import TextClassifier


class ConvergenceDisplay:
    """Convergence of a fit.

    The left panel shows the objective minus its final value, the right panel the relative norm of the
    gradient and the tolerance. It is recommended to use :meth:`from_estimator` to create a display.

    Parameters
    ----------
    results : sequence of Result
        One per minimisation; there are several if each class was fitted against the rest.
    labels : sequence of str
        Names of the results.
    tol : float
        Tolerance of the gradient norm.

    Attributes
    ----------
    ax_ : ndarray of shape (2,) of matplotlib Axes
        The two panels.
    figure_ : matplotlib Figure
        Figure of the left panel.
    lines_ : ndarray of shape (2, n_results) of matplotlib Line2D
        The curves of each panel.
    tol_line_ : matplotlib Line2D
        The tolerance.

    See Also
    --------
    CVSurfaceDisplay : Cross-validation scores over dropout and l2.

    Examples
    --------
    >>> from dropglm import LogisticRegression
    >>> from dropglm.plots import ConvergenceDisplay
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> display.tol, display.ax_[1].get_ylabel()
    (0.0001, 'relative gradient norm')
    """

    def __init__(self, results: Sequence[Result], labels: Sequence[str], tol: float) -> None:
        self.results = results
        self.labels = labels
        self.tol = tol

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Plot the convergence of a fitted estimator.

        Parameters
        ----------
        estimator : estimator instance
            A fitted :class:`~dropglm.TextClassifier`, or another fitted estimator with an attribute
            ``result_``, such as :class:`~dropglm.LogisticRegression`.
        ax : array-like of 2 matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot`` for the curves of both panels.

        Returns
        -------
        ConvergenceDisplay
            The display.
        """
        check_is_fitted(estimator)
        name = type(estimator).__name__
        model = estimator.model_ if isinstance(estimator, TextClassifier) else estimator
        if not hasattr(model, "result_"):
            if model is not estimator:
                raise ValueError(
                    f"This {name} was loaded from a file, which does not hold the iterations of the fit; fit "
                    "it again to plot them."
                )
            raise TypeError(
                "ConvergenceDisplay supports TextClassifier and estimators with an attribute result_, such "
                f"as LogisticRegression, got {name}."
            )
        results = model.result_ if isinstance(model.result_, tuple) else (model.result_,)
        labels = tuple(map(str, model.classes_)) if len(results) > 1 else (name,)
        return cls(results, labels, model.tol).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw both panels.

        Parameters
        ----------
        ax : array-like of 2 matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Keyword arguments of ``matplotlib.axes.Axes.plot`` for the curves of both panels.

        Returns
        -------
        ConvergenceDisplay
            The display itself.
        """
        left, right = axes = two_panels(ax)
        lines = []
        for k, (result, label) in enumerate(zip(self.results, self.labels, strict=True)):
            style = line_style(kwargs, color=COLORS[k % len(COLORS)], marker=".", label=label)
            objective, norm, _ = result.history
            # The final value minus itself is 0, which a logarithmic axis cannot show.
            lines.append(left.plot(objective[:-1] - objective[-1], **style) + right.plot(norm, **style))
        self.tol_line_ = right.axhline(self.tol, color=INK, linestyle="--", label="tolerance")
        left.set(title="Objective", ylabel="objective minus its final value")
        right.set(title="Gradient", ylabel="relative gradient norm")
        for panel in axes:
            panel.set(xlabel="iteration", yscale="log")
        right.legend(frameon=False)
        self.ax_, self.figure_, self.lines_ = axes, left.figure, np.array(lines, dtype=object).T
        return self
