"""The folds of a cross-validation, and scores that need no row of every class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, StratifiedKFold

from dropglm import LogisticRegression, LogisticRegressionCV
from dropglm.places.rows import TrainingData
from dropglm.search.held_out import folds_from, stratified_splits
from dropglm.search.scoring import accuracy, neg_log_loss, scorer_from, takes_weights
from tests.linear.test_fits import words


def data_of(y):
    """Return training data with these numbers of the classes, which all occur."""
    ones = np.ones(len(y))
    return TrainingData(np.ones((len(y), 1)), y, {}, ones, ones, classes=np.unique(y))


def labels_with(counts, seed=0):
    """Return the numbers of classes with these numbers of rows, in random order."""
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))


@pytest.mark.filterwarnings("ignore:The least populated class", "ignore:The number of unique classes")
@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("counts", [(9, 4), (2, 7, 1), (30, 31, 2)])
def test_folds_are_those_of_scikit_learn(counts, repeats):
    y = labels_with(counts)
    for n_folds in (2, min(5, max(counts))):
        cv = (
            StratifiedKFold(n_folds)
            if repeats == 1
            else RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=repeats, random_state=0)
        )
        for ours, theirs in zip(stratified_splits(y, n_folds, repeats), cv.split(y, y), strict=True):
            assert_array_equal(ours[0], theirs[0])
            assert_array_equal(ours[1], theirs[1])


class_sizes = st.lists(st.integers(1, 7), min_size=2, max_size=40).filter(lambda sizes: max(sizes) > 1)


@given(class_sizes, st.integers(2, 6), st.integers(0, 99))
def test_every_row_is_held_out_once_unless_it_is_the_only_one_of_its_class(sizes, cv, seed):
    y = labels_with(sizes, seed)
    folds = folds_from(cv, data_of(y), every_class=False)
    assert len(folds) == min(cv, max(sizes))
    held_out = np.concatenate([fold.test for fold in folds])
    assert_array_equal(np.sort(held_out), np.flatnonzero(np.array(sizes)[y] > 1))
    for fold in folds:
        assert len(fold.test)
        expected = np.ones(len(y))
        expected[fold.test] = 0.0
        assert_array_equal(fold.times, expected)
        assert set(y[fold.times > 0.0]) == set(y)  # so no class is missing from a fit


@given(class_sizes, st.integers(2, 6))
def test_scores_that_need_every_class_limit_the_folds_to_the_smallest(sizes, cv):
    data = data_of(labels_with(sizes))
    if min(sizes) == 1:
        with pytest.raises(ValueError, match="has only one row, too few for cross-validation"):
            folds_from(cv, data, every_class=True)
    else:
        folds = folds_from(cv, data, every_class=True)
        assert len(folds) == min(cv, min(sizes))
        assert all(set(data.y[fold.test]) == set(data.y) for fold in folds)


def test_large_classes_are_split_as_by_scikit_learn():
    y = labels_with([20, 31, 8])
    folds = folds_from(5, data_of(y), every_class=False)
    for fold, (train, test) in zip(folds, StratifiedKFold(5).split(y, y), strict=True):
        assert_array_equal(np.flatnonzero(fold.times), train)
        assert_array_equal(fold.test, test)


def test_every_class_with_a_single_row_is_refused():
    with pytest.raises(ValueError, match=r"Class 0 has only one row, .* add rows of this class\.$"):
        folds_from(5, data_of(np.arange(4)), every_class=False)


def test_given_splits_are_used_as_they_are():
    y = labels_with([6, 6])
    rows = np.array([4, 2, 2])
    (fold,) = folds_from([(np.setdiff1d(np.arange(12), rows), rows)], data_of(y), every_class=False)
    assert_array_equal(fold.test, rows)
    y[np.flatnonzero(y == 1)[1:]] = 0  # a split that holds out the only row of a class
    with pytest.raises(ValueError, match="has no row of class 1 to train on"):
        folds_from(KFold(3), data_of(y), every_class=False)


def test_five_hundred_classes_with_four_rows_each(rng):
    y = labels_with([4] * 500)
    X = np.zeros((2000, 30))
    X[np.arange(2000), y % 30] = 1.0
    folds = folds_from(5, data_of(y), every_class=False)
    assert [len(fold.test) for fold in folds] == [500] * 4
    assert all(np.bincount(y[fold.times > 0.0]).min() == 3 for fold in folds)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy", None])
@pytest.mark.parametrize("sizes", [[27, 3], [28, 2], [29, 1], [15, 14, 1], [2, 27, 1], [1] * 20 + [2] * 5])
def test_small_classes_do_not_limit_the_folds_of_a_mean_over_rows(scoring, sizes, rng):
    y = labels_with(sizes)
    X, _ = words(rng, n=len(y))
    model = LogisticRegressionCV(dropout=0.5, l2=1.0, l2_weights="uniform", cv=5, scoring=scoring).fit(X, y)
    found = [name for name in model.cv_results_ if name.startswith("split")]
    assert len(found) == min(5, max(sizes))
    never = np.array(sizes)[y] == 1
    assert_array_equal(np.isnan(model.cv_probabilities_).all(axis=1), never)
    assert np.isfinite(model.best_score_)
    assert len(model.classes_) == len(sizes)


def test_other_scores_limit_the_folds_to_the_smallest_class(rng):
    X, _ = words(rng, n=30)
    y = np.repeat([0, 1], [27, 3])
    settings = {"dropout": 0.5, "l2": 1.0, "l2_weights": "uniform", "scoring": "roc_auc"}
    limited, expected = (LogisticRegressionCV(**settings, cv=cv).fit(X, y).cv_results_ for cv in (5, 3))
    assert "split3_test_score" not in limited
    assert_array_equal(limited["mean_test_score"], expected["mean_test_score"])
    with pytest.raises(ValueError, match=r"Class 1 has only one row, .* by log loss or accuracy"):
        LogisticRegressionCV(**settings, cv=5).fit(X[:28], y[:28])


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], ["a", "b", "c"]], ids=str)
def test_the_log_loss_is_that_of_scikit_learn_where_all_classes_are_present(labels, rng):
    X, _ = words(rng)
    y = np.array(labels)[rng.integers(len(labels), size=60)]
    model, weights = LogisticRegression().fit(X, y), rng.uniform(0.1, 3.0, size=60)
    for given_weights in (None, weights):
        theirs = get_scorer("neg_log_loss")(model, X, y, sample_weight=given_weights)
        assert neg_log_loss(model, X, y, given_weights) == pytest.approx(theirs, rel=1e-6)
    # Unlike scikit-learn's, it is also defined on rows of some classes: a weighted mean of its parts.
    parts = [(np.mean(y == label), neg_log_loss(model, X[y == label], y[y == label])) for label in labels]
    assert sum(share * part for share, part in parts) == pytest.approx(neg_log_loss(model, X, y))


def test_it_is_the_scorer_of_that_name_and_takes_weights():
    assert scorer_from("neg_log_loss", LogisticRegression()) is neg_log_loss
    assert takes_weights(neg_log_loss)
    assert takes_weights(get_scorer("accuracy"))
    assert not takes_weights(lambda model, X, y: 0.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_accuracy_is_that_of_scikit_learn(weighted, rng):
    X, y = rng.normal(size=(40, 3)), rng.choice(["a", "b", "c"], 40)
    model = LogisticRegression().fit(X, y)
    weights = {"sample_weight": rng.random(40)} if weighted else {}
    assert scorer_from(None, model) is scorer_from("accuracy", model) is accuracy
    assert takes_weights(accuracy)
    assert accuracy(model, X, y, **weights) == pytest.approx(get_scorer("accuracy")(model, X, y, **weights))
