"""Fits on a GPU: the rows there, and fits of many problems at once (classes, folds, points of a grid).

All problems of a batch go through the stages of a fit together (``run_stages``). A problem has one column of
coefficients; a multinomial model has one for each class. ``DeviceFits`` has the arrays of all of them that
kernels read. In a search, all candidates, folds and classes of a stage are fitted at once. A fit does not
start near others there, as it does along the paths of a search on the CPU: waiting for them would take longer
than the iterations that it saves.
"""

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dropglm.base import checks
from dropglm.base.blocks import Blocks
from dropglm.base.errors import InputError
from dropglm.base.gpu_arrays import is_on_gpu, to_host
from dropglm.core.families import Family, Multinomial
from dropglm.core.features import FeaturesOfRows, Item
from dropglm.core.features import Result as Value
from dropglm.core.l2_weights import L2_WEIGHTS
from dropglm.core.noise import NO_NOISE, Noise
from dropglm.core.objective import Coefficients, Labels, loss_constant, penalty_scales
from dropglm.core.penalties import MonteCarlo, Penalty
from dropglm.core.problem import Problem, Solution, Task, run_stages
from dropglm.core.solvers import LBFGS, Status
from dropglm.places import gpu as cuda
from dropglm.places.candidate_fits import FoldFit, WantedFits
from dropglm.places.rows import RowsInMemory


class FeaturesOnGpu(FeaturesOfRows):
    """Labelled and unlabelled rows on a GPU, over the features that occur.

    Parameters
    ----------
    X : ndarray, scipy sparse or Blocks of shape (n, d), or a matrix of CuPy
    X_unlabeled : of shape (m, d), optional
    threads : int
        Number of threads for what is done on the host.

    Attributes
    ----------
    labeled, unlabeled : DeviceDesign, None without unlabelled rows
    """

    solves_together = True
    threads: int = 1  # for what is done on the host

    def __init__(self, X: Any, X_unlabeled: Any = None, threads: int = 1) -> None:
        given = [part for part in (X, X_unlabeled) if part is not None]
        in_blocks = isinstance(X, Blocks)
        widths = X.widths if in_blocks else (X.shape[1],)
        dtype = np.dtype(X.dtype)
        orders, matrices = [], []
        for number in range(len(widths)):
            parts = [part.blocks[number] if in_blocks else part for part in given]
            order, uploaded = cuda.design.upload(parts, dtype, threads)
            orders.append(order)
            matrices.append(uploaded)
        self._orders_on_gpu = orders  # these stay there, when ``orders`` come to the host
        super().__init__(orders, widths, dtype, in_blocks=in_blocks, some_unlabeled=len(given) == 2)
        self.labeled, *unlabeled = (
            cuda.design.DeviceDesign(parts, threads=threads) for parts in zip(*matrices, strict=True)
        )
        self.unlabeled = unlabeled[0] if unlabeled else None
        self.from_gpu = is_on_gpu(X)
        self.threads = threads

    @property
    def _home(self) -> Any:
        """NumPy or CuPy: the module of the arrays that the user gave."""
        return cuda.runtime.array_module() if self.from_gpu else np

    def like_coefficients(self, numbers: np.ndarray) -> Any:
        """Return numbers of the host in the type of the coefficients, and where these are."""
        return self._home.array(numbers, dtype=self.dtype)

    def zeros(self, K: int) -> Any:
        """Return coefficients of all features, of shape (K, d), where X was given."""
        return self._home.zeros((K, self.d), self.dtype)

    def mean_row(self, weights: np.ndarray) -> Any:
        """Return x̄, the weighted mean of the labelled rows, on the GPU; shape (d',)."""
        return self.labeled.transposed_dot((weights / weights.sum())[:, None])[:, 0]

    def expand(self, beta: Any) -> Any:
        """Return the (K, d) array of all features, given β of the host or of the GPU, where X was given."""
        xp = cuda.runtime.array_module()
        beta = xp.asarray(beta)
        coef = xp.zeros((beta.shape[1], self.d), self.dtype)
        start = done = 0
        for number, (order, width) in enumerate(zip(self._orders_on_gpu, self.widths, strict=True)):
            if number not in self.left_out:
                coef[:, start + order] = beta[done : done + len(order)].T
                done += len(order)
            start += width
        return coef if self.from_gpu else to_host(coef)

    def each(self, work: Callable[[Item], Value], items: Sequence[Item]) -> list[Value]:
        """Return ``[work(item) for item in items]``, one after the other: passes over X share memory."""
        return [work(item) for item in items]


