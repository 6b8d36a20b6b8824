"""Rows of a group are held out together."""

import numpy as np
import pytest
import sklearn
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    StratifiedKFold,
    cross_validate,
)

from dropglm import LogisticRegressionCV
from dropglm.search.held_out import RowGroups, folds_from, group_numbers, repeats_of, stratified_splits
from tests.linear.test_fits import words
from tests.search.test_folds import class_sizes, data_of, labels_with

SETTINGS = {"dropout": 0.5, "l2": 1.0, "l2_weights": "uniform"}


def numbered(rows):
    """Return numbers of classes from 0 on, which all occur."""
    return np.unique(rows, return_inverse=True)[1]


rows_of_groups = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), min_size=2, max_size=60)


def classes_in_two_groups(y, groups):
    """Return the classes that do not lose all of their rows if one group is held out."""
    return {c for c in y.tolist() if len(set(groups[y == c].tolist())) > 1}


@given(rows_of_groups, st.sampled_from([None, 2, 3, 5]))
def test_no_group_is_both_trained_on_and_held_out_and_no_class_is_left_out(rows, cv):
    y, groups = numbered([c for c, _ in rows]), np.array([g for _, g in rows])
    assume(len(set(y.tolist())) > 1)
    data = data_of(y)._replace(groups=groups)
    bound = {g for c in set(y.tolist()) - classes_in_two_groups(y, groups) for g in groups[y == c].tolist()}
    free = [len(set(groups[y == c].tolist()) - bound) for c in range(y.max() + 1)]
    if max(free) < 2:
        with pytest.raises(ValueError, match=r"has only one row|too few groups of rows"):
            folds_from(cv, data, every_class=False)
        return
    folds = folds_from(cv, data, every_class=False)
    repeats = repeats_of(len(y), len(data.classes)) if cv is None else 1
    assert len(folds) == min(cv or 5, max(free)) * repeats
    for fold in folds:
        assert len(fold.test)
        assert_array_equal(fold.times[fold.test], 0.0)
        assert_array_equal(np.delete(fold.times, fold.test), 1.0)
        held_out = set(groups[fold.test].tolist())
        assert held_out.isdisjoint(groups[fold.times > 0.0].tolist())
        assert held_out.isdisjoint(bound)
        assert set(y[fold.times > 0.0].tolist()) == set(y.tolist())
    times = np.bincount(np.concatenate([fold.test for fold in folds]), minlength=len(y))
    assert times.max() <= repeats
    again = folds_from(cv, data, every_class=False)
    assert all(np.array_equal(fold.test, other.test) for fold, other in zip(folds, again, strict=True))


@given(class_sizes, st.integers(2, 6), st.sampled_from([1, 3]), st.integers(0, 99))
def test_groups_of_one_row_each_do_not_change_the_folds(sizes, cv, repeats, seed):
    y, rng = labels_with(sizes, seed), np.random.default_rng(seed)
    alone = np.array([f"row {k}" for k in rng.permutation(len(y))])
    cv = min(cv, max(sizes))
    both = stratified_splits(y, cv, repeats, group_numbers(alone)), stratified_splits(y, cv, repeats)
    assert all(np.array_equal(a, b) for pair in zip(*both, strict=True) for a, b in zip(*pair, strict=True))
    for given_cv in (None, cv):
        folds = [
            folds_from(given_cv, data_of(y)._replace(groups=g), every_class=False) for g in (None, alone)
        ]
        for fold, other in zip(*folds, strict=True):
            assert_array_equal(fold.test, other.test)
            assert_array_equal(fold.times, other.times)


@pytest.mark.parametrize("repeats", [1, 4])
@pytest.mark.parametrize("K", [2, 5])
def test_classes_are_spread_evenly(K, repeats, rng):
    """Groups of one class each, of one to five rows: no fold has more than a group more than another."""
    sizes = rng.integers(1, 6, 300)
    groups = np.repeat(np.arange(300), sizes)
    y = numbered(rng.integers(0, K, 300))[groups]
    order = rng.permutation(len(y))
    y, groups = y[order], groups[order]
    splits = stratified_splits(y, 5, repeats, groups)
    counts = np.array([np.bincount(y[test], minlength=K) for _, test in splits])
    assert np.ptp(counts, axis=0).max() <= 1  # single rows even out what larger groups cannot
    assert np.ptp(counts.sum(axis=1)) <= K
    assert len({test.tobytes() for _, test in splits}) == 5 * repeats
    for draw in range(repeats):
        held_out = np.concatenate([test for _, test in splits[5 * draw : 5 * draw + 5]])
        assert_array_equal(np.sort(held_out), np.arange(len(y)))


def test_rows_without_companions_stay_consecutive():
    y, groups = np.zeros(20, int), np.arange(20)
    groups[[3, 17]] = 3
    tests = [test for _, test in stratified_splits(y, 4, groups=groups)]
    assert [test.tolist() for test in tests] == [
        [0, 1, 2, 3, 17],
        [4, 5, 6, 7, 8],
        [9, 10, 11, 12, 13],
        [14, 15, 16, 18, 19],
    ]


