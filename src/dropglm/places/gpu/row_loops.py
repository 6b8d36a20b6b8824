"""The rows of P problems: the value of f at a step along a ray, its derivatives, and its curvature.

    f_i = w_i (A(η_i) - y_i η_i) + π_i r(η_i, s²_i)

A problem has a column of weights, of penalty weights and of labels; problems of the same fold or class share
theirs. Families and penalties are chosen by their number, so that one compiled kernel serves all.

The K classes of a multinomial model are neighbouring columns. A thread has a row and a class, and sums the
terms of f_i = w_i (A(η_i) - Σ_k y_ik η_ik) with this class; the thread of the first class also adds
A(η) = log Σ_k e^{η_k}. The only penalty is that by Monte Carlo, which ``evaluate_copies`` adds.
"""

import math

from numba import cuda, float64

from dropglm.core import families
from dropglm.core.penalties import POINTWISE_PENALTIES
from dropglm.places.gpu.runtime import kernel
from dropglm.places.gpu.threads import items, no_problem, problem_of, put_sums

logistic, linear, poisson = families.logistic, families.linear, families.poisson
quadratic, gaussian_logistic, gaussian_poisson = POINTWISE_PENALTIES.values()

# Numbers of the families and penalties in kernels; 0 means no penalty.
FAMILY = {family: number for number, family in enumerate(families.POINTWISE_FAMILIES)}
PENALTY = {penalty: number for number, penalty in enumerate(POINTWISE_PENALTIES, start=1)}

# What ``evaluate`` sums over the rows: f, its derivative with respect to the step, ∂f/∂η and ∂f/∂s².
SUMS = 4


@cuda.jit(device=True)
def family_at(family, classes, eta, at, i, p):
    """A, A', A'' and A''' of a row.

    Of a class of a multinomial model, p_k and p_k (1 - p_k), and A only for the first one; ``at`` has η of
    all classes.
    """
    if classes > 1:
        A = log_partition(at, i, p - p % classes, classes)
        A1 = math.exp(eta - A)
        return A if p % classes == 0 else 0.0, A1, A1 * (1.0 - A1), 0.0
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
def advance(columns, g, steps, along, intercepts, here, ray, end):
    """Set η at the end of the step, for the classes of multinomial models: all of them need it at once."""
    p = problem_of(columns, g)
    if p < 0 or math.isnan(steps[p]):
        return
    step, shift = steps[p], intercepts[p] - along[2, p]
    start, distance = items(g)
    for i in range(start, here.shape[1], distance):
        end[0, i, p] = here[0, i, p] + step * (ray[0, i, p] + shift)


@cuda.jit(device=True)
def eta_at_end(classes, step, u, here, end, i, p):
    """Return η at the end of the step, after setting it unless ``advance`` has."""
    if classes == 1:
        end[0, i, p] = here[0, i, p] + step * u
    return end[0, i, p]


@kernel
def evaluate(
    columns, g, family, classes, penalty, steps, along, intercepts, here, ray,
    y, w, pi, places, share, end, by_eta, by_s2, first, sums,
):  # fmt: skip
    """Set η and s² at the end of the step, the slopes there, and the sums of each block of rows.

    ``here`` and ``end`` have η and s², ``places`` the columns of a problem's y, w and π.
    ``along`` has the sums of ``lbfgs_loops.combine`` and ``intercepts`` the last row of the direction: what
    the intercept and additive noise add to all rows of the ray. The sums are those from ``first`` on.
    Problems whose step is NaN are left alone.
    """
    if no_problem(columns, g):
        return
    totals = cuda.local.array(SUMS, float64)
    own = problem_of(columns, g)
    p = max(own, 0)
    step, weight = steps[p], share[p]
    active = own >= 0 and not math.isnan(step)
    shift_u, shift_c, shift_q = intercepts[p] - along[2, p], along[3, p], along[4, p]
    value, slope, sum_eta, sum_s2 = 0.0, 0.0, 0.0, 0.0
    start, distance = items(g)
    for i in range(start, here.shape[1] if active else 0, distance):
        u, c, q = ray[0, i, p] + shift_u, ray[1, i, p] + shift_c, ray[2, i, p] + shift_q
        eta_i = eta_at_end(classes, step, u, here, end, i, p)
        # Rounding could make s² slightly negative where coefficients vanish.
        s2_i = max(here[1, i, p] + step * (2.0 * c + step * q), 0.0)
        y_i, w_i, pi_i = y[i, places[0, p]], w[i, places[1, p]], weight * pi[i, places[2, p]]
        A, A1, A2, A3 = family_at(family, classes, eta_i, end, i, p)
        r, r_eta, r_s2 = penalty_at(penalty, eta_i, s2_i, A2, A3)
        r_i = w_i * (A1 - y_i) + pi_i * r_eta
        q_i = pi_i * r_s2
        value += w_i * (A - y_i * eta_i) + pi_i * r
        slope += r_i * u + q_i * 2.0 * (c + step * q)
        sum_eta += r_i
        sum_s2 += q_i
        end[1, i, p] = s2_i
        by_eta[i, p] = r_i
        by_s2[i, p] = q_i
    totals[0], totals[1], totals[2], totals[3] = value, slope, sum_eta, sum_s2
    put_sums(totals, SUMS, g, p, active, first + cuda.blockIdx.x, 0, sums)


