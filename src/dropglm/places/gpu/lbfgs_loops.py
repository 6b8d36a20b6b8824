"""L-BFGS on θ = (β, c) of P problems: arrays of shape (d + 1, P), the intercepts last.

The formulas are those of ``solvers/memory.py`` and ``objective/objective.py``. In each loop a thread has
one problem and several features; sums over features are computed per block, and then by ``add_blocks``.
Between the loops, ``accept_or_narrow`` and ``next_direction`` decide for each problem on steps, pairs and the
next direction, by the rules of ``solvers/line_search.py`` and ``solvers/memory.py``, compiled for the GPU:
one thread or block decides for one problem. So the host waits only once in an iteration, to see who has
converged.

Long vectors are flat, and pairs follow each other at a distance of ``size`` numbers, as unsigned numbers:
with less to compute for each address, more loads are under way. For the same reason, half of the pairs are
loaded at a time, even if some of them are not used yet; those are 0.
"""

import math

from numba import cuda, float64, int64, uint64

from dropglm.core.solvers import MAX_TRIALS, Trial, is_usable, narrow, relative_norm
from dropglm.core.solvers import solve as solve_on_cpu
from dropglm.places.gpu.runtime import THREADS, kernel
from dropglm.places.gpu.threads import SUMMED, add_threads, items, joined, no_problem, problem_of, put_sums

# Steps that L-BFGS can remember, and how many of them are loaded at a time.
MEMORY = 10
PART = MEMORY // 2

# ``matrices``, (2, P, MEMORY, MEMORY): inner products of pairs. ``vectors``, (4, MEMORY, P): those with the
# gradient, and the coefficients of the next direction. See ``solvers/memory.py``.
SY, YY = 0, 1
SG, YG, A, E = range(4)

# What ``combine`` sums: λ β d, λ d², x̄ d, and β d and d² times the variance of additive noise.
ALONG = 5
# What ``multiply`` sums: s_i·g and y_i·P⁻¹g of each pair, g·P⁻¹g, and s·y and y·P⁻¹y of the new pair.
PRODUCTS = 2 * MEMORY + 3
# What a block of ``square`` sums.
SQUARES = PART * MEMORY

# ``slot`` is the place of a new pair, or one of these: only the gradient is new; the problem has not moved.
NO_PAIR = -1
NOTHING_NEW = -2

# Rows of ``point``: the value at the current point, the slope along the next direction, Σ λβ², b,
# √(gᵀHg / 2f), g·P⁻¹g, the step that led there, the number of iterations, whether no step descends, and
# whether the problem has moved in this round.
VALUE, SLOPE, L2_NORM, INTERCEPT, NORM, GG, STEP, ITERATIONS, STALLED, MOVED = range(10)
POINT = 10
# Rows of ``trial``: step, value and slope of the longest step known to be too short and of the shortest too
# long, the number of trials, whether the next one is taken in any case, and the value at the last one.
LOW, HIGH, TRIALS, LAST, TRIED_VALUE = 0, 3, 6, 7, 8
TRIAL = 9


@kernel
def add_blocks(g, blocks, sums, out):
    """Σ over blocks of sums[block, number, p]; the first dimension of the grid is that of the numbers."""
    buffer = cuda.shared.array((SUMMED, THREADS), float64)
    thread, number = cuda.threadIdx.x, cuda.blockIdx.x
    p = (cuda.blockIdx.y << g) + (thread & ((1 << g) - 1))
    for k in range(SUMMED):
        buffer[k, thread] = 0.0
    if p < sums.shape[2]:
        for block in range(thread >> g, blocks, THREADS >> g):
            buffer[0, thread] += sums[block, number, p]
    add_threads(buffer, g)
    if thread < 1 << g and p < sums.shape[2]:
        out[number, p] = buffer[0, thread]


@kernel
def sum_over_classes(classes, out):
    """Let the classes of a multinomial model have their sum.

    The decisions for its columns are then the same, and they move as one problem. The first dimension of the
    grid is that of the numbers.
    """
    number, first = cuda.blockIdx.x, (cuda.blockIdx.y * THREADS + cuda.threadIdx.x) * classes
    if first >= out.shape[1]:
        return
    total = 0.0
    for k in range(classes):
        total += out[number, first + k]
    for k in range(classes):
        out[number, first + k] = total


