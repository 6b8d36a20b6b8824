"""The rows of P problems: the value of f at a step along a ray, its derivatives, and its curvature.

    f_i = w_i (A(η_i) - y_i η_i) + π_i r(η_i, s²_i)

A problem has a column of weights, of penalty weights and of labels; problems of the same fold or class share
theirs. Families and penalties are chosen by their number, so that one compiled kernel serves all.
"""

import math

from numba import cuda, float64

from dropglm.cuda.runtime import THREADS, kernel
from dropglm.cuda.threads import SUMMED, problem_of, put_sums
from dropglm.families import pointwise as families
from dropglm.penalties import pointwise as penalties

logistic, linear, poisson = families.logistic, families.linear, families.poisson
quadratic, gaussian_logistic = penalties.quadratic, penalties.gaussian_logistic
gaussian_poisson = penalties.gaussian_poisson

# Numbers of the families and penalties in kernels; 0 means no penalty.
FAMILY = {family: number for number, family in enumerate(families.POINTWISE)}
PENALTY = {penalty: number for number, penalty in enumerate(penalties.POINTWISE, start=1)}

# What ``evaluate`` sums over the rows: f, its derivative with respect to the step, ∂f/∂η and ∂f/∂s².
SUMS = 4


@cuda.jit(device=True)
def family_at(family, eta):
    """A, A', A'' and A'''."""
    if family == 0:
        return logistic(eta)
    if family == 1:
        return linear(eta)
    return poisson(eta)


@cuda.jit(device=True)
def log_partition(at, i, first, classes):
    """Return A of a row of a multinomial model, given η, and the column of the first class."""
    top = first
    for k in range(first + 1, first + classes):
        if at[0, i, k] > at[0, i, top]:
            top = k
    total = 0.0
    for k in range(first, first + classes):
        if k != top:
            total += math.exp(at[0, i, k] - at[0, i, top])
    return at[0, i, top] + math.log1p(total)


@cuda.jit(device=True)
def variance_at(family, classes, at, i, p):
    """A'' of a row; of a class of a multinomial model, p_k (1 - p_k)."""
    if classes > 1:
        A1 = math.exp(at[0, i, p] - log_partition(at, i, p - p % classes, classes))
        return A1 * (1.0 - A1)
    _, _, A2, _ = family_at(family, at[0, i, p])
    return A2


@cuda.jit(device=True)
def penalty_at(penalty, eta, s2, A2, A3):
    """Return r and its derivatives with respect to η and s²."""
    if penalty == 1:
        return quadratic(eta, s2, A2, A3)
    if penalty == 2:
        return gaussian_logistic(eta, s2, A2, A3)
    if penalty == 3:
        return gaussian_poisson(eta, s2, A2, A3)
    return 0.0, 0.0, 0.0


@kernel
def evaluate(
    columns, g, family, penalty, steps, along, intercepts, here, ray,
    y, w, pi, places, share, end, by_eta, by_s2, first, sums,
):  # fmt: skip
    """Set η and s² at the end of the step, the slopes there, and the sums of each block of rows.

    ``here`` and ``end`` have η and s², ``places`` the columns of a problem's y, w and π.
    ``along`` has the sums of ``vector_loops.combine`` and ``intercepts`` the last row of the direction: what
    the intercept and additive noise add to all rows of the ray. The sums are those from ``first`` on.
    Problems whose step is NaN are left alone.
    """
    if columns[cuda.blockIdx.y << g] < 0:
        return
    buffer = cuda.shared.array((SUMMED, THREADS), float64)
    totals = cuda.local.array(SUMS, float64)
    thread = cuda.threadIdx.x
    own = problem_of(columns, g)
    p = max(own, 0)
    step, weight = steps[p], share[p]
    active = own >= 0 and not math.isnan(step)
    shift_u, shift_c, shift_q = intercepts[p] - along[2, p], along[3, p], along[4, p]
    value, slope, sum_eta, sum_s2 = 0.0, 0.0, 0.0, 0.0
    stop = here.shape[1] if active else 0
    rows = THREADS >> g
    for i in range(cuda.blockIdx.x * rows + (thread >> g), stop, cuda.gridDim.x * rows):
        u, c, q = ray[0, i, p] + shift_u, ray[1, i, p] + shift_c, ray[2, i, p] + shift_q
        eta_i = here[0, i, p] + step * u
        # Rounding could make s² slightly negative where coefficients vanish.
        s2_i = max(here[1, i, p] + step * (2.0 * c + step * q), 0.0)
        y_i, w_i, pi_i = y[i, places[0, p]], w[i, places[1, p]], weight * pi[i, places[2, p]]
        A, A1, A2, A3 = family_at(family, eta_i)
        r, r_eta, r_s2 = penalty_at(penalty, eta_i, s2_i, A2, A3)
        r_i = w_i * (A1 - y_i) + pi_i * r_eta
        q_i = pi_i * r_s2
        value += w_i * (A - y_i * eta_i) + pi_i * r
        slope += r_i * u + q_i * 2.0 * (c + step * q)
        sum_eta += r_i
        sum_s2 += q_i
        end[0, i, p] = eta_i
        end[1, i, p] = s2_i
        by_eta[i, p] = r_i
        by_s2[i, p] = q_i
    totals[0], totals[1], totals[2], totals[3] = value, slope, sum_eta, sum_s2
    put_sums(buffer, totals, SUMS, g, p, active, first + cuda.blockIdx.x, 0, sums)


@kernel
def curvatures(columns, g, family, classes, here, w, pi, places, share, loss, penalty, first, sums):
    """Set w A'' and π A'' of each row, and their sums over each block of rows."""
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
        A2 = variance_at(family, classes, here, i, p)
        loss[i, p] = w[i, places[1, p]] * A2
        penalty[i, p] = share[p] * pi[i, places[2, p]] * A2
        # As they were stored, so that sums over all rows that have a feature are the same.
        sum_loss += loss[i, p]
        sum_penalty += penalty[i, p]
    totals[0], totals[1] = sum_loss, sum_penalty
    put_sums(buffer, totals, 2, g, p, own >= 0, first + cuda.blockIdx.x, 0, sums)


@kernel
def accept(columns, g, taken, end, here):
    """Let the ends of the steps become the points of the problems that take one."""
    thread = cuda.threadIdx.x
    p = problem_of(columns, g)
    if p < 0 or taken[p] == 0.0:
        return
    rows = THREADS >> g
    for i in range(cuda.blockIdx.x * rows + (thread >> g), here.shape[1], cuda.gridDim.x * rows):
        for number in range(here.shape[0]):
            here[number, i, p] = end[number, i, p]
