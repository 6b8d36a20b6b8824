"""Each rule takes the step that its equation prescribes, with lazy updates."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize

from dropglm.core.design import Design
from dropglm.core.online import RULES as NAMES
from dropglm.core.online import Arow, DropoutDescent, Learner, Sgd, State
from dropglm.core.online.learner import BETA, SUM, squared_sizes, take_steps
from tests.core.online.reference import RULES, Reference, sigmoid


def random_rows(rng, n=40, d=6, density=0.4):
    X = np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0.0)
    return X, (rng.random(n) < 0.5).astype(float), rng.uniform(0.5, 2.0, size=n)


def trained(rule, X, y, weights=None, *, l2=0.0, average=False, chunks=1, fit_intercept=True):
    """Return a learner that has learnt from all rows, in this many chunks."""
    y = y[:, None] if y.ndim == 1 else y
    weights = np.ones(len(y)) if weights is None else weights
    lazy = average or l2 > 0
    state = State.new(X.shape[1], y.shape[1], lazy=lazy, average=average)
    learner = Learner(rule, state, l2=l2, fit_intercept=fit_intercept, average=average)
    for part in np.array_split(np.arange(len(y)), chunks):
        learner.learn(Design(X[part]).rows, y[part], weights[part], np.arange(len(part)))
    return learner


def test_every_registered_rule_is_tested():
    assert {type(rule) for rule in RULES} == set(NAMES.values())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("l2", [0.0, 0.05])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_lazy_steps_equal_dense_steps(rule, l2, intercept, rng):
    """Rows of weight 0 have no effect."""
    X, y, weights = random_rows(rng)
    weights[rng.random(len(weights)) < 0.2] = 0.0
    reference = Reference(rule, X.shape[1], l2, float(intercept))
    for x, label, w in zip(X, y, weights, strict=True):
        reference.step(x, label, w)
    for matrix in (X, sparse.csr_array(X)):
        learner = trained(rule, matrix, y, weights, l2=l2, fit_intercept=intercept)
        assert_allclose(learner.coefficients()[0], reference.beta, rtol=1e-10, atol=1e-12)
        assert learner.state.steps == (weights > 0).sum()


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_shrinkage_after_a_warm_start_does_not_depend_on_the_storage(rule, rng):
    """The coefficient of a feature that has not occurred is kept; only sgd shrinks all of them."""
    X, y, _ = random_rows(rng)
    X[:, 0] = 0.0
    X[:20, 1] = 0.0
    found = []
    for matrix in (X, sparse.csr_array(X)):
        state = State.new(X.shape[1], 1, lazy=True, average=False)
        state.cells[0, :-1, BETA] = 0.5
        learner = Learner(rule, state, l2=0.05, fit_intercept=True, average=False)
        learner.learn(Design(matrix).rows, y[:, None], np.ones(len(y)), np.arange(len(y)))
        found.append(learner.coefficients()[0])
    assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-12)
    assert (found[0][0] == 0.5) == (not isinstance(rule, Sgd))


@given(seed=st.integers(0, 10_000), number=st.integers(0, len(RULES) - 1), l2=st.sampled_from([0.0, 0.3]))
def test_a_step_minimises_its_linearised_problem(seed, number, l2):
    """The minimum is found numerically, starting from the coefficients before the step."""
    rule, rng = RULES[number], np.random.default_rng(seed)
    X, y, weights = random_rows(rng, n=8, d=3, density=0.7)
    reference = Reference(rule, 3, l2)
    for x, label, w in zip(X[:-1], y[:-1], weights[:-1], strict=True):
        reference.step(x, label, w)
    before = reference.beta.copy()
    A, g = reference.step(X[-1], y[-1], weights[-1])
    x, sign = np.append(X[-1], 1.0), 2 * y[-1] - 1

    def linearised(beta):
        near = (beta - before) @ (A * (beta - before)) / (2 * rule.rate)
        return g @ beta + near + 0.5 * reference.l2_per_coefficient() @ beta**2

    def arow(beta):
        near = 0.5 * (beta - before) @ (A * (beta - before))
        return near + weights[-1] * max(0.0, 1.0 - sign * (x @ beta)) ** 2 / (2 * rule.r)

    problem = arow if isinstance(rule, Arow) and l2 == 0.0 else linearised
    best = minimize(problem, before, method="BFGS", options={"gtol": 1e-9}).x
    assert_allclose(trained(rule, X, y, weights, l2=l2).coefficients()[0], best, atol=2e-5)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_chunks_storage_and_order_of_features_do_not_change_the_result(rule, rng):
    X, y, weights = random_rows(rng, n=60)
    X = (X != 0).astype(float)
    whole = trained(rule, X, y, weights, l2=0.01).coefficients()
    for chunks in (3, 60):
        assert_array_equal(trained(rule, X, y, weights, l2=0.01, chunks=chunks).coefficients(), whole)
    stored = trained(rule, sparse.csr_array(X), y, weights, l2=0.01).coefficients()
    assert_allclose(stored, whole, rtol=1e-9, atol=1e-12)
    order = rng.permutation(X.shape[1])
    moved = trained(rule, X[:, order], y, weights, l2=0.01).coefficients()
    assert_allclose(moved[:, :-1], whole[:, :-1][:, order], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_average_is_taken_over_all_steps(rule, rng):
    X, y, _ = random_rows(rng)
    reference = Reference(rule, X.shape[1], 0.0)
    for x, label in zip(X, y, strict=True):
        reference.step(x, label)
    found = trained(rule, sparse.csr_array(X), y, average=True, chunks=4).coefficients()[0]
    assert_allclose(found, np.mean(reference.betas, axis=0), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_several_classes_equal_separate_binary_problems(rule, rng):
    X, _, _ = random_rows(rng)
    Y = (rng.integers(3, size=len(X))[:, None] == np.arange(3)).astype(float)
    together = trained(rule, X, Y, l2=0.02).coefficients()
    for k in range(3):
        assert_allclose(together[k], trained(rule, X, Y[:, k], l2=0.02).coefficients()[0], rtol=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_intercept_is_zero_without_fit_intercept(rule, rng):
    X, y, _ = random_rows(rng)
    assert trained(rule, X, y, fit_intercept=False).coefficients()[0, -1] == 0.0


def test_sums_of_gradients_and_curvatures_approach_the_fisher_information(rng):
    """diag(G_t) / t and diag(H_t) / t, on labels drawn from a logistic model."""
    n, d = 100_000, 30
    X = rng.normal(size=(n, d)) * rng.uniform(0.3, 2.0, size=d)
    X[:, d // 2 :] *= rng.random((n, d // 2)) < 0.2
    beta = rng.normal(size=d) * 0.3
    p = sigmoid(X @ beta)
    y = (rng.random(n) < p).astype(float)
    fisher = (p * (1 - p)) @ X**2 / n
    for rule in (NAMES["adagrad"](), DropoutDescent(), DropoutDescent(power=0.5)):
        sums = trained(rule, X, y).state.cells[0, :-1, SUM]
        assert_allclose(sums / n, fisher, rtol=0.05)


def test_coefficients_stay_finite_for_large_predictors():
    X = np.full((5, 1), 1e3)
    for rule in RULES:
        assert np.isfinite(trained(rule, X, np.array([1.0, 0.0, 1.0, 0.0, 1.0]), l2=0.1).coefficients()).all()


def test_the_compiled_loop_uses_the_methods_of_the_rule(rng):
    """The compiled loop and the same loop in plain Python, which calls the methods directly, agree."""
    X, y, weights = random_rows(rng, n=12)
    for rule in RULES:
        cells = []
        for loop in (take_steps, take_steps.py_func):
            state, eta = State.new(X.shape[1], 1, lazy=True, average=False), np.empty((len(y), 1))
            rows, work = Design(X).rows, np.empty((2, X.shape[1]))
            data = rows, squared_sizes(rows), y[:, None], weights, np.arange(len(y))
            loop(rule, *data, 0.1, True, state.cells, state.histories, False, state.time, work, eta)
            cells.append(state.cells)
        assert_allclose(cells[0], cells[1], rtol=1e-12, atol=1e-15)


def test_a_state_without_history_is_refused_for_l2_and_average():
    state = State.new(3, 1, lazy=False, average=False)
    for settings in ({"l2": 0.1, "average": False}, {"l2": 0.0, "average": True}):
        with pytest.raises(ValueError, match="lazy=True"):
            Learner(Sgd(), state, fit_intercept=True, **settings)


class Line(NamedTuple):
    """Has a field that is named like a method of rules."""

    slope: float


def test_other_named_tuples_may_have_fields_named_like_methods_of_rules():
    assert njit(lambda line: 2.0 * line.slope)(Line(1.5)) == 3.0
