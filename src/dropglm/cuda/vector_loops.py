"""The algebra of L-BFGS on θ = (β, c) of P problems: arrays of shape (d + 1, P), the intercepts last.

The formulas are those of ``solvers/memory.py`` and ``objective/coefficients.py``. In each loop a thread has
one problem and several features; sums over features are computed per block, and then by ``add_blocks``.

Long vectors are flat, and pairs follow each other at a distance of ``size`` numbers, as unsigned numbers:
with less to compute for each address, more loads are under way. For the same reason, half of the pairs are
loaded at a time, even if some of them are not used yet; those are 0.
"""

from numba import cuda, float64, uint64

from dropglm.cuda.runtime import THREADS, kernel
from dropglm.cuda.threads import SUMMED, add_threads, items, no_problem, problem_of, put_sums
from dropglm.cuda.words import joined

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
def share_sums(classes, out):
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
