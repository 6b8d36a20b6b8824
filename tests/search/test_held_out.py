"""Scores of held-out rows: means over rows where that is what scikit-learn's scorer computes."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, get_scorer, log_loss

from dropglm.core.families import Logistic, Multinomial
from dropglm.places.rows import Fold, TrainingData
from dropglm.search import LogisticRegressionCV
from dropglm.search.blend import Blend
from dropglm.search.held_out import CandidateResult, HeldOutRows
from dropglm.search.scoring import wilson_interval

N = 90


def held_out_rows(K, scoring, *, joint=True, weighted=False, repeats=1, seed=0) -> Any:
    """Return the held-out rows of three folds, drawn once or several times, and predictors of these."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(K), rng.integers(K, size=N - K)])
    tests = [rows for _ in range(repeats) for rows in np.array_split(rng.permutation(N), 3)]
    weights = rng.choice([0.5, 1.0, 3.0], size=N) if weighted else np.ones(N)
    data = TrainingData(None, y, {}, weights, weights, classes=np.arange(K) + 10)
    rows = SimpleNamespace(
        data=data,
        family=Multinomial if joint else Logistic,
        features=SimpleNamespace(threads=1, widths=(4,)),
        folds=[Fold(np.ones(N), test) for test in tests],
    )
    found = HeldOutRows(cast(Any, rows), LogisticRegressionCV(scoring=scoring, calibrate=False))
    return found, rng.normal(size=(N * repeats, 1 if K == 2 else K))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
def test_the_mean_score_of_rows_is_the_score_of_scikit_learn(scoring, K, joint, weighted):
    held_out, eta = held_out_rows(K, scoring, joint=joint, weighted=weighted)
    start, expected = 0, []
    for fold in held_out.folds:
        part = eta[start : start + len(fold.test)]
        start += len(fold.test)
        y = held_out.data.classes[held_out.data.y[fold.test]]
        w = held_out.data.sample_weights[fold.test] if weighted else None
        if scoring == "accuracy":
            expected.append(accuracy_score(y, held_out.identity.predict(part), sample_weight=w))
        else:
            p = held_out.identity.predict_proba(part)
            expected.append(-log_loss(y, p, sample_weight=w, labels=held_out.data.classes))
        scorer = get_scorer(scoring)
        if set(y) == set(held_out.data.classes):
            assert_allclose(scorer(held_out.identity, part, y, sample_weight=w), expected[-1], rtol=1e-12)
    assert_allclose(held_out.scores(eta), expected, rtol=1e-12)
    assert_allclose(held_out.scores(eta, held_out.row_scores(eta)), expected, rtol=1e-12)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "balanced_accuracy"])
def test_folds_without_predictors_have_no_score(scoring):
    held_out, eta = held_out_rows(3, scoring)
    all_scores = held_out.scores(eta)
    first = held_out.scores(eta[: held_out.ends[1]])
    assert_allclose(first[:2], all_scores[:2])
    assert np.isnan(first).tolist() == [False, False, True]
    assert (held_out.row_scores(eta) is None) == (scoring == "balanced_accuracy")


def test_a_row_scorer_takes_the_place_of_the_scorer():
    held_out, eta = held_out_rows(2, "neg_log_loss")
    expected = held_out.scores(eta)
    held_out.scorer = None
    assert_allclose(held_out.scores(eta), expected)


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("K", [2, 4])
def test_the_accuracy_counts_rows_once(K, repeats):
    held_out, eta = held_out_rows(K, None, repeats=repeats)
    total = np.zeros((N, K))
    np.add.at(total, held_out.row_indices, held_out.identity.predict_log_proba(eta))
    outcome = CandidateResult((), Blend(), eta, np.empty(0))
    found = held_out.accuracy(outcome, len(held_out.folds))
    assert found == np.mean(total.argmax(axis=1) == held_out.data.y)
    assert_allclose(held_out.probabilities(eta).argmax(axis=1), total.argmax(axis=1))


@settings(max_examples=50)
@given(st.integers(1, 500), st.data())
def test_intervals_of_shares_are_those_of_scipy(n, data):
    hits = data.draw(st.integers(0, n))
    expected = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    low, high = wilson_interval(hits, n)
    assert_allclose((low, high), expected, atol=1e-4)
    assert 0.0 <= low <= high <= 1.0
