"""The classes of a multinomial model move as one problem, and take the steps of the CPU."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import LogisticRegression, LogisticRegressionCV
from tests.places.gpu.data import host, rows
from tests.places.gpu.test_fits import assert_same_steps, both

N = 10


@pytest.fixture
def y():
    return np.arange(N) * 7 % 5 % 3


def assert_same_classes(X, y, settings, **more):
    """A model of all classes takes the steps of the CPU."""
    cpu, cuda = both(LogisticRegression(**settings), X, y, **more)
    assert cuda.multi_class_ == cpu.multi_class_ == "multinomial"
    assert_same_steps(cpu, cuda)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_without_noise(kind, y):
    weights = np.linspace(0.5, 2.0, N)
    assert_same_classes(rows(kind, n=N), y, {"dropout": 0.0}, sample_weight=weights)


def test_without_an_intercept_and_with_weights_of_l2(y):
    settings = {"dropout": 0.0, "fit_intercept": False, "l2_weights": np.linspace(0.5, 2.0, 5)}
    assert_same_classes(rows("csr", n=N), y, settings)


def test_weights_of_l2_by_class(y):
    assert_same_classes(rows("binary", n=N), y, {"dropout": 0.0, "l2_weights": "naive_bayes"})


@pytest.mark.slow
def test_by_monte_carlo_with_unlabelled_rows():
    settings, more = (
        {"expectation": "monte_carlo", "random_state": 0},
        {"X_unlabeled": rows("csr", n=2, seed=1)},
    )
    assert_same_classes(rows("csr", n=4), [0, 1, 2, 1], settings, **more)


def test_a_fit_continues_from_its_minimum(y):
    X = rows("csr", n=N)
    model = LogisticRegression(dropout=0.0, l2=30.0, device="cuda", warm_start=True).fit(X, y)
    assert model.result_.n_iter > 1
    assert model.fit(X, y).result_.n_iter <= 1


def test_those_who_watch_see_the_coefficients_of_all_classes(y):
    from dropglm.core.families import Multinomial
    from dropglm.core.problem import Task
    from dropglm.core.solvers import LBFGS
    from dropglm.places.gpu.fits import FeaturesOnGpu, ProblemOnGpu

    seen = []
    problem = ProblemOnGpu(FeaturesOnGpu(rows("csr", n=N)), Multinomial, np.eye(3)[y], np.ones(N))
    task = Task(problem, None, 1.0, 0.0, callback=lambda n_iter, value, where: seen.append((value, where())))
    (solution,) = ProblemOnGpu.solve_together([task], LBFGS())
    value, (beta, intercept) = seen[-1]
    assert len(seen) == solution.result.n_iter > 1
    assert value == solution.result.objective
    assert_allclose(beta, host(solution.beta))
    assert_allclose(intercept, solution.intercept)


def test_a_search_chooses_as_on_the_cpu():
    X, y = rows("binary", n=9), np.arange(9) % 3
    settings = {"dropout": 0.0, "l2": (3.0, 0.3), "l2_weights": "uniform", "cv": 2, "extend_l2": False}
    cpu, cuda = both(LogisticRegressionCV(**settings, multi_class="multinomial"), X, y)
    assert cuda.best_params_ == cpu.best_params_
    scores = [model.cv_results_["mean_test_score"] for model in (cuda, cpu)]
    assert_allclose(*scores, atol=5e-3)
