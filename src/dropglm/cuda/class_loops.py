"""The rows of multinomial models, whose K classes are neighbouring columns.

    f_i = w_i (A(η_i) - Σ_k y_ik η_ik),     A(η) = log Σ_k e^{η_k}

As in ``row_loops``, but a column is a class: a thread has a row and a class, and sums the terms of f_i with
this class; the thread of the first class also adds A. The only penalty is that by Monte Carlo, which
``copy_loops`` adds.
"""

import math

from numba import cuda, float64

from dropglm.cuda.row_loops import SUMS, log_partition
from dropglm.cuda.runtime import THREADS, kernel
from dropglm.cuda.threads import SUMMED, problem_of, put_sums


@kernel
def advance(columns, g, steps, along, intercepts, here, ray, end):
    """Set η at the end of the step."""
    thread = cuda.threadIdx.x
    p = problem_of(columns, g)
    if p < 0 or math.isnan(steps[p]):
        return
    step, shift = steps[p], intercepts[p] - along[2, p]
    rows = THREADS >> g
    for i in range(cuda.blockIdx.x * rows + (thread >> g), here.shape[1], cuda.gridDim.x * rows):
        end[0, i, p] = here[0, i, p] + step * (ray[0, i, p] + shift)


@kernel
def evaluate(
    columns, g, classes, steps, along, intercepts, ray, y, w, places, end, by_eta, by_s2, first, sums,
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
    step, shift = steps[p], intercepts[p] - along[2, p]
    active = own >= 0 and not math.isnan(step)
    value, slope, sum_eta = 0.0, 0.0, 0.0
    stop = end.shape[1] if active else 0
    rows = THREADS >> g
    for i in range(cuda.blockIdx.x * rows + (thread >> g), stop, cuda.gridDim.x * rows):
        A = log_partition(end, i, first_class, classes)
        eta_i, y_i, w_i = end[0, i, p], y[i, places[0, p]], w[i, places[1, p]]
        r_i = w_i * (math.exp(eta_i - A) - y_i)
        value += w_i * ((A if p == first_class else 0.0) - y_i * eta_i)
        slope += r_i * (ray[0, i, p] + shift)
        sum_eta += r_i
        by_eta[i, p] = r_i
        by_s2[i, p] = 0.0  # the curvature may have been there
    totals[0], totals[1], totals[2], totals[3] = value, slope, sum_eta, 0.0
    put_sums(buffer, totals, SUMS, g, p, active, first + cuda.blockIdx.x, 0, sums)
