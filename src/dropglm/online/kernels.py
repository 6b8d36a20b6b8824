"""The loop that learns, row by row, whatever the rule and the storage."""

import numpy as np

from dropglm.design.storage import column, span, value
from dropglm.maths.compile import inlined, kernel
from dropglm.online.rule import gain, late, metric, shared, slope


@inlined
def shrunk(rule, beta, s, since, clock, t, l2):
    """β_j after the steps since it was last seen: Π a_j / (a_j + ρ λ)."""
    if since == clock:
        return beta
    idle = clock - since
    return beta * np.exp(-idle if shared(rule) else -idle * np.log1p(rule.rate * l2 / metric(rule, s, t)))


@kernel
def learn(rule, rows, y, weights, order, l2, intercept, average, beta, sums, since, total, time, eta):
    """Take a step for each row in that order; η is what was predicted before its step.

    ``beta``, ``sums``, ``since`` and ``total`` are (d + 1, K), the last row for the intercept; ``time`` holds
    the number of steps, the clock that ridge and average go by, and the sum of the rows' squared sizes.
    """
    d, K = beta.shape[0] - 1, beta.shape[1]
    for n in range(len(order)):
        i = order[n]
        w = weights[i]
        t = np.int64(time[0]) + 1
        before = time[1]
        after = before + (
            np.log1p(rule.rate * l2 / metric(rule, 0.0, t)) if shared(rule) and l2 > 0.0 else 1.0
        )
        start, stop = span(rows, i)
        size = 1.0
        for e in range(start, stop):
            size += value(rows, i, e) ** 2
        squares = time[2] + size
        # The minimum that arow takes knows the row's own size.
        c = 1.0 if late(rule) else np.sqrt(squares / t)
        for k in range(K):
            predictor = beta[d, k]
            v = 1.0 / metric(rule, sums[d, k], t) if intercept else 0.0
            for e in range(start, stop):
                j, x = column(rows, e), value(rows, i, e)
                if l2 > 0.0:
                    beta[j, k] = shrunk(rule, beta[j, k], sums[j, k], since[j, k], before, t, l2)
                predictor += x * beta[j, k]
                if late(rule):  # the only one that asks for v
                    v += x * x / metric(rule, sums[j, k], t)
            eta[n, k] = predictor
            if w == 0.0:
                continue
            r = w * slope(rule, predictor, y[i, k], v)
            p = 1.0 / (1.0 + np.exp(-abs(predictor)))
            h = w * p * (1.0 - p)
            for e in range(start, stop):
                j, x = column(rows, e), value(rows, i, e)
                step(rule, j, k, x, r, h, c, l2, average, beta, sums, since, total, t, after)
            if intercept:
                step(rule, d, k, 1.0, r, h, c, 0.0, average, beta, sums, since, total, t, after)
        time[0], time[1], time[2] = t, after, squares


@inlined
def step(rule, j, k, x, r, h, c, l2, average, beta, sums, since, total, t, after):
    """One coefficient's share of a step."""
    g, curvature = r * x, h * x * x
    s = sums[j, k]
    sums[j, k] = s + gain(rule, g, curvature, x * x)
    a = metric(rule, s if late(rule) else sums[j, k], t)
    if average:
        total[j, k] += beta[j, k] * (after - since[j, k])
    beta[j, k] = (a * beta[j, k] - rule.rate * g / c) / (a + rule.rate * l2)
    since[j, k] = after


@kernel
def settle(rule, l2, beta, sums, since, time, out):
    """All coefficients as of now, in ``out``."""
    for j in range(beta.shape[0]):
        for k in range(beta.shape[1]):
            penalised = l2 > 0.0 and j < beta.shape[0] - 1
            out[j, k] = beta[j, k]
            if penalised:
                t = np.int64(time[0]) + 1
                out[j, k] = shrunk(rule, beta[j, k], sums[j, k], since[j, k], time[1], t, l2)
