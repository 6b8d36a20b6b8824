"""Sorting strings and n-grams alphabetically.

Strings are sorted by their UTF-8 bytes, which is the order in which Python sorts them.
"""

import numpy as np

from dropglm.maths.compile import kernel, part

PREFIX = 8  # bytes that fit into one number


def sorted_strings(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the order of distinct strings, given where each of them begins and ends.

    Examples
    --------
    >>> letters = np.frombuffer(b"understood-understand-a", np.uint8)
    >>> sorted_strings(letters, np.array([0, 11, 22]), np.array([10, 21, 23]))
    array([2, 1, 0])
    """
    n = len(starts)
    bits = np.uint64(max(n - 1, 0).bit_length())
    packed = np.empty(n, np.uint64)
    pack(letters, starts, stops, bits, packed)
    packed.sort()  # ten times as fast as argsort
    order = (packed & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
    sort_ties(letters, starts, stops, packed >> bits, order, np.empty_like(order))
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
def pack(letters, starts, stops, bits, packed):
    """Write the number of each string in the lowest bits, and above them as much of the string as fits."""
    for i in range(len(packed)):
        prefix = np.uint64(0)
        for k in range(starts[i], starts[i] + PREFIX):
            prefix = prefix << np.uint64(8) | (np.uint64(letters[k]) if k < stops[i] else np.uint64(0))
        packed[i] = prefix >> bits << bits | np.uint64(i)


@part
def is_less(letters, a, a_stop, b, b_stop):
    """Return whether the string from a on comes before the one from b on."""
    while a < a_stop and b < b_stop and letters[a] == letters[b]:
        a, b = a + 1, b + 1
    if b == b_stop:
        return False
    return a == a_stop or letters[a] < letters[b]


@kernel
def sort_ties(letters, starts, stops, prefixes, order, scratch):
    """Sort strings with the same first bytes, which ``order`` has next to each other, by merging."""
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


def find_byte(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray, low: int, high: int) -> int:
    """Return the number of the first string with a byte in this range, or -1.

    Examples
    --------
    >>> letters = np.frombuffer(b"understood-understand-a", np.uint8)
    >>> find_byte(letters, np.array([0, 11, 22]), np.array([10, 21, 23]), ord("a"), ord("b"))
    1
    """
    found = (letters >= low) & (letters <= high)
    if not found.any():
        return -1
    before = np.append(0, np.cumsum(found))
    contain = before[stops] > before[starts]
    return int(contain.argmax()) if contain.any() else -1


def sorted_rows(ranks: np.ndarray, limit: int) -> np.ndarray:
    """Return the order of the rows of integers from -1 to limit - 1, by their first entry, then the second, …

    Examples
    --------
    >>> sorted_rows(np.array([[1, 0], [0, 2], [1, -1]], np.int32), 3)
    array([1, 2, 0])
    """
    order = np.arange(len(ranks))
    for column in range(ranks.shape[1] - 1, -1, -1):
        following = np.empty_like(order)
        sort_by(ranks, column, np.zeros(limit + 2, np.int64), order, following)
        order = following
    return order


@kernel
def sort_by(ranks, column, places, order, following):
    """Sort rows that are in this order by one of their entries; rows with equal entries stay in order."""
    for i in range(len(ranks)):
        places[ranks[i, column] + 2] += 1
    for number in range(2, len(places)):
        places[number] += places[number - 1]
    for k in range(len(order)):
        i = order[k]
        place = ranks[i, column] + 1
        following[places[place]] = i
        places[place] += 1
