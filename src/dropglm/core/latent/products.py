"""Products of a matrix with dense matrices of several columns, and operations on the columns of tall ones.

The work is split into pieces that do not depend on the number of threads, so neither do the results.
"""

from abc import ABC, abstractmethod
from functools import partial, reduce
from typing import Any

import numpy as np
from scipy import sparse

from dropglm.base.threads import PIECE, each, even_pieces, even_ranges
from dropglm.core.design import Matrix
from dropglm.core.design.prepare import canonical, transposed
from dropglm.core.design.storage import Rows, entries_before, store
from dropglm.core.latent.kernels import add_gram_product, multiply

# Columns of Q in ``gram``. In float32 a row of Q is one cache line, and more rows fit into the cache. With
# the words of 50,000 texts, 16 columns took 50 ms alone, 78 ms as half of 32 and 83 ms as a quarter of 64.
WIDTH = 16

# Sums over the rows of M are split into at most so many pieces, each with a W of its own.
PIECES = 16

# Rows of a tall matrix per slice, which is then small enough for the cache.
SLICE = 4096


class Products(ABC):
    """M of shape (m, n), seen through two products.

    Parameters
    ----------
    shape : tuple (int, int)
        Shape of M.
    entries : ndarray of int, of shape (m + 1,)
        Number of stored entries before each row, and in total.
    """

    def __init__(self, shape: tuple[int, int], entries: np.ndarray) -> None:
        self.shape = shape
        self._pieces = even_pieces(entries, piece=max(PIECE, int(entries[-1]) // PIECES))

    def gram(self, Q: np.ndarray, threads: int) -> np.ndarray:
        """Return MᵀM Q for Q of shape (n, WIDTH)."""
        shares = aligned_zeros((len(self._pieces), *Q.shape), Q.dtype)
        each(lambda p: self._add_gram(*self._pieces[p], Q, shares[p]), range(len(self._pieces)), threads)
        total = shares[0]

        def add(rows: slice) -> None:
            for share in shares[1:]:
                total[rows] += share[rows]

        each(add, _slices(total), threads)
        return total

    @abstractmethod
    def _add_gram(self, first: int, last: int, Q: np.ndarray, W: np.ndarray) -> None:
        """Add the part of MᵀM Q that comes from rows first to last - 1 of M to W."""

    @abstractmethod
    def dot(self, B: np.ndarray, threads: int) -> np.ndarray:
        """Return M B, of shape (m, K) and in the type of B."""


class SparseProducts(Products):
    """M by its rows."""

    def __init__(self, rows: Rows, shape: tuple[int, int]) -> None:
        super().__init__(shape, entries_before(rows))
        self.rows = rows

    def _add_gram(self, first: int, last: int, Q: np.ndarray, W: np.ndarray) -> None:
        add_gram_product(self.rows, first, last, Q, W, np.empty(Q.shape[1], Q.dtype))

    def dot(self, B: np.ndarray, threads: int) -> np.ndarray:
        """Return M B, of shape (m, K) and in the type of B."""
        product = np.empty((self.shape[0], B.shape[1]), B.dtype)
        pieces = even_pieces(entries_before(self.rows))
        for first in range(0, B.shape[1], WIDTH):
            columns = slice(first, first + WIDTH)
            block = aligned_zeros(B[:, columns].shape, B.dtype)
            block[:] = B[:, columns]
            each(partial(self._multiply, block, product[:, columns]), pieces, threads)
        return product

    def _multiply(self, block: np.ndarray, out: np.ndarray, bounds: tuple[int, int]) -> None:
        multiply(self.rows, *bounds, block, np.empty(block.shape[1], block.dtype), out)


class DenseProducts(Products):
    """M as an array, multiplied by BLAS, whose own threads should be switched off."""

    def __init__(self, M: np.ndarray) -> None:
        super().__init__(M.shape, np.arange(M.shape[0] + 1) * M.shape[1])
        self.M = M

    def _add_gram(self, first: int, last: int, Q: np.ndarray, W: np.ndarray) -> None:
        part = self.M[first:last]
        W += part.T @ (part @ Q)

    def dot(self, B: np.ndarray, threads: int) -> np.ndarray:
        """Return M B, of shape (m, K) and in the type of B."""
        return multiplied(self.M, B, threads)


def products(X: Matrix, *, transpose: bool = False, threads: int = 1) -> Products:
    """Return the products of X, or those of Xᵀ, for which a sparse X is copied by columns."""
    matrix, ones = canonical(X, threads)
    n, d = matrix.shape
    if not sparse.issparse(matrix):
        return DenseProducts(matrix.T if transpose else matrix)
    rows: Any = store(matrix, ones=ones)
    if transpose:
        return SparseProducts(transposed(rows, (n, d), threads=threads), (d, n))
    return SparseProducts(rows, (n, d))


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array of zeros that starts at the beginning of a cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


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
    product, B = np.empty((A.shape[0], B.shape[1]), A.dtype), B.astype(A.dtype, copy=False)

    def multiply(rows: slice) -> None:
        product[rows] = A[rows] @ B

    each(multiply, _slices(A), threads)
    return product


def _slices(A: np.ndarray) -> list[slice]:
    return [slice(*bounds) for bounds in even_ranges(len(A), SLICE)]