@kernel
def combine(
    columns, g, size, pairs, vectors, scale, s, y, inverse, gradient, theta, l2, l2_weights, mean, places,
    absolute, block_of, direction, ends, sums,
):  # fmt: skip
    """Set d = -(scale · P⁻¹(g - Σ a_i y_i) + Σ e_i s_i), and sum products with it.

    ``pairs`` has the numbers of pairs so far, of which the last are kept, and ``vectors`` their coefficients;
    ``places`` has the columns of a problem's l2 weights and of its mean row. Unless ``ends`` is empty, it
    becomes words of θ and d.
    """
    if no_problem(columns, g):
        return
    by_y = cuda.local.array(MEMORY, float64)
    by_s = cuda.local.array(MEMORY, float64)
    totals = cuda.local.array(ALONG, float64)
    own = problem_of(columns, g)
    p = max(own, 0)
    d, P, count = mean.shape[0], pairs.size, min(pairs[p], MEMORY)
    for i in range(MEMORY):
        by_y[i], by_s[i] = (vectors[A, i, p], vectors[E, i, p]) if i < count else (0.0, 0.0)
    crossed, square, at_mean, noise_crossed, noise_square = 0.0, 0.0, 0.0, 0.0, 0.0
    start, distance = items(g)
    for j in range(start, d + 1 if own >= 0 else 0, distance):
        at = uint64(j * P + p)
        total, along = -float64(gradient[at]), 0.0
        for first in range(0, MEMORY, PART):
            if first < count:
                for k in range(PART):
                    pair = at + uint64(first + k) * size
                    total += by_y[first + k] * y[pair]
                    along += by_s[first + k] * s[pair]
        total = total * (scale[p] * inverse[at]) - along
        direction[at] = total
        total = float64(direction[at])  # as it was stored, since products with x̄ and X may cancel
        if ends.size:
            ends[at] = joined(theta[at], direction[at], ends[at])
        if j < d:
            beta = float64(theta[at])
            weighted = l2[p] * l2_weights[j, places[0, p]] * total
            crossed += weighted * beta
            square += weighted * total
            at_mean += mean[j, places[1, p]] * total
            weighted = absolute[block_of[j], p] * total
            noise_crossed += weighted * beta
            noise_square += weighted * total
    totals[0], totals[1], totals[2] = crossed, square, at_mean
    totals[3], totals[4] = noise_crossed, noise_square
    put_sums(totals, ALONG, g, p, own >= 0, cuda.blockIdx.x, 0, sums)


