"""Feature matrices on their way to the GPU and there, and noised copies of their rows.

``upload`` brings matrices into canonical form and orders the features by frequency. ``DeviceDesign`` has the
operations of ``dropglm.core.design.Design``: numbers of rows come from the host and go back to it, numbers of
features stay on the GPU. Fits do not use them; what happens once per fit, fold or class does. ``draw`` makes
the copies for a penalty by Monte Carlo: those of ``dropglm.core.penalties.monte_carlo``, but drawn only
once in a fit, by the host. The passes over the copies are those over any rows.
"""

import os
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from dropglm.base.errors import InputError, TooLargeError
from dropglm.base.gpu_arrays import is_on_gpu, to_host
from dropglm.base.threads import each
from dropglm.core.design import AnyDesign, BlockDesign, Design, Matrix
from dropglm.core.design.prepare import canonical
from dropglm.core.penalties import MonteCarlo
from dropglm.places.gpu.matrix import DenseMatrix, DeviceMatrix, Ray, Slopes, SparseMatrix
from dropglm.places.gpu.runtime import GpuArray, Group, Stream, array_module, room_for


class DeviceBlock(NamedTuple):
    """A block of columns: its number among the blocks, its columns, and a design of them."""

    number: int
    columns: slice
    design: "DeviceDesign"


class DeviceDesign:
    """Matrices on the GPU side by side, with the same rows.

    Parameters
    ----------
    matrices : sequence of DeviceMatrix
    numbers : sequence of int, optional
        Numbers of the blocks among those of the user, if some were left out.
    threads : int
        Number of threads for what is done on the host.
    """

    rows = None  # never on the host

    def __init__(
        self, matrices: Sequence[DeviceMatrix], numbers: Sequence[int] | None = None, threads: int = 1
    ) -> None:
        self.threads = threads
        self.matrices = list(matrices)
        self.numbers = list(range(len(matrices)) if numbers is None else numbers)
        ends = np.cumsum([matrix.shape[1] for matrix in matrices]).tolist()
        self.places = [slice(end - matrix.shape[1], end) for matrix, end in zip(matrices, ends, strict=True)]
        self.shape = (matrices[0].shape[0], ends[-1])
        self.dtype = matrices[0].dtype

    @property
    def placed(self) -> list[tuple[slice, DeviceMatrix]]:
        """The matrices, and their places among the coefficients."""
        return list(zip(self.places, self.matrices, strict=True))

    @property
    def blocks(self) -> tuple[DeviceBlock, ...]:
        """The blocks."""
        designs = [self]
        if len(self.matrices) > 1:
            designs = [DeviceDesign([one], threads=self.threads) for one in self.matrices]
        return tuple(map(DeviceBlock, self.numbers, self.places, designs))

    @property
    def smallest(self) -> float:
        """The smallest entry, or 0 if no entry is negative."""
        entries = [matrix.entries for matrix in self.matrices]
        return min([0.0, *(float(values.min()) for values in entries if values.size)])

    def without(self, numbers: Collection[int]) -> Self:
        """Return the design without the blocks of these numbers; the others keep theirs."""
        kept = [place for place, number in enumerate(self.numbers) if number not in numbers]
        return type(self)([self.matrices[k] for k in kept], [self.numbers[k] for k in kept], self.threads)

    def take(self, rows: np.ndarray) -> Self:
        """Return a design of some of the rows, with the same features."""
        chosen = array_module().asarray(rows)
        return type(self)([matrix.take(chosen) for matrix in self.matrices], self.numbers, self.threads)

    def on_host(self) -> AnyDesign:
        """Return the design in the host's memory."""
        designs = [Design(matrix.on_host(), threads=self.threads) for matrix in self.matrices]
        return BlockDesign(designs, self.numbers)

    def dot(self, beta: Any) -> np.ndarray:
        """Return Xβ for coefficients of shape (d, K), of the host or of the GPU; shape (n, K), float64."""
        xp, K = array_module(), beta.shape[1]
        ray, no_noise = GpuArray(xp.zeros((3, self.shape[0], K))), GpuArray(xp.zeros(K))
        with Stream() as stream:
            group = Group(K, stream)
            for number, (place, matrix) in enumerate(self.placed):
                part = GpuArray(xp.ascontiguousarray(xp.asarray(beta[place], dtype=self.dtype)))
                matrix.ray(group, Ray(part, part), no_noise, ray, add=number > 0)
        return to_host(ray.array[0])

    def transposed_dot(self, r: np.ndarray) -> Any:
        """Return Xᵀr for r of shape (n, K); an array of the GPU of shape (d, K), in X's dtype."""
        xp, K = array_module(), r.shape[1]
        with Stream() as stream:
            group = Group(K, stream)
            slopes = GpuArray(xp.asarray(np.ascontiguousarray(r, self.dtype)))
            sums, no_factor = xp.zeros((self.shape[1], K), self.dtype), GpuArray(xp.zeros(K, self.dtype))
            for place, matrix in self.placed:
                part = GpuArray(sums[place])
                matrix.backward(group, part, no_factor, Slopes(slopes, slopes), part, add=False)
        return sums


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
        raise InputError(f"X_unlabeled contains numbers too large for X's dtype {dtype}.")
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


