"""scikit-learn's own checks, and its answers where the two models are the same."""

import numpy as np
import pytest
import sklearn.linear_model as theirs
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from dropglm import LinearRegression, LogisticRegression, LogisticRegressionCV, PoissonRegressor

ESTIMATORS = [
    LogisticRegression(),
    LogisticRegression(dropout=0.0),
    LogisticRegression(expectation="quadratic", l2=0.1),
    LogisticRegression(expectation="exact", dropout=0.2),
    LogisticRegression(noise_std=0.5, multi_class="ovr", class_weight="balanced", n_jobs=2),
    LogisticRegressionCV(),
    LogisticRegressionCV(
        dropout=0.5,
        l2=(1.0, 0.1),
        l2_weights="uniform",
        cv=3,
        scoring="neg_log_loss",
        one_standard_error=True,
    ),
    LinearRegression(),
    LinearRegression(dropout=0.0, noise_std=0.1, fit_intercept=False, warm_start=True),
    PoissonRegressor(),
    PoissonRegressor(dropout=0.1, expectation="quadratic"),
    PoissonRegressor(dropout=0.1, expectation="exact"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


@pytest.mark.parametrize("l2", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_two_classes_without_noise(l2, fit_intercept, rng):
    X, y = cancer()
    weight = rng.uniform(0.5, 2.0, size=len(y))
    ours = LogisticRegression(dropout=0.0, l2=l2, tol=1e-9, fit_intercept=fit_intercept).fit(X, y, weight)
    other = theirs.LogisticRegression(
        C=1 / l2, tol=1e-10, solver="newton-cholesky", fit_intercept=fit_intercept
    )
    other.fit(X, y, weight)
    assert_allclose(ours.coef_, other.coef_, atol=1e-5)
    assert_allclose(ours.intercept_, other.intercept_, atol=1e-5)
    assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-6)
    assert_allclose(ours.predict_log_proba(X), other.predict_log_proba(X), atol=1e-3)
    assert_allclose(ours.decision_function(X), other.decision_function(X), atol=1e-4)


def test_three_classes_without_noise():
    X, y = load_iris(return_X_y=True)
    ours = LogisticRegression(dropout=0.0, tol=1e-9).fit(X, y)
    # newton-cholesky: lbfgs leaves 2e-5 in the intercept, whatever its tol
    other = theirs.LogisticRegression(tol=1e-10, solver="newton-cholesky").fit(X, y)
    assert ours.multi_class_ == "multinomial"
    assert_allclose(ours.coef_, other.coef_, atol=1e-5)
    assert_allclose(ours.intercept_, other.intercept_ - other.intercept_.mean(), atol=1e-5)
    assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-6)


def test_linear_regression_without_noise(rng):
    X, y = load_diabetes(return_X_y=True)
    weight = rng.uniform(0.5, 2.0, size=len(y))
    ours = LinearRegression(dropout=0.0, l2=0.1, tol=1e-9).fit(X, y, weight)
    other = theirs.Ridge(alpha=0.1, solver="cholesky").fit(X, y, weight)
    assert_allclose(ours.coef_, other.coef_, rtol=1e-5)
    assert_allclose(ours.intercept_, other.intercept_, rtol=1e-5)
    assert_allclose(ours.predict(X), other.predict(X), rtol=1e-6)


def test_poisson_regression_without_noise(rng):
    X, _ = cancer()
    y = rng.poisson(np.exp(0.3 * X[:, 0]))
    ours = PoissonRegressor(dropout=0.0, l2=1.0, tol=1e-9).fit(X, y)
    other = theirs.PoissonRegressor(alpha=1.0 / len(y), solver="newton-cholesky", tol=1e-10).fit(X, y)
    assert_allclose(ours.coef_, other.coef_, atol=1e-5)
    assert_allclose(ours.intercept_, other.intercept_, atol=1e-5)
    assert_allclose(ours.predict(X), other.predict(X), rtol=1e-5)


def test_balanced_class_weights_equal_those_of_scikit_learn(rng):
    X, y = cancer()
    ours = LogisticRegression(dropout=0.0, class_weight="balanced", tol=1e-9).fit(X, y)
    other = theirs.LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=10_000).fit(X, y)
    assert_allclose(ours.coef_, other.coef_, atol=1e-5)
    named = LogisticRegression(dropout=0.0, class_weight={0: 2.0, 1: 0.5}, tol=1e-9).fit(X, y)
    weighed = LogisticRegression(dropout=0.0, tol=1e-9).fit(X, y, np.where(y == 0, 2.0, 0.5))
    assert_allclose(named.coef_, weighed.coef_, rtol=1e-6)
