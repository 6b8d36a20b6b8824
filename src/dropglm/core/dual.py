"""Dual coordinate steps: a start near the minimum, for logistic regression on wide sparse rows.

At the minimum of Σ_i f_i(η_i, s²_i) + ½ Σ_j λ_j β_j², with s² = Σ_j ρ_j x_j² β_j², the gradient vanishes: ::

    β_j = -G_j / D_j,     G_j = Σ_i x_ij r_i,     D_j = λ_j + 2 ρ_j Σ_i x_ij² q_i,

where r_i and q_i are the derivatives of f_i with respect to η_i and s²_i. So two numbers per row determine
all coefficients. A step changes those of one row: it solves ::

    r_i = ∂f_i/∂η at η_i - h_i (r_i - r_i before),     h_i = Σ_j x_ij² / D_j,

which takes into account that a row's own r_i moves its η_i, and then updates q_i, G and D. Without noise D is
λ, and this is dual coordinate ascent (Yu, Huang and Lin 2011), as liblinear does it; noise adds q.

A pass over the rows takes as long as two to three passes of L-BFGS on one thread and leaves a tenth of the
gap to the minimum, on texts: 5 or 6 of them leave a relative gap of 1e-4 on IMDB's bigrams, for which L-BFGS
passes over the rows 60 times. L-BFGS continues from there, and decides when to stop. A step needs the
coefficients after the previous one, so rows in partitions and on a GPU do without.

The intercept b has no penalty, so it has no D. It is held near its last value by ½ κ (b - b_last)² during a
pass, and b_last becomes b after it.

The steps start from r = q = 0, that is β = 0. With r and q of the solution with ten times the l2 they would
be further from the minimum after each pass.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from dropglm.core.design import AnyDesign
from dropglm.core.design.storage import column, entries_before, span, value
from dropglm.core.families import Family, Logistic
from dropglm.core.maths.compile import fused_kernel, summing_kernel
from dropglm.core.maths.softplus import noised_mean, softplus
from dropglm.core.noise import NO_NOISE
from dropglm.core.objective import Coefficients, RowTerm
from dropglm.core.penalties import Penalty
from dropglm.core.penalties.closed_forms import GaussianLogistic

# With fewer entries, L-BFGS takes a few hundredths of a second.
FEWEST_ENTRIES = 1 << 19
MAX_PASSES = 20
# Further passes do not pay once a pass changes the rows by more than this share of what the last one did.
SLOW = 0.5
# If the last pass changed the objective by more than this share, the steps do not converge, as with tiny l2:
# the share was 1 or more there, and at most 5e-4 elsewhere.
NEAR = 0.1
# A pass leaves out rows that the last one changed by less than this share of the mean.
SMALL = 0.02
# κ as a share of the curvature of the loss, Σ 2 q_i.
INTERCEPT = 0.01
# The equation of a row is solved if Newton's last step was shorter; the error is about its square.
LAST_STEP = 0.03
MAX_TRIALS = 20

# Columns of ``states``: r and q of each row, and by how much its last step changed the objective.
R, Q, CHANGE = range(3)
# Rows of ``work``: the entries of one row of the features, and G, D and ρ of these features.
X, G, D, RHO = range(4)


class DualSolution(NamedTuple):
    """Coefficients near the minimum, and the number of passes over the rows that led there."""

    coefficients: Coefficients
    passes: int


def has_dual_steps(design: AnyDesign, family: type[Family], penalty: Penalty | None) -> bool:
    """Return whether dual steps can start a fit to these rows, and are likely to pay.

    They do if there are far fewer rows than features, and so many features that their numbers do not fit
    into the cache: with IMDB's 38,500 words, a pass of L-BFGS takes a quarter of the time of one of these.
    """
    noise = NO_NOISE if penalty is None else penalty.noise
    sparse = [block for _, _, block in design.blocks if block.is_sparse]
    return (
        family is Logistic
        and type(penalty) in (GaussianLogistic, type(None))
        and not any(noise.of_block(number).absolute for number, _, _ in design.blocks)
        and len(sparse) == 1
        and sparse[0].is_wide
        and sparse[0].nnz >= FEWEST_ENTRIES
    )


def dual_steps(term: RowTerm, l2: np.ndarray, intercept: float | None, tol: float) -> DualSolution | None:
    """Take dual steps until the objective is likely to be within tol² of its minimum, or progress is slow.

    Parameters
    ----------
    term : RowTerm
        Labelled rows: a sparse block and any number of dense ones.
    l2 : ndarray of shape (d, 1)
        λ.
    intercept : float or None
        The best b for β = 0; None if there is no intercept.
    tol : float
        That of the solver which follows.

    Returns
    -------
    DualSolution or None
        None if a feature has no l2, so that D would be 0 at first, or if the steps do not converge.
    """
    if not l2.min() > 0.0:
        return None
    design, dtype = term.rows.design, l2.dtype
    blocks: list[tuple[Any, slice, float]] = [
        (block, columns, term.noise.of_block(number).relative) for number, columns, block in design.blocks
    ]
    (sparse, columns, rho), *dense = sorted(blocks, key=lambda one: not one[0].is_sparse)
    rows, given = sparse.given_rows, sparse.given_columns
    dense_rows = np.hstack([np.empty((len(term.w), 0), dtype), *(block.rows.values for block, _, _ in dense)])

    # G and D of all sparse features. Those of dense ones are at the front of ``work``, for all rows.
    cells = np.zeros((given.max() + 1, 2), dtype)
    cells[given, 1] = l2[columns, 0]
    k = dense_rows.shape[1]
    work = np.zeros((4, k + int(np.diff(entries_before(rows)).max())), dtype)
    work[RHO, k:] = rho
    places, stop = [], 0
    for block, own, own_rho in dense:
        places.append((own, slice(stop, stop := stop + block.shape[1])))
        work[D, places[-1][1]], work[RHO, places[-1][1]] = l2[own, 0], own_rho

    states = np.zeros((len(term.w), 3))
    b = np.array([intercept or 0.0, 0.0])  # b and 1/κ, which is 0 for a fixed intercept
    if intercept is not None:
        b[1] = 4.0 / (INTERCEPT * term.w.sum())
    weighted, rng = np.flatnonzero(term.w), np.random.default_rng(0)
    some, change, passes, beta = weighted, math.inf, 0, np.empty_like(l2)
    with np.errstate(all="ignore"):
        while passes < MAX_PASSES:
            last, passes = change, passes + 1
            states[:, CHANGE] = math.inf  # rows that this pass leaves out have their turn in the next one
            order, noisy = rng.permutation(some), term.penalty is not None
            change = _take_steps(order, rows, dense_rows, term.y, term.w, noisy, b, states, cells, work)
            # Σ |r_i| = Σ w_i |p_i - y_i| is less than the loss.
            if change <= tol * tol * np.abs(states[:, R]).sum() or not change <= SLOW * last:
                break
            if intercept is not None:
                # b = b_last - Σ r_i / κ, with a new κ and the present b as the last one.
                b[1] = 1.0 / (INTERCEPT * 2.0 * states[:, Q].sum())
                b[0] -= b[1] * states[:, R].sum()
            some = weighted[states[weighted, CHANGE] >= SMALL * change / len(some)]
        beta[columns, 0] = -cells[given, 0] / cells[given, 1]
        for own, place in places:
            beta[own, 0] = -work[G, place] / work[D, place]
        is_near = change <= NEAR * np.abs(states[:, R]).sum()
    if not (is_near and np.isfinite(beta).all() and math.isfinite(b[0])):
        return None
    return DualSolution((beta, b[:1].copy()), passes)


@summing_kernel
def _take_steps(order, rows, dense, y, w, noisy, b, states, cells, work):
    """Take a step for each row, in the given order.

    Returns the sum of ½ h (change of r)², about the change of the objective.
    """
    real, k = cells.dtype.type, dense.shape[1]
    x, g, d, rho = work[X], work[G], work[D], work[RHO]
    total_change = 0.0
    for i in order:
        start, stop = span(rows, i)
        size = k + (stop - start)
        for e in range(k):
            x[e] = dense[i, e]
        for e in range(start, stop):
            j, place = column(rows, e), k + (e - start)
            x[place], g[place], d[place] = value(rows, i, e), cells[j, 0], cells[j, 1]
        eta, s2, h = real(0.0), real(0.0), real(0.0)
        for e in range(size):
            inverse = real(1.0) / d[e]
            z = x[e] * g[e] * inverse
            eta -= z
            s2 += rho[e] * z * z
            h += x[e] * x[e] * inverse
        r, q = states[i, R], states[i, Q]
        h_all = h + b[1]
        p, slope = _mean_after_step(b[0] + eta, h_all, y[i], w[i], r, s2, noisy)
        new_r, new_q = w[i] * (p - y[i]), 0.5 * w[i] * slope
        change, change_of_d = real(new_r - r), real(2.0 * (new_q - q))
        states[i, R], states[i, Q] = new_r, new_q
        b[0] -= b[1] * (new_r - r)
        for e in range(size):
            g[e] += x[e] * change
            d[e] += rho[e] * x[e] * x[e] * change_of_d
        for e in range(start, stop):
            j, place = column(rows, e), k + (e - start)
            cells[j, 0], cells[j, 1] = g[place], d[place]
        states[i, CHANGE] = 0.5 * h_all * (new_r - r) ** 2
        total_change += states[i, CHANGE]
    return total_change


@fused_kernel
def _mean_after_step(eta, h, y, w, r, s2, noisy):
    """P(z) and P'(z) for the solution z of z = η - h (w (P(z) - y) - r), where P is the mean of y.

    P is convex below 0 and concave above, so Newton's method goes towards the solution from between it and 0.
    """
    goal, factor = eta + h * (r + w * y), h * w  # z + h w P(z) = goal
    if goal < 0.5 * factor:
        low, high = goal - factor, min(goal, 0.0)
    else:
        low, high = max(goal - factor, 0.0), goal
    z = min(max(eta, low), high)
    p, slope = _mean(z, s2, noisy)
    for _ in range(MAX_TRIALS):
        last, z = z, min(max(z - (z + factor * p - goal) / (1.0 + factor * slope), low), high)
        p, slope = _mean(z, s2, noisy)
        if abs(z - last) < LAST_STEP:
            break
    return p, slope


@fused_kernel
def _mean(eta, s2, noisy):
    """E σ(N(η, s²)) and its derivative with respect to η."""
    if noisy:
        return noised_mean(eta, s2)
    _, p, slope = softplus(eta)
    return p, slope
