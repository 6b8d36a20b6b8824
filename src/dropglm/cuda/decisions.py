"""What L-BFGS decides between the loops, for each problem: on steps, pairs and the next direction.

The rules are those of ``solvers/line_search.py`` and ``solvers/memory.py``, compiled for the GPU: one thread
or block decides for one problem. So the host waits only once in an iteration, to see who has converged.
"""

import math

import numpy as np
from numba import cuda, float64, int64

from dropglm.cuda.runtime import THREADS, kernel
from dropglm.cuda.vector_loops import MEMORY, NO_PAIR, NOTHING_NEW, SG, SY, YG, YY, A, E
from dropglm.solvers.line_search import MAX_TRIALS, Trial, narrow
from dropglm.solvers.memory import solve as solve_on_cpu

# Rows of ``point``: the value at the current point, the slope along the next direction, Σ λβ², b,
# √(gᵀHg / 2f), g·P⁻¹g, the step that led there, the number of iterations, whether no step descends, and
# whether the problem has moved in this round.
VALUE, SLOPE, L2_NORM, INTERCEPT, NORM, GG, STEP, ITERATIONS, STALLED, MOVED = range(10)
POINT = 10
# Rows of ``trial``: step, value and slope of the longest step known to be too short and of the shortest too
# long, the number of trials, whether the next one is taken in any case, and the value at the last one.
LOW, HIGH, TRIALS, LAST, TRIED_VALUE = 0, 3, 6, 7, 8
TRIAL = 9

SMALLEST = float(np.finfo(np.float64).tiny)

solve = cuda.jit(device=True)(solve_on_cpu.py_func)


@kernel
def judge(columns, curvature, memory, constant, along, by_rows, pairs, point, trial, steps, taken, slot):
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
def aim(p, tol, min_iter, max_iter, memory, pairs, usable, sy, yy, sg, yg, a, e, scale, point, trial, steps):
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
    point[NORM, p] = math.sqrt(max(point[GG, p], -slope) / (2.0 * max(value, SMALLEST)))
    trial[LOW, p], trial[LOW + 1, p], trial[LOW + 2, p] = 0.0, value, slope
    trial[HIGH, p], trial[HIGH + 1, p], trial[HIGH + 2, p] = math.inf, value, slope
    trial[TRIALS, p], trial[LAST, p] = 0.0, 0.0
    n_iter = point[ITERATIONS, p]
    waits = (point[NORM, p] <= tol and n_iter >= min_iter) or n_iter >= max_iter
    steps[p] = math.nan if waits else 1.0


@kernel
def turn(
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
            s_y, y_y = own_sy[new, new], own_yy[new, new]
            usable[p, new] = s_y > 0.0 and y_y > 0.0 and math.isfinite(s_y / y_y)
            pairs[p] += 1
        if renews or new > NOTHING_NEW:
            point[GG, p] = multiplied[2 * MEMORY, p]
            aim(
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
