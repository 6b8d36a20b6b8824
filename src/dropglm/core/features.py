"""The rows of a fit, ready for the kernels: features ordered by frequency, stored by rows and by columns."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from copy import copy
from typing import Any, Self, TypeVar

import numpy as np
from scipy import sparse

from dropglm.base.blocks import Blocks
from dropglm.base.errors import InputError
from dropglm.base.gpu_arrays import to_host
from dropglm.base.threads import each
from dropglm.core.design import BlockDesign, Design, Matrix, frequency_order
from dropglm.core.objective import sum_of_rows

Item = TypeVar("Item")
Result = TypeVar("Result")


class AnyFeatures(ABC):
    """The features of a fit that occur, in the order of its coefficients, wherever its rows are.

    A feature that occurs in no row has coefficient 0 and is left out. Several problems may share the features
    and be solved together.

    Parameters
    ----------
    orders : sequence of arrays of int
        For each block, its features that occur, in the order of the coefficients. Arrays of a GPU are copied
        to the host when they are asked for: most fits do without.
    widths : sequence of int
        Number of features of each block.
    dtype : dtype
        Type of the features.
    in_blocks : bool
        Whether X is ``Blocks``, perhaps of only one.
    some_unlabeled : bool
        Whether there are unlabelled rows.

    Attributes
    ----------
    d : int
        Number of all features.
    block_count : int or None
        Number of blocks of X, None if X is a single matrix.
    left_out : frozenset of int
        Numbers of blocks whose coefficients are 0.
    """

    def __init__(
        self,
        orders: Sequence[Any],
        widths: Sequence[int],
        dtype: np.dtype,
        *,
        in_blocks: bool = False,
        some_unlabeled: bool = False,
    ) -> None:
        self._orders, self.widths, self.dtype = orders, widths, dtype
        self._order: np.ndarray | None = None
        self.some_unlabeled = some_unlabeled
        self.d = sum(widths)
        self.block_count = len(widths) if in_blocks else None
        self.left_out: frozenset[int] = frozenset()

    @property
    def orders(self) -> Sequence[np.ndarray]:
        """For each block, its features that occur, in the order of the coefficients."""
        self._orders = [to_host(order) for order in self._orders]
        return self._orders

    @property
    def order(self) -> np.ndarray:
        """The features that occur, of all blocks."""
        if self._order is None:
            starts = np.cumsum((0, *self.widths))
            kept = [
                starts[k] + order if k else order
                for k, order in enumerate(self.orders)
                if k not in self.left_out
            ]
            self._order = kept[0] if len(kept) == 1 else np.concatenate(kept)
        return self._order

    def without(self, numbers: Collection[int]) -> Self:
        """Return the features without the blocks of these numbers, whose coefficients are 0."""
        rest = copy(self)
        rest.left_out, rest._order = self.left_out.union(numbers), None
        return rest

    def select(self, coef: np.ndarray) -> np.ndarray:
        """Return β of the features that occur, given a (K, d) array for all features; shape (d', K)."""
        return np.ascontiguousarray(coef[:, self.order].T, dtype=self.dtype)

    def expand(self, beta: np.ndarray) -> np.ndarray:
        """Return the (K, d) array of all features, given β; 0 for those that do not occur."""
        coef = np.zeros((beta.shape[1], self.d), beta.dtype)
        coef[:, self.order] = beta.T
        return coef

    @property
    @abstractmethod
    def threads(self) -> int:
        """Number of threads for the algebra on coefficients."""

    @property
    @abstractmethod
    def smallest(self) -> tuple[float, ...]:
        """Of each block, the smallest entry of labelled rows, or 0 if none is negative."""

    # Whether problems that share the features are solved at the same time, rather than one per thread.
    solves_together = False

    def like_coefficients(self, numbers: np.ndarray) -> Any:
        """Return numbers of the host in the type of the coefficients, and where these are."""
        return numbers.astype(self.dtype)

    def zeros(self, K: int) -> Any:
        """Return coefficients of all features, of shape (K, d)."""
        return np.zeros((K, self.d), self.dtype)

    @property
    @abstractmethod
    def blocks(self) -> Sequence[tuple[int, slice, Any]]:
        """Number and columns, among the coefficients, of each block."""

    @abstractmethod
    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return ``[work(item) for item in items]``, several at a time."""

    @abstractmethod
    def each_when_ready(self, work: Callable[[int], None], needs: Sequence[Sequence[int]]) -> None:
        """Call ``work(k)`` for k = 0, 1, …, each after the calls for all of ``needs[k]``."""


class FeaturesOfRows(AnyFeatures):
    """Features with designs of labelled and unlabelled rows.

    Attributes
    ----------
    labeled, unlabeled : designs of the rows, None without unlabelled rows
    """

    labeled: Any
    unlabeled: Any

    def without(self, numbers: Collection[int]) -> Self:
        """Return the features without the blocks of these numbers, whose coefficients are 0."""
        if not numbers:
            return self
        rest = super().without(numbers)
        rest.labeled = self.labeled.without(numbers)
        if self.unlabeled is not None:
            rest.unlabeled = self.unlabeled.without(numbers)
        return rest

    @property
    def blocks(self) -> Sequence[tuple[int, slice, Any]]:
        """Number, columns and design of each block."""
        return self.labeled.blocks

    def each_when_ready(self, work: Callable[[int], None], needs: Sequence[Sequence[int]]) -> None:
        """Call ``work(k)`` for k = 0, 1, …, on all threads; spare threads share the loops over the rows."""
        each(work, range(len(needs)), self.threads, needs)

    def mean_row(self, weights: np.ndarray) -> Any:
        """Return x̄, the weighted mean of the labelled rows, where coefficients are computed; shape (d',)."""
        return sum_of_rows(self.labeled, weights / weights.sum())

    @property
    def smallest(self) -> tuple[float, ...]:
        """Of each block, the smallest entry of labelled rows, or 0 if none is negative."""
        return tuple(design.smallest for _, _, design in self.blocks)


class Features(FeaturesOfRows):
    """Labelled and unlabelled rows over the features that occur.

    Parameters
    ----------
    X : ndarray, scipy sparse or Blocks of shape (n, d)
    X_unlabeled : of the same kind and of shape (m, d), optional
        Blocks must have the widths of X's.
    threads : int

    Attributes
    ----------
    labeled, unlabeled : Design or BlockDesign, None without unlabelled rows
    """

    def __init__(self, X: Any, X_unlabeled: Any = None, threads: int = 1) -> None:
        given = [part for part in (X, X_unlabeled) if part is not None]
        in_blocks = isinstance(X, Blocks)
        widths = X.widths if in_blocks else (X.shape[1],)
        orders, designs = [], []
        for number in range(len(widths)):
            matrices = [_by_rows(part.blocks[number] if in_blocks else part, X.dtype) for part in given]
            orders.append(frequency_order(*matrices, threads=threads))
            designs.append(
                [Design(part, order=orders[-1], threads=threads).by_columns() for part in matrices]
            )
        super().__init__(orders, widths, X.dtype, in_blocks=in_blocks, some_unlabeled=len(given) == 2)
        self.labeled, *unlabeled = (
            BlockDesign(parts) if in_blocks else parts[0] for parts in zip(*designs, strict=True)
        )
        self.unlabeled = unlabeled[0] if unlabeled else None

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
        return each(work, items, self.threads)


def _by_rows(X: Any, dtype: np.dtype) -> Matrix:
    with np.errstate(over="ignore"):
        rows = (
            sparse.csr_array(X, dtype=dtype) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=dtype)
        )
    if X.dtype != dtype and not np.isfinite(rows.data if sparse.issparse(rows) else rows).all():
        raise InputError(f"X_unlabeled contains numbers too large for X's dtype {dtype}.")
    return rows
