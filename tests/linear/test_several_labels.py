"""Several labels per row are one problem each; probabilities of labels are weighted copies of rows."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import f1_score

from dropglm import LogisticRegression, LogisticRegressionCV
from dropglm.places.labels import RowLabels, indicators_of, several_labels
from dropglm.places.partitions import fit
from dropglm.search.thresholds import f1_thresholds, micro_f1, precision_thresholds


def some_rows(n=160, d=20, K=4, seed=0):
    rng = np.random.default_rng(seed)
    X, U = ((rng.random((m, d)) < 0.3).astype(float) for m in (n, n + 40))
    beta = rng.normal(size=(d, K))
    return X, (X @ beta - 1.0 + rng.logistic(size=(n, K)) > 0.0).astype(int), U


@pytest.mark.parametrize("expectation", ["gaussian", "exact", "quadratic"])
def test_each_label_is_a_problem_of_its_own(expectation):
    X, Y, U = some_rows()
    settings = {"dropout": 0.3, "l2": 0.5, "expectation": expectation, "tol": 1e-8}
    model = LogisticRegression(**settings).fit(X, Y, X_unlabeled=U)
    assert model.multi_class_ == "multilabel"
    P = model.predict_proba(X)
    assert_allclose(np.exp(model.predict_log_proba(X)), P)
    assert_array_equal(model.predict(X), P > 0.5)
    for k in range(Y.shape[1]):
        alone = LogisticRegression(**settings).fit(X, Y[:, k], X_unlabeled=U)
        assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-6)
        assert_allclose(P[:, k], alone.predict_proba(X)[:, 1], atol=1e-6)


@pytest.mark.parametrize("K", [2, 4])
def test_indicators_sparse_ones_frames_and_lists_are_the_same(K):
    X, Y, _ = some_rows(K=K)
    names = np.array(["a", "b", "c", "d"])[:K]
    lists = [[str(name) for name, one in zip(names, row, strict=True) if one] for row in Y]
    frame = pl.DataFrame(Y, schema=names.tolist())
    models = [LogisticRegression().fit(X, y) for y in (Y, sparse.csr_array(Y), frame, lists, map(set, lists))]
    for model in models:
        assert_array_equal(model.coef_, models[0].coef_)
    assert_array_equal(models[0].classes_, np.arange(K))
    assert all(model.classes_.tolist() == names.tolist() for model in models[2:])
    assert_array_equal(indicators_of(lists, names), Y)


def test_a_search_blends_every_label_on_its_own():
    X, Y, U = some_rows(n=240)
    grid = {"dropout": 0.3, "l2": 1.0, "l2_weights": "uniform", "discount": 0.1, "race": False}
    halves = np.arange(240) % 2
    splits = [(np.flatnonzero(halves != k), np.flatnonzero(halves == k)) for k in (0, 1)]
    how = {"naive_bayes": True, "rounds": 2, "cv": splits, "tol": 1e-8}
    together = LogisticRegressionCV(**grid, **how).fit(X, Y, X_unlabeled=U)
    P, losses = together.predict_proba(X), []
    for k in range(Y.shape[1]):
        alone = LogisticRegressionCV(**grid, **how | {"rounds": 0}).fit(X, Y[:, k], X_unlabeled=U)
        assert_allclose(together.scale_[k], alone.scale_, rtol=1e-4)
        assert_allclose(together.naive_bayes_[k], alone.naive_bayes_, rtol=1e-4)
        losses.append(alone.best_score_)
    plain = LogisticRegressionCV(**grid, **how | {"rounds": 0}).fit(X, Y, X_unlabeled=U)
    assert_allclose(plain.best_score_, np.mean(losses), rtol=1e-4)
    assert ((P > 0.0) & (P < 1.0)).all()
    assert together.cv_probabilities_.shape == Y.shape


def test_rows_in_partitions_are_those_in_memory():
    X, Y, U = some_rows()
    cuts = slice(0, 70), slice(70, 160)
    for estimator in (
        lambda: LogisticRegression(tol=1e-9),
        lambda: LogisticRegressionCV(dropout=0.5, l2=1.0, l2_weights="uniform", naive_bayes=True, tol=1e-9),
    ):
        expected = estimator().fit(X, Y, X_unlabeled=U)
        parts = [lambda s=s: (X[s], Y[s]) for s in cuts]
        found = fit(estimator(), parts, [lambda: U])
        assert found.multi_class_ == "multilabel"
        assert_allclose(found.coef_, expected.coef_, atol=2e-3)


def test_labels_that_are_rare_or_in_every_row_have_finite_coefficients():
    X, Y, _ = some_rows()
    Y[:, 0], Y[:, 1] = 1, 0
    Y[:2, 1] = 1
    model = LogisticRegressionCV(naive_bayes=True).fit(X, Y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict_log_proba(X)).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]))
def test_probabilities_of_labels_are_weighted_copies(seed, K):
    rng = np.random.default_rng(seed)
    X = (rng.random((60, 8)) < 0.4).astype(float)
    P, w = rng.dirichlet(np.ones(K), 60), rng.choice([0.5, 1.0, 2.0], 60)
    how = {"tol": 1e-10, "max_iter": 5000}
    found = LogisticRegression(**how).fit(X, label_probabilities=P, sample_weight=w)
    copies = np.repeat(np.arange(K), 60)
    expected = LogisticRegression(**how).fit(
        np.vstack([X] * K), copies, sample_weight=(w[:, None] * P).T.ravel()
    )
    assert_allclose(found.coef_, expected.coef_, atol=1e-5)
    assert_allclose(found.intercept_, expected.intercept_, atol=1e-5)


@pytest.mark.parametrize("K", [2, 3])
def test_certain_probabilities_are_labels(K):
    X, _, U = some_rows()
    y = np.random.default_rng(1).integers(K, size=len(X))
    P = np.eye(K)[y]
    for estimator in (
        lambda: LogisticRegression(class_weight="balanced"),
        lambda: LogisticRegressionCV(naive_bayes=True, rounds=2),
    ):
        expected = estimator().fit(X, y, X_unlabeled=U)
        found = estimator().fit(X, label_probabilities=P, X_unlabeled=U)
        assert_allclose(found.coef_, expected.coef_, atol=1e-12)
        assert_allclose(found.intercept_, expected.intercept_, atol=1e-12)
        named = estimator().fit(X, label_probabilities={f"c{k}": P[:, k] for k in range(K)}, X_unlabeled=U)
        assert_array_equal(named.predict(X), np.array([f"c{k}" for k in range(K)])[found.predict(X)])


def test_uncertain_labels_have_the_expected_score():
    """Held-out rows count with the probability of each class."""
    X, _, _ = some_rows()
    P = np.random.default_rng(2).dirichlet(np.ones(3), len(X))
    search = LogisticRegressionCV(cv=4, dropout=0.3, l2=1.0, l2_weights="uniform", race=False)
    search.fit(X, label_probabilities=P)
    losses = -(P * np.log(search.cv_probabilities_)).sum(axis=1)
    assert_allclose(-search.best_score_, losses.mean(), rtol=1e-3)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a"], "b"] * 80, "Row 1 of y is 'b', but other rows are lists"),
        ([[]] * 160, "No row of y has a label"),
        ([["a", None]] * 160, "Row 0 of y has a missing label"),
        (np.full((160, 2), 0.5), "not a matrix of 0 and 1"),
        (np.tile([1, 0], (160, 1)), "No row of y has the label 1"),
        (np.ones((3, 2)), "y has 3 rows, but X has 160"),
        ([["a"]] * 3, "y has 3 entries, but X has 160"),
        ([["a"], []] * 80, "y has a single label, 'a'; several labels per row need at least two"),
        ([[("a", "b")], ["c"]] * 80, r"Row 0 of y has \('a', 'b'\) in its list of labels"),
    ],
)
def test_bad_lists_and_matrices_get_a_sentence(y, message):
    X, _, _ = some_rows()
    with pytest.raises(ValueError, match=message):
        LogisticRegression().fit(X, y)


@pytest.mark.parametrize(
    ("P", "message"),
    [
        (np.ones((160, 1)), "must have a row for each of the 160 rows"),
        (np.full((160, 2), 0.4), "Row 0 of label_probabilities is"),
        (np.full((160, 2), np.nan), "give probabilities that sum to 1"),
        (np.tile([1.0, 0.0], (160, 1)), "No row of label_probabilities has the class 1"),
        ({"a": [0.5] * 160, "b": [0.5] * 3}, "its rows or columns differ in length"),
        ({"a": ["much"] * 160, "b": ["little"] * 160}, "label_probabilities is not numeric"),
        ({}, r"has shape \(0,\)"),
    ],
)
def test_bad_probabilities_get_a_sentence(P, message):
    X, Y, _ = some_rows()
    with pytest.raises(ValueError, match=message):
        LogisticRegression().fit(X, label_probabilities=P)
    with pytest.raises(ValueError, match="either y or label_probabilities"):
        LogisticRegression().fit(X, Y[:, 0], label_probabilities=np.full((160, 2), 0.5))


def test_class_weights_are_refused_for_several_labels():
    X, Y, _ = some_rows()
    with pytest.raises(ValueError, match="class_weight cannot be used if rows have several labels"):
        LogisticRegression(class_weight="balanced").fit(X, Y)


def test_a_weight_of_two_is_a_row_twice():
    X, Y, _ = some_rows()
    w = np.where(np.arange(160) < 50, 2.0, 1.0)
    twice = np.r_[np.arange(160), np.arange(50)]
    how = {"tol": 1e-10, "max_iter": 2000}
    weighted = LogisticRegression(**how).fit(X, Y, sample_weight=w)
    assert_allclose(weighted.coef_, LogisticRegression(**how).fit(X[twice], Y[twice]).coef_, atol=1e-7)


def test_thresholds_have_the_largest_expected_f1():
    rng = np.random.default_rng(0)
    P = rng.beta(0.3, 2.0, size=(4000, 1))
    (threshold,) = f1_thresholds(P)
    Y = rng.random(P.shape) < P
    scores = [f1_score(Y, t < P) for t in np.linspace(0.02, 0.9, 45)]
    assert f1_score(Y, threshold < P) > max(scores) - 0.01
    several = rng.random((50, 3)) < 0.3, rng.random((50, 3)) < 0.3
    assert_allclose(micro_f1(*several), f1_score(*several, average="micro"))
    (threshold,) = precision_thresholds(P, 0.8)
    assert abs(Y[threshold < P].mean() - 0.8) < 0.03


def test_the_rarest_label_stands_for_a_row_and_rows_may_have_none():
    labels = RowLabels.of(None, [["a", "b"], ["a"], [], ["a", "c"], ["b"]], 5)
    assert labels.y.tolist() == [1, 0, 3, 2, 1]
    assert labels.counts() == {"a": 3, "b": 2, "c": 1}
    assert several_labels(np.array(["a", "b"]), 2) is None
    assert several_labels(np.ones((2, 1)), 2) is None  # a column, as in scikit-learn
