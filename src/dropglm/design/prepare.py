"""Preparation of a matrix for a fit: canonical form, features by frequency, columns stored as rows."""

import numpy as np
from scipy import sparse

from dropglm.design import kernels
from dropglm.design.storage import BinaryRows, CsrRows, Matrix, all_ones, read_only


def canonical(X: Matrix) -> tuple[Matrix, bool | None]:
    """Return X as an array or as CSR without duplicate or zero entries, copied only if necessary.

    The second value says whether all entries of a sparse X are ones; it is None for a dense X.
    """
    if not sparse.issparse(X):
        return X, None
    # Used as it is if possible: SciPy caches whether the columns are sorted and free of duplicates.
    csr = X if isinstance(X, sparse.csr_array) else sparse.csr_array(X)
    duplicates = not csr.has_canonical_format and kernels.has_duplicates(
        csr.indptr, csr.indices, csr.shape[1]
    )
    ones = all_ones(csr)
    if duplicates or (not ones and (csr.data == 0).any()):
        csr = csr.copy()
        csr.sum_duplicates()  # the square of a sum is not the sum of squares
        csr.eliminate_zeros()
        ones = all_ones(csr)
    return csr, ones


def frequency_order(*matrices: Matrix) -> np.ndarray:
    """Return the features that occur in any of the matrices, the most frequent first.

    Frequent features then share cache lines, and neighbouring columns have about the same length, which
    helps branch prediction: one pass over the columns of IMDB's bigrams took 9.7 ms in this order and 16 ms
    in alphabetical order. A feature that never occurs has coefficient 0 in every penalised model and is
    left out. Features of dense matrices stay in their order, so that rows need not be copied.

    Examples
    --------
    >>> frequency_order(sparse.csr_array([[0, 1, 1], [0, 0, 1]]))
    array([2, 1])
    """
    counts = sum(_count(X) for X in matrices)
    if not any(sparse.issparse(X) for X in matrices):
        return np.flatnonzero(counts)
    order = np.argsort(-counts, kind="stable")
    return order[: np.count_nonzero(counts)]


def _count(X: Matrix) -> np.ndarray:
    if sparse.issparse(X):
        return np.bincount(X.indices, minlength=X.shape[1])
    return np.count_nonzero(X, axis=0)


def reordered(X: Matrix, order: np.ndarray) -> Matrix:
    """Return X with feature ``order[j]`` in column j; features that are not in the order must not occur."""
    if not sparse.issparse(X):
        return X if np.array_equal(order, np.arange(X.shape[1])) else X[:, order]
    rank = np.zeros(X.shape[1], X.indices.dtype)
    rank[order] = np.arange(len(order))
    indices = np.empty_like(X.indices)
    kernels.renumber(X.indices, rank, indices)
    return sparse.csr_array((X.data, indices, X.indptr), (X.shape[0], len(order)))


def transposed(rows: CsrRows | BinaryRows, shape: tuple[int, int]) -> CsrRows | BinaryRows:
    """Return Xᵀ in the same storage.

    Up to 65,536 rows need only 16-bit indices: less to read, which saves 3 % of a sweep. SciPy's ``tocsc``
    would need values even for binary rows, and wider indices.
    """
    n, d = shape
    indptr = np.zeros(d + 1, np.int64)
    kernels.count_entries(rows, n, indptr[1:])
    np.cumsum(indptr, out=indptr)
    indices = np.empty(indptr[-1], np.uint16 if n <= 1 << 16 else np.uint32)
    values = np.empty(0) if isinstance(rows, BinaryRows) else np.empty_like(rows.values)
    kernels.transpose(rows, n, indptr[:-1].copy(), indices, values)
    if isinstance(rows, BinaryRows):
        return BinaryRows(read_only(indptr), read_only(indices))
    return CsrRows(read_only(indptr), read_only(indices), read_only(values))
