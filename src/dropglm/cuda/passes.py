"""The passes over a sparse X, for P problems at once.

Coefficients are (d, P) and numbers of rows (n, P) with the problems adjacent in memory. The threads of a
block are divided into ``G`` neighbours that work on neighbouring problems, times ``E`` that divide the
entries of a row or column among them, times as many rows or columns as remain. All sums are in a fixed order,
without atomic operations, so results are the same each time.

The passes wait for memory most of the time. So four entries are loaded at a time, and two problems by one
thread where P is even: their coefficients are then the two parts of a complex number, ``width`` is 2 and
``columns`` lists pairs of problems. On an H200, η and t of 64 problems took 0.46 ms instead of 0.75 ms
(IMDB's bigrams). All values of X are 1 if ``values`` is empty. ``zero`` has the type of the sums of a thread.
"""

from numba import cuda, float64

from dropglm.cuda.runtime import THREADS, kernel


@cuda.jit(device=True)
def add_lanes(buffer, G, E):
    """Sum a number per thread over the E threads of the same problem and row, into the first of them."""
    thread = cuda.threadIdx.x
    inside = thread % (G * E)
    half = G * E // 2
    cuda.syncthreads()
    while half >= G:
        if inside < half:
            buffer[thread] += buffer[thread + half]
        half //= 2
        cuda.syncthreads()


