"""The folds of rows in partitions are those of the same rows in memory."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dropglm.estimators.folds import folds_from
from dropglm.estimators.validation import TrainingData
from dropglm.partitions.folds import count_classes, folds_of
from dropglm.partitions.rows import CheckedRows
from tests.partitions.cases import cuts_of


def checked(y, cuts):
    """Partitions with these labels between the cuts; numbers of partitions need not be consecutive."""
    return [
        CheckedRows(2 * number, np.zeros((stop - start, 1)), y[start:stop], np.ones(stop - start), None)
        for number, (start, stop) in enumerate(pairwise(cuts))
        if stop > start
    ]


@given(
    y=st.lists(st.sampled_from("abcd"), min_size=6, max_size=60).filter(lambda y: 1 < len(set(y)) < len(y)),
    count=st.integers(1, 9),
    cv=st.integers(2, 6),
)
def test_folds_are_those_of_rows_in_memory(y, count, cv):
    classes, numbers = np.unique(y, return_inverse=True)
    n = len(y)
    data = TrainingData(None, numbers, {}, np.ones(n), np.ones(n), classes=classes)
    expected = np.full(n, -1)
    for number, fold in enumerate(folds_from(cv, data, every_class=False)):
        expected[fold.test] = number
    parts = checked(np.array(y), cuts_of(n, count))
    found = folds_of(cv, classes, [own for part in parts for own in count_classes(part, classes)])
    of_rows = [found.of(part.number, np.searchsorted(classes, part.y)) for part in parts]
    assert_array_equal(np.concatenate(of_rows), expected)
    assert_array_equal(found.sizes, np.bincount(expected[expected >= 0], minlength=found.number))


@pytest.mark.parametrize(
    ("cv", "error", "message"),
    [
        (
            [([0], [1])],
            TypeError,
            r"^For rows in partitions, cv must be a number of folds or None, got \[.*\]\.$",
        ),
        (1, ValueError, r"^cv must be at least 2, got 1\.$"),
    ],
)
def test_other_folds_are_refused(cv, error, message):
    classes = np.array([0, 1])
    found = count_classes(checked(np.tile(classes, 5), [0, 10])[0], classes)
    with pytest.raises(error, match=message):
        folds_of(cv, classes, found)
