"""Products of a matrix with dense matrices of many columns, for sparse and dense storage.

The columns of a dense factor are computed in blocks. Each thread takes whole blocks, so that no sum is shared
between threads and the result does not depend on their number.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy import sparse

from dropglm.design import Matrix
from dropglm.design.kernels import dot
from dropglm.design.prepare import canonical, transposed
from dropglm.design.storage import Rows, entries_before, store
from dropglm.latent.kernels import add_gram_product
from dropglm.threads import PIECE, each, even_pieces, even_ranges

# Columns per block. With the bigrams of 10,000 texts, blocks of 16, 32, 64 and 128 columns took 0.22, 0.13,
# 0.13 and 0.16 s for 128 columns in total, and narrow blocks leave more to share between threads.
BLOCK = 32


class Products(ABC):
    """M of shape (m, n), seen through two products."""

    shape: tuple[int, int]

    def gram(self, Q: np.ndarray, threads: int) -> np.ndarray:
        """Return MᵀM Q for Q in blocks of columns, of shape (blocks, n, columns per block)."""
        W = np.zeros_like(Q)
        each(lambda b: self._add_gram(Q[b], W[b]), range(len(Q)), threads)
        return W

    @abstractmethod
    def _add_gram(self, Q: np.ndarray, W: np.ndarray) -> None:
        """Add MᵀM Q to W, on one thread; both of shape (n, columns)."""

    @abstractmethod
    def dot(self, B: np.ndarray, threads: int) -> np.ndarray:
        """Return M B, of shape (m, K) and in the type of B."""


class SparseProducts(Products):
    """M by its rows."""

    def __init__(self, rows: Rows, shape: tuple[int, int]) -> None:
        self.rows = rows
        self.shape = shape

    def _add_gram(self, Q: np.ndarray, W: np.ndarray) -> None:
        add_gram_product(self.rows, self.shape[0], Q, W, np.empty(Q.shape[1], Q.dtype))

    def dot(self, B: np.ndarray, threads: int) -> np.ndarray:
        """Return M B, of shape (m, K) and in the type of B."""
        product = np.zeros((self.shape[0], B.shape[1]), B.dtype)
        pieces = even_pieces(entries_before(self.rows), piece=PIECE // 8)
        B = np.ascontiguousarray(B)
        each(lambda bounds: dot(self.rows, B, *bounds, product), pieces, threads)
        return product


class DenseProducts(Products):
    """M as an array, multiplied by BLAS, whose own threads should be switched off."""

    def __init__(self, M: np.ndarray) -> None:
        self.M = M
        self.shape = M.shape

    def _add_gram(self, Q: np.ndarray, W: np.ndarray) -> None:
        W += self.M.T @ (self.M @ Q)

    def dot(self, B: np.ndarray, threads: int) -> np.ndarray:
        """Return M B, of shape (m, K) and in the type of B."""
        product = np.empty((self.shape[0], B.shape[1]), B.dtype)

        def part(bounds: tuple[int, int]) -> None:
            rows = slice(*bounds)
            product[rows] = self.M[rows] @ B

        each(part, even_ranges(self.shape[0], piece=4096), threads)
        return product


def products(X: Matrix, *, transpose: bool = False) -> Products:
    """Return the products of X, or those of Xᵀ, for which a sparse X is copied by columns."""
    matrix, ones = canonical(X)
    n, d = matrix.shape
    if not sparse.issparse(matrix):
        return DenseProducts(matrix.T if transpose else matrix)
    rows: Any = store(matrix, ones=ones)
    return SparseProducts(transposed(rows, (n, d)), (d, n)) if transpose else SparseProducts(rows, (n, d))
