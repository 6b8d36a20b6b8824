"""scikit-learn's callbacks, where the installed version has them (1.9 and later)."""

from collections.abc import Callable
from typing import Any

from dropglm.estimators.problem import Watch

try:
    import sklearn.callback as theirs
except ImportError:  # scikit-learn 1.8: nothing to support, and methods stay as they are
    theirs = None

CallbackSupportMixin: Any = getattr(theirs, "CallbackSupportMixin", type("CallbackSupportMixin", (), {}))
with_callbacks: Any = getattr(theirs, "with_callbacks", lambda method: method)


class Tasks:
    """The tasks of a fit, as callbacks see them: the fit, its problems, the iterations of each.

    Parameters
    ----------
    estimator : estimator
    data : dict
        X, y and metadata, as the callbacks get them.
    problems : int
    max_iter : int
    """

    def __init__(self, estimator: Any, data: dict[str, Any], problems: int, max_iter: int) -> None:
        self.estimator = estimator
        self.data = data
        self.max_iter = max_iter
        self.root: Any = None
        self.task: Any = None
        if getattr(estimator, "_skl_callbacks", None):
            self.root = estimator._init_callback_context(max_subtasks=problems)
            self.root.call_on_fit_task_begin(estimator=estimator, **data)

    def problem(self, attributes: Callable[..., dict[str, Any]]) -> Watch | None:
        """What watches the iterations of the next problem.

        ``attributes`` turns β and b into the attributes of an estimator that is fitted so far.
        """
        if self.root is None:
            return None
        self._end_problem()
        task = self.task = self.root.subcontext(task_name="problem", max_subtasks=self.max_iter)
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)

        def after_iteration(number: int, objective: float, coefficients: Callable) -> bool:
            iteration = task.subcontext(task_name="iteration")
            iteration.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            return iteration.call_on_fit_task_end(
                estimator=self.estimator,
                reconstruction_attributes=lambda: attributes(*coefficients()),
                **self.data,
            )

        return after_iteration

    def end(self) -> None:
        """The fit is over, and the estimator is fitted."""
        if self.root is not None:
            self._end_problem()
            self.root.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=dict, **self.data
            )

    def _end_problem(self) -> None:
        if self.task is not None:
            self.task.call_on_fit_task_end(estimator=self.estimator, **self.data)
