"""The passes over a sparse X, for P problems at once.

Coefficients are (d, P) and numbers of rows (n, P) with the problems adjacent in memory. The threads of a
block are divided into 2^g neighbours that work on neighbouring problems, times 2^e that divide the entries of
a row or column among them, times as many rows or columns as remain. All sums are in a fixed order, without
atomic operations, so results are the same each time.

``columns`` lists the problems, padded with -1 to whole blocks. Where P is even, one thread works on two
problems: their coefficients are then the two parts of a complex number, ``width`` is 2 and ``columns`` lists
pairs of problems. All values of X are 1 if ``values`` is empty. ``zero`` has the type of the sums of a thread.

What these loops have most of are instructions that compute addresses (on an H200, 34 of them per entry kept
the memory waiting). So coefficients and slopes are flat, with ``stride`` problems or pairs per feature or
row: a product of two unsigned numbers of 32 bits is one instruction, a division by 2^g none. Four entries
are loaded at a time.
"""

from numba import cuda, float64, uint32

from dropglm.cuda.runtime import THREADS, kernel


@cuda.jit(device=True)
def add_lanes(buffer, count, g, e):
    """Sum numbers of each thread over the 2^e threads of the same problem and row, into the first of them.

    ``buffer`` is shared memory of shape (..., THREADS), of which the first ``count`` rows are summed.
    """
    thread = cuda.threadIdx.x
    inside = thread & ((1 << (g + e)) - 1)
    half = 1 << (g + e) >> 1
    cuda.syncthreads()
    while half >= 1 << g:
        if inside < half:
            for number in range(count):
                buffer[number, thread] += buffer[number, thread + half]
        half >>= 1
        cuda.syncthreads()


@kernel
def moments(columns, g, width, e, zero, indptr, indices, values, stride, beta, eta, t):
    """η = Xβ and t = X²β²."""
    if columns[cuda.blockIdx.y << g] < 0:
        return
    buffer = cuda.shared.array((4, THREADS), float64)
    thread = cuda.threadIdx.x
    own = columns[(cuda.blockIdx.y << g) + (thread & ((1 << g) - 1))]
    p = uint32(max(own, 0))
    i = cuda.blockIdx.x * (THREADS >> (g + e)) + (thread >> (g + e))
    sum_1, sum_2, other_1, other_2 = zero, zero, zero, zero
    if i < indptr.size - 1:
        E, stop = 1 << e, indptr[i + 1]
        k = indptr[i] + ((thread >> g) & (E - 1))
        if values.size == 0:
            while k + 3 * E < stop:
                a, b = beta[indices[k] * stride + p], beta[indices[k + E] * stride + p]
                c, d = beta[indices[k + 2 * E] * stride + p], beta[indices[k + 3 * E] * stride + p]
                sum_1 += (a.real + b.real) + (c.real + d.real)
                sum_2 += (a.real * a.real + b.real * b.real) + (c.real * c.real + d.real * d.real)
                other_1 += (a.imag + b.imag) + (c.imag + d.imag)
                other_2 += (a.imag * a.imag + b.imag * b.imag) + (c.imag * c.imag + d.imag * d.imag)
                k += 4 * E
        while k < stop:
            a = beta[indices[k] * stride + p]
            if values.size:
                a *= values[k]
            sum_1 += a.real
            sum_2 += a.real * a.real
            other_1 += a.imag
            other_2 += a.imag * a.imag
            k += E
    buffer[0, thread], buffer[1, thread] = sum_1, sum_2
    buffer[2, thread], buffer[3, thread] = other_1, other_2
    add_lanes(buffer, 2 * width, g, e)
    if thread & ((1 << (g + e)) - 1) < 1 << g and own >= 0 and i < indptr.size - 1:
        for part in range(width):
            eta[i, width * own + part] = buffer[2 * part, thread]
            t[i, width * own + part] = buffer[2 * part + 1, thread]


@kernel
def ray(columns, g, width, e, zero, indptr, indices, values, stride, beta, direction, relative, add, out):
    """Xd, ρ X²(β·d) and ρ X²d², as out[0], out[1] and out[2]; added to them if ``add``."""
    if columns[cuda.blockIdx.y << g] < 0:
        return
    buffer = cuda.shared.array((6, THREADS), float64)
    thread = cuda.threadIdx.x
    own = columns[(cuda.blockIdx.y << g) + (thread & ((1 << g) - 1))]
    p = uint32(max(own, 0))
    i = cuda.blockIdx.x * (THREADS >> (g + e)) + (thread >> (g + e))
    sum_1, sum_2, sum_3 = zero, zero, zero
    other_1, other_2, other_3 = zero, zero, zero
    if i < indptr.size - 1:
        E, stop = 1 << e, indptr[i + 1]
        k = indptr[i] + ((thread >> g) & (E - 1))
        if values.size == 0:
            while k + E < stop:
                j, h = indices[k] * stride + p, indices[k + E] * stride + p
                a, b, c, d = direction[j], direction[h], beta[j], beta[h]
                sum_1 += a.real + b.real
                sum_2 += c.real * a.real + d.real * b.real
                sum_3 += a.real * a.real + b.real * b.real
                other_1 += a.imag + b.imag
                other_2 += c.imag * a.imag + d.imag * b.imag
                other_3 += a.imag * a.imag + b.imag * b.imag
                k += 2 * E
        while k < stop:
            j = indices[k] * stride + p
            a, c = direction[j], beta[j]
            if values.size:
                a *= values[k]
                c *= values[k]
            sum_1 += a.real
            sum_2 += c.real * a.real
            sum_3 += a.real * a.real
            other_1 += a.imag
            other_2 += c.imag * a.imag
            other_3 += a.imag * a.imag
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
def sum_slopes(k, stop, E, zero, indices, values, stride, r, q, p):
    """Σ x r_i and Σ x² q_i of both problems over every E-th entry from k on, where ``indices`` are rows."""
    sum_r, sum_q, other_r, other_q = zero, zero, zero, zero
    if values.size == 0:
        while k + 3 * E < stop:
            i0, i1 = indices[k] * stride + p, indices[k + E] * stride + p
            i2, i3 = indices[k + 2 * E] * stride + p, indices[k + 3 * E] * stride + p
            a, b, c, d = r[i0], r[i1], r[i2], r[i3]
            sum_r += (a.real + b.real) + (c.real + d.real)
            other_r += (a.imag + b.imag) + (c.imag + d.imag)
            a, b, c, d = q[i0], q[i1], q[i2], q[i3]
            sum_q += (a.real + b.real) + (c.real + d.real)
            other_q += (a.imag + b.imag) + (c.imag + d.imag)
            k += 4 * E
    while k < stop:
        i = indices[k] * stride + p
        a, b = r[i], q[i]
        if values.size:
            a *= values[k]
            b *= values[k] * values[k]
        sum_r += a.real
        other_r += a.imag
        sum_q += b.real
        other_q += b.imag
        k += E
    return sum_r, sum_q, other_r, other_q


