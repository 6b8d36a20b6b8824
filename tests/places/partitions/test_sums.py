"""Sums of partitions: sparse or dense, they add up like arrays, in any grouping."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from dropglm.places.partitions.contents import check_rows, merge, orders_of, survey
from dropglm.places.partitions.engine import FAN_IN, SerialEngine, add_in_tree
from dropglm.places.partitions.sums import add_lists, add_sums, sums_of
from tests.places.partitions.cases import features, labels, no_features, partitions

D = 7


@st.composite
def some_sums(draw):
    """Whole numbers, so that sums are exact: of no feature, of some, or of all."""
    places = draw(st.none() | st.lists(st.integers(0, D - 1), unique=True).map(sorted))
    n = D if places is None else len(places)
    entries = st.lists(st.integers(-9, 9), min_size=2 * n, max_size=2 * n)
    values = np.array(draw(entries), np.float64).reshape(n, 2)
    numbers = np.array([draw(st.integers(-9, 9))], np.float64)
    return sums_of(numbers, values, None if places is None else np.array(places, np.int32), D)


@given(some_sums(), some_sums(), some_sums())
def test_sums_add_up_like_dense_arrays(a, b, c):
    expected = a.dense() + b.dense() + c.dense()
    for total in (add_sums(add_sums(a, b), c), add_sums(a, add_sums(b, c))):
        assert_array_equal(total.dense(), expected)
        assert total.numbers == a.numbers + b.numbers + c.numbers
    before = a.values.copy()
    add_sums(a, b)
    assert_array_equal(a.values, before)


def test_lists_are_added_one_by_one():
    total = add_lists([no_features([1.0]), no_features([2.0])], [no_features([3.0]), no_features([4.0])])
    assert [sums.numbers.tolist() for sums in total] == [[4.0], [6.0]]


def bracket(a, b):
    return f"({a}{b})"


@given(st.integers(1, 200))
def test_engines_add_in_the_same_order(count):
    """The groups of ``add_in_tree`` are those of Dask's graph."""
    pytest.importorskip("distributed")
    from dropglm.dask.engine import _graph, _sum

    graph, keys = _graph(lambda part, message: part, list(map(str, range(count))), None, bracket)

    def value(key):
        task = graph[key]
        return _sum(task[1], *map(value, task[2:])) if task[0] is _sum else task[2]

    by_graph = _sum(bracket, *map(value, keys))
    assert by_graph == add_in_tree(map(str, range(count)), count, bracket)
    assert len(keys) <= 2
    assert max(len(task) for task in graph.values()) <= FAN_IN + 2


def surveys(rng, cuts=(0, 10, 10, 35, 60)):
    X = features(rng, 60)
    y = np.array(["b", "a"])[labels(rng, X)]
    checked = [check_rows(rows, "labels") for rows in partitions(X, y, cuts=list(cuts))]
    return X, y, [survey(rows, None) for rows in checked]


def test_a_merged_survey_is_that_of_all_rows(rng):
    """Merging is associative, and an empty partition changes nothing but the list of sizes."""
    X, y, (a, b, c, d) = surveys(rng)
    left, right = merge(merge(merge(a, b), c), d), merge(a, merge(b, merge(c, d)))
    for found in (left, right):
        assert found.rows == (10, 0, 25, 25)
        assert_array_equal(found.columns[0], np.flatnonzero(X.any(axis=0)))
        assert_array_equal(found.counts[0], np.count_nonzero(X, axis=0)[found.columns[0]])
        assert_array_equal(found.y, y)
        assert_array_equal(found.weights, np.ones(60))
        assert (found.weight, found.dtype, found.dense) == (60.0, np.float64, (False,))


def test_long_lists_of_columns_are_merged_like_short_ones(rng, monkeypatch):
    *_, (a, b, c, d) = surveys(rng)
    short = merge(merge(a, b), merge(c, d))
    monkeypatch.setattr("dropglm.places.partitions.contents.LONG", 0)
    long = merge(merge(a, b), merge(c, d))
    assert_array_equal(long.columns[0], short.columns[0])
    assert_array_equal(long.counts[0], short.counts[0])


def test_sparse_features_are_ordered_by_frequency(rng):
    X, _, found = surveys(rng, (0, 60))
    (order,) = orders_of(found[0], None)
    counts = np.count_nonzero(X, axis=0)[order]
    assert (np.diff(counts) <= 0).all()
    assert sorted(order) == np.flatnonzero(X.any(axis=0)).tolist()


def test_columns_without_entries_are_found_in_wide_matrices():
    """A partition with far fewer entries than columns is surveyed without an array of all columns."""
    X = sparse.csr_array((np.ones(3), ([0, 1, 1], [5, 5, 900_000])), shape=(2, 1_000_000))
    rows = check_rows(partitions(X, np.array([0, 1]), cuts=[0, 2])[0], "labels")
    found = survey(rows, None)
    assert (found.columns[0].tolist(), found.counts[0].tolist()) == ([5, 900_000], [2, 1])


def test_a_part_may_be_a_list_of_parts():
    for rereads in (False, True):
        engine = SerialEngine(rereads=rereads)
        parts = engine.keep(lambda part, message: part + message, [1, 2, 3], 10)
        groups = engine.keep(lambda group, message: sum(group), [parts[:2], parts[2:]], None)
        assert engine.total(lambda part, message: part, groups, None, lambda a, b: a + b) == 36
