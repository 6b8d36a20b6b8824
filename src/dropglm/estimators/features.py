"""The rows of a fit, ready for the kernels: features ordered by frequency, stored by rows and by columns."""

from collections.abc import Callable, Collection, Sequence
from copy import copy
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from dropglm.blocks import Blocks, block_count
from dropglm.dependencies import each_in_teams
from dropglm.design import BlockDesign, Design, Matrix, frequency_order

Item = TypeVar("Item")
Result = TypeVar("Result")


class Features:
    """Labelled and unlabelled rows over the features that occur.

    A feature that occurs in no row has coefficient 0 and is left out.

    Parameters
    ----------
    X : ndarray, scipy sparse or Blocks of shape (n, d)
    X_unlabeled : of the same kind and of shape (m, d), optional
        Blocks must have the widths of X's.
    threads : int

    Attributes
    ----------
    labeled, unlabeled : Design or BlockDesign, None without unlabelled rows
    block_count : int or None
        Number of blocks of X, None if X is a single matrix.
    orders : list of ndarrays of int
        For each block, its features that occur, in the order of the design.
    order : ndarray of int
        The same for all features.
    """

    def __init__(self, X: Any, X_unlabeled: Any = None, threads: int = 1) -> None:
        given = [part for part in (X, X_unlabeled) if part is not None]
        self.d: int = X.shape[1]
        self.block_count = block_count(X)
        self.widths: tuple[int, ...] = X.widths if isinstance(X, Blocks) else (self.d,)
        self.orders, designs = [], []
        for number in range(len(self.widths)):
            matrices = [_by_rows(_block(part, number), X.dtype) for part in given]
            order = frequency_order(*matrices, threads=threads)
            self.orders.append(order)
            designs.append([Design(part, order=order, threads=threads).by_columns() for part in matrices])
        self.labeled, *unlabeled = (
            BlockDesign(parts) if isinstance(X, Blocks) else parts[0] for parts in zip(*designs, strict=True)
        )
        self.unlabeled = unlabeled[0] if unlabeled else None
        self._set_order()

    def _set_order(self) -> None:
        starts = np.cumsum((0, *self.widths))
        kept = [starts[block.number] + self.orders[block.number] for block in self.labeled.blocks]
        self.order = np.concatenate(kept)

    def without(self, numbers: Collection[int]) -> "Features":
        """Return the features without the blocks of these numbers, whose coefficients are 0."""
        if not numbers:
            return self
        rest = copy(self)
        assert isinstance(self.labeled, BlockDesign)
        rest.labeled = self.labeled.without(numbers)
        if self.unlabeled is not None:
            rest.unlabeled = self.unlabeled.without(numbers)
        rest._set_order()
        return rest

    @property
    def threads(self) -> int:
        """Number of threads for the loops over the rows."""
        return self.labeled.threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self.labeled.threads = threads
        if self.unlabeled is not None:
            self.unlabeled.threads = threads

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return ``[work(item) for item in items]``, with one item per thread.

        Threads without an item help with the loops over the rows of the others.
        """
        return each_in_teams(work, items, self.threads)

    def select(self, coef: np.ndarray) -> np.ndarray:
        """Return β of the features that occur, given a (K, d) array for all features; shape (d', K)."""
        return np.ascontiguousarray(coef[:, self.order].T, dtype=self.labeled.dtype)

    def expand(self, beta: np.ndarray) -> np.ndarray:
        """Return the (K, d) array of all features, given β; 0 for those that do not occur."""
        coef = np.zeros((beta.shape[1], self.d), beta.dtype)
        coef[:, self.order] = beta.T
        return coef


def _block(X: Any, number: int) -> Matrix:
    return X.blocks[number] if isinstance(X, Blocks) else X


def _by_rows(X: Any, dtype: np.dtype) -> Matrix:
    with np.errstate(over="ignore"):
        rows = (
            sparse.csr_array(X, dtype=dtype) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=dtype)
        )
    if X.dtype != dtype and not np.isfinite(rows.data if sparse.issparse(rows) else rows).all():
        raise ValueError(f"X_unlabeled contains numbers too large for X's dtype {dtype}.")
    return rows
