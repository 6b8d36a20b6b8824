"""Operations on the columns of tall matrices, in slices of rows.

The slices do not depend on the number of threads, so neither do the results.
"""

from functools import reduce

import numpy as np

from dropglm.threads import each, even_ranges

# Rows per slice, which is then small enough for the cache.
SLICE = 4096


def subtract_projection(W: np.ndarray, basis: np.ndarray, threads: int) -> np.ndarray:
    """Subtract from W its projection on the orthonormal columns of a basis, and return basisᵀW as float64."""
    slices = _slices(W)
    parts = each(lambda rows: (basis[rows].T @ W[rows]).astype(np.float64), slices, threads)
    shares = reduce(np.add, parts)
    rounded = shares.astype(W.dtype)

    def subtract(rows: slice) -> None:
        W[rows] -= basis[rows] @ rounded

    each(subtract, slices, threads)
    return shares


def orthonormalize(W: np.ndarray, threads: int) -> np.ndarray:
    """Replace W by the factor Q of its QR decomposition, and return R as float64.

    The slices are decomposed one by one, then the factors R of all slices together (Demmel and others 2012).
    """
    slices = _slices(W)
    parts = each(lambda rows: np.linalg.qr(W[rows].astype(np.float64)), slices, threads)
    together, R = np.linalg.qr(np.concatenate([R for _, R in parts]))
    ends = np.cumsum([len(R) for _, R in parts])[:-1]
    factors = np.split(together, ends)

    def multiply(s: int) -> None:
        W[slices[s]] = parts[s][0] @ factors[s]

    each(multiply, range(len(slices)), threads)
    return R


def multiplied(A: np.ndarray, B: np.ndarray, threads: int) -> np.ndarray:
    """Return A B for a tall A, in the type of A."""
    product, B = np.empty((A.shape[0], B.shape[1]), A.dtype), B.astype(A.dtype)

    def multiply(rows: slice) -> None:
        product[rows] = A[rows] @ B

    each(multiply, _slices(A), threads)
    return product


def _slices(A: np.ndarray) -> list[slice]:
    return [slice(*bounds) for bounds in even_ranges(len(A), SLICE)]
