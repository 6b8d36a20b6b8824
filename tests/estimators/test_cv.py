import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import StratifiedKFold

from dropglm import LogisticRegression, LogisticRegressionCV
from dropglm.estimators import cv as module
from tests.estimators.test_fits import words

GRID = {"dropout": (0.7, 0.3), "l2": (1.0, 0.1), "discount": (0.5, 0.1), "ridge": ("uniform", "naive_bayes")}


@pytest.fixture
def exact_search(monkeypatch):
    """A search whose fits are as exact as the last one, and can be compared with fits from scratch."""
    monkeypatch.setattr(module, "ROUGH", 1e-8)
    return {"tol": 1e-8}


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc", None])
@pytest.mark.parametrize("unlabeled", [False, True])
def test_every_score_is_that_of_a_fit_from_scratch(scoring, unlabeled, exact_search, rng):
    X, y = words(rng, n=90)
    rows = {"X_unlabeled": sparse.csr_array(words(rng, n=30)[0])} if unlabeled else {}
    search = LogisticRegressionCV(**GRID, **exact_search, cv=3, scoring=scoring, n_jobs=2)
    search.fit(sparse.csr_array(X), y, **rows)
    scorer = module.check_scoring(LogisticRegression(), scoring=scoring)
    results = search.cv_results_
    assert len(results["params"]) == (16 if unlabeled else 8)
    for k, params in enumerate(results["params"]):
        for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
            model = LogisticRegression(**params, **exact_search).fit(X[train], y[train], **rows)
            assert_allclose(results[f"split{fold}_test_score"][k], scorer(model, X[test], y[test]), atol=1e-5)


def test_the_best_is_fitted_to_all_rows(rng):
    X, y = words(rng, n=90)
    search = LogisticRegressionCV(**GRID, cv=3, scoring="neg_log_loss").fit(X, y)
    results = search.cv_results_
    k = search.best_index_
    assert k == np.argmax(results["mean_test_score"])
    assert results["rank_test_score"][k] == 1
    assert search.best_score_ == results["mean_test_score"][k]
    chosen = {name: getattr(search, f"{name}_") for name in GRID}
    assert chosen == results["params"][k] == {name: results[f"param_{name}"][k] for name in GRID}
    alone = LogisticRegression(**chosen).fit(X, y)
    assert_array_equal(search.coef_, alone.coef_)
    assert_array_equal(search.best_estimator_.coef_, alone.coef_)
    assert_array_equal(search.predict_proba(X), alone.predict_proba(X))
    assert search.result_.n_iter == alone.result_.n_iter


def test_several_classes(exact_search, rng):
    X, _ = words(rng, n=90)
    y = np.array(["a", "b", "c"])[X[:, :3].argmax(axis=1)]
    for penalty in ("gaussian", "quadratic"):
        settings = {"penalty": penalty} | exact_search
        search = LogisticRegressionCV(
            dropout=0.3, l2=(1.0, 0.1), ridge="uniform", cv=2, scoring="neg_log_loss", **settings
        ).fit(X, y)
        for k, params in enumerate(search.cv_results_["params"]):
            train, test = next(StratifiedKFold(2).split(X, y))
            model = LogisticRegression(**params, **settings).fit(X[train], y[train])
            truth = -log_loss(y[test], model.predict_proba(X[test]))
            assert_allclose(search.cv_results_["split0_test_score"][k], truth, atol=1e-4)


def test_a_fold_sees_nothing_of_the_rows_it_holds_out(rng):
    """Other labels in the rows held out leave a fold's predictors as they are."""
    X, y = words(rng, n=60)
    fold = [(np.arange(30), np.arange(30, 60))]
    other = y.copy()
    other[30:] = 1 - other[30:]

    def confidence(model, X, y):
        return float(np.abs(model.decision_function(X)).mean())

    settings = {"dropout": 0.5, "l2": 1.0, "cv": fold, "scoring": confidence, "tol": 1e-8}
    scores = [
        LogisticRegressionCV(**settings).fit(X, labels).cv_results_["mean_test_score"]
        for labels in (y, other)
    ]
    assert_array_equal(*scores)