@kernel
def evaluate_copies(
    columns, g, family, classes, n_samples, steps, along, intercepts, ray, here_copies, ray_copies,
    pi, places, share, end, end_copies, by_eta, by_copies, first, sums,
):  # fmt: skip
    """Add the penalty of rows with noised copies, after ``evaluate`` has set the slopes of the rows.

        π_i/S Σ_s A(η̃_is) - A(η_i) - A'(η_i) (η̃_is - η_i)

    as in ``dropglm.core.penalties.monte_carlo``. A thread has a row and a problem, and all S copies of the
    row, which follow each other. It sets their η̃ at the end of the step and their slopes, and adds to those
    of the row. Differences are formed before sums: A(η̃) and A(η) are close, and so are their derivatives.
    ``end`` and ``ray`` are those of the rows; the sums are those of ``evaluate``, from ``first`` on.
    """
    if no_problem(columns, g):
        return
    totals = cuda.local.array(SUMS, float64)
    own = problem_of(columns, g)
    p = max(own, 0)
    step, shift = steps[p], intercepts[p] - along[2, p]
    active = own >= 0 and not math.isnan(step)
    value, slope, sum_eta = 0.0, 0.0, 0.0
    start, distance = items(g)
    for i in range(start, end.shape[1] if active else 0, distance):
        weight = share[p] * pi[i, places[2, p]] / n_samples
        eta = end[0, i, p]
        A, A1, A2, _ = family_at(family, classes, eta, end, i, p)
        drift, residuals = 0.0, 0.0
        for copy in range(i * n_samples, (i + 1) * n_samples):
            u = ray_copies[0, copy, p] + shift
            noised = eta_at_end(classes, step, u, here_copies, end_copies, copy, p)
            B, B1, _, _ = family_at(family, classes, noised, end_copies, copy, p)
            residual = weight * (B1 - A1)
            value += weight * (B - A - A1 * (noised - eta))
            slope += residual * u
            drift += noised - eta
            residuals += residual
            by_copies[copy, p] = residual
        correction = -weight * A2 * drift
        if classes > 1:
            # A'' m is p_k (m_k - Σ_l p_l m_l), where m is the drift.
            correction = -weight * A1 * (drift - mean_drift(classes, n_samples, end, end_copies, i, p))
        slope += correction * (ray[0, i, p] + shift)
        sum_eta += residuals + correction
        by_eta[i, p] += correction
    totals[0], totals[1], totals[2], totals[3] = value, slope, sum_eta, 0.0
    put_sums(totals, SUMS, g, p, active, first + cuda.blockIdx.x, 0, sums)


@cuda.jit(device=True)
def mean_drift(classes, n_samples, end, end_copies, i, p):
    """Σ_k p_k m_k over the classes of a row, where m is the sum of η̃ - η over its copies."""
    first = p - p % classes
    A = log_partition(end, i, first, classes)
    total = 0.0
    for k in range(first, first + classes):
        drift = 0.0
        for copy in range(i * n_samples, (i + 1) * n_samples):
            drift += end_copies[0, copy, k] - end[0, i, k]
        total += math.exp(end[0, i, k] - A) * drift
    return total


@kernel
def curvatures(columns, g, family, classes, here, w, pi, places, share, loss, penalty, first, sums):
    """Set w A'' and π A'' of each row, and their sums over each block of rows."""
    if no_problem(columns, g):
        return
    totals = cuda.local.array(2, float64)
    own = problem_of(columns, g)
    p = max(own, 0)
    sum_loss, sum_penalty = 0.0, 0.0
    start, distance = items(g)
    for i in range(start, here.shape[1] if own >= 0 else 0, distance):
        _, _, A2, _ = family_at(family, classes, here[0, i, p], here, i, p)
        loss[i, p] = w[i, places[1, p]] * A2
        penalty[i, p] = share[p] * pi[i, places[2, p]] * A2
        # As they were stored, so that sums over all rows that have a feature are the same.
        sum_loss += loss[i, p]
        sum_penalty += penalty[i, p]
    totals[0], totals[1] = sum_loss, sum_penalty
    put_sums(totals, 2, g, p, own >= 0, first + cuda.blockIdx.x, 0, sums)


@kernel
def accept(columns, g, taken, end, here):
    """Let the ends of the steps become the points of the problems that take one."""
    p = problem_of(columns, g)
    if p < 0 or taken[p] == 0.0:
        return
    start, distance = items(g)
    for i in range(start, here.shape[1], distance):
        for number in range(here.shape[0]):
            here[number, i, p] = end[number, i, p]
