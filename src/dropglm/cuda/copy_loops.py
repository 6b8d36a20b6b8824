"""The penalty of rows with noised copies: its value at a step along a ray, and its derivatives.

    π_i/S Σ_s A(η̃_is) - A(η_i) - A'(η_i) (η̃_is - η_i)

as in ``dropglm.penalties.monte_carlo``. A thread has a row and a problem, and all S copies of the row, which
follow each other. These loops come after those of the rows themselves, whose slopes they add to. Differences
are formed before sums: A(η̃) and A(η) are close, and so are their derivatives.
"""

import math

from numba import cuda, float64

from dropglm.cuda.row_loops import SUMS, family_at, log_partition
from dropglm.cuda.runtime import THREADS, kernel
from dropglm.cuda.threads import SUMMED, problem_of, put_sums


@kernel
def evaluate(
    columns, g, family, n_samples, steps, along, intercepts, ray, here_copies, ray_copies,
    pi, places, share, end, end_copies, by_eta, by_copies, first, sums,
):  # fmt: skip
    """Set η̃ at the end of the step and the slopes of copies, add to those of rows, and sum.

    ``end`` and ``ray`` are those of the rows. The sums are those of ``row_loops.evaluate``, from ``first``
    on.
    """
    if columns[cuda.blockIdx.y << g] < 0:
        return
    buffer = cuda.shared.array((SUMMED, THREADS), float64)
    totals = cuda.local.array(SUMS, float64)
    thread = cuda.threadIdx.x
    own = problem_of(columns, g)
    p = max(own, 0)
    step, shift = steps[p], intercepts[p] - along[2, p]
    active = own >= 0 and not math.isnan(step)
    value, slope, sum_eta = 0.0, 0.0, 0.0
    stop = end.shape[1] if active else 0
    rows = THREADS >> g
    for i in range(cuda.blockIdx.x * rows + (thread >> g), stop, cuda.gridDim.x * rows):
        weight = share[p] * pi[i, places[2, p]] / n_samples
        eta = end[0, i, p]
        A, A1, A2, _ = family_at(family, eta)
        drift, residuals = 0.0, 0.0
        for copy in range(i * n_samples, (i + 1) * n_samples):
            u = ray_copies[0, copy, p] + shift
            noised = here_copies[0, copy, p] + step * u
            B, B1, _, _ = family_at(family, noised)
            residual = weight * (B1 - A1)
            value += weight * (B - A - A1 * (noised - eta))
            slope += residual * u
            drift += noised - eta
            residuals += residual
            end_copies[0, copy, p] = noised
            by_copies[copy, p] = residual
        correction = -weight * A2 * drift
        slope += correction * (ray[0, i, p] + shift)
        sum_eta += residuals + correction
        by_eta[i, p] += correction
    totals[0], totals[1], totals[2], totals[3] = value, slope, sum_eta, 0.0
    put_sums(buffer, totals, SUMS, g, p, active, first + cuda.blockIdx.x, 0, sums)


@kernel
def evaluate_classes(
    columns, g, classes, n_samples, steps, along, intercepts, ray, ray_copies,
    pi, places, share, end, end_copies, by_eta, by_copies, first, sums,
):  # fmt: skip
    """Do the same for the classes of multinomial models, after ``class_loops.advance`` has set η̃.

    The thread of the first class adds A. The derivative of Σ_k A'_k m_k by η is A'' m, or
    p_k (m_k - Σ_l p_l m_l), where m is the sum of η̃ - η over the copies.
    """
    if columns[cuda.blockIdx.y << g] < 0:
        return
    buffer = cuda.shared.array((SUMMED, THREADS), float64)
    totals = cuda.local.array(SUMS, float64)
    thread = cuda.threadIdx.x
    own = problem_of(columns, g)
    p = max(own, 0)
    first_class = p - p % classes
    step, shift = steps[p], intercepts[p] - along[2, p]
    active = own >= 0 and not math.isnan(step)
    value, slope, sum_eta = 0.0, 0.0, 0.0
    stop = end.shape[1] if active else 0
    rows = THREADS >> g
    for i in range(cuda.blockIdx.x * rows + (thread >> g), stop, cuda.gridDim.x * rows):
        weight = share[p] * pi[i, places[2, p]] / n_samples
        eta = end[0, i, p]
        A = log_partition(end, i, first_class, classes)
        A1 = math.exp(eta - A)
        drift, residuals = 0.0, 0.0
        for copy in range(i * n_samples, (i + 1) * n_samples):
            noised = end_copies[0, copy, p]
            B = log_partition(end_copies, copy, first_class, classes)
            residual = weight * (math.exp(noised - B) - A1)
            value += weight * ((B - A if p == first_class else 0.0) - A1 * (noised - eta))
            slope += residual * (ray_copies[0, copy, p] + shift)
            drift += noised - eta
            residuals += residual
            by_copies[copy, p] = residual
        mean_drift = 0.0
        for k in range(first_class, first_class + classes):
            of_class = 0.0
            for copy in range(i * n_samples, (i + 1) * n_samples):
                of_class += end_copies[0, copy, k] - end[0, i, k]
            mean_drift += math.exp(end[0, i, k] - A) * of_class
        correction = -weight * A1 * (drift - mean_drift)
        slope += correction * (ray[0, i, p] + shift)
        sum_eta += residuals + correction
        by_eta[i, p] += correction
    totals[0], totals[1], totals[2], totals[3] = value, slope, sum_eta, 0.0
    put_sums(buffer, totals, SUMS, g, p, active, first + cuda.blockIdx.x, 0, sums)
