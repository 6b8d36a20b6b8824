"""Rounds in which naive Bayes also counts unlabelled rows, with predicted labels."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import log_softmax, softmax
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold

from dropglm import Blocks, LogisticRegression, LogisticRegressionCV, PerBlock
from dropglm.core.families import Logistic
from dropglm.places.rows import Fold, RowsInMemory, TrainingData
from dropglm.search import naive_bayes, search
from dropglm.search.blend import Blend, FoldRows
from dropglm.search.naive_bayes import NaiveBayesRounds, Predictor
from tests.linear.test_fits import words
from tests.search.test_blend import fit_blend
from tests.search.test_blended_search import cross_fitted, predictors, ratios, rows_and_labels
from tests.search.test_naive_bayes import ratios_of_totals

FIXED = {"dropout": 0.5, "l2": 1.0, "l2_weights": "uniform", "discount": 0.0, "naive_bayes": True}
two_and_three_classes = pytest.mark.parametrize("K", [2, 3])


@pytest.fixture
def exact(monkeypatch):
    """A search with the tolerance of the final fit."""
    monkeypatch.setattr(search, "SEARCH_TOL", 1e-9)
    return {"tol": 1e-9, "max_iter": 1000}


def of_all_classes(eta):
    return np.column_stack([np.zeros(len(eta)), eta]) if eta.shape[1] == 1 else eta


def losses(eta, numbers):
    return -log_softmax(of_all_classes(eta), axis=1)[np.arange(len(eta)), numbers]


class Model(NamedTuple):
    """A linear model, as coefficients of shape (K, d) and an intercept."""

    coef: np.ndarray
    intercept: np.ndarray

    def __call__(self, X):
        return X @ self.coef.T + self.intercept

    def blended(self, blend, r):
        return Model(blend[0] * self.coef + blend[1] * r, blend[0] * self.intercept)


def counted_ratios(X, y, weights, U, unlabeled_weights, p):
    """Return the ratios of labelled rows with labels y and unlabelled rows with probabilities p; (K, d)."""
    totals = X.T @ (weights[:, None] * (y[:, None] == np.arange(p.shape[1])))
    totals = totals + U.T @ (unlabeled_weights[:, None] * p)
    r = ratios_of_totals(totals, naive_bayes.FLOOR, naive_bayes.PSEUDO_TOTAL).T
    return r[[1]] - r[[0]] if len(r) == 2 else r


def rounds_by_hand(count, models, folds, X, y, weights, U, unlabeled_weights, honest=None):
    """Return the blends, the last model, and predictors that do not depend on a held-out row's label.

    ``models`` are those of the folds and, last, that of all rows; ``honest`` are such predictors before.
    """
    n = len(y)
    times = np.bincount(np.concatenate([test for _, test in folds]), minlength=n)
    rows = np.concatenate([test for _, test in folds])
    held_out_weights = (weights / times)[rows]
    blends = []
    for _ in range(count):
        kept = [train for train, _ in folds] + [np.arange(n)]
        r = []
        for model, train in zip(models, kept, strict=True):
            p = softmax(of_all_classes(model(U)), axis=1)
            r.append(counted_ratios(X[train], y[train], weights[train], U, unlabeled_weights, p))
        eta = np.vstack([model(X[test]) for model, (_, test) in zip(models, folds, strict=False)])
        nu = np.vstack([X[test] @ one.T for one, (_, test) in zip(r, folds, strict=False)])
        blend = fit_blend(eta, nu, y[rows], held_out_weights, calibrate=True, priors=naive_bayes.ROUND_PRIORS)
        change = losses(blend(eta, nu), y[rows]) - losses(eta, y[rows])
        mean = np.average(change, weights=held_out_weights)
        variance = np.average((change - mean) ** 2, weights=held_out_weights)
        if mean > np.sqrt(variance / held_out_weights.sum()):
            break
        blends.append(blend)
        if honest is not None:
            how = {"calibrate": True, "priors": naive_bayes.ROUND_PRIORS}
            tests = [test for _, test in folds]
            honest = cross_fitted(eta, nu, y[rows], held_out_weights, tests, honest, **how)
        models = [model.blended(blend, one) for model, one in zip(models, r, strict=True)]
    return blends, models[-1], honest


@two_and_three_classes
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "splitter", [StratifiedKFold(3), RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)]
)
def test_rounds_are_those_computed_by_hand(K, weighted, splitter, exact, rng):
    X, y = rows_and_labels(rng, K, n=60)
    U = words(rng, n=150)[0]
    w, u = (rng.uniform(0.5, 2.0, size=n) if weighted else np.ones(n) for n in (60, 150))
    folds = [*splitter.split(X, y)]
    model = LogisticRegressionCV(**FIXED, **exact, rounds=3, cv=folds)
    model.fit(X, y, w, X_unlabeled=sparse.csr_array(U), unlabeled_weight=u)
    first, tests = (model.scale_, model.naive_bayes_), [test for _, test in folds]
    members, eta, nu = [], [], []
    for rows, test in zip([train for train, _ in folds] + [np.arange(60)], [*tests, []], strict=True):
        fit = LogisticRegression(0.5, l2=1.0, **exact).fit(X[rows], y[rows], w[rows])
        r = ratios(X[rows], y[rows], w[rows])
        members.append(Model(fit.coef_, fit.intercept_).blended(first, r))
        eta.append(predictors(fit, X[test]))
        nu.append(X[test] @ r.T)
    numbers, held_out = np.searchsorted(model.classes_, y), np.concatenate(tests)
    own = (w / np.bincount(held_out))[held_out]
    honest = cross_fitted(np.vstack(eta), np.vstack(nu), numbers[held_out], own, tests, calibrate=True)
    blends, expected, honest = rounds_by_hand(3, members, folds, X, numbers, w, U, u, honest)
    assert len(model.rounds_) == len(blends) > 0
    assert_allclose(model.rounds_, blends, rtol=1e-4, atol=1e-5)
    assert_allclose(model.coef_, expected.coef, rtol=1e-4, atol=1e-4)
    assert_allclose(model.intercept_, expected.intercept, rtol=1e-4, atol=1e-4)
    assert_allclose(predictors(model, X), expected(X), rtol=1e-4, atol=1e-3)
    scores, ends = -losses(honest, numbers[held_out]), np.cumsum([len(test) for test in tests])
    parts = zip(np.split(scores, ends[:-1]), tests, strict=True)
    scores = [np.average(one, weights=w[test]) for one, test in parts]
    assert_allclose(model.best_scores_, scores, rtol=1e-3)
    log_p = np.zeros((60, K))
    np.add.at(log_p, held_out, log_softmax(of_all_classes(honest), axis=1))
    assert_allclose(
        model.cv_probabilities_, softmax(log_p / np.bincount(held_out)[:, None], axis=1), atol=1e-3
    )


@two_and_three_classes
def test_only_the_first_block_is_counted(K, exact, rng):
    X, y = rows_and_labels(rng, K, n=60)
    U = words(rng, n=150)[0]
    D, E = rng.normal(size=(60, 2)), rng.normal(size=(150, 2))
    D[:, 0] += y == y[0]
    folds = [*StratifiedKFold(3).split(X, y)]
    settings = {"dropout": PerBlock(0.5, 0.0), "l2_weights": PerBlock("uniform", 0.5)}
    model = LogisticRegressionCV(**FIXED | settings, **exact, rounds=2, cv=folds)
    model.fit(Blocks(X, D), y, X_unlabeled=Blocks(U, E))
    both, both_unlabeled = np.hstack([X, D]), np.hstack([U, E])
    first, members = (model.scale_, model.naive_bayes_), []
    for rows in [train for train, _ in folds] + [np.arange(60)]:
        fit = LogisticRegression(l2=1.0, **settings, **exact).fit(Blocks(X[rows], D[rows]), y[rows])
        r = np.hstack([ratios(X[rows], y[rows]), np.zeros((len(fit.coef_), 2))])
        members.append(Model(fit.coef_, fit.intercept_).blended(first, r))
    # The ratios of columns that are 0 are 0, so the columns of the second block are hidden from the counts.
    numbers, hidden = np.searchsorted(model.classes_, y), np.repeat([1.0, 0.0], [X.shape[1], 2])

    class Counted(np.ndarray):
        """Rows that predict with all columns and are counted without those of the second block."""

        @property
        def T(self):
            return np.asarray(self * hidden).T

    blends, expected, _ = rounds_by_hand(
        *(2, members, folds, both.view(Counted), numbers, np.ones(60)),
        *(both_unlabeled.view(Counted), np.ones(150)),
    )
    assert_allclose(model.rounds_, blends, rtol=1e-4, atol=1e-5)
    assert_allclose(model.coef_, expected.coef, rtol=1e-4, atol=1e-4)


def rounds_of(X, y, U, times, held_out, K, *, unlabeled_weights=None, held_out_weights=None):
    """Return the rounds of two models, that of a fold and that of all rows."""
    n, (m, d), classes = len(y), U.shape, np.arange(K)
    u = np.ones(m) if unlabeled_weights is None else unlabeled_weights
    data = TrainingData(X, y, {"n_features_in_": d}, np.ones(n), np.ones(n), U, u, classes)
    rows = RowsInMemory(LogisticRegressionCV(), data)
    rows.prepare(Logistic, [], folds=[Fold(times, held_out)], unlabeled=False)
    weights = np.ones(len(held_out)) if held_out_weights is None else held_out_weights
    return NaiveBayesRounds(rows, weights, FoldRows.of([held_out], weights))


@two_and_three_classes
def test_labels_that_are_held_out_do_not_influence_naive_bayes_of_their_fold(K, rng):
    X, U, y = words(rng, n=40)[0], words(rng, n=50)[0], rng.integers(K, size=40)
    held_out, weights = np.arange(25, 40), np.repeat([1.0, 0.0], [25, 15])
    model = rng.normal(size=(X.shape[1], 1 if K == 2 else K)), np.zeros(1 if K == 2 else K)
    found = []
    for labels in (y, np.concatenate([y[:25], rng.permutation(y[25:])])):
        shared = rounds_of(X, labels, U, weights, held_out, K)
        term = shared.terms([model, model])[0]
        found.append((term[0], shared.held_out_predictors([term])))
    for one, other in zip(*found, strict=True):
        assert_array_equal(one, other)
    p = softmax(of_all_classes(U @ model[0]), axis=1)
    r = counted_ratios(X[:25], y[:25], np.ones(25), U, np.ones(50), p)
    assert_allclose(found[0][0], r.T, rtol=1e-9, atol=1e-12)
    assert_allclose(found[0][1], X[25:] @ r.T, rtol=1e-9, atol=1e-12)


def test_one_row_of_weight_two_is_two_rows(rng):
    X, U, y = words(rng, n=40)[0], words(rng, n=30)[0], rng.integers(2, size=40)
    u, model = rng.integers(0, 4, size=30), (rng.normal(size=(X.shape[1], 1)), np.zeros(1))
    weighted = rounds_of(X, y, U, np.ones(40), np.arange(5), 2, unlabeled_weights=u.astype(float))
    twice = rounds_of(X, y, np.repeat(U, u, axis=0), np.ones(40), np.arange(5), 2)
    one, other = (shared.terms([model, model])[0] for shared in (weighted, twice))
    assert_allclose(one[0], other[0], rtol=1e-12, atol=1e-15)
    assert_allclose(weighted.held_out_predictors([one]), twice.held_out_predictors([other]), rtol=1e-12)


def topics(rng, n, d=100):
    """Return rows of words of one of two topics, and the topics; a row shows few of a topic's words."""
    y = rng.integers(2, size=n)
    X = np.zeros((n, d))
    for row, topic in zip(X, y, strict=True):
        row[rng.choice(d // 2, size=4, replace=False) + topic * d // 2] = 1.0
        row[rng.choice(d, size=3, replace=False)] = 1.0
    return X, y


def test_unlabelled_rows_help_and_the_score_says_so(rng):
    """24 rows show few of the 100 words, but each row has several words of the same topic."""
    X, y = topics(rng, 24)
    U, test, truth = topics(rng, 500)[0], *topics(rng, 300)
    model = LogisticRegressionCV(**FIXED | {"l2": 0.1}, rounds=3).fit(X, y, X_unlabeled=U)
    alone = LogisticRegressionCV(**FIXED | {"l2": 0.1}).fit(X, y)
    assert len(model.rounds_) == 3
    assert all(isinstance(one, Blend) for one in model.rounds_)
    assert np.mean(model.predict(test) == truth) > np.mean(alone.predict(test) == truth) + 0.1
    assert model.score(test, truth) > alone.score(test, truth) + 0.2
    assert model.best_score_ > alone.best_score_ + 0.2
    assert_array_equal(model.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
    # Every row is held out equally often, so the score is nearly that of the mean log odds.
    p = model.cv_probabilities_[np.arange(24), y]
    assert np.log(p).mean() == pytest.approx(model.best_score_, abs=0.05)


@pytest.mark.parametrize("without", [{"rounds": 0}, {"rounds": 3, "naive_bayes": False}], ids=repr)
def test_without_rounds_and_discount_unlabelled_rows_change_nothing(without, rng):
    X, y = words(rng)
    U = words(rng, n=30)[0]
    settings = FIXED | {"l2": (1.0, 0.1), "cv": 3} | without
    model, alone = (
        LogisticRegressionCV(**settings).fit(X, y, X_unlabeled=unlabeled) for unlabeled in (U, None)
    )
    assert model.rounds_ == []
    assert_array_equal(model.coef_, alone.coef_)
    assert_array_equal(model.intercept_, alone.intercept_)
    assert_array_equal(model.cv_probabilities_, alone.cv_probabilities_)
    assert model.best_score_ == alone.best_score_


def test_rounds_without_unlabelled_rows_change_nothing(rng):
    X, y = words(rng)
    models = [LogisticRegressionCV(**FIXED, cv=3, rounds=count).fit(X, y) for count in (0, 3)]
    assert_array_equal(models[0].coef_, models[1].coef_)
    assert models[1].rounds_ == []


def test_rounds_end_when_held_out_rows_lose(rng):
    """In unlabelled rows, words that mean nothing occur with the words of a class."""
    X, U = ((rng.random((n, 26)) < 0.5).astype(float) for n in (3000, 1000))
    log_odds, of_unlabeled = (rows[:, :6] @ np.tile([1.0, -1.0], 3) for rows in (X, U))
    y = (rng.random(3000) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    U[:, 6:16] *= of_unlabeled[:, None] > 0.0
    U[:, 16:] *= of_unlabeled[:, None] <= 0.0
    settings = FIXED | {"dropout": 0.0, "cv": 2}
    model = LogisticRegressionCV(**settings, rounds=3).fit(X, y, X_unlabeled=U)
    alone = LogisticRegressionCV(**settings).fit(X, y)
    assert model.rounds_ == []
    assert_array_equal(model.coef_, alone.coef_)


def predictors_after_rounds(count, rng):
    """Return predictors of held-out rows of two topics, before the first round and after each of them."""
    (X, y), (U, _) = topics(rng, 24), topics(rng, 400)
    model = rng.normal(np.repeat([-0.3, 0.3], 50))[:, None], np.zeros(1)
    shared = rounds_of(X, y, U, np.repeat([1.0, 0.0], 12), np.arange(12, 24), 2)
    etas, models = [np.zeros((12, 1))], [model, model]
    blends, last = shared.run(count, Predictor(etas[0], etas[0], models))
    for blend in blends:
        terms = shared.terms(models)
        etas.append(blend(etas[-1], shared.held_out_predictors(terms[:-1])))
        models = [blend.coefficients(own, term) for own, term in zip(models, terms, strict=True)]
    assert_array_equal(last.eta, etas[-1])
    for found, expected in zip(last.models, models, strict=True):
        assert_array_equal(found[0], expected[0])
    return etas


def test_rounds_end_at_a_fixed_point(rng):
    """The first round that moves no predictor by a thousandth of the largest is the last."""
    etas = predictors_after_rounds(10**17, rng)
    changes = [np.abs(b - a).max() / np.abs(b).max() for a, b in pairwise(etas)]
    assert 3 < len(changes) < naive_bayes.MAX_ROUNDS
    assert changes[-1] <= naive_bayes.SETTLED < min(changes[:-1])


def test_there_is_a_largest_number_of_rounds(monkeypatch, rng):
    monkeypatch.setattr(naive_bayes, "SETTLED", -1.0)
    monkeypatch.setattr(naive_bayes, "MAX_ROUNDS", 5)
    monkeypatch.setattr(NaiveBayesRounds, "_is_worse", lambda self, differences: False)
    assert len(predictors_after_rounds(10**17, rng)) == 1 + 5
    assert len(predictors_after_rounds(2, rng)) == 1 + 2


def test_first_round_that_loses_leaves_the_model_as_it_was(monkeypatch, rng):
    X, y = words(rng)
    monkeypatch.setattr(NaiveBayesRounds, "_is_worse", lambda self, differences: True)
    model = LogisticRegressionCV(**FIXED, cv=3, rounds=3).fit(X, y, X_unlabeled=words(rng, n=30)[0])
    alone = LogisticRegressionCV(**FIXED, cv=3).fit(X, y)
    assert model.rounds_ == []
    assert_array_equal(model.coef_, alone.coef_)
    assert model.best_score_ == alone.best_score_


@pytest.mark.parametrize(("mean", "expected"), [(0.3, True), (0.2, True), (0.05, False), (-1.0, False)])
def test_a_loss_that_grows_by_more_than_its_standard_error_is_worse(mean, expected, rng):
    X, y = words(rng, n=100)
    shared = rounds_of(X, y, X, np.ones(100), np.arange(100), 2)
    differences = np.tile([1.0, -1.0], 50) + mean  # standard error 0.1
    assert shared._is_worse(differences) is expected
    # Rows held out twice, each time with half its weight, say no more than once.
    again = np.tile(np.arange(100), 2)
    twice = rounds_of(X, y, X, np.ones(100), again, 2, held_out_weights=np.full(200, 0.5))
    assert twice._is_worse(np.tile(differences, 2)) is expected


@two_and_three_classes
def test_order_of_unlabelled_rows_and_threads_do_not_matter(K, rng):
    X, y = rows_and_labels(rng, K, n=60)
    U = words(rng, n=150)[0]
    settings = FIXED | {"l2": (1.0, 0.1), "cv": 3, "rounds": 2}
    model = LogisticRegressionCV(**settings).fit(X, y, X_unlabeled=U)
    for changes, rows in (({}, rng.permutation(150)), ({"n_jobs": 2}, slice(None)), ({}, slice(None))):
        other = LogisticRegressionCV(**settings, **changes).fit(X, y, X_unlabeled=U[rows])
        assert_allclose(other.coef_, model.coef_, rtol=1e-9, atol=1e-12)
        assert_allclose(other.rounds_, model.rounds_, rtol=1e-9)


@pytest.mark.parametrize("storage", [np.asfortranarray, sparse.csr_array, sparse.csc_array, np.float32])
def test_every_storage_of_unlabelled_rows_gives_the_same_model(storage, rng):
    X, y = words(rng)
    U = words(rng, n=50)[0]
    settings = FIXED | {"cv": 3, "rounds": 2}
    expected = LogisticRegressionCV(**settings).fit(X, y, X_unlabeled=U)
    model = LogisticRegressionCV(**settings).fit(X, y, X_unlabeled=storage(U))
    assert_allclose(model.coef_, expected.coef_, rtol=1e-4, atol=1e-5)
    single = LogisticRegressionCV(**settings).fit(X.astype(np.float32), y, X_unlabeled=storage(U))
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, expected.coef_, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("U", [np.zeros((5, 12)), np.eye(12)[:1]], ids=["empty rows", "one row"])
def test_few_or_empty_unlabelled_rows_are_accepted(U, rng):
    X, y = words(rng)
    U = U[:, : X.shape[1]]
    model = LogisticRegressionCV(**FIXED, cv=3, rounds=2).fit(X, y, X_unlabeled=U)
    assert np.isfinite(model.coef_).all()


def test_tables_with_column_names_are_accepted(rng):
    pandas = pytest.importorskip("pandas")
    X, y = words(rng)
    U = words(rng, n=30)[0]
    names = [f"word {j}" for j in range(X.shape[1])]
    expected = LogisticRegressionCV(**FIXED, cv=3, rounds=1).fit(X, y, X_unlabeled=U)
    frames = [pandas.DataFrame(rows, columns=names) for rows in (X, U)]
    model = LogisticRegressionCV(**FIXED, cv=3, rounds=1).fit(frames[0], y, X_unlabeled=frames[1])
    assert_array_equal(model.coef_, expected.coef_)


def test_unlabelled_rows_that_are_counted_must_not_be_negative(rng):
    X, y = words(rng)
    model = LogisticRegressionCV(**FIXED, cv=3, rounds=1)
    with pytest.raises(ValueError, match="rounds needs non-negative features in X_unlabeled; use rounds=0"):
        model.fit(X, y, X_unlabeled=words(rng, n=30)[0] - 0.5)
    blocks = Blocks(X, X - 0.5), Blocks(X[:30], X[:30] - 0.5)  # of which only the first is counted
    assert np.isfinite(model.fit(blocks[0], y, X_unlabeled=blocks[1]).coef_).all()


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (1.5, TypeError, "rounds must be an integer, got 1.5"),
        (-1, ValueError, "rounds must be finite and not negative, got -1"),
    ],
)
def test_number_of_rounds_is_checked(value, error, message, rng):
    with pytest.raises(error, match=message):
        LogisticRegressionCV(**FIXED, rounds=value).fit(*words(rng))


def test_names_in_an_array_of_l2_weights_have_unlabelled_rows_counted(rng):
    X, y = words(rng)
    U = words(rng, n=30)[0]
    names = ["uniform", "naive_bayes_unlabeled"]
    models = [
        LogisticRegressionCV(**FIXED | {"l2_weights": given}, cv=3).fit(X, y, X_unlabeled=U)
        for given in (names, np.array(names), np.array(names, object))
    ]
    for model in models[1:]:
        assert_array_equal(model.coef_, models[0].coef_)
