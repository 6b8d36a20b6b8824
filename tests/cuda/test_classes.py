"""The classes of a multinomial model move as one problem, and take the steps of the CPU."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import LogisticRegression, LogisticRegressionCV
from tests.cuda.data import host, rows

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")

N = 10


@pytest.fixture
def y():
    return np.arange(N) * 7 % 5 % 3


def both(X, y, settings, **more):
    """Return the fits on the CPU and on the GPU."""
    settings = {"max_iter": 2, "tol": 1e-12} | settings
    return [LogisticRegression(**settings, device=device).fit(X, y, **more) for device in ("cpu", "cuda")]


def assert_same_steps(cpu, cuda):
    assert cuda.multi_class_ == cpu.multi_class_ == "multinomial"
    assert_allclose(cuda.coef_, cpu.coef_, rtol=1e-9, atol=1e-12)
    assert_allclose(cuda.intercept_, cpu.intercept_, rtol=1e-9, atol=1e-12)
    assert_allclose(cuda.result_.history.objective, cpu.result_.history.objective, rtol=1e-12)
    assert_allclose(cuda.result_.history.gradient_norm, cpu.result_.history.gradient_norm, rtol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_without_noise(kind, y):
    weights = np.linspace(0.5, 2.0, N)
    assert_same_steps(*both(rows(kind, n=N), y, {"dropout": 0.0}, sample_weight=weights))


def test_without_an_intercept_and_with_weights_of_l2(y):
    settings = {"dropout": 0.0, "fit_intercept": False, "l2_weights": np.linspace(0.5, 2.0, 5)}
    assert_same_steps(*both(rows("csr", n=N), y, settings))


def test_weights_of_l2_by_class(y):
    assert_same_steps(*both(rows("binary", n=N), y, {"dropout": 0.0, "l2_weights": "naive_bayes"}))


def test_by_monte_carlo_with_unlabelled_rows(y, monkeypatch):
    monkeypatch.setattr("dropglm.noising.TRAINING_SAMPLES", 3)
    more = {"X_unlabeled": rows("csr", n=4, seed=1)}
    assert_same_steps(*both(rows("csr", n=N), y, {"expectation": "monte_carlo", "random_state": 0}, **more))


def test_a_fit_converges_and_continues(y):
    X = rows("csr", n=N)
    cpu, cuda = both(X, y, {"dropout": 0.0, "l2": 30.0, "tol": 1e-3, "max_iter": 100})
    assert cuda.result_.status == "converged"
    assert_allclose(cuda.coef_, cpu.coef_, atol=1e-3)  # both are within the tolerance of the minimum
    again = cuda.set_params(warm_start=True, max_iter=3).fit(X, y)
    assert again.result_.n_iter <= 1


def test_those_who_watch_see_the_coefficients_of_all_classes(y):
    from dropglm.estimators.device_features import DeviceFeatures
    from dropglm.estimators.stages import Task
    from dropglm.estimators.together import DeviceProblem, solve_together
    from dropglm.families import Multinomial
    from dropglm.solvers import LBFGS

    seen = []
    problem = DeviceProblem(DeviceFeatures(rows("csr", n=N)), Multinomial, np.eye(3)[y], np.ones(N))
    task = Task(problem, None, 1.0, 0.0, watch=lambda n_iter, value, where: seen.append((value, where())))
    (solution,) = solve_together([task], LBFGS(max_iter=2, tol=1e-12))
    value, (beta, intercept) = seen[-1]
    assert len(seen) == 2
    assert value == solution.result.objective
    assert_allclose(beta, host(solution.beta))
    assert_allclose(intercept, solution.intercept)


def test_a_search_chooses_as_on_the_cpu():
    X, y = rows("binary", n=9), np.arange(9) % 3
    settings = {"dropout": 0.0, "l2": (3.0, 0.3), "l2_weights": "uniform", "cv": 2, "extend_l2": False}
    settings |= {"multi_class": "multinomial", "max_iter": 2}
    cpu, cuda = (LogisticRegressionCV(**settings, device=device).fit(X, y) for device in ("cpu", "cuda"))
    assert cuda.best_params_ == cpu.best_params_
    scores = [model.cv_results_["mean_test_score"] for model in (cuda, cpu)]
    assert_allclose(*scores, atol=5e-3)
