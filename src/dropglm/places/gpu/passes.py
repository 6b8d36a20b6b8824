"""The passes over a sparse X, for P problems at once.

Coefficients are (d, P) and numbers of rows (n, P) with the problems adjacent in memory. The threads of a
block are divided into 2^g neighbours that work on neighbouring problems, times 2^e that divide the entries of
a row or column among them, times as many rows or columns as remain. All sums are in a fixed order, without
atomic operations, so results are the same each time.

``columns`` lists the problems, padded with -1 to whole blocks. If P is even and numbers have 32 bits, one
thread works on two problems, whose numbers are one word of 64 bits: ``width`` is then 2, and ``columns``
lists pairs of problems. All values of X are 1 if ``values`` is empty. ``zero`` has the type of the sums of a
thread.

What these loops have most of are instructions that compute addresses (on an H200, 34 of them per entry kept
the memory waiting). So coefficients and slopes are flat arrays of words, with ``stride`` words per feature or
row: a product of two unsigned numbers of 32 bits is one instruction, a division by 2^g none. Where all values
are 1, several entries are loaded at a time.
"""

from numba import cuda, float64, uint32, uint64

from dropglm.places.gpu.runtime import THREADS, kernel
from dropglm.places.gpu.threads import add_lanes, items, joined, no_problem, parts, problem_of


@cuda.jit(device=True)
def ends_of(beta, direction, at, zero):
    """β, d and those of the other problem; if ``direction`` is empty, β and d of one problem are a word."""
    first, second = parts(beta[at])
    if direction.size == 0:
        return first, second, zero, zero
    third, fourth = parts(direction[at])
    return first, third, second, fourth


@kernel
def ray(columns, g, width, e, zero, indptr, indices, values, stride, beta, direction, relative, add, out):
    """Xd, ρ X²(β·d) and ρ X²d², as out[0], out[1] and out[2]; added to them if ``add``.

    If ``direction`` is empty, ``beta`` has words of β and d.
    """
    if no_problem(columns, g):
        return
    buffer = cuda.shared.array((6, THREADS), float64)
    thread = cuda.threadIdx.x
    own = problem_of(columns, g)
    p = uint32(max(own, 0))
    i = cuda.blockIdx.x * (THREADS >> (g + e)) + (thread >> (g + e))
    sum_1, sum_2, sum_3 = zero, zero, zero
    other_1, other_2, other_3 = zero, zero, zero
    if i < indptr.size - 1:
        E, stop = uint64(1 << e), uint64(indptr[i + 1])
        k = uint64(indptr[i] + ((thread >> g) & ((1 << e) - 1)))
        if values.size == 0:
            while k + E < stop:
                c, a, other_c, other_a = ends_of(beta, direction, indices[k] * stride + p, zero)
                d, b, other_d, other_b = ends_of(beta, direction, indices[k + E] * stride + p, zero)
                sum_1 += a + b
                sum_2 += c * a + d * b
                sum_3 += a * a + b * b
                other_1 += other_a + other_b
                other_2 += other_c * other_a + other_d * other_b
                other_3 += other_a * other_a + other_b * other_b
                k += E + E
        while k < stop:
            c, a, other_c, other_a = ends_of(beta, direction, indices[k] * stride + p, zero)
            if values.size:
                a *= values[k]
                c *= values[k]
                other_a *= values[k]
                other_c *= values[k]
            sum_1 += a
            sum_2 += c * a
            sum_3 += a * a
            other_1 += other_a
            other_2 += other_c * other_a
            other_3 += other_a * other_a
            k += E
    buffer[0, thread], buffer[1, thread], buffer[2, thread] = sum_1, sum_2, sum_3
    buffer[3, thread], buffer[4, thread], buffer[5, thread] = other_1, other_2, other_3
    add_lanes(buffer, 3 * width, g, e)
    if thread & ((1 << (g + e)) - 1) < 1 << g and own >= 0 and i < indptr.size - 1:
        for part in range(width):
            problem = width * own + part
            for number in range(3):
                product = buffer[3 * part + number, thread] * (relative[problem] if number else 1.0)
                out[number, i, problem] = (out[number, i, problem] if add else 0.0) + product


@cuda.jit(device=True)
def sum_of_four(words, i0, i1, i2, i3):
    """Sum four words, for both problems."""
    a, other_a = parts(words[i0])
    b, other_b = parts(words[i1])
    c, other_c = parts(words[i2])
    d, other_d = parts(words[i3])
    return (a + b) + (c + d), (other_a + other_b) + (other_c + other_d)


@cuda.jit(device=True)
def sum_slopes(k, stop, E, zero, indices, values, stride, r, q, p):
    """Σ x r_i and Σ x² q_i of both problems over every E-th entry from k on, where ``indices`` are rows."""
    sum_r, sum_q, other_r, other_q = zero, zero, zero, zero
    if values.size == 0:
        while k + E + E + E < stop:
            i0, i1 = indices[k] * stride + p, indices[k + E] * stride + p
            i2, i3 = indices[k + E + E] * stride + p, indices[k + E + E + E] * stride + p
            four, other_four = sum_of_four(r, i0, i1, i2, i3)
            sum_r += four
            other_r += other_four
            four, other_four = sum_of_four(q, i0, i1, i2, i3)
            sum_q += four
            other_q += other_four
            k += E + E + E + E
    while k < stop:
        i = indices[k] * stride + p
        a, other_a = parts(r[i])
        b, other_b = parts(q[i])
        if values.size:
            a *= values[k]
            other_a *= values[k]
            b *= values[k] * values[k]
            other_b *= values[k] * values[k]
        sum_r += a
        other_r += other_a
        sum_q += b
        other_q += other_b
        k += E
    return sum_r, sum_q, other_r, other_q


