"""The hot loops: every pass over the features in training is one of these, for any storage.

X acts on the coefficients twice, through the predictor η = Xβ and through the sum of squares t = X²β² in the
variance (entries squared). ``moments`` computes both in one pass over the rows. The gradient Xᵀr + 2β·(X²)ᵀq,
from the derivatives r with respect to η and q with respect to t, comes from ``gather`` over columns or
``scatter`` over rows. The derivatives of a row are adjacent in memory, so one cache line has both (9.6 ms;
separate arrays, 12.1 ms). Products and sums are float64 for any storage, at no cost: the loops are bound by
memory.
"""

import numpy as np

from dropglm.design.storage import column, span, value
from dropglm.maths.compile import kernel


@kernel
def moments(rows, beta, first, last, eta, t):
    """η_i = Σ_j x_ij β_j and t_i = Σ_j (x_ij β_j)² for rows first to last - 1."""
    for i in range(first, last):
        total, squares = 0.0, 0.0
        start, stop = span(rows, i)
        for k in range(start, stop):
            z = value(rows, i, k) * beta[column(rows, k)]
            total += z
            squares += z * z
        eta[i - first] = total
        t[i - first] = squares


@kernel
def ray(rows, pairs, first, last, linear, crossed, squares):
    """Σ_j x_ij d_j, Σ_j x_ij² β_j d_j and Σ_j x_ij² d_j² for rows first to last - 1; pairs_j = (β_j, d_j)."""
    for i in range(first, last):
        u, c, q = 0.0, 0.0, 0.0
        start, stop = span(rows, i)
        for k in range(start, stop):
            j, x = column(rows, k), value(rows, i, k)
            z = x * pairs[j, 1]
            u += z
            c += z * (x * pairs[j, 0])
            q += z * z
        linear[i], crossed[i], squares[i] = u, c, q


@kernel
def gather(columns, beta, slopes, first, last, gradient):
    """gradient_j = Σ_i x_ij r_i + 2 β_j Σ_i x_ij² q_i for columns first to last - 1."""
    for j in range(first, last):
        linear, squares = 0.0, 0.0
        start, stop = span(columns, j)
        for k in range(start, stop):
            i, x = column(columns, k), value(columns, j, k)
            linear += x * slopes[i, 0]
            squares += x * x * slopes[i, 1]
        gradient[j] = linear + 2.0 * beta[j] * squares


@kernel
def scatter(rows, beta, slopes, first, last, gradient):
    """Add Σ_i x_ij r_i + 2 β_j x_ij² q_i over rows first to last - 1 to gradient_j."""
    for i in range(first, last):
        r, q = slopes[i, 0], 2.0 * slopes[i, 1]
        start, stop = span(rows, i)
        for k in range(start, stop):
            j, x = column(rows, k), value(rows, i, k)
            gradient[j] += x * (r + q * x * beta[j])


@kernel
def gather_spread(columns, centre, weights, total, first, last, spread):
    """Σ_i p_i (x_ij - m_j)² + q_i x_ij² for columns first to last - 1; weights_i = (p_i, q_i), total = Σ p.

    Centred entry by entry: Σ p x² - m² Σ p would lose digits to cancellation where m is large.
    """
    for j in range(first, last):
        m = np.float64(centre[j])
        centred, plain, stored = 0.0, 0.0, 0.0
        start, stop = span(columns, j)
        for k in range(start, stop):
            i, x = column(columns, k), value(columns, j, k)
            centred += weights[i, 0] * (x - m) * (x - m)
            plain += weights[i, 1] * x * x
            stored += weights[i, 0]
        spread[j] = centred + plain + m * m * (total - stored)


@kernel
def scatter_spread(rows, centre, weights, implicit, first, last, spread):
    """Add p_i ((x_ij - m_j)² - implicit · m_j²) + q_i x_ij² over rows first to last - 1 to spread_j."""
    for i in range(first, last):
        p, q = weights[i, 0], weights[i, 1]
        start, stop = span(rows, i)
        for k in range(start, stop):
            j, x = column(rows, k), value(rows, i, k)
            m = np.float64(centre[j])
            spread[j] += p * ((x - m) * (x - m) - implicit * m * m) + q * x * x


@kernel
def dot(rows, beta, first, last, eta):
    """Add Σ_j x_ij β_jk over the features of rows first to last - 1 to η_ik, for K classes at once."""
    for i in range(first, last):
        start, stop = span(rows, i)
        for k in range(start, stop):
            j, x = column(rows, k), value(rows, i, k)
            for c in range(beta.shape[1]):
                eta[i, c] += x * beta[j, c]


@kernel
def gather_dot(columns, r, first, last, product):
    """product_jk = Σ_i x_ij r_ik for columns first to last - 1, for all columns k of r at once."""
    for j in range(first, last):
        product[j] = 0.0
        start, stop = span(columns, j)
        for k in range(start, stop):
            i, x = column(columns, k), value(columns, j, k)
            for c in range(r.shape[1]):
                product[j, c] += x * r[i, c]


@kernel
def scatter_dot(rows, r, first, last, product):
    """Add Σ_i x_ij r_ik over rows first to last - 1 to product_jk, for K columns of r at once."""
    for i in range(first, last):
        start, stop = span(rows, i)
        for k in range(start, stop):
            j, x = column(rows, k), value(rows, i, k)
            for c in range(r.shape[1]):
                product[j, c] += x * r[i, c]


@kernel
def has_duplicates(indptr, indices, d):
    """Return whether a row has two entries in the same column; sorting would take ten times as long."""
    last_row = np.full(d, -1)
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            if last_row[indices[k]] == i:
                return True
            last_row[indices[k]] = i
    return False


@kernel
def count_entries(rows, n, counts):
    """Add the number of entries of each column to counts."""
    for i in range(n):
        start, stop = span(rows, i)
        for k in range(start, stop):
            counts[column(rows, k)] += 1


@kernel
def transpose(rows, n, place, indices, values):
    """Sort the entries by column, starting column j at place_j; values of size 0 are skipped."""
    for i in range(n):
        start, stop = span(rows, i)
        for k in range(start, stop):
            j = column(rows, k)
            indices[place[j]] = i
            if values.size:
                values[place[j]] = value(rows, i, k)
            place[j] += 1


@kernel
def renumber(indices, rank, renumbered):
    """renumbered_k = rank[indices_k]; NumPy would first convert all indices to 64 bits."""
    for k in range(indices.size):
        renumbered[k] = rank[indices[k]]
