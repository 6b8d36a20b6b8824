"""Feature matrices on the GPU: the passes over rows and columns, for several problems at once."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from dropglm.cuda import passes
from dropglm.cuda.groups import DeviceArray, Group
from dropglm.cuda.runtime import BITS, THREADS, array_module, to_host, view
from dropglm.design import Matrix

# Features with more entries than this are frequent: their entries are cut into chunks.
FREQUENT = 64
CHUNK = 2048
# A thread has about this many entries of a row.
ENTRIES = 16


class Slopes(NamedTuple):
    """Derivatives r and q with respect to η and s², of shape (n, P) each."""

    r: DeviceArray
    q: DeviceArray


class Ends(NamedTuple):
    """β and a direction d, of shape (d, P) each.

    One problem alone has them as words of both as well, in the form that kernels take: then the passes over
    IMDB's bigrams load 8 bytes from one place instead of 4 bytes from two.
    """

    beta: DeviceArray
    direction: DeviceArray
    words: DeviceArray | None = None


class DeviceMatrix(Protocol):
    """A matrix X of shape (n, d) on the GPU. Coefficients are (d, P), numbers of rows (n, P).

    Attributes
    ----------
    calls_kernels_only : bool
        Whether its passes can be recorded.
    kind : str
        How it is stored; the types of the kernels' arguments depend on it.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    calls_kernels_only: bool
    kind: str

    def ray(self, group: Group, ends: Ends, relative: DeviceArray, out: DeviceArray, *, add: bool) -> None:
        """Set, or add to, ``out``: Xd, ρ X²(β·d) and ρ X²d²."""

    def backward(
        self,
        group: Group,
        beta: DeviceArray,
        twice: DeviceArray,
        slopes: Slopes,
        out: DeviceArray,
        *,
        add: bool,
    ) -> None:
        """Set, or add to, ``out``: Xᵀr + 2ρ β·(X²)ᵀq, given 2ρ in the type of X."""

    def column_sums(
        self, group: Group, slopes: Slopes, linear: DeviceArray, squares: DeviceArray, *, add: bool
    ) -> None:
        """Set, or add, Xᵀr to ``linear`` and (X²)ᵀq to ``squares``."""

    @property
    def entries(self) -> Any:
        """The stored values; empty if all of them are 1."""

    def moments(self, group: Group, beta: DeviceArray, eta: DeviceArray, t: DeviceArray) -> None:
        """Set η = Xβ and t = X²β²."""

    def take(self, rows: Any) -> "DeviceMatrix":
        """Return some of the rows."""

    def on_host(self) -> Matrix:
        """Return the matrix in the host's memory."""


