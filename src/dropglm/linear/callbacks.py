"""Observers of a fit: the progress display, and scikit-learn's callbacks where its version has them."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from dropglm.base.progress import Progress
from dropglm.core.objective import Coefficients
from dropglm.core.problem import IterationCallback
from dropglm.places.training_data import TrainingData

try:
    import sklearn.callback as sklearn_callback  # scikit-learn 1.9 and later
except ImportError:
    sklearn_callback = None

CallbackSupportMixin: Any = getattr(
    sklearn_callback, "CallbackSupportMixin", type("CallbackSupportMixin", (), {})
)
with_callbacks: Any = getattr(sklearn_callback, "with_callbacks", lambda method: method)


class FitObservers:
    """What observes the iterations of a fit, as a context around it.

    scikit-learn's callbacks see a fit as a tree of tasks: the fit, its problems, the iterations of each.

    Parameters
    ----------
    estimator : estimator
        With ``max_iter`` and ``verbose``.
    data : TrainingData
        Passed on to the callbacks.
    n_problems : int
    """

    def __init__(self, estimator: Any, data: TrainingData, n_problems: int) -> None:
        self.estimator = estimator
        self.data: dict[str, Any] = {}
        self.several = n_problems > 1  # one class against the rest each
        what, total = ("classes", n_problems) if self.several else ("iterations", None)
        self.progress = Progress(what, total, shown=bool(estimator.verbose))
        self.fit_task: Any = None
        self.problem_task: Any = None
        if getattr(estimator, "_skl_callbacks", None):
            y = data.classes[data.y] if data.classes.size else data.y
            self.data = {"X": data.X, "y": y, "metadata": {"sample_weight": data.sample_weights}}
            self.fit_task = estimator._init_callback_context(max_subtasks=n_problems)

    def __enter__(self) -> Self:
        self.progress.__enter__()
        if self.fit_task is not None:
            self.fit_task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return self

    @property
    def observe(self) -> bool:
        """Whether anybody observes the fit."""
        return self.in_order or self.progress.shown

    @property
    def in_order(self) -> bool:
        """Whether problems are solved one after the other, as the tasks of callbacks must be."""
        return self.fit_task is not None

    def next_problem(self, attributes: Callable[[Any, Any], dict[str, Any]]) -> IterationCallback | None:
        """Return the function to call after each iteration of the next problem, or None if nobody observes.

        ``attributes`` turns β and b into the attributes of an estimator that is fitted so far.
        """
        if not self.observe:
            return None
        task = None
        if self.fit_task is not None:
            self._end_problem()
            task = self.problem_task = self.fit_task.subcontext(
                task_name="problem", max_subtasks=self.estimator.max_iter
            )
            task.call_on_fit_task_begin(estimator=self.estimator, **self.data)

        def after_iteration(number: int, objective: float, coefficients: Callable[[], Coefficients]) -> bool:
            self.progress.advance(int(not self.several), note=f"objective {objective:.8g}")
            if task is None:
                return False
            iteration = task.subcontext(task_name="iteration")
            iteration.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            return iteration.call_on_fit_task_end(
                estimator=self.estimator,
                reconstruction_attributes=lambda: attributes(*coefficients()),
                **self.data,
            )

        return after_iteration

    def problem_solved(self) -> None:
        """Count a class as fitted, if there are several problems."""
        if self.several:
            self.progress.advance()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.__exit__(kind, error, trace)
        if self.fit_task is not None and error is None:
            self._end_problem()
            self.fit_task.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=dict, **self.data
            )

    def _end_problem(self) -> None:
        if self.problem_task is not None:
            self.problem_task.call_on_fit_task_end(estimator=self.estimator, **self.data)
