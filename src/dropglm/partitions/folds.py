"""The folds of a cross-validation of rows in partitions: stratified, of consecutive rows.

A row's fold follows from its rank among the rows of its class, so class counts of all partitions are enough.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from dropglm.estimators.folds import FOLDS, fold_count, fold_sizes
from dropglm.estimators.validation import class_numbers
from dropglm.partitions.rows import CheckedRows, naming


class RowFolds(NamedTuple):
    """The fold of every row of every partition."""

    ends: np.ndarray  # (folds, K): ranks after the last row of each class that each fold holds out
    before: dict[int, np.ndarray]  # by partition: rows of each class in the partitions before it, (K,)
    alone: np.ndarray  # (K,): classes with a single row, which is never held out

    @property
    def number(self) -> int:
        """The number of folds."""
        return len(self.ends)

    @property
    def sizes(self) -> np.ndarray:
        """The number of held-out rows of each fold."""
        return np.diff(self.ends, axis=0, prepend=0)[:, ~self.alone].sum(axis=1)

    def of(self, partition: int, y: np.ndarray) -> np.ndarray:
        """Return which fold holds out each row of a partition, given the numbers of their classes.

        Examples
        --------
        >>> before = {0: np.array([0, 0]), 1: np.array([2, 1])}
        >>> folds = RowFolds(np.array([[2, 1], [4, 3]]), before, np.array([False, False]))
        >>> folds.of(0, np.array([0, 1, 0])), folds.of(1, np.array([1, 0, 1, 0]))
        (array([0, 0, 0]), array([1, 1, 1, 1]))
        """
        found = np.empty(len(y), np.intp)
        for k, before in enumerate(self.before[partition]):
            rows = np.flatnonzero(y == k)
            ranks = before + np.arange(len(rows))
            found[rows] = -1 if self.alone[k] else np.searchsorted(self.ends[:, k], ranks, side="right")
        return found


class ClassRows(NamedTuple):
    """The classes of the rows of a partition."""

    partition: int
    counts: np.ndarray  # rows of each class, (K,)
    first: np.ndarray  # the first row of each class, (K,)


def count_classes(rows: CheckedRows, classes: np.ndarray) -> list[ClassRows]:
    """Return the numbers of rows of each class in a partition, and where they begin."""
    assert rows.y is not None
    with naming(rows.name):
        y = class_numbers(rows.y, classes)
    found, first, counts = np.unique(y, return_index=True, return_counts=True)
    by_class = np.zeros((2, len(classes)), np.int64)
    by_class[:, found] = counts, first
    return [ClassRows(rows.number, *by_class)]


def join(a: list[ClassRows], b: list[ClassRows]) -> list[ClassRows]:
    """Return the numbers of two groups of partitions, in their order."""
    return a + b


def folds_of(cv: Any, classes: np.ndarray, found: Sequence[ClassRows]) -> RowFolds:
    """Return the folds of ``LogisticRegressionCV`` for rows in memory in the same order.

    Parameters
    ----------
    cv : int or None
        The number of folds; None means five.
    classes : ndarray
    found : sequence of ClassRows
        Of all partitions, in their order.
    """
    if not isinstance(cv, Integral | None):
        raise TypeError(f"For rows in partitions, cv must be a number of folds or None, got {cv!r}.")
    if cv is not None and cv < 2:
        raise ValueError(f"cv must be at least 2, got {cv}.")
    counts = np.array([one.counts for one in found])
    totals = counts.sum(axis=0)
    n_folds = fold_count(FOLDS if cv is None else int(cv), totals, classes, every_class=False)
    # Classes in the order of their first rows.
    partitions = (counts > 0).argmax(axis=0)
    rows = [found[partition].first[k] for k, partition in enumerate(partitions)]
    order = np.lexsort((rows, partitions))
    sizes = np.empty((n_folds, len(classes)), np.int64)
    sizes[:, order] = fold_sizes(totals[order], n_folds)
    before = np.cumsum(counts, axis=0) - counts
    return RowFolds(
        np.cumsum(sizes, axis=0),
        {one.partition: own for one, own in zip(found, before, strict=True)},
        totals == 1,
    )
