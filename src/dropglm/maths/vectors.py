"""Algebra on long vectors, on threads and without BLAS.

BLAS starts its own threads for every product, which made a solver 40 times slower on a busy machine, and it
sums a product of two float32 vectors in float32. Sums here are float64, piece by piece in an order that
does not depend on the number of threads.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dropglm.maths.compile import summing_kernel
from dropglm.threads import each, even_ranges

# Entries of a vector per piece.
PIECE = 1 << 16


def in_pieces(work: Callable[[int, int], Any], size: int, threads: int) -> list[Any]:
    """Return ``work(first, last)`` for the pieces of a vector of that size, in order."""
    return each(lambda bounds: work(*bounds), even_ranges(size, PIECE), threads)


def form(weights: np.ndarray, a: np.ndarray, b: np.ndarray, threads: int = 1) -> float:
    """Return Σ_j weights_j a_j b_j.

    Examples
    --------
    >>> form(np.array([1.0, 2.0]), np.array([3.0, 1.0]), np.array([1.0, 4.0]))
    11.0
    """
    return sum(
        in_pieces(
            lambda first, last: _form(weights[first:last], a[first:last], b[first:last]), len(a), threads
        )
    )


@summing_kernel
def _form(weights, a, b):
    total = 0.0
    for j in range(a.size):
        total += np.float64(weights[j]) * a[j] * b[j]
    return total


def dot(a: np.ndarray, b: np.ndarray, threads: int = 1) -> float:
    """Return Σ_j a_j b_j."""
    return sum(in_pieces(lambda first, last: _dot(a[first:last], b[first:last]), len(a), threads))


@summing_kernel
def _dot(a, b):
    total = 0.0
    for j in range(a.size):
        total += np.float64(a[j]) * b[j]
    return total


def add_scaled(total: np.ndarray, factor: float, a: np.ndarray, threads: int = 1) -> None:
    """Add factor · a_j to total_j."""
    in_pieces(lambda first, last: _add_scaled(total[first:last], factor, a[first:last]), len(a), threads)


@summing_kernel
def _add_scaled(total, factor, a):
    for j in range(a.size):
        total[j] += factor * a[j]


def add_product(total: np.ndarray, a: np.ndarray, b: np.ndarray, threads: int = 1) -> None:
    """Add a_j b_j to total_j."""
    in_pieces(
        lambda first, last: _add_product(total[first:last], a[first:last], b[first:last]), len(a), threads
    )


@summing_kernel
def _add_product(total, a, b):
    for j in range(a.size):
        total[j] += a[j] * b[j]


def moved(start: np.ndarray, step: float, direction: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return start + step · direction."""
    end = np.empty_like(start)
    in_pieces(
        lambda first, last: _move(start[first:last], step, direction[first:last], end[first:last]),
        len(start),
        threads,
    )
    return end


@summing_kernel
def _move(start, step, direction, end):
    for j in range(end.size):
        end[j] = start[j] + step * direction[j]


def side_by_side(a: np.ndarray, b: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return the pairs (a_j, b_j); shape (N, 2)."""
    pairs = np.empty((len(a), 2), a.dtype)
    in_pieces(lambda first, last: _pair(a[first:last], b[first:last], pairs[first:last]), len(a), threads)
    return pairs


@summing_kernel
def _pair(a, b, pairs):
    for j in range(a.size):
        pairs[j, 0], pairs[j, 1] = a[j], b[j]
