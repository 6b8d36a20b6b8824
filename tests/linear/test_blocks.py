"""Models of features in several blocks, each with its own noise and l2."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from dropglm import (
    Blocks,
    LinearRegression,
    LogisticRegression,
    PerBlock,
    PoissonRegressor,
    noising_penalty,
)

PRECISE = {"tol": 1e-9, "max_iter": 1000}


def data(rng, n=120, K=2):
    """Words, numbers and labels that depend on both."""
    words = (rng.random((n, 12)) < 0.3).astype(float)
    numbers = rng.normal(size=(n, 3))
    eta = words @ rng.normal(size=(12, K)) + numbers @ rng.normal(size=(3, K)) + rng.normal(size=(n, K))
    return sparse.csr_array(words), numbers, eta.argmax(axis=1)


@pytest.mark.parametrize("expectation", ["gaussian", "quadratic"])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("l2_weights", ["uniform", 0.7, np.linspace(0.5, 2.0, 15), PerBlock(1.0, "uniform")])
def test_settings_that_agree_give_the_model_of_one_matrix(expectation, K, l2_weights, rng):
    words, numbers, y = data(rng, K=K)
    X = Blocks(words, numbers)
    settings = {"noise_std": 0.2, "expectation": expectation, "discount": 0.5, **PRECISE}
    model = LogisticRegression(**settings, l2_weights=l2_weights).fit(X[:60], y[:60], X_unlabeled=X[60:])
    whole = X.toarray()
    l2_weights = "uniform" if isinstance(l2_weights, PerBlock) else l2_weights
    joined = LogisticRegression(**settings, l2_weights=l2_weights)
    joined.fit(whole[:60], y[:60], X_unlabeled=whole[60:])
    assert_allclose(model.coef_, joined.coef_, atol=1e-6)
    assert_allclose(model.intercept_, joined.intercept_, atol=1e-6)
    for form in (X, whole, X.tocsr()):
        assert_allclose(model.predict_proba(form), joined.predict_proba(whole), atol=1e-6)
    assert [part.shape for part in model.coef_blocks_] == [(len(model.coef_), 12), (len(model.coef_), 3)]
    assert np.shares_memory(model.coef_blocks_[1], model.coef_)


@pytest.mark.parametrize("rule", ["naive_bayes", "naive_bayes_unlabeled"])
def test_a_plain_rule_counts_all_blocks_as_one_matrix(rule, rng):
    words, _, y = data(rng)
    X = Blocks(words[:, :8], words[:, 8:].toarray())
    models = [
        LogisticRegression(l2_weights=rule, **PRECISE).fit(form[:60], y[:60], X_unlabeled=form[60:])
        for form in (X, words)
    ]
    assert_allclose(models[0].coef_, models[1].coef_, atol=1e-5)


@pytest.mark.parametrize("expectation", ["gaussian", "monte_carlo"])
def test_the_order_of_the_blocks_does_not_matter(expectation, rng):
    words, numbers, y = data(rng)
    settings = {"expectation": expectation, "random_state": 0, **PRECISE}
    one = LogisticRegression(
        dropout=PerBlock(0.5, 0.0),
        noise_std=PerBlock(0.0, 0.4 if expectation != "monte_carlo" else 0.0),  # other samples
        l2_weights=PerBlock("naive_bayes", 0.3),
        **settings,
    ).fit(Blocks(words, numbers), y)
    other = LogisticRegression(
        dropout=PerBlock(0.0, 0.5),
        noise_std=PerBlock(0.4 if expectation != "monte_carlo" else 0.0, 0.0),
        l2_weights=PerBlock(0.3, "naive_bayes"),
        **settings,
    ).fit(Blocks(numbers, words), y)
    assert_allclose(one.coef_blocks_[0], other.coef_blocks_[1], atol=1e-5)
    assert_allclose(one.coef_blocks_[1], other.coef_blocks_[0], atol=1e-5)


def test_the_gradient_vanishes_at_the_model(rng):
    """The optimum of the stated objective, with the penalty from noising_penalty."""
    words, numbers, y = data(rng)
    X = Blocks(words, numbers)
    noise = {"dropout": PerBlock(0.5, 0.1), "noise_std": PerBlock(0.1, 0.4)}
    model = LogisticRegression(**noise, l2=2.0, l2_weights=PerBlock(1.0, 0.3), **PRECISE).fit(X, y)
    _, gradient = noising_penalty(
        model.coef_[0], X, **noise, intercept=model.intercept_, return_gradient=True
    )
    residual = model.predict_proba(X)[:, 1] - y
    gradient += X.toarray().T @ residual + 2.0 * np.repeat([1.0, 0.3], [12, 3]) * model.coef_[0]
    assert_allclose(gradient, 0.0, atol=1e-5)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("expectation", ["gaussian", "quadratic"])
def test_an_infinite_weight_leaves_the_block_out(K, expectation, rng):
    words, numbers, y = data(rng, K=K)
    X = Blocks(words, numbers, numbers[:, :1])
    settings = {"l2": 0.5, "expectation": expectation}
    with_weights = LogisticRegression(
        **settings, dropout=PerBlock(0.5, 0.2, 0.0), l2_weights=PerBlock(math.inf, 1.0, math.inf)
    )
    with_weights.fit(X[:60], y[:60], X_unlabeled=X[60:])
    alone = LogisticRegression(**settings, dropout=0.2)
    alone.fit(numbers[:60], y[:60], X_unlabeled=numbers[60:])
    assert_array_equal(with_weights.coef_blocks_[1], alone.coef_)
    assert_array_equal(with_weights.intercept_, alone.intercept_)
    assert not with_weights.coef_blocks_[0].any()
    assert not with_weights.coef_blocks_[2].any()


def test_warm_starts_and_leaving_out_a_block(rng):
    words, numbers, y = data(rng)
    X = Blocks(words, numbers)
    model = LogisticRegression(warm_start=True, **PRECISE).fit(X, y)
    model.set_params(l2_weights=PerBlock(1.0, math.inf)).fit(X, y)
    assert_allclose(model.coef_blocks_[0], LogisticRegression(**PRECISE).fit(words, y).coef_, atol=1e-6)
    assert not model.coef_blocks_[1].any()


@pytest.mark.parametrize("regression", [LinearRegression, PoissonRegressor])
def test_regressions(regression, rng):
    words, numbers, y = data(rng, K=4)
    X = Blocks(words, numbers)
    settings = {"l2": 0.5, "noise_std": 0.1, **PRECISE}
    assert_allclose(
        regression(**settings).fit(X, y).coef_, regression(**settings).fit(X.toarray(), y).coef_, atol=1e-6
    )
    model = regression(dropout=PerBlock(0.3, 0.0), l2_weights=PerBlock(1.0, math.inf), **PRECISE).fit(X, y)
    assert_allclose(model.coef_blocks_[0], regression(dropout=0.3, **PRECISE).fit(words, y).coef_, atol=1e-5)
    assert [part.shape for part in model.coef_blocks_] == [(12,), (3,)]
    with pytest.raises(ValueError, match="for classifiers"):
        regression(l2_weights=PerBlock("naive_bayes", 1.0)).fit(X, y)


def test_scikit_learn_splits_blocks(rng):
    words, numbers, y = data(rng)
    X, model = Blocks(words, numbers), LogisticRegression(noise_std=0.1)
    assert_allclose(cross_val_score(model, X, y), cross_val_score(model, X.toarray(), y))
    assert_array_equal(cross_val_predict(model, X, y), cross_val_predict(model, X.toarray(), y))
    grid = {"dropout": [PerBlock(0.5, 0.0), 0.5], "l2_weights": [PerBlock(1.0, 0.1), "uniform"]}
    search = GridSearchCV(model, grid, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_["dropout"] == PerBlock(0.5, 0.0)
    assert search.predict(X).shape == y.shape
    assert clone(search.best_estimator_).dropout == PerBlock(0.5, 0.0)


def test_float32_blocks_give_float32_coefficients(rng):
    words, numbers, y = data(rng)
    single = Blocks(words.astype(np.float32), numbers.astype(np.float32))
    assert LogisticRegression().fit(single, y).coef_.dtype == np.float32
    mixed = Blocks(words.astype(np.int8), numbers.astype(np.float32))
    assert LogisticRegression().fit(mixed, y).coef_.dtype == np.float64


@pytest.mark.parametrize("rest", [{}, {"expectation": "quadratic", "n_jobs": 2}])
def test_more_threads_give_the_same_model(rest, rng):
    words, numbers, y = data(rng, K=3)
    X = Blocks(words, numbers)
    one, two = (LogisticRegression(**rest | {"n_jobs": jobs}).fit(X, y).coef_ for jobs in (1, 2))
    assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def test_a_plain_matrix_has_one_block_of_coefficients(rng):
    words, _, y = data(rng)
    model = LogisticRegression().fit(Blocks(words, words), y)
    assert len(model.coef_blocks_) == 2
    assert [part.shape for part in model.sparsify().coef_blocks_] == [(1, 12), (1, 12)]
    model.fit(words, y)
    assert_array_equal(model.coef_blocks_, [model.coef_])
