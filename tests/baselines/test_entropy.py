"""Entropy regularization: derivatives by differences, minima by their gradient, scikit-learn as reference."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from dropglm.baselines import EntropyRegularizedLogisticRegression
from dropglm.baselines.entropy_regularization import Entropy, entropy_objective
from dropglm.core.families import Logistic, Multinomial
from dropglm.core.features import Features
from dropglm.core.problem import Problem
from tests.baselines.rows import texts
from tests.oracles import central_difference


def problem(rng, K):
    X, y = texts(rng, n=20, K=K)
    U = texts(rng, n=15, K=K)[0]
    indicators = (y[:, None] == np.unique(y)).astype(float)
    target, family = (indicators[:, [1]], Logistic) if K == 2 else (indicators, Multinomial)
    weights = rng.uniform(0.5, 2.0, size=20), rng.uniform(0.5, 2.0, size=15)
    return X, y, U, Problem(Features(X, U), family, target, *weights)


@pytest.mark.parametrize("K", [2, 3])
def test_the_objective_and_its_gradient_are_correct(K, rng):
    """Compare the value with SciPy's entropy and log-softmax, and the gradient with differences."""
    X, y, U, rows = problem(rng, K)
    columns, d = rows.y.shape[1], rows.features.labeled.shape[1]
    ridge = rng.uniform(0.5, 2.0, size=(d, columns))
    function = entropy_objective(rows, ridge, 0.7)
    for _ in range(3):
        beta, b = 0.3 * rng.normal(size=(d, columns)), rng.normal(size=columns)
        point, direction = function.at(function.join(beta, b)), rng.normal(size=(d + 1) * columns)
        eta, unlabeled = (part @ rows.features.expand(beta).T + b for part in (X, U))
        if K == 2:
            eta, unlabeled = (np.hstack([np.zeros_like(part), part]) for part in (eta, unlabeled))
        number = np.searchsorted(np.unique(y), y)
        loss = -rows.weights @ log_softmax(eta, axis=1)[np.arange(20), number]
        H = stats.entropy(np.exp(log_softmax(unlabeled, axis=1)), axis=1)
        expected = loss + 0.7 * rows.unlabeled_weights @ H + 0.5 * np.sum(ridge * beta**2)
        assert point.value == pytest.approx(expected, rel=1e-12)
        slope = central_difference(lambda step: function.at(point.theta + step * direction).value, 1e-3)
        assert point.gradient @ direction == pytest.approx(slope, rel=1e-7)
        along = function.along(point, direction)
        assert along.value_and_slope(0.01)[0] == pytest.approx(
            function.at(point.theta + 0.01 * direction).value, rel=1e-10
        )


def test_the_entropy_is_accurate_in_the_tails():
    eta = np.array([-700.0, -40.0, -3.0, 0.0, 1e-8, 5.0, 40.0, 700.0])
    H, slope, _ = Entropy().rows(eta, np.zeros_like(eta))
    with mpmath.workdps(700):
        p = [1 / (1 + mpmath.exp(-mpmath.mpf(z))) for z in eta]
        expected = [float(-t * mpmath.log(t) - (1 - t) * mpmath.log(1 - t)) for t in p]
        slopes = [float(-mpmath.mpf(z) * t * (1 - t)) for z, t in zip(eta, p, strict=True)]
    assert_allclose(H, expected, rtol=1e-14)
    assert_allclose(slope, slopes, rtol=1e-14)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_without_entropy_it_equals_scikit_learn(K, weight, rng):
    X, y = texts(rng, K=K)
    model = EntropyRegularizedLogisticRegression(l2=0.5, entropy_weight=weight, tol=1e-9)
    model.fit(X, y, X_unlabeled=None if weight else X)
    other = LogisticRegression(C=2.0, tol=1e-10, solver="newton-cholesky").fit(X, y)
    assert_allclose(model.coef_, other.coef_, atol=1e-5)
    assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_gradient_vanishes_at_the_fit(K, fit_intercept, rng):
    X, y = texts(rng, n=30, K=K)
    U = texts(rng, n=50, K=K)[0]
    model = EntropyRegularizedLogisticRegression(0.8, 0.3, fit_intercept=fit_intercept, tol=1e-9)
    model.fit(X, y, X_unlabeled=U)
    p, q = model.predict_proba(X), model.predict_proba(U)
    residual = p - (y[:, None] == model.classes_)
    log_q = np.log(q)
    slope = -0.3 * q * (log_q - (q * log_q).sum(axis=1, keepdims=True))
    if K == 2:
        residual, slope = residual[:, [1]], slope[:, [1]]
    assert_allclose(residual.T @ X + slope.T @ U + 0.8 * model.coef_, 0.0, atol=1e-5)
    if fit_intercept:
        assert_allclose(residual.sum(axis=0) + slope.sum(axis=0), 0.0, atol=1e-5)
    else:
        assert not model.intercept_.any()


@pytest.mark.parametrize("K", [2, 3])
def test_predictions_on_unlabelled_rows_are_more_confident_than_those_of_the_labelled_fit(K, rng):
    X, y = texts(rng, n=30, K=K)
    U = texts(rng, n=50, K=K)[0]
    model = EntropyRegularizedLogisticRegression(5.0, 0.5)
    before = stats.entropy(model.fit(X, y).predict_proba(U), axis=1).sum()
    after = stats.entropy(model.fit(X, y, X_unlabeled=U).predict_proba(U), axis=1).sum()
    assert after < 0.95 * before


def test_a_weight_of_two_is_the_row_twice(rng):
    X, y = texts(rng)
    U = texts(rng, n=30)[0]
    w, v = rng.integers(0, 3, size=60), rng.integers(0, 3, size=30)
    model = EntropyRegularizedLogisticRegression(tol=1e-9)
    weighted = model.fit(X, y, w, X_unlabeled=U, unlabeled_weight=v).coef_
    repeated = model.fit(np.repeat(X, w, axis=0), np.repeat(y, w), X_unlabeled=np.repeat(U, v, axis=0)).coef_
    assert_allclose(weighted, repeated, atol=1e-6)
