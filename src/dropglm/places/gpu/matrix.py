"""Feature matrices on the GPU: the passes over rows and columns, for several problems at once.

A ``DeviceMatrix`` X has the shape (n, d); coefficients are (d, P), numbers of rows (n, P). Its ``kind`` says
how it is stored, on which the types of the kernels' arguments depend, and ``calls_kernels_only`` whether its
passes can be recorded.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.base.gpu_arrays import to_host
from dropglm.core.design import Matrix
from dropglm.places.gpu import passes
from dropglm.places.gpu.runtime import BITS, THREADS, GpuArray, Group, array_module, view

# Features with more entries than this are frequent: their entries are cut into chunks.
FREQUENT = 64
CHUNK = 2048
# A thread has about this many entries of a row.
ENTRIES = 16
# Numbers of a dense matrix that are centred at a time.
CENTRED = 1 << 24
# If the mean of a feature is more than FAR of its standard deviations away from 0, sums over X need float64,
# as they have on the CPU: at 4,000, those in float32 end at a gradient norm of some 3e-4. Where it is more
# than CONSTANT, the feature only rounds.
FAR, CONSTANT = 100.0, 1e6


class Slopes(NamedTuple):
    """Derivatives r and q with respect to η and s², of shape (n, P) each."""

    r: GpuArray
    q: GpuArray


class Ray(NamedTuple):
    """β and a direction d, of shape (d, P) each.

    One problem alone has them as words of both as well, in the form that kernels take: then the passes over
    IMDB's bigrams load 8 bytes from one place instead of 4 bytes from two.
    """

    beta: GpuArray
    direction: GpuArray
    words: GpuArray | None = None


class Centre(NamedTuple):
    """Columns of mean rows m, of shape (d, M), the column of each problem, and Σ r over the rows."""

    mean: GpuArray
    place: GpuArray  # (P,)
    total: GpuArray  # (P,)


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

    def __init__(self, indptr: Any, indices: Any, values: Any, d: int) -> None:
        xp = array_module()
        n = len(indptr) - 1
        self.shape = (n, d)
        self.dtype = values.dtype
        if len(values):
            sums, squares = xp.zeros((2, d))
            exact = values.astype(np.float64, copy=False)
            xp.add.at(sums, indices, exact)
            xp.add.at(squares, indices, exact * exact)
            mean = sums / n
            values = exact if _is_far(mean, xp.sqrt(xp.maximum(squares / n - mean * mean, 0.0))) else values
        self.kind = f"sparse {values.dtype}"
        self._zero = values.dtype.type(0.0)
        # Unsigned, since Numba checks signed indices for wrap-around.
        indices = indices.astype(np.uint32, copy=False)
        self.rows = tuple(GpuArray(part) for part in (indptr, indices, values))
        self._row_views = [part.view for part in self.rows]
        self._entries_per_row = len(indices) / max(n, 1)
        order = xp.argsort(indices, kind="stable")
        row_of = (xp.searchsorted(indptr, order, side="right") - 1).astype(np.uint32)
        before = xp.searchsorted(indices[order], xp.arange(d + 1, dtype=np.uint32))
        counts = xp.diff(before)
        by_column = before, row_of, values[order] if len(values) else values
        self.columns = tuple(GpuArray(part) for part in by_column)
        self.frequent = int((counts > FREQUENT).sum())
        self._set_chunks(before, counts[: self.frequent])
        self._no_words = GpuArray(xp.zeros(0, np.uint64))
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

    def ray(self, group: Group, ends: Ray, relative: GpuArray, out: GpuArray, *, add: bool) -> None:
        """Set, or add to, ``out``: Xd, ρ X²(β·d) and ρ X²d²."""
        pairs, width, stride = _by_two(group, ends.beta)
        e, blocks = self._lanes(pairs)
        rows = e, self._zero, *self._row_views
        words = ends.beta.flat(width), ends.direction.flat(width)
        if ends.words is not None:
            words = ends.words.view, self._no_words.view
        pairs.call(passes.ray, blocks, width, *rows, stride, *words, relative.view, add, out.view)

    def backward(
        self, group: Group, beta: GpuArray, twice: GpuArray, slopes: Slopes, out: GpuArray, *, add: bool
    ) -> None:
        """Set, or add to, ``out``: Xᵀr + 2ρ β·(X²)ᵀq, given 2ρ in the type of X."""
        pairs, width, stride = _by_two(group, out)
        before, row_of, values = (part.view for part in self.columns)
        entries, per_block = (row_of, values), THREADS >> pairs.g
        r, q, coefficients, sums_of = (pair.flat(width) for pair in (slopes.r, slopes.q, beta, out))
        factors = coefficients, twice.flat(1)
        rare = self.shape[1] - self.frequent
        if rare:
            pairs.call(
                *(passes.backward, -(-rare // per_block), width, self._zero, self.frequent, before, *entries),
                *(stride, *factors, r, q, add, sums_of),
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
                *(sums, stride, *factors, add, sums_of),
            )

    def spread(
        self, group: Group, centre: Centre, relative: GpuArray, slopes: Slopes, out: GpuArray, *, add: bool
    ) -> None:
        """Set ``out`` to Σ r (x - m)² + ρ q x² of each feature; or add to it, where every r is 0."""
        rest = (
            *(part.view for part in self.columns),
            *(centre.mean.view, centre.place.view, centre.total.view, relative.view),
            *(slopes.r.view, slopes.q.view, add, out.view),
        )
        d, per_block = self.shape[1], THREADS >> group.g
        if d > self.frequent:
            group.call(passes.spread, -(-(d - self.frequent) // per_block), 0, self.frequent, d, *rest)
        if self.frequent:
            # A block has one feature and one problem.
            grid, columns = (self.frequent, group.capacity), group.columns
            group.stream.call(passes.spread, grid, columns, 0, BITS, 0, self.frequent, *rest)

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
        chosen = values[places].astype(self.dtype, copy=False) if len(values) else values
        return SparseMatrix(before, indices[places], chosen, self.shape[1])

    def on_host(self) -> Matrix:
        """Return the matrix in the host's memory."""
        indptr, indices, values = (to_host(part.array) for part in self.rows)
        data = values.astype(self.dtype) if len(values) else np.ones(len(indices), self.dtype)
        return sparse.csr_array((data, indices.astype(np.int64), indptr), self.shape)

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
        self.shape = X.shape
        self.dtype = X.dtype
        is_far = _is_far(*(moment(axis=0, dtype=np.float64) for moment in (X.mean, X.std)))
        self.X = X.astype(np.float64) if is_far else X
        self.squares = self.X * self.X

    @property
    def entries(self) -> Any:
        """The stored values."""
        return self.X

    def ray(self, group: Group, ends: Ray, relative: GpuArray, out: GpuArray, *, add: bool) -> None:
        """Set, or add to, ``out``: Xd, ρ X²(β·d) and ρ X²d²."""
        b, d = ends.beta.array, ends.direction.array
        products = self.X @ d, self.squares @ (b * d), self.squares @ (d * d)
        for place, product in enumerate(products):
            _put(group, product if place == 0 else relative.array * product, out.array[place], add)

    def backward(
        self, group: Group, beta: GpuArray, twice: GpuArray, slopes: Slopes, out: GpuArray, *, add: bool
    ) -> None:
        """Set, or add to, ``out``: Xᵀr + 2ρ β·(X²)ᵀq, given 2ρ in the type of X."""
        by_q = twice.array * beta.array * (self.squares.T @ slopes.q.array)
        _put(group, self.X.T @ slopes.r.array + by_q, out.array, add)

    def spread(
        self, group: Group, centre: Centre, relative: GpuArray, slopes: Slopes, out: GpuArray, *, add: bool
    ) -> None:
        """Set ``out`` to Σ r (x - m)² + ρ q x² of each feature; or add to it, where every r is 0."""
        r, place = slopes.r.array, to_host(centre.place.array)
        spread = relative.array * (self.squares.T @ slopes.q.array)
        n, d = self.shape
        step = max(1, CENTRED // d)
        # Problems of the same fold share their mean row.
        for column in [] if add else np.unique(place[group.numbers]).tolist():
            own = np.flatnonzero(place == column)
            for first in range(0, n, step):
                rows = slice(first, first + step)
                centred = self.X[rows] - centre.mean.array[:, column]
                spread[:, own] += (centred * centred).T @ r[rows][:, own]
        _put(group, spread, out.array, add)

    def take(self, rows: Any) -> "DenseMatrix":
        """Return some of the rows."""
        return DenseMatrix(self.X[rows].astype(self.dtype, copy=False))

    def on_host(self) -> Matrix:
        """Return the matrix in the host's memory."""
        return to_host(self.X).astype(self.dtype, copy=False)


DeviceMatrix = SparseMatrix | DenseMatrix


def _is_far(mean: Any, deviation: Any) -> bool:
    """Return whether the mean of some feature is far from 0, given the standard deviations."""
    distance = abs(mean)
    return bool(((distance > FAR * deviation) & (distance < CONSTANT * deviation)).any())


def _by_two(group: Group, coefficients: GpuArray) -> tuple[Group, int, np.uint32]:
    """Return the group for passes over X, the number of problems of a thread, and the words of a feature."""
    P = coefficients.array.shape[1]
    if group.by_two is None or coefficients.array.dtype != np.float32:
        return group, 1, np.uint32(P)
    return group.by_two, 2, np.uint32(P // 2)


def _put(group: Group, product: Any, out: Any, add: bool) -> None:
    """Set the columns of the group, or add to them."""
    own = slice(None) if len(group.numbers) == out.shape[1] else group.numbers
    out[:, own] = out[:, own] + product[:, own] if add else product[:, own]
