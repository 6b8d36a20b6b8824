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
from dropglm.solvers.line_search import MAX_TRIALS, Trial, narrow
from dropglm.solvers.memory import _combine, _multiply, _solve, _square

# How a fit ended; the last one leaves it to the general solver to say why.
CONVERGED, MAX_ITER, STALLED, FAILED = range(4)

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
    slots: np.ndarray  # (m + 1,): the pairs in use, oldest first, and last their number
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
    size, direction = theta.size, memory.d
    for j in range(size):
        direction[j], theta[j], memory.g[j] = theta[j], 0.0, 0.0
    n_iter, passes, value, l2_norm, slope, scale = -1, 0, 0.0, 0.0, -1.0, 1.0
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
                found, low, high, step = narrow(begin, low, high, trial)
            if found:
                value, l2_norm = trial.value, norm
                break
        if not found:
            # At a perfect fit f is 0, so the gradient is compared with the objective at the start.
            is_perfect = 0.5 * memory.products[0, -1] <= np.finfo(theta.dtype).eps * history[0, 0]
            return CONVERGED if is_perfect else STALLED, n_iter, passes + 1

        # The point at its end.
        for j in range(size):
            theta[j] += step * direction[j]
            memory.old[j] = memory.g[j]
        for i in range(room.eta.size):
            room.eta[i], room.s2[i] = room.end[0, i], room.end[1, i]
        _set_gradient(X, model, room, theta, memory.g)
        n_iter, passes = n_iter + 1, passes + 2
        history[0, n_iter], history[2, n_iter] = value, step
        metric = n_iter == 0
        if n_iter == 0:
            history[2, 0] = np.nan
            if not (math.isfinite(value) and _is_finite(memory.g)):
                return FAILED, 0, 0
        else:
            scale, slope = _add_pair(memory, room, step)
        for refresh in _REFRESHES:
            metric |= refresh == n_iter

        # Another preconditioner now and then, and before the end.
        while True:
            if metric:
                if not _precondition(X, model, room, memory):
                    return FAILED, 0, 0
                scale, slope = _change_metric(memory, room)
                passes += 1
            history[1, n_iter] = _relative(memory, slope, value)
            is_close = history[1, n_iter] <= tol and n_iter >= min_iter
            if metric or not is_close:
                break
            metric = True
        if is_close:
            return CONVERGED, n_iter, passes
        if n_iter == max_iter:
            return MAX_ITER, n_iter, passes


@part
def _take(room):
    """Put the ticket back, so that the next loop takes its only piece."""
    room.ticket[0] = 0


@part
def _set_direction(memory, room, scale):
    slots, inverse, a, e = memory.slots[: memory.slots[-1]], memory.inverse, memory.a, memory.e
    _take(room)
    _combine(
        room.vector_cuts, room.ticket, memory.s, memory.y, inverse, memory.g, slots, a, e, scale, memory.d
    )


@part
def _products(model, theta, direction):
    """Σ λ β d, Σ λ d² and x̄·d."""
    crossed, square, at_mean = 0.0, 0.0, 0.0
    for j in range(model.l2.size):
        weighted = np.float64(model.l2[j]) * direction[j]
        crossed += weighted * theta[j]
        square += weighted * direction[j]
        at_mean += np.float64(model.mean[j]) * direction[j]
    return crossed, square, at_mean


@part
def _set_ray(X, room, theta, direction, towards):
    """Set u, c and q of every row, where the intercept changes by ``towards``."""
    for i in range(room.ray.shape[1]):
        room.ray[0, i], room.ray[1, i], room.ray[2, i] = towards, 0.0, 0.0
    d = X.columns.indptr.size - 1
    _take(room)
    ray_by_rows(room.row_cuts, room.ticket, X.rows, theta[:d], direction[:d], X.relative, room.ray)
    if X.dense.values.shape[1] > 0:
        _take(room)
        beta, ahead, relative = theta[d:-1], direction[d:-1], X.dense_relative
        ray_by_rows(room.row_cuts, room.ticket, X.dense, beta, ahead, relative, room.ray)


@part
def _evaluate(model, room, step):
    """Value and slope of the rows at a step, which also sets their derivatives."""
    cuts, ticket, eta, s2, ray = room.even_row_cuts, room.ticket, room.eta, room.s2, room.ray
    y, w, pi, noisy = model.y, model.w, model.pi, model.noisy
    _take(room)
    evaluate(cuts, ticket, step, eta, s2, ray, y, w, pi, noisy, room.end, room.slopes, room.sums)
    return model.constant + room.sums[0, 0], room.sums[0, 1]


