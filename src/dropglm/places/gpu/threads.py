"""The threads of a block: which problem and items each of them has, sums over them, and words that they load.

A word is two numbers of 32 bits in 64, which are loaded and stored at once: those of two neighbouring
problems, or a coefficient and its direction. Two loads of 32 bits take twice as many instructions, and Numba
does not join them.
"""

from typing import Any

import numpy as np
from numba import cuda, float32, float64, types, uint32, uint64

from dropglm.places.gpu.runtime import BITS, SIMULATED, SUMMED_BITS, THREADS, numba_cuda

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


def parts(word: Any) -> tuple[Any, Any]:
    """Return both numbers in a word; if the word is a single number, this and 0."""
    return _halves(word) if isinstance(word, np.uint64) else (word, word * 0)


def joined(first: Any, second: Any, word: Any) -> Any:
    """Return both numbers in one word; if ``word``, which it replaces, is a single number, the first."""
    return _join(first, second) if isinstance(word, np.uint64) else first


def _halves(word: Any) -> tuple[Any, Any]:
    return uint32(word & uint64(0xFFFFFFFF)).view(np.float32), uint32(word >> uint64(32)).view(np.float32)


def _join(first: Any, second: Any) -> Any:
    low, high = float32(first).view(np.uint32), float32(second).view(np.uint32)
    return uint64(high) << uint64(32) | uint64(low)


if not SIMULATED:
    numba_cuda()  # or the error says that a name cannot be imported
    from numba.cuda.extending import overload, register_jitable

    halves, join = register_jitable(_halves), register_jitable(_join)

    @overload(parts)
    def _parts_of_type(word):
        if word == types.uint64:
            return lambda word: halves(word)
        zero = np.float32(0.0) if word == types.float32 else np.float64(0.0)
        return lambda word: (word, zero)

    @overload(joined)
    def _joined_of_type(first, second, word):
        if word == types.uint64:
            return lambda first, second, word: join(first, second)
        return lambda first, second, word: first
