"""Cross-validation over the settings of several blocks."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import StratifiedKFold

from dropglm import Blocks, LogisticRegression, LogisticRegressionCV, PerBlock
from dropglm.search import search
from dropglm.search.search import is_grid
from tests.linear.test_blocks import data

PLAIN = {"extend_l2": False, "calibrate": False, "cv": 3}
GRID = {
    "dropout": [PerBlock(0.5, 0.0), 0.2],
    "noise_std": [0.0, PerBlock(0.0, 0.5)],
    "l2": 1.0,
    "discount": 0.5,
    "l2_weights": [PerBlock("naive_bayes", 0.3), PerBlock(1.0, math.inf), "uniform"],
}


def test_every_score_equals_that_of_a_separate_fit(monkeypatch, rng):
    monkeypatch.setattr(search, "SEARCH_TOL", 1e-8)
    words, numbers, y = data(rng)
    X, y, U = Blocks(words, numbers)[:80], y[:80], Blocks(words, numbers)[80:]
    found = LogisticRegressionCV(**GRID, **PLAIN, tol=1e-8).fit(X, y, X_unlabeled=U)
    results = found.cv_results_
    assert len(results["params"]) == 12
    for k, params in enumerate(results["params"]):
        for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
            model = LogisticRegression(**params, tol=1e-8).fit(X[train], y[train], X_unlabeled=U)
            p = model.predict_proba(X[test])[np.arange(len(test)), y[test]]
            assert_allclose(results[f"split{fold}_test_score"][k], np.log(p).mean(), atol=1e-5)
    assert found.noise_std_ == found.best_params_["noise_std"]
    assert set(results["param_noise_std"]) == {0.0, PerBlock(0.0, 0.5)}


def test_noise_std_is_tuned_without_blocks(rng):
    words, _, y = data(rng)
    found = LogisticRegressionCV(dropout=0.0, noise_std=(0.1, 0.5), l2=1.0, **PLAIN).fit(words, y)
    assert found.noise_std_ in (0.1, 0.5)
    assert list(found.cv_results_["param_noise_std"][:2]) == [0.5, 0.1]  # strong penalties first
    with pytest.raises(ValueError, match="noise_std is an empty grid"):
        LogisticRegressionCV(noise_std=()).fit(words, y)


def test_a_number_is_the_weight_of_every_feature(rng):
    words, _, y = data(rng)
    settings = {"dropout": 0.5, **PLAIN, "tol": 1e-8}
    found = LogisticRegressionCV(l2=1.0, l2_weights=0.5, **settings).fit(words, y)
    assert found.l2_weights_ == 0.5
    halved = LogisticRegressionCV(l2=0.5, l2_weights="uniform", **settings).fit(words, y)
    assert_allclose(found.coef_, halved.coef_, atol=1e-6)


def test_a_per_block_value_is_not_a_grid():
    assert not is_grid("dropout", PerBlock(0.5, 0.0))
    assert not is_grid("l2_weights", PerBlock("uniform", 0.3))
    assert is_grid("l2_weights", [PerBlock("uniform", 0.3), "uniform"])


def test_automatic_weights_are_those_of_naive_bayes_in_blocks_without_negative_features(rng):
    words, numbers, y = data(rng)
    found = LogisticRegressionCV(dropout=0.5, l2=1.0, **PLAIN).fit(Blocks(words, numbers), y)
    assert list(found.cv_results_["param_l2_weights"]) == ["uniform", PerBlock("naive_bayes", "uniform")]
    found = LogisticRegressionCV(dropout=0.5, l2=1.0, **PLAIN).fit(Blocks(numbers, numbers), y)
    assert list(found.cv_results_["param_l2_weights"]) == ["uniform"]


@pytest.mark.parametrize("K", [2, 3])
def test_naive_bayes_is_blended_in_for_the_first_block(K, rng):
    words, numbers, y = data(rng, K=K)
    settings = {"dropout": 0.5, "l2": 1.0, "l2_weights": "uniform", "naive_bayes": True}
    found = LogisticRegressionCV(**settings).fit(Blocks(words, numbers), y)
    alone = LogisticRegression(**found.best_params_).fit(Blocks(words, numbers), y)
    assert_allclose(found.coef_blocks_[1], found.scale_ * alone.coef_blocks_[1], rtol=1e-6)
    ratios = (found.coef_blocks_[0] - found.scale_ * alone.coef_blocks_[0]) / found.naive_bayes_
    single = LogisticRegressionCV(**settings).fit(words, y)
    plain = LogisticRegression(**single.best_params_).fit(words, y)
    assert_allclose(ratios, (single.coef_ - single.scale_ * plain.coef_) / single.naive_bayes_, atol=1e-6)
    with pytest.raises(ValueError, match="non-negative"):
        LogisticRegressionCV(**settings).fit(Blocks(numbers, words), y)


def test_predictions_of_the_search_are_those_of_its_best_model(rng):
    words, numbers, y = data(rng)
    X = Blocks(words, numbers)
    found = LogisticRegressionCV(**GRID, **PLAIN).fit(X, y)
    assert_array_equal(found.predict_proba(X), found.best_estimator_.predict_proba(X))
    assert found.score(X, y) > -1.0


def test_a_first_block_that_is_left_out_has_no_naive_bayes_either(rng):
    words, numbers, y = data(rng)
    X, weights = Blocks(words, numbers), PerBlock(math.inf, 1.0)
    found = LogisticRegressionCV(PerBlock(0.5, 0.0), l2_weights=weights, cv=3, naive_bayes=True, rounds=2)
    found.fit(X[:80], y[:80], X_unlabeled=X[80:])
    alone = LogisticRegressionCV(0.0, cv=3, l2_weights="uniform").fit(numbers[:80], y[:80])
    assert found.naive_bayes_ == 0.0
    assert not found.rounds_
    assert not found.coef_blocks_[0].any()
    assert_allclose(found.coef_blocks_[1], alone.coef_, rtol=1e-3)
