"""The algebra of L-BFGS on θ = (β, c) of P problems: arrays of shape (d + 1, P), the intercepts last.

The formulas are those of ``solvers/memory.py`` and ``objective/coefficients.py``. In each loop a thread has
one problem and several features; sums over features are computed per block, and then by ``add_blocks``.
"""

from numba import cuda, float64

from dropglm.cuda.passes import add_lanes
from dropglm.cuda.runtime import THREADS, kernel

# Steps that L-BFGS remembers.
MEMORY = 10

# What ``combine`` sums: λ β d, λ d², x̄ d, and β d and d² times the variance of additive noise.
ALONG = 5
# What ``multiply`` sums: s_i·g and y_i·P⁻¹g of each pair, g·P⁻¹g, and s·y and y·P⁻¹y of the new pair.
PRODUCTS = 2 * MEMORY + 3


@kernel
def add_blocks(G, blocks, sums, out):
    """Σ over blocks of sums[block, number, p]; the first dimension of the grid are the numbers."""
    buffer = cuda.shared.array(THREADS, float64)
    thread, number = cuda.threadIdx.x, cuda.blockIdx.x
    p = cuda.blockIdx.y * G + thread % G
    total = 0.0
    if p < sums.shape[2]:
        for block in range(thread // G, blocks, THREADS // G):
            total += sums[block, number, p]
    buffer[thread] = total
    add_lanes(buffer, G, THREADS // G)
    if thread < G and p < sums.shape[2]:
        out[number, p] = buffer[thread]


@kernel
def combine(
    columns, G, pairs, a, e, scale, s, y, inverse, g, theta, l2, l2_weights, column_of_l2,
    mean, column_of_mean, absolute, block_of, direction, sums,
):  # fmt: skip
    """Set d = -(scale · P⁻¹(g - Σ a_i y_i) + Σ e_i s_i) over pairs[0] pairs, and sum products with it."""
    buffer = cuda.shared.array(THREADS, float64)
    thread = cuda.threadIdx.x
    place = cuda.blockIdx.y * G + thread % G
    rows = THREADS // G
    p = columns[min(place, columns.size - 1)]
    active = place < columns.size
    d, count = mean.shape[0], pairs[0]
    crossed, square, at_mean, noise_crossed, noise_square = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(cuda.blockIdx.x * rows + thread // G, d + 1, cuda.gridDim.x * rows):
        if active:
            total = -float64(g[j, p])
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
        own = crossed
        if number == 1:
            own = square
        elif number == 2:
            own = at_mean
        elif number == 3:
            own = noise_crossed
        elif number == 4:
            own = noise_square
        buffer[thread] = own
        add_lanes(buffer, G, rows)
        if thread < G and active:
            sums[cuda.blockIdx.x, number, p] = buffer[thread]
        cuda.syncthreads()


@kernel
def set_shift(columns, along, direction, fit_intercept, shift):
    """What the direction adds to u, c and q of every row: the intercept, and additive noise."""
    place = cuda.blockIdx.x * THREADS + cuda.threadIdx.x
    if place < columns.size:
        p = columns[place]
        last = direction.shape[0] - 1
        shift[0, p] = direction[last, p] - along[2, p] if fit_intercept else 0.0
        shift[1, p] = along[3, p]
        shift[2, p] = along[4, p]


@kernel
def move(columns, G, steps, direction, theta):
    """θ += step · d."""
    thread = cuda.threadIdx.x
    place = cuda.blockIdx.y * G + thread % G
    rows = THREADS // G
    if place >= columns.size:
        return
    p = columns[place]
    for j in range(cuda.blockIdx.x * rows + thread // G, theta.shape[0], cuda.gridDim.x * rows):
        theta[j, p] += steps[p] * direction[j, p]


@kernel
def complete_gradient(
    columns, G, by_rows, fit_intercept, theta, l2, l2_weights, column_of_l2, mean, column_of_mean,
    absolute, block_of, gradient,
):  # fmt: skip
    """∂/∂β - x̄ ∂/∂b + λβ, given ∂/∂β of the rows, and ∂/∂b in the last place.

    ``by_rows`` are the sums of ``row_loops.evaluate``; additive noise adds 2 · absolute · Σ ∂f/∂s² · β.
    """
    thread = cuda.threadIdx.x
    place = cuda.blockIdx.y * G + thread % G
    rows = THREADS // G
    if place >= columns.size:
        return
    p = columns[place]
    d = mean.shape[0]
    slope = by_rows[2, p] if fit_intercept else 0.0
    for j in range(cuda.blockIdx.x * rows + thread // G, d + 1, cuda.gridDim.x * rows):
        if j == d:
            gradient[j, p] = slope
        else:
            factor = l2[p] * l2_weights[j, column_of_l2[p]]
            factor += 2.0 * absolute[block_of[j], p] * by_rows[3, p]
            gradient[j, p] += factor * theta[j, p] - slope * mean[j, column_of_mean[p]]


@kernel
def complete_diagonal(
    columns, G, by_rows, fit_intercept, l2, l2_weights, column_of_l2, mean, column_of_mean,
    absolute, block_of, linear, tiny, inverse,
):  # fmt: skip
    """P⁻¹, the inverse of Σ p (x - x̄)² + ρ q x² + absolute · Σ q + λ.

    ``inverse`` comes as Σ (p + ρ q) x², ``linear`` is Σ p x; ``by_rows`` has Σ p and Σ q. A feature without a
    row of positive weight may have no curvature; any positive number will do.
    """
    thread = cuda.threadIdx.x
    place = cuda.blockIdx.y * G + thread % G
    rows = THREADS // G
    if place >= columns.size:
        return
    p = columns[place]
    d = mean.shape[0]
    total = by_rows[0, p] if fit_intercept else 0.0
    for j in range(cuda.blockIdx.x * rows + thread // G, d + 1, cuda.gridDim.x * rows):
        curvature = total
        if j < d:
            m = float64(mean[j, column_of_mean[p]])
            spread = max(inverse[j, p] - 2.0 * m * linear[j, p] + m * m * total, 0.0)
            fixed = l2[p] * l2_weights[j, column_of_l2[p]] + absolute[block_of[j], p] * by_rows[1, p]
            curvature = spread + fixed
        inverse[j, p] = 1.0 / curvature if curvature > tiny else 1.0


@kernel
def multiply(columns, G, pairs, steps, s, y, inverse, g, old, direction, sums):
    """s_i·g and y_i·P⁻¹g of pairs[0] pairs, g·P⁻¹g, and s·y and y·P⁻¹y of the new pair.

    If pairs[1] is not negative, s = step · direction and y = g - old of that pair are set first, and ``old``
    becomes g.
    """
    buffer = cuda.shared.array(THREADS, float64)
    own = cuda.local.array(PRODUCTS, float64)
    thread = cuda.threadIdx.x
    place = cuda.blockIdx.y * G + thread % G
    rows = THREADS // G
    p = columns[min(place, columns.size - 1)]
    active = place < columns.size
    count, slot = pairs[0], pairs[1]
    for number in range(PRODUCTS):
        own[number] = 0.0
    for j in range(cuda.blockIdx.x * rows + thread // G, g.shape[0], cuda.gridDim.x * rows):
        if active:
            gradient = float64(g[j, p])
            scaled = inverse[j, p] * gradient
            own[2 * MEMORY] += scaled * gradient
            if slot >= 0:
                s[slot, j, p] = steps[p] * direction[j, p]
                y[slot, j, p] = gradient - old[j, p]
                old[j, p] = g[j, p]
                change = float64(y[slot, j, p])
                own[2 * MEMORY + 1] += s[slot, j, p] * change
                own[2 * MEMORY + 2] += change * change * inverse[j, p]
            for i in range(MEMORY):
                if i < count:
                    own[i] += s[i, j, p] * gradient
                    own[MEMORY + i] += y[i, j, p] * scaled
    for number in range(PRODUCTS):
        buffer[thread] = own[number]
        add_lanes(buffer, G, rows)
        if thread < G and active:
            sums[cuda.blockIdx.x, number, p] = buffer[thread]
        cuda.syncthreads()


@kernel
def square(columns, G, pairs, y, inverse, sums):
    """y_i·P⁻¹y_k of all pairs; the third dimension of the grid is i."""
    buffer = cuda.shared.array(THREADS, float64)
    own = cuda.local.array(MEMORY, float64)
    thread, i = cuda.threadIdx.x, cuda.blockIdx.z
    place = cuda.blockIdx.y * G + thread % G
    rows = THREADS // G
    p = columns[min(place, columns.size - 1)]
    active = place < columns.size
    count = pairs[0]
    if i >= count:
        return
    for k in range(MEMORY):
        own[k] = 0.0
    for j in range(cuda.blockIdx.x * rows + thread // G, y.shape[1], cuda.gridDim.x * rows):
        if active:
            scaled = float64(inverse[j, p]) * y[i, j, p]
            for k in range(MEMORY):
                if k < count:
                    own[k] += scaled * y[k, j, p]
    for k in range(MEMORY):
        buffer[thread] = own[k]
        add_lanes(buffer, G, rows)
        if thread < G and active:
            sums[cuda.blockIdx.x, i * MEMORY + k, p] = buffer[thread]
        cuda.syncthreads()
