"""Fits of many problems at once, on a GPU: classes against the rest, folds, points of a grid.

The stages of a fit are those of ``stages.py``. All problems of a batch go through a stage together.
"""

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

from dropglm.estimators.device_batch import Batch, Fitted
from dropglm.estimators.features import AnyFeatures
from dropglm.estimators.l2_weights import L2_WEIGHTS
from dropglm.estimators.problem import Problem
from dropglm.estimators.stages import Solution, Task, Watch, run_stages
from dropglm.families import Family, Multinomial
from dropglm.objective import Coefficients
from dropglm.penalties import MonteCarlo, Penalty
from dropglm.solvers import LBFGS

# Share of the free memory that a batch may take.
SHARE = 0.8


class DeviceProblem(Problem):
    """A problem whose rows are on a GPU."""

    def solve(
        self,
        penalty: Penalty | None,
        l2: float,
        discount: float,
        solver: LBFGS,
        start: Coefficients | None = None,
        watch: Watch | None = None,
    ) -> Solution:
        """Minimise the objective; without ``start``, from the model with β = 0."""
        return solve_together([Task(self, penalty, l2, discount, start, watch)], solver)[0]

    @cached_property
    def labeled_l2_weights(self) -> Any:
        """Weights of l2, from the labelled rows alone; the most common ones need not come from the host."""
        from dropglm.cuda.runtime import array_module

        if self.l2_weights is not L2_WEIGHTS["uniform"]:
            return super().labeled_l2_weights
        return array_module().ones((self.features.labeled.shape[1], self.y.shape[1]), self.features.dtype)


def problem_class(features: AnyFeatures) -> type[Problem]:
    """Return the class of problems with these features."""
    return DeviceProblem if features.solves_together else Problem


def solve_together(tasks: Sequence[Task], solver: LBFGS) -> list[Solution]:
    """Return the solutions of tasks that share their features; their coefficients are on the GPU."""
    return [one.solution for one in fit_together(tasks, solver)]


def fit_together(tasks: Sequence[Task], solver: LBFGS) -> list[Fitted]:
    """Solve tasks that share their features and their kind of penalty, in as few batches as fit."""
    check_supported(tasks[0].problem.family, [task.penalty for task in tasks])
    alike: dict[Hashable, list[int]] = {}
    for number, task in enumerate(tasks):
        # A penalty that draws samples has its own copies of the rows.
        key = id(task.penalty) if isinstance(task.penalty, MonteCarlo) else None
        alike.setdefault(key, []).append(number)
    fitted: dict[int, Fitted] = {}
    for numbers in alike.values():
        fitted |= zip(numbers, _fit_in_batches([tasks[k] for k in numbers], solver), strict=True)
    return [fitted[number] for number in range(len(tasks))]


def _fit_in_batches(tasks: Sequence[Task], solver: LBFGS) -> list[Fitted]:
    """Solve tasks that can be in one batch, in as few as fit."""
    from dropglm.cuda.runtime import out_of_memory

    copies = _copies(tasks)  # before the memory that is left is divided
    size = _batch_size(tasks)
    fitted: list[Fitted] = []
    for first in range(0, len(tasks), size):
        batch = list(tasks[first : first + size])
        # Passes over an even number of columns are faster.
        odd = len(batch) > 2 and len(batch) % 2 and tasks[0].problem.y.shape[1] % 2
        padded = [*batch, batch[-1]._replace(watch=None)] if odd else batch
        with out_of_memory("A fit", _bytes_per_task(tasks[0]) * len(padded)):
            fitted += _solve_batch(padded, copies, solver)[: len(batch)]
    return fitted


def _copies(tasks: Sequence[Task]) -> list[Any]:
    """Return the noised copies of the sets of rows that the penalty needs; none unless it draws them."""
    task = tasks[0]
    if not isinstance(task.penalty, MonteCarlo):
        return []
    from dropglm.cuda.design import draw

    features: Any = task.problem.features
    designs = [features.labeled]
    if task.problem.some_unlabeled and any(one.discount for one in tasks):
        designs.append(features.unlabeled)
    return [draw(task.penalty, design) for design in designs]


def check_supported(family: type[Family], penalties: Sequence[Penalty | None]) -> None:
    """Raise an error if a GPU cannot fit this family or a penalty."""
    from dropglm.cuda.row_loops import FAMILY, PENALTY

    if family is Multinomial:
        if {type(one) for one in penalties} - {type(None), MonteCarlo}:
            raise ValueError(
                "On a GPU, a multinomial model must have no noise, or expectation='monte_carlo'; use "
                "multi_class='ovr' or device='cpu'."
            )
        return
    if family not in FAMILY:
        raise ValueError(
            f"On a GPU, the family must be one of dropglm's, got {family.__name__}; use device='cpu'."
        )
    if {type(one) for one in penalties} - {type(None), MonteCarlo, *PENALTY}:
        raise ValueError(
            "On a GPU, the expectation must be 'gaussian', 'quadratic' or 'monte_carlo'; "
            "use device='cpu' for others."
        )


def _solve_batch(tasks: Sequence[Task], copies: Sequence[Any], solver: LBFGS) -> list[Fitted]:
    """Take all tasks through the stages of a fit."""
    batch = Batch(tasks, copies)
    run_stages(batch, tasks, solver)
    return batch.fitted()


def _bytes_per_task(task: Task) -> int:
    """Return about how much memory of the GPU the fit of a task takes, besides the rows."""
    from dropglm.cuda.lbfgs import LONG_VECTORS

    features: Any = task.problem.features
    n, d = features.labeled.shape
    if features.unlabeled is not None and task.discount:
        n += features.unlabeled.shape[0]
    itemsize = features.dtype.itemsize
    # Per row: η and s² twice, the ray, and the slopes; per copy, η̃ twice, the ray, and a slope.
    size = d * LONG_VECTORS * itemsize + n * (7 * 8 + 2 * itemsize)
    if isinstance(task.penalty, MonteCarlo):
        size += n * task.penalty.n_samples * (5 * 8 + itemsize)
    return int(size * task.problem.y.shape[1])


def _batch_size(tasks: Sequence[Task]) -> int:
    """Return how many tasks fit into the memory of the GPU at the same time."""
    from dropglm.cuda.runtime import free_memory

    size = int(SHARE * free_memory() / _bytes_per_task(tasks[0]))
    return size // 2 * 2 if size > 1 else 1
