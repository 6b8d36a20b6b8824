"""Loops that turn n-grams into rows."""

import numpy as np
import pytest
from numba import njit

from dropglm.text.ngrams import counting


@njit
def sort(values, places, digits):
    counting.sort(values, np.empty_like(values), 0, len(values), places, digits)


@pytest.mark.parametrize("n", [0, 1, counting.FEW, counting.FEW + 1, 1000])
@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_sort_agrees_with_numpy(rng, n, digits):
    largest = min(1 << (counting.DIGIT * digits), np.iinfo(np.int32).max)
    values = rng.integers(largest, size=n, dtype=np.int32)
    expected = np.sort(values)
    places = np.empty(counting.RADIX, np.int64)
    sort(values, places, digits)
    np.testing.assert_array_equal(values, expected)
