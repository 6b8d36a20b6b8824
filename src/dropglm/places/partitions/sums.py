"""Sums over the rows of partitions: some numbers, and some numbers per feature.

A partition of sparse rows has few of all features. Its sums then travel as (places, values), and as dense
arrays where these are not longer.
"""

from typing import NamedTuple

import numpy as np

from dropglm.core.maths.compile import kernel


class Sums(NamedTuple):
    """Sums over the rows of one or of several partitions."""

    numbers: np.ndarray  # (S,), float64
    values: np.ndarray  # (d', C): C numbers for each feature
    places: np.ndarray | None  # (d',): which features, in ascending order; None means all
    d: int  # number of all features

    def dense(self) -> np.ndarray:
        """Return the numbers of all features; shape (d, C)."""
        if self.places is None:
            return self.values
        everywhere = np.zeros((self.d, self.values.shape[1]), self.values.dtype)
        everywhere[self.places] = self.values
        return everywhere


def sums_of(numbers: np.ndarray, values: np.ndarray, places: np.ndarray | None, d: int) -> Sums:
    """Return sums in the form that is shorter: places and values, or values of all features.

    Examples
    --------
    >>> sums_of(np.ones(1), np.array([[2.0], [3.0]]), np.array([0, 2]), 3).values.ravel()
    array([2., 0., 3.])
    """
    sums = Sums(np.asarray(numbers, np.float64), values, places, d)
    if places is None:
        return sums
    size = values.shape[1] * values.itemsize
    if len(places) * (size + places.itemsize) < d * size:
        return sums
    return Sums(sums.numbers, sums.dense(), None, d)


def add_sums(a: Sums, b: Sums) -> Sums:
    """Return the sum of two; neither is changed, since an engine may need them again."""
    numbers = a.numbers + b.numbers
    if not len(a.values) or not len(b.values):  # as for a partition without rows that count
        return (b if not len(a.values) else a)._replace(numbers=numbers)
    if a.places is None and b.places is None:
        return Sums(numbers, a.values + b.values, None, a.d)
    if a.places is not None and b.places is not None:
        places, values = merge_ascending(a.places, a.values, b.places, b.values)
        return sums_of(numbers, values, places, a.d)
    dense, few = (a, b) if a.places is None else (b, a)
    values = dense.values.copy()
    values[few.places] += few.values
    return Sums(numbers, values, None, a.d)


class RowValues(NamedTuple):
    """Numbers of some of the rows of all partitions, and which rows these are."""

    rows: np.ndarray  # (n',)
    values: np.ndarray  # (n', K)

    def in_order(self, n: int) -> np.ndarray:
        """Return the numbers of all n rows, without a meaning where none is known; shape (n, K)."""
        everywhere = np.empty((n, self.values.shape[1]))
        everywhere[self.rows] = self.values
        return everywhere


Answer = Sums | RowValues


def add_answers(a: Answer, b: Answer) -> Answer:
    """Return the sum of two answers to the same request, or the numbers of the rows of both."""
    if isinstance(a, Sums) and isinstance(b, Sums):
        return add_sums(a, b)
    return RowValues(*(np.concatenate(both) for both in zip(a, b, strict=True)))  # type: ignore[arg-type]


def add_lists(a: list[Answer], b: list[Answer]) -> list[Answer]:
    """Return the sums of two lists of the same length, one by one."""
    return [add_answers(one, other) for one, other in zip(a, b, strict=True)]


def merge_ascending(
    a_places: np.ndarray, a_values: np.ndarray, b_places: np.ndarray, b_values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the union of two ascending sequences of places, and the sums of their values at each.

    Examples
    --------
    >>> merge_ascending(np.array([1, 4]), np.array([10, 20]), np.array([0, 4]), np.array([1, 2]))
    (array([0, 1, 4]), array([ 1, 10, 22]))
    """
    size = len(a_places) + len(b_places)
    C = a_values[0].size if len(a_values) else 1
    places, values = np.empty(size, a_places.dtype), np.empty((size, C), a_values.dtype)
    n = _merge(a_places, a_values.reshape(-1, C), b_places, b_values.reshape(-1, C), places, values)
    return places[:n], values[:n].reshape(n, *a_values.shape[1:])


@kernel
def _merge(a_places, a_values, b_places, b_values, places, values):
    """Set the union of two ascending sequences of places, and the sums at each; return their number."""
    i, j, n = 0, 0, 0
    while i < a_places.size or j < b_places.size:
        from_a = j == b_places.size or (i < a_places.size and a_places[i] <= b_places[j])
        from_b = i == a_places.size or (j < b_places.size and b_places[j] <= a_places[i])
        places[n] = a_places[i] if from_a else b_places[j]
        for c in range(values.shape[1]):
            total = a_values[i, c] if from_a else b_values[j, c]
            if from_a and from_b:
                total += b_values[j, c]
            values[n, c] = total
        i += from_a
        j += from_b
        n += 1
    return n
