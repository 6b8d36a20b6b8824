"""Fits on a GPU take the same steps as fits on the CPU."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import (
    Blocks,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PerBlock,
    PoissonRegressor,
    TextClassifier,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")

STEPS = 2


def data(kind="csr", n=8, classes=2):
    from tests.cuda.data import rows

    X = rows(kind, n=n)
    return X, np.arange(n) * 7 % 5 % classes


# Settings, and whether there are unlabelled rows.
CASES = {
    "dropout": (LogisticRegression, {}, False),
    "quadratic": (LogisticRegression, {"expectation": "quadratic"}, False),
    "additive noise": (LogisticRegression, {"dropout": 0.3, "noise_std": 0.4}, False),
    "no noise, no intercept": (LogisticRegression, {"dropout": 0.0, "fit_intercept": False}, False),
    "unlabelled": (LogisticRegression, {"discount": 0.7}, True),
    "weights by predictions": (LogisticRegression, {"l2_weights": "naive_bayes_unlabeled"}, True),
    "linear": (LinearRegression, {"dropout": 0.3, "l2": 0.2}, False),
    "poisson": (PoissonRegressor, {"dropout": 0.3, "l2": 0.2}, False),
    "poisson, quadratic": (PoissonRegressor, {"dropout": 0.3, "l2": 0.2, "expectation": "quadratic"}, False),
}


@pytest.mark.parametrize("case", CASES)
def test_a_few_iterations_equal_those_of_the_cpu(case):
    model, settings, unlabeled = CASES[case]
    kind = "binary" if "weights" in case else "csr"
    X, y = data(kind)
    more = {"X_unlabeled": data(kind, n=5)[0]} if unlabeled else {}
    weights = np.linspace(0.5, 2.0, len(y))
    fits = [
        model(**settings, device=device, max_iter=STEPS, tol=1e-12).fit(X, y, sample_weight=weights, **more)
        for device in ("cpu", "cuda")
    ]
    assert_allclose(fits[1].coef_, fits[0].coef_, rtol=1e-9, atol=1e-12)
    assert_allclose(fits[1].intercept_, fits[0].intercept_, rtol=1e-9, atol=1e-12)
    assert_allclose(fits[1].result_.history.objective, fits[0].result_.history.objective, rtol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "binary"])
def test_classes_move_through_the_passes_together(kind):
    X, y = data(kind, n=9, classes=3)
    weights = np.linspace(0.5, 2.0, X.shape[1])
    fits = [
        LogisticRegression(device=device, max_iter=STEPS, tol=1e-12, l2_weights=weights).fit(X, y)
        for device in ("cpu", "cuda")
    ]
    assert_allclose(fits[1].coef_, fits[0].coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kinds", [("dense", "csr"), ("csr", "dense")])
def test_unlabelled_rows_may_be_stored_in_another_way(kinds):
    X, y = data(kinds[0])
    cpu, cuda = (
        LogisticRegression(device=device, max_iter=STEPS, tol=1e-12, discount=0.7).fit(
            X, y, X_unlabeled=data(kinds[1], n=5)[0]
        )
        for device in ("cpu", "cuda")
    )
    assert_allclose(cuda.coef_, cpu.coef_, rtol=1e-9, atol=1e-12)
    assert cuda.result_.passes == cpu.result_.passes


def test_unlabelled_rows_too_large_for_the_type_get_the_same_error():
    X, y = data("dense")
    for device in ("cpu", "cuda"):
        with pytest.raises(ValueError, match="X_unlabeled contains numbers too large for X's dtype float32"):
            LogisticRegression(device=device).fit(X.astype(np.float32), y, X_unlabeled=X * 1e300)


def test_blocks_have_their_own_noise():
    X, y = data()
    rows = Blocks(X, data("dense")[0][:, :3])
    settings = {
        "dropout": PerBlock(0.5, 0.0),
        "noise_std": PerBlock(0.0, 0.3),
        "max_iter": STEPS,
        "tol": 1e-12,
    }
    cpu, cuda = (LogisticRegression(**settings, device=device).fit(rows, y) for device in ("cpu", "cuda"))
    assert_allclose(cuda.coef_, cpu.coef_, rtol=1e-9, atol=1e-12)


def test_a_fit_converges_to_the_optimum_of_the_cpu():
    X, y = data()
    cpu, cuda, again = (
        LogisticRegression(tol=1e-4, l2=30.0, device=device).fit(X, y) for device in ("cpu", "cuda", "cuda")
    )
    assert cuda.result_.status == "converged"
    assert_allclose(cuda.coef_, cpu.coef_, atol=1e-6)
    assert np.array_equal(again.coef_, cuda.coef_)


def test_problems_end_when_they_converge_and_keep_their_solution():
    """Strong and weak penalties, in one batch, end after different numbers of iterations."""
    from dropglm.estimators.device_features import DeviceFeatures
    from dropglm.estimators.stages import Task
    from dropglm.estimators.together import DeviceProblem, fit_together
    from dropglm.families import Logistic
    from dropglm.solvers import LBFGS
    from tests.cuda.data import host

    X, y = data(n=12)
    problem = DeviceProblem(DeviceFeatures(X), Logistic, y[:, None].astype(float), np.ones(len(y)))
    # Neighbours share passes, whether or not both of them go on.
    strengths = (100.0, 0.1, 0.5, 3.0)
    tasks = [Task(problem, None, l2, 0.0) for l2 in strengths]
    fitted = fit_together(tasks, LBFGS(tol=1e-4))
    iterations = [one.solution.result.n_iter for one in fitted]
    assert iterations[0] < iterations[2] < iterations[1]
    for l2, one in zip(strengths, fitted, strict=True):
        assert one.solution.result.status == "converged"
        cpu = LogisticRegression(dropout=0.0, l2=l2, tol=1e-4).fit(X, y)
        coef = problem.features.expand(host(one.solution.beta))
        assert_allclose(coef, cpu.coef_, atol=1e-3)  # both are within the tolerance of the minimum
        eta = X @ coef[0] + one.solution.intercept
        assert_allclose(one.eta[:, 0], eta, atol=1e-9)


def test_a_search_chooses_as_on_the_cpu():
    X, y = data("binary", n=12)
    settings = {
        "dropout": 0.5,
        "l2": (3.0, 0.3),
        "l2_weights": "uniform",
        "cv": 2,
        "extend_l2": False,
        "max_iter": 3,
    }
    cpu, cuda = (LogisticRegressionCV(**settings, device=device).fit(X, y) for device in ("cpu", "cuda"))
    assert cuda.best_params_ == cpu.best_params_
    scores = [model.cv_results_["mean_test_score"] for model in (cuda, cpu)]
    # Fits of a search stop early, at different points if they start elsewhere.
    assert_allclose(*scores, atol=5e-3)
    assert_allclose(cuda.coef_, cpu.coef_, atol=2e-3)


def test_callbacks_and_progress_see_the_iterations(capfd):
    X, y = data()
    LogisticRegression(device="cuda", verbose=1, max_iter=2).fit(X, y)
    assert "iterations" in capfd.readouterr().err


def test_a_text_classifier_fits_on_the_gpu():
    texts = ["good fun", "bad film", "good film", "bad fun", "so good", "so bad"]
    y = ["good" if "good" in text else "bad" for text in texts]
    settings = {"tune": False, "ngram_range": (1, 1), "min_df": 1, "max_iter": 1}
    cpu, cuda = (TextClassifier(**settings, device=device).fit(texts, y) for device in ("cpu", "cuda"))
    # The features are float32.
    assert_allclose(cuda.predict_proba(texts), cpu.predict_proba(texts), atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"expectation": "exact"}, "the expectation must be 'gaussian', 'quadratic' or 'monte_carlo'; use"),
        ({"device": "gpu"}, "device 'gpu' is unknown; did you mean 'cuda'"),
    ],
)
def test_what_a_gpu_cannot_fit_is_refused(settings, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        LogisticRegression(**{"device": "cuda"} | settings).fit(X, y)


def test_a_multinomial_model_with_the_quadratic_penalty_is_refused():
    X, y = data(n=15, classes=3)
    with pytest.raises(ValueError, match="use multi_class='ovr'"):
        LogisticRegression(expectation="quadratic", device="cuda").fit(X, y)


def test_too_little_memory_says_how_much_and_what_to_do(monkeypatch):
    from dropglm.cuda import lbfgs

    def fail(*arguments, **settings):
        from dropglm.cuda.runtime import SIMULATED, array_module

        raise MemoryError if SIMULATED else array_module().cuda.memory.OutOfMemoryError(1, 1, 1)

    monkeypatch.setattr(lbfgs, "minimize", fail)
    X, y = data()
    with pytest.raises(MemoryError, match=r"GiB of the GPU's memory .* use float32"):
        LogisticRegression(device="cuda").fit(X, y)


def test_problems_that_do_not_fit_together_are_fitted_in_batches(monkeypatch):
    from dropglm.estimators import together

    sizes, solve = [], together._solve_batch
    monkeypatch.setattr(
        together, "_solve_batch", lambda tasks, *rest: sizes.append(len(tasks)) or solve(tasks, *rest)
    )
    monkeypatch.setattr(together, "_batch_size", lambda tasks: 2)
    X, y = data("binary", n=9, classes=3)
    fits = [LogisticRegression(device=device, max_iter=2, tol=1e-12).fit(X, y) for device in ("cpu", "cuda")]
    assert sizes == [2, 1]
    assert_allclose(fits[1].coef_, fits[0].coef_, rtol=1e-9, atol=1e-12)
