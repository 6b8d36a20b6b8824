"""Fits of many problems at once, on a GPU: classes against the rest, folds, points of a grid.

The stages of a fit are those of ``stages.py``. All problems of a batch go through a stage together.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dropglm.estimators.device_features import DeviceFeatures
from dropglm.estimators.features import AnyFeatures
from dropglm.estimators.l2_weights import L2_WEIGHTS
from dropglm.estimators.problem import Problem
from dropglm.estimators.stages import ROUGH_TOL, Solution, Task, Watch
from dropglm.families import Family
from dropglm.gpu_arrays import to_host
from dropglm.noise import NO_NOISE
from dropglm.objective import Coefficients
from dropglm.penalties import MonteCarlo, Penalty
from dropglm.solvers import LBFGS

# Share of the free memory that a batch may take.
SHARE = 0.8


class Fitted(NamedTuple):
    """A solution, whose coefficients are on the GPU, and the predictors of all labelled rows."""

    solution: Solution
    eta: np.ndarray  # (n,)


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

    size = _batch_size(tasks)
    fitted: list[Fitted] = []
    for first in range(0, len(tasks), size):
        batch = list(tasks[first : first + size])
        # Passes over an even number of problems are faster.
        padded = [*batch, batch[-1]._replace(watch=None)] if len(batch) > 2 and len(batch) % 2 else batch
        with out_of_memory("A fit", _bytes_per_task(tasks[0]) * len(padded)):
            fitted += _solve_batch(padded, solver)[: len(batch)]
    return fitted


def check_supported(family: type[Family], penalties: Sequence[Penalty | None]) -> None:
    """Raise an error if a GPU cannot fit this family or a penalty."""
    from dropglm.cuda.row_loops import FAMILY, PENALTY

    if family.several:
        raise ValueError(
            'A multinomial model is not available on a GPU; use multi_class="ovr", or device="cpu".'
        )
    known = {type(None), MonteCarlo, *PENALTY}
    others = {type(one) for one in penalties} - known
    if family not in FAMILY or others:
        raise ValueError(
            "On a GPU, the expectation must be 'gaussian', 'quadratic' or 'monte_carlo', and the family one "
            'of dropglm\'s; use device="cpu" for others.'
        )


def _solve_batch(tasks: Sequence[Task], solver: LBFGS) -> list[Fitted]:
    """Take all tasks through the stages of a fit."""
    problem = tasks[0].problem
    rough = replace(solver, tol=max(solver.tol, ROUGH_TOL))
    discounts = np.array([task.discount if task.penalty is not None else 0.0 for task in tasks])
    some_unlabeled = problem.some_unlabeled
    predicts_labels = problem.l2_weights.counts_unlabeled and some_unlabeled
    from_nothing = all(task.start is None for task in tasks)
    stages = []
    if from_nothing and problem.labels_first and some_unlabeled and discounts.any():
        stages.append((rough, np.zeros_like(discounts)))
    if predicts_labels:
        stages.append((rough, discounts))
    stages.append((solver, discounts))

    batch = _Batch(tasks)
    for number, (stage_solver, stage_discounts) in enumerate(stages, start=1):
        is_last = number == len(stages)
        if is_last and predicts_labels:
            batch.count_predictions()
        batch.solve(stage_solver, stage_discounts, watched=is_last)
    return batch.fitted()


class _Batch:
    """Problems on the GPU, and their coefficients so far."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        from dropglm.cuda.runtime import array_module

        self.xp = array_module()
        self.tasks = tasks
        self.features: DeviceFeatures = tasks[0].problem.features
        self.d = self.features.labeled.shape[1]
        # The others are of the same kind.
        self.penalty = next((task.penalty for task in tasks if task.penalty is not None), None)
        problems = [task.problem for task in tasks]
        self.y = _Table((id(one.y), one.y[:, 0]) for one in problems)
        self.w = _Table((id(one.weights), one.weights) for one in problems)
        self.mean = _Table((_mean_key(one), partial(_mean, one)) for one in problems)
        self.l2_weights = _Table((_weights_key(one), partial(_l2_weights, one)) for one in problems)
        self.constant = _Table((id(one), partial(_constant, one)) for one in problems)
        self.theta = self._start()
        self.minimum: Any = None
        self._noised: dict[int, Any] = {}  # copies of rows, if the penalty draws them, by number of the set
        self.passes = np.zeros(len(tasks), np.int64)  # over the rows, in all stages

    def _start(self) -> Any:
        """Return θ of all problems at their starts."""
        theta = self.xp.zeros((self.d + 1, len(self.tasks)), self.features.dtype)
        null = _Table((id(task.problem), partial(_null_intercept, task.problem)) for task in self.tasks)
        c = null.columns(np.float64)[null.places]
        for p, task in enumerate(self.tasks):
            if task.start is not None:
                beta = self.xp.asarray(task.start[0][:, 0])
                theta[: self.d, p] = beta
                c[p] = float(task.start[1][0]) + float(
                    self.xp.dot(self.xp.asarray(_mean(task.problem)), beta)
                )
        theta[self.d] = self.xp.asarray(c)
        return theta

    def solve(self, solver: LBFGS, discounts: np.ndarray, *, watched: bool) -> None:
        """Minimise the objectives of a stage, from the coefficients so far on."""
        from dropglm.cuda.lbfgs import minimize

        self.minimum = minimize(
            self._problems(discounts),
            self.theta,
            tol=solver.tol,
            max_iter=solver.max_iter,
            min_iter=solver.min_iter,
            watch=self._watch if watched and any(task.watch for task in self.tasks) else None,
        )
        self.theta = self.minimum.theta
        self.passes += [result.passes for result in self.minimum.results]

    def _watch(self, n_iter: int, numbers: np.ndarray, values: np.ndarray) -> bool:
        """Call what observes the tasks of these numbers; return whether one of them stops the fit."""
        answers = [
            watch(n_iter, float(values[p]), partial(self._coefficients, p))
            for p in numbers.tolist()
            if (watch := self.tasks[p].watch) is not None
        ]
        return any(answers)

    def _coefficients(self, p: int) -> Coefficients:
        """Return β and b of a problem at the current iteration, on the host."""
        theta = to_host(self.theta[:, p])
        beta = theta[: self.d, None]
        return beta, np.array([theta[self.d] - float(to_host(_mean(self.tasks[p].problem)) @ beta[:, 0])])

    def _problems(self, discounts: np.ndarray) -> Any:
        from dropglm.cuda.problems import Problems
        from dropglm.cuda.row_loops import FAMILY

        tasks, family = self.tasks, self.tasks[0].problem.family
        noises = [NO_NOISE if task.penalty is None else task.penalty.noise for task in tasks]
        numbers = self.features.labeled.numbers
        absolute = np.array([[noise.of_block(k).absolute for noise in noises] for k in numbers], np.float64)
        return Problems(
            self._row_sets(discounts),
            FAMILY[family],
            self.constant.columns(np.float64)[self.constant.places],
            np.array([[noise.of_block(k).relative for noise in noises] for k in numbers], np.float64),
            # Copies of rows have the additive noise in them.
            np.zeros_like(absolute) if isinstance(self.penalty, MonteCarlo) else absolute,
            np.array([task.l2 for task in tasks], np.float64),
            self.l2_weights.columns_on_gpu(self.features.dtype),
            self.l2_weights.places,
            self.mean.columns_on_gpu(self.features.dtype),
            self.mean.places,
            tasks[0].problem.fit_intercept,
            self.features.dtype,
        )

    def _row_sets(self, discounts: np.ndarray) -> list[Any]:
        """Return the labelled rows and, if their penalty counts, the others, as ``semi_supervised`` does."""
        from dropglm.cuda.copies import draw
        from dropglm.cuda.problems import RowSet
        from dropglm.cuda.row_loops import PENALTY

        P, unlabeled_weights = len(self.tasks), self.tasks[0].problem.unlabeled_weights
        labeled, unlabeled = self.features.labeled, self.features.unlabeled
        y, w = self.y.columns(np.float64), self.w.columns(np.float64)
        n = w.sum(axis=0)[self.w.places]
        m = 0.0 if unlabeled_weights is None else float(unlabeled_weights.sum())
        share = n / (n + discounts * m)
        places = self.y.places, self.w.places, self.w.places
        penalty = PENALTY.get(type(self.penalty), 0)
        blocks = list(zip(labeled.places, labeled.matrices, strict=True))
        sets = [RowSet(blocks, y, w, w, *places, share, penalty)]
        if unlabeled is not None and unlabeled_weights is not None and discounts.any():
            blocks = list(zip(unlabeled.places, unlabeled.matrices, strict=True))
            pi, none, first = (
                unlabeled_weights[:, None],
                np.zeros((len(unlabeled_weights), 1)),
                np.zeros(P, int),
            )
            sets.append(RowSet(blocks, none, none, pi, first, first, first, share * discounts, penalty))
        if not isinstance(self.penalty, MonteCarlo):
            return sets
        for number, design in enumerate([labeled, unlabeled][: len(sets)]):
            if number not in self._noised:
                self._noised[number] = draw(self.penalty, design)
        return [part for number, rows in enumerate(sets) for part in self._noised[number].row_sets(rows)]

    def count_predictions(self) -> None:
        """Let the weights of l2 count unlabelled rows with the labels that are predicted so far."""

        def weights_of(p: int) -> Any:
            coefficients = self.theta[: self.d, p : p + 1], self.minimum.intercept[p : p + 1]
            return self.tasks[p].problem.l2_weights_with_predictions(coefficients)[:, 0]

        self.l2_weights = _Table((p, weights_of(p)) for p in range(len(self.tasks)))

    def fitted(self) -> list[Fitted]:
        """Return the solutions of all tasks."""
        minimum = self.minimum
        eta = to_host(self.xp.ascontiguousarray(minimum.eta[0].T))
        results = [
            replace(result, passes=passes)
            for result, passes in zip(minimum.results, self.passes.tolist(), strict=True)
        ]
        return [
            Fitted(Solution(self.theta[: self.d, p : p + 1], minimum.intercept[p : p + 1], result), eta[p])
            for p, result in enumerate(results)
        ]