@cuda.jit(device=True)
def put(at, p, width, sum_r, sum_q, other_r, other_q, beta, twice, unit, add, out, squares):
    """Set, or add to, out[at]: Σ x r + 2ρβ Σ x² q; if β is empty, Σ x r, and Σ x² q in ``squares``.

    ``twice`` is 2ρ. ``unit`` is i where numbers of two problems are a complex one, else 0.
    """
    if beta.size:
        own = beta[at]
        sum_r += twice[width * p] * own.real * sum_q
        other_r += twice[width * p + width - 1] * own.imag * other_q
    else:
        total_q = sum_q + other_q * unit
        squares[at] = squares[at] + total_q if add else total_q
    total_r = sum_r + other_r * unit
    out[at] = out[at] + total_r if add else total_r


@kernel
def backward(
    columns, g, width, zero, unit, start, indptr, indices, values, stride, beta, twice, r, q, add, out, squares
):  # fmt: skip
    """Xᵀr + 2ρ β·(X²)ᵀq for the features from ``start`` on, which have few entries: one thread each."""
    thread = cuda.threadIdx.x
    own = columns[(cuda.blockIdx.y << g) + (thread & ((1 << g) - 1))]
    j = start + cuda.blockIdx.x * (THREADS >> g) + (thread >> g)
    if own < 0 or j >= indptr.size - 1:
        return
    p = uint32(own)
    sum_r, sum_q, other_r, other_q = sum_slopes(
        indptr[j], indptr[j + 1], 1, zero, indices, values, stride, r, q, p
    )
    put(
        uint32(j) * stride + p, p, width, sum_r, sum_q, other_r, other_q, beta, twice, unit, add, out, squares
    )


@kernel
def backward_chunks(columns, g, width, e, zero, starts, stops, indices, values, stride, r, q, sums):
    """Σ x r and Σ x² q over chunks of the entries of frequent features."""
    if columns[cuda.blockIdx.y << g] < 0:
        return
    buffer = cuda.shared.array((4, THREADS), float64)
    thread = cuda.threadIdx.x
    own = columns[(cuda.blockIdx.y << g) + (thread & ((1 << g) - 1))]
    p = uint32(max(own, 0))
    chunk = cuda.blockIdx.x * (THREADS >> (g + e)) + (thread >> (g + e))
    sum_r, sum_q, other_r, other_q = zero, zero, zero, zero
    if chunk < starts.size:
        E = 1 << e
        k = starts[chunk] + ((thread >> g) & (E - 1))
        sum_r, sum_q, other_r, other_q = sum_slopes(
            k, stops[chunk], E, zero, indices, values, stride, r, q, p
        )
    buffer[0, thread], buffer[1, thread] = sum_r, sum_q
    buffer[2, thread], buffer[3, thread] = other_r, other_q
    add_lanes(buffer, 2 * width, g, e)
    if thread & ((1 << (g + e)) - 1) < 1 << g and own >= 0 and chunk < starts.size:
        for part in range(width):
            for number in range(2):
                sums[number, chunk, width * own + part] = buffer[2 * part + number, thread]


@kernel
def add_chunks(columns, g, width, zero, unit, chunks_before, sums, stride, beta, twice, add, out, squares):
    """Xᵀr + 2ρ β·(X²)ᵀq of the frequent features, given the sums over their chunks."""
    thread = cuda.threadIdx.x
    own = columns[(cuda.blockIdx.y << g) + (thread & ((1 << g) - 1))]
    j = cuda.blockIdx.x * (THREADS >> g) + (thread >> g)
    if own < 0 or j >= chunks_before.size - 1:
        return
    p = uint32(own)
    sum_r, sum_q, other_r, other_q = zero, zero, zero, zero
    for chunk in range(chunks_before[j], chunks_before[j + 1]):
        sum_r += sums[0, chunk, width * own]
        sum_q += sums[1, chunk, width * own]
        other_r += sums[0, chunk, width * own + width - 1]
        other_q += sums[1, chunk, width * own + width - 1]
    put(
        uint32(j) * stride + p, p, width, sum_r, sum_q, other_r, other_q, beta, twice, unit, add, out, squares
    )
