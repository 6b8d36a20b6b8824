"""The feature matrix of a fit, and the verbs by which the mathematics sees it.

``forward`` and ``backward`` are the sweep: together they give value and gradient of any sum over rows
Σ_i f_i(η_i, t_i) with η = Xβ and t = X²β². All other verbs are for penalties that are no such sum.
"""

from collections.abc import Callable
from typing import Self

import numpy as np
from scipy import sparse

from dropglm.design import kernels
from dropglm.design.storage import DenseRows, Matrix, Rows, all_ones, entries_before, store
from dropglm.design.transpose import transposed
from dropglm.threads import each, even_pieces, in_lanes
from dropglm.vectors import side_by_side

# (rows, η, t) -> (Σ f, ∂f/∂η, ∂f/∂t), for the slice of rows that η and t belong to.
Pointwise = Callable[[slice, np.ndarray, np.ndarray], tuple[float, np.ndarray, np.ndarray]]
# (first row, last row + 1, gradient to add to) -> anything
AddRows = Callable[[int, int, np.ndarray], None]


class Design:
    """X by rows and, once ``by_columns`` was called, by columns too.

    Parameters
    ----------
    X : ndarray or scipy sparse of shape (n, d), float32 or float64
        Never written to; its arrays are shared where possible.
    order : ndarray of int, optional
        Number the features anew: feature ``order[j]`` becomes j, and those not named, which must not
        occur, are left out. See ``frequency_order``.
    threads : int
        How many threads the verbs use.

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
        canonical, ones = _canonical(X)
        self._matrix = canonical if order is None else _renumbered(canonical, order)
        self.shape: tuple[int, int] = self._matrix.shape
        self.dtype: np.dtype = self._matrix.dtype
        self.threads = threads
        self.rows: Rows = store(self._matrix, ones=ones)
        self.columns: Rows | None = None
        self.pieces = even_pieces(entries_before(self.rows))
        self._column_pieces: list[tuple[int, int]] = []

    def by_columns(self) -> Self:
        """Store the columns as well, so that ``backward`` reads them in order; returns itself.

        Worth its time (that of some ten evaluations) before a fit, not for a single one. Dense rows
        need no copy: they run along the gradient already.
        """
        if self.columns is None and not isinstance(self.rows, DenseRows):
            self.columns = transposed(self.rows, self.shape)
            # A column costs about as much as four entries, however short it is.
            each_column = 4 * np.arange(self.shape[1] + 1)
            self._column_pieces = even_pieces(entries_before(self.columns) + each_column)
        return self

    def moments(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """η = Xβ and t = X²β², each (n,) and float64."""
        _, both = self.forward(beta, lambda _, eta, t: (0.0, eta, t))
        return both[:, 0], both[:, 1]

    def forward(self, beta: np.ndarray, pointwise: Pointwise) -> tuple[float, np.ndarray]:
        """Σ_i f_i(η_i, t_i) and its slopes in η and in t side by side, (n, 2)."""
        slopes = np.empty((self.shape[0], 2))

        def piece(bounds: tuple[int, int]) -> float:
            first, last = bounds
            eta, t = np.empty((2, last - first))
            kernels.moments(self.rows, beta, first, last, eta, t)
            total, slopes[first:last, 0], slopes[first:last, 1] = pointwise(slice(first, last), eta, t)
            return total

        return sum(each(piece, self.pieces, self.threads)), slopes

    def ray(self, beta: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Xd, X²(β·d) and X²d² for a direction d, one below the other; (3, n) and float64.

        They tell the moments at every point of the ray β + step·d: η + step·Xd and
        t + 2·step·X²(β·d) + step²·X²d². A line search then needs no further pass over X.
        """
        pairs = side_by_side(beta, direction, self.threads)  # one cache line brings both
        coefficients = np.empty((3, self.shape[0]))
        each(lambda bounds: kernels.ray(self.rows, pairs, *bounds, *coefficients), self.pieces, self.threads)
        return coefficients

    def spread(self, centre: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Σ_i p_i (x_ij - m_j)² + q_i x_ij² of each feature, with centre m and weights (p, q); (d,)."""
        total = float(weights[:, 0].sum())
        if self.columns is None:
            # Rows that store their zeros meet every entry; of others the entries not met are added at the
            # end.
            implicit = 0.0 if isinstance(self.rows, DenseRows) else 1.0
            met = self.sum_over_rows(
                lambda first, last, out: kernels.scatter_spread(
                    self.rows, centre, weights, implicit, first, last, out
                ),
                self.shape[1],
            )
            return met + (implicit * total * np.square(centre, dtype=np.float64)).astype(self.dtype)
        spread, columns = np.empty(self.shape[1], self.dtype), self.columns
        each(
            lambda bounds: kernels.collect_spread(columns, centre, weights, total, *bounds, spread),
            self._column_pieces,
            self.threads,
        )
        return spread

    def backward(self, beta: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Xᵀr + 2β·(X²)ᵀq for slopes (r, q) side by side, the gradient of Σ_i f_i; (d,) in X's dtype."""
        if self.columns is None:
            return self.sum_over_rows(
                lambda first, last, out: kernels.scatter(self.rows, beta, slopes, first, last, out),
                self.shape[1],
            )
        gradient = np.empty(self.shape[1], self.dtype)
        columns = self.columns
        each(
            lambda bounds: kernels.collect(columns, beta, slopes, *bounds, gradient),
            self._column_pieces,
            self.threads,
        )
        return gradient

    def dot(self, beta: np.ndarray) -> np.ndarray:
        """Xβ for coefficients of shape (d, K); (n, K) and float64."""
        eta = np.zeros((self.shape[0], beta.shape[1]))
        each(lambda bounds: kernels.dot(self.rows, beta, *bounds, eta), self.pieces, self.threads)
        return eta

    def transposed_dot(self, r: np.ndarray) -> np.ndarray:
        """Xᵀr for slopes of shape (n, K); (d, K) in X's dtype."""
        zero = np.zeros(self.shape[1], self.dtype)
        columns = [self.backward(zero, np.stack([slope, np.zeros_like(slope)], axis=1)) for slope in r.T]
        return np.stack(columns, axis=1)

    def sum_over_rows(
        self, add: AddRows, *shape: int, pieces: list[tuple[int, int]] | None = None
    ) -> np.ndarray:
        """Sum of what ``add`` adds for each piece of the rows; an array of that shape in X's dtype.

        Each thread adds to an array of its own.
        """
        pieces = pieces or self.pieces
        workers = min(self.threads, len(pieces))
        shares = [np.zeros(shape) for _ in range(workers)]

        def piece(item: tuple[np.ndarray, tuple[int, int]]) -> None:
            share, (first, last) = item
            add(first, last, share)

        # Who does which piece is settled beforehand, so that the same call gives the same rounding.
        in_lanes(piece, [[(shares[k], bounds) for bounds in pieces[k::workers]] for k in range(workers)])
        total, *others = shares
        for other in others:
            total += other
        with np.errstate(over="ignore"):
            return total.astype(self.dtype, copy=False)

    @property
    def smallest(self) -> float:
        """The smallest entry, or 0 if none is negative."""
        entries = self._matrix.data if sparse.issparse(self._matrix) else self._matrix
        return min(float(entries.min()), 0.0) if entries.size else 0.0

    @property
    def nnz(self) -> int:
        """Number of entries that are not zero."""
        dense = isinstance(self.rows, DenseRows)
        return int(np.count_nonzero(self._matrix) if dense else self._matrix.nnz)

    def block(self, first: int, last: int) -> sparse.csr_array:
        """Rows first to last - 1 as a SciPy matrix, sparse and with sorted columns whatever the storage."""
        block = sparse.csr_array(self._matrix[first:last])
        block.sort_indices()
        return block


def _canonical(X: Matrix) -> tuple[Matrix, bool | None]:
    """X, or a CSR copy of it where it is sparse but in another format or with doubled or zero entries.

    And whether all its entries are ones, if it is sparse: then none is zero, and none has to be kept.
    """
    if not sparse.issparse(X):
        return X, None
    # As it is if possible: SciPy remembers that it has looked through the columns.
    csr = X if isinstance(X, sparse.csr_array) else sparse.csr_array(X)
    doubled = not csr.has_canonical_format and kernels.has_doubles(csr.indptr, csr.indices, csr.shape[1])
    ones = all_ones(csr)
    if doubled or (not ones and (csr.data == 0).any()):
        csr = csr.copy()
        csr.sum_duplicates()  # the square of a sum is not the sum of squares
        csr.eliminate_zeros()
        ones = all_ones(csr)
    return csr, ones


def _renumbered(X: Matrix, order: np.ndarray) -> Matrix:
    if not sparse.issparse(X):
        return X[:, order]
    rank = np.zeros(X.shape[1], X.indices.dtype)
    rank[order] = np.arange(len(order))
    indices = np.empty_like(X.indices)
    kernels.renumber(X.indices, rank, indices)
    return sparse.csr_array((X.data, indices, X.indptr), (X.shape[0], len(order)))