@kernel
def move(columns, g, taken, direction, theta):
    """θ += step · d."""
    p = problem_of(columns, g)
    if p < 0 or taken[p] == 0.0:
        return
    P = taken.size
    start, distance = items(g)
    for j in range(start, theta.size // P, distance):
        at = uint64(j * P + p)
        theta[at] += taken[p] * direction[at]


@kernel
def multiply(
    columns, g, size, pairs, slot, taken, by_rows, fit_intercept, theta, l2, l2_weights, mean, places,
    absolute, block_of, by_features, s, y, inverse, gradient, direction, sums,
):  # fmt: skip
    """Complete the gradient after a step, store the new pair, and sum products of pairs with the gradient.

    The gradient is ∂/∂β - x̄ ∂/∂b + λβ, and ∂/∂b in the last place. ``by_features`` is ∂/∂β of the rows;
    ``by_rows`` has the sums of ``row_loops.evaluate``: additive noise adds 2 · absolute · Σ ∂f/∂s² · β.
    """
    if no_problem(columns, g):
        return
    own = cuda.local.array(PRODUCTS, float64)
    problem = problem_of(columns, g)
    p = max(problem, 0)
    d, P, new = mean.shape[0], pairs.size, slot[p]
    count = min(pairs[p] + (1 if new >= 0 else 0), MEMORY)
    slope = by_rows[2, p] if fit_intercept else 0.0
    for number in range(PRODUCTS):
        own[number] = 0.0
    start, distance = items(g)
    for j in range(start, d + 1 if problem >= 0 else 0, distance):
        at = uint64(j * P + p)
        before = gradient[at]
        now = float64(before)
        if new > NOTHING_NEW:
            now = slope
            if j < d:
                factor = l2[p] * l2_weights[j, places[0, p]]
                factor += 2.0 * absolute[block_of[j], p] * by_rows[3, p]
                now = by_features[at] + factor * theta[at] - slope * mean[j, places[1, p]]
            gradient[at] = now
            now = float64(gradient[at])
        scaled = inverse[at] * now
        own[2 * MEMORY] += scaled * now
        if new >= 0:
            pair = at + uint64(new) * size
            s[pair] = taken[p] * direction[at]
            y[pair] = now - before
            change = float64(y[pair])
            own[2 * MEMORY + 1] += s[pair] * change
            own[2 * MEMORY + 2] += change * change * inverse[at]
        for first in range(0, MEMORY, PART):
            if first < count:
                for k in range(PART):
                    pair = at + uint64(first + k) * size
                    own[first + k] += s[pair] * now
                    own[MEMORY + first + k] += y[pair] * scaled
    put_sums(own, PRODUCTS, g, p, problem >= 0, cuda.blockIdx.x, 0, sums)


@kernel
def square(columns, g, size, pairs, y, inverse, sums):
    """y_i·P⁻¹y_k of all pairs; the third dimension of the grid is one part of the i."""
    if no_problem(columns, g):
        return
    own = cuda.local.array(SQUARES, float64)
    here = cuda.local.array(MEMORY, float64)
    problem = problem_of(columns, g)
    p = max(problem, 0)
    P, first = pairs.size, cuda.blockIdx.z * PART
    for number in range(SQUARES):
        own[number] = 0.0
    start, distance = items(g)
    for j in range(start, inverse.size // P if problem >= 0 and first < pairs[p] else 0, distance):
        at = uint64(j * P + p)
        for k in range(MEMORY):
            here[k] = y[at + uint64(k) * size]
        for i in range(PART):
            scaled = inverse[at] * y[at + uint64(first + i) * size]
            for k in range(MEMORY):
                own[i * MEMORY + k] += scaled * here[k]
    put_sums(own, SQUARES, g, p, problem >= 0, cuda.blockIdx.x, first * MEMORY, sums)


@kernel
def complete_diagonal(
    columns, g, by_rows, fit_intercept, l2, l2_weights, mean, places, absolute, block_of,
    spread, tiny, inverse,
):  # fmt: skip
    """P⁻¹, the inverse of Σ p (x - x̄)² + ρ q x² + absolute · Σ q + λ.

    ``spread`` has the first two sums, ``by_rows`` Σ p and Σ q. A feature without a row of positive weight may
    have no curvature; any positive number will do.
    """
    p = problem_of(columns, g)
    if p < 0:
        return
    d, P = mean.shape[0], l2.size
    total = by_rows[0, p] if fit_intercept else 0.0
    start, distance = items(g)
    for j in range(start, d + 1, distance):
        at = uint64(j * P + p)
        curvature = total
        if j < d:
            fixed = l2[p] * l2_weights[j, places[0, p]] + absolute[block_of[j], p] * by_rows[1, p]
            curvature = float64(spread[at]) + fixed
        inverse[at] = 1.0 / curvature if curvature > tiny else 1.0


solve = cuda.jit(device=True)(solve_on_cpu.py_func)


@kernel
def accept_or_narrow(
    columns, curvature, memory, constant, along, by_rows, pairs, point, trial, steps, taken, slot
):
    """Take the step that was tried, if it satisfies the Wolfe conditions, or choose the next one to try.

    ``curvature`` is c₂ of these, ``memory`` how many steps are remembered. The step of a problem that
    searches no more is NaN.
    """
    p = columns[cuda.blockIdx.x * THREADS + cuda.threadIdx.x]
    if p < 0 or math.isnan(steps[p]):
        return
    step = steps[p]
    l2_norm = point[L2_NORM, p] + step * (2.0 * along[0, p] + step * along[1, p])
    value = constant[p] + by_rows[0, p] + 0.5 * l2_norm
    slope = by_rows[1, p] + along[0, p] + step * along[1, p]
    start = Trial(0.0, point[VALUE, p], point[SLOPE, p])
    low = Trial(trial[LOW, p], trial[LOW + 1, p], trial[LOW + 2, p])
    high = Trial(trial[HIGH, p], trial[HIGH + 1, p], trial[HIGH + 2, p])
    found, low, high, next_step = narrow(start, low, high, Trial(step, value, slope), curvature)
    trial[LOW, p], trial[LOW + 1, p], trial[LOW + 2, p] = low.step, low.value, low.slope
    trial[HIGH, p], trial[HIGH + 1, p], trial[HIGH + 2, p] = high.step, high.value, high.slope
    trial[TRIALS, p] += 1.0
    found = found or trial[LAST, p] > 0.0
    if not found and trial[TRIALS, p] >= MAX_TRIALS:
        # The longest step that descends has to do.
        next_step, trial[LAST, p] = low.step, 1.0
        if not low.value < start.value:
            point[STALLED, p] = 1.0
    if not start.slope < 0.0:
        point[STALLED, p] = 1.0
    steps[p] = next_step
    if point[STALLED, p] > 0.0:
        steps[p] = math.nan
    elif found:
        trial[TRIED_VALUE, p] = value
        steps[p], taken[p] = math.nan, step
        slot[p] = pairs[p] % memory if point[ITERATIONS, p] >= 0.0 else NO_PAIR


@cuda.jit(device=True)
def direction_coefficients(
    p, tol, min_iter, max_iter, memory, pairs, usable, sy, yy, sg, yg, a, e, scale, point, trial, steps
):
    """Set the coefficients of the next direction, and start the search along it.

    A problem that seems to have converged, or has had its iterations, waits for the host's decision.
    """
    slots = cuda.local.array(MEMORY, int64)
    count, size = min(pairs[p], memory), 0
    oldest = pairs[p] % memory if pairs[p] > memory else 0
    for place in range(MEMORY):
        a[place], e[place] = 0.0, 0.0
    for k in range(count):
        place = (oldest + k) % memory
        if usable[p, place]:
            slots[size] = place
            size += 1
    scale[p], slope = solve(slots[:size], sy, yy, sg, yg, point[GG, p], a, e)
    value = point[VALUE, p]
    point[SLOPE, p] = slope
    point[NORM, p] = relative_norm(point[GG, p], slope, value)
    trial[LOW, p], trial[LOW + 1, p], trial[LOW + 2, p] = 0.0, value, slope
    trial[HIGH, p], trial[HIGH + 1, p], trial[HIGH + 2, p] = math.inf, value, slope
    trial[TRIALS, p], trial[LAST, p] = 0.0, 0.0
    n_iter = point[ITERATIONS, p]
    waits = (point[NORM, p] <= tol and n_iter >= min_iter) or n_iter >= max_iter
    steps[p] = math.nan if waits else 1.0


@kernel
def next_direction(
    columns, tol, min_iter, max_iter, memory, along, intercepts, squares, multiplied, pairs, usable,
    matrices, vectors, scale, point, trial, steps, taken, slot,
):  # fmt: skip
    """Arrive at the ends of the steps that were taken, and aim anew; a block has one problem.

    A problem that has not taken a step aims anew if it has another preconditioner, with ``squares`` of
    y_i·P⁻¹y_k; else ``squares`` is empty, and it stays as it is.
    """
    p = columns[cuda.blockIdx.x]
    if p < 0:
        return
    thread, new, step, renews = cuda.threadIdx.x, slot[p], taken[p], squares.size > 0
    # The recursion reads these numbers one after the other, so they have to be close by.
    own_matrices = cuda.shared.array((2, MEMORY, MEMORY), float64)
    own_vectors = cuda.shared.array((4, MEMORY), float64)
    own_sy, own_yy = own_matrices[SY], own_matrices[YY]
    own_sg, own_yg, own_a, own_e = own_vectors[SG], own_vectors[YG], own_vectors[A], own_vectors[E]
    for number in range(thread, MEMORY * MEMORY, THREADS):
        i, k = number // MEMORY, number % MEMORY
        own_sy[i, k] = matrices[SY, p, i, k]
        own_yy[i, k] = squares[number, p] if renews else matrices[YY, p, i, k]
        # Products with the new y are differences of products with two gradients.
        if new >= 0 and (i == new or k == new):
            other = i + k - new
            own_yy[i, k] = multiplied[MEMORY + other, p] - vectors[YG, other, p]
            own_sy[i, k] = multiplied[i, p] - vectors[SG, i, p] if k == new else 0.0
            if i == k:
                own_sy[i, k], own_yy[i, k] = multiplied[2 * MEMORY + 1, p], multiplied[2 * MEMORY + 2, p]
    for i in range(thread, MEMORY, THREADS):
        own_sg[i], own_yg[i] = multiplied[i, p], multiplied[MEMORY + i, p]
    cuda.syncthreads()
    if thread == 0:
        point[MOVED, p] = 0.0
        if new > NOTHING_NEW:
            point[MOVED, p], point[STEP, p] = 1.0, step
            point[ITERATIONS, p] += 1.0
            point[VALUE, p] = trial[TRIED_VALUE, p]
            point[L2_NORM, p] += step * (2.0 * along[0, p] + step * along[1, p])
            point[INTERCEPT, p] += step * (intercepts[p] - along[2, p])
        if new >= 0:
            usable[p, new] = is_usable(own_sy[new, new], own_yy[new, new])
            pairs[p] += 1
        if renews or new > NOTHING_NEW:
            point[GG, p] = multiplied[2 * MEMORY, p]
            direction_coefficients(
                p, tol, min_iter, max_iter, memory, pairs, usable, own_sy, own_yy, own_sg, own_yg,
                own_a, own_e, scale, point, trial, steps,
            )  # fmt: skip
        slot[p], taken[p] = NOTHING_NEW, 0.0
    cuda.syncthreads()
    if renews or new > NOTHING_NEW:
        for number in range(thread, MEMORY * MEMORY, THREADS):
            i, k = number // MEMORY, number % MEMORY
            matrices[SY, p, i, k], matrices[YY, p, i, k] = own_sy[i, k], own_yy[i, k]
        for i in range(thread, MEMORY, THREADS):
            for number in range(4):
                vectors[number, i, p] = own_vectors[number, i]
