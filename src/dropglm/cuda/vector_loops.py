"""The algebra of L-BFGS on θ = (β, c) of P problems: arrays of shape (d + 1, P), the intercepts last.

The formulas are those of ``solvers/memory.py`` and ``objective/coefficients.py``. In each loop a thread has
one problem and several features; sums over features are computed per block, and then by ``add_blocks``.
"""

from numba import cuda, float64

from dropglm.cuda.passes import add_lanes
from dropglm.cuda.runtime import BITS, THREADS, kernel

# Steps that L-BFGS remembers.
MEMORY = 10

# What ``combine`` sums: λ β d, λ d², x̄ d, and β d and d² times the variance of additive noise.
ALONG = 5
# What ``multiply`` sums: s_i·g and y_i·P⁻¹g of each pair, g·P⁻¹g, and s·y and y·P⁻¹y of the new pair.
PRODUCTS = 2 * MEMORY + 3

# Instead of the place of a new pair: the gradient is new but there is no pair, or neither is new.
NO_PAIR = -1
NOTHING_NEW = -2


@kernel
def add_blocks(g, blocks, sums, out):
    """Σ over blocks of sums[block, number, p]; the first dimension of the grid are the numbers."""
    buffer = cuda.shared.array(THREADS, float64)
    thread, number = cuda.threadIdx.x, cuda.blockIdx.x
    p = (cuda.blockIdx.y << g) + (thread & ((1 << g) - 1))
    total = 0.0
    if p < sums.shape[2]:
        for block in range(thread >> g, blocks, THREADS >> g):
            total += sums[block, number, p]
    buffer[thread] = total
    add_lanes(buffer, g, BITS - g)
    if thread < 1 << g and p < sums.shape[2]:
        out[number, p] = buffer[thread]


@kernel
def combine(
    columns, g, pairs, a, e, scale, s, y, inverse, gradient, theta, l2, l2_weights, column_of_l2,
    mean, column_of_mean, absolute, block_of, direction, sums,
):  # fmt: skip
    """Set d = -(scale · P⁻¹(g - Σ a_i y_i) + Σ e_i s_i), and sum products with it.

    ``pairs`` has the numbers of pairs so far, of which the last are kept.
    """
    if columns[cuda.blockIdx.y << g] < 0:
        return
    buffer = cuda.shared.array(THREADS, float64)
    thread = cuda.threadIdx.x
    own = columns[(cuda.blockIdx.y << g) + (thread & ((1 << g) - 1))]
    p = max(own, 0)
    rows, d, count = THREADS >> g, mean.shape[0], min(pairs[p], MEMORY)
    crossed, square, at_mean, noise_crossed, noise_square = 0.0, 0.0, 0.0, 0.0, 0.0
    stop = d + 1 if own >= 0 else 0
    for j in range(cuda.blockIdx.x * rows + (thread >> g), stop, cuda.gridDim.x * rows):
        total = -float64(gradient[j, p])
        for i in range(count):
            total += a[i, p] * y[i, j, p]
        total *= scale[p] * inverse[j, p]
        for i in range(count):
            total -= e[i, p] * s[i, j, p]
        direction[j, p] = total
        if j < d:
            beta = float64(theta[j, p])
            weighted = l2[p] * l2_weights[j, column_of_l2[p]] * total
            crossed += weighted * beta
            square += weighted * total
            at_mean += mean[j, column_of_mean[p]] * total
            weighted = absolute[block_of[j], p] * total
            noise_crossed += weighted * beta
            noise_square += weighted * total
    for number in range(ALONG):
        part = crossed
        if number == 1:
            part = square
        elif number == 2:
            part = at_mean
        elif number == 3:
            part = noise_crossed
        elif number == 4:
            part = noise_square
        buffer[thread] = part
        add_lanes(buffer, g, BITS - g)
        if thread < 1 << g and own >= 0:
            sums[cuda.blockIdx.x, number, p] = buffer[thread]
        cuda.syncthreads()


@kernel
def move(columns, g, taken, direction, theta):
    """θ += step · d."""
    thread = cuda.threadIdx.x
    p = columns[(cuda.blockIdx.y << g) + (thread & ((1 << g) - 1))]
    if p < 0 or taken[p] == 0.0:
        return
    rows = THREADS >> g
    for j in range(cuda.blockIdx.x * rows + (thread >> g), theta.shape[0], cuda.gridDim.x * rows):
        theta[j, p] += taken[p] * direction[j, p]


