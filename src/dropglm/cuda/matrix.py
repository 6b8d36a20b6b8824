"""Feature matrices on the GPU: the passes over rows and columns, for several problems at once."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from dropglm.cuda import passes
from dropglm.cuda.runtime import THREADS, Stream, array_module, divided, view

# Features with more entries than this are frequent: their entries are cut into chunks.
FREQUENT = 64
CHUNK = 1024
# A thread has about this many entries of a row.
ENTRIES = 16


class Pair(NamedTuple):
    """An array of CuPy, and the same memory in the form that kernels take."""

    array: Any
    view: Any
    by_two: Any  # with two neighbouring numbers as a complex one; None if their number is odd

    @classmethod
    def of(cls, array: Any) -> "Pair":
        """Return all forms of an array."""
        even = array.ndim == 2 and array.shape[1] % 2 == 0 and array.dtype.kind == "f"
        complex_type = np.result_type(array.dtype, np.complex64)
        return cls(array, view(array), view(array.view(complex_type)) if even else None)


class Group(NamedTuple):
    """Some of the problems, and how the threads of a block are divided."""

    numbers: np.ndarray
    columns: Any  # the numbers, in the form that kernels take
    G: int  # neighbouring threads that work on neighbouring problems
    blocks: int  # blocks for all problems
    stream: Stream
    by_two: "Group | None" = None  # the numbers of pairs of problems, if there is an even number of them

    @classmethod
    def of(cls, numbers: np.ndarray, P: int, stream: Stream) -> "Group":
        """Return the group of the problems of these numbers, out of P."""
        G = divided(len(numbers))
        columns = view(array_module().asarray(numbers, dtype=np.int32))
        by_two = Group.of(np.unique(numbers // 2), 1, stream) if P % 2 == 0 else None
        return cls(numbers, columns, G, -(-len(numbers) // G), stream, by_two)

    def call(self, loop: Any, blocks: int, *arguments: Any) -> None:
        """Call a kernel for all problems of the group, with this many blocks for rows or features."""
        self.stream.call(loop, (blocks, self.blocks), self.columns, self.G, *arguments)


class Slopes(NamedTuple):
    """Derivatives r and q with respect to η and s², of shape (n, P) each."""

    r: Pair
    q: Pair


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

    @property
    def entries(self) -> Any:
        """The stored values; empty if all of them are 1."""

    def moments(self, group: Group, beta: Pair, eta: Pair, t: Pair) -> None:
        """Set η = Xβ and t = X²β²."""

    def ray(self, group: Group, beta: Pair, direction: Pair, relative: Pair, out: Pair, *, add: bool) -> None:
        """Set, or add to, ``out``: Xd, ρ X²(β·d) and ρ X²d²."""

    def backward(
        self, group: Group, beta: Pair, relative: Pair, slopes: Slopes, out: Pair, *, add: bool
    ) -> None:
        """Set, or add to, ``out``: Xᵀr + 2ρ β·(X²)ᵀq."""

    def column_sums(self, group: Group, slopes: Slopes, linear: Pair, squares: Pair, *, add: bool) -> None:
        """Set, or add, Xᵀr to ``linear`` and (X²)ᵀq to ``squares``."""

    def take(self, rows: Any) -> "DeviceMatrix":
        """Return some of the rows."""


class SparseMatrix:
    """A sparse matrix by rows and by columns, the most frequent features first.

    Parameters
    ----------
    indptr, indices, values : arrays of the GPU
        As in CSR, without duplicates or zeros; values are empty if all of them are 1.
    d : int
        Number of features. They are ordered by their number of entries, the largest first.
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
        self.rows = tuple(Pair.of(part) for part in (indptr, indices, values))
        self._row_views = [part.view for part in self.rows]
        self._entries_per_row = len(indices) / max(n, 1)
        order = xp.argsort(indices, kind="stable")
        row_of = (xp.searchsorted(indptr, order, side="right") - 1).astype(np.uint32)
        counts = xp.bincount(indices.astype(np.int64), minlength=d)
        before = xp.zeros(d + 1, np.int64)
        before[1:] = xp.cumsum(counts)
        by_column = before, row_of, values[order] if len(values) else values
        self.columns = tuple(Pair.of(part) for part in by_column)
        self.frequent = int((counts > FREQUENT).sum())
        self._set_chunks(before, counts[: self.frequent])
        self._nothing = Pair.of(xp.zeros((0, 2), self.dtype))
        self._one = Pair.of(xp.ones(1))
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

    def moments(self, group: Group, beta: Pair, eta: Pair, t: Pair) -> None:
        """Set η = Xβ and t = X²β²."""
        pairs, width = _by_two(group)
        E, blocks = self._lanes(pairs)
        rows = E, self._zero, *self._row_views
        pairs.call(passes.moments, blocks, width, *rows, _form(beta, width), eta.view, t.view)

    def ray(self, group: Group, beta: Pair, direction: Pair, relative: Pair, out: Pair, *, add: bool) -> None:
        """Set, or add to, ``out``: Xd, ρ X²(β·d) and ρ X²d²."""
        pairs, width = _by_two(group)
        E, blocks = self._lanes(pairs)
        rows = E, self._zero, *self._row_views
        along = _form(beta, width), _form(direction, width), relative.view
        pairs.call(passes.ray, blocks, width, *rows, *along, add, out.view)

    def backward(
        self, group: Group, beta: Pair, relative: Pair, slopes: Slopes, out: Pair, *, add: bool
    ) -> None:
        """Set, or add to, ``out``: Xᵀr + 2ρ β·(X²)ᵀq."""
        self._sum_columns(group, beta, relative, slopes, add, out, self._nothing)

    def column_sums(self, group: Group, slopes: Slopes, linear: Pair, squares: Pair, *, add: bool) -> None:
        """Set, or add, Xᵀr to ``linear`` and (X²)ᵀq to ``squares``."""
        self._sum_columns(group, self._nothing, self._one, slopes, add, linear, squares)

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

    def _sum_columns(
        self, group: Group, beta: Pair, relative: Pair, slopes: Slopes, add: bool, out: Pair, squares: Pair
    ) -> None:
        pairs, width = _by_two(group)
        before, row_of, values = (part.view for part in self.columns)
        entries, per_block = (row_of, values), THREADS // pairs.G
        r, q, coefficients, sums_r, sums_q = (
            _form(pair, width) for pair in (slopes.r, slopes.q, beta, out, squares)
        )
        types = self._zero, np.result_type(self.dtype, np.complex64).type(1j) if width == 2 else self._zero
        rare = self.shape[1] - self.frequent
        if rare:
            pairs.call(
                *(passes.backward, -(-rare // per_block), width, *types, self.frequent, before, *entries),
                *(coefficients, relative.view, r, q, add, sums_r, sums_q),
            )
        if self.frequent:
            sums = self._partial_sums(slopes.r.array.shape[1])
            E = min(per_block, 32 if pairs.G == 1 else 2)
            blocks = -(-self.chunk_count // (per_block // E))
            chunks = E, self._zero, self._starts, self._stops
            pairs.call(passes.backward_chunks, blocks, width, *chunks, *entries, r, q, sums)
            pairs.call(
                *(passes.add_chunks, -(-self.frequent // per_block), width, *types, self._chunks_before),
                *(sums, coefficients, relative.view, add, sums_r, sums_q),
            )

    def _lanes(self, group: Group) -> tuple[int, int]:
        """Return the number of threads for a row and problem, and the number of blocks."""
        E = 1
        # With many problems, threads for different entries of a row pay less.
        while min(THREADS // group.G, 64 // group.G + 2) > E and self._entries_per_row > E * ENTRIES:
            E *= 2
        return E, -(-self.shape[0] // (THREADS // (group.G * E)))

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

    def moments(self, group: Group, beta: Pair, eta: Pair, t: Pair) -> None:
        """Set η = Xβ and t = X²β²."""
        _put(group, self.X @ beta.array, eta.array, False)
        _put(group, self.squares @ (beta.array * beta.array), t.array, False)

    def ray(self, group: Group, beta: Pair, direction: Pair, relative: Pair, out: Pair, *, add: bool) -> None:
        """Set, or add to, ``out``: Xd, ρ X²(β·d) and ρ X²d²."""
        b, d = beta.array, direction.array
        products = self.X @ d, self.squares @ (b * d), self.squares @ (d * d)
        for place, product in enumerate(products):
            _put(group, product if place == 0 else relative.array * product, out.array[place], add)

    def backward(
        self, group: Group, beta: Pair, relative: Pair, slopes: Slopes, out: Pair, *, add: bool
    ) -> None:
        """Set, or add to, ``out``: Xᵀr + 2ρ β·(X²)ᵀq."""
        by_q = 2.0 * relative.array * beta.array * (self.squares.T @ slopes.q.array)
        _put(group, self.X.T @ slopes.r.array + by_q, out.array, add)

    def column_sums(self, group: Group, slopes: Slopes, linear: Pair, squares: Pair, *, add: bool) -> None:
        """Set, or add, Xᵀr to ``linear`` and (X²)ᵀq to ``squares``."""
        _put(group, self.X.T @ slopes.r.array, linear.array, add)
        _put(group, self.squares.T @ slopes.q.array, squares.array, add)

    def take(self, rows: Any) -> "DenseMatrix":
        """Return some of the rows."""
        return DenseMatrix(self.X[rows])


def _by_two(group: Group) -> tuple[Group, int]:
    """Return the group for passes over X, and how many problems a thread works on."""
    return (group, 1) if group.by_two is None else (group.by_two, 2)


def _form(pair: Pair, width: int) -> Any:
    return pair.by_two if width == 2 else pair.view


def _put(group: Group, product: Any, out: Any, add: bool) -> None:
    """Set the columns of the group, or add to them."""
    own = slice(None) if len(group.numbers) == out.shape[1] else group.numbers
    out[:, own] = out[:, own] + product[:, own] if add else product[:, own]
