"""The feature matrix of a fit, and the operations that the rest of the package uses.

``moments`` and ``backward`` are the sweep: together they give value and gradient of any sum over rows
Σ_i f_i(η_i, t_i) with η = Xβ and t = X²β². The other operations are for penalties that are not such a sum.
"""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from dropglm.design import kernels
from dropglm.design.prepare import canonical, reordered, transposed
from dropglm.design.storage import DenseRows, Matrix, Rows, entries_before, store
from dropglm.maths.vectors import side_by_side
from dropglm.threads import each, even_pieces, on_threads

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

    def __init__(
        self,
        X: Matrix,
        *,
        order: np.ndarray | None = None,
        threads: int = 1,
    ) -> None:
        matrix, ones = canonical(X)
        self._matrix = matrix if order is None else reordered(matrix, order)
        self.shape: tuple[int, int] = self._matrix.shape
        self.dtype: np.dtype = self._matrix.dtype
        self.threads = threads
        self.rows: Rows = store(self._matrix, ones=ones)
        self.columns: Rows | None = None
        self.pieces = even_pieces(entries_before(self.rows))
        self._column_pieces: list[tuple[int, int]] = []

    @property
    def blocks(self) -> tuple[DesignBlock, ...]:
        """The only block, which has all columns."""
        return (DesignBlock(0, slice(0, self.shape[1]), self),)

    def by_columns(self) -> Self:
        """Store the columns as well, so ``backward`` reads them in order, and return the design.

        This takes as long as about ten evaluations, so it pays before a fit, not for a single evaluation.
        Dense rows need no copy.
        """
        if self.columns is None and not isinstance(self.rows, DenseRows):
            self.columns = transposed(self.rows, self.shape)
            # The overhead of a column is about the cost of four entries.
            each_column = 4 * np.arange(self.shape[1] + 1)
            self._column_pieces = even_pieces(entries_before(self.columns) + each_column)
        return self

    def moments(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return η = Xβ and t = X²β²; shape (n,) each, float64."""
        eta, t = np.empty((2, self.shape[0]))

        def piece(bounds: tuple[int, int]) -> None:
            first, last = bounds
            kernels.moments(self.rows, beta, first, last, eta[first:last], t[first:last])

        each(piece, self.pieces, self.threads)
        return eta, t

    def ray(self, beta: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return Xd, X²(β·d) and X²d² for a direction d, as rows; shape (3, n), float64.

        They give the moments at every point of the ray β + step·d, η + step·Xd and
        t + 2·step·X²(β·d) + step²·X²d², so a line search needs no further pass over X.
        """
        pairs = side_by_side(beta, direction, self.threads)  # both come with one cache line
        coefficients = np.empty((3, self.shape[0]))
        each(lambda bounds: kernels.ray(self.rows, pairs, *bounds, *coefficients), self.pieces, self.threads)
        return coefficients

    def spread(self, centre: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return Σ_i p_i (x_ij - m_j)² + q_i x_ij² per feature, for centre m and weights (p, q); (d,)."""
        total = float(weights[:, 0].sum())
        if self.columns is None:
            # Dense rows store every entry; the zeros that sparse rows omit are added at the end.
            implicit = 0.0 if isinstance(self.rows, DenseRows) else 1.0
            stored = self.sum_over_rows(
                lambda first, last, out: kernels.scatter_spread(
                    self.rows, centre, weights, implicit, first, last, out
                ),
                self.shape[1],
            )
            return stored + (implicit * total * np.square(centre, dtype=np.float64)).astype(self.dtype)
        spread, columns = np.empty(self.shape[1], self.dtype), self.columns
        each(
            lambda bounds: kernels.gather_spread(columns, centre, weights, total, *bounds, spread),
            self._column_pieces,
            self.threads,
        )
        return spread

    def backward(self, beta: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Return Xᵀr + 2β·(X²)ᵀq, the gradient of Σ_i f_i; shape (d,), in X's dtype.

        ``slopes`` has r and q, the derivatives with respect to η and t, as columns.
        """
        if self.columns is None:
            return self.sum_over_rows(
                lambda first, last, out: kernels.scatter(self.rows, beta, slopes, first, last, out),
                self.shape[1],
            )
        gradient = np.empty(self.shape[1], self.dtype)
        columns = self.columns
        each(
            lambda bounds: kernels.gather(columns, beta, slopes, *bounds, gradient),
            self._column_pieces,
            self.threads,
        )
        return gradient

    def dot(self, beta: np.ndarray) -> np.ndarray:
        """Return Xβ for coefficients of shape (d, K); shape (n, K), float64."""
        eta = np.zeros((self.shape[0], beta.shape[1]))
        each(lambda bounds: kernels.dot(self.rows, beta, *bounds, eta), self.pieces, self.threads)
        return eta

    def transposed_dot(self, r: np.ndarray) -> np.ndarray:
        """Return Xᵀr for r of shape (n, K); shape (d, K), in X's dtype."""
        r = np.ascontiguousarray(r, np.float64)
        if self.columns is None:
            return self.sum_over_rows(
                lambda first, last, out: kernels.scatter_dot(self.rows, r, first, last, out),
                self.shape[1],
                r.shape[1],
            )
        product, columns = np.empty((self.shape[1], r.shape[1])), self.columns
        each(
            lambda bounds: kernels.gather_dot(columns, r, *bounds, product),
            self._column_pieces,
            self.threads,
        )
        return product.astype(self.dtype, copy=False)

    def sum_over_rows(
        self, add: AddRows, *shape: int, pieces: list[tuple[int, int]] | None = None
    ) -> np.ndarray:
        """Return the sum of what ``add`` adds for each piece of the rows, in X's dtype.

        Each thread adds to an array of its own.
        """
        pieces = pieces or self.pieces
        workers = min(self.threads, len(pieces))
        shares = [np.zeros(shape) for _ in range(workers)]

        def piece(item: tuple[np.ndarray, tuple[int, int]]) -> None:
            share, (first, last) = item
            add(first, last, share)

        # The pieces are assigned to threads beforehand, so that the same call gives the same rounding.
        on_threads(piece, [[(shares[k], bounds) for bounds in pieces[k::workers]] for k in range(workers)])
        total, *others = shares
        for other in others:
            total += other
        with np.errstate(over="ignore"):
            return total.astype(self.dtype, copy=False)

    @property
    def smallest(self) -> float:
        """The smallest entry, or 0 if no entry is negative."""
        entries = self._matrix.data if sparse.issparse(self._matrix) else self._matrix
        return min(float(entries.min()), 0.0) if entries.size else 0.0

    @property
    def nnz(self) -> int:
        """Number of non-zero entries."""
        dense = isinstance(self.rows, DenseRows)
        return int(np.count_nonzero(self._matrix) if dense else self._matrix.nnz)

    def block(self, first: int, last: int) -> sparse.csr_array:
        """Return rows first to last - 1 as a CSR array with sorted columns, for any storage."""
        block = sparse.csr_array(self._matrix[first:last])
        block.sort_indices()
        return block