@kernel
def moments(columns, G, width, E, zero, indptr, indices, values, beta, eta, t):
    """η = Xβ and t = X²β²."""
    buffer = cuda.shared.array((4, THREADS), float64)
    thread = cuda.threadIdx.x
    place = cuda.blockIdx.y * G + thread % G
    i = cuda.blockIdx.x * (THREADS // (G * E)) + thread // (G * E)
    p = columns[min(place, columns.size - 1)]
    sum_1, sum_2, other_1, other_2 = zero, zero, zero, zero
    if i < indptr.size - 1:
        k, stop = indptr[i] + thread // G % E, indptr[i + 1]
        if values.size == 0:
            while k + 3 * E < stop:
                a, b = beta[indices[k], p], beta[indices[k + E], p]
                c, d = beta[indices[k + 2 * E], p], beta[indices[k + 3 * E], p]
                sum_1 += (a.real + b.real) + (c.real + d.real)
                sum_2 += (a.real * a.real + b.real * b.real) + (c.real * c.real + d.real * d.real)
                other_1 += (a.imag + b.imag) + (c.imag + d.imag)
                other_2 += (a.imag * a.imag + b.imag * b.imag) + (c.imag * c.imag + d.imag * d.imag)
                k += 4 * E
        while k < stop:
            a = beta[indices[k], p]
            if values.size:
                a *= values[k]
            sum_1 += a.real
            sum_2 += a.real * a.real
            other_1 += a.imag
            other_2 += a.imag * a.imag
            k += E
    buffer[0, thread], buffer[1, thread] = sum_1, sum_2
    buffer[2, thread], buffer[3, thread] = other_1, other_2
    for number in range(2 * width):
        add_lanes(buffer[number], G, E)
    if thread % (G * E) < G and place < columns.size and i < indptr.size - 1:
        for part in range(width):
            eta[i, width * p + part] = buffer[2 * part, thread]
            t[i, width * p + part] = buffer[2 * part + 1, thread]


@kernel
def ray(columns, G, width, E, zero, indptr, indices, values, beta, direction, relative, add, out):
    """Xd, ρ X²(β·d) and ρ X²d², as out[0], out[1] and out[2]; added to them if ``add``."""
    buffer = cuda.shared.array((6, THREADS), float64)
    thread = cuda.threadIdx.x
    place = cuda.blockIdx.y * G + thread % G
    i = cuda.blockIdx.x * (THREADS // (G * E)) + thread // (G * E)
    p = columns[min(place, columns.size - 1)]
    sum_1, sum_2, sum_3 = zero, zero, zero
    other_1, other_2, other_3 = zero, zero, zero
    if i < indptr.size - 1:
        k, stop = indptr[i] + thread // G % E, indptr[i + 1]
        if values.size == 0:
            while k + E < stop:
                j, h = indices[k], indices[k + E]
                a, b, c, d = direction[j, p], direction[h, p], beta[j, p], beta[h, p]
                sum_1 += a.real + b.real
                sum_2 += c.real * a.real + d.real * b.real
                sum_3 += a.real * a.real + b.real * b.real
                other_1 += a.imag + b.imag
                other_2 += c.imag * a.imag + d.imag * b.imag
                other_3 += a.imag * a.imag + b.imag * b.imag
                k += 2 * E
        while k < stop:
            j = indices[k]
            a, c = direction[j, p], beta[j, p]
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
    for number in range(3 * width):
        add_lanes(buffer[number], G, E)
    if thread % (G * E) < G and place < columns.size and i < indptr.size - 1:
        for part in range(width):
            own = width * p + part
            for number in range(3):
                product = buffer[3 * part + number, thread] * (relative[own] if number else 1.0)
                out[number, i, own] = (out[number, i, own] if add else 0.0) + product


@cuda.jit(device=True)
def sum_slopes(k, stop, E, zero, indices, values, r, q, p):
    """Σ x r_i and Σ x² q_i of both problems over every E-th entry from k on, where ``indices`` are rows."""
    sum_r, sum_q, other_r, other_q = zero, zero, zero, zero
    if values.size == 0:
        while k + 3 * E < stop:
            i0, i1, i2, i3 = indices[k], indices[k + E], indices[k + 2 * E], indices[k + 3 * E]
            a, b, c, d = r[i0, p], r[i1, p], r[i2, p], r[i3, p]
            sum_r += (a.real + b.real) + (c.real + d.real)
            other_r += (a.imag + b.imag) + (c.imag + d.imag)
            a, b, c, d = q[i0, p], q[i1, p], q[i2, p], q[i3, p]
            sum_q += (a.real + b.real) + (c.real + d.real)
            other_q += (a.imag + b.imag) + (c.imag + d.imag)
            k += 4 * E
    while k < stop:
        i = indices[k]
        a, b = r[i, p], q[i, p]
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
def put(j, p, width, sum_r, sum_q, other_r, other_q, beta, relative, unit, zero, add, out, squares):
    """Set, or add to, out[j, p]: Σ x r + 2ρβ Σ x² q; if β is empty, Σ x r, and Σ x² q in ``squares``.

    ``unit`` is i where numbers of two problems are a complex one, else 0.
    """
    if beta.size:
        own = beta[j, p]
        sum_r += zero + 2.0 * relative[width * p] * own.real * sum_q
        if width == 2:
            other_r += zero + 2.0 * relative[2 * p + 1] * own.imag * other_q
    else:
        total_q = sum_q + other_q * unit
        squares[j, p] = squares[j, p] + total_q if add else total_q
    total_r = sum_r + other_r * unit
    out[j, p] = out[j, p] + total_r if add else total_r


@kernel
def backward(
    columns, G, width, zero, unit, start, indptr, indices, values, beta, relative, r, q, add, out, squares
):
    """Xᵀr + 2ρ β·(X²)ᵀq for the features from ``start`` on, which have few entries: one thread each."""
    thread = cuda.threadIdx.x
    place = cuda.blockIdx.y * G + thread % G
    j = start + cuda.blockIdx.x * (THREADS // G) + thread // G
    if place >= columns.size or j >= indptr.size - 1:
        return
    p = columns[place]
    sum_r, sum_q, other_r, other_q = sum_slopes(indptr[j], indptr[j + 1], 1, zero, indices, values, r, q, p)
    put(j, p, width, sum_r, sum_q, other_r, other_q, beta, relative, unit, zero, add, out, squares)


@kernel
def backward_chunks(columns, G, width, E, zero, starts, stops, indices, values, r, q, sums):
    """Σ x r and Σ x² q over chunks of the entries of frequent features."""
    buffer = cuda.shared.array((4, THREADS), float64)
    thread = cuda.threadIdx.x
    place = cuda.blockIdx.y * G + thread % G
    chunk = cuda.blockIdx.x * (THREADS // (G * E)) + thread // (G * E)
    p = columns[min(place, columns.size - 1)]
    sum_r, sum_q, other_r, other_q = zero, zero, zero, zero
    if chunk < starts.size:
        k = starts[chunk] + thread // G % E
        sum_r, sum_q, other_r, other_q = sum_slopes(k, stops[chunk], E, zero, indices, values, r, q, p)
    buffer[0, thread], buffer[1, thread] = sum_r, sum_q
    buffer[2, thread], buffer[3, thread] = other_r, other_q
    for number in range(2 * width):
        add_lanes(buffer[number], G, E)
    if thread % (G * E) < G and place < columns.size and chunk < starts.size:
        for part in range(width):
            for number in range(2):
                sums[number, chunk, width * p + part] = buffer[2 * part + number, thread]


@kernel
def add_chunks(columns, G, width, zero, unit, chunks_before, sums, beta, relative, add, out, squares):
    """Xᵀr + 2ρ β·(X²)ᵀq of the frequent features, given the sums over their chunks."""
    thread = cuda.threadIdx.x
    place = cuda.blockIdx.y * G + thread % G
    j = cuda.blockIdx.x * (THREADS // G) + thread // G
    if place >= columns.size or j >= chunks_before.size - 1:
        return
    p = columns[place]
    sum_r, sum_q, other_r, other_q = zero, zero, zero, zero
    for chunk in range(chunks_before[j], chunks_before[j + 1]):
        sum_r += sums[0, chunk, width * p]
        sum_q += sums[1, chunk, width * p]
        other_r += sums[0, chunk, width * p + width - 1]
        other_q += sums[1, chunk, width * p + width - 1]
    put(j, p, width, sum_r, sum_q, other_r, other_q, beta, relative, unit, zero, add, out, squares)
