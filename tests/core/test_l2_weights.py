"""Weights of l2 that depend on class frequencies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from dropglm import LogisticRegression
from dropglm.core.design import Design
from dropglm.core.l2_weights import CountsInMemory, L2Weights, naive_bayes_weights
from tests.linear.test_fits import words


def test_naive_bayes_weights_equal_a_given_array_of_weights(rng):
    X, y = words(rng)
    p, q = 1 + X[y == 1].sum(axis=0), 1 + X[y == 0].sum(axis=0)
    r = np.maximum(np.abs(np.log(p / p[:-1].sum()) - np.log(q / q[:-1].sum())), 0.01)
    named = LogisticRegression(l2_weights="naive_bayes", tol=1e-8).fit(X, y)
    given = LogisticRegression(l2_weights=r**-2, tol=1e-8).fit(X, y)
    assert_allclose(named.coef_, given.coef_, atol=1e-6)
    # Without noise it equals the plain model on features scaled by r.
    scaled = LogisticRegression(dropout=0.0, tol=1e-8).fit(X * r, y)
    plain = LogisticRegression(dropout=0.0, l2_weights="naive_bayes", tol=1e-8).fit(X, y)
    assert_allclose(plain.coef_, scaled.coef_ * r, atol=1e-5)


def test_no_weight_exceeds_ten_thousand(rng):
    X, y = words(rng)
    X[:, 5] = 1.0  # tells nothing
    weights = naive_bayes_weights([CountsInMemory(Design(X), y[:, None].astype(float), np.ones(60))])
    assert weights.max() == pytest.approx(1e4)


@pytest.mark.parametrize("classes", [2, 3])
def test_naive_bayes_unlabeled_uses_the_predictions_of_the_first_fit(rng, classes):
    """Step by step: fit, predict labels, count, fit with given weights."""
    X, y = words(rng, n=90)
    y = y.astype(int) if classes == 2 else X[:, :3].argmax(axis=1)
    X, U = X[:, :-1], words(rng, n=40)[0][:, :-1]  # all of these occur
    u = rng.integers(1, 3, size=40).astype(float)
    settings = {"dropout": 0.4, "l2": 0.7, "discount": 0.3, "tol": 1e-8, "multi_class": "ovr"}
    rows = {"X_unlabeled": U, "unlabeled_weight": u}
    # ovr: each class has its own weights, so one class against the rest at a time
    for k in range(1, 2) if classes == 2 else range(3):
        one = (y == k).astype(int)
        p = LogisticRegression(**settings | {"tol": 1e-2}, l2_weights="naive_bayes").fit(X, one, **rows)
        guesses = p.predict_proba(U)[:, 1]
        own = one @ X + (u * guesses) @ U + (90 + u.sum()) / 90
        other = (1 - one) @ X + (u * (1 - guesses)) @ U + (90 + u.sum()) / 90
        r = np.log(own / own.sum()) - np.log(other / other.sum())
        l2_weights = np.maximum(np.abs(r), 0.01) ** -2
        by_hand = LogisticRegression(**settings, l2_weights=l2_weights).fit(X, one, **rows)
        found = LogisticRegression(**settings, l2_weights="naive_bayes_unlabeled").fit(X, y, **rows)
        assert_allclose(found.coef_[0 if classes == 2 else k], by_hand.coef_[0], rtol=1e-4, atol=1e-6)


def test_naive_bayes_unlabeled_without_unlabelled_rows_is_naive_bayes(rng):
    X, y = words(rng)
    with pytest.warns(UserWarning, match="without X_unlabeled is the same as 'naive_bayes'"):
        found = LogisticRegression(l2_weights="naive_bayes_unlabeled").fit(X, y)
    assert_array_equal(found.coef_, LogisticRegression(l2_weights="naive_bayes").fit(X, y).coef_)


def test_passes_of_both_fits_are_counted(rng):
    """The second fit equals one with given weights that starts from the first."""
    X, y = words(rng)
    X, U = X[:, :-1], words(rng, n=40)[0][:, :-1]
    settings = {"dropout": 0.4, "l2": 0.1, "discount": 0.3}
    first = LogisticRegression(**settings, l2_weights="naive_bayes", tol=1e-2).fit(X, y, X_unlabeled=U)
    guesses = CountsInMemory(Design(U), first.predict_proba(U)[:, [1]], np.ones(40))
    weights = naive_bayes_weights(
        [CountsInMemory(Design(X), y[:, None].astype(float), np.ones(60)), guesses]
    )[:, 0]
    second = clone(first).set_params(l2_weights=weights, tol=1e-6, warm_start=True)
    second.coef_, second.intercept_ = first.coef_, first.intercept_
    second.fit(X, y, X_unlabeled=U)
    both = LogisticRegression(**settings, l2_weights="naive_bayes_unlabeled", tol=1e-6).fit(
        X, y, X_unlabeled=U
    )
    assert_allclose(both.coef_, second.coef_, atol=1e-6)
    assert both.result_.n_iter == second.result_.n_iter
    assert both.result_.passes == first.result_.passes + second.result_.passes
    assert first.result_.passes > 0


def test_warm_start_does_not_change_the_predicted_labels(rng):
    X, y = words(rng)
    model = LogisticRegression(l2_weights="naive_bayes_unlabeled", warm_start=True)
    first = model.fit(X, y, X_unlabeled=X[:20]).coef_
    assert_array_equal(model.fit(X, y, X_unlabeled=X[:20]).coef_, first)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (lambda shape: -np.ones(shape), "finite and not negative"),
        (lambda shape: np.full(shape, np.nan), "finite and not negative"),
        (lambda shape: np.ones(shape[0]), r"must return an array of shape \(5, 1\), .* got shape \(5,\)"),
    ],
)
def test_weights_of_a_rule_of_the_users_are_checked(weights, message, rng):
    rule = L2Weights(lambda rows: weights(rows[0].shape))
    with pytest.raises(ValueError, match=message):
        LogisticRegression(l2_weights=rule).fit(rng.normal(size=(9, 5)), np.arange(9) % 2)
