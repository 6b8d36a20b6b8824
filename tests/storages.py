"""The same matrix in every form that a user may pass, and in every form that a design may store."""

import numpy as np
from scipy import sparse

from dropglm.core.design import Design


def _wide_indices(X):
    csr = sparse.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


def _unsorted(X):
    csr = sparse.csr_array(X)
    for start, stop in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        csr.indices[start:stop] = csr.indices[start:stop][::-1].copy()
        csr.data[start:stop] = csr.data[start:stop][::-1].copy()
    csr.has_sorted_indices = False
    return csr


def _doubled(X):
    coo = sparse.coo_array(X)
    twice = (np.tile(coo.data / 2, 2), (np.tile(coo.row, 2), np.tile(coo.col, 2)))
    csr = sparse.coo_array(twice, shape=X.shape)
    n = X.shape[0]
    order = np.argsort(csr.row, kind="stable")
    indptr = np.searchsorted(csr.row[order], np.arange(n + 1))
    return sparse.csr_array((csr.data[order], csr.col[order], indptr), shape=X.shape)


def _doubled_in_order(X):
    csr = _doubled(X)
    csr.sort_indices()
    assert not csr.has_canonical_format
    return csr


def _with_zeros(X):
    csr = sparse.csr_array(X)
    i, j = np.argwhere(X == 0)[0]
    coo = csr.tocoo()
    entries = (np.append(coo.data, 0.0), (np.append(coo.row, i), np.append(coo.col, j)))
    return sparse.coo_array(entries, shape=X.shape).tocsr()


# Forms that a user may pass.
MATRICES = {
    "dense": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "int64 indices": _wide_indices,
    "unsorted": _unsorted,
    "doubled entries": _doubled,
    "doubled entries in order": _doubled_in_order,
    "stored zeros": _with_zeros,
}

# Forms that a design may store; the features stay in order.
DESIGNS = {
    "dense": lambda X: Design(X),
    "csr": lambda X: Design(sparse.csr_array(X)),
    "csc": lambda X: Design(sparse.csc_array(X)),
    "by columns": lambda X: Design(sparse.csr_array(X)).by_columns(),
}


def binary(rng, n=7, d=6):
    """A matrix of zeros and ones with an empty row and an empty column."""
    X = (rng.random((n, d)) < 0.6).astype(float)
    X[-1] = 0.0
    X[:, 2] = 0.0
    return X


def real(rng, n=7, d=6):
    """The same with real values."""
    return binary(rng, n, d) * rng.normal(size=(n, d))
