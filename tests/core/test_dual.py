"""Dual steps: their limit is the minimum, and fits that start with them end where others do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dropglm import Blocks, LogisticRegression, LogisticRegressionCV, PerBlock
from dropglm.base.errors import InputError
from dropglm.core import dual
from dropglm.core.design import design
from dropglm.core.families import Logistic, Multinomial
from dropglm.core.features import Features
from dropglm.core.problem import Problem
from dropglm.core.settings import expectation_from, noise_from, training_penalty
from dropglm.core.solvers import LBFGS


def rows_and_labels(rng, *, n=40, d=120, ones=False, dtype=np.float64):
    X = sparse.random_array((n, d), density=0.1, format="csr", rng=rng, dtype=dtype)
    X.data[:] = 1.0 if ones else rng.uniform(0.2, 1.5, size=X.nnz)
    y = (X @ rng.normal(size=d) + rng.normal(size=n) > 0.0).astype(np.float64)
    return X, y


def problem_of(X, y, rng, *, intercept=True):
    weights = rng.uniform(0.5, 2.0, size=len(y))
    weights[:4] = 0.0  # held out
    return Problem(Features(X), Logistic, y[:, None], weights, fit_intercept=intercept)


def penalty_of(dropout, *, family=Logistic, expectation="gaussian", std=0.0, blocks=None):
    return training_penalty(expectation_from(expectation), family, noise_from(dropout, std, blocks), None)


@pytest.fixture
def unlimited(monkeypatch):
    """Let the steps go on until they change nothing."""
    monkeypatch.setattr(dual, "SLOW", np.inf)
    monkeypatch.setattr(dual, "NEAR", np.inf)
    monkeypatch.setattr(dual, "MAX_PASSES", 3000)


@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])
@pytest.mark.parametrize("kind", ["ones", "values", "blocks"])
@pytest.mark.parametrize("dropout", [0.0, 0.5, 0.9])
def test_the_limit_of_the_steps_is_the_minimum(dropout, kind, intercept, rng, unlimited):
    X, y = rows_and_labels(rng, ones=kind == "ones")
    blocks = None
    if kind == "blocks":
        X = Blocks(rng.normal(size=(len(y), 3)), X, rng.normal(size=(len(y), 2)))
        dropout, blocks = PerBlock(0.0, dropout, 0.2), 3
    problem = problem_of(X, y, rng, intercept=intercept)
    l2 = rng.uniform(0.1, 2.0, size=(problem.features.labeled.shape[1], 1))
    objective = problem.objective(penalty_of(dropout, blocks=blocks), l2, 0.0)
    b = problem.null_intercept()[0] if intercept else None
    found = dual.dual_steps(objective.terms[0], objective.l2, b, tol=1e-8)
    point = objective.at(objective.join(*found.coefficients))
    start = objective.at(objective.join(*problem.null_model()))
    assert np.abs(point.gradient).max() < 1e-6 * np.abs(start.gradient).max()


def test_passes_take_the_steps_closer(rng, unlimited, monkeypatch):
    X, y = rows_and_labels(rng)
    problem = problem_of(X, y, rng)
    objective = problem.objective(penalty_of(0.5), problem.labeled_l2_weights, 0.0)
    lowest = LBFGS(1e-8).minimize(objective, objective.join(*problem.null_model()))[1].objective
    gaps = []
    for passes in (1, 4, 7, 10):
        monkeypatch.setattr(dual, "MAX_PASSES", passes)
        found = dual.dual_steps(objective.terms[0], objective.l2, problem.null_intercept()[0], tol=0.0)
        assert found.passes == passes
        gaps.append(objective.at(objective.join(*found.coefficients)).value - lowest)
    assert (np.array(gaps[1:]) < 0.5 * np.array(gaps[:-1])).all()


def test_features_without_l2_and_numbers_that_overflow_have_no_dual_steps(rng):
    X, y = rows_and_labels(rng, dtype=np.float32)
    l2 = np.ones((X.shape[1], 1), np.float32)
    term = problem_of(X, y, rng).objective(None, l2, 0.0).terms[0]
    assert dual.dual_steps(term, l2, 0.0, 1e-2) is not None
    l2[3] = 0.0
    assert dual.dual_steps(term, l2, 0.0, 1e-2) is None
    term = problem_of(sparse.csr_array(X * np.float32(1e30)), y, rng).objective(None, l2, 0.0).terms[0]
    assert dual.dual_steps(term, np.ones_like(l2), 0.0, 1e-2) is None


def test_where_dual_steps_apply(rng, monkeypatch):
    X, y = rows_and_labels(rng, n=20)
    wide, penalty = Features(X).labeled, penalty_of(0.5)
    assert not dual.has_dual_steps(wide, Logistic, penalty)  # few entries
    monkeypatch.setattr(dual, "FEWEST_ENTRIES", 1)
    assert not dual.has_dual_steps(wide, Logistic, penalty)  # few features
    monkeypatch.setattr(design, "WIDE", 1)
    assert dual.has_dual_steps(wide, Logistic, penalty)
    assert dual.has_dual_steps(wide, Logistic, None)
    beside = Features(Blocks(X, X[:, :2].toarray())).labeled
    assert dual.has_dual_steps(beside, Logistic, penalty_of(PerBlock(0.5, 0.0), blocks=2))
    assert not dual.has_dual_steps(beside, Logistic, penalty_of(0.5, std=PerBlock(0.0, 1.0), blocks=2))
    assert not dual.has_dual_steps(wide, Logistic, penalty_of(0.5, expectation="quadratic"))
    assert not dual.has_dual_steps(wide, Multinomial, None)
    assert not dual.has_dual_steps(Features(X.toarray()).labeled, Logistic, penalty)
    assert not dual.has_dual_steps(Features(Blocks(X, X)).labeled, Logistic, penalty)
    assert not dual.has_dual_steps(Features(sparse.csr_array(X.T)).labeled, Logistic, penalty)
    problem = Problem(Features(X, X), Logistic, y[:, None], np.ones(len(y)), np.ones(len(y)))
    assert problem.has_dual_steps(penalty, 1.0, 0.0)
    assert not problem.has_dual_steps(penalty, 0.0, 0.0)
    assert not problem.has_dual_steps(penalty, 1.0, 0.1)  # the penalty of unlabelled rows is not convex


@pytest.fixture
def large(rng, monkeypatch):
    """Rows of words, rare and frequent ones, with as many entries as dual steps need."""
    n, d, length = 1500, 20_000, 450
    p = 1.0 / np.arange(10, d + 10)
    words = rng.choice(d, size=n * length, p=p / p.sum())
    X = sparse.csr_array((np.ones(n * length, np.float32), (np.repeat(np.arange(n), length), words)), (n, d))
    X.data[:] = np.sqrt(X.data) / 20.0
    assert X.nnz > dual.FEWEST_ENTRIES
    monkeypatch.setattr(design, "WIDE", 10_000)
    return X, (X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0.0).astype(np.float64)


def without_dual_steps(monkeypatch):
    monkeypatch.setattr(dual, "FEWEST_ENTRIES", np.inf)


def test_a_fit_ends_at_the_same_minimum_after_fewer_passes(large, monkeypatch):
    X, y = large
    model = LogisticRegression(dropout=0.5, l2=0.01, n_jobs=2).fit(X, y)
    alone = LogisticRegression(dropout=0.5, l2=0.01).fit(X, y)
    assert_array_equal(model.coef_, alone.coef_)  # whatever the number of threads
    without_dual_steps(monkeypatch)
    other = LogisticRegression(dropout=0.5, l2=0.01).fit(X, y)
    assert model.result_.passes < 0.6 * other.result_.passes
    assert_allclose(model.result_.objective, other.result_.objective, rtol=1e-7)
    assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-3)


def test_a_warm_start_takes_no_dual_steps(large, monkeypatch):
    X, y = large
    model = LogisticRegression(warm_start=True).fit(X, y)
    monkeypatch.setattr(dual, "_take_steps", None)
    assert model.fit(X, y).n_iter_[0] == 0


def test_the_first_stage_of_a_fit_with_unlabelled_rows_takes_dual_steps(large, monkeypatch):
    X, y = large
    model = LogisticRegression(discount=0.1, l2=0.1).fit(X, y, X_unlabeled=X[:300])
    without_dual_steps(monkeypatch)
    other = LogisticRegression(discount=0.1, l2=0.1).fit(X, y, X_unlabeled=X[:300])
    assert model.result_.passes < other.result_.passes
    assert_allclose(model.result_.objective, other.result_.objective, rtol=1e-6)


def test_a_search_chooses_as_without_dual_steps(large, monkeypatch):
    X, y = large
    grid = {"dropout": (0.5, 0.2), "l2": (10.0, 1.0), "extend_l2": False, "cv": 3}
    search = LogisticRegressionCV(**grid, n_jobs=2).fit(X, y)
    assert_array_equal(search.coef_, LogisticRegressionCV(**grid).fit(X, y).coef_)
    without_dual_steps(monkeypatch)
    other = LogisticRegressionCV(**grid, n_jobs=2).fit(X, y)
    assert search.best_params_ == other.best_params_
    assert_allclose(search.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], atol=2e-3)


def test_features_that_overflow_raise_the_error_of_every_fit(large):
    X, y = large
    with pytest.raises(InputError, match="overflow"):
        LogisticRegression().fit(X * np.float32(1e30), y)


def test_classes_against_the_rest(large, monkeypatch):
    X, y = large
    y = y + 2 * (np.arange(len(y)) % 3 == 0)
    model = LogisticRegression(multi_class="ovr").fit(X, y)
    without_dual_steps(monkeypatch)
    assert_allclose(
        model.predict_proba(X), LogisticRegression(multi_class="ovr").fit(X, y).predict_proba(X), atol=1e-3
    )


@pytest.mark.parametrize("opposite", [False, True])
def test_steps_that_do_not_converge_are_not_used(opposite, rng):
    """If every row is there twice with opposite labels, each step undoes another one."""
    X, y = rows_and_labels(rng, ones=True)
    X, y = sparse.vstack([X, X], format="csr"), np.concatenate([y, 1.0 - y if opposite else y])
    problem = problem_of(X, y, rng)
    problem.weights[:] = 1.0
    l2 = np.full((X.shape[1], 1), 1e-3)
    found = dual.dual_steps(problem.objective(None, l2, 0.0).terms[0], l2, 0.0, 1e-4)
    assert (found is None) is opposite
