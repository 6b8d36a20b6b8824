"""Rounds of discriminant analysis of dense blocks, with predicted labels of unlabelled rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from dropglm.base.blocks import Blocks
from dropglm.core.families import Logistic
from dropglm.places.rows import Fold, RowsInMemory, TrainingData
from dropglm.search import LogisticRegressionCV
from dropglm.search import naive_bayes as generative
from dropglm.search.blend import FoldRows
from dropglm.search.naive_bayes import DiscriminantRounds, Predictor

two_and_three_classes = pytest.mark.parametrize("K", [2, 3], ids=["two classes", "three classes"])


def rows_of_classes(rng, n, K, d=5):
    """Return counts that say nothing, dense rows around the mean of their class, and the classes."""
    y = rng.integers(K, size=n)
    y[:K] = np.arange(K)
    means = 3.0 * np.eye(K, d)
    return rng.poisson(0.5, (n, 3)).astype(float), rng.normal(means[y]), y


def rounds_of(labeled, unlabeled, y, K, *, weights=None, held_out=None):
    """Return the rounds on the second block, with one fold that holds out these rows."""
    n, m = len(y), len(unlabeled[0])
    held_out = np.arange(2) if held_out is None else held_out
    times = np.ones(n)
    times[held_out] = 0.0
    u = np.ones(m) if weights is None else weights
    X, U = Blocks(*labeled), Blocks(*unlabeled)
    d = {"n_features_in_": X.shape[1]}
    rows = RowsInMemory(
        LogisticRegressionCV(), TrainingData(X, y, d, np.ones(n), np.ones(n), U, u, np.arange(K))
    )
    rows.prepare(Logistic, [], folds=[Fold(times, held_out)], unlabeled=False)
    ones = np.ones(len(held_out))
    return DiscriminantRounds(rows, ones, FoldRows.of([held_out], ones), 1)


@two_and_three_classes
def test_predicted_labels_count_as_much_as_they_are_probable(K, monkeypatch, rng):
    monkeypatch.setattr(generative, "RIDGE", 0.0)
    C, Z, y = rows_of_classes(rng, 40, K)
    D, W, _ = rows_of_classes(rng, 100, K)
    rounds = rounds_of((C, Z), (D, W), y, K)
    model = rng.normal(size=(8, 1 if K == 2 else K)), np.zeros(1 if K == 2 else K)
    eta = np.hstack([D, W]) @ model[0]
    p = softmax(np.hstack([np.zeros_like(eta), eta]) if K == 2 else eta, axis=1)
    # Every unlabelled row, once per class with the weight of its probability, is a labelled row.
    r, b = rounds.terms([model, model])[-1]
    rows = np.vstack([Z, np.repeat(W, K, axis=0)])
    labels, weights = np.concatenate([y, np.tile(np.arange(K), 100)]), np.append(np.ones(40), p.ravel())
    n = np.bincount(labels, weights)
    means = np.array([weights[labels == k] @ rows[labels == k] / n[k] for k in range(K)])
    S = np.cov((rows - means[labels]).T, aweights=weights, bias=True)
    A = np.linalg.solve(S, means.T)
    expected = rows @ A - 0.5 * np.sum(means.T * A, axis=0)
    found = rows @ r + b
    if K == 2:
        expected = expected[:, 1:] - expected[:, :1]
    assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@two_and_three_classes
def test_term_with_certain_labels_is_that_of_scikit_learn(K, monkeypatch, rng):
    """Its scores also have the logarithms of the shares of the classes."""
    monkeypatch.setattr(generative, "RIDGE", 0.0)
    C, Z, y = rows_of_classes(rng, 60, K)
    D, W, truth = rows_of_classes(rng, 90, K)
    # A third block tells the labels of unlabelled rows to the model.
    rounds = rounds_of((C, Z, y[:, None] * 1.0), (D, W, truth[:, None] * 1.0), y, K)
    k = np.arange(K)
    told, b = (1e3 * k, -500.0 * k**2) if K > 2 else ([1e3], np.array([-500.0]))
    model = np.vstack([np.zeros((8, len(b))), told]), b
    r, b = rounds.terms([model, model])[-1]
    rows, labels = np.vstack([Z, W]), np.concatenate([y, truth])
    shares = np.log(np.bincount(labels) / len(labels))
    eta = rows @ r + b
    eta = np.hstack([np.zeros_like(eta), eta]) if K == 2 else eta
    oracle = LinearDiscriminantAnalysis(solver="lsqr").fit(rows, labels)
    assert_allclose(softmax(eta + shares, axis=1), oracle.predict_proba(rows), rtol=1e-5, atol=1e-9)


def test_labels_that_are_held_out_do_not_influence_the_term_of_their_fold(rng):
    C, Z, y = rows_of_classes(rng, 40, 2)
    D, W, _ = rows_of_classes(rng, 50, 2)
    model = rng.normal(size=(8, 1)), np.zeros(1)
    held_out, other = np.arange(25, 40), y.copy()
    other[25:] = 1 - other[25:]
    one, two = (
        rounds_of((C, Z), (D, W), own, 2, held_out=held_out).terms([model, model]) for own in (y, other)
    )
    assert_allclose(one[0][0], two[0][0], rtol=1e-12)
    assert not np.allclose(one[1][0], two[1][0])


def test_one_row_of_weight_two_is_two_rows(rng):
    C, Z, y = rows_of_classes(rng, 40, 2)
    D, W, _ = rows_of_classes(rng, 30, 2)
    u, model = rng.integers(1, 4, size=30), (rng.normal(size=(8, 1)), np.zeros(1))
    weighted = rounds_of((C, Z), (D, W), y, 2, weights=u.astype(float))
    repeated = rounds_of((C, Z), tuple(np.repeat(part, u, axis=0) for part in (D, W)), y, 2)
    (r, b), (s, c) = (rounds.terms([model, model])[-1] for rounds in (weighted, repeated))
    assert_allclose(r, s, rtol=1e-9)
    assert_allclose(b, c, rtol=1e-9)


def agreement_of(rng, K, Z, y, D, W, model):
    C = rng.poisson(0.5, (len(y), 3)).astype(float)
    return rounds_of((C, Z), (D, W), y, K).agreement(model)


@two_and_three_classes
def test_agreement_compares_labels_with_predictions_by_predicted_labels(K, monkeypatch, rng):
    monkeypatch.setattr(generative, "RIDGE", 0.0)
    _, Z, y = rows_of_classes(rng, 30, K)
    D, W, _ = rows_of_classes(rng, 100, K)
    model = rng.normal(size=(8, 1 if K == 2 else K)), np.zeros(1 if K == 2 else K)
    eta = np.hstack([D, W]) @ model[0]
    p = softmax(np.hstack([np.zeros_like(eta), eta]) if K == 2 else eta, axis=1)
    means, every = p.T @ W / p.sum(axis=0)[:, None], np.vstack([Z, W])
    A = np.linalg.solve(every.T @ every - means.T @ np.diag(p.sum(axis=0)) @ means, means.T)
    Y = np.eye(K)[y] - np.eye(K)[y].mean(axis=0)
    T = np.sum(Y * (Z @ A))
    # Labels of random rows, drawn from all.
    drawn = [np.sum(Y * (every[rng.integers(130, size=30)] @ A)) for _ in range(20_000)]
    expected = T / np.sqrt(np.mean(np.square(drawn - np.mean(drawn))))
    assert agreement_of(rng, K, Z, y, D, W, model) == pytest.approx(expected, rel=0.05)


def test_random_rows_agree_by_chance_only(rng):
    """A third block says what the class is, to the model alone."""
    found = []
    for _ in range(300):
        y, truth = rng.integers(2, size=20), rng.integers(2, size=200)
        y[:2] = 0, 1
        labeled = np.zeros((20, 3)), rng.normal(size=(20, 30)), y[:, None] * 1.0
        unlabeled = np.zeros((200, 3)), rng.normal(size=(200, 30)), truth[:, None] * 1.0
        model = np.append(np.zeros(33), 4.0)[:, None], np.array([-2.0])
        found.append(rounds_of(labeled, unlabeled, y, 2).agreement(model))
    assert np.mean(found) == pytest.approx(0.0, abs=0.2)
    assert np.std(found) == pytest.approx(1.0, abs=0.15)


def test_unlabelled_rows_help(rng):
    """A few labels do not tell the means of noisy classes, many rows with predicted labels do."""
    C, Z, y = rows_of_classes(rng, 30, 2, d=40)
    D, W, truth = rows_of_classes(rng, 1000, 2, d=40)
    held_out = np.arange(10)
    rounds = rounds_of((C, Z), (D, W), y, 2, held_out=held_out)
    start = rng.normal(0.0, 0.5, 40)
    start[:2] += [-1.0, 1.0]
    beta = np.append(np.zeros(3), start)[:, None]
    eta = Z[held_out] @ beta[3:]
    blends, now = rounds.run(3, Predictor(eta, eta, [(beta, np.zeros(1))] * 2))
    assert blends
    before, after = (
        np.mean((np.hstack([D, W]) @ coef > -b)[:, 0] == truth)
        for coef, b in ((beta, np.zeros(1)), now.models[-1])
    )
    assert after > before + 0.05
