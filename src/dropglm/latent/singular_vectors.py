"""The first singular vectors of a large matrix, by random projection (Halko, Martinsson and Tropp 2011).

X ≈ U S Vᵀ. Let M = Xᵀ if X has fewer rows than columns, and M = X otherwise, so that G = MᵀM is the smaller
of XXᵀ and XᵀX. Start with a random Q that has a few more columns than vectors are wanted, and repeat
Q ← orth(G Q); each of these power iterations separates the singular values better. Then compute W = G Q and
project M on the range of M Q: with T = QᵀW, the columns of B = M Q T^{-1/2} are orthonormal, and
BᵀM = T^{-1/2} Wᵀ is a small matrix whose singular value decomposition is that of the projected M.

All this only needs products G Q, which take one pass over X each; M Q, which may have a million rows, is
never stored. There are n_iter + 1 such passes, and one more for the vectors on the longer side. Apart from X
by columns, memory contains at most four matrices of the size of Q.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from dropglm.design import Matrix
from dropglm.design.prepare import canonical
from dropglm.latent.orthonormal import combined, gram_matrices, orthonormal_basis
from dropglm.latent.products import BLOCK, products

# At least so many columns more than vectors; the total is a multiple of BLOCK.
OVERSAMPLING = 7


@dataclass(frozen=True)
class SingularVectors:
    """The first right singular vectors V of X, of shape (d, k), which need not be stored.

    Attributes
    ----------
    singular_values : ndarray of shape (k,)
        In decreasing order, float64.
    coordinates : ndarray of shape (n, k)
        X V. The sum of the cubes of each column is not negative, which fixes the signs.
    fold_back : callable
        Returns V β, of shape (d, K), for β of shape (k, K): the coefficients of the features if β are the
        coefficients of the coordinates.
    """

    singular_values: np.ndarray
    coordinates: np.ndarray
    fold_back: Callable[[np.ndarray], np.ndarray]

    def vectors(self) -> np.ndarray:
        """Return V, of shape (d, k), with orthonormal columns; computed anew on each call."""
        k = len(self.singular_values)
        return self.fold_back(np.eye(k, dtype=self.coordinates.dtype))


def singular_vectors(
    X: Matrix, k: int, *, n_iter: int = 2, seed: int = 0, threads: int = 1
) -> SingularVectors:
    """Return the first k right singular vectors of X, or fewer if its rank is smaller.

    Parameters
    ----------
    X : ndarray or scipy sparse of shape (n, d), float32 or float64
        The rows are not centred. Singular values below about 0.004 (float32) or 2e-7 (float64) times the
        largest count as zero.
    k : int
        Number of vectors.
    n_iter : int
        Number of power iterations.
    seed : int
        Seed of the random projection. If the shorter side of X is at most n_iter + 1 times as long as the
        projection is wide, there is none, and the result is exact.
    threads : int
        Number of threads; the result does not depend on it.

    Returns
    -------
    SingularVectors

    Examples
    --------
    >>> found = singular_vectors(np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 2.0]]), 5)
    >>> found.singular_values
    array([3., 2.])
    >>> found.coordinates
    array([[3., 0.],
           [0., 2.]])
    >>> found.fold_back(np.array([[1.0], [10.0]])).T
    array([[ 1.,  0., 10.]])
    """
    n, d = X.shape
    M = products(X, transpose=n < d)
    with single_threaded_blas():
        Q, iterations = _start(min(n, d), k, X.dtype, n_iter, seed)
        for _ in range(iterations):
            Q = orthonormal_basis(M.gram(Q, threads), threads)
        W = M.gram(Q, threads)
        weights, s = _decompose(*gram_matrices(Q, W, threads), k, np.finfo(Q.dtype).eps)
        if n < d:
            coordinates = combined(W, weights, threads).astype(X.dtype, copy=False)
            weights = combined(Q, weights, threads)
        else:
            vectors = combined(W, weights / s, threads).astype(X.dtype, copy=False)
            coordinates = M.dot(vectors, threads)
    signs = _signs(coordinates)
    coordinates *= signs

    def from_rows(beta: np.ndarray) -> np.ndarray:
        with single_threaded_blas():
            return M.dot((weights @ (signs[:, None] * beta)).astype(X.dtype, copy=False), threads)

    def from_vectors(beta: np.ndarray) -> np.ndarray:
        return vectors @ (signs[:, None] * beta)

    return SingularVectors(s, coordinates, from_rows if n < d else from_vectors)


def _start(size: int, k: int, dtype: np.dtype, n_iter: int, seed: int) -> tuple[np.ndarray, int]:
    """Return the first Q, in blocks of columns, and how many iterations follow.

    If this takes no more time, Q is the identity, which makes the result exact without iterations. It is
    small, and therefore float64.
    """
    width = -(-(k + OVERSAMPLING) // BLOCK) * BLOCK
    if size > (n_iter + 1) * width:
        rng = np.random.default_rng(seed)
        return rng.standard_normal((width // BLOCK, size, BLOCK), dtype), n_iter
    count = -(-size // BLOCK)
    identity = np.eye(size, count * BLOCK)
    return np.ascontiguousarray(identity.reshape(size, count, BLOCK).transpose(1, 0, 2)), 0


def _decompose(T: np.ndarray, G: np.ndarray, k: int, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Return weights K of shape (l, k) and the singular values s, such that W K diag(1/s) is orthonormal.

    T = QᵀW and G = WᵀW. With T = E Λ Eᵀ, the columns of M Q E Λ^{-1/2} are orthonormal.
    """
    values, E = np.linalg.eigh((T + T.T) / 2)
    kept = values > len(T) * eps * max(values[-1], 0.0)
    whiten = E[:, kept] / np.sqrt(values[kept])
    squares, P = np.linalg.eigh(whiten.T @ G @ whiten)
    order = np.argsort(squares)[::-1][:k]
    return whiten @ P[:, order], np.sqrt(squares[order])


def _signs(coordinates: np.ndarray) -> np.ndarray:
    """Return the sign of each column's sum of cubes, which does not depend on the order of the rows."""
    cubes = np.einsum("ij,ij,ij->j", coordinates, coordinates, coordinates, dtype=np.float64)
    return np.where(cubes < 0, -1, 1).astype(coordinates.dtype)


def squared_norm(X: Matrix) -> float:
    """Return the sum of the squares of all entries."""
    X = canonical(X)[0]
    entries = X.data if sparse.issparse(X) else np.ravel(X, order="K")
    return float(np.square(entries, dtype=np.float64).sum())


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Switch off the threads of BLAS: ours share the work, and its results depend on their number."""
    with threadpool_limits(1, "blas"):
        yield
