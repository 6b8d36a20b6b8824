from threading import Thread

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, log_loss, make_scorer
from sklearn.model_selection import StratifiedKFold

from dropglm import LogisticRegression, LogisticRegressionCV
from dropglm.core.features import Features
from dropglm.core.l2_weights import L2_WEIGHTS
from dropglm.places.candidate_fits import Candidate
from dropglm.search import search
from dropglm.search.search import best_candidate, ranks
from tests.linear.test_fits import small_pieces, words

GRID = {
    "dropout": (0.7, 0.3),
    "l2": (1.0, 0.1),
    "discount": (0.5, 0.1),
    "l2_weights": ("uniform", "naive_bayes"),
}
# The search alone: no values of l2 but the given ones, and predictors as they were fitted.
PLAIN = {"extend_l2": False, "calibrate": False}


@pytest.fixture
def exact_search(monkeypatch):
    """A search with the tolerance of the final fit, so that its fits can be compared with separate ones."""
    monkeypatch.setattr(search, "SEARCH_TOL", 1e-8)
    return {"tol": 1e-8}


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc", None])
@pytest.mark.parametrize("unlabeled", [False, True])
def test_every_score_equals_that_of_a_separate_fit(scoring, unlabeled, exact_search, rng):
    X, y = words(rng, n=90)
    rows = {"X_unlabeled": sparse.csr_array(words(rng, n=30)[0])} if unlabeled else {}
    search = LogisticRegressionCV(**GRID, **PLAIN, **exact_search, cv=3, scoring=scoring, n_jobs=2)
    search.fit(sparse.csr_array(X), y, **rows)
    scorer = check_scoring(LogisticRegression(), scoring=scoring)
    results = search.cv_results_
    assert len(results["params"]) == (16 if unlabeled else 8)
    for k, params in enumerate(results["params"]):
        for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
            model = LogisticRegression(**params, **exact_search).fit(X[train], y[train], **rows)
            assert_allclose(results[f"split{fold}_test_score"][k], scorer(model, X[test], y[test]), atol=1e-5)


def test_the_best_settings_are_fitted_to_all_rows(rng):
    X, y = words(rng, n=90)
    search = LogisticRegressionCV(**GRID, **PLAIN, cv=3).fit(X, y)
    results = search.cv_results_
    k = search.best_index_
    assert k == np.argmax(results["mean_test_score"])
    assert results["rank_test_score"][k] == 1
    assert_array_equal(search.best_scores_.mean(), search.best_score_)
    chosen = {name: getattr(search, f"{name}_") for name in (*GRID, "noise_std")}
    assert chosen == results["params"][k] == {name: results[f"param_{name}"][k] for name in chosen}
    alone = LogisticRegression(**chosen).fit(X, y)
    assert_array_equal(search.coef_, alone.coef_)
    assert_array_equal(search.best_estimator_.coef_, alone.coef_)
    assert_array_equal(search.predict_proba(X), alone.predict_proba(X))
    assert search.result_.n_iter == alone.result_.n_iter


def test_several_classes(exact_search, rng):
    X, _ = words(rng, n=90)
    y = np.array(["a", "b", "c"])[X[:, :3].argmax(axis=1)]
    for penalty in ("gaussian", "quadratic"):
        settings = {"expectation": penalty} | exact_search
        grid = {"dropout": 0.3, "l2": (1.0, 0.1), "l2_weights": "uniform"}
        search = LogisticRegressionCV(**grid, **PLAIN, cv=2, **settings).fit(X, y)
        for k, params in enumerate(search.cv_results_["params"]):
            train, test = next(StratifiedKFold(2).split(X, y))
            model = LogisticRegression(**params, **settings).fit(X[train], y[train])
            truth = -log_loss(y[test], model.predict_proba(X[test]))
            assert_allclose(search.cv_results_["split0_test_score"][k], truth, atol=1e-4)


@pytest.mark.parametrize("l2_weights", ["uniform", "naive_bayes", "naive_bayes_unlabeled"])
def test_held_out_labels_do_not_influence_a_fold(l2_weights, rng):
    """Changing the labels of held-out rows does not change the predictors of a fold."""
    X, y = words(rng, n=60)
    U = words(rng, n=40)[0]
    fold = [(np.arange(30), np.arange(30, 60))]
    other = y.copy()
    other[30:] = 1 - other[30:]

    def confidence(model, X, y):
        return float(np.abs(model.decision_function(X)).mean())

    settings = {
        "dropout": (0.5, 0.3),
        "l2": (1.0, 0.1),
        "discount": 0.4,
        "l2_weights": l2_weights,
        "cv": fold,
    }
    before, after = (
        LogisticRegressionCV(**settings, **PLAIN, scoring=confidence, tol=1e-8).fit(X, labels, X_unlabeled=U)
        for labels in (y, other)
    )
    assert_array_equal(before.cv_results_["mean_test_score"], after.cv_results_["mean_test_score"])


