"""Small rows and problems for the tests of kernels."""

import numpy as np
from scipy import sparse

from dropglm.places.gpu.design import upload
from dropglm.places.gpu.runtime import array_module


def rows(kind, n=7, d=5, seed=0):
    """Return a matrix of this kind: dense, csr or binary; features occur more or less often."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < np.linspace(0.9, 0.2, d)).astype(float)
    if kind != "binary":
        X *= rng.normal(size=(n, d)).round(2)
    return X if kind == "dense" else sparse.csr_array(X)


def on_gpu(X, dtype=np.float64):
    """Return the matrix on the GPU, and the order of its features."""
    order, (matrix,) = upload([X], np.dtype(dtype), 1)
    return matrix, host(order)


def host(array):
    """Return an array of the GPU as one of NumPy."""
    return array if isinstance(array, np.ndarray) else array.get()


def device(array):
    """Return an array of NumPy as one of the GPU."""
    return array_module().asarray(np.ascontiguousarray(array))
