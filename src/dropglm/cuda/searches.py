"""Line searches and small systems of L-BFGS for many problems, side by side on the host."""

import numpy as np

from dropglm.maths.compile import kernel
from dropglm.solvers.line_search import CURVATURE, Trial, narrow
from dropglm.solvers.memory import solve


class Searches:
    """The line searches of some problems; see ``solvers/line_search.py``.

    Parameters
    ----------
    value, slope : ndarray of shape (P,)
        Of all problems, at the start of the line.
    numbers : ndarray of int
        The problems that search.

    Attributes
    ----------
    open : ndarray of int
        The problems that are still searching.
    result : ndarray of shape (P,)
        The steps that were found; NaN if there is none yet.
    values : ndarray of shape (P,)
        The values at these steps.
    """

    def __init__(self, value: np.ndarray, slope: np.ndarray, numbers: np.ndarray) -> None:
        P = len(value)
        self._start_value, self._start_slope = value, slope
        self._step = np.ones(P)
        # Step, value and slope of the longest step known to be too short, and of the shortest too long.
        self._low = np.stack([np.zeros(P), value, slope], axis=1)
        self._high = np.stack([np.full(P, np.inf), value, slope], axis=1)
        self.result, self.values = np.full(P, np.nan), value.copy()
        self.open = numbers[slope[numbers] < 0.0]

    @property
    def steps(self) -> np.ndarray:
        """The next step to try of each open search; NaN for the others."""
        steps = np.full(len(self._step), np.nan)
        steps[self.open] = self._step[self.open]
        return steps

    def narrow(self, value: np.ndarray, slope: np.ndarray) -> None:
        """Take note of value and slope at the steps, and choose the next ones."""
        tried, found = self._step.copy(), np.zeros(len(value), np.bool_)
        start = self._start_value, self._start_slope
        _narrow_each(self.open, *start, value, slope, self._low, self._high, self._step, found)
        done = self.open[found[self.open]]
        self.result[done], self.values[done] = tried[done], value[done]
        self.open = self.open[~found[self.open]]

    def settle(self) -> np.ndarray:
        """End the open searches at the longest step that descends; return the problems that have one."""
        left = self.open[self._low[self.open, 1] < self._start_value[self.open]]
        self._step[left] = self.result[left] = self._low[left, 0]
        self.values[left] = self._low[left, 1]
        self.open = left
        return left


def solve_each(
    numbers: np.ndarray,
    order: np.ndarray,
    usable: np.ndarray,
    products: tuple[np.ndarray, ...],
    slope: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a, e and scale of the next direction of some problems, and set the slope along it.

    Parameters
    ----------
    numbers : ndarray of int
        The problems.
    order : ndarray of int
        The places of the pairs, oldest first.
    usable : ndarray of shape (P, m)
        Which pairs of a problem have positive curvature.
    products : tuple of ndarrays
        s_i·y_j, y_i·P⁻¹y_j, s_i·g, y_i·P⁻¹g and g·P⁻¹g of each problem.
    slope : ndarray of shape (P,)
    """
    P, length = usable.shape
    a, e, scale = np.zeros((P, length)), np.zeros((P, length)), np.ones(P)
    _solve_each(numbers, order, usable, *products, a, e, scale, slope)
    return a, e, scale


@kernel
def _solve_each(numbers, order, usable, sy, yy, sg, yg, gg, a, e, scale, slope):
    slots = np.empty(order.size, np.int64)
    for p in numbers:
        size = 0
        for slot in order:
            if usable[p, slot]:
                slots[size] = slot
                size += 1
        scale[p], slope[p] = solve(slots[:size], sy[p], yy[p], sg[p], yg[p], gg[p], a[p], e[p])


@kernel
def _narrow_each(numbers, start_value, start_slope, value, slope, low, high, step, found):
    for p in numbers:
        start = Trial(0.0, start_value[p], start_slope[p])
        trial = Trial(step[p], value[p], slope[p])
        lower, higher = Trial(low[p, 0], low[p, 1], low[p, 2]), Trial(high[p, 0], high[p, 1], high[p, 2])
        found[p], lower, higher, step[p] = narrow(start, lower, higher, trial, CURVATURE)
        low[p, 0], low[p, 1], low[p, 2] = lower.step, lower.value, lower.slope
        high[p, 0], high[p, 1], high[p, 2] = higher.step, higher.value, higher.slope