class SparseMatrix:
    """A sparse matrix by rows and by columns, the most frequent features first.

    Parameters
    ----------
    indptr, indices, values : arrays of the GPU
        As in CSR, without duplicates or zeros; values are empty if all of them are 1.
    d : int
        Number of features. They are ordered by their number of entries, the largest first, or nearly so: the
        order may be that of these rows together with others.
    """

    calls_kernels_only = True
    kind = "sparse"

    def __init__(self, indptr: Any, indices: Any, values: Any, d: int) -> None:
        xp = array_module()
        n = len(indptr) - 1
        self.shape = (n, d)
        self.dtype = values.dtype
        self._zero = self.dtype.type(0.0)
        # Unsigned, since Numba checks signed indices for wrap-around.
        indices = indices.astype(np.uint32, copy=False)
        self.rows = tuple(DeviceArray(part) for part in (indptr, indices, values))
        self._row_views = [part.view for part in self.rows]
        self._entries_per_row = len(indices) / max(n, 1)
        order = xp.argsort(indices, kind="stable")
        row_of = (xp.searchsorted(indptr, order, side="right") - 1).astype(np.uint32)
        before = xp.searchsorted(indices[order], xp.arange(d + 1, dtype=np.uint32))
        counts = xp.diff(before)
        by_column = before, row_of, values[order] if len(values) else values
        self.columns = tuple(DeviceArray(part) for part in by_column)
        self.frequent = int((counts > FREQUENT).sum())
        self._set_chunks(before, counts[: self.frequent])
        self._nothing, self._no_words = (
            DeviceArray(xp.zeros((0, 2), self.dtype)),
            DeviceArray(xp.zeros(0, np.uint64)),
        )
        self._sums: Any = None

    def _set_chunks(self, before: Any, counts: Any) -> None:
        """Cut the entries of the frequent features into chunks, given their numbers of entries."""
        xp = array_module()
        chunks_before = xp.zeros(self.frequent + 1, np.int64)
        chunks_before[1:] = xp.cumsum(-(-counts // CHUNK))
        self.chunk_count = int(chunks_before[-1])
        # Which feature a chunk belongs to, and which of its chunks it is.
        number = xp.arange(self.chunk_count)
        feature = xp.searchsorted(chunks_before, number, side="right") - 1
        starts = before[feature] + CHUNK * (number - chunks_before[feature])
        stops = xp.minimum(starts + CHUNK, before[feature + 1])
        self._starts, self._stops, self._chunks_before = map(view, (starts, stops, chunks_before))

    @property
    def entries(self) -> Any:
        """The stored values; empty if all of them are 1."""
        return self.rows[2].array

    def moments(self, group: Group, beta: DeviceArray, eta: DeviceArray, t: DeviceArray) -> None:
        """Set η = Xβ and t = X²β²."""
        pairs, width, stride = _by_two(group, beta)
        e, blocks = self._lanes(pairs)
        rows = e, self._zero, *self._row_views
        pairs.call(passes.moments, blocks, width, *rows, stride, beta.flat(width), eta.view, t.view)

    def ray(self, group: Group, ends: Ends, relative: DeviceArray, out: DeviceArray, *, add: bool) -> None:
        """Set, or add to, ``out``: Xd, ρ X²(β·d) and ρ X²d²."""
        pairs, width, stride = _by_two(group, ends.beta)
        e, blocks = self._lanes(pairs)
        rows = e, self._zero, *self._row_views
        words = ends.beta.flat(width), ends.direction.flat(width)
        if ends.words is not None:
            words = ends.words.view, self._no_words.view
        pairs.call(passes.ray, blocks, width, *rows, stride, *words, relative.view, add, out.view)

    def backward(
        self,
        group: Group,
        beta: DeviceArray,
        twice: DeviceArray,
        slopes: Slopes,
        out: DeviceArray,
        *,
        add: bool,
    ) -> None:
        """Set, or add to, ``out``: Xᵀr + 2ρ β·(X²)ᵀq, given 2ρ in the type of X."""
        self._sum_columns(group, beta, twice, slopes, add, out, self._nothing)

    def column_sums(
        self, group: Group, slopes: Slopes, linear: DeviceArray, squares: DeviceArray, *, add: bool
    ) -> None:
        """Set, or add, Xᵀr to ``linear`` and (X²)ᵀq to ``squares``."""
        self._sum_columns(group, self._nothing, self._nothing, slopes, add, linear, squares)

    def take(self, rows: Any) -> "SparseMatrix":
        """Return some of the rows, with the same features."""
        xp = array_module()
        indptr, indices, values = (part.array for part in self.rows)
        sizes = xp.diff(indptr)[rows]
        before = xp.zeros(len(sizes) + 1, np.int64)
        before[1:] = xp.cumsum(sizes)
        entries = xp.arange(int(before[-1]))
        row = xp.searchsorted(before, entries, side="right") - 1
        places = indptr[:-1][rows][row] + entries - before[row]
        return SparseMatrix(before, indices[places], values[places] if len(values) else values, self.shape[1])

    def on_host(self) -> Matrix:
        """Return the matrix in the host's memory."""
        indptr, indices, values = (to_host(part.array) for part in self.rows)
        data = values if len(values) else np.ones(len(indices), self.dtype)
        return sparse.csr_array((data, indices.astype(np.int64), indptr), self.shape)

    def _sum_columns(
        self,
        group: Group,
        beta: DeviceArray,
        twice: DeviceArray,
        slopes: Slopes,
        add: bool,
        out: DeviceArray,
        squares: DeviceArray,
    ) -> None:
        pairs, width, stride = _by_two(group, out)
        before, row_of, values = (part.view for part in self.columns)
        entries, per_block = (row_of, values), THREADS >> pairs.g
        r, q, coefficients, sums_r, sums_q = (
            pair.flat(width) for pair in (slopes.r, slopes.q, beta, out, squares)
        )
        factors = coefficients, twice.flat(1)
        rare = self.shape[1] - self.frequent
        if rare:
            pairs.call(
                *(passes.backward, -(-rare // per_block), width, self._zero, self.frequent, before, *entries),
                *(stride, *factors, r, q, add, sums_r, sums_q),
            )
        if self.frequent:
            sums = self._partial_sums(slopes.r.array.shape[1])
            # A warp has a chunk; with many problems, two threads of each.
            e = min(BITS - pairs.g, max(5 - pairs.g, 1))
            blocks = -(-self.chunk_count // (per_block >> e))
            chunks = e, self._zero, self._starts, self._stops
            pairs.call(passes.backward_chunks, blocks, width, *chunks, *entries, stride, r, q, sums)
            pairs.call(
                *(passes.add_chunks, -(-self.frequent // per_block), width, self._zero, self._chunks_before),
                *(sums, stride, *factors, add, sums_r, sums_q),
            )

    def _lanes(self, group: Group) -> tuple[int, int]:
        """Return log₂ of the number of threads for a row and problem, and the number of blocks."""
        e = 0
        # With many problems, threads for different entries of a row pay less.
        most = min(THREADS, 64 + (2 << group.g)) >> group.g
        while 1 << e < most and self._entries_per_row > ENTRIES << e:
            e += 1
        return e, -(-self.shape[0] // (THREADS >> (group.g + e)))

    def _partial_sums(self, problems: int) -> Any:
        if self._sums is None or self._sums.shape[2] != problems:
            self._sums = view(array_module().empty((2, self.chunk_count, problems)))
        return self._sums


class DenseMatrix:
    """A dense matrix; its passes are products of matrices.

    Parameters
    ----------
    X : array of the GPU of shape (n, d)
    """

    calls_kernels_only = False
    kind = "dense"

    def __init__(self, X: Any) -> None:
        self.X = X
        self.squares = X * X
        self.shape = X.shape
        self.dtype = X.dtype

    @property
    def entries(self) -> Any:
        """The stored values."""
        return self.X

    def moments(self, group: Group, beta: DeviceArray, eta: DeviceArray, t: DeviceArray) -> None:
        """Set η = Xβ and t = X²β²."""
        _put(group, self.X @ beta.array, eta.array, False)
        _put(group, self.squares @ (beta.array * beta.array), t.array, False)

    def ray(self, group: Group, ends: Ends, relative: DeviceArray, out: DeviceArray, *, add: bool) -> None:
        """Set, or add to, ``out``: Xd, ρ X²(β·d) and ρ X²d²."""
        b, d = ends.beta.array, ends.direction.array
        products = self.X @ d, self.squares @ (b * d), self.squares @ (d * d)
        for place, product in enumerate(products):
            _put(group, product if place == 0 else relative.array * product, out.array[place], add)

    def backward(
        self,
        group: Group,
        beta: DeviceArray,
        twice: DeviceArray,
        slopes: Slopes,
        out: DeviceArray,
        *,
        add: bool,
    ) -> None:
        """Set, or add to, ``out``: Xᵀr + 2ρ β·(X²)ᵀq, given 2ρ in the type of X."""
        by_q = twice.array * beta.array * (self.squares.T @ slopes.q.array)
        _put(group, self.X.T @ slopes.r.array + by_q, out.array, add)

    def column_sums(
        self, group: Group, slopes: Slopes, linear: DeviceArray, squares: DeviceArray, *, add: bool
    ) -> None:
        """Set, or add, Xᵀr to ``linear`` and (X²)ᵀq to ``squares``."""
        _put(group, self.X.T @ slopes.r.array, linear.array, add)
        _put(group, self.squares.T @ slopes.q.array, squares.array, add)

    def take(self, rows: Any) -> "DenseMatrix":
        """Return some of the rows."""
        return DenseMatrix(self.X[rows])

    def on_host(self) -> Matrix:
        """Return the matrix in the host's memory."""
        return to_host(self.X)


def _by_two(group: Group, coefficients: DeviceArray) -> tuple[Group, int, np.uint32]:
    """Return the group for passes over X, the number of problems of a thread, and the words of a feature."""
    P = coefficients.array.shape[1]
    if group.by_two is None or coefficients.array.dtype != np.float32:
        return group, 1, np.uint32(P)
    return group.by_two, 2, np.uint32(P // 2)


def _put(group: Group, product: Any, out: Any, add: bool) -> None:
    """Set the columns of the group, or add to them."""
    own = slice(None) if len(group.numbers) == out.shape[1] else group.numbers
    out[:, own] = out[:, own] + product[:, own] if add else product[:, own]
