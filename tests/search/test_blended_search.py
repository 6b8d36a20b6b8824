"""LogisticRegressionCV with predictors that are scaled, and blended with those of naive Bayes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import log_softmax
from sklearn.metrics import log_loss
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold

from dropglm import LogisticRegression, LogisticRegressionCV
from dropglm.search import search
from dropglm.search.blend import BlendFitter
from tests.linear.test_fits import words
from tests.search.test_blend import fit_blend, spread_of
from tests.search.test_naive_bayes import by_hand

GRID = {"dropout": (0.6, 0.3), "l2": (1.0, 0.1), "l2_weights": "uniform", "discount": 0.5}
BLENDS = {
    "calibrated": {"calibrate": True, "naive_bayes": False},
    "with naive Bayes": {"calibrate": False, "naive_bayes": True},
    "both": {"calibrate": True, "naive_bayes": True},
}
every_blend = pytest.mark.parametrize("blend", BLENDS.values(), ids=BLENDS)
two_and_three_classes = pytest.mark.parametrize("K", [2, 3])
every_family = pytest.mark.parametrize("multi_class", ["ovr", "multinomial"])


@pytest.fixture
def exact(monkeypatch):
    """A search with the tolerance of the final fit."""
    monkeypatch.setattr(search, "SEARCH_TOL", 1e-8)
    return {"tol": 1e-8, "extend_l2": False}


def rows_and_labels(rng, K, n=90):
    X, y = words(rng, n=n)
    return X, y if K == 2 else np.array(["a", "b", "c"])[X[:, :3].argmax(axis=1)]


def ratios(X, y, weights=None):
    """Return naive Bayes' log ratios, of shape (K, d), or (1, d) for two classes."""
    indicators = (np.asarray(y)[:, None] == np.unique(y)).astype(float)
    r = by_hand(X, indicators, np.ones(len(y)) if weights is None else weights).T
    return r[[1]] - r[[0]] if len(r) == 2 else r


def predictors(model, X):
    """Return the predictors of each row, of shape (n, K), or (n, 1) for two classes."""
    return X @ model.coef_.T + model.intercept_


def log_probabilities(eta):
    return log_softmax(np.column_stack([np.zeros(len(eta)), eta]) if eta.shape[1] == 1 else eta, axis=1)


def cross_fitted(eta, nu, y, weights, tests, applied=None, **how):
    """Return t η + c ν with factors of each fold from the held-out rows that it does not hold out.

    ``tests`` are the rows of each fold, in the order of η. If ``applied`` is given, it is blended instead.
    """
    rows = np.concatenate(tests)
    fold_of = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
    found = np.empty_like(eta)
    for fold, test in enumerate(tests):
        others, own = [k for k, row in enumerate(rows) if row not in test], fold_of == fold
        spread = None if nu is None else spread_of(nu)
        fitter = BlendFitter(None if nu is None else nu[others], y[others], weights[others], spread=spread)
        t, c = fitter.fit(eta[others], **how)
        found[own] = t * (eta if applied is None else applied)[own]
        found[own] += 0.0 if nu is None else c * nu[own]
    return found


@every_blend
@two_and_three_classes
def test_coefficients_are_scaled_and_have_the_log_ratios_added(blend, K, rng):
    X, y = rows_and_labels(rng, K)
    U = sparse.csr_array(words(rng, n=30)[0])
    model = LogisticRegressionCV(**GRID, **blend, cv=3).fit(X, y, X_unlabeled=U)
    alone = LogisticRegression(**model.best_params_).fit(X, y, X_unlabeled=U)
    expected = model.scale_ * alone.coef_ + model.naive_bayes_ * ratios(X, y)
    assert_allclose(model.coef_, expected, rtol=1e-6, atol=1e-9)
    assert_allclose(model.intercept_, model.scale_ * alone.intercept_, rtol=1e-6)
    assert_array_equal(model.best_estimator_.coef_, model.coef_)
    assert (model.scale_ == 1.0) == (not blend["calibrate"])
    assert (model.naive_bayes_ == 0.0) == (not blend["naive_bayes"])
    # More than two classes have the probabilities softmax(η), also if each was fitted against the rest.
    assert_allclose(model.predict_proba(X), np.exp(log_probabilities(predictors(model, X))), rtol=1e-6)
    assert_array_equal(model.best_estimator_.predict_proba(X), model.predict_proba(X))


