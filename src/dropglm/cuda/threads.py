"""The threads of a block: which problem and which items each of them has, and sums over them."""

from numba import cuda, float64

from dropglm.cuda.runtime import BITS, SUMMED_BITS, THREADS

# How many numbers of each thread are summed at a time; they have to fit into the shared memory of a block.
SUMMED = 1 << SUMMED_BITS


@cuda.jit(device=True)
def problem_of(columns, g):
    """Return the problem of this thread, or -1: 2^g neighbouring threads have neighbouring problems."""
    return columns[(cuda.blockIdx.y << g) + (cuda.threadIdx.x & ((1 << g) - 1))]


@cuda.jit(device=True)
def no_problem(columns, g):
    """Return whether no thread of this block has a problem."""
    return columns[cuda.blockIdx.y << g] < 0


@cuda.jit(device=True)
def items(g):
    """Return the first row or feature of this thread in a loop over all of them, and how far the next is."""
    per_block = THREADS >> g
    return cuda.blockIdx.x * per_block + (cuda.threadIdx.x >> g), cuda.gridDim.x * per_block


@cuda.jit(device=True)
def put_sums(own, count, g, p, active, block, first, sums):
    """Sum the first ``count`` numbers of ``own`` over threads, and put them into sums[block, first:, p].

    2^g neighbouring threads have different problems; those of problems that are not active contribute, but
    set nothing.
    """
    buffer = cuda.shared.array((SUMMED, THREADS), float64)
    thread = cuda.threadIdx.x
    for start in range(0, count, SUMMED):
        for k in range(SUMMED):
            buffer[k, thread] = own[start + k] if start + k < count else 0.0
        add_threads(buffer, g)
        if thread < 1 << g and active:
            for k in range(min(SUMMED, count - start)):
                sums[block, first + start + k, p] = buffer[k, thread]
        cuda.syncthreads()


@cuda.jit(device=True)
def add_threads(buffer, g):
    """Sum each row of shared memory over the threads of each problem, into the first of them.

    All threads take part: one adds SUMMED numbers of a row, then half as many threads two each, and so on.
    """
    thread = cuda.threadIdx.x
    lane = thread & ((1 << g) - 1)
    row = thread >> (BITS - SUMMED_BITS)
    # 2^b threads have the same row and problem.
    b = BITS - SUMMED_BITS - g
    part = (thread >> g) & ((1 << b) - 1)
    cuda.syncthreads()
    total = 0.0
    for k in range(SUMMED):
        total += buffer[row, ((part + (k << b)) << g) + lane]
    cuda.syncthreads()
    buffer[row, (part << g) + lane] = total
    half = 1 << b >> 1
    cuda.syncthreads()
    while half >= 1:
        if part < half:
            buffer[row, (part << g) + lane] += buffer[row, ((part + half) << g) + lane]
        half >>= 1
        cuda.syncthreads()


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
