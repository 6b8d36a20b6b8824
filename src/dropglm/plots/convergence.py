"""The objective and the gradient norm of a fit, iteration by iteration."""

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from dropglm.plots.axes import COLOURS, INK, fresh_axes
from dropglm.solvers import Result


class ConvergenceDisplay:
    """How a fit went: the objective above its last value, and the norm of the gradient against the
    tolerance.

    Parameters
    ----------
    results : sequence of Result
        One for each problem: several where each class was fitted against the rest.
    labels : sequence of str
        Their names.
    tol : float
        The tolerance that the gradient norm was to meet.

    Attributes
    ----------
    axes_, figure_
        What ``plot`` drew on.

    Examples
    --------
    >>> from dropglm import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> len(display.results), display.tol
    (1, 0.0001)
    """

    def __init__(self, results: tuple[Result, ...], labels: tuple[str, ...], tol: float) -> None:
        self.results = results
        self.labels = labels
        self.tol = tol

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Take the results of a fitted estimator."""
        check_is_fitted(estimator, "result_")
        results = estimator.result_ if isinstance(estimator.result_, tuple) else (estimator.result_,)
        several = len(results) > 1
        labels = tuple(map(str, estimator.classes_)) if several else (type(estimator).__name__,)
        return cls(results, labels, estimator.tol)

    def plot(self, axes: Any = None) -> Self:
        """Draw the two panels, on new axes if none are given."""
        axes = fresh_axes(columns=2) if axes is None else axes
        for k, (result, label) in enumerate(zip(self.results, self.labels, strict=True)):
            colour = COLOURS[k % len(COLOURS)]
            objective, norm, _ = result.history
            # The last value is 0 above itself, which a logarithmic axis has no place for.
            axes[0].plot(objective[:-1] - objective[-1], color=colour, marker=".", label=label)
            axes[1].plot(norm, color=colour, marker=".", label=label)
        axes[1].axhline(self.tol, color=INK, linestyle="--", label="tolerance")
        axes[0].set(title="Objective", ylabel="objective above its last value")
        axes[1].set(title="Gradient", ylabel="relative gradient norm")
        for ax in axes:
            ax.set(xlabel="iteration", yscale="log")
        axes[1].legend(frameon=False)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