@pytest.mark.parametrize("l2_weights", ["naive_bayes", "naive_bayes_unlabeled"])
def test_flipping_held_out_labels_flips_every_accuracy(l2_weights, rng):
    X, y = words(rng, n=80, d=40)
    U = words(rng, n=60, d=40)[0]
    fold = [(np.arange(20), np.arange(20, 80))]
    other = np.where(np.arange(80) < 20, y, 1 - y)
    settings = {"dropout": (0.6, 0.3), "l2": (1.0, 0.1, 0.01), "discount": (1.0, 0.2)}
    before, after = (
        LogisticRegressionCV(**settings, **PLAIN, l2_weights=l2_weights, cv=fold, scoring="accuracy")
        .fit(X, labels, X_unlabeled=U)
        .cv_results_
        for labels in (y, other)
    )
    assert len(before["split0_test_score"]) == 12
    assert_allclose(after["split0_test_score"], 1 - before["split0_test_score"], rtol=1e-12)


def test_one_standard_error_prefers_strong_penalties(rng):
    X, y = words(rng, n=90)
    plain = LogisticRegressionCV(**GRID, cv=3, extend_l2=False).fit(X, y)
    careful = LogisticRegressionCV(**GRID, cv=3, extend_l2=False, one_standard_error=True).fit(X, y)
    results = plain.cv_results_
    assert careful.dropout_ >= plain.dropout_
    splits = np.stack([results[f"split{fold}_test_score"] for fold in range(3)])
    error = splits[:, plain.best_index_].std(ddof=1) / np.sqrt(3)
    assert careful.best_score_ >= plain.best_score_ - error
    near = results["mean_test_score"] >= plain.best_score_ - error
    assert careful.dropout_ == max(results["param_dropout"][near])


def test_sample_weights_apply_to_fits_and_scores(exact_search, rng):
    X, y = words(rng, n=60)
    weights = rng.integers(1, 4, size=60).astype(float)
    settings = {"dropout": 0.5, "l2": (1.0, 0.1), "l2_weights": "uniform"} | PLAIN | exact_search
    (train, test), *_ = folds = list(StratifiedKFold(2).split(X, y))
    search = LogisticRegressionCV(cv=folds, **settings).fit(X, y, weights)
    model = LogisticRegression(dropout=0.5, l2=1.0, tol=1e-8).fit(X[train], y[train], weights[train])
    truth = -log_loss(y[test], model.predict_proba(X[test]), sample_weight=weights[test])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(truth, abs=1e-5)


