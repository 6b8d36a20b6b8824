"""L-BFGS for many problems at once, each with its own steps and its own end.

The method, its preconditioner and its line search are those of ``dropglm.solvers``. Here every pass over the
rows, and every loop over the features, serves all problems that have not ended. Long vectors stay on the
GPU; the host decides on steps, by a few numbers per problem.
"""

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from dropglm.cuda import vector_loops
from dropglm.cuda.matrix import Group, Pair
from dropglm.cuda.objective import BY_ROWS, MULTIPLIED, SHIFT, DeviceObjective
from dropglm.cuda.problems import Problems
from dropglm.cuda.runtime import Stream, array_module, to_device, to_host
from dropglm.cuda.searches import Searches, solve_each
from dropglm.cuda.vector_loops import MEMORY, PRODUCTS
from dropglm.solvers import History, Result, Status
from dropglm.solvers.lbfgs import REFRESHES
from dropglm.solvers.line_search import MAX_TRIALS

# Vectors of one number per coefficient that a fit needs: pairs, θ, direction, gradients, preconditioner.
LONG_VECTORS = 2 * MEMORY + 6

# A group is made anew when at most this share of its problems is running.
KEPT = 0.8
# The curvature is computed anew when more than this share of the running problems seems to have converged.
WAITING = 0.1

# Called after each iteration with its number, the numbers of the problems that it served, and the values of
# all; a true return value stops all of them.
Watch = Callable[[int, np.ndarray, np.ndarray], bool]


class Minimum(NamedTuple):
    """The minima of all problems."""

    theta: Any  # array of the GPU of shape (d + 1, P)
    intercept: np.ndarray  # b, (P,)
    eta: tuple[Any, ...]  # of each set of rows, arrays of the GPU of shape (n, P)
    results: list[Result]


def minimize(
    problems: Problems,
    theta: Any,
    *,
    tol: float,
    max_iter: int,
    min_iter: int = 0,
    watch: Watch | None = None,
) -> Minimum:
    """Return the minima of all problems, from θ on, which is overwritten."""
    with Stream() as stream:
        return _Batch(problems, theta, stream, tol, max_iter, min_iter).run(watch)


