"""Strings and rows are sorted as Python sorts them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dropglm.text.ngrams.merged_counts import copy_strings, sorted_rows, sorted_strings
from dropglm.text.ngrams.tokens import decode_strings, encode_strings

STRINGS = st.text(st.sampled_from("ab\0é京\U0001f600") | st.characters(), max_size=20)
PREFIXED = st.sampled_from(["", "understa", "understand", "\0" * 9]).flatmap(lambda p: STRINGS.map(p.__add__))


@given(strings=st.lists(PREFIXED, unique=True, max_size=40))
def test_strings_are_in_the_order_of_python(strings):
    letters, ends = encode_strings(strings)
    order = sorted_strings(letters, ends[:-1], ends[1:])
    assert [strings[k] for k in order] == sorted(strings)
    assert decode_strings(*copy_strings(letters, ends[:-1][order], ends[1:][order])) == sorted(strings)


@given(rows=st.lists(st.tuples(*[st.integers(-1, 4)] * 3), min_size=1, max_size=40))
def test_rows_are_sorted_by_their_entries_and_equal_rows_stay_in_order(rows):
    order = sorted_rows(np.array(rows, np.int32), 5)
    assert order.tolist() == sorted(range(len(rows)), key=rows.__getitem__)
