"""L-BFGS for many problems at once, each with its own steps and its own end.

The method, its preconditioner and its line search are those of ``dropglm.core.solvers``. Here every pass over
the rows, and every loop over the features, serves all problems that have not ended. A round is the same
series of kernels each time, which is recorded once: aim along the next direction, try one or two steps, and
arrive. A problem that needs more trials does not move in this round; it continues in the next. After a round,
a few numbers per problem are reported to the host; it decides who has converged and when the curvature is
computed anew. The next round is called before the report of the last one has come: problems that may have
converged wait by themselves.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dropglm.base.errors import InputError
from dropglm.core.objective import check_squares
from dropglm.core.solvers import LBFGS, REFRESHES, Result, Status, check_start, status_without_descent
from dropglm.places.gpu import lbfgs_loops as loops
from dropglm.places.gpu.lbfgs_loops import MEMORY
from dropglm.places.gpu.objective import DeviceObjective, Problems
from dropglm.places.gpu.runtime import GpuArray, Group, Reports, Stream, array_module, view

# Vectors of one number per coefficient that a fit needs: pairs, θ, direction, gradients, preconditioner.
LONG_VECTORS = 2 * MEMORY + 5

# Steps that are tried in a round. Of the steps on IMDB's bigrams, 78 % are taken at the first trial, and all
# others at the second.
TRIALS_PER_ROUND = 2
# Grids are made anew, for fewer problems, when at most this share of them is left. A search on IMDB took as
# long with 0.25 and 0.75.
KEPT = 0.5
# The curvature is computed anew when more than this share of the running problems seems to have converged.
# The search took as long with 0.1, and an eighth longer with 0.5.
WAITING = 0.25

NOBODY = np.empty(0, np.int64)

# Called after each round with the number of the iteration, the numbers of the problems that have moved, and
# the values of all; a true return value stops all of them.
WatchAll = Callable[[int, np.ndarray, np.ndarray], bool]


class Minima(NamedTuple):
    """The minima of all problems."""

    theta: Any  # array of the GPU of shape (d + 1, P)
    intercept: np.ndarray  # b, (P,)
    eta: tuple[Any, ...]  # of each set of rows, arrays of the GPU of shape (n, P)
    results: list[Result]


def minimize(problems: Problems, theta: Any, solver: LBFGS, watch: WatchAll | None = None) -> Minima:
    """Return the minima of all problems, from θ on, which is overwritten.

    Unless the solver says how many steps to remember, these are as many as there is room for.
    """
    if solver.memory is not None and solver.memory > MEMORY:
        raise InputError(
            f"On a GPU, L-BFGS remembers at most {MEMORY} steps, got memory={solver.memory}; use a smaller "
            'number, or device="cpu".',
            "device",
        )
    with Stream() as stream:
        return _Descent(problems, theta, stream, solver).run(watch)


class _Descent:
    """The state of all problems."""

    def __init__(self, problems: Problems, theta: Any, stream: Stream, solver: LBFGS) -> None:
        xp, P, d = array_module(), problems.count, problems.d
        self.stream, self.P = stream, P
        self.tol, self.max_iter, self.min_iter = float(solver.tol), int(solver.max_iter), solver.min_iter
        self.curvature, self.memory = float(solver.curvature), solver.memory or MEMORY
        self.objective = DeviceObjective(problems, theta)
        # Pairs (s, y), the distance of two of them in memory, and the gradient at the current point.
        self.s, self.y = (GpuArray(xp.zeros((MEMORY, d + 1, P), problems.dtype)) for _ in range(2))
        self.size = np.uint64((d + 1) * P)
        self.gradient = GpuArray(xp.zeros((d + 1, P), problems.dtype))
        # Inner products, and coefficients of the next direction; see ``lbfgs_loops``.
        self.matrices, self.vectors = view(xp.zeros((2, P, MEMORY, MEMORY))), view(xp.zeros((4, MEMORY, P)))
        self.scale = GpuArray(xp.zeros(P))
        self.usable = view(xp.zeros((P, MEMORY), np.bool_))
        counts = loops.PRODUCTS, MEMORY**2, 0
        self.multiplied, self.squares, self.nothing = (view(xp.zeros((count, P))) for count in counts)
        # Numbers of pairs so far, and the place of the next one; see ``lbfgs_loops`` for the other two.
        self.pairs, self.slot = view(xp.zeros(P, np.int32)), view(xp.full(P, loops.NOTHING_NEW, np.int32))
        self.point, self.trial = (GpuArray(xp.zeros((rows, P))) for rows in (loops.POINT, loops.TRIAL))
        self.fresh = np.ones(P, np.bool_)  # whether the preconditioner was computed at the current point
        self.renewals = np.zeros(P, np.int64)  # how often it was computed
        self.status: list[str | None] = [None] * P
        self.runs = np.ones(P, np.bool_)
        self.reports = Reports(self.point.array)
        self.now = np.zeros((loops.POINT, P))  # the last report
        self.seen: list[list[tuple[float, float, float]]] = [[] for _ in range(P)]

    def run(self, watch: WatchAll | None) -> Minima:
        """Minimise."""
        self._make_groups(self.P)
        self._start()
        while True:
            waiting = self._settle()
            if not self.runs.any():
                break
            if not self._call_rounds(waiting, ahead=watch is None):
                self._precondition(waiting)
                self._note(waiting, corrects=True)
                continue
            moved = self._receive()
            if not len(moved):
                continue
            n_iter = int(self.now[loops.ITERATIONS, moved].max())
            if n_iter in REFRESHES and not self.reports:
                self._precondition(moved)
            self._note(moved)
            if watch is not None and watch(n_iter, moved, self.now[loops.VALUE]):
                break
        while self.reports:
            self.now = self.reports.receive()  # of rounds in which nobody moved
        eta = tuple(state.here.array[0] for state in self.objective.states)
        results = [self._result(p) for p in range(self.P)]
        return Minima(self.objective.theta.array, self.now[loops.INTERCEPT].copy(), eta, results)

    def _call_rounds(self, waiting: np.ndarray, *, ahead: bool) -> bool:
        """Call a round unless one is under way, and the next one; return False if many problems wait instead.

        ``ahead`` says whether a round may be called before the last one has been reported. Groups change, and
        the curvature is computed, only after all reports have come.
        """
        running = np.flatnonzero(self.runs)
        moving = np.setdiff1d(running, waiting, assume_unique=True) if len(waiting) else running
        many_wait = len(waiting) > WAITING * len(running)
        few_run = len(running) <= KEPT * self.moving.capacity
        if not self.reports:
            if many_wait:
                return False
            if few_run:
                self._make_groups(len(running))
            self.moving.choose(moving)
            self._send_round()
        if ahead and len(self.reports) == 1 and not (many_wait or few_run):
            n_iter = int(self.now[loops.ITERATIONS, moving].max()) + 1
            if n_iter not in REFRESHES and n_iter < self.max_iter:
                self._send_round()
        return True

    def _receive(self) -> np.ndarray:
        """Wait for the oldest report; return the problems that have moved, and end those that cannot."""
        self.now = self.reports.receive()
        moving = self.moving.numbers[self.runs[self.moving.numbers]]
        for p in moving[self.now[loops.STALLED, moving] > 0.0].tolist():
            gg, first_value = self.now[loops.GG, p], self.seen[p][0][0]
            self._end(np.array([p]), status_without_descent(gg, first_value, self.objective.dtype))
        moved = moving[self.now[loops.MOVED, moving] > 0.0]
        self.fresh[moved] = False
        return moved

    def _make_groups(self, capacity: int) -> None:
        """Make grids for this many problems; kernels have to be recorded again."""
        self.stream.forget()
        self.moving, self.renewing = (Group(self.P, self.stream, capacity) for _ in range(2))

    def _play(self, name: str, work: Callable[[], None]) -> None:
        """Call the kernels of a series."""
        if self.objective.records:
            self.stream.play(name, self.objective.kind, work)
        else:
            work()

    def _start(self) -> None:
        """Compute value, gradient and preconditioner at θ, which is the end of a step of length 1 from 0."""
        objective = self.objective
        # With these numbers, ``combine`` sets the direction to -(-1 · 1 · θ).
        self.gradient.array[:] = objective.theta.array
        objective.theta.array[:] = 0.0
        objective.inverse.array[:] = 1.0
        self.scale.array[:] = -1.0
        # The step is taken in any case, and adds no pair.
        objective.steps.array[:] = 1.0
        self.trial.array[loops.LAST] = 1.0
        self.point.array[[loops.SLOPE, loops.ITERATIONS]] = -1.0
        self._play("round", self._round)
        self._precondition(np.arange(self.P))
        check_start(self.now[[loops.VALUE, loops.GG]])
        self.now[loops.STEP] = np.nan
        self._note(np.arange(self.P))

    def _settle(self) -> np.ndarray:
        """End problems; return those that would have converged if the curvature were that of their point."""
        n_iter = self.now[loops.ITERATIONS]
        small = self.runs & (self.now[loops.NORM] <= self.tol) & (n_iter >= self.min_iter)
        over = self.runs & ~small & (n_iter >= self.max_iter)
        if not small.any() and not over.any():
            return NOBODY
        self._end(np.flatnonzero(small & self.fresh), Status.CONVERGED)
        self._end(np.flatnonzero(over), Status.MAX_ITER)
        return np.flatnonzero(small & ~self.fresh)

    def _end(self, numbers: np.ndarray, status: str) -> None:
        self.runs[numbers] = False
        for p in numbers.tolist():
            self.status[p] = status

    def _send_round(self) -> None:
        """Call the kernels of an iteration, and have its outcome reported."""
        self._play("round", self._round)
        self.reports.send()

    def _round(self) -> None:
        """Call the kernels of an iteration."""
        objective, group = self.objective, self.moving
        sums = objective.constant, objective.along, objective.by_rows
        search = self.pairs, self.point.view, self.trial.view, objective.steps.view, objective.taken.view
        self._aim(group)
        for _ in range(TRIALS_PER_ROUND):
            objective.evaluate(group)
            group.decide(loops.accept_or_narrow, self.curvature, self.memory, *sums, *search, self.slot)
        objective.move(group)
        self._multiply(group)
        self._turn(group, self.nothing)

    def _turn(self, group: Group, squares: Any) -> None:
        """Call the kernel that decides on the next directions."""
        objective = self.objective
        ends = self.tol, self.min_iter, self.max_iter, self.memory
        arrived = objective.along, objective.intercepts, squares, self.multiplied
        products = self.pairs, self.usable, self.matrices, self.vectors, self.scale.view
        steps = objective.steps.view, objective.taken.view, self.slot
        points = self.point.view, self.trial.view
        group.decide(loops.next_direction, *ends, *arrived, *products, *points, *steps, per_block=1)

    def _aim(self, group: Group) -> None:
        """Call the kernels that compute the next direction, and what searches along it need."""
        objective = self.objective
        blocks = objective.loops(objective.d + 1, group)
        history = self.size, self.pairs, self.vectors, self.scale.view, self.s.flat(1), self.y.flat(1)
        here = objective.inverse.flat(1), self.gradient.flat(1), objective.theta.flat(1)
        out = *objective.coefficients, objective.direction.flat(1), objective.ends.view, objective.sums
        group.call(loops.combine, blocks, *history, *here, *out)
        objective.aim(group)

    def _multiply(self, group: Group) -> None:
        """Call the kernels for the gradient, the new pair, and the products of pairs with the gradient."""
        objective = self.objective
        blocks = objective.loops(objective.d + 1, group)
        step = self.size, self.pairs, self.slot, objective.taken.view
        rows = objective.by_rows, objective.problems.fit_intercept
        there = objective.theta.flat(1), *objective.coefficients, objective.by_features.flat(1)
        memory = self.s.flat(1), self.y.flat(1), objective.inverse.flat(1), self.gradient.flat(1)
        out = objective.direction.flat(1), objective.sums
        group.call(loops.multiply, blocks, *step, *rows, *there, *memory, *out)
        objective.add_blocks(group, blocks, loops.PRODUCTS, self.multiplied, joint=loops.PRODUCTS)

    def _precondition(self, numbers: np.ndarray) -> None:
        """Compute the preconditioner at the points of some problems, and all products that depend on it."""
        objective, group = self.objective, self.renewing

        def precondition() -> None:
            objective.precondition(group)
            blocks = objective.loops(objective.d + 1, group)
            squared = self.size, self.pairs, self.y.flat(1), objective.inverse.flat(1), objective.sums
            group.call(loops.square, blocks, *squared, depth=MEMORY // loops.PART)
            objective.add_blocks(group, blocks, MEMORY**2, self.squares, joint=MEMORY**2)
            self._multiply(group)
            self._turn(group, self.squares)

        group.choose(numbers)
        self._play("precondition", precondition)
        self.reports.send()
        self.now = self.reports.receive()
        check_squares(bool((objective.inverse.array > 0.0).all()), objective.dtype)
        self.fresh[numbers] = True
        self.renewals[numbers] += 1

    def _note(self, numbers: np.ndarray, *, corrects: bool = False) -> None:
        """Add points to the histories, or correct the norms of the last ones by the curvature there."""
        points = self.now[[loops.VALUE, loops.NORM, loops.STEP]][:, numbers].T.tolist()
        for p, (value, norm, step) in zip(numbers.tolist(), points, strict=True):
            seen = self.seen[p]
            if corrects:
                value, _, step = seen.pop()
            seen.append((value, norm, step))

    def _result(self, p: int) -> Result:
        # An iteration has one pass over the rows and one over the columns of each set, as has the start.
        passes = (2 * len(self.seen[p]) + int(self.renewals[p])) * len(self.objective.states)
        return Result.of(self.status[p] or Status.CALLBACK, passes, self.seen[p])