@cuda.jit(device=True)
def put_column(at, p, width, sum_r, sum_q, other_r, other_q, beta, twice, add, out):
    """Set, or add to, out[at]: Σ x r + 2ρβ Σ x² q; ``twice`` is 2ρ."""
    own, other = parts(beta[at])
    sum_r += twice[width * p] * own * sum_q
    other_r += twice[width * p + width - 1] * other * other_q
    if add:
        before, other_before = parts(out[at])
        sum_r += before
        other_r += other_before
    out[at] = joined(sum_r, other_r, out[at])


@kernel
def backward(
    columns, g, width, zero, start, indptr, indices, values, stride, beta, twice, r, q, add, out
):  # fmt: skip
    """Xᵀr + 2ρ β·(X²)ᵀq for the features from ``start`` on, which have few entries: one thread each."""
    own, j = problem_of(columns, g), start + items(g)[0]
    if own < 0 or j >= indptr.size - 1:
        return
    p = uint32(own)
    sum_r, sum_q, other_r, other_q = sum_slopes(
        uint64(indptr[j]), uint64(indptr[j + 1]), uint64(1), zero, indices, values, stride, r, q, p
    )
    at = uint32(j) * stride + p
    put_column(at, p, width, sum_r, sum_q, other_r, other_q, beta, twice, add, out)


@kernel
def backward_chunks(columns, g, width, e, zero, starts, stops, indices, values, stride, r, q, sums):
    """Σ x r and Σ x² q over chunks of the entries of frequent features."""
    if no_problem(columns, g):
        return
    buffer = cuda.shared.array((4, THREADS), float64)
    thread = cuda.threadIdx.x
    own = problem_of(columns, g)
    p = uint32(max(own, 0))
    chunk = cuda.blockIdx.x * (THREADS >> (g + e)) + (thread >> (g + e))
    sum_r, sum_q, other_r, other_q = zero, zero, zero, zero
    if chunk < starts.size:
        k = uint64(starts[chunk] + ((thread >> g) & ((1 << e) - 1)))
        sum_r, sum_q, other_r, other_q = sum_slopes(
            k, uint64(stops[chunk]), uint64(1 << e), zero, indices, values, stride, r, q, p
        )
    buffer[0, thread], buffer[1, thread] = sum_r, sum_q
    buffer[2, thread], buffer[3, thread] = other_r, other_q
    add_lanes(buffer, 2 * width, g, e)
    if thread & ((1 << (g + e)) - 1) < 1 << g and own >= 0 and chunk < starts.size:
        for part in range(width):
            for number in range(2):
                sums[number, chunk, width * own + part] = buffer[2 * part + number, thread]


@kernel
def add_chunks(columns, g, width, zero, chunks_before, sums, stride, beta, twice, add, out):
    """Xᵀr + 2ρ β·(X²)ᵀq of the frequent features, given the sums over their chunks."""
    own, j = problem_of(columns, g), items(g)[0]
    if own < 0 or j >= chunks_before.size - 1:
        return
    p = uint32(own)
    sum_r, sum_q, other_r, other_q = zero, zero, zero, zero
    for chunk in range(chunks_before[j], chunks_before[j + 1]):
        sum_r += sums[0, chunk, width * own]
        sum_q += sums[1, chunk, width * own]
        other_r += sums[0, chunk, width * own + width - 1]
        other_q += sums[1, chunk, width * own + width - 1]
    at = uint32(j) * stride + p
    put_column(at, p, width, sum_r, sum_q, other_r, other_q, beta, twice, add, out)


@kernel
def spread(
    columns, g, e, start, stop, indptr, indices, values, centre, place, total, relative, r, q, add, out
):  # fmt: skip
    """Σ r (x - m)² + ρ q x² for the features from ``start`` to ``stop``, with 2^e threads each.

    ``centre`` has columns of m, ``place`` that of each problem; ``total`` is Σ r, of which the rows that lack
    a feature have the rest. Rows that are added have no r. Centred entry by entry, in float64, since
    Σ r x² - m² Σ r would lose digits where m is large; it is computed rarely, so without words.
    """
    if no_problem(columns, g):
        return
    buffer = cuda.shared.array((2, THREADS), float64)
    thread = cuda.threadIdx.x
    own = problem_of(columns, g)
    p = max(own, 0)
    j = start + cuda.blockIdx.x * (THREADS >> (g + e)) + (thread >> (g + e))
    m, squares, stored = 0.0, 0.0, 0.0
    if j < stop:
        m = float64(centre[j, place[p]])
        for k in range(indptr[j] + ((thread >> g) & ((1 << e) - 1)), indptr[j + 1], 1 << e):
            i, x = indices[k], float64(values[k]) if values.size else 1.0
            weight = float64(r[i, p])
            squares += weight * (x - m) * (x - m) + relative[p] * q[i, p] * x * x
            stored += weight
    buffer[0, thread], buffer[1, thread] = squares, stored
    add_lanes(buffer, 2, g, e)
    if thread & ((1 << (g + e)) - 1) < 1 << g and own >= 0 and j < stop:
        squares = buffer[0, thread]
        squares += out[j, p] if add else m * m * max(total[p] - buffer[1, thread], 0.0)
        out[j, p] = squares
