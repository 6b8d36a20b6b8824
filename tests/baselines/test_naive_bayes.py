"""Naive Bayes against sums written out word by word, and against scikit-learn."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import MultinomialNB

from dropglm.baselines import EMNaiveBayes, SemiSupervisedNaiveBayes
from tests.baselines.rows import texts
from tests.oracles import central_difference

BOTH = pytest.mark.parametrize("model", [SemiSupervisedNaiveBayes, EMNaiveBayes])


@BOTH
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_without_unlabelled_rows_it_equals_scikit_learn(model, K, alpha, rng):
    X, y = texts(rng, K=K)
    ours, theirs = model(alpha=alpha).fit(X, y), MultinomialNB(alpha=alpha).fit(X, y)
    assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)
    assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-12)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("K", [2, 3])
def test_frequency_estimate_equals_exact_fractions(K, rng):
    """P(w | c) = P(c | w) P(w) / Σ_w P(c | w) P(w), word by word."""
    X, y = texts(rng, n=9, d=5, K=K)
    U = texts(rng, n=20, d=5, K=K)[0]
    alpha = Fraction(1, 2)
    joint = []
    for c in np.unique(y):
        row = []
        for w in range(5):
            in_class = sum(Fraction(int(x[w])) for x, label in zip(X, y, strict=True) if label == c)
            labeled = sum(Fraction(int(x[w])) for x in X)
            everywhere = labeled + sum(Fraction(int(x[w])) for x in U)
            row.append((in_class + alpha) / (labeled + K * alpha) * (everywhere + K * alpha))
        joint.append([float(entry / sum(row)) for entry in row])
    model = SemiSupervisedNaiveBayes(alpha=0.5).fit(X, y, X_unlabeled=U)
    assert_allclose(np.exp(model.feature_log_prob_), joint, rtol=1e-12)


def test_a_word_in_unlabelled_rows_only_favours_no_class(rng):
    """Every row is in both classes, so that the normalising sums of both are equal."""
    X, y = texts(rng)
    U = np.zeros((1, 12))
    U[0, -1] = 5.0
    model = SemiSupervisedNaiveBayes().fit(np.vstack([X, X]), np.append(y, y[::-1]), X_unlabeled=U)
    assert abs(model.coef_[0, -1]) < 1e-12


def log_posterior(log_prior, log_prob, X, y, U, alpha, weight):
    """The objective in the module's docstring, row by row."""
    total = alpha * log_prob.sum()
    for x, c in zip(X, y, strict=True):
        total += log_prior[c] + x @ log_prob[c]
    for u in U:
        joint = [prior + u @ prob for prior, prob in zip(log_prior, log_prob, strict=True)]
        total += weight * np.logaddexp.reduce(joint)
    return total


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("weight", [0.3, 1.0, 2.5])
def test_an_iteration_is_a_fit_to_rows_labelled_by_their_probabilities(K, weight, rng):
    """Compare with scikit-learn on each unlabelled row once per class, weighted by P(c | x)."""
    X, y = texts(rng, n=12, K=K)
    U = texts(rng, n=40, K=K)[0]
    expected = MultinomialNB().fit(X, y)
    classes = expected.classes_
    for n_iter in range(1, 5):
        model = EMNaiveBayes(discount=weight, max_iter=n_iter, tol=0.0)
        with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
            model.fit(X, y, X_unlabeled=U)
        assert_allclose(model.feature_log_prob_, expected.feature_log_prob_, rtol=1e-9)
        assert_allclose(model.class_log_prior_, expected.class_log_prior_, rtol=1e-9)
        q = weight * expected.predict_proba(U)
        expected = MultinomialNB().fit(
            np.vstack([X] + [U] * K),
            np.concatenate([y, np.repeat(classes, len(U))]),
            np.concatenate([np.ones(len(X)), q.T.ravel()]),
        )


@pytest.mark.parametrize("weight", [0.2, 1.0])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_the_posterior_never_decreases_and_equals_the_formula(alpha, weight, rng):
    X, y = texts(rng, n=9, K=3)
    U = texts(rng, n=80, K=3)[0]
    model = EMNaiveBayes(alpha, weight, tol=1e-12, max_iter=2000).fit(X, y, X_unlabeled=U)
    assert len(model.log_posterior_) == model.n_iter_ > 2
    assert np.diff(model.log_posterior_).min() > -1e-9
    number = np.searchsorted(model.classes_, y)
    there = log_posterior(model.class_log_prior_, model.feature_log_prob_, X, number, U, alpha, weight)
    assert model.log_posterior_[-1] == pytest.approx(there, rel=1e-12)


def test_the_gradient_of_the_posterior_vanishes_at_the_fit(rng):
    """The probabilities are a softmax of free parameters."""
    X, y = texts(rng, n=10)
    U = texts(rng, n=50)[0]
    model = EMNaiveBayes(tol=0.0, max_iter=5000).fit(X, y, X_unlabeled=U)
    number = np.searchsorted(model.classes_, y)

    def along(step, d_prior, d_prob):
        log_prior = model.class_log_prior_ + step * d_prior
        log_prob = model.feature_log_prob_ + step * d_prob
        log_prior = log_prior - np.logaddexp.reduce(log_prior)
        log_prob = log_prob - np.logaddexp.reduce(log_prob, axis=1, keepdims=True)
        return log_posterior(log_prior, log_prob, X, number, U, 1.0, 1.0)

    for _ in range(5):
        direction = rng.normal(size=2), rng.normal(size=(2, 12))
        assert abs(central_difference(lambda step: along(step, *direction), 1e-3)) < 1e-4


def test_discount_zero_ignores_unlabelled_rows(rng):
    X, y = texts(rng)
    model = EMNaiveBayes(discount=0.0).fit(X, y, X_unlabeled=X[::-1])
    assert model.n_iter_ == 1
    assert_allclose(model.coef_, EMNaiveBayes().fit(X, y).coef_)