@every_blend
@two_and_three_classes
@every_family
def test_scores_are_the_log_losses_of_blended_separate_fits(blend, K, multi_class, exact, rng):
    X, y = rows_and_labels(rng, K, n=60)
    expectation = {"expectation": "quadratic", "multi_class": multi_class}
    model = LogisticRegressionCV(**GRID, **blend, **exact, **expectation, cv=3).fit(X, y)
    folds = list(StratifiedKFold(3).split(X, y))
    table, classes = model.cv_results_, np.unique(y)
    for k, params in enumerate(table["params"]):
        fits = [LogisticRegression(**params, **expectation, tol=1e-8).fit(X[a], y[a]) for a, _ in folds]
        eta = [predictors(fit, X[test]) for fit, (_, test) in zip(fits, folds, strict=True)]
        nu = [X[test] @ ratios(X[train], y[train]).T for train, test in folds]
        t, c = table["scale"][k], table["naive_bayes"][k]
        for fold, (_, test) in enumerate(folds):
            log_p = log_probabilities(t * eta[fold] + c * nu[fold])
            truth = -log_loss(y[test], np.exp(log_p), labels=classes)
            assert table[f"split{fold}_test_score"][k] == pytest.approx(truth, abs=1e-4)
        # The factors are those that suit the held-out rows of all folds.
        numbers = np.searchsorted(classes, np.concatenate([y[test] for _, test in folds]))
        held_out = np.concatenate(eta), np.concatenate(nu) if blend["naive_bayes"] else None
        expected = fit_blend(*held_out, numbers, np.ones(len(y)), calibrate=blend["calibrate"])
        assert_allclose((t, c), expected, rtol=1e-3, atol=1e-3)
    best = model.best_index_
    assert (model.scale_, model.naive_bayes_) == (table["scale"][best], table["naive_bayes"][best])
    assert table["mean_test_score"][best] == table["mean_test_score"].max()


@two_and_three_classes
def test_probabilities_of_held_out_rows_give_the_score(K, rng):
    """Also with factors that differ from fold to fold; with one candidate, nothing is chosen."""
    X, y = rows_and_labels(rng, K)
    one = {"dropout": 0.6, "l2": 0.1, "l2_weights": "uniform", "extend_l2": False}
    model = LogisticRegressionCV(**one, naive_bayes=True, cv=3).fit(X, y)
    p = model.cv_probabilities_
    assert p.shape == (90, K)
    assert_allclose(p.sum(axis=1), 1.0)
    scores = [
        -log_loss(y[test], p[test], labels=model.classes_) for _, test in StratifiedKFold(3).split(X, y)
    ]
    assert np.mean(scores) == pytest.approx(model.best_score_, rel=1e-6)


def test_rows_held_out_several_times_have_the_mean_of_their_log_odds(exact, rng):
    X, y = words(rng, n=40)
    folds = list(RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0).split(X, y))
    settings = {"dropout": 0.5, "l2": 1.0, "l2_weights": "uniform", "calibrate": False}
    p = LogisticRegressionCV(**settings, **exact, cv=folds).fit(X, y).cv_probabilities_
    total = np.zeros(40)
    for train, test in folds:
        total[test] += LogisticRegression(tol=1e-8).fit(X[train], y[train]).decision_function(X[test])
    assert_allclose(np.log(p[:, 1] / p[:, 0]), total / 2.0, atol=1e-4)
    p = LogisticRegressionCV(**settings, **exact, cv=folds[:1]).fit(X, y).cv_probabilities_
    assert_array_equal(np.isnan(p).all(axis=1), ~np.isin(np.arange(40), folds[0][1]))