class _Batch:
    """The state of all problems."""

    def __init__(
        self, problems: Problems, theta: Any, stream: Stream, tol: float, max_iter: int, min_iter: int
    ) -> None:
        xp, P, d = array_module(), problems.count, problems.d
        self.stream, self.P = stream, P
        self.tol, self.max_iter, self.min_iter = tol, max_iter, min_iter
        self.objective = DeviceObjective(problems, theta)
        # On the GPU: pairs (s, y), the last gradient, and what the host decides: the coefficients of the
        # direction, and the number of pairs with the place of a new one.
        self.s, self.y = (Pair.of(xp.zeros((MEMORY, d + 1, P), problems.dtype)) for _ in range(2))
        self.old = Pair.of(xp.zeros((d + 1, P), problems.dtype))
        self.coefficients = xp.zeros((2 * MEMORY + 1, P))
        self.a, self.e = (
            Pair.of(part) for part in (self.coefficients[:MEMORY], self.coefficients[MEMORY:-1])
        )
        self.scale = Pair.of(self.coefficients[-1])
        self.pairs = Pair.of(xp.zeros(2, np.int32))
        # Inner products, as in ``solvers/memory.py``, of each problem.
        self.sy, self.yy = np.zeros((2, P, MEMORY, MEMORY))
        self.sg, self.yg = np.zeros((2, P, MEMORY))
        self.gg, self.slope = np.zeros((2, P))
        self.usable = np.zeros((P, MEMORY), np.bool_)
        self.order: list[int] = []  # places of the pairs, oldest first
        # At the current point.
        self.value, self.l2_norm, self.intercept, self.norm = np.zeros((4, P))
        self.fresh = np.ones(P, np.bool_)  # whether the preconditioner was computed there
        self.status: list[str | None] = [None] * P
        self.seen: list[list[tuple[float, float, float]]] = [[] for _ in range(P)]

    def run(self, watch: Watch | None) -> Minimum:
        """Minimise."""
        everyone = Group.of(np.arange(self.P), self.P, self.stream)
        self._start(everyone)
        first_value, group, running = self.value.copy(), everyone, everyone.numbers
        for n_iter in count():
            running = self._unfinished(group, running, n_iter)
            if not len(running):
                break
            group = self._group(running, group)
            steps = self._search(group, running)
            stalled = np.isnan(steps[running])
            for p in running[stalled].tolist():
                # At a perfect fit f is 0, so the gradient is compared with the objective at the start.
                perfect = 0.5 * self.gg[p] <= np.finfo(self.objective.dtype).eps * first_value[p]
                self.status[p] = Status.CONVERGED if perfect else Status.STALLED
            running = running[~stalled]
            if not len(running):
                break
            self._arrive(group, running, n_iter % MEMORY, steps)
            self.fresh[:] = False
            if n_iter + 1 in REFRESHES:
                self._precondition(group, running)
            self._solve(running)
            self._note(running, steps)
            if watch is not None and watch(n_iter + 1, running, self.value):
                break
        results = [self._result(p) for p in range(self.P)]
        eta = tuple(state.eta.array for state in self.objective.states)
        return Minimum(self.objective.theta.array, self.intercept, eta, results)

    def _start(self, everyone: Group) -> None:
        """Compute value, gradient and preconditioner at the start."""
        objective = self.objective
        self.l2_norm, self.intercept = objective.start(everyone)
        objective.evaluate(everyone)
        objective.differentiate(everyone)
        by_rows = to_host(objective.report)[BY_ROWS]
        self.value = objective.problems.constant + by_rows[0] + 0.5 * self.l2_norm
        total = to_host(objective.gradient.array.sum(axis=0, dtype=np.float64))
        if not np.isfinite([self.value, total]).all():
            raise ValueError(
                "The objective is not finite at the starting point: the features, the targets or the initial "
                "coefficients are too large; scale them down."
            )
        self.old.array[:] = objective.gradient.array
        self._precondition(everyone, everyone.numbers)
        self._solve(everyone.numbers)
        self._note(everyone.numbers, np.full(self.P, np.nan))

    def _group(self, running: np.ndarray, group: Group) -> Group:
        """Return the problems to work on: some that have ended stay in the group.

        To call the kernels for another group takes as long as many iterations of recorded ones.
        """
        if len(running) > KEPT * len(group.numbers):
            return group
        self.stream.forget()
        return Group.of(running, self.P, self.stream)

    def _play(self, name: str, work: Callable[[], None]) -> None:
        """Call the kernels of a step for the group."""
        if self.objective.records:
            self.stream.play(name, self.objective.kind, work)
        else:
            work()

    def _unfinished(self, group: Group, running: np.ndarray, n_iter: int) -> np.ndarray:
        """Set the status of problems that have ended; return the numbers of the others."""
        if n_iter >= self.min_iter:
            # The norm has to be small with the curvature of this point, which is computed for the whole group
            # when some of its problems wait for it.
            waiting = (self.norm[running] <= self.tol) & ~self.fresh[running]
            if waiting.sum() > (WAITING * len(running) if n_iter < self.max_iter else 0):
                self._precondition(group, running)
                self._solve(running)
                self.norm[running] = self._norm(running)
                for p in running.tolist():
                    value, _, step = self.seen[p][-1]
                    self.seen[p][-1] = value, float(self.norm[p]), step
            for p in running[(self.norm[running] <= self.tol) & self.fresh[running]].tolist():
                self.status[p] = Status.CONVERGED
        if n_iter == self.max_iter:
            for p in running.tolist():
                self.status[p] = self.status[p] or Status.MAX_ITER
        return np.array([p for p in running.tolist() if self.status[p] is None], np.int64)

    def _search(self, group: Group, running: np.ndarray) -> np.ndarray:
        """Return a step of each problem that satisfies the Wolfe conditions; NaN if none descends."""
        objective = self.objective
        searches = Searches(self.value, self.slope, running)

        def aim() -> None:
            history = self.pairs, self.a, self.e, self.scale, self.s, self.y
            point = objective.inverse, objective.gradient, objective.theta
            objective.loop(
                *(group, vector_loops.combine, *(pair.view for pair in (*history, *point))),
                *(*objective.coefficients, objective.direction.view, objective.sums),
            )
            objective.aim(group)
            objective.evaluate(group)

        for trial in range(MAX_TRIALS + 1):
            if trial == MAX_TRIALS and not len(searches.settle()):
                break
            steps = searches.steps
            to_device(steps, objective.steps.array)
            if trial:
                self._play("another step", lambda: objective.evaluate(group))
            else:
                self._play("first step", aim)
            if trial == MAX_TRIALS:
                break
            report = to_host(objective.report)
            crossed, square, (value, slope) = report[0], report[1], report[BY_ROWS][:2]
            half_l2 = 0.5 * self._l2_norm_at(report, steps)
            searches.narrow(objective.problems.constant + value + half_l2, slope + crossed + steps * square)
            if not len(searches.open):
                break
        self.value = searches.values
        return searches.result

    def _l2_norm_at(self, report: np.ndarray, steps: np.ndarray) -> np.ndarray:
        crossed, square = report[:2]
        return self.l2_norm + steps * (2.0 * crossed + steps * square)

    def _arrive(self, group: Group, numbers: np.ndarray, slot: int, steps: np.ndarray) -> None:
        """Go to the ends of the steps, and add them to the memory as the pair at this place."""
        objective = self.objective
        if slot in self.order:
            self.order.remove(slot)
        self.order.append(slot)
        to_device(np.nan_to_num(steps), objective.steps.array)
        to_device(np.array([len(self.order), slot], np.int32), self.pairs.array)

        def arrive() -> None:
            objective.move(group)
            objective.differentiate(group)
            self._multiply(group)

        self._play("arrive", arrive)
        report = to_host(objective.report)
        old_sg, old_yg = self.sg.copy(), self.yg.copy()
        sy, yy = self._set_products(report, numbers)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            good = (sy > 0.0) & (yy > 0.0) & np.isfinite(sy / yy)
        # Products with the new y are differences of products with two gradients.
        self.sy[numbers, :, slot] = (self.sg - old_sg)[numbers]
        self.yy[numbers, :, slot] = self.yy[numbers, slot, :] = (self.yg - old_yg)[numbers]
        self.sy[numbers, slot, :] = 0.0
        self.sy[numbers, slot, slot], self.yy[numbers, slot, slot] = sy[numbers], yy[numbers]
        self.usable[numbers, slot] = good[numbers]
        self.l2_norm[numbers] = self._l2_norm_at(report, steps)[numbers]
        self.intercept[numbers] += (steps * report[SHIFT][0])[numbers]

    def _multiply(self, group: Group) -> None:
        """Call the kernels for the products of the pairs with the gradient."""
        objective = self.objective
        pairs = self.pairs.view, objective.steps.view, self.s.view, self.y.view
        point = objective.inverse.view, objective.gradient.view, self.old.view, objective.direction.view
        objective.loop(group, vector_loops.multiply, *pairs, *point, objective.sums)
        objective.add_products(group, PRODUCTS, objective.multiplied)

    def _set_products(self, report: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Set the products with the gradient; return s·y and y·P⁻¹y of the new pair, if any."""
        products = report[MULTIPLIED].T
        self.sg[numbers] = products[numbers, :MEMORY]
        self.yg[numbers] = products[numbers, MEMORY : 2 * MEMORY]
        self.gg[numbers] = products[numbers, 2 * MEMORY]
        return products[:, 2 * MEMORY + 1], products[:, 2 * MEMORY + 2]

    def _precondition(self, group: Group, numbers: np.ndarray) -> None:
        """Compute the preconditioner at the current points, and all products that depend on it."""
        objective = self.objective
        to_device(np.array([len(self.order), -1], np.int32), self.pairs.array)

        def precondition() -> None:
            objective.precondition(group)
            memory = self.pairs.view, self.y.view, objective.inverse.view, objective.sums
            objective.loop(group, vector_loops.square, *memory, depth=MEMORY)
            objective.add_products(group, MEMORY * MEMORY, objective.squares.view)
            self._multiply(group)

        self._play("precondition", precondition)
        if self.order:
            squares = to_host(objective.squares.array).T.reshape(self.P, MEMORY, MEMORY)
            self.yy[numbers] = squares[numbers]
        self._set_products(to_host(objective.report), numbers)
        self.fresh[numbers] = True

    def _solve(self, numbers: np.ndarray) -> None:
        """Set the coefficients of the next directions, and the slopes along them."""
        products = self.sy, self.yy, self.sg, self.yg, self.gg
        order = np.array(self.order, np.int64)
        a, e, scale = solve_each(numbers, order, self.usable, products, self.slope)
        to_device(np.vstack([a.T, e.T, scale]), self.coefficients)

    def _norm(self, numbers: np.ndarray) -> np.ndarray:
        """√(gᵀHg / 2f), the larger of the two."""
        value = np.maximum(self.value[numbers], np.finfo(np.float64).tiny)
        return np.sqrt(np.maximum(self.gg[numbers], -self.slope[numbers]) / (2.0 * value))

    def _note(self, numbers: np.ndarray, steps: np.ndarray) -> None:
        self.norm[numbers] = self._norm(numbers)
        for p in numbers.tolist():
            self.seen[p].append((float(self.value[p]), float(self.norm[p]), float(steps[p])))

    def _result(self, p: int) -> Result:
        history = History(*map(np.array, zip(*self.seen[p], strict=True)))
        value, norm, _ = self.seen[p][-1]
        n_iter = len(self.seen[p]) - 1
        # An iteration has one pass over the rows and one over the columns, as has the start.
        return Result(self.status[p] or Status.CALLBACK, n_iter, 2 * n_iter + 2, value, norm, history)
