"""The operations on 64 bytes do the same compiled and as plain Python."""

import numpy as np
import pytest
from numba import njit

from dropglm.core.maths import instructions
from dropglm.core.maths.instructions import (
    bytes_between,
    copy_bytes,
    copy_lowered,
    count_bits,
    lowest_bit,
    packed_bytes,
)


@pytest.fixture
def data(rng):
    return rng.integers(0, 256, 200).astype(np.uint8)


@njit
def _between(data, p, low, high):
    return np.uint64(bytes_between(data, p, low, high))


@njit
def _packed(data, p):
    return packed_bytes(data, p)


@njit
def _bits(mask):
    return count_bits(mask), lowest_bit(mask)


@njit
def _copy(data, p, out, q, lowered):
    if lowered:
        copy_lowered(data, p, out, q)
    else:
        copy_bytes(data, p, out, q)


def test_compiled_masks_and_numbers_are_those_of_python(data):
    for p in range(0, 130, 7):
        for low, high in ((0, 0), (65, 90), (128, 255), (0, 255), (9, 8)):
            mask = bytes_between(data, p, low, high)
            assert _between(data, p, low, high) == mask
            assert _bits(mask) == (count_bits(mask), lowest_bit(mask))
            assert count_bits(mask) == ((low <= data[p : p + 64]) & (data[p : p + 64] <= high)).sum()
        assert _packed(data, p) == packed_bytes(data, p)
    assert lowest_bit(np.uint64(0)) == instructions.BLOCK


@pytest.mark.parametrize("lowered", [True, False])
def test_copies_are_those_of_python(data, lowered):
    compiled, plain = np.zeros((2, 300), np.uint8)
    _copy(data, 3, compiled, 11, lowered)
    (copy_lowered if lowered else copy_bytes)(data, 3, plain, 11)
    np.testing.assert_array_equal(compiled, plain)
    expected = bytes(data[3:67])
    assert bytes(plain[11:75]) == (expected.lower() if lowered else expected)
