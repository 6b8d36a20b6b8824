"""The loops of ``blend``: the loss of held-out rows and its derivatives by the two factors.

    δ_k = t a_k + c b_k,    loss = -log P(own class) = log Σ_k e^δ_k

a and b are η and ν of a row, less those of its own class. The derivatives by t and c are the means and
covariances of a and b under p_k ∝ e^δ_k. ``sums`` are those over the rows, times weights, of the loss, of
both first and of the three second derivatives.

They replace thirty calls of NumPy, between which threads wait for the interpreter's lock: on two threads, the
blends of a search took longer than on one. With two classes, a row takes 4 ns. Each loop is compiled when it
is first used, in half a second.
"""

import math

import numpy as np

from dropglm.maths.compile import fused_kernel
from dropglm.maths.normal import exp_of_nonpositive
from dropglm.maths.softplus import softplus

BLOCK = 1024  # rows whose derivatives are kept at a time


@fused_kernel
def two_classes(t, c, eta, nu, y, weights, losses, sums):
    """Set the losses of rows, and the sums; η and ν are (n,), those of class 1 less those of class 0."""
    scratch = np.empty((2, BLOCK))
    value, by_t, by_c, by_tt, by_tc, by_cc = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for first in range(0, losses.size, BLOCK):
        # Loops over slices, which start at 0, are vectorised; sums are not, so they have their own.
        last = min(first + BLOCK, losses.size)
        a, b, w, own = eta[first:last], nu[first:last], weights[first:last], losses[first:last]
        y_part, slopes, curvatures = y[first:last], scratch[0], scratch[1]
        for i in range(own.size):
            sign = 1.0 - 2.0 * y_part[i]  # of the other class
            loss, p, variance = softplus(sign * (t * a[i] + c * b[i]))
            own[i], slopes[i], curvatures[i] = loss, w[i] * sign * p, w[i] * variance
        for i in range(own.size):
            value += w[i] * own[i]
            by_t += slopes[i] * a[i]
            by_c += slopes[i] * b[i]
            by_tt += curvatures[i] * a[i] * a[i]
            by_tc += curvatures[i] * a[i] * b[i]
            by_cc += curvatures[i] * b[i] * b[i]
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5] = value, by_t, by_c, by_tt, by_tc, by_cc


@fused_kernel
def several_classes(t, c, eta, nu, y, weights, losses, sums):
    """Set the losses of rows, and the sums; η and ν are (n, K)."""
    e = np.empty(eta.shape[1])
    value, by_t, by_c, by_tt, by_tc, by_cc = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(losses.size):
        eta_i, nu_i, w = eta[i], nu[i], weights[i]
        eta_own, nu_own = eta_i[y[i]], nu_i[y[i]]
        largest = 0.0  # of the row's own class
        for k in range(e.size):
            e[k] = t * (eta_i[k] - eta_own) + c * (nu_i[k] - nu_own)
            largest = max(largest, e[k])
        for k in range(e.size):
            e[k] = exp_of_nonpositive(e[k] - largest)
        partition, mean_a, mean_b, mean_aa, mean_ab, mean_bb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(e.size):
            a, b = eta_i[k] - eta_own, nu_i[k] - nu_own
            partition += e[k]
            mean_a += e[k] * a
            mean_b += e[k] * b
            mean_aa += e[k] * a * a
            mean_ab += e[k] * a * b
            mean_bb += e[k] * b * b
        share = 1.0 / partition
        mean_a *= share
        mean_b *= share
        losses[i] = largest + math.log(partition)
        value += w * losses[i]
        by_t += w * mean_a
        by_c += w * mean_b
        by_tt += w * (mean_aa * share - mean_a * mean_a)
        by_tc += w * (mean_ab * share - mean_a * mean_b)
        by_cc += w * (mean_bb * share - mean_b * mean_b)
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5] = value, by_t, by_c, by_tt, by_tc, by_cc
