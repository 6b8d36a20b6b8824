"""A fit to rows in partitions gives the coefficients of the fit to the same rows in memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dropglm import LogisticRegression, PerBlock
from dropglm.core.objective import Objective
from dropglm.core.solvers import LBFGS
from dropglm.places.partitions import SerialEngine
from dropglm.places.partitions.rows import solver_of
from tests.places.partitions.cases import (
    CLOSE,
    EXACT,
    MODELS,
    coefficients,
    cuts_of,
    features,
    fit_parts,
    labels,
    partitions,
    target,
    two_blocks,
)

EXPECTATIONS = ["gaussian", "exact", "quadratic"]


@pytest.mark.parametrize("expectation", EXPECTATIONS)
@pytest.mark.parametrize("kind", MODELS)
def test_every_family_and_expectation_is_as_in_memory(rng, kind, expectation):
    """For 1, 3 and 17 partitions, with unlabelled rows and weights."""
    X, m = features(rng), 40
    y, w = target(rng, kind, X), rng.integers(0, 3, len(X)).astype(float)
    Z, v = features(rng, m), rng.random(m)
    model = MODELS[kind](dropout=0.3, l2=0.5, expectation=expectation, **EXACT)
    expected = coefficients(model.fit(sparse.csr_array(X), y, w, sparse.csr_array(Z), v))
    for count in (1, 3, 17):
        labeled = partitions(X, y, w, cuts=cuts_of(len(X), count))
        unlabeled = partitions(Z, weights=v, cuts=cuts_of(m, max(1, count // 2)), labeled=False)
        assert_allclose(coefficients(fit_parts(model, labeled, unlabeled)), expected, **CLOSE)


@pytest.mark.parametrize("kind", ["linear", "logistic"])
@pytest.mark.parametrize(
    "settings",
    [
        {"dropout": 0.0},
        {"dropout": 0.0, "noise_std": 0.7},
        {"dropout": 0.4, "noise_std": 0.3},
        {"dropout": 0.5, "fit_intercept": False},
        {"dropout": 0.5, "l2": 1.0, "l2_weights": np.arange(1.0, 10.0)},
    ],
    ids=str,
)
@pytest.mark.parametrize("form", [sparse.csr_array, np.asarray], ids=["sparse", "dense"])
def test_noise_ridge_and_intercept(rng, kind, settings, form):
    X = features(rng)
    y = target(rng, kind, X)
    model = MODELS[kind](**{"l2": 0.1, **EXACT, **settings})
    expected = coefficients(model.fit(form(X), y))
    labeled = partitions(X, y, cuts=cuts_of(len(X), 3), form=form)
    assert_allclose(coefficients(fit_parts(model, labeled)), expected, **CLOSE)


@pytest.mark.parametrize(
    "settings",
    [
        {"class_weight": "balanced"},
        {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}},
        {"multi_class": "ovr", "l2_weights": "naive_bayes"},
        {"multi_class": "multinomial", "expectation": "quadratic"},
        {"multi_class": "multinomial", "dropout": 0.0},
        {"l2_weights": "naive_bayes_unlabeled"},
    ],
    ids=str,
)
def test_several_classes(rng, settings):
    X, Z = features(rng), features(rng, 30)
    y = np.array(["a", "b", "c"])[labels(rng, X, 3)]
    if isinstance(settings.get("class_weight"), dict):
        y = labels(rng, X, 3)
    model = LogisticRegression(**{"l2": 0.5, **EXACT, **settings})
    expected = coefficients(model.fit(sparse.csr_array(X), y, X_unlabeled=sparse.csr_array(Z)))
    labeled = partitions(X, y, cuts=cuts_of(len(X), 5))
    unlabeled = partitions(Z, cuts=cuts_of(len(Z), 2), labeled=False)
    fitted = fit_parts(model, labeled, unlabeled)
    assert_allclose(coefficients(fitted), expected, **CLOSE)
    assert_array_equal(fitted.classes_, np.unique(y))


@pytest.mark.parametrize(
    "settings",
    [
        {"dropout": PerBlock(0.5, 0.0), "noise_std": PerBlock(0.0, 0.5)},
        {"l2_weights": PerBlock("naive_bayes", np.inf)},
    ],
    ids=str,
)
def test_blocks(rng, settings):
    X = features(rng)
    y = labels(rng, X)
    model = LogisticRegression(**EXACT, **settings)
    expected = coefficients(model.fit(two_blocks(X), y))
    labeled = partitions(X, y, cuts=cuts_of(len(X), 4), form=two_blocks)
    fitted = fit_parts(model, labeled)
    assert_allclose(coefficients(fitted), expected, **CLOSE)
    assert [block.shape[-1] for block in fitted.coef_blocks_] == [5, 4]


@settings(max_examples=15)
@given(data=st.data())
def test_any_partitioning_gives_the_same_model(data):
    """Partitions of any sizes, also empty ones, in any order."""
    rng = np.random.default_rng(5)
    X = features(rng)
    y = labels(rng, X)
    model = LogisticRegression(**EXACT)
    expected = coefficients(model.fit(sparse.csr_array(X), y))
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, len(X)), max_size=12))), len(X)]
    parts = data.draw(st.permutations(partitions(X, y, cuts=cuts)))
    assert_allclose(coefficients(fit_parts(model, parts)), expected, **CLOSE)


def test_partitions_read_again_give_the_same_bits(rng):
    """Whether partitions are kept or read again in each pass changes at most rounding."""
    X = features(rng)
    y = labels(rng, X)
    parts = partitions(X, y, cuts=cuts_of(len(X), 5))
    first = coefficients(fit_parts(LogisticRegression(), parts))
    assert_array_equal(coefficients(fit_parts(LogisticRegression(), parts)), first)
    again = fit_parts(LogisticRegression(**EXACT), parts, engine=SerialEngine(rereads=True))
    assert_allclose(coefficients(again), coefficients(fit_parts(LogisticRegression(**EXACT), parts)), **CLOSE)


@pytest.mark.parametrize("kind", MODELS)
def test_the_first_preconditioner_is_that_of_all_rows(rng, monkeypatch, kind):
    """Also if a partition does not have all features."""
    X = features(rng)
    X[:50, 1] = 0.0
    y, found, compute = target(rng, kind, X), [], Objective.preconditioner

    def note(objective, point):
        found.append(compute(objective, point))
        return found[-1]

    monkeypatch.setattr(Objective, "preconditioner", note)
    model = MODELS[kind](dropout=0.3, l2=0.5)
    for fit in (lambda: model.fit(sparse.csr_array(X), y), lambda: fit_parts(model, parts)):
        parts = partitions(X, y, cuts=[0, 50, 90])
        found.append(None)
        fit()
    first, again = (found[k + 1] for k, one in enumerate(found) if one is None)
    assert_allclose(again, first, rtol=1e-12)


def test_a_fit_remembers_more_steps_where_these_are_small(rng):
    """As many as in memory if there is a checkpoint, which would write all of them."""

    def steps(d, **others):
        return solver_of(LBFGS(), d, 1, **others).memory_for(d)

    assert [steps(d) for d in (10, 200_000, 2_000_000, 20_000_000)] == [100, 30, 16, 10]
    assert steps(200_000, stored=True) == 10
    assert solver_of(LBFGS(), 200_000, 10).memory == 16


def test_float32_partitions_give_float32_coefficients(rng):
    X = features(rng).astype(np.float32)
    fitted = fit_parts(LogisticRegression(), partitions(X, labels(rng, X), cuts=[0, 40, 90]))
    assert fitted.coef_.dtype == np.float32


def test_monte_carlo_minimises_an_objective_close_to_the_exact_one(rng):
    """The copies depend on the partitions, so coefficients are compared with those of the exact penalty."""
    X = features(rng, 2000)
    y = labels(rng, X)
    exact = LogisticRegression(expectation="exact", l2=0.1).fit(X, y)
    drawn = LogisticRegression(expectation="monte_carlo", l2=0.1, random_state=3)
    fitted = fit_parts(drawn, partitions(X, y, cuts=cuts_of(len(X), 4)))
    assert_allclose(coefficients(fitted), coefficients(exact), atol=0.05)
    same = fit_parts(drawn, partitions(X, y, cuts=cuts_of(len(X), 4)))
    assert_array_equal(coefficients(fitted), coefficients(same))
