"""Naive Bayes' log ratios, which a search may add to the coefficients."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dropglm import LogisticRegressionCV
from dropglm.core.design import Design
from dropglm.search.naive_bayes import PIECE, log_ratios, ratios_from_totals
from tests.linear.test_fits import words


@st.composite
def labelled_rows(draw, smallest_K=2):
    """Return non-negative rows, the indicators of their classes, and weights."""
    n, d, K = draw(st.integers(1, 12)), draw(st.integers(1, 8)), draw(st.integers(smallest_K, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.exponential(size=(n, d)) * (rng.random((n, d)) < draw(st.sampled_from([0.2, 0.6, 1.0])))
    return X, np.eye(K)[rng.integers(K, size=n)], rng.choice([0.0, 0.5, 1.0, 2.5], size=n)


def ratios_of_totals(totals, floor, pseudo_total):
    """Return the ratios of all classes from the definition, in loops."""
    d, K = np.shape(totals)
    total = sum(sum(row) for row in totals)
    r = np.zeros((d, K))
    for j, row in enumerate(totals):
        if sum(row) > 0.0:
            for k in range(K):
                of_class = sum(other[k] for other in totals) / total
                share = (row[k] + pseudo_total * of_class) / (sum(row) + pseudo_total)
                r[j, k] = np.log((share + floor) / (of_class + floor))
    return r


def by_hand(X, y, weights):
    """Return the ratios of all classes from the definition, in loops."""
    (n, d), K = X.shape, y.shape[1]
    totals = [[sum(weights[i] * y[i, k] * X[i, j] for i in range(n)) for k in range(K)] for j in range(d)]
    return ratios_of_totals(totals, 1.0, 0.0)


@given(labelled_rows())
def test_ratios_are_those_of_the_definition(case):
    X, y, weights = case
    expected = by_hand(X, y, weights)
    if y.shape[1] == 2:
        expected = expected[:, [1]] - expected[:, [0]]
    for storage in (np.asarray, sparse.csr_array):
        assert_allclose(log_ratios(Design(storage(X)), y, weights), expected, rtol=1e-9, atol=1e-12)


@given(labelled_rows())
def test_they_are_naive_bayes_smoothed_by_the_totals_of_all_classes(case):
    X, y, weights = case
    counts = X.T @ (weights[:, None] * y)
    seen = counts.sum(axis=1) > 0.0
    smoothed = counts + counts.sum(axis=1, keepdims=True)
    frequencies = smoothed[seen] / smoothed.sum(axis=0) if seen.any() else smoothed[seen]
    totals = counts.sum(axis=1)[seen]
    expected = np.log(frequencies) - np.log(totals / totals.sum())[:, None]
    if y.shape[1] == 2:
        expected = expected[:, [1]] - expected[:, [0]]
    found = log_ratios(Design(X), y, weights)
    assert_allclose(found[seen], expected, rtol=1e-9, atol=1e-12)
    assert_array_equal(found[~seen], 0.0)


@given(labelled_rows(), st.integers(0, 2**32 - 1))
def test_scaling_a_feature_changes_its_ratios_like_those_of_every_other_feature(case, seed):
    """P(k | j) does not depend on the scale of feature j; P(k), which all features share, does."""
    X, y, weights = case
    scale = np.random.default_rng(seed).uniform(0.1, 10.0, size=X.shape[1])
    before, after = (log_ratios(Design(rows), y, weights) for rows in (X, X * scale))
    seen = (X * weights[:, None]).any(axis=0)
    change = (after - before)[seen]
    if len(change):
        assert_allclose(change, np.broadcast_to(change[0], change.shape), atol=1e-9)
    assert_allclose(log_ratios(Design(7.0 * X), y, weights), before, atol=1e-12)
    assert_allclose(log_ratios(Design(X), y, 7.0 * weights), before, atol=1e-12)


@given(st.integers(2, 4), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_feature_that_is_spread_like_all_others_has_ratio_zero(K, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(K, d))
    share = X.sum(axis=1) / X.sum()
    X = np.column_stack([X, rng.uniform(0.01, 10.0) * share])
    assert_allclose(log_ratios(Design(X), np.eye(K), np.ones(K))[-1], 0.0, atol=1e-12)


@given(labelled_rows(smallest_K=3))
def test_two_classes_have_the_difference_of_the_columns(case):
    X, y, weights = case
    # A third class without rows makes the columns of the first two visible.
    two = np.column_stack([y[:, 0], 1.0 - y[:, 0]])
    r = log_ratios(Design(X), np.column_stack([two, np.zeros(len(X))]), weights)
    assert_allclose(log_ratios(Design(X), two, weights)[:, 0], r[:, 1] - r[:, 0], atol=1e-12)


SMOOTHING = st.sampled_from([0.01, 0.03, 0.3, 1.0]), st.sampled_from([0.0, 0.3, 2.0])


@given(labelled_rows(), *SMOOTHING)
def test_ratios_of_totals_are_those_of_the_definition(case, floor, pseudo_total):
    X, y, weights = case
    totals = X.T @ (weights[:, None] * y)
    expected = ratios_of_totals(totals, floor, pseudo_total)
    if y.shape[1] == 2:
        expected = expected[:, [1]] - expected[:, [0]]
    found = ratios_from_totals(totals, floor=floor, pseudo_total=pseudo_total)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert_array_equal(found[totals.sum(axis=1) == 0.0], 0.0)
    # In another unit of the features, the pseudo-total is another number.
    scaled = ratios_from_totals(7.0 * totals, floor=floor, pseudo_total=7.0 * pseudo_total)
    assert_allclose(scaled, found, rtol=1e-9, atol=1e-12)


@given(labelled_rows())
def test_ratios_of_totals_are_the_log_ratios_by_default(case):
    X, y, weights = case
    found = ratios_from_totals(X.T @ (weights[:, None] * y))
    assert_allclose(found, log_ratios(Design(X), y, weights), rtol=1e-9, atol=1e-12)


@given(labelled_rows(smallest_K=3), *SMOOTHING)
def test_smoothing_moves_ratios_towards_zero(case, floor, pseudo_total):
    """Both kinds of smoothing keep the sign of a ratio, and more of them makes it smaller."""
    X, y, weights = case
    totals = X.T @ (weights[:, None] * y)
    found = ratios_from_totals(totals, floor=floor, pseudo_total=pseudo_total)
    for more in ({"floor": 2.0 * floor}, {"pseudo_total": pseudo_total + 1.0}):
        smoothed = ratios_from_totals(totals, **{"floor": floor, "pseudo_total": pseudo_total} | more)
        assert (np.abs(smoothed) <= np.abs(found) + 1e-12).all()
        assert (smoothed * found >= -1e-12).all()
    assert_allclose(ratios_from_totals(totals, floor=floor, pseudo_total=1e12), 0.0, atol=1e-6)
    assert_allclose(ratios_from_totals(totals, floor=1e9), 0.0, atol=1e-6)


@pytest.mark.parametrize("K", [2, 3])
def test_ratios_do_not_depend_on_the_number_of_threads(K, rng):
    totals = rng.poisson(0.5, size=(2 * PIECE, K)).astype(float)
    one, three = (
        ratios_from_totals(totals, floor=0.1, pseudo_total=0.3, threads=threads) for threads in (1, 3)
    )
    assert_array_equal(one, three)
    # The same features, several times: so are the ratios.
    twice = ratios_from_totals(np.vstack([totals, totals]), floor=0.1, pseudo_total=0.3, threads=2)
    assert_allclose(twice, np.vstack([one, one]), rtol=1e-9, atol=1e-12)


def test_no_class_in_any_row_has_ratio_zero():
    assert_array_equal(ratios_from_totals(np.zeros((3, 2)), floor=0.1, pseudo_total=1.0), 0.0)
    # A class without rows has the share 0 in every feature, like in all features together.
    assert_allclose(ratios_from_totals(np.array([[1.0, 3.0, 0.0], [2.0, 1.0, 0.0]]))[:, 2], 0.0)


def test_features_must_not_be_negative(rng):
    X, y = words(rng)
    model = LogisticRegressionCV(dropout=0.5, l2=1.0, cv=2, naive_bayes=True)
    with pytest.raises(ValueError, match="naive_bayes=True needs non-negative features"):
        model.fit(X - 0.5, y)


def test_rows_without_features_say_nothing(rng):
    _, y = words(rng)
    model = LogisticRegressionCV(dropout=0.5, l2=1.0, cv=2, naive_bayes=True).fit(np.zeros((60, 3)), y)
    assert_array_equal(model.coef_, 0.0)
