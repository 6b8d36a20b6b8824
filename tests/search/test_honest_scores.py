"""Scores of a search do not depend on the labels that they are compared with, nor on the choice by them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)

from dropglm import LogisticRegression, LogisticRegressionCV
from dropglm.search import search
from tests.linear.test_fits import words
from tests.search.test_blended_search import (
    cross_fitted,
    every_blend,
    log_probabilities,
    predictors,
    ratios,
    rows_and_labels,
    two_and_three_classes,
)
from tests.search.test_race import rows_and_labels as noisy_rows

GRID = {"dropout": (0.6, 0.3), "l2": (1.0, 0.1), "l2_weights": "uniform", "extend_l2": False}
SPLITTERS = {
    "once": StratifiedKFold(3),
    "repeated": RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
}


@pytest.fixture
def exact(monkeypatch):
    """A search with the tolerance of the final fit."""
    monkeypatch.setattr(search, "SEARCH_TOL", 1e-8)
    return {"tol": 1e-8}


def scores_of_rows(eta, y):
    return log_probabilities(eta)[np.arange(len(y)), y]


@every_blend
@two_and_three_classes
@pytest.mark.parametrize("splitter", SPLITTERS.values(), ids=SPLITTERS)
def test_scores_are_those_computed_by_hand(blend, K, splitter, exact, rng):
    """Factors come from the rows of other folds, and the best candidate without them is what a fold loses."""
    X, y = rows_and_labels(rng, K, n=60)
    folds = [*splitter.split(X, y)]
    model = LogisticRegressionCV(**GRID, **blend, **exact, cv=folds).fit(X, y)
    tests, table = [test for _, test in folds], model.cv_results_
    rows, ends = np.concatenate(tests), np.cumsum([len(test) for test in tests])
    numbers, weights = np.searchsorted(model.classes_, y)[rows], (1.0 / np.bincount(np.concatenate(tests)))
    nu = np.vstack([X[test] @ ratios(X[train], y[train]).T for train, test in folds])

    def mean_scores(eta):
        return np.array([part.mean() for part in np.split(scores_of_rows(eta, numbers), ends[:-1])])

    by_row, by_fold, etas = [], [], []
    for k, params in enumerate(table["params"]):
        fits = [LogisticRegression(**params, tol=1e-8).fit(X[train], y[train]) for train, _ in folds]
        etas.append(np.vstack([predictors(fit, X[test]) for fit, test in zip(fits, tests, strict=True)]))
        eta = table["scale"][k] * etas[-1] + table["naive_bayes"][k] * nu
        by_row.append(scores_of_rows(eta, numbers))
        by_fold.append(mean_scores(eta))
    best, how = model.best_index_, {"calibrate": blend["calibrate"]}
    added = nu if blend["naive_bayes"] else None
    honest = mean_scores(cross_fitted(etas[best], added, numbers, weights[rows], tests, **how))
    for fold, test in enumerate(tests):
        others = ~np.isin(rows, test)
        chosen = np.argmax([np.average(own[others], weights=weights[rows][others]) for own in by_row])
        honest[fold] -= by_fold[best][fold] - by_fold[chosen][fold]
    assert_allclose(model.best_scores_, honest, atol=2e-4)
    assert model.best_score_ == pytest.approx(honest.mean(), abs=2e-4)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy"])
@two_and_three_classes
def test_one_candidate_as_it_is_has_its_plain_cross_validated_score(K, scoring, exact, rng):
    """Nothing is chosen, so nothing is too good."""
    X, y = rows_and_labels(rng, K)
    one = {"dropout": 0.5, "l2": 1.0, "l2_weights": "uniform"}
    model = LogisticRegressionCV(**one, **exact, calibrate=False, scoring=scoring, cv=3).fit(X, y)
    plain = LogisticRegression(0.5, l2=1.0, tol=1e-8)
    assert_allclose(model.best_scores_, cross_val_score(plain, X, y, cv=3, scoring=scoring), atol=1e-5)
    assert model.best_score_ == model.cv_results_["mean_test_score"][0]
    p = cross_val_predict(plain, X, y, cv=3, method="predict_proba")
    assert_allclose(model.cv_probabilities_, p, atol=1e-5)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 5]), st.booleans())
def test_the_choice_makes_no_fold_look_worse(seed, folds, calibrate):
    """The candidate that is best with a fold is at least as good there as the one that is best without."""
    rng = np.random.default_rng(seed)
    X, y = words(rng, n=60)
    splits = [(np.setdiff1d(np.arange(60), test), test) for test in np.split(rng.permutation(60), folds)]
    found = LogisticRegressionCV(**GRID, calibrate=calibrate, cv=splits)._search(X, y)
    optimism = found.optimism()
    assert optimism.shape == (folds,)
    assert (optimism >= -1e-12).all()
    eta = found.honest_predictors(found.best)
    assert_allclose(found.report(eta)["best_scores_"], found.held_out.scores(eta) - optimism, rtol=1e-12)


def test_the_score_of_a_stronger_candidate_is_its_own(rng):
    X, y = noisy_rows(rng, n=300)
    grid = {"dropout": (0.5, 0.3), "l2": (3.0, 1.0, 0.3), "l2_weights": "uniform", "extend_l2": False}
    model = LogisticRegressionCV(**grid, calibrate=False, one_standard_error=True, cv=5).fit(X, y)
    means = model.cv_results_["mean_test_score"]
    assert means[model.best_index_] < means.max()
    assert model.best_score_ <= means[model.best_index_] + 1e-12


def test_scores_that_are_not_means_over_rows_keep_the_choice(rng):
    X, y = words(rng, n=90)
    model = LogisticRegressionCV(**GRID, calibrate=False, scoring="roc_auc", cv=3).fit(X, y)
    assert model.best_score_ == model.cv_results_["mean_test_score"].max()


def test_noise_is_not_found_to_be_predictable():
    """Factors and settings that suit the noise of held-out rows make the naive score too good."""
    naive, honest, of_shares = [], [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = (rng.random((40, 30)) < 0.3).astype(float), np.tile([0, 1], 20)
        model = LogisticRegressionCV(**GRID, naive_bayes=True, cv=5).fit(X, y)
        naive.append(model.cv_results_["mean_test_score"].max())
        honest.append(model.best_score_)
        p = cross_val_predict(DummyClassifier(), X, y, cv=5, method="predict_proba")
        of_shares.append(-log_loss(y, p))
    gain = np.array(honest) - of_shares
    assert gain.mean() < gain.std() / np.sqrt(30)
    assert np.mean(naive) > np.mean(honest) + 0.01


@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy"])
@two_and_three_classes
def test_the_score_of_the_shares_is_that_of_a_dummy_classifier(K, scoring, rng):
    X, y = rows_and_labels(rng, K)
    held_out = LogisticRegressionCV(**GRID, scoring=scoring, cv=3)._search(X, y).held_out
    expected = cross_val_score(DummyClassifier(strategy="prior"), X, y, scoring=scoring, cv=3)
    assert held_out.score_of_shares() == pytest.approx(expected.mean())
    weights = rng.integers(1, 4, size=len(y)).astype(float)
    held_out = LogisticRegressionCV(**GRID, scoring=scoring, cv=3)._search(X, y, weights).held_out
    scores = []
    for train, test in StratifiedKFold(3).split(X, y):
        dummy = DummyClassifier(strategy="prior").fit(X[train], y[train], weights[train])
        hits = (dummy.predict(X[test]) == y[test]).astype(float)
        log_p = dummy.predict_log_proba(X[test])[
            np.arange(len(test)), np.searchsorted(dummy.classes_, y[test])
        ]
        scores.append(np.average(hits if scoring == "accuracy" else log_p, weights=weights[test]))
    assert held_out.score_of_shares() == pytest.approx(np.mean(scores))


def test_the_shares_have_no_score_that_is_not_a_mean_over_rows(rng):
    X, y = words(rng, n=60)
    assert (
        LogisticRegressionCV(**GRID, scoring="roc_auc", cv=3)._search(X, y).held_out.score_of_shares() is None
    )


@every_blend
def test_probabilities_of_rows_that_are_never_held_out_are_unknown(blend, rng):
    X, y = words(rng, n=60)
    folds = [(np.arange(20, 60), np.arange(10)), (np.arange(20, 60), np.arange(10, 20))]
    model = LogisticRegressionCV(**GRID, **blend, cv=folds).fit(X, y)
    assert_array_equal(np.isnan(model.cv_probabilities_).any(axis=1), np.arange(60) >= 20)
    assert np.isfinite(model.best_score_)
