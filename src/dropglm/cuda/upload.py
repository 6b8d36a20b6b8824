"""Matrices of features on their way to the GPU: canonical form, and features ordered by frequency."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from dropglm.cuda.matrix import DenseMatrix, DeviceMatrix, SparseMatrix
from dropglm.cuda.runtime import array_module, room_for
from dropglm.design.prepare import canonical
from dropglm.gpu_arrays import is_on_gpu, to_host

# A sparse matrix on the GPU as indptr, indices, values (empty if all are 1) and the number of columns; or a
# dense array.
Sparse = tuple[Any, Any, Any, int]


def upload(matrices: Sequence[Any], dtype: np.dtype, threads: int) -> tuple[Any, list[DeviceMatrix]]:
    """Return the features that occur in any of the matrices, and the matrices with only these, on the GPU.

    Parameters
    ----------
    matrices : sequence of ndarray, scipy sparse, cupy.ndarray or cupyx sparse
        All with the same features, and all sparse or all dense.
    dtype : dtype
        Of the matrices on the GPU.
    threads : int
        Number of threads for what is prepared on the host.

    Returns
    -------
    order : array of the GPU, of int
        The features that occur; of sparse matrices, the most frequent first.
    matrices : list of DeviceMatrix
    """
    alike = [_like(X, matrices[0]) for X in matrices]
    with room_for(sum(map(_bytes, alike))):
        return _upload(alike, dtype, threads)


def _upload(matrices: Sequence[Any], dtype: np.dtype, threads: int) -> tuple[Any, list[DeviceMatrix]]:
    xp = array_module()
    if not _is_sparse(matrices[0]):
        arrays = [_cast(X, dtype) for X in matrices]
        occurs = sum((X != 0).any(axis=0).astype(np.int32) for X in arrays)
        order = xp.flatnonzero(occurs)
        kept = [X if len(order) == X.shape[1] else X[:, order] for X in arrays]
        return order, [DenseMatrix(xp.ascontiguousarray(X)) for X in kept]
    parts = [_sparse(X, dtype, threads) for X in matrices]
    d = parts[0][3]
    counts = xp.zeros(d, np.int32)
    for _, indices, _, _ in parts:
        xp.add.at(counts, indices, 1)  # far faster than CuPy's bincount
    order = xp.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    rank = xp.zeros(d, np.int32)
    rank[order] = xp.arange(len(order), dtype=np.int32)
    if any(len(values) for _, _, values, _ in parts):
        parts = [
            (indptr, indices, values if len(values) else xp.ones(len(indices), dtype), d)
            for indptr, indices, values, d in parts
        ]
    return order, [
        SparseMatrix(indptr, rank[indices], values, len(order)) for indptr, indices, values, _ in parts
    ]


def put_on_gpu(X: Any, threads: int) -> DeviceMatrix:
    """Return a matrix on the GPU whose features are in order already."""
    with room_for(_bytes(X)):
        if not _is_sparse(X):
            return DenseMatrix(array_module().asarray(X))
        return SparseMatrix(*_sparse(X, X.dtype, threads))


def _like(X: Any, first: Any) -> Any:
    """Return a matrix as a sparse or a dense one, as the first is."""
    if _is_sparse(first) == _is_sparse(X):
        return X
    if _is_sparse(X):
        return X.toarray()
    return type(first)(array_module().asarray(X)) if is_on_gpu(first) else sparse.csr_array(to_host(X))


def _cast(numbers: Any, dtype: np.dtype) -> Any:
    """Return numbers on the GPU in X's type, unless some of them are too large for it."""
    xp = array_module()
    with np.errstate(over="ignore"):
        cast = xp.asarray(numbers, dtype=dtype)
    if numbers.dtype != dtype and not bool(xp.isfinite(cast).all()):
        raise ValueError(f"X_unlabeled contains numbers too large for X's dtype {dtype}.")
    return cast


def _bytes(X: Any) -> int:
    """Return about how much memory a matrix takes on its way to the GPU.

    An entry of a sparse one has its row and column, the same numbers while they are sorted, and its value
    twice; a dense one has its squares.
    """
    return 48 * X.nnz if _is_sparse(X) else 3 * X.size * X.dtype.itemsize


def _is_sparse(X: Any) -> bool:
    return sparse.issparse(X) or (is_on_gpu(X) and hasattr(X, "indptr"))


def _sparse(X: Any, dtype: np.dtype, threads: int) -> Sparse:
    """Return a sparse matrix in canonical form on the GPU."""
    xp = array_module()
    if is_on_gpu(X):
        csr = X.tocsr()
        if not csr.has_canonical_format or bool((csr.data == 0).any()):
            csr = csr.copy() if csr is X else csr
            csr.sum_duplicates()
            csr.eliminate_zeros()
        ones = bool((csr.data == 1).all())
    else:
        csr, all_ones = canonical(sparse.csr_array(X), threads)
        ones = bool(all_ones)
    values = xp.empty(0, dtype) if ones else _cast(csr.data, dtype)
    return xp.asarray(csr.indptr, dtype=np.int64), xp.asarray(csr.indices, dtype=np.int32), values, X.shape[1]
