"""The loop that takes one step per row, for any rule and any storage of the rows."""

import numpy as np

from dropglm.design.storage import column, span, value
from dropglm.maths.compile import inlined, kernel, summing_kernel
from dropglm.maths.prefetch import prefetch
from dropglm.online.rule import gain, late, metric, scale, shared, slope, start

# What is known of a coefficient, side by side: β and the sum s that its metric is made of.
BETA, SUM = 0, 1
# With a ridge or an average also the clock when it was last brought up to date, and β's sum over the steps
# before.
SINCE, TOTAL = 0, 1


@inlined
def shrunk(rule, beta, s, idle, t, l2):
    """β_j after so many steps without a look at it: Π a_j / (a_j + ρ λ).

    One that no row has had yet, of a warm start, is left alone: it has no metric.
    """
    if idle == 0.0 or (s == 0.0 and not shared(rule)):
        return beta
    if not shared(rule):
        idle *= np.log1p(rule.rate * l2 / metric(rule, s, t))
    return beta * np.exp(-idle)


@inlined
def begun(s, first):
    """The sum, or what it starts with."""
    return s if s > 0 else first


@inlined
def remember(known, past, j, now):
    """Add β_j to its sum over the steps since it was last brought up to date."""
    past[j, TOTAL] += known[j, BETA] * (now - past[j, SINCE])
    past[j, SINCE] = now


@inlined
def variance(eta):
    """A''(η) = p (1 - p), without overflow."""
    e = np.exp(-abs(eta))
    return e / (1.0 + e) ** 2


@summing_kernel
def sizes(rows, out):
    """1 + ‖x‖² of each row; the number of entries of the longest."""
    longest = 0
    for i in range(len(out)):
        start, stop = span(rows, i)
        size = 1.0
        for e in range(start, stop):
            size += value(rows, i, e) ** 2
        out[i] = size
        longest = max(longest, stop - start)
    return longest


@kernel
def take_steps(rule, rows, y, weights, order, l2, intercept, cells, pasts, average, time, eta):
    """Take a step for each row in that order; η is what was predicted before its step.

    ``cells`` is (K, d + 1, 2), the last column for the intercept, and ``pasts`` too, or empty if there is
    neither ridge nor average; ``time`` holds the number of steps, the clock that ridge and average go by, and
    the sum of the rows' squared sizes.
    """
    real, K, d = cells.dtype.type, cells.shape[0], cells.shape[1] - 1
    zero, one, pull = real(0.0), real(1.0), real(rule.rate * l2)
    size = np.empty(len(weights))
    pace = np.empty(sizes(rows, size), cells.dtype)
    for n in range(len(order)):
        i = order[n]
        w = weights[i]
        begin, end = span(rows, i)
        t = np.int64(time[0]) + 1
        before = time[1]
        passes = np.log1p(rule.rate * l2 / metric(rule, one, t)) if shared(rule) and l2 > 0.0 else 1.0
        after = before + passes
        squares = time[2] + size[i]
        first, c = real(start(rule, squares / t)), scale(rule, np.sqrt(squares / t))
        for k in range(K):
            known, past = cells[k], pasts[k]
            if l2 > 0.0:
                for e in range(begin, end):
                    j = column(rows, e)
                    idle = before - past[j, SINCE]
                    known[j, BETA] = shrunk(rule, known[j, BETA], known[j, SUM], idle, t, l2)
                    past[j, SINCE] = before
            predictor = np.float64(known[d, BETA])
            for e in range(begin, end):
                j = column(rows, e)
                predictor += value(rows, i, e) * known[j, BETA]
                pace[e - begin] = begun(known[j, SUM], first)
            v = 0.0
            if late(rule):  # the only one that asks for v
                v = 1.0 / metric(rule, begun(known[d, SUM], first), t) if intercept else 0.0
                for e in range(begin, end):
                    x = real(value(rows, i, e))
                    v += x * x / metric(rule, pace[e - begin], t)
            eta[n, k] = predictor
            if w == 0.0:  # predicted, but as if it were not there
                continue
            r = slope(rule, predictor, y[i, k], w, v)
            q, step = real(gain(rule, r, w, w * variance(predictor))), real(rule.rate * r / c)
            now = zero if late(rule) else q  # what of the row's own gain its step knows
            if n + 1 < len(order) and end - begin < d:
                # The next row's features, on their way while this one's are worked on: 37 ms, not 46.
                soon, later = span(rows, order[n + 1])
                for e in range(soon, later):
                    prefetch(known, column(rows, e))
            # Roots and divisions by themselves, where vector units do them: 26 ms a pass, not 35.
            for e in range(begin, end):
                x = real(value(rows, i, e))
                pace[e - begin] = one / (metric(rule, pace[e - begin] + now * x * x, t) + pull)
            if average or l2 > 0.0:
                for e in range(begin, end):
                    remember(known, past, column(rows, e), after)
                remember(known, past, d, after)
            for e in range(begin, end):
                j, x = column(rows, e), real(value(rows, i, e))
                beta, s = known[j, BETA], known[j, SUM]
                # A dense row has zeros, too: they are no sight of the feature.
                if not shared(rule) and x == zero and s == zero:
                    continue
                known[j, BETA] = beta - (step * x + pull * beta) * pace[e - begin]
                if not shared(rule):
                    known[j, SUM] = begun(s, first) + q * x * x
            if intercept:
                s = begun(known[d, SUM], first)
                known[d, BETA] -= step / metric(rule, s + now, t)
                known[d, SUM] = s + q
        if w != 0.0:
            time[0], time[1], time[2] = t, after, squares


@kernel
def shrink_all(rule, l2, cells, pasts, time, out):
    """All coefficients as of now, in ``out``."""
    K, d, t = cells.shape[0], cells.shape[1] - 1, np.int64(time[0]) + 1
    for k in range(K):
        for j in range(d):
            idle = time[1] - pasts[k, j, SINCE]
            out[k, j] = shrunk(rule, cells[k, j, BETA], cells[k, j, SUM], idle, t, l2)
        out[k, d] = cells[k, d, BETA]
