"""The rows of multinomial models, whose K classes are neighbouring columns.

    f_i = w_i (A(η_i) - Σ_k y_ik η_ik) + π_i r_i,     A(η) = log Σ_k e^{η_k}

As in ``row_loops``, but a column is a class: a thread has a row and a class, and adds the share of the class
in f_i; A belongs to the first. For noised copies of rows r is A; for rows that have copies, -A - Σ_k p_k m_k
with the drifts m_k in the place of s². There is no other penalty.
"""

import math

from numba import cuda, float64

from dropglm.cuda.row_loops import COPY, ROW, SUMS
from dropglm.cuda.runtime import THREADS, kernel
from dropglm.cuda.threads import SUMMED, problem_of, put_sums


@cuda.jit(device=True)
def log_partition(at, i, first, classes):
    """Return A of a row, given η, and the column of the first class."""
    top = first
    for k in range(first + 1, first + classes):
        if at[0, i, k] > at[0, i, top]:
            top = k
    total = 0.0
    for k in range(first, first + classes):
        if k != top:
            total += math.exp(at[0, i, k] - at[0, i, top])
    return at[0, i, top] + math.log1p(total)


@kernel
def advance(columns, g, steps, along, intercepts, here, ray, end):
    """Set η and the drift at the end of the step."""
    thread = cuda.threadIdx.x
    p = problem_of(columns, g)
    if p < 0 or math.isnan(steps[p]):
        return
    step, shift = steps[p], intercepts[p] - along[2, p]
    rows = THREADS >> g
    for i in range(cuda.blockIdx.x * rows + (thread >> g), here.shape[1], cuda.gridDim.x * rows):
        end[0, i, p] = here[0, i, p] + step * (ray[0, i, p] + shift)
        end[1, i, p] = here[1, i, p] + step * 2.0 * ray[1, i, p]


@kernel
def evaluate(
    columns, g, classes, penalty, steps, along, intercepts, ray,
    y, w, pi, places, share, end, by_eta, by_drift, first, sums,
):  # fmt: skip
    """Set the slopes at the end of the step, and the sums of each block of rows, as in ``row_loops``."""
    if columns[cuda.blockIdx.y << g] < 0:
        return
    buffer = cuda.shared.array((SUMMED, THREADS), float64)
    totals = cuda.local.array(SUMS, float64)
    thread = cuda.threadIdx.x
    own = problem_of(columns, g)
    p = max(own, 0)
    first_class = p - p % classes
    step, weight, shift = steps[p], share[p], intercepts[p] - along[2, p]
    active = own >= 0 and not math.isnan(step)
    value, slope, sum_eta = 0.0, 0.0, 0.0
    stop = end.shape[1] if active else 0
    rows = THREADS >> g
    for i in range(cuda.blockIdx.x * rows + (thread >> g), stop, cuda.gridDim.x * rows):
        A = log_partition(end, i, first_class, classes)
        eta_i, drift = end[0, i, p], end[1, i, p]
        A1 = math.exp(eta_i - A)
        y_i, w_i, pi_i = y[i, places[0, p]], w[i, places[1, p]], weight * pi[i, places[2, p]]
        A_share = A if p == first_class else 0.0
        r, r_eta, r_drift = 0.0, 0.0, 0.0
        if penalty == COPY:
            r, r_eta = A_share, A1
        if penalty == ROW:
            mean = 0.0
            for k in range(first_class, first_class + classes):
                mean += math.exp(end[0, i, k] - A) * end[1, i, k]
            r, r_eta, r_drift = -A_share - A1 * drift, -A1 - A1 * (drift - mean), -A1
        r_i = w_i * (A1 - y_i) + pi_i * r_eta
        q_i = pi_i * r_drift
        value += w_i * (A_share - y_i * eta_i) + pi_i * r
        slope += r_i * (ray[0, i, p] + shift) + q_i * 2.0 * ray[1, i, p]
        sum_eta += r_i
        by_eta[i, p] = r_i
        by_drift[i, p] = q_i
    totals[0], totals[1], totals[2], totals[3] = value, slope, sum_eta, 0.0
    put_sums(buffer, totals, SUMS, g, p, active, first + cuda.blockIdx.x, 0, sums)


@kernel
def curvatures(columns, g, classes, here, w, pi, places, share, relative, loss, both, first, sums):
    """Set w p (1 - p) and (w + ρ π) p (1 - p) of each row and class, and sum, as in ``row_loops``."""
    if columns[cuda.blockIdx.y << g] < 0:
        return
    buffer = cuda.shared.array((SUMMED, THREADS), float64)
    totals = cuda.local.array(2, float64)
    thread = cuda.threadIdx.x
    own = problem_of(columns, g)
    p = max(own, 0)
    sum_loss, sum_penalty = 0.0, 0.0
    stop = here.shape[1] if own >= 0 else 0
    rows = THREADS >> g
    for i in range(cuda.blockIdx.x * rows + (thread >> g), stop, cuda.gridDim.x * rows):
        A1 = math.exp(here[0, i, p] - log_partition(here, i, p - p % classes, classes))
        A2 = A1 * (1.0 - A1)
        by_loss, by_penalty = w[i, places[1, p]] * A2, share[p] * pi[i, places[2, p]] * A2
        loss[i, p] = by_loss
        both[i, p] = by_loss + relative[p] * by_penalty
        sum_loss += by_loss
        sum_penalty += by_penalty
    totals[0], totals[1] = sum_loss, sum_penalty
    put_sums(buffer, totals, 2, g, p, own >= 0, first + cuda.blockIdx.x, 0, sums)
