"""Algebra on long vectors, on threads and without BLAS.

BLAS starts its own threads for every product, which made a solver 40 times slower on a busy machine, and it
sums a product of two float32 vectors in float32. Sums here are float64, piece by piece in an order that
does not depend on the number of threads. Loops run over slices, which start at 0: the compiler vectorises
loops only if indices cannot be negative.
"""

import numpy as np

from dropglm.core.maths.compile import summing_kernel
from dropglm.core.maths.shared_loops import even_cuts, run_shared_loop, take_piece

# Entries of a vector per piece.
PIECE = 1 << 15


def dot(a: np.ndarray, b: np.ndarray, threads: int = 1) -> float:
    """Return Σ_j a_j b_j.

    Examples
    --------
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    cuts = even_cuts(len(a), PIECE)
    sums = np.zeros(len(cuts) - 1)
    run_shared_loop(_dot, cuts, threads, a, b, sums)
    return float(sums.sum())


@summing_kernel
def _dot(cuts, tickets, a, b, sums):
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        a_part, b_part = a[cuts[piece] : cuts[piece + 1]], b[cuts[piece] : cuts[piece + 1]]
        total = 0.0
        for j in range(a_part.size):
            total += np.float64(a_part[j]) * b_part[j]
        sums[piece] = total
        piece = take_piece(tickets)


def moved(start: np.ndarray, step: float, direction: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return start + step · direction."""
    end = np.empty_like(start)
    run_shared_loop(_move, even_cuts(len(start), PIECE), threads, start, float(step), direction, end)
    return end


@summing_kernel
def _move(cuts, tickets, start, step, direction, end):
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        first, last = cuts[piece], cuts[piece + 1]
        start_part, direction_part, end_part = start[first:last], direction[first:last], end[first:last]
        for j in range(end_part.size):
            end_part[j] = start_part[j] + step * direction_part[j]
        piece = take_piece(tickets)
