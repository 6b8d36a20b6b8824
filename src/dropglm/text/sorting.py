"""Sorting strings and n-grams alphabetically.

Strings are sorted by their UTF-8 bytes, which is the order in which Python sorts them.
"""

import numpy as np

from dropglm.maths.compile import inlined, kernel

PREFIX = 8  # bytes that fit into one number


def sorted_strings(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the order of distinct strings, given where each of them begins and ends.

    Examples
    --------
    >>> letters = np.frombuffer(b"understood-understand-a", np.uint8)
    >>> sorted_strings(letters, np.array([0, 11, 22]), np.array([10, 21, 23]))
    array([2, 1, 0])
    """
    prefixes = np.empty(len(starts), np.uint64)
    prefixes_of(letters, starts, stops, prefixes)
    order = np.argsort(prefixes)
    sort_ties(letters, starts, stops, prefixes[order], order, np.empty_like(order))
    return order


def copy_strings(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the strings one after another, and where each begins and the last one ends."""
    ends = np.append(0, np.cumsum(stops - starts))
    copied = np.empty(ends[-1], np.uint8)
    write_strings(letters, starts, ends, copied)
    return copied, ends


@kernel
def write_strings(letters, starts, ends, copied):
    """Copy each string to its place."""
    for i in range(len(starts)):
        for k in range(ends[i + 1] - ends[i]):
            copied[ends[i] + k] = letters[starts[i] + k]


@kernel
def prefixes_of(letters, starts, stops, prefixes):
    """Pack the first eight bytes of each string into one number; shorter strings are followed by zeros."""
    for i in range(len(starts)):
        packed = np.uint64(0)
        for k in range(starts[i], starts[i] + PREFIX):
            packed = packed << np.uint64(8) | (np.uint64(letters[k]) if k < stops[i] else np.uint64(0))
        prefixes[i] = packed


@inlined
def is_less(letters, a, a_stop, b, b_stop):
    """Return whether the string from a on comes before the one from b on."""
    while a < a_stop and b < b_stop and letters[a] == letters[b]:
        a, b = a + 1, b + 1
    if b == b_stop:
        return False
    return a == a_stop or letters[a] < letters[b]


@kernel
def sort_ties(letters, starts, stops, prefixes, order, scratch):
    """Sort strings with the same first eight bytes, which ``order`` has next to each other, by merging."""
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and prefixes[last] == prefixes[first]:
            last += 1
        width = 1
        while width < last - first:
            for left in range(first, last, 2 * width):
                middle, right = min(left + width, last), min(left + 2 * width, last)
                a, b = left, middle
                for k in range(left, right):
                    take = a < middle
                    if take and b < right:
                        i, j = order[b], order[a]
                        take = not is_less(letters, starts[i], stops[i], starts[j], stops[j])
                    if take:
                        scratch[k] = order[a]
                        a += 1
                    else:
                        scratch[k] = order[b]
                        b += 1
            for k in range(first, last):
                order[k] = scratch[k]
            width *= 2
        first = last


def sorted_rows(ranks: np.ndarray, limit: int) -> np.ndarray:
    """Return the order of the rows of integers from -1 to limit - 1, by their first entry, then the second, …

    Examples
    --------
    >>> sorted_rows(np.array([[1, 0], [0, 2], [1, -1]], np.int32), 3)
    array([1, 2, 0])
    """
    order = np.arange(len(ranks))
    for column in ranks.T[::-1]:
        following = np.empty_like(order)
        sort_by(np.ascontiguousarray(column), np.zeros(limit + 2, np.int64), order, following)
        order = following
    return order


@kernel
def sort_by(ranks, places, order, following):
    """Sort items that are in this order by their rank; equal ranks stay in order."""
    for i in range(len(ranks)):
        places[ranks[i] + 2] += 1
    for rank in range(2, len(places)):
        places[rank] += places[rank - 1]
    for k in range(len(order)):
        i = order[k]
        place = ranks[i] + 1
        following[places[place]] = i
        places[place] += 1