@kernel
def multiply(
    columns, g, pairs, slot, taken, by_rows, fit_intercept, theta, l2, l2_weights, column_of_l2,
    mean, column_of_mean, absolute, block_of, by_features, s, y, inverse, gradient, direction, sums,
):  # fmt: skip
    """Complete the gradient after a step, store the new pair, and sum products of pairs with the gradient.

    The gradient is ∂/∂β - x̄ ∂/∂b + λβ, and ∂/∂b in the last place. ``by_features`` is ∂/∂β of the rows;
    ``by_rows`` has the sums of ``row_loops.evaluate``: additive noise adds 2 · absolute · Σ ∂f/∂s² · β.
    """
    if columns[cuda.blockIdx.y << g] < 0:
        return
    buffer = cuda.shared.array(THREADS, float64)
    own = cuda.local.array(PRODUCTS, float64)
    thread = cuda.threadIdx.x
    problem = columns[(cuda.blockIdx.y << g) + (thread & ((1 << g) - 1))]
    p = max(problem, 0)
    rows, d, new = THREADS >> g, mean.shape[0], slot[p]
    count = min(pairs[p] + (1 if new >= 0 else 0), MEMORY)
    slope = by_rows[2, p] if fit_intercept else 0.0
    for number in range(PRODUCTS):
        own[number] = 0.0
    stop = d + 1 if problem >= 0 else 0
    for j in range(cuda.blockIdx.x * rows + (thread >> g), stop, cuda.gridDim.x * rows):
        before = gradient[j, p]
        now = float64(before)
        if new > NOTHING_NEW:
            now = slope
            if j < d:
                factor = l2[p] * l2_weights[j, column_of_l2[p]]
                factor += 2.0 * absolute[block_of[j], p] * by_rows[3, p]
                now = by_features[j, p] + factor * theta[j, p] - slope * mean[j, column_of_mean[p]]
            gradient[j, p] = now
            now = float64(gradient[j, p])
        scaled = inverse[j, p] * now
        own[2 * MEMORY] += scaled * now
        if new >= 0:
            s[new, j, p] = taken[p] * direction[j, p]
            y[new, j, p] = now - before
            change = float64(y[new, j, p])
            own[2 * MEMORY + 1] += s[new, j, p] * change
            own[2 * MEMORY + 2] += change * change * inverse[j, p]
        for i in range(MEMORY):
            if i < count:
                own[i] += s[i, j, p] * now
                own[MEMORY + i] += y[i, j, p] * scaled
    for number in range(PRODUCTS):
        buffer[thread] = own[number]
        add_lanes(buffer, g, BITS - g)
        if thread < 1 << g and problem >= 0:
            sums[cuda.blockIdx.x, number, p] = buffer[thread]
        cuda.syncthreads()


@kernel
def square(columns, g, pairs, y, inverse, sums):
    """y_i·P⁻¹y_k of all pairs with k <= i; the third dimension of the grid is i."""
    if columns[cuda.blockIdx.y << g] < 0:
        return
    buffer = cuda.shared.array(THREADS, float64)
    own = cuda.local.array(MEMORY, float64)
    thread, i = cuda.threadIdx.x, cuda.blockIdx.z
    problem = columns[(cuda.blockIdx.y << g) + (thread & ((1 << g) - 1))]
    p = max(problem, 0)
    rows = THREADS >> g
    for k in range(MEMORY):
        own[k] = 0.0
    stop = y.shape[1] if problem >= 0 and i < pairs[p] else 0
    for j in range(cuda.blockIdx.x * rows + (thread >> g), stop, cuda.gridDim.x * rows):
        scaled = float64(inverse[j, p]) * y[i, j, p]
        for k in range(MEMORY):
            if k <= i:
                own[k] += scaled * y[k, j, p]
    for k in range(MEMORY):
        buffer[thread] = own[k]
        add_lanes(buffer, g, BITS - g)
        if thread < 1 << g and problem >= 0:
            sums[cuda.blockIdx.x, i * MEMORY + k, p] = buffer[thread]
        cuda.syncthreads()


@kernel
def complete_diagonal(
    columns, g, by_rows, fit_intercept, l2, l2_weights, column_of_l2, mean, column_of_mean,
    absolute, block_of, linear, tiny, inverse,
):  # fmt: skip
    """P⁻¹, the inverse of Σ p (x - x̄)² + ρ q x² + absolute · Σ q + λ.

    ``inverse`` comes as Σ (p + ρ q) x², ``linear`` is Σ p x; ``by_rows`` has Σ p and Σ q. A feature without a
    row of positive weight may have no curvature; any positive number will do.
    """
    thread = cuda.threadIdx.x
    p = columns[(cuda.blockIdx.y << g) + (thread & ((1 << g) - 1))]
    if p < 0:
        return
    rows, d = THREADS >> g, mean.shape[0]
    total = by_rows[0, p] if fit_intercept else 0.0
    for j in range(cuda.blockIdx.x * rows + (thread >> g), d + 1, cuda.gridDim.x * rows):
        curvature = total
        if j < d:
            m = float64(mean[j, column_of_mean[p]])
            spread = max(inverse[j, p] - 2.0 * m * linear[j, p] + m * m * total, 0.0)
            fixed = l2[p] * l2_weights[j, column_of_l2[p]] + absolute[block_of[j], p] * by_rows[1, p]
            curvature = spread + fixed
        inverse[j, p] = 1.0 / curvature if curvature > tiny else 1.0