class _Table:
    """Columns that several problems share, and the column of each problem.

    Parameters
    ----------
    items : iterable of (hashable, array or callable that returns one)
        The key of each problem's column, and the column; where a key comes again, its column is ignored.
    """

    def __init__(self, items: Iterable[tuple[Hashable, Any]]) -> None:
        place_of: dict[Hashable, int] = {}
        self._columns: list[Any] = []
        places = []
        for key, column in items:
            if key not in place_of:
                place_of[key] = len(place_of)
                self._columns.append(column() if callable(column) else column)
            places.append(place_of[key])
        self.places = np.array(places)

    def columns(self, dtype: Any) -> np.ndarray:
        """Return all columns as one array."""
        return np.stack(self._columns, axis=-1).astype(dtype, copy=False)

    def columns_on_gpu(self, dtype: Any) -> Any:
        """Return all columns as one array of the GPU."""
        from dropglm.cuda.runtime import array_module

        xp = array_module()
        return xp.stack([xp.asarray(column, dtype=dtype) for column in self._columns], axis=-1)


def _mean(problem: Problem) -> Any:
    """Return x̄, or zeros without an intercept."""
    return problem._mean if problem.fit_intercept else np.zeros_like(problem._mean)


def _mean_key(problem: Problem) -> Hashable:
    return id(problem) if problem.mean is None else id(problem.mean)


