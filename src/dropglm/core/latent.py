r"""The first singular vectors of a large matrix, from a random block Krylov space (Musco and Musco 2015).

X ≈ U D Vᵀ. Let M = Xᵀ if X has fewer rows than columns, and M = X otherwise, so that G = MᵀM is the smaller
of XXᵀ and XᵀX. From a random block Q₀ of 16 columns, G Q₀, G² Q₀, … are made orthonormal one by one: ::

    G Q_t = Q₀ H₀ₜ + … + Q_t H_tt + Q_{t+1} R_{t+1}

so that G Q = Q⁺ H for the blocks Q of all steps and Q⁺, which has one more block. Then M is projected on the
range of M Q: with T = QᵀG Q, the first rows of H, the columns of B = M Q T^{-1/2} are orthonormal, and the
singular value decomposition of BᵀM = T^{-1/2} (Q⁺ H)ᵀ is that of a small matrix.

Each step takes one pass over X, in which M Q_t, which may have a million rows, is never stored. Power
iterations, which keep only the last block, need more work: on the bigrams of 10,000 reviews, 128 columns and
two power iterations (384 columns of products) found 70 % of the space of the first 100 singular vectors, and
16 steps (256 columns) found 85 %.

The work of every product is split into pieces that do not depend on the number of threads, so neither do the
results.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from dropglm.base.errors import InputError
from dropglm.base.threads import PIECE, each, even_pieces, even_ranges
from dropglm.core.design import Matrix
from dropglm.core.design.prepare import canonical, transposed
from dropglm.core.design.storage import StoredRows, column, entries_before, span, store, value
from dropglm.core.maths.compile import fused_kernel
from dropglm.core.maths.instructions import prefetch

__all__ = ["SingularVectors", "singular_vectors"]

# Eigenvalues of G below this multiple of the rounding error of the largest one are noise.
NOISE = 16

# Columns of Q in ``gram``. In float32 a row of Q is one cache line, and more rows fit into the cache. With
# the words of 50,000 texts, 16 columns took 50 ms alone, 78 ms as half of 32 and 83 ms as a quarter of 64.
WIDTH = 16

# Sums over the rows of M are split into at most so many pieces, each with a W of its own.
PIECES = 16

# Rows of a tall matrix per slice, which is then small enough for the cache.
SLICE = 4096

# Entries between a prefetch and its use.
AHEAD = 8


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

    See Also
    --------
    singular_vectors : Computes them.
    dropglm.LatentFeatures : The transformer around them.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm.core.latent import singular_vectors
    >>> singular_vectors(np.diag([3.0, 2.0]), 1).vectors().round(2) + 0.0
    array([[1.],
           [0.]])
    """

    singular_values: np.ndarray
    coordinates: np.ndarray
    fold_back: Callable[[np.ndarray], np.ndarray]

    def vectors(self) -> np.ndarray:
        """Return V, of shape (d, k), with orthonormal columns; computed anew on each call.

        Returns
        -------
        ndarray of shape (d, k)
            The vectors.
        """
        k = len(self.singular_values)
        return self.fold_back(np.eye(k, dtype=self.coordinates.dtype))


