"""The loop that learns, row by row, whatever the rule and the storage."""

import numpy as np

from dropglm.design.storage import column, span, value
from dropglm.maths.compile import inlined, kernel
from dropglm.online.rule import gain, late, metric, shared, slope

# What is known of a coefficient, side by side: β, the sum s that its metric is made of, the clock when it was
# last brought up to date, and its sum over the steps before, for the average.
BETA, SUM, SINCE, TOTAL = 0, 1, 2, 3


@inlined
def shrunk(rule, cell, clock, t, l2):
    """β_j after the steps since it was last seen: Π a_j / (a_j + ρ λ)."""
    if cell[SINCE] == clock:
        return cell[BETA]
    idle = clock - cell[SINCE]
    if not shared(rule):
        idle *= np.log1p(rule.rate * l2 / metric(rule, cell[SUM], t))
    return cell[BETA] * np.exp(-idle)


@kernel
def learn(rule, rows, y, weights, order, l2, intercept, average, cells, time, eta):
    """Take a step for each row in that order; η is what was predicted before its step.

    ``cells`` is (d + 1, K, 4), the last row for the intercept; ``time`` holds the number of steps, the clock
    that ridge and average go by, and the sum of the rows' squared sizes.
    """
    d, K = cells.shape[0] - 1, cells.shape[1]
    for n in range(len(order)):
        i = order[n]
        w = weights[i]
        t = np.int64(time[0]) + 1
        before = time[1]
        passes = np.log1p(rule.rate * l2 / metric(rule, 0.0, t)) if shared(rule) and l2 > 0.0 else 1.0
        after = before + passes
        start, stop = span(rows, i)
        size = 1.0
        for e in range(start, stop):
            size += value(rows, i, e) ** 2
        squares = time[2] + size
        # The minimum that arow takes knows the row's own size.
        c = 1.0 if late(rule) else np.sqrt(squares / t)
        for k in range(K):
            predictor = cells[d, k, BETA]
            v = 1.0 / metric(rule, cells[d, k, SUM], t) if intercept else 0.0
            for e in range(start, stop):
                j, x = column(rows, e), value(rows, i, e)
                if l2 > 0.0:
                    cells[j, k, BETA] = shrunk(rule, cells[j, k], before, t, l2)
                predictor += x * cells[j, k, BETA]
                if late(rule):  # the only one that asks for v
                    v += x * x / metric(rule, cells[j, k, SUM], t)
            eta[n, k] = predictor
            if w == 0.0:
                continue
            r = w * slope(rule, predictor, y[i, k], v)
            p = 1.0 / (1.0 + np.exp(-abs(predictor)))
            h = w * p * (1.0 - p)
            for e in range(start, stop):
                j, x = column(rows, e), value(rows, i, e)
                step(rule, cells[j, k], x, r, h, c, l2, average, t, after)
            if intercept:
                step(rule, cells[d, k], 1.0, r, h, c, 0.0, average, t, after)
        time[0], time[1], time[2] = t, after, squares


@inlined
def step(rule, cell, x, r, h, c, l2, average, t, after):
    """One coefficient's share of a step."""
    g = r * x
    s = cell[SUM] + gain(rule, g, h * x * x, x * x)
    a = metric(rule, cell[SUM] if late(rule) else s, t)
    if average:
        cell[TOTAL] += cell[BETA] * (after - cell[SINCE])
    cell[BETA] = (a * cell[BETA] - rule.rate * g / c) / (a + rule.rate * l2)
    cell[SUM], cell[SINCE] = s, after


@kernel
def settle(rule, l2, cells, time, out):
    """All coefficients as of now, in ``out``."""
    d = cells.shape[0] - 1
    t = np.int64(time[0]) + 1
    for j in range(d + 1):
        for k in range(cells.shape[1]):
            out[j, k] = shrunk(rule, cells[j, k], time[1], t, l2) if l2 > 0.0 and j < d else cells[j, k, BETA]
