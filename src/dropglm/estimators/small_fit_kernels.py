"""The loops of ``small_fit``: L-BFGS on the rows of logistic regression, in compiled code.

Every function has a counterpart in ``solvers`` or ``objective`` that does the same with several threads, and
calls the same loops, here over a single piece.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from dropglm.design.kernels import gather, gather_spread, ray_by_rows, scatter, scatter_spread
from dropglm.maths.compile import kernel, part
from dropglm.objective.logistic_rows import evaluate
from dropglm.solvers.lbfgs import REFRESHES
from dropglm.solvers.line_search import CURVATURE, MAX_TRIALS, Trial, narrow
from dropglm.solvers.memory import _combine, _multiply, _square, solve

# How a fit ended; the last one leaves it to the general solver to say why.
CONVERGED, MAX_ITER, STALLED, FAILED = range(4)

TINY = float(np.finfo(np.float64).tiny)
_REFRESHES = np.array(sorted(REFRESHES))


class Features(NamedTuple):
    """Sparse features by rows and by columns, and dense ones, perhaps none; with their relative noise ρ."""

    rows: Any
    columns: Any
    dense: Any
    relative: float
    dense_relative: float


class Model(NamedTuple):
    """What an objective adds to the features: labels and weights of the rows, λ and x̄ of the features."""

    y: np.ndarray
    w: np.ndarray
    pi: np.ndarray
    constant: float
    noisy: bool
    l2: np.ndarray
    mean: np.ndarray
    fit_intercept: bool


class Memory(NamedTuple):
    """The arrays of ``solvers.memory.Memory``, for vectors of length N and at most m pairs."""

    s: np.ndarray  # (m, N)
    y: np.ndarray
    d: np.ndarray  # (N,)
    inverse: np.ndarray  # P⁻¹
    g: np.ndarray
    old: np.ndarray  # the gradient before
    slots: (
        np.ndarray
    )  # (m + 1,): the pairs in use, oldest first, then free ones, and last how many are in use
    sy: np.ndarray  # (m, m)
    yy: np.ndarray  # (1, m, m)
    products: np.ndarray  # (1, 2m + 1): s_i·g, y_i·P⁻¹g and g·P⁻¹g
    before: np.ndarray  # the same with the gradient before
    new: np.ndarray  # (1, 2)
    a: np.ndarray  # (m,)
    e: np.ndarray


class Room(NamedTuple):
    """Numbers of the rows, cuts of a single piece, and the ticket for it."""

    eta: np.ndarray  # (n,)
    s2: np.ndarray
    ray: np.ndarray  # (3, n)
    end: np.ndarray  # (2, n)
    slopes: np.ndarray  # (n, 2)
    sums: np.ndarray  # (1, 2)
    dense: np.ndarray  # (1, dense features)
    even_row_cuts: np.ndarray
    vector_cuts: np.ndarray
    row_cuts: np.ndarray
    column_cuts: np.ndarray
    ticket: np.ndarray


@kernel
def descend(X, model, memory, room, theta, tol, max_iter, min_iter, history):
    """Minimise from θ on, in place; return how it ended, and the numbers of iterations and passes.

    ``history`` has rows for value, relative gradient norm and step of each iteration. The start is
    reached like any other point, by a step of length 1 from θ = 0, so that every function is called from one
    place only, which halves the time to compile.
    """
    size, direction, g, old = theta.size, memory.d, memory.g, memory.old
    eta, s2, end = room.eta, room.s2, room.end
    for j in range(size):
        direction[j], theta[j], g[j] = theta[j], 0.0, 0.0
    n_iter, passes, value, l2_norm, slope, scale, gg = -1, 0, 0.0, 0.0, -1.0, 1.0, 0.0
    while True:
        # The objective along the direction.
        if n_iter >= 0:
            _set_direction(memory, room, scale)
        crossed, square, at_mean = _products(model, theta, direction)
        _set_ray(X, room, theta, direction, direction[size - 1] - at_mean)

        # A step.
        begin = Trial(0.0, value, slope)
        low, high, found, step = begin, Trial(math.inf, value, slope), False, 1.0
        for number in range(MAX_TRIALS + 1 if slope < 0.0 else 0):
            if number == MAX_TRIALS:
                step = low.step
            rows_value, rows_slope = _evaluate(model, room, step)
            norm = l2_norm + step * (2.0 * crossed + step * square)
            trial = Trial(step, rows_value + 0.5 * norm, rows_slope + crossed + step * square)
            if n_iter < 0:
                found = True
            elif number == MAX_TRIALS:
                found = low.value < value
            else:
                found, low, high, step = narrow(begin, low, high, trial, CURVATURE)
            if found:
                value, l2_norm = trial.value, norm
                break
        if not found:
            # At a perfect fit f is 0, so the gradient is compared with the objective at the start.
            is_perfect = 0.5 * gg <= np.finfo(theta.dtype).eps * history[0, 0]
            return CONVERGED if is_perfect else STALLED, n_iter, passes + 1

        # The point at its end.
        for j in range(size):
            theta[j] += step * direction[j]
            old[j] = g[j]
        for i in range(eta.size):
            eta[i], s2[i] = end[0, i], end[1, i]
        _set_gradient(X, model, room, theta, g)
        n_iter, passes = n_iter + 1, passes + 2
        history[0, n_iter], history[2, n_iter] = value, step if n_iter else np.nan
        if n_iter > 0:
            scale, slope = _add_pair(memory, room, step)
        metric = n_iter == 0
        for refresh in _REFRESHES:
            metric |= refresh == n_iter

        # Another preconditioner now and then, and before the end.
        while True:
            if metric:
                if not _precondition(X, model, room, memory):
                    return FAILED, 0, 0
                scale, slope = _change_metric(memory, room)
                passes += 1
            gg = memory.products[0, -1]
            if n_iter == 0 and not math.isfinite(value + gg):
                return FAILED, 0, 0
            # √(gᵀHg / 2f), the larger of the two.
            history[1, n_iter] = math.sqrt(max(gg, -slope) / (2.0 * max(value, TINY)))
            is_close = history[1, n_iter] <= tol and n_iter >= min_iter
            if metric or not is_close:
                break
            metric = True
        if is_close:
            return CONVERGED, n_iter, passes
        if n_iter == max_iter:
            return MAX_ITER, n_iter, passes


@part
def _set_direction(memory, room, scale):
    slots, inverse, g, ticket = memory.slots, memory.inverse, memory.g, room.ticket
    s, y, a, e, used, d = memory.s, memory.y, memory.a, memory.e, slots[: slots[-1]], memory.d
    ticket[0] = 0
    _combine(room.vector_cuts, ticket, s, y, inverse, g, used, a, e, scale, d)


@part
def _products(model, theta, direction):
    """Σ λ β d, Σ λ d² and x̄·d."""
    l2, mean = model.l2, model.mean
    crossed, square, at_mean = 0.0, 0.0, 0.0
    for j in range(l2.size):
        weighted = np.float64(l2[j]) * direction[j]
        crossed += weighted * theta[j]
        square += weighted * direction[j]
        at_mean += np.float64(mean[j]) * direction[j]
    return crossed, square, at_mean


@part
def _set_ray(X, room, theta, direction, towards):
    """Set u, c and q of every row, where the intercept changes by ``towards``."""
    d, ray, cuts, ticket = X.columns.indptr.size - 1, room.ray, room.row_cuts, room.ticket
    for i in range(ray.shape[1]):
        ray[0, i], ray[1, i], ray[2, i] = towards, 0.0, 0.0
    ticket[0] = 0
    ray_by_rows(cuts, ticket, X.rows, theta[:d], direction[:d], X.relative, ray)
    if theta.size - 1 > d:
        ticket[0] = 0
        ray_by_rows(cuts, ticket, X.dense, theta[d:-1], direction[d:-1], X.dense_relative, ray)


@part
def _evaluate(model, room, step):
    """Value and slope of the rows at a step, which also sets their derivatives."""
    cuts, ticket, eta, s2, ray, sums = room.even_row_cuts, room.ticket, room.eta, room.s2, room.ray, room.sums
    y, w, pi, noisy = model.y, model.w, model.pi, model.noisy
    ticket[0] = 0
    evaluate(cuts, ticket, step, eta, s2, ray, y, w, pi, noisy, room.end, room.slopes, sums)
    return model.constant + sums[0, 0], sums[0, 1]


@part
def _set_gradient(X, model, room, theta, g):
    """∂/∂β - x̄ ∂/∂b + λβ, and ∂/∂b."""
    d, size, ticket = X.columns.indptr.size - 1, theta.size - 1, room.ticket
    slopes, dense, l2, mean = room.slopes, room.dense, model.l2, model.mean
    ticket[0] = 0
    gather(room.column_cuts, ticket, X.columns, theta[:d], slopes, X.relative, g[:d])
    if size > d:
        for j in range(size - d):
            dense[0, j] = 0.0
        ticket[0] = 0
        scatter(room.row_cuts, ticket, X.dense, theta[d:-1], slopes, X.dense_relative, dense)
        for j in range(size - d):
            g[d + j] = dense[0, j]
    by_intercept = 0.0
    if model.fit_intercept:
        for i in range(slopes.shape[0]):
            by_intercept += slopes[i, 0]
    for j in range(size):
        g[j] = g[j] - by_intercept * mean[j] + l2[j] * theta[j]
    g[size] = by_intercept


@part
def _precondition(X, model, room, memory):
    """Set P⁻¹, where P is the diagonal of the Fisher information plus λ; return whether it is finite."""
    weights, inverse = room.slopes, memory.inverse  # the slopes are not needed any more
    d, size, total, dense, ticket = X.columns.indptr.size - 1, inverse.size - 1, 0.0, room.dense, room.ticket
    eta, w, pi, l2, mean = room.eta, model.w, model.pi, model.l2, model.mean
    for i in range(eta.size):
        e = math.exp(-abs(eta[i]))
        variance = e / ((1.0 + e) * (1.0 + e))
        weights[i, 0], weights[i, 1] = w[i] * variance, pi[i] * variance
        total += weights[i, 0]
    ticket[0] = 0
    gather_spread(room.column_cuts, ticket, X.columns, mean[:d], weights, X.relative, total, inverse[:d])
    if size > d:
        for j in range(size - d):
            dense[0, j] = 0.0
        relative = X.dense_relative
        ticket[0] = 0
        scatter_spread(room.row_cuts, ticket, X.dense, mean[d:], weights, relative, 0.0, dense)
        for j in range(size - d):
            inverse[d + j] = dense[0, j]
    for j in range(size):
        inverse[j] += l2[j]
    inverse[size] = total
    tiny, trace = np.finfo(inverse.dtype).tiny, 0.0
    for j in range(size + 1):
        # A feature without a row of positive weight may have no curvature; any positive number will do.
        curvature = np.float64(1.0 if inverse[j] <= tiny else inverse[j])
        trace += curvature
        inverse[j] = 1.0 / curvature
    return math.isfinite(trace)


@part
def _set_products(memory, room, slot, step):
    """Set s_i·g, y_i·P⁻¹g and g·P⁻¹g, and s·y and y·P⁻¹y of a new pair in ``slot``, unless it is -1."""
    products, new, ticket, slots = memory.products, memory.new, room.ticket, memory.slots
    for k in range(products.shape[1]):
        products[0, k] = 0.0
    new[0, 0] = new[0, 1] = 0.0
    ticket[0] = 0
    s, y, inverse, g, used = memory.s, memory.y, memory.inverse, memory.g, slots[: slots[-1]]
    cuts, d, old = room.vector_cuts, memory.d, memory.old
    _multiply(cuts, ticket, s, y, inverse, g, used, slot, step, d, old, new, products)


@part
def _set_combination(memory):
    """Set the coefficients of the pairs in the direction; return scale and slope."""
    a, products, slots = memory.a, memory.products[0], memory.slots
    m, used = a.size, slots[: slots[-1]]
    sg, yg, gg = products[:m], products[m : 2 * m], products[2 * m]
    return solve(used, memory.sy, memory.yy[0], sg, yg, gg, a, memory.e)


@part
def _add_pair(memory, room, step):
    """Add the step to the memory, unless the curvature along it is not positive."""
    slots, sy, yy, products, before = memory.slots, memory.sy, memory.yy[0], memory.products[0], memory.before
    m = slots.size - 1
    count = slots[m]
    slot = slots[count] if count < m else slots[0]
    if count == m:
        count -= 1
        for k in range(count):
            slots[k] = slots[k + 1]
    slots[count] = slot
    slots[m] = count + 1
    for k in range(2 * m):
        before[0, k] = products[k]
    _set_products(memory, room, slot, step)
    for k in range(m):
        sy[slot, k] = sy[k, slot] = yy[slot, k] = yy[k, slot] = 0.0
    own_sy, own_yy = memory.new[0, 0], memory.new[0, 1]
    if own_sy > 0.0 and own_yy > 0.0 and math.isfinite(own_sy / own_yy):
        for k in range(count):
            older = slots[k]
            sy[older, slot] = products[older] - before[0, older]
            yy[older, slot] = yy[slot, older] = products[m + older] - before[0, m + older]
        sy[slot, slot], yy[slot, slot] = own_sy, own_yy
    else:
        slots[m] = count  # the slot is free again
    return _set_combination(memory)


@part
def _change_metric(memory, room):
    """Set the products in the metric of another preconditioner; return scale and slope."""
    yy, slots, ticket = memory.yy, memory.slots, room.ticket
    for i in range(yy.shape[1]):
        for k in range(yy.shape[1]):
            yy[0, i, k] = 0.0
    ticket[0] = 0
    _square(room.vector_cuts, ticket, memory.y, memory.inverse, slots[: slots[-1]], yy)
    _set_products(memory, room, np.int64(-1), 0.0)
    return _set_combination(memory)
