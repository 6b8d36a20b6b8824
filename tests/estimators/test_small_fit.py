"""Fits in one compiled call: the same points as those of the general solver."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from dropglm.blocks import Blocks
from dropglm.estimators import small_fit
from dropglm.estimators.features import Features
from dropglm.estimators.problem import Problem
from dropglm.families import Logistic, Poisson
from dropglm.noise import Dropout, Gaussian, Noise, NoiseByBlock
from dropglm.objective import Objective
from dropglm.penalties.gaussian import GaussianLogistic, GaussianPoisson
from dropglm.solvers import LBFGS, Status

N, D = 40, 60


def rows(kind, dtype=np.float64, n=N):
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, D), density=0.2, rng=rng, dtype=np.float64)
    X = sparse.csr_array(X, dtype=dtype)
    if kind == "binary":
        X.data[:] = 1.0
    return Blocks(X, rng.normal(size=(n, 3)).astype(dtype)) if kind == "blocks" else X


def objective_of(
    X, noise: Noise | None = None, *, fit_intercept=True, family=Logistic, penalty=GaussianLogistic
):
    rng = np.random.default_rng(1)
    y = (rng.random((X.shape[0], 1)) < 0.4).astype(float)
    weights = rng.integers(0, 3, X.shape[0]).astype(float)
    problem = Problem(Features(X), family, y, weights, fit_intercept=fit_intercept)
    l2 = rng.uniform(0.01, 0.1, (X.shape[1], 1)).astype(X.dtype)
    return problem.objective(None if noise is None else penalty(family, noise), l2, 0.0)


def start_of(objective: Objective) -> np.ndarray:
    rng = np.random.default_rng(2)
    return rng.normal(size=objective.l2.size + 1).astype(objective.l2.dtype)


NOISES = {
    "sparse": Dropout(0.5),
    "binary": Dropout(0.3),
    "blocks": NoiseByBlock((Dropout(0.5), Dropout(0.0))),
}


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("noisy", [True, False])
@pytest.mark.parametrize("kind", NOISES)
def test_every_iteration_is_that_of_the_general_solver(kind, noisy, fit_intercept):
    """Both take the same steps to the same point, for every storage, with and without noise."""
    solver = LBFGS(tol=1e-6, memory=5)  # shorter than the number of iterations, so that pairs are replaced
    objective = objective_of(rows(kind), NOISES[kind] if noisy else None, fit_intercept=fit_intercept)
    assert small_fit._features(objective) is not None
    expected, how = solver.minimize(objective, start_of(objective))
    theta, result = small_fit.minimize(solver, objective, start_of(objective))
    assert (result.status, result.n_iter, result.passes) == (how.status, how.n_iter, how.passes)
    assert result.n_iter > 12
    assert_allclose(theta, expected, atol=1e-7)
    for name in ("objective", "gradient_norm", "step"):
        found, general = getattr(result.history, name), getattr(how.history, name)
        assert_allclose(found[:10], general[:10], rtol=1e-6)
        assert len(found) == result.n_iter + 1
    assert_allclose(result.objective, how.objective, rtol=1e-9)


def test_the_limits_of_iterations_hold():
    """max_iter ends a fit, and min_iter takes steps even from the minimum."""
    objective = objective_of(rows("sparse", np.float32), Dropout(0.5))
    start = start_of(objective)
    theta, result = small_fit.minimize(LBFGS(max_iter=3), objective, start)
    assert (result.status, result.n_iter) == (Status.MAX_ITER, 3)
    assert theta.dtype == np.float32
    theta, _ = small_fit.minimize(LBFGS(tol=1e-3), objective, start)
    _, result = small_fit.minimize(LBFGS(tol=1e-3, min_iter=2), objective, theta)
    assert (result.status, result.n_iter) == (Status.CONVERGED, 2)


@pytest.mark.parametrize(
    "objective",
    [
        lambda: objective_of(rows("sparse"), Gaussian(0.5)),
        lambda: objective_of(rows("sparse").toarray(), Dropout(0.5)),
        lambda: objective_of(rows("sparse"), Dropout(0.5), family=Poisson, penalty=GaussianPoisson),
        lambda: objective_of(rows("sparse", n=5000), Dropout(0.5)),
    ],
    ids=["additive noise", "dense rows", "another family", "many rows"],
)
def test_other_problems_are_left_to_the_general_solver(objective):
    """The result is that of the solver itself."""
    objective, solver = objective(), LBFGS(tol=1e-3)
    assert small_fit._features(objective) is None
    start = np.zeros(objective.l2.size + 1)
    theta, result = small_fit.minimize(solver, objective, start)
    expected, how = solver.minimize(objective, start)
    assert_allclose(theta, expected)
    assert result.n_iter == how.n_iter


def test_a_start_that_overflows_is_refused():
    """The message is that of the general solver."""
    objective = objective_of(rows("sparse"), Dropout(0.5))
    refused = pytest.raises(ValueError, match="not finite at the starting point")
    # As on the threads of a search; without the compiler, overflow would warn.
    with refused, np.errstate(over="ignore", invalid="ignore"):
        small_fit.minimize(LBFGS(), objective, np.full(objective.l2.size + 1, 1e200))


def test_a_rejected_pair_frees_its_own_slot(monkeypatch):
    """Rounding rejects pairs while the memory is full; every pair in use must keep a slot of its own."""
    objective, memories = objective_of(rows("sparse", np.float32), Dropout(0.5)), []
    new_memory = small_fit._memory

    def kept(*arguments):
        memories.append(new_memory(*arguments))
        return memories[-1]

    monkeypatch.setattr(small_fit, "_memory", kept)
    for length in range(2, 9):
        small_fit.minimize(LBFGS(tol=0.0, memory=length), objective, start_of(objective))
        assert sorted(memories[-1].slots[:-1]) == list(range(length))