class Copies(NamedTuple):
    """Noised copies of the rows of a set, those of a row following each other."""

    blocks: Sequence[tuple[slice, DeviceMatrix]]
    n_samples: int


def draw(penalty: MonteCarlo, design: DeviceDesign) -> Copies:
    """Draw the copies of all rows of a design."""
    host = design.on_host()
    _check_memory(penalty, host)

    def draw_range(rows: tuple[int, int]) -> list[Matrix]:
        """Return all copies of some rows, one matrix per block of features."""
        parts = penalty.parts(host, *rows)
        # The copies of a row follow each other.
        order = np.arange(penalty.n_samples * (rows[1] - rows[0])).reshape(penalty.n_samples, -1).T.ravel()
        drawn = zip(*penalty.copies(parts, rows[0]), strict=True)
        return [
            _widened(
                _joined(copies)[order], part.columns - place.start, place.stop - place.start, design.dtype
            )
            for copies, part, place in zip(drawn, parts, design.places, strict=True)
        ]

    by_block = zip(*each(draw_range, penalty.row_ranges(host), design.threads), strict=True)
    matrices = [put_on_gpu(_joined(pieces), design.threads) for pieces in by_block]
    return Copies(DeviceDesign(matrices).placed, penalty.n_samples)


def _widened(X: Matrix, columns: np.ndarray, d: int, dtype: np.dtype) -> Matrix:
    """Return a matrix over all d features, given those of its columns."""
    if not sparse.issparse(X):
        wide = np.zeros((X.shape[0], d), dtype)
        wide[:, columns] = X
        return wide
    return sparse.csr_array((X.data.astype(dtype), columns[X.indices], X.indptr), (X.shape[0], d))


def _check_memory(penalty: MonteCarlo, design: AnyDesign) -> None:
    """Raise an error if the copies would fill the host's memory, where all of them are before the GPU's."""
    numbers = sum(
        block.shape[0] * block.shape[1] if penalty.noise.of_block(number).absolute else 2 * block.nnz
        for number, _, block in design.blocks
    )
    size = penalty.n_samples * numbers * design.dtype.itemsize
    if size > physical_memory():
        raise TooLargeError(
            f"{penalty.n_samples} noised copies of the rows need about {size / 2**30:,.0f} GiB of memory; "
            "use expectation='gaussian', or device='cpu', which keeps few of them at a time.",
            *("expectation", "device"),
        )


def physical_memory() -> float:
    """Return the bytes of the host's memory, or infinity where they are not known."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # on Windows
        return float("inf")


def _joined(matrices: Sequence[Matrix]) -> Matrix:
    return sparse.vstack(matrices, "csr") if sparse.issparse(matrices[0]) else np.concatenate(matrices)
