"""How the methods on texts are tuned and scored."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import MultinomialNB

from dropglm import LogisticRegression
from dropglm.experiments import imdb, methods, texts, thirds
from dropglm.search import search


def test_a_baseline_takes_the_setting_with_the_best_mean_over_folds(load):
    split = texts.unigrams_in_thirds("rt", 0, load)
    folds = list(StratifiedKFold(3).split(split.y, split.y))
    alphas = (1e-3, 1.0, 300.0)
    found = methods.Baseline(MultinomialNB(), {"alpha": alphas}).tune(split, folds, "accuracy")
    scores = [
        np.mean(
            [
                MultinomialNB(alpha=a).fit(split.X[i], split.y[i]).score(split.X[j], split.y[j])
                for i, j in folds
            ]
        )
        for a in alphas
    ]
    assert found.cv_score == pytest.approx(max(scores))
    assert found.chosen == {"alpha": alphas[int(np.argmax(scores))]}


def noisy(rng, n=60):
    """Return rows with noisy, unbalanced labels."""
    X = (rng.random((n, 12)) < 0.4).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0.3).astype(int)
    U = sparse.csr_array((rng.random((30, 12)) < 0.4).astype(float))
    return texts.Split(sparse.csr_array(X), y, U, sparse.csr_array(X), y)


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
def test_cv_scores_are_means_over_folds_of_the_requested_score(rng, monkeypatch, scoring):
    monkeypatch.setattr(search, "SEARCH_TOL", 1e-8)
    split = noisy(rng)
    folds = list(StratifiedKFold(4).split(split.y, split.y))
    other = "roc_auc" if scoring == "accuracy" else "accuracy"
    for method, model in (
        (methods.Baseline(MultinomialNB(), {"alpha": (0.1, 30.0)}), MultinomialNB()),
        (methods.SklearnL2((0.01, 1.0), n_jobs=1), SklearnLogisticRegression(tol=1e-6)),
        (methods.DropoutMethod("gaussian", "uniform", (0.3,), (10.0, 0.1)), LogisticRegression(tol=1e-6)),
    ):
        found = method.tune(split, folds, scoring)
        model.set_params(**found.chosen)
        mean, elsewhere = (
            cross_val_score(model, split.X, split.y, cv=folds, scoring=name).mean()
            for name in (scoring, other)
        )
        assert found.cv_score <= mean + 0.003
        assert found.cv_score == pytest.approx(mean, abs=0.02)  # minus what the choice makes too good
        assert abs(mean - elsewhere) > 0.02


class Recorder:
    """A method that records how it was called."""

    def __init__(self, unlabeled):
        self.unlabeled = unlabeled
        self.calls = []

    def settings(self):
        return {"number": id(self)}

    def tune(self, split, folds, scoring):
        self.calls.append((split, folds, scoring))
        return methods.TunedModel(MultinomialNB().fit(split.X, split.y), {}, 0.5)


def assert_same_folds(found, truth):
    for pair in zip(found, truth, strict=True):
        for rows, others in zip(*pair, strict=True):
            assert_array_equal(rows, others)


def test_folds_are_contiguous_blocks_or_shuffled_by_the_seed(rng):
    X = sparse.csr_array(rng.random((24, 3)))
    y = np.arange(24) % 2
    split, method = texts.Split(X, y, X, X, y), Recorder(False)
    for seed in (None, 0, 7):
        methods.Tuning(3, seed).tune(split, method)
    (blocks, zero, seven) = (folds for _, folds, _ in method.calls)
    assert_same_folds(blocks, [(np.delete(np.arange(24), rows), rows) for rows in np.split(np.arange(24), 3)])
    for folds, seed in ((zero, 0), (seven, 7)):
        assert_same_folds(folds, StratifiedKFold(3, shuffle=True, random_state=seed).split(y, y))
    assert zero[0][1].tolist() != seven[0][1].tolist()


def test_every_fit_uses_the_scores_and_folds_of_its_experiment(small, few_methods):
    """Thirds: ROC area and folds shuffled by seed; IMDB: blocks; its curves: folds shuffled by seed."""
    recorders = {label: Recorder(method.unlabeled) for label, method in few_methods.items()}
    without, unlabeled = ({name: recorders[name]} for name in ("L2", "gaussian + unlabelled"))
    for experiment, scoring, shuffled in (
        (replace(small.thirds, methods=recorders), "roc_auc", True),
        (replace(small.imdb, methods=recorders), "accuracy", False),
        (replace(small.curves, labeled_only=without, with_unlabeled=unlabeled), "accuracy", True),
    ):
        seeds = set()
        for fit in experiment.fits(False):
            method = recorders.get(fit.method)
            if method is None or fit.parameters["settings"] != method.settings():
                continue  # the literature's settings, and the wide matrix
            fit.measure(fit.load())
            split, folds, score = method.calls.pop()
            assert score == scoring
            seed = {"random_state": fit.seed} if shuffled else {}
            cv = StratifiedKFold(fit.parameters["folds"], shuffle=shuffled, **seed)
            assert_same_folds(folds, cv.split(split.y, split.y))
            assert split.X.shape[0] == fit.parameters.get("labeled", len(split.y))
            seeds.add(fit.seed)
        assert len(seeds) == (2 if shuffled else 1)


def test_settings_include_everything_that_is_tuned():
    dropout = methods.DropoutMethod(
        "quadratic", "naive_bayes", (0.5, 0.3), (2.0,), (1.0, 0.7), unlabeled=True
    )
    settings = {
        "expectation": "quadratic",
        "l2_weights": "naive_bayes",
        "dropout": [0.5, 0.3],
        "l2": [2.0],
        "discount": [1.0, 0.7],
    }
    assert settings.items() <= dropout.settings().items()
    assert methods.SklearnL2((0.1, 3.0)).settings()["C"] == [0.1, 3.0]
    baseline = methods.Baseline(MultinomialNB(fit_prior=False), {"alpha": (0.1, 3.0)}).settings()
    assert baseline["grid"] == {"alpha": [0.1, 3.0]}
    assert baseline != methods.Baseline(MultinomialNB(), {"alpha": (0.1, 3.0)}).settings()
    for method in methods.METHODS.values():
        assert json.loads(json.dumps(method.settings())) == method.settings()


def test_parameters_of_a_fit_include_settings_and_folds():
    for fit in thirds.Thirds().fits(False):
        if fit.parameters["features"] == "texts":  # our text classifier with its defaults
            continue
        assert fit.parameters["settings"] == thirds.METHODS[fit.method].settings()
        assert fit.parameters["folds"] == (3 if fit.data == "imdb" else 5)
        assert fit.parameters["scoring"] == "roc_auc"
    for fit in imdb.IMDB().fits(False):
        if fit.data == "texts":
            continue
        published, vectors = imdb.PUBLISHED in fit.data, fit.method in imdb.VECTOR_METHODS
        known = imdb.LITERATURE if published else methods.METHODS
        method = imdb.VECTOR_SVM if vectors else known[fit.method]
        settings = (imdb.WIDE_METHOD if fit.data == "wide" else method).settings()
        assert fit.parameters["settings"] == settings
        assert fit.parameters["folds"] == 3
    for fit in imdb.IMDBCurves().fits(False):
        unlabeled = fit.parameters["unlabeled"] > 0
        method = (imdb.WITH_UNLABELED if unlabeled else imdb.LABELED_ONLY)[fit.method]
        assert fit.parameters["settings"] == method.settings()


@pytest.mark.parametrize("unlabeled", [False, True])
def test_scores_are_those_of_the_estimator_with_the_chosen_settings(load, unlabeled):
    split = texts.more_in_thirds("rt", 0, load)
    l2_weights = "naive_bayes_unlabeled" if unlabeled else "naive_bayes"
    method = methods.DropoutMethod("gaussian", l2_weights, (0.5, 0.3), (1.0,), unlabeled=unlabeled)
    result = methods.Tuning(3, 0).tune_and_score(split, method)
    rows = {"X_unlabeled": split.X_unlabeled} if unlabeled else {}
    settings = result["chosen"]
    assert settings["dropout"] in (0.5, 0.3)
    by_hand = LogisticRegression(**settings, l2_weights=l2_weights, tol=1e-6).fit(split.X, split.y, **rows)
    assert result["accuracy"] == by_hand.score(split.X_test, split.y_test)
    p = by_hand.predict_proba(split.X_test)[np.arange(len(split.y_test)), split.y_test]
    assert result["log_loss"] == pytest.approx(-np.log(p).mean(), rel=1e-2)
    assert result["features"] == (split.X.shape[1] if unlabeled else len(np.unique(split.X.indices)))


def test_labels_of_test_rows_do_not_change_what_is_chosen(load, few_methods):
    split = texts.unigrams_in_thirds("rt", 1, load)
    flipped = texts.Split(split.X, split.y, split.X_unlabeled, split.X_test, 1 - split.y_test)
    for method in few_methods.values():
        found, other = (methods.Tuning(3, 0).tune_and_score(s, method) for s in (split, flipped))
        assert found["chosen"] == other["chosen"]
        assert found["accuracy"] == pytest.approx(1 - other["accuracy"])


@pytest.mark.parametrize(
    "method",
    [
        *methods.METHODS.values(),
        *methods.FEW_LABELS.methods("quadratic").values(),
        *methods.FEW_LABELS.gaussian().values(),
    ],
)
def test_every_method_has_twelve_settings(method):
    settings = dict(method.settings())
    lists = (
        settings["grid"] if "grid" in settings else {k: v for k, v in settings.items() if isinstance(v, list)}
    )
    assert np.prod([len(values) for values in lists.values()]) == 12
