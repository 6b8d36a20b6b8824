"""The memory of L-BFGS, and the search direction computed from it.

For the last m steps it keeps s = θ_{k+1} - θ_k and y = g_{k+1} - g_k. The direction of the two-loop recursion
(Nocedal 1980) is a linear combination of the s_i, the P⁻¹y_i and P⁻¹g, where P is the preconditioner, and its
coefficients depend on these vectors only through their inner products. Products with a new y are differences
of products with two gradients. So an iteration reads every vector twice, once for s_i·g and y_i·P⁻¹g and once
to combine them; the recursion itself would read each vector four times.
"""

import math
import sys
from typing import Self

import numpy as np

from dropglm.core.maths import vectors
from dropglm.core.maths.compile import also_compiled, kernel, summing_kernel
from dropglm.core.maths.shared_loops import even_cuts, share, take_piece, total

SMALLEST = sys.float_info.min  # so that the norm at a perfect fit, where f is 0, can be computed

# Entries per block: the partial sums stay in the first-level cache while the vectors are added.
BLOCK = 1024


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
        share(_combine, self.cuts, self.threads, *history, self.a, self.e, self.scale, self.d)
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
        share(_square, self.cuts, self.threads, self.y, self.inverse, self._slots(), sums)
        self.yy = total(sums)
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
        share(_multiply, self.cuts, self.threads, *history, *pair, sums)
        totals, (sy, yy) = total(sums), total(new)
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
            g_block, inverse_block, d_block, q = (
                g[start:stop],
                inverse[start:stop],
                d[start:stop],
                buffer[: stop - start],
            )
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
