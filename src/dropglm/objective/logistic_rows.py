"""The rows of logistic regression without noise or with the gaussian penalty, compiled.

    f_i = w_i (softplus(η_i) - y_i η_i) + π_i (E softplus(N(η_i, s²_i)) - softplus(η_i))

Other families and penalties go through NumPy. For the default of every classifier this loop replaces some
thirty calls of NumPy per step, which took most of the time of a fit with few rows.
"""

import numpy as np

from dropglm.families.pointwise import logistic
from dropglm.maths.compile import fused_kernel
from dropglm.maths.shared_loops import take_piece
from dropglm.maths.smoothed_softplus import add_components


@fused_kernel
def evaluate(cuts, tickets, step, eta, s2, ray, y, w, pi, noisy, end, slopes, sums):
    """Evaluate pieces of the rows at a step along the ray, whose rows are u, c and q.

    Sets η and s² at its end, the derivatives of f_i with respect to both (``slopes``), and the sums over each
    piece of f_i and of its derivative with respect to the step.
    """
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        first, last = cuts[piece], cuts[piece + 1]
        size = last - first
        u, c, q = ray[0, first:last], ray[1, first:last], ray[2, first:last]
        y_part, w_part, pi_part = y[first:last], w[first:last], pi[first:last]
        eta_end, s2_end = end[0, first:last], end[1, first:last]
        eta_start, s2_start = eta[first:last], s2[first:last]
        # |η| and s² and, in the second half of each row, without noise; then T and its derivatives. In one
        # array, since each kind of allocation takes time to compile.
        scratch = np.zeros((5, 2 * size))
        distance, variance, tails = scratch[0], scratch[1], scratch[2:]
        for i in range(size):
            eta_end[i] = eta_start[i] + step * u[i]
            # Rounding could make s² slightly negative where coefficients vanish.
            s2_end[i] = max(s2_start[i] + step * (2.0 * c[i] + step * q[i]), 0.0)
            distance[i] = distance[size + i] = abs(eta_end[i])
            variance[i] = s2_end[i]
        if noisy:
            add_components(distance, variance, tails[0], tails[1], tails[2])
        value, slope = 0.0, 0.0
        for i in range(size):
            softplus, p, _, _ = logistic(eta_end[i])
            sign = 1.0 if eta_end[i] > 0.0 else -1.0
            # Rounding could give -1e-17 for tiny s².
            r = max(tails[0, i] - tails[0, size + i], 0.0)
            value += w_part[i] * (softplus - y_part[i] * eta_end[i]) + pi_part[i] * r
            by_eta = w_part[i] * (p - y_part[i]) + pi_part[i] * sign * (tails[1, i] - tails[1, size + i])
            by_s2 = pi_part[i] * tails[2, i]
            slopes[first + i, 0], slopes[first + i, 1] = by_eta, by_s2
            slope += by_eta * u[i] + by_s2 * 2.0 * (c[i] + step * q[i])
        sums[piece, 0], sums[piece, 1] = value, slope
        piece = take_piece(tickets)