def test_a_group_with_all_rows_of_a_class_is_never_held_out():
    y = np.array([0, 0, 1, 1, 1, 2, 1, 0, 1, 0])
    groups = np.array([0, 1, 2, 3, 4, 4, 5, 6, 7, 8])
    units = RowGroups(y, groups)
    assert units.group_counts.tolist() == [4, 5, 1]
    assert units.free_counts.tolist() == [4, 4, 0]
    folds = folds_from(3, data_of(y)._replace(groups=groups), every_class=False)
    assert_array_equal(np.sort(np.concatenate([fold.test for fold in folds])), [0, 1, 2, 3, 6, 7, 8, 9])


def test_too_few_groups_are_one_sentence():
    y = labels_with([6, 6])
    with pytest.raises(ValueError, match=r"^There are too few groups of rows, .*\.$"):
        folds_from(5, data_of(y)._replace(groups=y), every_class=False)
    groups = np.where(y == 0, 0, np.arange(12))
    with pytest.raises(ValueError, match=r"^Class 0 has fewer than two groups .* by log loss or accuracy\.$"):
        folds_from(5, data_of(y)._replace(groups=groups), every_class=True)
    assert len(folds_from(5, data_of(y)._replace(groups=groups), every_class=False)) == 5


@pytest.mark.parametrize("groups", [[1, 2], [*range(59), None], [*range(59), np.nan], np.zeros((60, 1))])
def test_every_row_needs_a_group(groups, rng):
    X, y = words(rng)
    with pytest.raises(ValueError, match="groups"):
        LogisticRegressionCV(**SETTINGS).fit(X, y, groups=groups)


@pytest.mark.parametrize(
    "kind", [str, float, lambda number: (number, "tuple"), lambda number: [7, "a"][number % 2]]
)
def test_groups_are_labels_of_any_type(kind, rng):
    X, y = words(rng)
    numbers = rng.integers(0, 12, len(y))
    groups = [kind(number) for number in numbers.tolist()]
    codes = group_numbers(np.array([*groups, None], object)[:-1])
    expected = LogisticRegressionCV(**SETTINGS).fit(X, y, groups=codes)
    assert_array_equal(LogisticRegressionCV(**SETTINGS).fit(X, y, groups=groups).coef_, expected.coef_)


@pytest.mark.parametrize("splitter", [GroupKFold(4), LeaveOneGroupOut()])
def test_a_splitter_is_given_the_groups(splitter, rng):
    X, y = words(rng)
    groups = np.array(["a", "b", "c", "d"])[rng.integers(0, 4, len(y))]
    found = LogisticRegressionCV(**SETTINGS, cv=splitter).fit(X, y, groups=groups)
    splits = list(splitter.split(X, y, groups))
    assert_array_equal(
        found.cv_probabilities_, LogisticRegressionCV(**SETTINGS, cv=splits).fit(X, y).cv_probabilities_
    )
    with pytest.warns(UserWarning, match="groups parameter is ignored"):
        LogisticRegressionCV(**SETTINGS, cv=StratifiedKFold(3)).fit(X, y, groups=groups)


def test_copies_of_rows_do_not_improve_the_score(rng):
    X, y = words(rng)
    rows = np.tile(np.arange(len(y)), 5)
    settings = {**SETTINGS, "cv": 5, "calibrate": False, "extend_l2": False}
    once = LogisticRegressionCV(**settings).fit(X, y)
    several = LogisticRegressionCV(**settings | {"l2": 5.0}).fit(X[rows], y[rows], groups=rows)
    leaking = LogisticRegressionCV(**settings | {"l2": 5.0}).fit(X[rows], y[rows])
    error = once.best_scores_.std(ddof=1) / np.sqrt(5)
    assert abs(several.best_score_ - once.best_score_) < error
    assert leaking.best_score_ > once.best_score_ + error


def test_groups_are_routed_to_fit(rng):
    X, y = words(rng)
    groups = rng.integers(0, 12, len(y))
    model = LogisticRegressionCV(**SETTINGS, cv=2)
    with sklearn.config_context(enable_metadata_routing=True):
        assert model.get_metadata_routing().fit.requests["groups"] is True
        search = GridSearchCV(model, {"l2": [1.0, 0.1]}, cv=GroupKFold(3), error_score="raise")
        found = search.fit(X, y, groups=groups).best_estimator_
        cross_validate(model, X, y, params={"groups": groups}, cv=GroupKFold(3), error_score="raise")
    expected = LogisticRegressionCV(**SETTINGS | {"l2": found.l2}, cv=2).fit(X, y, groups=groups)
    assert_array_equal(found.cv_probabilities_, expected.cv_probabilities_)
