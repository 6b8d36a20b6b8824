"""The feature matrix of a fit, and the operations that the rest of the package uses.

``moments`` and ``backward`` are the sweep: together they give value and gradient of any sum over rows
Σ_i f_i(η_i, t_i) with η = Xβ and t = X²β². The other operations are for penalties that are not such a sum.

Every pass over the features in training is one of the loops below, for any storage. X acts on the
coefficients twice, through the predictor η = Xβ and through the sum of squares t = X²β² in the variance
(entries squared). Along a ray β + step·d both are polynomials in the step, whose coefficients are Xd, X²(β·d)
and X²d². The gradient is Xᵀr + 2β·(X²)ᵀq, from the derivatives r with respect to η and q with respect to t.
Each pass can go over rows or over columns: one of them reads in order what the other writes. If there are
fewer rows than features, columns are faster, since the numbers of all rows fit into the cache: the ray on
IMDB's bigrams took 12.6 ms over columns and 21.8 ms over rows.

All are shared loops (see ``maths/shared_loops.py``). Products and sums are float64 for any storage, at no
cost: the loops are bound by memory. The derivatives of a row are adjacent in memory, so one cache line has
both (9.6 ms; separate arrays, 12.1 ms). ρ is the relative variance of the noise.
"""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from math import prod
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from dropglm.base.threads import each, even_pieces
from dropglm.core.design.prepare import canonical, reordered, transposed
from dropglm.core.design.storage import (
    DenseRows,
    Matrix,
    StoredRows,
    column,
    entries_before,
    span,
    store,
    value,
)
from dropglm.core.maths.compile import fused_kernel, kernel
from dropglm.core.maths.shared_loops import (
    cuts_by_cost,
    even_cuts,
    number_of_pieces,
    run_shared_loop,
    take_piece,
)

# Entries and rows per piece of a shared loop: a piece takes some 100 µs, far more than to take it.
PIECE = 1 << 17
ROWS = 1 << 10

# Numbers of fewer features than this fit into the cache.
WIDE = 1 << 17

# At most so many arrays hold parts of a sum over the entries, and at most so many threads work on it.
MAX_PARTIAL_SUMS = 16
# Sums that take far longer per entry have at least so many, unless there are fewer pieces.
MIN_PARTIAL_SUMS = 4

# (first row, last row + 1, gradient to add to)
AddRows = Callable[[int, int, np.ndarray], None]


class DesignBlock(NamedTuple):
    """A block of columns of a design: its number among the blocks, its columns, and a design of them."""

    number: int
    columns: slice
    design: "Design"