@part
def _set_gradient(X, model, room, theta, g):
    """∂/∂β - x̄ ∂/∂b + λβ, and ∂/∂b."""
    d, size = X.columns.indptr.size - 1, theta.size - 1
    _take(room)
    gather(room.column_cuts, room.ticket, X.columns, theta[:d], room.slopes, X.relative, g[:d])
    if size > d:
        for j in range(size - d):
            room.dense[0, j] = 0.0
        beta, relative = theta[d:-1], X.dense_relative
        _take(room)
        scatter(room.row_cuts, room.ticket, X.dense, beta, room.slopes, relative, room.dense)
        for j in range(size - d):
            g[d + j] = room.dense[0, j]
    by_intercept = 0.0
    if model.fit_intercept:
        for i in range(room.slopes.shape[0]):
            by_intercept += room.slopes[i, 0]
    for j in range(size):
        g[j] = g[j] - by_intercept * model.mean[j] + model.l2[j] * theta[j]
    g[size] = by_intercept


@part
def _precondition(X, model, room, memory):
    """Set P⁻¹, where P is the diagonal of the Fisher information plus λ; return whether it is finite."""
    weights, inverse = room.slopes, memory.inverse  # the slopes are not needed any more
    d, size, total = X.columns.indptr.size - 1, memory.g.size - 1, 0.0
    for i in range(room.eta.size):
        e = math.exp(-abs(room.eta[i]))
        variance = e / ((1.0 + e) * (1.0 + e))
        weights[i, 0], weights[i, 1] = model.w[i] * variance, model.pi[i] * variance
        total += weights[i, 0]
    cuts, ticket, mean = room.column_cuts, room.ticket, model.mean
    _take(room)
    gather_spread(cuts, ticket, X.columns, mean[:d], weights, X.relative, total, inverse[:d])
    if size > d:
        for j in range(size - d):
            room.dense[0, j] = 0.0
        relative = X.dense_relative
        _take(room)
        scatter_spread(room.row_cuts, ticket, X.dense, mean[d:], weights, relative, 0.0, room.dense)
        for j in range(size - d):
            inverse[d + j] = room.dense[0, j]
    for j in range(size):
        inverse[j] += model.l2[j]
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
    s, y, inverse, slots, products = (
        memory.s,
        memory.y,
        memory.inverse,
        memory.slots[: memory.slots[-1]],
        memory.products,
    )
    for k in range(products.shape[1]):
        products[0, k] = 0.0
    memory.new[0, 0] = memory.new[0, 1] = 0.0
    cuts, ticket, g, d, old, new = room.vector_cuts, room.ticket, memory.g, memory.d, memory.old, memory.new
    _take(room)
    _multiply(cuts, ticket, s, y, inverse, g, slots, slot, step, d, old, new, products)


@part
def _set_combination(memory):
    m, products, slots, a, e = (
        memory.a.size,
        memory.products[0],
        memory.slots[: memory.slots[-1]],
        memory.a,
        memory.e,
    )
    sg, yg, gg = products[:m], products[m : 2 * m], products[2 * m]
    return _solve(slots, memory.sy, memory.yy[0], sg, yg, gg, a, e)


@part
def _add_pair(memory, room, step):
    """Add the step to the memory, unless the curvature along it is not positive."""
    m, slots, sy, yy, products = memory.a.size, memory.slots, memory.sy, memory.yy[0], memory.products[0]
    count = slots[m]
    slot = count if count < m else slots[0]
    if count == m:
        count -= 1
        for k in range(count):
            slots[k] = slots[k + 1]
    slots[count] = slot
    slots[m] = count + 1
    for k in range(2 * m):
        memory.before[0, k] = products[k]
    _set_products(memory, room, slot, step)
    for k in range(m):
        sy[slot, k] = sy[k, slot] = yy[slot, k] = yy[k, slot] = 0.0
    own_sy, own_yy = memory.new[0, 0], memory.new[0, 1]
    if own_sy > 0.0 and own_yy > 0.0 and math.isfinite(own_sy / own_yy):
        for k in range(count):
            older = slots[k]
            sy[older, slot] = products[older] - memory.before[0, older]
            yy[older, slot] = yy[slot, older] = products[m + older] - memory.before[0, m + older]
        sy[slot, slot], yy[slot, slot] = own_sy, own_yy
    else:
        slots[m] = count
    return _set_combination(memory)


@part
def _change_metric(memory, room):
    """Set the products in the metric of another preconditioner; return scale and slope."""
    for i in range(memory.a.size):
        for k in range(memory.a.size):
            memory.yy[0, i, k] = 0.0
    _take(room)
    _square(
        room.vector_cuts, room.ticket, memory.y, memory.inverse, memory.slots[: memory.slots[-1]], memory.yy
    )
    _set_products(memory, room, np.int64(-1), 0.0)
    return _set_combination(memory)


@part
def _relative(memory, slope, value):
    """√(gᵀHg / 2f), the larger of the two."""
    return math.sqrt(max(memory.products[0, -1], -slope) / (2.0 * max(value, np.finfo(np.float64).tiny)))


@part
def _is_finite(vector):
    total = 0.0
    for j in range(vector.size):
        total += abs(np.float64(vector[j]))
    return math.isfinite(total)