def _l2_weights(problem: Problem) -> Any:
    """Return the weights of l2; the most common ones need not come from the host."""
    from dropglm.cuda.runtime import array_module

    if problem.l2_weights is L2_WEIGHTS["uniform"]:
        return array_module().ones(problem.features.labeled.shape[1], problem.features.dtype)
    return problem.labeled_l2_weights[:, 0]


def _weights_key(problem: Problem) -> Hashable:
    return id(problem) if problem.l2_weights.uses_labels else id(problem.l2_weights)


def _constant(problem: Problem) -> float:
    """Σ w A*(y), which makes the loss of a perfect fit 0."""
    return float(np.sum(problem.weights * problem.family.conjugate(problem.y[:, 0])))


def _null_intercept(problem: Problem) -> float:
    return float(problem.null_intercept()[0])


def _bytes_per_task(task: Task) -> int:
    """Return about how much memory of the GPU the fit of a task takes, besides the rows."""
    from dropglm.cuda.lbfgs import LONG_VECTORS

    features: Any = task.problem.features
    n, d = features.labeled.shape
    if features.unlabeled is not None and task.discount:
        n += features.unlabeled.shape[0]
    if isinstance(task.penalty, MonteCarlo):
        n *= 1 + task.penalty.n_samples
    # Per row: η and s² twice, the ray, and the slopes.
    return int(d * LONG_VECTORS * features.dtype.itemsize + n * (7 * 8 + 2 * features.dtype.itemsize))


def _batch_size(tasks: Sequence[Task]) -> int:
    """Return how many tasks fit into the memory of the GPU at the same time."""
    from dropglm.cuda.runtime import free_memory

    size = int(SHARE * free_memory() / _bytes_per_task(tasks[0]))
    return size // 2 * 2 if size > 1 else 1