@two_and_three_classes
@pytest.mark.parametrize("l2_weights", ["uniform", "naive_bayes"])
def test_held_out_labels_do_not_influence_the_predictors_of_their_fold(K, l2_weights, rng):
    """Labels of held-out rows may change the two factors, but not what they multiply, nor the score's."""
    X, y = rows_and_labels(rng, K, n=60)
    other = y.copy()
    other[30:] = np.roll(y[30:], 7)
    fold = [(np.arange(30), np.arange(30, 60))]
    seen = []

    def remember(model, eta, labels):
        seen.append(eta.copy())
        return 0.0

    settings = {"dropout": 0.5, "l2": 1.0, "l2_weights": l2_weights, "cv": fold, "scoring": remember}
    # Two factors and one row of predictors each: with t = 1 the rest is c ν.
    models = [LogisticRegressionCV(**settings, calibrate=False, naive_bayes=True) for _ in range(2)]
    for model, labels in zip(models, (y, other), strict=True):
        model.fit(X, labels)
    plain = LogisticRegressionCV(**settings, calibrate=False).fit(X, y)
    assert plain.naive_bayes_ == 0.0
    # Each search scores its only candidate, and then the predictors that it reports.
    blended, reported = seen[::2], seen[1::2]
    nu = [(blended[k] - blended[2]) / models[k].naive_bayes_ for k in range(2)]
    assert_array_equal(reported[0], reported[1])
    assert models[0].naive_bayes_ != models[1].naive_bayes_
    assert_allclose(nu[0], nu[1], atol=1e-6)
    assert_allclose(nu[0], X[30:] @ ratios(X[:30], y[:30]).T, atol=1e-6)


def test_weights_apply_to_the_factors(exact, rng):
    X, y = words(rng, n=60)
    weights = rng.integers(1, 4, size=60).astype(float)
    folds = list(StratifiedKFold(2).split(X, y))
    settings = {"dropout": 0.5, "l2": 1.0, "l2_weights": "uniform"}
    model = LogisticRegressionCV(**settings, **exact, naive_bayes=True, cv=folds).fit(X, y, weights)
    fits = [LogisticRegression(tol=1e-8).fit(X[train], y[train], weights[train]) for train, _ in folds]
    eta = [predictors(fit, X[test]) for fit, (_, test) in zip(fits, folds, strict=True)]
    nu = [X[test] @ ratios(X[train], y[train], weights[train]).T for train, test in folds]
    rows = np.concatenate([test for _, test in folds])
    expected = fit_blend(np.vstack(eta), np.vstack(nu), y[rows], weights[rows], calibrate=True)
    assert_allclose((model.scale_, model.naive_bayes_), expected, rtol=1e-3)
    alone = LogisticRegression(tol=1e-8).fit(X, y, weights)
    expected = model.scale_ * alone.coef_ + model.naive_bayes_ * ratios(X, y, weights)
    assert_allclose(model.coef_, expected, rtol=1e-5, atol=1e-7)


def test_calibrated_probabilities_are_neither_too_modest_nor_too_confident(rng):
    """Strong noise and a strong penalty make the coefficients far too small."""
    X = (rng.random((4000, 10)) < 0.5).astype(float)
    p = 1.0 / (1.0 + np.exp(-(X - 0.5) @ rng.normal(scale=1.5, size=10)))
    y = (rng.random(4000) < p).astype(int)
    settings = {"dropout": 0.6, "l2": 30.0, "l2_weights": "uniform", "cv": 3}
    plain, calibrated = (
        LogisticRegressionCV(**settings, calibrate=calibrate).fit(X[:2000], y[:2000])
        for calibrate in (False, True)
    )
    assert calibrated.scale_ > 2.0
    errors = [np.abs(model.predict_proba(X[2000:])[:, 1] - p[2000:]).mean() for model in (plain, calibrated)]
    assert errors[1] < 0.4 * errors[0]
    assert calibrated.score(X[2000:], y[2000:]) > plain.score(X[2000:], y[2000:])


def test_unlabelled_rows_and_features_that_do_not_occur_have_no_ratio(rng):
    X, y = words(rng)
    U = np.zeros((5, 12))
    U[:, -1] = 1.0  # only in unlabelled rows
    settings = {"dropout": 0.5, "l2": 1.0, "l2_weights": "uniform", "cv": 2, "naive_bayes": True}
    assert LogisticRegressionCV(**settings).fit(X, y).coef_[0, -1] == 0.0
    assert abs(LogisticRegressionCV(**settings).fit(X, y, X_unlabeled=U).coef_[0, -1]) < 1e-6