def default_steps(k: int) -> int:
    """Return how many passes to make for k vectors: enough for 2.5 k columns, and at least 8.

    With 8, 12, 16 and 20 steps, 54, 72, 85 and 94 % of the space of the first 100 singular vectors were found
    on the bigrams of 10,000 reviews, in 0.36, 0.57, 0.8 and 0.93 s; 84, 97, 99.9 and 100 % of the first 50.
    """
    return max(8, -(-5 * k // (2 * WIDTH)))


def singular_vectors(
    X: Matrix, k: int, *, steps: int | None = None, seed: int = 0, threads: int = 1
) -> SingularVectors:
    """Return the first k right singular vectors of X, or fewer if its rank is smaller.

    Parameters
    ----------
    X : ndarray or scipy sparse of shape (n, d), float32 or float64
        The rows are not centred. Singular values below about 0.0014 (float32) or 6e-8 (float64) times the
        largest count as zero.
    k : int
        Number of vectors.
    steps : int, optional
        Number of passes over X; see ``default_steps``. There are at least as many as k vectors need.
    seed : int
        Seed of the random start. If the shorter side of X is below 16 (steps + 1), there is none, and the
        result is exact.
    threads : int
        Number of threads; the result does not depend on it.

    Returns
    -------
    SingularVectors
        The vectors, their singular values and the rows in their coordinates.

    See Also
    --------
    dropglm.LatentFeatures : The transformer around this function.

    Examples
    --------
    >>> found = singular_vectors(np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 2.0]]), 5)
    >>> found.singular_values
    array([3., 2.])
    >>> found.coordinates + 0.0
    array([[3., 0.],
           [0., 2.]])
    >>> found.fold_back(np.array([[1.0], [10.0]])).T
    array([[ 1.,  0., 10.]])
    """
    n, d = X.shape
    M = products(X, transpose=n < d, threads=threads)
    with single_threaded_blas():
        space = singular_space(M, k, steps=steps, dtype=X.dtype, seed=seed, threads=threads)
        if n < d:
            coordinates = space.right_vectors(X.dtype, threads, unit=False)
            of_rows = space.coefficients(X.dtype, threads)
        else:
            vectors = space.right_vectors(X.dtype, threads)
            coordinates = M.dot(vectors, threads)
    signs = _signs(coordinates)
    coordinates *= signs

    def from_rows(beta: np.ndarray) -> np.ndarray:
        with single_threaded_blas():
            combined = of_rows @ (signs[:, None] * beta)
            return M.dot(combined.astype(X.dtype, copy=False), threads)

    def from_vectors(beta: np.ndarray) -> np.ndarray:
        return vectors @ (signs[:, None] * beta)

    return SingularVectors(space.s, coordinates, from_rows if n < d else from_vectors)


class Products(Protocol):
    """M of shape (m, n) with m ≥ n, wherever it is, seen through two products."""

    shape: tuple[int, int]

    def gram(self, Q: np.ndarray, threads: int) -> np.ndarray:
        """Return MᵀM Q for Q of shape (n, WIDTH)."""

    def dot(self, B: np.ndarray, threads: int) -> np.ndarray:
        """Return M B, of shape (m, K) and in the type of B."""


class SingularSpace(NamedTuple):
    """Q⁺, H and the weights with which the columns of M Q weights are the left singular vectors of M."""

    basis: np.ndarray  # Q⁺
    H: np.ndarray
    weights: np.ndarray
    s: np.ndarray  # singular values

    def right_vectors(self, dtype: np.dtype, threads: int, *, unit: bool = True) -> np.ndarray:
        """Return the right singular vectors of M, Q⁺ H weights / s; of length s if not ``unit``."""
        combined = self.H @ self.weights
        return multiplied(self.basis, combined / self.s if unit else combined, threads).astype(
            dtype, copy=False
        )

    def coefficients(self, dtype: np.dtype, threads: int) -> np.ndarray:
        """Return Q weights, by which M is multiplied to get its left singular vectors."""
        Q = self.basis[:, : len(self.weights)]
        return multiplied(Q, self.weights, threads).astype(dtype, copy=False)


def singular_space(
    M: Products, k: int, *, dtype: np.dtype, threads: int, steps: int | None = None, seed: int = 0
) -> SingularSpace:
    """Return where the first k singular vectors of M are; the arguments are those of ``singular_vectors``."""
    steps = max(default_steps(k) if steps is None else steps, -(-k // WIDTH))
    if M.shape[1] < (steps + 1) * WIDTH:
        basis, H = _whole_space(M, threads)
    else:
        basis, H = _krylov_space(M, steps, dtype, seed, threads)
    return SingularSpace(basis, H, *_decompose(H, k, float(np.finfo(basis.dtype).eps)))


def _krylov_space(
    M: Products, steps: int, dtype: np.dtype, seed: int, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return Q⁺ of shape (size, 16 (steps + 1)), and H of shape (16 (steps + 1), 16 steps) as float64."""
    size = M.shape[1]
    basis = np.empty((size, WIDTH * (steps + 1)), dtype)
    H = np.zeros((WIDTH * (steps + 1), WIDTH * steps))
    block = aligned_zeros((size, WIDTH), dtype)
    np.random.default_rng(seed).standard_normal(out=block, dtype=dtype)
    orthonormalize(block, threads)
    basis[:, :WIDTH] = block
    for step in range(steps):
        here, following = WIDTH * step, WIDTH * (step + 1)
        before = basis[:, :following]
        block = M.gram(block, threads)
        H[:following, here:following] = subtract_projection(block, before, threads)
        R = orthonormalize(block, threads)
        # What is left may be small, or even be rounding errors only, and is then not orthogonal to the basis.
        # The second time almost nothing changes, unless it was.
        left = 0.0
        while left < 0.5:
            H[:following, here:following] += subtract_projection(block, before, threads) @ R
            again = orthonormalize(block, threads)
            R, left = again @ R, float(np.abs(np.diag(again)).min())
        H[following : following + WIDTH, here:following] = R
        basis[:, following : following + WIDTH] = block
    return basis, H


def _whole_space(M: Products, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the identity and G itself, as float64, which is small."""
    size = M.shape[1]
    G = np.empty((size, size))
    for first in range(0, size, WIDTH):
        block = aligned_zeros((size, WIDTH), np.dtype(np.float64))
        columns = np.arange(first, min(first + WIDTH, size))
        block[columns, columns - first] = 1.0
        G[:, columns] = M.gram(block, threads)[:, : len(columns)]
    return np.eye(size), G


def _decompose(H: np.ndarray, k: int, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """Return weights of shape (l, k) and the singular values s, such that Q⁺ H weights / s is orthonormal.

    With T = E Λ Eᵀ, the columns of M Q E Λ^{-1/2} are orthonormal, and so are those of M Q weights.
    """
    if not np.isfinite(H).all():
        raise InputError("The entries of X are too large: their squares overflow; divide X by a constant.")
    T = H[: H.shape[1]]
    values, E = np.linalg.eigh((T + T.T) / 2)
    kept = values > NOISE * eps * max(values[-1], 0.0)
    whitened = E[:, kept] / np.sqrt(values[kept])
    # The eigenvectors of (Q⁺ H whitened)ᵀ (Q⁺ H whitened), where Q⁺ is orthonormal.
    P, s, _ = np.linalg.svd((H @ whitened).T, full_matrices=False)
    return whitened @ P[:, :k], s[:k]


def _signs(coordinates: np.ndarray) -> np.ndarray:
    """Return the sign of each column's sum of cubes, which does not depend on the order of the rows."""
    cubes = np.einsum("ij,ij,ij->j", coordinates, coordinates, coordinates, dtype=np.float64)
    return np.where(cubes < 0, -1, 1).astype(coordinates.dtype)


def squared_norm(X: Matrix, threads: int = 1) -> float:
    """Return the sum of the squares of all entries."""
    X = canonical(X, threads)[0]
    entries = X.data if sparse.issparse(X) else np.ravel(X, order="K")

    def part(bounds: tuple[int, int]) -> float:
        return float(np.square(entries[slice(*bounds)], dtype=np.float64).sum())

    return sum(each(part, even_ranges(len(entries), PIECE), threads))


def single_threaded_blas() -> threadpool_limits:
    """Switch off the threads of BLAS: ours share the work, and its results depend on their number."""
    return threadpool_limits(1, "blas")


class ProductsInMemory(Products):
    """M in memory, whose rows are split into pieces.

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
        sums = aligned_zeros((len(self._pieces), *Q.shape), Q.dtype)
        each(lambda p: self._add_gram(*self._pieces[p], Q, sums[p]), range(len(self._pieces)), threads)
        total = sums[0]

        def add(rows: slice) -> None:
            for other in sums[1:]:
                total[rows] += other[rows]

        each(add, _slices(total), threads)
        return total

    @abstractmethod
    def _add_gram(self, first: int, last: int, Q: np.ndarray, W: np.ndarray) -> None:
        """Add the part of MᵀM Q that comes from rows first to last - 1 of M to W."""


class SparseProducts(ProductsInMemory):
    """M by its rows."""

    def __init__(self, rows: StoredRows, shape: tuple[int, int]) -> None:
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
            # Not to the columns of the product: the loop is compiled for contiguous arrays only.
            part = np.empty_like(product[:, columns], order="C")
            each(partial(self._multiply, block, part), pieces, threads)
            product[:, columns] = part
        return product

    def _multiply(self, block: np.ndarray, out: np.ndarray, bounds: tuple[int, int]) -> None:
        multiply(self.rows, *bounds, block, np.empty(block.shape[1], block.dtype), out)


class DenseProducts(ProductsInMemory):
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


def products(X: Matrix, *, transpose: bool = False, threads: int = 1) -> ProductsInMemory:
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
    projection = reduce(np.add, parts)
    rounded = projection.astype(W.dtype)

    def subtract(rows: slice) -> None:
        W[rows] -= basis[rows] @ rounded

    each(subtract, slices, threads)
    return projection


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


@fused_kernel
def add_gram_product(rows, first, last, Q, W, z):
    """Add Σ_r m_r (m_rᵀ Q) to W, where m_r are rows first to last - 1 of M; z has room for a row of Q.

    Over all rows this is MᵀM Q. M Q, which has as many rows as M, is never stored. The width of z is not a
    constant on purpose: LLVM unrolls short loops of known length before it can vectorise them, which took two
    to five times as long. With 50,000 rows of 16 columns in Q and W, prefetching saved 20 to 40 %.
    """
    end = span(rows, last - 1)[1] - 1
    for r in range(first, last):
        start, stop = span(rows, r)
        for c in range(z.size):
            z[c] = 0
        for k in range(start, stop):
            prefetch(Q, column(rows, min(k + AHEAD, end)))
            i, x = column(rows, k), Q.dtype.type(value(rows, r, k))
            for c in range(z.size):
                z[c] += x * Q[i, c]
            prefetch(W, i)
        for k in range(start, stop):
            i, x = column(rows, k), Q.dtype.type(value(rows, r, k))
            for c in range(z.size):
                W[i, c] += x * z[c]


@fused_kernel
def multiply(rows, first, last, B, z, product):
    """Write Σ_j m_rj B_j for rows first to last - 1 of M into product; z has room for a row of B."""
    end = span(rows, last - 1)[1] - 1
    for r in range(first, last):
        start, stop = span(rows, r)
        for c in range(z.size):
            z[c] = 0
        for k in range(start, stop):
            prefetch(B, column(rows, min(k + AHEAD, end)))
            j, x = column(rows, k), B.dtype.type(value(rows, r, k))
            for c in range(z.size):
                z[c] += x * B[j, c]
        for c in range(z.size):
            product[r, c] = z[c]
