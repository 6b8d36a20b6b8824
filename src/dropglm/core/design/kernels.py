"""The hot loops: every pass over the features in training is one of these, for any storage.

X acts on the coefficients twice, through the predictor η = Xβ and through the sum of squares t = X²β² in the
variance (entries squared). Along a ray β + step·d both are polynomials in the step, whose coefficients are
Xd, X²(β·d) and X²d². The gradient is Xᵀr + 2β·(X²)ᵀq, from the derivatives r with respect to η and q with
respect to t. Each pass can go over rows or over columns: one of them reads in order what the other writes.
If there are fewer rows than features, columns are faster, since the numbers of all rows fit into the cache:
the ray on IMDB's bigrams took 12.6 ms over columns and 21.8 ms over rows.

All are shared loops (see ``maths/shared_loops.py``). Products and sums are float64 for any storage, at no
cost: the loops are bound by memory. The derivatives of a row are adjacent in memory, so one cache line has
both (9.6 ms; separate arrays, 12.1 ms). ρ is the relative variance of the noise.
"""

import numpy as np

from dropglm.core.design.storage import column, span, value
from dropglm.core.maths.compile import fused_kernel, kernel
from dropglm.core.maths.shared_loops import take_piece


@kernel
def moments(cuts, tickets, rows, beta, eta, t):
    """η_i = Σ_j x_ij β_j and t_i = Σ_j (x_ij β_j)² for pieces of the rows."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for i in range(cuts[piece], cuts[piece + 1]):
            total, squares = 0.0, 0.0
            start, stop = span(rows, i)
            for k in range(start, stop):
                z = value(rows, i, k) * beta[column(rows, k)]
                total += z
                squares += z * z
            eta[i] = total
            t[i] = squares
        piece = take_piece(tickets)


@kernel
def ray_by_rows(cuts, tickets, rows, beta, d, relative, ray):
    """Add Σ_j x_ij d_j, ρ Σ_j x_ij² β_j d_j and ρ Σ_j x_ij² d_j² to the ray for pieces of the rows."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for i in range(cuts[piece], cuts[piece + 1]):
            u, c, q = 0.0, 0.0, 0.0
            start, stop = span(rows, i)
            for k in range(start, stop):
                j, x = column(rows, k), value(rows, i, k)
                z = x * d[j]
                u += z
                c += z * (x * beta[j])
                q += z * z
            ray[0, i] += u
            ray[1, i] += relative * c
            ray[2, i] += relative * q
        piece = take_piece(tickets)


@fused_kernel
def ray_by_columns(cuts, tickets, columns, beta, d, shares):
    """shares_pi = Σ_j x_ij d_j, Σ_j x_ij² β_j d_j and Σ_j x_ij² d_j², for the columns j of each piece p."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        share = shares[piece]
        # Entry by entry: Numba needs 2 s to compile an assignment to a slice.
        for i in range(share.shape[0]):
            share[i, 0] = share[i, 1] = share[i, 2] = 0.0
        for j in range(cuts[piece], cuts[piece + 1]):
            direction, crossed = np.float64(d[j]), np.float64(beta[j]) * d[j]
            square = direction * direction
            start, stop = span(columns, j)
            for k in range(start, stop):
                i, x = column(columns, k), value(columns, j, k)
                share[i, 0] += x * direction
                share[i, 1] += x * x * crossed
                share[i, 2] += x * x * square
        piece = take_piece(tickets)


@kernel
def add_shares(cuts, tickets, shares, relative, ray):
    """Add the shares of all pieces to the ray, in order; the second and third number times ρ."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for i in range(cuts[piece], cuts[piece + 1]):
            u, c, q = 0.0, 0.0, 0.0
            for p in range(shares.shape[0]):
                u += shares[p, i, 0]
                c += shares[p, i, 1]
                q += shares[p, i, 2]
            ray[0, i] += u
            ray[1, i] += relative * c
            ray[2, i] += relative * q
        piece = take_piece(tickets)


