"""The features of a fit whose rows are in partitions."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dropglm.estimators.features import AnyFeatures
from dropglm.partitions.rounds import Rounds
from dropglm.partitions.survey import Survey, orders_of

Item = TypeVar("Item")
Result = TypeVar("Result")


class PartitionedFeatures(AnyFeatures):
    """The features that occur in some partition, in the order of the coefficients.

    Parameters
    ----------
    labeled : Survey
        Of the labelled partitions.
    unlabeled : Survey or None
        Of the unlabelled partitions, if they have rows.
    threads : int
        Number of threads of the client.

    Attributes
    ----------
    smallest_unlabeled : tuple of float
        Of each block, the smallest entry of unlabelled rows, or 0 if none is negative.
    rounds : Rounds
        How to ask the partitions; set when these are prepared.
    """

    rounds: Rounds

    def __init__(self, labeled: Survey, unlabeled: Survey | None, threads: int) -> None:
        assert labeled.widths is not None
        self._threads = threads
        self._smallest = labeled.smallest
        self.smallest_unlabeled = labeled.smallest if unlabeled is None else unlabeled.smallest
        super().__init__(
            orders_of(labeled, unlabeled),
            labeled.widths,
            labeled.dtype,
            in_blocks=labeled.in_blocks,
            some_unlabeled=unlabeled is not None,
        )

    def leave_out(self, numbers: frozenset[int]) -> None:
        """Leave out blocks, whose coefficients are 0; before the partitions are prepared."""
        super().__init__(
            self.orders,
            self.widths,
            self.dtype,
            in_blocks=self.block_count is not None,
            some_unlabeled=self.some_unlabeled,
            left_out=numbers,
        )

    @property
    def blocks(self) -> list[tuple[int, slice, Any]]:
        """Number and columns, among the coefficients, of each block."""
        found, start = [], 0
        for number, order in enumerate(self.orders):
            if number not in self.left_out:
                found.append((number, slice(start, start + len(order)), None))
                start += len(order)
        return found

    @property
    def smallest(self) -> tuple[float, ...]:
        """Of each block, the smallest entry of labelled rows, or 0 if none is negative."""
        return self._smallest

    @property
    def threads(self) -> int:
        """Number of threads for the algebra on coefficients."""
        return self._threads

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return ``[work(item) for item in items]``, all at a time, with common rounds."""
        return self.rounds.each(work, items)
