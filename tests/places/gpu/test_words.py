"""Numbers of two problems in one word."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

single = st.floats(width=32, allow_nan=False)


@given(first=single, second=single)
def test_a_word_has_both_numbers(first, second):
    from dropglm.places.gpu.threads import joined, parts

    word = np.uint64(joined(np.float32(first), np.float32(second), np.uint64(0)))
    assert tuple(map(float, parts(word))) == (first, second)
    # As in memory: an array of float32 whose neighbours are the two.
    assert np.array([first, second], np.float32).view(np.uint64)[0] == word


def test_a_number_of_one_problem_is_its_own_word():
    from dropglm.places.gpu.threads import joined, parts

    assert joined(1.5, 7.0, np.float64(0.0)) == 1.5
    assert parts(np.float64(1.5)) == (1.5, 0.0)
