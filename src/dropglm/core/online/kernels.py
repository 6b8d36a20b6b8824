"""The loop that takes one step per row, for any rule and any storage of the rows."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from dropglm.core.design.storage import column, span, value
from dropglm.core.maths.compile import inlined, kernel, summing_kernel
from dropglm.core.maths.instructions import prefetch_for_later
from dropglm.core.online.rule import (
    gradient_divisor,
    increment,
    initial_sum,
    metric,
    same_metric_for_all,
    slope,
    updates_metric_after_step,
)

# The state of a coefficient, in neighbouring cells: β_j and the sum s_j that its metric is computed from.
BETA, SUM = 0, 1
# With L2 or averaging, the history of a coefficient: the clock when it was last updated, and the sum of β_j
# over the steps before.
UPDATED, BETA_TOTAL = 0, 1


@inlined
def after_idle_steps(rule, beta, s, idle, t, l2):
    """Return β_j after ``idle`` steps that did not contain feature j: β_j Π a_j / (a_j + ρ λ).

    After a warm start, a feature that has not occurred yet does not have a metric; its coefficient is kept.
    """
    if idle == 0.0 or (s == 0.0 and not same_metric_for_all(rule)):
        return beta
    if not same_metric_for_all(rule):
        idle *= np.log1p(rule.rate * l2 / metric(rule, s, t))
    return beta * np.exp(-idle)


@inlined
def sum_or_initial(s, initial):
    """Return s_j, or its initial value if the feature has not occurred yet."""
    return s if s > 0 else initial


@inlined
def add_to_history(cell, history, j, clock):
    """Add β_j to its total, once for every step since its last update."""
    history[j, BETA_TOTAL] += cell[j, BETA] * (clock - history[j, UPDATED])
    history[j, UPDATED] = clock


@inlined
def variance(eta):
    """Return A''(η) = p (1 - p), without overflow."""
    e = np.exp(-abs(eta))
    return e / (1.0 + e) ** 2


@summing_kernel
def squared_sizes(rows, out):
    """Write 1 + ‖x‖² of each row to ``out``."""
    for i in range(len(out)):
        start, stop = span(rows, i)
        size = 1.0
        for e in range(start, stop):
            size += value(rows, i, e) ** 2
        out[i] = size


@kernel
def take_steps(
    rule, rows, sizes, y, weights, order, l2, intercept, cells, histories, average, time, work, eta
):
    """Take one step per row, in the given order, and write the prediction made before each step to ``eta``.

    ``cells`` has shape (K, d + 1, 2); the last column is the intercept. ``histories`` has the same shape,
    or is empty without L2 and averaging. ``time`` holds the number of steps, the clock of L2 and averaging,
    and the sum of the rows' squared sizes. ``sizes`` has these of each row. ``work`` is scratch memory of
    shape (2, entries of the longest row).
    """
    real, K, d = cells.dtype.type, cells.shape[0], cells.shape[1] - 1
    zero, one, shrinkage = real(0.0), real(1.0), real(rule.rate * l2)
    # β_j and s_j of the entries of a row, next to each other: square roots and divisions are then vectorised,
    # which saves a quarter of the time.
    betas, sums = work[0], work[1]
    for n in range(len(order)):
        i = order[n]
        w = weights[i]
        start, stop = span(rows, i)
        t = np.int64(time[0]) + 1
        clock = time[1]
        tick = 1.0
        if same_metric_for_all(rule) and l2 > 0.0:
            tick = np.log1p(rule.rate * l2 / metric(rule, one, t))
        next_clock = clock + tick
        squares = time[2] + sizes[i]
        initial, c = real(initial_sum(rule, squares / t)), gradient_divisor(rule, np.sqrt(squares / t))
        for k in range(K):
            cell, history = cells[k], histories[k]
            if l2 > 0.0:
                for e in range(start, stop):
                    j = column(rows, e)
                    idle = clock - history[j, UPDATED]
                    cell[j, BETA] = after_idle_steps(rule, cell[j, BETA], cell[j, SUM], idle, t, l2)
                    history[j, UPDATED] = clock
            # The coefficients of the next row are fetched into the second-level cache, since those of this
            # row fill the first: a pass takes 30 ms instead of 37.
            if n + 1 < len(order) and stop - start < d:
                first, last = span(rows, order[n + 1])
                for e in range(first, last):
                    prefetch_for_later(cell, column(rows, e))
            predictor, v = np.float64(cell[d, BETA]), 0.0
            if updates_metric_after_step(rule) and intercept:
                v = 1.0 / metric(rule, sum_or_initial(cell[d, SUM], initial), t)
            for e in range(start, stop):
                j = column(rows, e)
                beta, s = cell[j, BETA], sum_or_initial(cell[j, SUM], initial)
                betas[e - start], sums[e - start] = beta, s
                predictor += value(rows, i, e) * beta
                if updates_metric_after_step(rule):
                    x = real(value(rows, i, e))
                    v += x * x / metric(rule, s, t)
            eta[n, k] = predictor
            if w == 0.0:  # predicted, but not learnt from
                continue
            r = slope(rule, predictor, y[i, k], w, v)
            q = real(increment(rule, r, w, w * variance(predictor)))
            step = real(rule.rate * r / c)
            own = zero if updates_metric_after_step(rule) else q
            if average or l2 > 0.0:
                for e in range(start, stop):
                    add_to_history(cell, history, column(rows, e), next_clock)
                add_to_history(cell, history, d, next_clock)
            for e in range(stop - start):
                x, beta, s = real(value(rows, i, start + e)), betas[e], sums[e]
                a_inverse = real(one / (metric(rule, s + own * x * x, t) + shrinkage))
                betas[e] = beta - (step * x + shrinkage * beta) * a_inverse
                sums[e] = s + q * x * x
            for e in range(start, stop):
                j = column(rows, e)
                # A dense row also has zeros, which do not count as occurrences of the feature.
                if not same_metric_for_all(rule) and value(rows, i, e) == 0.0 and cell[j, SUM] == zero:
                    continue
                cell[j, BETA] = betas[e - start]
                if not same_metric_for_all(rule):
                    cell[j, SUM] = sums[e - start]
            if intercept:
                s = sum_or_initial(cell[d, SUM], initial)
                cell[d, BETA] -= step / metric(rule, s + own, t)
                cell[d, SUM] = s + q
        if w != 0.0:
            time[0], time[1], time[2] = t, next_clock, squares


@kernel
def shrink_all(rule, l2, cells, histories, time, out):
    """Write all coefficients to ``out``, with the shrinkage of the steps since their last update."""
    K, d, t = cells.shape[0], cells.shape[1] - 1, np.int64(time[0]) + 1
    for k in range(K):
        for j in range(d):
            idle = time[1] - histories[k, j, UPDATED]
            out[k, j] = after_idle_steps(rule, cells[k, j, BETA], cells[k, j, SUM], idle, t, l2)
        out[k, d] = cells[k, d, BETA]


def compiled_for(rule: Any, loop: Callable[..., Any]) -> Callable[..., Any]:
    """Return the loop compiled for a rule: from the cache on disk only if the rule belongs to this package.

    Numba's cache stores a reference to the class of the rule. One from a script could not be found again by
    other processes, and Numba does not notice when its methods change.
    """
    return loop if type(rule).__module__.startswith("dropglm.") else _uncached(loop)


@cache
def _uncached(loop: Any) -> Callable[..., Any]:
    return njit(getattr(loop, "py_func", loop), nogil=True, error_model="numpy")