# Share of the free memory that a batch may take.
SHARE = 0.8


class ProblemOnGpu(Problem):
    """A problem whose rows are on a GPU."""

    def solve_task(self, task: Task, solver: LBFGS) -> Solution:
        """Minimise the objective of a task of this problem."""
        return self.solve_together([task], solver)[0]

    @staticmethod
    def solve_together(tasks: Sequence[Task], solver: LBFGS) -> list[Solution]:
        """Return the solutions of tasks that share their features; their coefficients are on the GPU."""
        return [one.solution for one in fit_together(tasks, solver)]

    @cached_property
    def labeled_l2_weights(self) -> Any:
        """Weights of l2, from the labelled rows alone; the most common ones need not come from the host."""
        if self.l2_weights is not L2_WEIGHTS["uniform"]:
            return super().labeled_l2_weights
        shape = self.features.labeled.shape[1], self.y.shape[1]
        return cuda.runtime.array_module().ones(shape, self.features.dtype)


class Fitted(NamedTuple):
    """A solution, whose coefficients are on the GPU, and the predictors of all labelled rows."""

    solution: Solution
    eta: np.ndarray  # (n, K)


def fit_together(tasks: Sequence[Task], solver: LBFGS) -> list[Fitted]:
    """Solve tasks that share their features and their kind of penalty, in as few batches as fit."""
    check_supported(tasks[0].problem.family, [task.penalty for task in tasks])
    alike: dict[Hashable, list[int]] = {}
    fitted: dict[int, Fitted] = {}
    for number, task in enumerate(tasks):
        if task.problem.is_certain:
            solution = task.problem.certain_solution()
            fitted[number] = Fitted(solution, np.tile(solution.intercept, (len(task.problem.y), 1)))
            continue
        # A penalty that draws samples has its own copies of the rows.
        key = id(task.penalty) if isinstance(task.penalty, MonteCarlo) else None
        alike.setdefault(key, []).append(number)
    for numbers in alike.values():
        fitted |= zip(numbers, _fit_in_batches([tasks[k] for k in numbers], solver), strict=True)
    return [fitted[number] for number in range(len(tasks))]


def _fit_in_batches(tasks: Sequence[Task], solver: LBFGS) -> list[Fitted]:
    """Solve tasks that can be in one batch, in as few as fit."""
    copies = _copies(tasks)  # before the memory that is left is divided
    size = _batch_size(tasks)
    fitted: list[Fitted] = []
    for first in range(0, len(tasks), size):
        batch = list(tasks[first : first + size])
        # Passes over an even number of columns are faster.
        odd = len(batch) > 2 and len(batch) % 2 and tasks[0].problem.y.shape[1] % 2
        padded = [*batch, batch[-1]._replace(callback=None)] if odd else batch
        with cuda.runtime.out_of_memory("A fit", _bytes_per_task(tasks[0]) * len(padded)):
            together = DeviceFits(padded, copies)
            run_stages(together, padded, solver)
            fitted += together.fitted()[: len(batch)]
    return fitted


def _copies(tasks: Sequence[Task]) -> list[Any]:
    """Return the noised copies of the sets of rows that the penalty needs; none unless it draws them."""
    task = tasks[0]
    if not isinstance(task.penalty, MonteCarlo):
        return []
    features: Any = task.problem.features
    designs = [features.labeled]
    if task.problem.some_unlabeled and any(one.discount for one in tasks):
        designs.append(features.unlabeled)
    return [cuda.design.draw(task.penalty, design) for design in designs]