def test_one_standard_error_prefers_strong_penalties(rng):
    X, y = words(rng, n=90)
    plain = LogisticRegressionCV(**GRID, cv=3).fit(X, y)
    careful = LogisticRegressionCV(**GRID, cv=3, one_standard_error=True).fit(X, y)
    results = plain.cv_results_
    assert careful.dropout_ >= plain.dropout_
    splits = np.stack([results[f"split{fold}_test_score"] for fold in range(3)])
    error = splits[:, plain.best_index_].std(ddof=1) / np.sqrt(3)
    assert careful.best_score_ >= plain.best_score_ - error
    near = results["mean_test_score"] >= plain.best_score_ - error
    assert careful.dropout_ == max(results["param_dropout"][near])


def test_weights_count_in_fits_and_scores(exact_search, rng):
    X, y = words(rng, n=60)
    weights = rng.integers(1, 4, size=60).astype(float)
    settings = {
        "dropout": 0.5,
        "l2": (1.0, 0.1),
        "ridge": "uniform",
        "scoring": "neg_log_loss",
    } | exact_search
    (train, test), *_ = folds = list(StratifiedKFold(2).split(X, y))
    search = LogisticRegressionCV(cv=folds, **settings).fit(X, y, weights)
    model = LogisticRegression(dropout=0.5, l2=1.0, tol=1e-8).fit(X[train], y[train], weights[train])
    truth = -log_loss(y[test], model.predict_proba(X[test]), sample_weight=weights[test])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(truth, abs=1e-5)


def test_threads_do_not_matter(rng):
    X, y = words(rng, n=90)
    one, two, many = (LogisticRegressionCV(**GRID, cv=3, n_jobs=k).fit(X, y) for k in (1, 2, 16))
    assert_allclose(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    assert_allclose(one.coef_, two.coef_, rtol=1e-9)
    assert_allclose(one.coef_, many.coef_, rtol=1e-9)


def test_warm_starts_save_iterations(rng):
    X, y = words(rng, n=200, d=40)
    path = LogisticRegressionCV(dropout=0.5, l2=np.logspace(1, -1, 8), ridge="uniform", cv=2).fit(X, y)
    apart = [
        LogisticRegressionCV(dropout=0.5, l2=l2, ridge="uniform", cv=2)
        .fit(X, y)
        .cv_results_["mean_n_iter"][0]
        for l2 in np.logspace(1, -1, 8)
    ]
    assert path.cv_results_["mean_n_iter"].sum() < 0.8 * np.sum(apart)


def test_one_number_is_a_grid_of_one_and_auto_is_what_can_be_done(rng):
    X, y = words(rng)
    search = LogisticRegressionCV(dropout=0.5, l2=1.0, cv=2).fit(X, y)
    assert [params["ridge"] for params in search.cv_results_["params"]] == ["uniform", "naive_bayes"]
    search.fit(X - 0.5, y)
    assert [params["ridge"] for params in search.cv_results_["params"]] == ["uniform"]
    weights = np.linspace(0.5, 1.5, 12)
    assert_array_equal(
        LogisticRegressionCV(dropout=0.5, l2=1.0, ridge=weights, cv=2).fit(X, y).ridge_, weights
    )
    both = LogisticRegressionCV(dropout=0.5, l2=1.0, ridge=["uniform", weights], cv=2).fit(X, y)
    assert len(both.cv_results_["params"]) == 2


def test_a_bar_shows_how_far_it_is(rng, capsys):
    X, y = words(rng)
    LogisticRegressionCV(dropout=0.5, l2=(1.0, 0.1), ridge="uniform", cv=2, verbose=1).fit(X, y)
    assert "4/4 fits" in capsys.readouterr().err
    LogisticRegressionCV(dropout=0.5, l2=1.0, ridge="uniform", cv=2).fit(X, y)
    assert capsys.readouterr().err == ""


def test_a_scorer_of_ones_own(rng):
    X, y = words(rng)
    scorer = make_scorer(lambda truth, found: float(np.mean(truth == found)))
    own = LogisticRegressionCV(**GRID, cv=2, scoring=scorer).fit(X, y)
    named = LogisticRegressionCV(**GRID, cv=2, scoring="accuracy").fit(X, y)
    assert_array_equal(own.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"])