class Design:
    """X stored by rows and, after a call of ``by_columns``, also by columns.

    Parameters
    ----------
    X : ndarray or scipy sparse of shape (n, d), float32 or float64
        Never modified; its arrays are shared where possible.
    order : ndarray of int, optional
        Reorder the features: feature ``order[j]`` becomes column j, and features that are not in the order,
        which must not occur, are left out. See ``frequency_order``.
    threads : int
        Number of threads that the operations use.

    Examples
    --------
    >>> design = Design(np.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> design.moments(np.array([1.0, -1.0]))
    (array([-1., -3.]), array([5., 9.]))
    """

    def __init__(self, X: Matrix, *, order: np.ndarray | None = None, threads: int = 1) -> None:
        self._given, self._ones = canonical(X, threads)
        self._order = order
        n, d = self._given.shape
        self.shape: tuple[int, int] = (n, d if order is None else len(order))
        self.dtype: np.dtype = self._given.dtype
        self.threads = threads
        self.columns: StoredRows | None = None
        self._spare: list[np.ndarray] = []
        stored = sparse.issparse(self._given)
        self._entries = self._given.indptr if stored else np.arange(n + 1) * self.shape[1]
        self._row_cuts = cuts_by_cost(self._entries, number_of_pieces(self._entries[-1], PIECE))
        self._shared_row_cuts = cuts_by_cost(self._entries, self._partial_sum_count(self.shape[1]))

    @cached_property
    def rows(self) -> StoredRows:
        """The rows; training on columns does not need them, so they are stored when they are asked for."""
        return store(self._matrix, ones=self._ones)

    @property
    def is_sparse(self) -> bool:
        """Whether only entries other than 0 are stored."""
        return sparse.issparse(self._given)

    @property
    def given_rows(self) -> StoredRows:
        """The rows with all features in the order of X; ``given_columns`` are those of the coefficients."""
        return store(self._given, ones=self._ones)

    @property
    def given_columns(self) -> np.ndarray:
        """The column of X that each coefficient belongs to."""
        return np.arange(self.shape[1]) if self._order is None else self._order

    @cached_property
    def _matrix(self) -> Matrix:
        return self._given if self._order is None else reordered(self._given, self._order)

    @cached_property
    def pieces(self) -> list[tuple[int, int]]:
        """Ranges of rows with about equal numbers of entries."""
        return even_pieces(self._entries)

    @property
    def blocks(self) -> tuple[DesignBlock, ...]:
        """The only block, which has all columns."""
        return (DesignBlock(0, slice(0, self.shape[1]), self),)

    def by_columns(self) -> Self:
        """Store the columns as well, so ``backward`` reads them in order, and return the design.

        This takes as long as about ten evaluations, so it pays before a fit, not for a single evaluation.
        Dense rows need no copy.
        """
        if self.columns is None and self.is_sparse:
            given: Any = self.given_rows
            self.columns = transposed(given, self._given.shape, self._order, self.threads)
            # The overhead of a column is about the cost of four entries.
            cost = entries_before(self.columns) + 4 * np.arange(self.shape[1] + 1)
            self._column_cuts = cuts_by_cost(cost, number_of_pieces(cost[-1], PIECE))
            self._shared_column_cuts = cuts_by_cost(cost, self._partial_sum_count(3 * self.shape[0]))
        return self

    def take(self, rows: np.ndarray) -> "Design":
        """Return a design of some of the rows, with the same features."""
        return Design(self._given[rows], order=self._order, threads=self.threads)

    def moments(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return η = Xβ and t = X²β²; shape (n,) each, float64."""
        # A fit needs the loop for the ray anyway, so there is no loop for this.
        eta, _, t = self.add_ray(beta, beta, 1.0, np.zeros((3, self.shape[0])))
        return eta, t

    def add_ray(
        self, beta: np.ndarray, direction: np.ndarray, relative: float, ray: np.ndarray
    ) -> np.ndarray:
        """Add Xd, ρ X²(β·d) and ρ X²d² for a direction d to the rows of ``ray``, of shape (3, n), float64.

        They give the moments at every point of the ray β + step·d, η + step·Xd and
        ρ (t + 2·step·X²(β·d) + step²·X²d²), so a line search needs no further pass over X. ρ is ``relative``.
        """
        if self.is_wide:
            # Memory that is used again is faster than new memory, and several threads may be here at a time.
            try:
                partial_sums = self._spare.pop()
            except IndexError:
                partial_sums = np.empty((len(self._shared_column_cuts) - 1, self.shape[0], 3))
            columns = self.columns, beta, direction
            run_shared_loop(_ray_by_columns, self._shared_column_cuts, self.threads, *columns, partial_sums)
            cuts = even_cuts(self.shape[0], ROWS)
            run_shared_loop(_add_partial_sums, cuts, self.threads, partial_sums, float(relative), ray)
            self._spare.append(partial_sums)
            return ray
        rows = self.rows, beta, direction, float(relative)
        run_shared_loop(_ray_by_rows, self._row_cuts, self.threads, *rows, ray)
        return ray

    def spread(self, centre: np.ndarray, weights: np.ndarray, relative: float = 1.0) -> np.ndarray:
        """Return Σ_i p_i (x_ij - m_j)² + ρ q_i x_ij² per feature, for centre m and weights (p, q); (d,)."""
        total = float(weights[:, 0].sum())
        if self.columns is None:
            # Dense rows store every entry; the zeros that sparse rows omit are added at the end.
            implicit = 0.0 if isinstance(self.rows, DenseRows) else 1.0
            arguments = self.rows, centre, weights, float(relative), implicit
            stored = self._sum_over_row_pieces(_scatter_spread, arguments, self.shape[1])
            return stored + (implicit * total * np.square(centre, dtype=np.float64)).astype(self.dtype)
        spread = np.empty(self.shape[1], self.dtype)
        columns = self.columns, centre, weights, float(relative), total
        run_shared_loop(_gather_spread, self._column_cuts, self.threads, *columns, spread)
        return spread

    def backward(
        self, beta: np.ndarray, slopes: np.ndarray, relative: float = 1.0, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return Xᵀr + 2ρ β·(X²)ᵀq, the gradient of Σ_i f_i; shape (d,), in X's dtype.

        ``slopes`` has r and q, the derivatives with respect to η and ρt, as columns; ρ is ``relative``. The
        result is written to ``out`` if it is given.
        """
        gradient = np.empty(self.shape[1], self.dtype) if out is None else out
        if self.columns is None:
            arguments = self.rows, beta, slopes, float(relative)
            gradient[:] = self._sum_over_row_pieces(_scatter, arguments, self.shape[1])
            return gradient
        columns = self.columns, beta, slopes, float(relative)
        run_shared_loop(_gather, self._column_cuts, self.threads, *columns, gradient)
        return gradient

    def dot(self, beta: np.ndarray) -> np.ndarray:
        """Return Xβ for coefficients of shape (d, K); shape (n, K), float64."""
        eta = np.zeros((self.shape[0], beta.shape[1]))
        run_shared_loop(_dot, self._row_cuts, self.threads, self.rows, beta, eta)
        return eta

    def transposed_dot(self, r: np.ndarray) -> np.ndarray:
        """Return Xᵀr for r of shape (n, K); shape (d, K), in X's dtype."""
        r = np.ascontiguousarray(r, np.float64)
        if self.columns is None:
            return self._sum_over_row_pieces(_scatter_dot, (self.rows, r), self.shape[1], r.shape[1])
        product = np.empty((self.shape[1], r.shape[1]))
        run_shared_loop(_gather_dot, self._column_cuts, self.threads, self.columns, r, product)
        return product.astype(self.dtype, copy=False)

    @property
    def is_wide(self) -> bool:
        """Whether the numbers of all rows fit into the cache better than those of all features."""
        n, d = self.shape
        return self.columns is not None and d >= WIDE and 4 * n <= d

    def _partial_sum_count(self, size: int) -> int:
        """Return the number of arrays of that size into which the entries are summed before these are added.

        It does not depend on the number of threads, and zeros and sums stay a small part of the work.
        """
        entries = int(self._entries[-1])
        return min(MAX_PARTIAL_SUMS, number_of_pieces(entries, max(4 * size, PIECE)))

    def _sum_over_row_pieces(self, loop: Callable[..., None], arguments: tuple, *shape: int) -> np.ndarray:
        """Return the sum of what the loop adds for each piece of the rows, in X's dtype."""
        partial_sums = np.zeros((len(self._shared_row_cuts) - 1, *shape))
        run_shared_loop(loop, self._shared_row_cuts, self.threads, *arguments, partial_sums)
        with np.errstate(over="ignore"):
            return partial_sums.sum(axis=0).astype(self.dtype, copy=False)

    def sum_over_rows(
        self, add: AddRows, *shape: int, pieces: list[tuple[int, int]] | None = None
    ) -> np.ndarray:
        """Return the sum of what ``add`` adds for each piece of the rows, in X's dtype.

        Which pieces are added to the same array does not depend on the number of threads, so neither does
        the rounding.
        """
        pieces = pieces or self.pieces
        count = min(len(pieces), max(MIN_PARTIAL_SUMS, self._partial_sum_count(prod(shape))))
        partial_sums = np.zeros((count, *shape))

        def add_pieces(k: int) -> None:
            for first, last in pieces[k::count]:
                add(first, last, partial_sums[k])

        each(add_pieces, range(count), self.threads)
        with np.errstate(over="ignore"):
            return partial_sums.sum(axis=0).astype(self.dtype, copy=False)

    @cached_property
    def smallest(self) -> float:
        """The smallest entry, or 0 if no entry is negative."""
        entries = self._given.data if sparse.issparse(self._given) else self._given
        return min(float(entries.min()), 0.0) if entries.size else 0.0

    @property
    def nnz(self) -> int:
        """Number of non-zero entries."""
        return int(self._given.nnz if sparse.issparse(self._given) else np.count_nonzero(self._given))

    def csr_rows(self, first: int, last: int) -> sparse.csr_array:
        """Return rows first to last - 1 as a CSR array with sorted columns, for any storage."""
        block = sparse.csr_array(self._matrix[first:last])
        block.sort_indices()
        return block


class BlockDesign:
    """Designs side by side, with the same rows: several blocks of columns.

    Only ``Noise`` sums over the blocks in training, since each block has its own noise; here are the
    operations that do not depend on noise.

    Parameters
    ----------
    designs : sequence of Design
        One per block; all with the same dtype.
    numbers : sequence of int, optional
        Numbers of the blocks among those of the user, if some were left out.

    Examples
    --------
    >>> pair = BlockDesign([Design(np.array([[1.0, 2.0]])), Design(np.array([[3.0]]))])
    >>> pair.shape, pair.dot(np.array([[1.0], [1.0], [2.0]]))
    ((1, 3), array([[9.]]))
    """

    def __init__(self, designs: Sequence[Design], numbers: Sequence[int] | None = None) -> None:
        numbers = range(len(designs)) if numbers is None else numbers
        ends = np.cumsum([design.shape[1] for design in designs])
        self.blocks = tuple(
            DesignBlock(number, slice(int(end) - design.shape[1], int(end)), design)
            for number, design, end in zip(numbers, designs, ends, strict=True)
        )
        self.shape = (designs[0].shape[0], int(ends[-1]))
        self.dtype = designs[0].dtype
        entries = np.stack([design._entries for design in designs])
        self.pieces = even_pieces(entries.sum(axis=0))

    @property
    def threads(self) -> int:
        """Number of threads that the operations use."""
        return self.blocks[0].design.threads

    @threads.setter
    def threads(self, threads: int) -> None:
        for block in self.blocks:
            block.design.threads = threads

    def without(self, numbers: Collection[int]) -> Self:
        """Return the design without the blocks of these numbers; the others keep theirs."""
        kept = [block for block in self.blocks if block.number not in numbers]
        return type(self)([block.design for block in kept], [block.number for block in kept])

    def take(self, rows: np.ndarray) -> Self:
        """Return a design of some of the rows, with the same features."""
        designs = [block.design.take(rows) for block in self.blocks]
        return type(self)(designs, [block.number for block in self.blocks])

    def dot(self, beta: np.ndarray) -> np.ndarray:
        """Return Xβ for coefficients of shape (d, K); shape (n, K), float64."""
        eta = np.zeros((self.shape[0], beta.shape[1]))
        for _, columns, design in self.blocks:
            eta += design.dot(beta[columns])
        return eta

    def transposed_dot(self, r: np.ndarray) -> np.ndarray:
        """Return Xᵀr for r of shape (n, K); shape (d, K), in X's dtype."""
        return np.concatenate([block.design.transposed_dot(r) for block in self.blocks])

    def sum_over_rows(
        self, add: AddRows, *shape: int, pieces: list[tuple[int, int]] | None = None
    ) -> np.ndarray:
        """Return the sum of what ``add`` adds for each piece of the rows, in X's dtype."""
        return self.blocks[0].design.sum_over_rows(add, *shape, pieces=pieces or self.pieces)

    @property
    def smallest(self) -> float:
        """The smallest entry, or 0 if no entry is negative."""
        return min(block.design.smallest for block in self.blocks)


# A feature matrix of one block or of several.
AnyDesign = Design | BlockDesign


@kernel
def _ray_by_rows(cuts, tickets, rows, beta, d, relative, ray):
    """Add Σ_j x_ij d_j, ρ Σ_j x_ij² β_j d_j and ρ Σ_j x_ij² d_j² to the ray for pieces of the rows."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for i in range(cuts[piece], cuts[piece + 1]):
            u, c, q = 0.0, 0.0, 0.0
            start, stop = span(rows, i)
            for k in range(start, stop):
                j, x = column(rows, k), value(rows, i, k)
                z = x * d[j]
                u += z
                c += z * (x * beta[j])
                q += z * z
            ray[0, i] += u
            ray[1, i] += relative * c
            ray[2, i] += relative * q
        piece = take_piece(tickets)


@fused_kernel
def _ray_by_columns(cuts, tickets, columns, beta, d, partial_sums):
    """Set Σ_j x_ij d_j, Σ_j x_ij² β_j d_j and Σ_j x_ij² d_j² over the columns j of each piece."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        sums = partial_sums[piece]
        # Entry by entry: Numba needs 2 s to compile an assignment to a slice.
        for i in range(sums.shape[0]):
            sums[i, 0] = sums[i, 1] = sums[i, 2] = 0.0
        for j in range(cuts[piece], cuts[piece + 1]):
            direction, crossed = np.float64(d[j]), np.float64(beta[j]) * d[j]
            square = direction * direction
            start, stop = span(columns, j)
            for k in range(start, stop):
                i, x = column(columns, k), value(columns, j, k)
                sums[i, 0] += x * direction
                sums[i, 1] += x * x * crossed
                sums[i, 2] += x * x * square
        piece = take_piece(tickets)


@kernel
def _add_partial_sums(cuts, tickets, partial_sums, relative, ray):
    """Add the partial_sums of all pieces to the ray, in order; the second and third number times ρ."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for i in range(cuts[piece], cuts[piece + 1]):
            u, c, q = 0.0, 0.0, 0.0
            for p in range(partial_sums.shape[0]):
                u += partial_sums[p, i, 0]
                c += partial_sums[p, i, 1]
                q += partial_sums[p, i, 2]
            ray[0, i] += u
            ray[1, i] += relative * c
            ray[2, i] += relative * q
        piece = take_piece(tickets)


@kernel
def _gather(cuts, tickets, columns, beta, slopes, relative, gradient):
    """gradient_j = Σ_i x_ij r_i + 2 ρ β_j Σ_i x_ij² q_i for pieces of the columns."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for j in range(cuts[piece], cuts[piece + 1]):
            linear, squares = 0.0, 0.0
            start, stop = span(columns, j)
            for k in range(start, stop):
                i, x = column(columns, k), value(columns, j, k)
                linear += x * slopes[i, 0]
                squares += x * x * slopes[i, 1]
            gradient[j] = linear + 2.0 * relative * beta[j] * squares
        piece = take_piece(tickets)


@kernel
def _scatter(cuts, tickets, rows, beta, slopes, relative, partial_sums):
    """Add Σ_i x_ij r_i + 2 ρ β_j x_ij² q_i over the rows i of each piece p to partial_sums_pj."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        gradient = partial_sums[piece]
        for i in range(cuts[piece], cuts[piece + 1]):
            r, q = slopes[i, 0], 2.0 * relative * slopes[i, 1]
            start, stop = span(rows, i)
            for k in range(start, stop):
                j, x = column(rows, k), value(rows, i, k)
                gradient[j] += x * (r + q * x * beta[j])
        piece = take_piece(tickets)


@kernel
def _gather_spread(cuts, tickets, columns, centre, weights, relative, total, spread):
    """Σ_i p_i (x_ij - m_j)² + ρ q_i x_ij² for pieces of the columns; weights_i = (p_i, q_i), total = Σ p.

    Centred entry by entry: Σ p x² - m² Σ p would lose digits to cancellation where m is large.
    """
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for j in range(cuts[piece], cuts[piece + 1]):
            m = np.float64(centre[j])
            centred, plain, stored = 0.0, 0.0, 0.0
            start, stop = span(columns, j)
            for k in range(start, stop):
                i, x = column(columns, k), value(columns, j, k)
                centred += weights[i, 0] * (x - m) * (x - m)
                plain += weights[i, 1] * x * x
                stored += weights[i, 0]
            spread[j] = centred + relative * plain + m * m * (total - stored)
        piece = take_piece(tickets)


@kernel
def _scatter_spread(cuts, tickets, rows, centre, weights, relative, implicit, partial_sums):
    """Add p_i ((x_ij - m_j)² - implicit · m_j²) + ρ q_i x_ij² over the rows of a piece to its partial sum."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        spread = partial_sums[piece]
        for i in range(cuts[piece], cuts[piece + 1]):
            p, q = weights[i, 0], relative * weights[i, 1]
            start, stop = span(rows, i)
            for k in range(start, stop):
                j, x = column(rows, k), value(rows, i, k)
                m = np.float64(centre[j])
                spread[j] += p * ((x - m) * (x - m) - implicit * m * m) + q * x * x
        piece = take_piece(tickets)


@kernel
def _dot(cuts, tickets, rows, beta, eta):
    """Add Σ_j x_ij β_jk over the features to η_ik for pieces of the rows, for K classes at once."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for i in range(cuts[piece], cuts[piece + 1]):
            start, stop = span(rows, i)
            for k in range(start, stop):
                j, x = column(rows, k), value(rows, i, k)
                for c in range(beta.shape[1]):
                    eta[i, c] += x * beta[j, c]
        piece = take_piece(tickets)


@kernel
def _gather_dot(cuts, tickets, columns, r, product):
    """product_jk = Σ_i x_ij r_ik for pieces of the columns j, for all columns k of r at once."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        for j in range(cuts[piece], cuts[piece + 1]):
            for c in range(r.shape[1]):
                product[j, c] = 0.0
            start, stop = span(columns, j)
            for k in range(start, stop):
                i, x = column(columns, k), value(columns, j, k)
                for c in range(r.shape[1]):
                    product[j, c] += x * r[i, c]
        piece = take_piece(tickets)


@kernel
def _scatter_dot(cuts, tickets, rows, r, partial_sums):
    """Add Σ_i x_ij r_ik over the rows i of each piece p to partial_sums_pjk, for K columns of r at once."""
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        product = partial_sums[piece]
        for i in range(cuts[piece], cuts[piece + 1]):
            start, stop = span(rows, i)
            for k in range(start, stop):
                j, x = column(rows, k), value(rows, i, k)
                for c in range(r.shape[1]):
                    product[j, c] += x * r[i, c]
        piece = take_piece(tickets)