def check_supported(family: type[Family], penalties: Sequence[Penalty | None]) -> None:
    """Raise an error if a GPU cannot fit this family or a penalty."""
    if family is Multinomial:
        if {type(one) for one in penalties} - {type(None), MonteCarlo}:
            raise InputError(
                "On a GPU, a multinomial model must have no noise, or expectation='monte_carlo'; use "
                "multi_class='ovr' or device='cpu'.",
                *("expectation", "device"),
            )
        return
    if family not in cuda.row_loops.FAMILY:
        raise InputError(
            f"On a GPU, the family must be one of dropglm's, got {family.__name__}; use device='cpu'.",
            "device",
        )
    if {type(one) for one in penalties} - {type(None), MonteCarlo, *cuda.row_loops.PENALTY}:
        raise InputError(
            "On a GPU, the expectation must be 'gaussian', 'quadratic' or 'monte_carlo'; "
            "use device='cpu' for others.",
            "device",
        )


def _bytes_per_task(task: Task) -> int:
    """Return about how much memory of the GPU the fit of a task takes, besides the rows."""
    features: Any = task.problem.features
    n, d = features.labeled.shape
    if features.unlabeled is not None and task.discount:
        n += features.unlabeled.shape[0]
    itemsize = features.dtype.itemsize
    # Per row: η and s² twice, the ray, and the slopes; per copy, η̃ twice, the ray, and a slope.
    size = d * cuda.lbfgs.LONG_VECTORS * itemsize + n * (7 * 8 + 2 * itemsize)
    if isinstance(task.penalty, MonteCarlo):
        size += n * task.penalty.n_samples * (5 * 8 + itemsize)
    return int(size * task.problem.y.shape[1])


def _batch_size(tasks: Sequence[Task]) -> int:
    """Return how many tasks fit into the memory of the GPU at the same time."""
    size = int(SHARE * cuda.runtime.free_memory() / _bytes_per_task(tasks[0]))
    return size // 2 * 2 if size > 1 else 1


