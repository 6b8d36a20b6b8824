"""L-BFGS with a diagonal preconditioner (Nocedal 1980; Liu and Nocedal 1989), for any smooth function.

A solver sees a function through ``Function`` and ``Ray``, independent of what it represents.

**Line search.** A step along a ray satisfies the Wolfe conditions: ::

    φ(step) <= φ(0) + c₁ step φ'(0)      (it descends)        |φ'(step)| <= c₂ |φ'(0)|      (far enough)

``low`` is the longest step known to descend but to be too short, ``high`` the shortest known to be too long.

**Memory.** For the last m steps the memory keeps s = θ_{k+1} - θ_k and y = g_{k+1} - g_k. The direction of
the two-loop recursion (Nocedal 1980) is a linear combination of the s_i, the P⁻¹y_i and P⁻¹g, where P is the
preconditioner, and its coefficients depend on these vectors only through their inner products. Products with
a new y are differences of products with two gradients. So an iteration reads every vector twice, once for
s_i·g and y_i·P⁻¹g and once to combine them; the recursion itself would read each vector four times.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from dropglm.base.errors import InputError
from dropglm.core.maths import vectors
from dropglm.core.maths.compile import also_compiled, kernel, summing_kernel
from dropglm.core.maths.shared_loops import even_cuts, run_shared_loop, sum_over_pieces, take_piece

# Iterations after which the preconditioner is recomputed, since the curvature changes along the way. On
# IMDB's bigrams this reduces 44 iterations to 25.
REFRESHES = {5, 10, 20, 40, 80, 160}

# Entries kept in all vectors together, by default. A long memory costs little while it fits in the cache,
# and on breast_cancer's 30 unscaled features 100 vectors reduce 298 iterations (10 vectors) to 55.
MEMORY = 1 << 20

DESCENT = 1e-4  # c₁
CURVATURE = 0.5  # c₂, where trials of further steps cost little
MAX_TRIALS = 40
MAX_GROWTH = 10.0
# Relative differences of the value that rounding can cause.
ROUNDING = 1e-14

SMALLEST = sys.float_info.min  # so that the norm at a perfect fit, where f is 0, can be computed

# Entries per block: the partial sums stay in the first-level cache while the vectors are added.
BLOCK = 1024


class Ray(Protocol):
    """A function along a ray."""

    def value_and_slope(self, step: float) -> tuple[float, float]:
        """Return the value at that step and its derivative with respect to the step."""

    def arrive(self, step: float) -> Any:
        """Return the point at that step."""


class Function(Protocol):
    """A smooth function of a vector θ. A point has ``theta``, ``value`` and ``gradient``."""

    @property
    def passes(self) -> int:
        """Number of passes over the data so far."""

    def at(self, theta: np.ndarray) -> Any:
        """Return the point θ."""

    def along(self, point: Any, direction: np.ndarray) -> Ray:
        """Return the function along the ray from this point."""

    def preconditioner(self, point: Any) -> np.ndarray:
        """Return a positive diagonal close to that of the Hessian."""


class Status:
    """How a minimisation ended, in words; plain strings, so that any serialiser can store a result."""

    CONVERGED = "converged"
    MAX_ITER = "stopped at the maximum number of iterations"
    STALLED = "stopped because rounding error hides any further descent"
    CALLBACK = "stopped by a callback"


class History(NamedTuple):
    """Values at the start and after each iteration; arrays of length n_iter + 1."""

    objective: np.ndarray
    gradient_norm: np.ndarray
    step: np.ndarray  # step length that led here, NaN at the start


@dataclass(frozen=True)
class Result:
    """The result of a minimisation.

    Attributes
    ----------
    status : str
        Why the solver stopped, one of the constants of ``Status``.
    n_iter : int
        Number of iterations.
    passes : int
        Number of passes over the data.
    objective : float
        Final value f.
    gradient_norm : float
        √(gᵀHg / 2f), where H is the inverse of the curvature. Its square estimates by which share the
        objective could still be reduced.
    history : History
        Objective, gradient norm and step length of each iteration.
    """

    status: str
    n_iter: int
    passes: int
    objective: float
    gradient_norm: float
    history: History = field(repr=False)

    @classmethod
    def of(cls, status: str, passes: int, seen: Sequence[tuple[float, float, float]]) -> Self:
        """Return the result, given the objective, the gradient norm and the step of each iteration."""
        history = History(*map(np.array, zip(*seen, strict=True)))
        value, norm, _ = seen[-1]
        return cls(status, len(seen) - 1, passes, value, norm, history)


class SolverCheckpoint(Protocol):
    """Where a solver keeps its state after each iteration, so that a later process can continue."""

    def load(self) -> dict[str, Any] | None:
        """Return the last state: arrays and numbers by name; None if there is none."""

    def save(self, state: dict[str, Any]) -> None:
        """Keep a state in place of the last one."""


# Called after each iteration with its number and the new point; a true return value stops the solver.
Callback = Callable[[int, Any], bool]


@dataclass(frozen=True)
class LBFGS:
    """Minimise a smooth, non-negative function.

    Parameters
    ----------
    tol : float
        Stop when √(gᵀHg / 2f) is at most this, where g is the gradient, f the objective and H both the
        inverse of the preconditioner and the L-BFGS estimate of the inverse Hessian. The objective is then
        within about tol² · f of its minimum.
    max_iter : int
    min_iter : int
        Do not stop before, even at a start that is within the tolerance.
    memory : int, optional
        Number of past steps to keep; by default 10, and up to 100 for short vectors.
    threads : int
        Number of threads for the algebra on vectors.
    curvature : float
        The share of the slope that may be left at the end of a step, c₂ of the Wolfe conditions. Where every
        trial of a step is a pass over all rows, a large share saves trials.
    """

    tol: float = 1e-4
    max_iter: int = 200
    min_iter: int = 0
    memory: int | None = None
    threads: int = 1
    curvature: float = CURVATURE

    def memory_for(self, size: int) -> int:
        """Return the number of past steps to keep, for vectors of this size."""
        return self.memory or min(max(10, MEMORY // size), 100)

    def minimize(
        self,
        function: Function,
        start: np.ndarray,
        callback: Callback | None = None,
        store: SolverCheckpoint | None = None,
    ) -> tuple[np.ndarray, Result]:
        """Return the minimum, or a point as close to it as the settings allow, and the result.

        With a store, the state after each iteration is kept there, and a state that is already there is
        continued.
        """
        length = self.memory_for(len(start))
        state = None if store is None else store.load()
        passes = function.passes - (0 if state is None else state["passes"])
        point = function.at(start if state is None else state["theta"])
        check_start(point.value, point.gradient)
        if state is None:
            memory = Memory(function.preconditioner(point), point.gradient, length, self.threads)
            seen = [(point.value, memory.norm(point.value), np.nan)]
            fresh = True  # whether the preconditioner was computed at this point
        else:
            memory = Memory.from_state(state["memory"], length, self.threads)
            seen, fresh = [tuple(row) for row in state["seen"].tolist()], state["fresh"]
        while True:
            n_iter = len(seen) - 1
            early = n_iter < self.min_iter
            if seen[-1][1] <= self.tol and not fresh and not early:
                memory.change_metric(function.preconditioner(point))
                fresh, seen[-1] = True, (point.value, memory.norm(point.value), seen[-1][2])
            if seen[-1][1] <= self.tol and not early:
                status = Status.CONVERGED
                break
            if n_iter == self.max_iter:
                status = Status.MAX_ITER
                break
            slope, direction = memory.slope, memory.direction()
            ray = function.along(point, direction)
            step = find_step(ray, point.value, slope, curvature=self.curvature)
            if step is None:
                status = status_without_descent(memory.gg, seen[0][0], start.dtype)
                break
            point = ray.arrive(step)
            memory.update(step, point.gradient)
            fresh = n_iter + 1 in REFRESHES
            if fresh:
                memory.change_metric(function.preconditioner(point))
            seen.append((point.value, memory.norm(point.value), step))
            if store is not None:
                state = {"theta": point.theta, "memory": memory.state(), "seen": np.array(seen)}
                store.save(state | {"fresh": fresh, "passes": function.passes - passes})
            if callback is not None and callback(n_iter + 1, point):
                status = Status.CALLBACK
                break
        return point.theta, Result.of(status, function.passes - passes, seen)


def check_start(*numbers: Any) -> None:
    """Raise an error unless the value and the gradient at the start are finite."""
    if not all(np.isfinite(number).all() for number in numbers):
        raise InputError(
            "The objective is not finite at the starting point: the features, the targets or the initial "
            "coefficients are too large; scale them down."
        )


def status_without_descent(gg: float, first_value: float, dtype: np.dtype) -> str:
    """Return how a minimisation ended if no step descends, given g·P⁻¹g and the value at the start."""
    # At a perfect fit f is 0, so the gradient is compared with the objective at the start.
    is_perfect = 0.5 * gg <= np.finfo(dtype).eps * first_value
    return Status.CONVERGED if is_perfect else Status.STALLED


class Trial(NamedTuple):
    """A step with its value and slope."""

    step: float
    value: float
    slope: float


def find_step(
    ray: Ray, value: float, slope: float, step: float = 1.0, curvature: float = CURVATURE
) -> float | None:
    """Return a step, trying the given one first, or None if no step descends; ``curvature`` is c₂."""
    start = low = Trial(0.0, value, slope)
    high = Trial(math.inf, value, slope)  # none yet
    if not slope < 0.0:
        return None
    for _ in range(MAX_TRIALS):
        trial = Trial(step, *ray.value_and_slope(step))
        found, low, high, step = narrow(start, low, high, trial, curvature)
        if found:
            return step
    return low.step if low.value < value else None


@also_compiled
def narrow(
    start: Trial, low: Trial, high: Trial, trial: Trial, curvature: float
) -> tuple[bool, Trial, Trial, float]:
    """Return whether the trial satisfies the conditions, the new low and high, and the step or the next one.

    A ``high`` of infinite length means that none is known.
    """
    bound = start.value + DESCENT * trial.step * start.slope + ROUNDING * abs(start.value)
    if not (trial.value <= bound and math.isfinite(trial.slope)):
        high = trial
    elif abs(trial.slope) <= curvature * abs(start.slope):
        return True, low, high, trial.step
    elif trial.slope > 0.0:
        high = trial
    else:
        low = trial
    return False, low, high, _beyond(start, low) if math.isinf(high.step) else _between(low, high)


@also_compiled
def _beyond(start: Trial, low: Trial) -> float:
    """Return a longer step, where the slope would vanish if it kept changing at its mean rate."""
    bend = (low.slope - start.slope) / low.step
    guess = low.step - low.slope / bend if bend > 0.0 else math.inf
    return min(max(guess, 2.0 * low.step), MAX_GROWTH * low.step)


@also_compiled
def _between(low: Trial, high: Trial) -> float:
    """Return the minimum of the cubic through both ends, kept away from the ends."""
    width = high.step - low.step
    if not (math.isfinite(high.value) and math.isfinite(high.slope)):
        return low.step + 0.1 * width
    chord = 3.0 * (low.value - high.value) / width + low.slope + high.slope
    root = math.sqrt(max(chord * chord - low.slope * high.slope, 0.0))
    bottom = high.slope - low.slope + 2.0 * root
    guess = 1.0 - (high.slope + root - chord) / bottom if bottom != 0.0 else 0.5
    # The cubic overflows next to an extremely steep wall; stay close to the lower end.
    return low.step + width * (min(max(guess, 0.05), 0.95) if math.isfinite(guess) else 0.1)


class Memory:
    """The last ``length`` pairs (s, y) and the current gradient, in the metric of a preconditioner.

    Parameters
    ----------
    preconditioner : ndarray of shape (N,)
        The diagonal of P.
    gradient : ndarray of shape (N,)
        g at the start.
    length : int
        m.
    threads : int
    """

    def __init__(
        self, preconditioner: np.ndarray, gradient: np.ndarray, length: int, threads: int = 1
    ) -> None:
        self.inverse = np.reciprocal(preconditioner)
        self.gradient = gradient
        self.threads = threads
        self.cuts = even_cuts(len(gradient), vectors.PIECE)
        # The operating system allocates rows when they are first written, so a short run does not pay for a
        # long memory.
        shape = length, len(gradient)
        self.s, self.y = np.empty(shape, gradient.dtype), np.empty(shape, gradient.dtype)
        self.d = np.empty_like(gradient)
        self.slots: list[int] = []  # rows in use, oldest first
        self.sy = np.zeros((length, length))  # s_i·y_j, for i older than j or i = j
        self.yy = np.zeros((length, length))  # y_i·P⁻¹y_j
        self._set_products()
        self._set_combination()

    def direction(self) -> np.ndarray:
        """Return the descent direction -Hg, where H estimates the inverse Hessian.

        The next call overwrites it: memory that is used again is faster than new memory.
        """
        history = self.s, self.y, self.inverse, self.gradient, self._slots()
        run_shared_loop(_combine, self.cuts, self.threads, *history, self.a, self.e, self.scale, self.d)
        return self.d

    def norm(self, value: float) -> float:
        """Return √(gᵀHg / 2f), given f."""
        return relative_norm(self.gg, self.slope, value)

    def update(self, step: float, gradient: np.ndarray) -> None:
        """Add the step that led to this gradient, unless the curvature along it is not positive."""
        if len(self.slots) == len(self.s):
            self.slots.pop(0)
        slot = next(k for k in range(len(self.s)) if k not in self.slots)
        older, old_sg, old_yg = list(self.slots), self.sg, self.yg
        self.slots.append(slot)
        old, self.gradient = self.gradient, gradient
        sy, yy = self._set_products(slot, step, old)
        self.sy[slot] = 0.0
        self.sy[:, slot], self.yy[:, slot], self.yy[slot] = 0.0, 0.0, 0.0
        if is_usable(sy, yy):
            self.sy[older, slot] = (self.sg - old_sg)[older]
            self.yy[older, slot] = self.yy[slot, older] = (self.yg - old_yg)[older]
            self.sy[slot, slot], self.yy[slot, slot] = sy, yy
        else:
            self.slots.pop()
        self._set_combination()

    def change_metric(self, preconditioner: np.ndarray) -> None:
        """Change the preconditioner; the pairs are kept."""
        np.reciprocal(preconditioner, out=self.inverse)
        length = len(self.s)
        sums = np.zeros((len(self.cuts) - 1, length, length))
        run_shared_loop(_square, self.cuts, self.threads, self.y, self.inverse, self._slots(), sums)
        self.yy = sum_over_pieces(sums)
        self._set_products()
        self._set_combination()

    def state(self) -> dict[str, np.ndarray]:
        """Return what a later process needs to continue: the pairs, oldest first, and the gradient."""
        slots = self.slots
        return {
            "inverse": self.inverse,
            "gradient": self.gradient,
            "s": self.s[slots],
            "y": self.y[slots],
            "sy": self.sy[np.ix_(slots, slots)],
            "yy": self.yy[np.ix_(slots, slots)],
        }

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray], length: int, threads: int = 1) -> Self:
        """Return the memory of an earlier process."""
        memory = cls(state["inverse"], state["gradient"], length, threads)
        memory.inverse[:] = state["inverse"]  # the class takes the preconditioner, its reciprocal
        n = len(state["s"])
        memory.slots = list(range(n))
        memory.s[:n], memory.y[:n] = state["s"], state["y"]
        memory.sy[:n, :n], memory.yy[:n, :n] = state["sy"], state["yy"]
        memory._set_products()
        memory._set_combination()
        return memory

    def _slots(self) -> np.ndarray:
        return np.array(self.slots, np.int64)

    def _set_products(
        self, slot: int = -1, step: float = 0.0, old: np.ndarray | None = None
    ) -> tuple[float, float]:
        """Set s_i·g and y_i·P⁻¹g for every pair, and g·P⁻¹g; return s·y and y·P⁻¹y of a new pair, if any.

        The new pair is stored in ``slot``: s is the step times the direction, y the change of the gradient.
        """
        length, pieces = len(self.s), len(self.cuts) - 1
        sums, new = np.zeros((pieces, 2 * length + 1)), np.zeros((pieces, 2))
        history = self.s, self.y, self.inverse, self.gradient, self._slots()
        pair = slot, float(step), self.d, self.gradient if old is None else old, new
        run_shared_loop(_multiply, self.cuts, self.threads, *history, *pair, sums)
        totals, (sy, yy) = sum_over_pieces(sums), sum_over_pieces(new)
        self.sg, self.yg, self.gg = totals[:length], totals[length:-1], float(totals[-1])
        return float(sy), float(yy)

    def _set_combination(self) -> None:
        """Set a, e and scale of Hg = scale · P⁻¹(g - Σ a_i y_i) + Σ e_i s_i, and the slope along -Hg."""
        self.a, self.e = np.zeros((2, len(self.s)))
        self.scale, self.slope = solve(
            self._slots(), self.sy, self.yy, self.sg, self.yg, self.gg, self.a, self.e
        )


@also_compiled
def is_usable(sy: float, yy: float) -> bool:
    """Return whether the curvature along a step is positive, given s·y and y·P⁻¹y."""
    return sy > 0.0 and yy > 0.0 and math.isfinite(sy / yy)


@also_compiled
def relative_norm(gg: float, slope: float, value: float) -> float:
    """Return √(gᵀHg / 2f), the larger one of H = P⁻¹ and of the estimate of the inverse Hessian."""
    return math.sqrt(max(gg, -slope) / (2.0 * max(value, SMALLEST)))


@kernel
def solve(slots, sy, yy, sg, yg, gg, a, e):
    """The two loops of the recursion, on inner products; sets a and e, and returns scale and slope."""
    for p in range(slots.size - 1, -1, -1):
        i = slots[p]
        total = sg[i]
        for q in range(p + 1, slots.size):
            total -= sy[i, slots[q]] * a[slots[q]]
        a[i] = total / sy[i, i]
    newest = slots[slots.size - 1] if slots.size else 0
    scale = sy[newest, newest] / yy[newest, newest] if slots.size else 1.0
    slope = -scale * gg
    for p in range(slots.size):
        i = slots[p]
        product = yg[i]
        for q in range(slots.size):
            product -= yy[i, slots[q]] * a[slots[q]]
        product *= scale
        for q in range(p):
            product += sy[slots[q], i] * e[slots[q]]
        e[i] = a[i] - product / sy[i, i]
        slope += scale * a[i] * yg[i] - e[i] * sg[i]
    return scale, slope


@summing_kernel
def _multiply(cuts, tickets, s, y, inverse, g, slots, slot, step, direction, old, new, sums):
    """s_i·g, y_i·P⁻¹g and g·P⁻¹g, over the entries of each piece.

    If ``slot`` is not negative, s = step · direction and y = g - old of that pair are set first, and their
    s·y and y·P⁻¹y are summed in ``new``.
    """
    buffer = np.empty(BLOCK)
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for start in range(cuts[piece], cuts[piece + 1], BLOCK):
            stop = min(start + BLOCK, cuts[piece + 1])
            g_block, inverse_block, scaled = g[start:stop], inverse[start:stop], buffer[: stop - start]
            gg, sy, yy = 0.0, 0.0, 0.0
            for j in range(scaled.size):
                scaled[j] = np.float64(inverse_block[j]) * g_block[j]
                gg += scaled[j] * g_block[j]
            sums[piece, 2 * len(s)] += gg
            if slot >= 0:
                s_block, y_block = s[slot, start:stop], y[slot, start:stop]
                direction_block, old_block = direction[start:stop], old[start:stop]
                for j in range(scaled.size):
                    s_block[j] = step * direction_block[j]
                    y_block[j] = g_block[j] - old_block[j]
                    sy += np.float64(s_block[j]) * y_block[j]
                    yy += np.float64(y_block[j]) * y_block[j] * inverse_block[j]
                new[piece, 0] += sy
                new[piece, 1] += yy
            for i in slots:
                s_block, y_block = s[i, start:stop], y[i, start:stop]
                sg, yg = 0.0, 0.0
                for j in range(scaled.size):
                    sg += np.float64(s_block[j]) * g_block[j]
                    yg += y_block[j] * scaled[j]
                sums[piece, i] += sg
                sums[piece, len(s) + i] += yg
        piece = take_piece(tickets)


@summing_kernel
def _square(cuts, tickets, y, inverse, slots, sums):
    """y_i·P⁻¹y_j, over the entries of each piece; block by block, so that each y is read once."""
    buffer = np.empty(BLOCK)
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        yy = sums[piece]
        for start in range(cuts[piece], cuts[piece + 1], BLOCK):
            stop = min(start + BLOCK, cuts[piece + 1])
            inverse_block, scaled = inverse[start:stop], buffer[: stop - start]
            for a in range(slots.size):
                i = slots[a]
                y_block = y[i, start:stop]
                for j in range(scaled.size):
                    scaled[j] = np.float64(inverse_block[j]) * y_block[j]
                for b in range(a + 1):
                    k = slots[b]
                    other, total = y[k, start:stop], 0.0
                    for j in range(scaled.size):
                        total += scaled[j] * other[j]
                    yy[i, k] += total
                    if k != i:
                        yy[k, i] += total
        piece = take_piece(tickets)


@summing_kernel
def _combine(cuts, tickets, s, y, inverse, g, slots, a, e, scale, d):
    """D = -(scale · P⁻¹(g - Σ a_i y_i) + Σ e_i s_i)."""
    buffer = np.empty(BLOCK)
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for start in range(cuts[piece], cuts[piece + 1], BLOCK):
            stop = min(start + BLOCK, cuts[piece + 1])
            g_block, inverse_block = g[start:stop], inverse[start:stop]
            d_block, q = d[start:stop], buffer[: stop - start]
            for j in range(q.size):
                q[j] = -g_block[j]
            for i in slots:
                y_block, factor = y[i, start:stop], a[i]
                for j in range(q.size):
                    q[j] += factor * y_block[j]
            for j in range(q.size):
                q[j] *= scale * inverse_block[j]
            for i in slots:
                s_block, factor = s[i, start:stop], e[i]
                for j in range(q.size):
                    q[j] -= factor * s_block[j]
            for j in range(q.size):
                d_block[j] = q[j]
        piece = take_piece(tickets)
