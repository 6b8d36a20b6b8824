"""The memory of L-BFGS, and the search direction computed from it.

For the last m steps it keeps s = θ_{k+1} - θ_k and y = g_{k+1} - g_k. The direction of the two-loop recursion
(Nocedal 1980) is a linear combination of the s_i, the P⁻¹y_i and P⁻¹g, where P is the preconditioner, and its
coefficients depend on these vectors only through their inner products. Products with a new y are differences
of products with two gradients. So an iteration reads every vector twice, once for s_i·g and y_i·P⁻¹g and once
to combine them; the recursion itself would read each vector four times.
"""

import numpy as np

from dropglm.maths.compile import summing_kernel
from dropglm.maths.vectors import in_pieces

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
        # The operating system allocates rows when they are first written, so a short run does not pay for a
        # long memory.
        shape = length, len(gradient)
        self.s, self.y = np.empty(shape, gradient.dtype), np.empty(shape, gradient.dtype)
        self.slots: list[int] = []  # rows in use, oldest first
        self.sy = np.zeros((length, length))  # s_i·y_j, for i older than j or i = j
        self.yy = np.zeros((length, length))  # y_i·P⁻¹y_j
        self.sg, self.yg, self.gg = self._products(gradient)

    @property
    def slope(self) -> float:
        """Slope of the function along the direction, -g·Hg, where H estimates the inverse Hessian."""
        return self._combination()[-1]

    def direction(self) -> np.ndarray:
        """Return the descent direction -Hg."""
        a, e, scale, _ = self._combination()
        slots = np.array(self.slots, np.int64)
        d = np.empty_like(self.gradient)
        in_pieces(
            lambda first, last: _combine(
                self.s, self.y, self.inverse, self.gradient, slots, a, e, scale, first, last, d
            ),
            len(d),
            self.threads,
        )
        return d

    def _combination(self) -> tuple[np.ndarray, np.ndarray, float, float]:
        """Return a, e and scale of Hg = scale · P⁻¹(g - Σ a_i y_i) + Σ e_i s_i, and the slope along -Hg."""
        a, e = np.zeros(len(self.s)), np.zeros(len(self.s))
        scale = 1.0
        for i in reversed(self.slots):
            a[i] = (self.sg[i] - self.sy[i] @ a) / self.sy[i, i]
        if self.slots:
            newest = self.slots[-1]
            scale = self.sy[newest, newest] / self.yy[newest, newest]
        for i in self.slots:
            yz = scale * (self.yg[i] - self.yy[i] @ a) + self.sy[:, i] @ e
            e[i] = a[i] - yz / self.sy[i, i]
        return a, e, scale, -float(scale * (self.gg - a @ self.yg) + e @ self.sg)

    def update(self, step: float, direction: np.ndarray, gradient: np.ndarray) -> None:
        """Add the step that led to this gradient, unless the curvature along it is not positive."""
        if len(self.slots) == len(self.s):
            self.slots.pop(0)
        slot = next(k for k in range(len(self.s)) if k not in self.slots)
        s, y = self.s[slot], self.y[slot]
        sums = in_pieces(
            lambda first, last: _remember(
                step,
                *(part[first:last] for part in (direction, self.gradient, gradient, self.inverse, s, y)),
            ),
            len(s),
            self.threads,
        )
        sy, yy = np.sum(sums, axis=0)
        self.gradient = gradient
        old_sg, old_yg = self.sg, self.yg
        convex = sy > 0.0 and yy > 0.0 and np.isfinite(sy / yy)
        if convex:
            self.slots.append(slot)
        self.sg, self.yg, self.gg = self._products(gradient)
        self.sy[slot] = 0.0
        self.sy[:, slot], self.yy[:, slot], self.yy[slot] = 0.0, 0.0, 0.0
        if convex:
            older = self.slots[:-1]
            self.sy[older, slot] = (self.sg - old_sg)[older]
            self.yy[older, slot] = self.yy[slot, older] = (self.yg - old_yg)[older]
            self.sy[slot, slot], self.yy[slot, slot] = sy, yy

    def change_metric(self, preconditioner: np.ndarray) -> None:
        """Change the preconditioner; the pairs are kept."""
        np.reciprocal(preconditioner, out=self.inverse)
        slots = np.array(self.slots, np.int64)

        def piece(first: int, last: int) -> np.ndarray:
            yy = np.zeros_like(self.yy)
            _square(self.y, self.inverse, slots, first, last, yy)
            return yy

        self.yy = np.sum(in_pieces(piece, len(self.inverse), self.threads), axis=0)
        self.sg, self.yg, self.gg = self._products(self.gradient)

    def _products(self, g: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return s_i·g and y_i·P⁻¹g for every pair, and g·P⁻¹g."""
        length = len(self.s)
        slots = np.array(self.slots, np.int64)

        def piece(first: int, last: int) -> np.ndarray:
            sums = np.zeros(2 * length + 1)
            _multiply(self.s, self.y, self.inverse, g, slots, first, last, sums)
            return sums

        sums = np.sum(in_pieces(piece, len(g), self.threads), axis=0)
        return sums[:length], sums[length:-1], float(sums[-1])


@summing_kernel
def _multiply(s, y, inverse, g, slots, first, last, sums):
    """Add s_i·g, y_i·P⁻¹g and g·P⁻¹g, over entries first to last - 1."""
    buffer = np.empty(BLOCK)
    for start in range(first, last, BLOCK):
        stop = min(start + BLOCK, last)
        # Slices start at 0, and the compiler vectorises only if indices cannot be negative.
        g_block, inverse_block, scaled = g[start:stop], inverse[start:stop], buffer[: stop - start]
        total = 0.0
        for j in range(scaled.size):
            scaled[j] = np.float64(inverse_block[j]) * g_block[j]
            total += scaled[j] * g_block[j]
        sums[2 * len(s)] += total
        for i in slots:
            s_block, y_block = s[i, start:stop], y[i, start:stop]
            sg, yg = 0.0, 0.0
            for j in range(scaled.size):
                sg += np.float64(s_block[j]) * g_block[j]
                yg += y_block[j] * scaled[j]
            sums[i] += sg
            sums[len(s) + i] += yg


@summing_kernel
def _square(y, inverse, slots, first, last, yy):
    """Add y_i·P⁻¹y_j, over entries first to last - 1; block by block, so that each y is read once."""
    buffer = np.empty(BLOCK)
    for start in range(first, last, BLOCK):
        stop = min(start + BLOCK, last)
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


@summing_kernel
def _combine(s, y, inverse, g, slots, a, e, scale, first, last, d):
    """D = -(scale · P⁻¹(g - Σ a_i y_i) + Σ e_i s_i), for entries first to last - 1."""
    buffer = np.empty(BLOCK)
    for start in range(first, last, BLOCK):
        stop = min(start + BLOCK, last)
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


@summing_kernel
def _remember(step, d, old, new, inverse, s, y):
    """Set s = step · d and y = new - old, and return s·y and y·P⁻¹y."""
    sy, yy = 0.0, 0.0
    for j in range(s.size):
        s[j] = step * d[j]
        y[j] = new[j] - old[j]
        sy += np.float64(s[j]) * y[j]
        yy += np.float64(y[j]) * y[j] * inverse[j]
    return sy, yy