class DeviceFits:
    """Problems on the GPU, and their coefficients so far.

    Parameters
    ----------
    tasks : sequence of Task
        With the same features, family and kind of penalty.
    copies : sequence of Copies
        Noised copies of the labelled rows, and of the others if they count; empty unless the penalty draws
        samples.

    Attributes
    ----------
    theta : array of the GPU of shape (d + 1, P)
        (β, c) of all columns.
    """

    def __init__(self, tasks: Sequence[Task], copies: Sequence[Any]) -> None:
        self.xp = cuda.runtime.array_module()
        self.tasks, self.copies = tasks, copies
        self.features: FeaturesOnGpu = tasks[0].problem.features
        self.d = self.features.labeled.shape[1]
        self.classes: int = tasks[0].problem.y.shape[1]
        # Those of the other tasks are of the same kind.
        self.penalty = next((task.penalty for task in tasks if task.penalty is not None), None)
        columns = [(task.problem, k) for task in tasks for k in range(self.classes)]
        self.y = _SharedColumns(((id(one.y), k), one.y[:, k]) for one, k in columns)
        self.w = _SharedColumns((id(one.weights), one.weights) for one, _ in columns)
        self.mean = _SharedColumns(
            (id(one if one.mean is None else one.mean), partial(_mean, one)) for one, _ in columns
        )
        self.l2_weights = _SharedColumns(
            (_weights_key(one, k), partial(_l2_weights, one, k)) for one, k in columns
        )
        self.constant = _SharedColumns(
            (id(one), partial(loss_constant, one.family, Labels(one.y, one.weights))) for one, _ in columns
        )
        self.theta = self._start()
        self.minimum: Any = None
        self.passes = np.zeros(len(tasks), np.int64)  # over the rows, in all stages

    def _start(self) -> Any:
        """Return θ of all problems at their starts."""
        null = _SharedColumns((id(task.problem), task.problem.null_intercept) for task in self.tasks)
        c = null.columns(np.float64)[:, null.places].T.ravel()
        theta = self.xp.zeros((self.d + 1, len(c)), self.features.dtype)
        for number, task in enumerate(self.tasks):
            if task.start is not None:
                own, beta = self._columns_of(number), self.xp.asarray(task.start[0])
                theta[: self.d, own] = beta
                c[own] = task.start[1] + to_host(self.xp.asarray(_mean(task.problem)) @ beta)
        theta[self.d] = self.xp.asarray(c)
        return theta

    def _columns_of(self, number: int) -> slice:
        """Return the columns of a task."""
        return slice(number * self.classes, (number + 1) * self.classes)

    def solve(self, solver: LBFGS, discounts: np.ndarray, *, with_callback: bool = False) -> None:
        """Minimise the objectives of a stage, from the coefficients so far on."""
        problems = self._problems(np.repeat(discounts, self.classes))
        watch = self._watch if with_callback and any(task.callback for task in self.tasks) else None
        self.minimum = cuda.lbfgs.minimize(problems, self.theta, solver, watch)
        self.theta = self.minimum.theta
        self.passes += [result.passes for result in self.minimum.results[:: self.classes]]

    def _watch(self, n_iter: int, moved: np.ndarray, values: np.ndarray) -> bool:
        """Call what observes the tasks of these columns; return whether one of them stops the fit."""
        answers = [
            watch(n_iter, float(values[p]), partial(self._coefficients, p // self.classes))
            for p in moved.tolist()
            if p % self.classes == 0 and (watch := self.tasks[p // self.classes].callback) is not None
        ]
        return any(answers)

    def _coefficients(self, number: int) -> Coefficients:
        """Return β and b of a task at the current iteration, on the host."""
        theta = to_host(self.theta[:, self._columns_of(number)])
        beta = theta[: self.d]
        return beta, theta[self.d] - to_host(_mean(self.tasks[number].problem)) @ beta

    def _problems(self, discounts: np.ndarray) -> Any:
        tasks, classes = self.tasks, self.classes
        noises = [NO_NOISE if task.penalty is None else task.penalty.noise for task in tasks]
        blocks = [[noise.of_block(k) for noise in noises] for k in self.features.labeled.numbers]
        relative = np.array([[noise.relative for noise in block] for block in blocks], np.float64)
        absolute = np.array([[noise.absolute for noise in block] for block in blocks], np.float64)
        return cuda.objective.Problems(
            self._row_sets(discounts),
            cuda.row_loops.FAMILY.get(tasks[0].problem.family, 0),
            classes,
            self.constant.columns(np.float64)[self.constant.places],
            np.repeat(relative, classes, axis=1),
            np.repeat(absolute, classes, axis=1),
            np.repeat(np.array([task.l2 for task in tasks], np.float64), classes),
            self.l2_weights.columns(self.features.dtype, self.xp),
            self.mean.columns(self.features.dtype, self.xp),
            np.stack([self.l2_weights.places, self.mean.places]),
            tasks[0].problem.fit_intercept,
            self.features.dtype,
        )

    def _row_sets(self, discounts: np.ndarray) -> list[Any]:
        """Return the labelled rows and, if their penalty counts, the others, as ``semi_supervised`` does."""
        unlabeled_weights = self.tasks[0].problem.unlabeled_weights
        labeled, unlabeled = self.features.labeled, self.features.unlabeled
        y, w = self.y.columns(np.float64), self.w.columns(np.float64)
        n = w.sum(axis=0)[self.w.places]
        m = 0.0 if unlabeled_weights is None else float(unlabeled_weights.sum())
        factor, unlabeled_factor = penalty_scales(n, m, discounts)
        RowSet, penalty = cuda.objective.RowSet, cuda.row_loops.PENALTY.get(type(self.penalty), 0)
        places = np.stack([self.y.places, self.w.places, self.w.places])
        sets = [RowSet(labeled.placed, y, w, w, places, factor, penalty)]
        if unlabeled is not None and unlabeled_weights is not None and discounts.any():
            pi = unlabeled_weights[:, None]
            none, first = np.zeros_like(pi), np.zeros_like(places)
            sets.append(RowSet(unlabeled.placed, none, none, pi, first, unlabeled_factor, penalty))
        if not self.copies:
            return sets
        # The first stage of a fit may be without the unlabelled rows.
        return [replace(rows, copies=own) for rows, own in zip(sets, self.copies, strict=False)]

    def count_predictions(self) -> None:
        """Let the weights of l2 count unlabelled rows with the labels that are predicted so far."""
        found = []
        for number, task in enumerate(self.tasks):
            own = self._columns_of(number)
            coefficients = self.theta[: self.d, own], self.minimum.intercept[own]
            found += list(task.problem.l2_weights_with_predictions(coefficients).T)
        self.l2_weights = _SharedColumns(enumerate(found))

    def fitted(self) -> list[Fitted]:
        """Return the solutions of all tasks."""
        minimum = self.minimum
        eta = to_host(self.xp.ascontiguousarray(minimum.eta[0].T))
        fitted = []
        for number, passes in enumerate(self.passes.tolist()):
            own = self._columns_of(number)
            result = replace(minimum.results[own.start], passes=passes)
            solution = Solution(self.theta[: self.d, own], minimum.intercept[own], result)
            fitted.append(Fitted(solution, eta[own].T))
        return fitted


class _SharedColumns:
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

    def columns(self, dtype: Any, xp: Any = np) -> Any:
        """Return all columns as one array, of NumPy or of the GPU."""
        return xp.stack([xp.asarray(column, dtype=dtype) for column in self._columns], axis=-1)


def _mean(problem: Problem) -> Any:
    """Return x̄, or zeros without an intercept."""
    return problem._mean if problem.fit_intercept else np.zeros_like(problem._mean)


def _l2_weights(problem: Problem, k: int) -> Any:
    return problem.labeled_l2_weights[:, k]


def _weights_key(problem: Problem, k: int) -> Hashable:
    return (id(problem), k) if problem.l2_weights.uses_labels else id(problem.l2_weights)


def fit_in_batches(rows: "RowsOnGpu", wanted: WantedFits) -> dict[tuple[int, int], FoldFit]:
    """Return the fits of candidates to folds, all at once; see ``fit_along_paths``."""
    grid, numbers, folds = wanted.grid, wanted.numbers, wanted.folds
    rows.compute_means({grid[number].l2_weights.left_out for number in numbers}, folds)
    # Fits in one batch have the same blocks of features, and the same stages.
    batches: dict[Any, list[int]] = {}
    for number in numbers:
        rule = grid[number].l2_weights
        batches.setdefault((rule.left_out, rule.counts_unlabeled), []).append(number)
    parts: dict[tuple[int, int, int], FoldFit] = {}
    for members in batches.values():
        begin = time.perf_counter()
        keys = list(product(members, folds, range(len(rows.targets))))
        problems: dict[Any, Any] = {}
        tasks = []
        for number, fold, k in keys:
            candidate = grid[number]
            shared = id(candidate.l2_weights), fold, k
            if shared not in problems:
                problems[shared] = rows.problem(candidate.l2_weights, k, fold)
            settings = candidate.penalty, candidate.params["l2"], candidate.params["discount"]
            tasks.append(Task(problems[shared], *settings))
        fitted = fit_together(tasks, wanted.solver)
        seconds = (time.perf_counter() - begin) / len(keys)
        for (number, fold, k), (solution, eta) in zip(keys, fitted, strict=True):
            predictors = eta[rows.folds[fold].test] - solution.intercept  # they come with the fits
            parts[number, fold, k] = FoldFit(
                ((to_host(solution.beta), solution.intercept),) if wanted.keeps(grid[number]) else (),
                rows._as_held_out(
                    fold,
                    predictors,
                    solution.intercept,
                    rows._unscaled(fold, solution.beta, grid[number].l2_weights.left_out),
                ),
                seconds,
                solution.result.n_iter,
                solution.result.status == Status.CONVERGED,
            )
    fits = {}
    for number, fold in product(numbers, folds):
        fits[number, fold] = FoldFit.joined([parts[number, fold, k] for k in range(len(rows.targets))])
        wanted.on_fit(1.0)
    return fits


class RowsOnGpu(RowsInMemory):
    """Rows on a GPU, where all fits of a stage of a search run at once."""

    _problem_class = ProblemOnGpu
    fit_candidates = fit_in_batches

    def _prepare(self, noises: Sequence[Noise], unlabeled: bool, for_rounds: bool) -> FeaturesOnGpu:
        X_unlabeled = self.data.X_unlabeled if unlabeled else None
        return FeaturesOnGpu(self.data.X, X_unlabeled, checks.threads(self.estimator.n_jobs))