@kernel
def gather(cuts, tickets, columns, beta, slopes, relative, gradient):
    """gradient_j = Σ_i x_ij r_i + 2 ρ β_j Σ_i x_ij² q_i for pieces of the columns."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for j in range(cuts[piece], cuts[piece + 1]):
            linear, squares = 0.0, 0.0
            start, stop = span(columns, j)
            for k in range(start, stop):
                i, x = column(columns, k), value(columns, j, k)
                linear += x * slopes[i, 0]
                squares += x * x * slopes[i, 1]
            gradient[j] = linear + 2.0 * relative * beta[j] * squares
        piece = take_piece(tickets)


@kernel
def scatter(cuts, tickets, rows, beta, slopes, relative, shares):
    """Add Σ_i x_ij r_i + 2 ρ β_j x_ij² q_i over the rows i of each piece p to shares_pj."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        gradient = shares[piece]
        for i in range(cuts[piece], cuts[piece + 1]):
            r, q = slopes[i, 0], 2.0 * relative * slopes[i, 1]
            start, stop = span(rows, i)
            for k in range(start, stop):
                j, x = column(rows, k), value(rows, i, k)
                gradient[j] += x * (r + q * x * beta[j])
        piece = take_piece(tickets)


@kernel
def gather_spread(cuts, tickets, columns, centre, weights, relative, total, spread):
    """Σ_i p_i (x_ij - m_j)² + ρ q_i x_ij² for pieces of the columns; weights_i = (p_i, q_i), total = Σ p.

    Centred entry by entry: Σ p x² - m² Σ p would lose digits to cancellation where m is large.
    """
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for j in range(cuts[piece], cuts[piece + 1]):
            m = np.float64(centre[j])
            centred, plain, stored = 0.0, 0.0, 0.0
            start, stop = span(columns, j)
            for k in range(start, stop):
                i, x = column(columns, k), value(columns, j, k)
                centred += weights[i, 0] * (x - m) * (x - m)
                plain += weights[i, 1] * x * x
                stored += weights[i, 0]
            spread[j] = centred + relative * plain + m * m * (total - stored)
        piece = take_piece(tickets)


@kernel
def scatter_spread(cuts, tickets, rows, centre, weights, relative, implicit, shares):
    """Add p_i ((x_ij - m_j)² - implicit · m_j²) + ρ q_i x_ij² over the rows i of a piece to its share."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        spread = shares[piece]
        for i in range(cuts[piece], cuts[piece + 1]):
            p, q = weights[i, 0], relative * weights[i, 1]
            start, stop = span(rows, i)
            for k in range(start, stop):
                j, x = column(rows, k), value(rows, i, k)
                m = np.float64(centre[j])
                spread[j] += p * ((x - m) * (x - m) - implicit * m * m) + q * x * x
        piece = take_piece(tickets)


@kernel
def dot(cuts, tickets, rows, beta, eta):
    """Add Σ_j x_ij β_jk over the features to η_ik for pieces of the rows, for K classes at once."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for i in range(cuts[piece], cuts[piece + 1]):
            start, stop = span(rows, i)
            for k in range(start, stop):
                j, x = column(rows, k), value(rows, i, k)
                for c in range(beta.shape[1]):
                    eta[i, c] += x * beta[j, c]
        piece = take_piece(tickets)


@kernel
def gather_dot(cuts, tickets, columns, r, product):
    """product_jk = Σ_i x_ij r_ik for pieces of the columns j, for all columns k of r at once."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for j in range(cuts[piece], cuts[piece + 1]):
            for c in range(r.shape[1]):
                product[j, c] = 0.0
            start, stop = span(columns, j)
            for k in range(start, stop):
                i, x = column(columns, k), value(columns, j, k)
                for c in range(r.shape[1]):
                    product[j, c] += x * r[i, c]
        piece = take_piece(tickets)


@kernel
def scatter_dot(cuts, tickets, rows, r, shares):
    """Add Σ_i x_ij r_ik over the rows i of each piece p to shares_pjk, for K columns of r at once."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        product = shares[piece]
        for i in range(cuts[piece], cuts[piece + 1]):
            start, stop = span(rows, i)
            for k in range(start, stop):
                j, x = column(rows, k), value(rows, i, k)
                for c in range(r.shape[1]):
                    product[j, c] += x * r[i, c]
        piece = take_piece(tickets)
