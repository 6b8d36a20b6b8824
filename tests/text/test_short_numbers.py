"""Numbers in few bytes are read back as they were."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dropglm.text.short_numbers import from_bytes, to_bytes

NUMBERS = st.one_of(st.integers(0, 300), st.integers(0, 2**63 - 1), st.sampled_from([2**7, 2**14, 2**56]))


@given(numbers=st.lists(NUMBERS))
def test_numbers_are_read_back(numbers):
    array = np.array(numbers, np.int64)
    np.testing.assert_array_equal(from_bytes(to_bytes(array)), array, strict=True)


@given(numbers=st.lists(NUMBERS))
def test_each_number_takes_a_byte_per_seven_bits(numbers):
    lengths = [max(1, -(-number.bit_length() // 7)) for number in numbers]
    assert len(to_bytes(np.array(numbers, np.int64))) == sum(lengths)
