"""Whole numbers in as few bytes as each needs: seven bits per byte, and one that says if more follow."""

import numpy as np

from dropglm.maths.compile import kernel

LONGEST = 9  # bytes of a number below 2^63


def to_bytes(numbers: np.ndarray) -> np.ndarray:
    """Return the bytes of numbers that are not negative.

    Examples
    --------
    >>> to_bytes(np.array([1, 127, 128]))
    array([  1, 127, 128,   1], dtype=uint8)
    """
    numbers = numbers.astype(np.int64, copy=False)
    written = np.empty(int(_lengths(numbers).sum()), np.uint8)
    write_numbers(numbers, written)
    return written


def from_bytes(written: np.ndarray) -> np.ndarray:
    """Return the numbers that ``to_bytes`` has written.

    Examples
    --------
    >>> from_bytes(np.array([1, 127, 128, 1], np.uint8))
    array([  1, 127, 128])
    """
    # The kernel would be compiled once more for buffers that another process has sent, which are read-only.
    written = np.require(written, requirements="W")
    numbers = np.empty(int((written < 0x80).sum()), np.int64)
    read_numbers(written, numbers)
    return numbers


def _lengths(numbers: np.ndarray) -> np.ndarray:
    lengths = np.ones(len(numbers), np.int8)
    largest = int(numbers.max(initial=0))
    for more in range(1, LONGEST):
        if largest >> 7 * more:
            lengths += numbers >= 1 << 7 * more
    return lengths


@kernel
def write_numbers(numbers, written):
    """Write the bytes of each number, the lowest seven bits first."""
    p = 0
    for i in range(len(numbers)):
        rest = numbers[i]
        while rest >= 0x80:
            written[p] = 0x80 | rest & 0x7F
            rest >>= 7
            p += 1
        written[p] = rest
        p += 1


@kernel
def read_numbers(written, numbers):
    """Read the numbers back."""
    p = 0
    for i in range(len(numbers)):
        number, shift = 0, 0
        while written[p] >= 0x80:
            number |= (written[p] & 0x7F) << shift
            shift += 7
            p += 1
        numbers[i] = number | written[p] << shift
        p += 1