def test_the_number_of_threads_does_not_change_the_result(rng):
    X, y = words(rng, n=90)
    one, two, many = (LogisticRegressionCV(**GRID, cv=3, n_jobs=k).fit(X, y) for k in (1, 2, 16))
    assert_allclose(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    assert_allclose(one.coef_, two.coef_, rtol=1e-9)
    assert_allclose(one.coef_, many.coef_, rtol=1e-9)


def test_warm_starts_save_iterations(rng):
    X, y = words(rng, n=200, d=40)
    path = LogisticRegressionCV(
        dropout=0.5, l2=np.logspace(1, -1, 8), l2_weights="uniform", cv=2, extend_l2=False
    )
    path.fit(X, y)
    apart = [
        LogisticRegressionCV(dropout=0.5, l2=l2, l2_weights="uniform", cv=2)
        .fit(X, y)
        .cv_results_["mean_n_iter"][0]
        for l2 in np.logspace(1, -1, 8)
    ]
    assert path.cv_results_["mean_n_iter"].sum() < 0.8 * np.sum(apart)


def test_each_dropout_rate_starts_from_the_previous_one(rng):
    X, y = words(rng, n=200, d=40)
    rates = (0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6)
    path = LogisticRegressionCV(dropout=rates, l2=1.0, l2_weights="uniform", cv=2).fit(X, y)
    apart = [
        LogisticRegressionCV(dropout=rate, l2=1.0, l2_weights="uniform", cv=2)
        .fit(X, y)
        .cv_results_["mean_n_iter"][0]
        for rate in rates
    ]
    assert path.cv_results_["mean_n_iter"].sum() < 0.8 * np.sum(apart)


def test_a_single_value_is_a_grid_of_one_and_auto_tries_what_is_possible(rng):
    X, y = words(rng)
    search = LogisticRegressionCV(dropout=0.5, l2=1.0, cv=2).fit(X, y)
    assert [params["l2_weights"] for params in search.cv_results_["params"]] == ["uniform", "naive_bayes"]
    search.fit(X - 0.5, y)
    assert [params["l2_weights"] for params in search.cv_results_["params"]] == ["uniform"]
    weights = np.linspace(0.5, 1.5, 12)
    assert_array_equal(
        LogisticRegressionCV(dropout=0.5, l2=1.0, l2_weights=weights, cv=2).fit(X, y).l2_weights_, weights
    )
    both = LogisticRegressionCV(dropout=0.5, l2=1.0, l2_weights=["uniform", weights], cv=2).fit(X, y)
    assert len(both.cv_results_["params"]) == 2


def test_verbose_shows_the_progress_of_the_search(rng, capsys):
    X, y = words(rng)
    settings = {"dropout": 0.5, "l2": (1.0, 0.1), "l2_weights": "uniform", "cv": 2, "extend_l2": False}
    LogisticRegressionCV(**settings, verbose=1).fit(X, y)
    assert "4/4 fits" in capsys.readouterr().err
    LogisticRegressionCV(**settings).fit(X, y)
    assert capsys.readouterr().err == ""


def test_custom_scorers(rng):
    X, y = words(rng)
    scorer = make_scorer(lambda truth, found: float(np.mean(truth == found)))
    own = LogisticRegressionCV(**GRID, cv=2, scoring=scorer).fit(X, y)
    named = LogisticRegressionCV(**GRID, cv=2, scoring="accuracy").fit(X, y)
    assert_array_equal(own.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"])


@pytest.mark.parametrize("expectation", ["gaussian", "quadratic"])
def test_nested_threads_do_not_deadlock(expectation, rng, monkeypatch):
    """Two fits have teams of two threads: as many lanes wait as there are in each of their loops."""
    shared = small_pieces(monkeypatch)
    X, y = words(rng, n=90)
    settings = {"dropout": 0.5, "l2": 1.0, "l2_weights": "uniform", "cv": 2, "expectation": expectation}
    expected, models = LogisticRegressionCV(**settings).fit(X, y), []

    def fit():
        models.extend(LogisticRegressionCV(**settings, n_jobs=k).fit(X, y) for k in (4, 8, 16))

    fits = Thread(target=fit, daemon=True)
    fits.start()
    fits.join(timeout=300)
    assert not fits.is_alive()
    assert {"_scatter", "_ray_by_rows"} <= shared
    for model in models:
        assert_array_equal(model.coef_, expected.coef_)


def test_the_final_fit_uses_the_rows_that_its_search_has_prepared(rng, monkeypatch):
    X, y = words(rng)
    prepared, prepare = [], Features.__init__
    monkeypatch.setattr(
        Features, "__init__", lambda features, *rows: prepared.append(rows) or prepare(features, *rows)
    )
    search = LogisticRegressionCV(dropout=0.5, l2=1.0, l2_weights="uniform", cv=2, **PLAIN).fit(X, y)
    assert len(prepared) == 1
    assert_array_equal(search.coef_, LogisticRegression().fit(X, y).coef_)


def test_rows_of_weight_0_do_not_make_others_inseparable():
    """They are among the rows that a search prepares."""
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1, 0]
    fold = [([0, 1, 2, 3], [1, 2])]
    search = LogisticRegressionCV(dropout=0.0, l2=0.0, l2_weights="uniform", cv=fold, **PLAIN)
    with pytest.warns(ConvergenceWarning, match="no minimum: the rows are separable"):
        search.fit(X, y, sample_weight=[1.0, 1.0, 1.0, 1.0, 0.0])


def test_the_final_model_has_the_settings_that_were_scored(exact_search, rng):
    """With 0 in the dropout grid "auto" could mean different things in the search and in the final fit."""
    X, _ = words(rng, n=90)
    y = X[:, :3].argmax(axis=1)
    found = LogisticRegressionCV(dropout=(0.9, 0.0), l2=1.0, cv=2, **PLAIN, **exact_search).fit(X, y)
    assert found.dropout_ == 0.0
    assert found.multi_class_ == found.best_estimator_.multi_class_ == "ovr"
    train, test = next(StratifiedKFold(2).split(X, y))
    alone = LogisticRegression(**found.best_params_, multi_class="ovr", tol=1e-8).fit(X[train], y[train])
    truth = -log_loss(y[test], alone.predict_proba(X[test]))
    assert found.cv_results_["split0_test_score"][found.best_index_] == pytest.approx(truth, abs=1e-5)


def test_class_weights_do_not_apply_to_scores(rng):
    X, y = words(rng, n=60)
    settings = {"dropout": 0.5, "l2": (1.0, 0.1), "cv": 2, "class_weight": "balanced"}
    plain, ones = (LogisticRegressionCV(**settings).fit(X, y, weight) for weight in (None, np.ones(60)))
    assert_array_equal(plain.cv_results_["mean_test_score"], ones.cv_results_["mean_test_score"])


def test_a_row_listed_twice_in_a_fold_counts_twice(exact_search, rng):
    X, y = words(rng, n=60)
    train = np.append(np.arange(40), [1, 1, 2])
    fold = [(train, np.arange(40, 60))]
    settings = {"dropout": 0.5, "l2": 1.0, "l2_weights": "uniform"}
    found = LogisticRegressionCV(**settings, **PLAIN, cv=fold, **exact_search).fit(X, y)
    alone = LogisticRegression(tol=1e-8).fit(X[train], y[train])
    assert found.best_score_ == pytest.approx(-log_loss(y[40:], alone.predict_proba(X[40:])), abs=1e-5)


def test_features_of_held_out_rows_do_not_influence_a_fold(exact_search, rng):
    """Naive-Bayes weights smooth over the vocabulary of the rows from which they are computed."""
    X, y = words(rng, n=60, d=12)
    X = np.hstack([X, np.vstack([np.zeros((30, 50)), np.ones((30, 50))])])
    fold = [(np.arange(30), np.arange(30, 60))]
    settings = {"dropout": 0.5, "l2": 1.0, "l2_weights": "naive_bayes"}
    found = LogisticRegressionCV(**settings, **PLAIN, cv=fold, **exact_search).fit(X, y)
    alone = LogisticRegression(**settings, tol=1e-8).fit(X[:30], y[:30])
    assert found.best_score_ == pytest.approx(-log_loss(y[30:], alone.predict_proba(X[30:])), abs=1e-5)


def candidates(*points):
    return [
        Candidate({"dropout": dropout, "l2": l2}, None, L2_WEIGHTS["uniform"], path, dropout)
        for dropout, l2, path in points
    ]


def test_the_one_standard_error_rule_on_given_scores():
    grid = candidates((0.8, 1.0, 0), (0.5, 3.0, 0), (0.5, 1.0, 0), (0.3, 1.0, 0), (0.9, 9.0, 1))
    # The best has mean 0.8 and, over four folds, standard error 0.1 / 2 / √3 = 0.0289.
    scores = np.array([[0.7] * 4, [0.775] * 4, [0.78] * 4, [0.75, 0.85, 0.75, 0.85], [0.79] * 4])
    assert best_candidate(grid, scores, one_standard_error=False) == 3
    assert best_candidate(grid, scores, one_standard_error=True) == 1
    assert best_candidate(grid, scores[:, :1], one_standard_error=True) == 4


def test_a_nan_score_is_never_the_best():
    grid = candidates((0.8, 1.0, 0), (0.5, 1.0, 0), (0.3, 1.0, 0))
    scores = np.array([[0.7, 0.7], [np.nan, 0.9], [0.8, 0.8]])
    assert best_candidate(grid, scores, one_standard_error=False) == 2
    assert list(ranks(scores.mean(axis=1), np.ones(3, bool))) == [2, 3, 1]
    with pytest.raises(ValueError, match="Every score is NaN"):
        best_candidate(grid, scores * np.nan, one_standard_error=False)


def test_score_uses_the_scorer(rng):
    X, y = words(rng)
    model = LogisticRegressionCV(dropout=0.5, l2=1.0, cv=2).fit(X, y)
    assert model.score(X, y) == pytest.approx(-log_loss(y, model.predict_proba(X)))
    assert model.set_params(scoring="accuracy").score(X, y) == np.mean(model.predict(X) == y)


def test_a_generator_gives_the_same_search_on_any_number_of_threads(rng):
    X, y = words(rng, n=40)
    settings = {"expectation": "monte_carlo", "dropout": (0.5, 0.3), "l2": 1.0, "cv": 2}
    one, two = (
        LogisticRegressionCV(**settings, n_jobs=k, random_state=np.random.default_rng(1)).fit(X, y)
        for k in (1, 2)
    )
    assert_allclose(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])


def test_fits_of_the_search_that_do_not_converge_are_counted(rng):
    X, y = words(rng)
    with pytest.warns(ConvergenceWarning) as caught:
        LogisticRegressionCV(
            dropout=0.5, l2=(1.0, 1e-4), l2_weights="uniform", cv=2, extend_l2=False, max_iter=1
        ).fit(X, y)
    assert any("of the 4 fits of the search did not converge" in str(warning.message) for warning in caught)
