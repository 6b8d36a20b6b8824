"""Fits on a GPU take the steps of fits on the CPU until they converge."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from dropglm import (
    Blocks,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PerBlock,
    PoissonRegressor,
    TextClassifier,
)
from dropglm.core.families import Logistic
from dropglm.core.features import Features
from dropglm.core.problem import Problem, Task
from dropglm.core.solvers import LBFGS
from dropglm.places.gpu.fits import FeaturesOnGpu, ProblemOnGpu, fit_together


def data(kind="csr", n=8, classes=2):
    from tests.places.gpu.data import rows

    X = rows(kind, n=n)
    return X, np.arange(n) * 7 % 5 % classes


def both(model, X, y, **more):
    """Return the fits on the CPU and on the GPU."""
    return [clone(model).set_params(device=device).fit(X, y, **more) for device in ("cpu", "cuda")]


def assert_same_steps(cpu, cuda):
    """Both converge, by the same steps; fits of this size have few, so that all of them are remembered."""
    assert_allclose(cuda.coef_, cpu.coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(cuda.intercept_, cpu.intercept_, rtol=1e-7, atol=1e-9)
    results = [np.ravel(np.array(model.result_, dtype=object)) for model in (cuda, cpu)]
    for ours, theirs in zip(*results, strict=True):
        assert ours.status == theirs.status == "converged"
        assert_allclose(ours.history.objective, theirs.history.objective, rtol=1e-10)
        assert_allclose(ours.history.gradient_norm, theirs.history.gradient_norm, rtol=1e-6)


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
def test_a_fit_takes_the_steps_of_the_cpu(case):
    model, settings, unlabeled = CASES[case]
    kind = "binary" if "weights" in case else "csr"
    X, y = data(kind)
    more = {"X_unlabeled": data(kind, n=5)[0]} if unlabeled else {}
    weights = np.linspace(0.5, 2.0, len(y))
    assert_same_steps(*both(model(**settings), X, y, sample_weight=weights, **more))


@pytest.mark.parametrize("kind", ["dense", "binary"])
def test_classes_move_through_the_passes_together(kind):
    X, y = data(kind, n=9, classes=3)
    weights = np.linspace(0.5, 2.0, X.shape[1])
    assert_same_steps(*both(LogisticRegression(l2_weights=weights), X, y))


@pytest.mark.parametrize("kinds", [("dense", "csr"), ("csr", "dense")])
def test_unlabelled_rows_may_be_stored_in_another_way(kinds):
    X, y = data(kinds[0])
    cpu, cuda = both(LogisticRegression(discount=0.7), X, y, X_unlabeled=data(kinds[1], n=5)[0])
    assert_same_steps(cpu, cuda)
    assert cuda.result_.passes == cpu.result_.passes


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_features_far_from_zero_take_no_more_iterations_than_on_the_cpu(form):
    """In float32, differences of sums over such features would have no correct digit."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 3))
    X = (Z + np.array([4000.0, 0.0, -4000.0])).astype(np.float32)
    y = (Z.sum(axis=1) + rng.normal(size=30) > 0).astype(int)
    X[3, 1] = 0.0  # which is not stored
    settings = {"dropout": 0.0, "l2": 0.1}
    exact = LogisticRegression(**settings, tol=1e-8).fit(X.astype(np.float64), y)
    cpu, cuda = both(LogisticRegression(**settings), form(X), y)
    assert cuda.n_iter_ <= cpu.n_iter_ + 1
    assert_allclose(cuda.coef_, exact.coef_, atol=1e-3)


@pytest.mark.parametrize(
    "settings", [{"memory": 2}, {"curvature": 1e-3}, {"min_iter": 9}, {"max_iter": 2}, {"tol": 1e-2}], ids=str
)
def test_every_setting_of_the_solver_holds(settings):
    X, y = data(n=12)
    cpu = Problem(Features(X), Logistic, y[:, None].astype(float), np.ones(len(y)))
    cuda = ProblemOnGpu(FeaturesOnGpu(X), Logistic, cpu.y, cpu.weights)
    usual, expected, found = (
        Task(problem, None, 0.3, 0.0).solve(LBFGS(**given)).result.history
        for problem, given in ((cpu, {}), (cpu, settings), (cuda, settings))
    )
    assert not np.array_equal(usual.objective, expected.objective)
    for ours, theirs in zip(found, expected, strict=True):
        assert_allclose(ours, theirs, rtol=1e-6)


def test_a_longer_memory_than_a_gpu_has_is_refused():
    X, y = data()
    problem = ProblemOnGpu(FeaturesOnGpu(X), Logistic, y[:, None].astype(float), np.ones(len(y)))
    with pytest.raises(ValueError, match="at most 10 steps, got memory=11; use a smaller number, or device="):
        Task(problem, None, 1.0, 0.0).solve(LBFGS(memory=11))


def test_unlabelled_rows_too_large_for_the_type_get_the_same_error():
    X, y = data("dense")
    for device in ("cpu", "cuda"):
        with pytest.raises(ValueError, match="X_unlabeled contains numbers too large for X's dtype float32"):
            LogisticRegression(device=device).fit(X.astype(np.float32), y, X_unlabeled=X * 1e300)


def test_blocks_have_their_own_noise():
    X, y = data()
    rows = Blocks(X, data("dense")[0][:, :3])
    settings = {"dropout": PerBlock(0.5, 0.0), "noise_std": PerBlock(0.0, 0.3)}
    assert_same_steps(*both(LogisticRegression(**settings), rows, y))


def test_a_fit_has_the_same_bits_each_time():
    X, y = data()
    one, again = (LogisticRegression(device="cuda").fit(X, y).coef_ for _ in range(2))
    assert np.array_equal(again, one)


def test_problems_end_when_they_converge_and_keep_their_solution():
    """Strong and weak penalties, in one batch, end after different numbers of iterations."""
    from tests.places.gpu.data import host

    X, y = data(n=12)
    problem = ProblemOnGpu(FeaturesOnGpu(X), Logistic, y[:, None].astype(float), np.ones(len(y)))
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
    settings = {"dropout": 0.5, "l2": (3.0, 0.3), "l2_weights": "uniform", "cv": 2, "extend_l2": False}
    cpu, cuda = both(LogisticRegressionCV(**settings), X, y)
    assert cuda.best_params_ == cpu.best_params_
    scores = [model.cv_results_["mean_test_score"] for model in (cuda, cpu)]
    # Fits of a search stop early, at different points if they start elsewhere.
    assert_allclose(*scores, atol=5e-3)
    assert_allclose(cuda.coef_, cpu.coef_, atol=2e-3)


def test_a_search_copies_its_rows_to_the_gpu_only_once(monkeypatch):
    from dropglm.places.gpu import design as module

    uploads, upload = [], module.upload
    monkeypatch.setattr(module, "upload", lambda *given: uploads.append(given) or upload(*given))
    X, y = data("binary", n=12)
    LogisticRegressionCV(dropout=0.5, l2=3.0, l2_weights="uniform", cv=2, device="cuda").fit(X, y)
    assert len(uploads) == 1


def test_callbacks_and_progress_see_the_iterations(capfd):
    X, y = data()
    LogisticRegression(device="cuda", verbose=1).fit(X, y)
    assert "iterations" in capfd.readouterr().err


def test_a_text_classifier_fits_on_the_gpu():
    texts = ["good fun", "bad film", "good film", "bad fun", "so good", "so bad"]
    y = ["good" if "good" in text else "bad" for text in texts]
    cpu, cuda = both(TextClassifier(tune=False, ngram_range=(1, 1), min_df=1), texts, y)
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


@pytest.mark.filterwarnings("ignore:overflow")  # of the simulation
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_features_whose_sums_of_squares_overflow_are_refused(device):
    X, y = data("binary", n=40)
    with pytest.raises(ValueError, match="squares of the features overflow float32; scale"):
        LogisticRegression(dropout=0.0, device=device).fit((X * 1.5e19).astype(np.float32), y)


def test_a_multinomial_model_with_the_quadratic_penalty_is_refused():
    X, y = data(n=15, classes=3)
    with pytest.raises(ValueError, match="use multi_class='ovr'"):
        LogisticRegression(expectation="quadratic", device="cuda").fit(X, y)


def test_too_little_memory_says_how_much_and_what_to_do(monkeypatch):
    from dropglm.places.gpu import lbfgs

    def fail(*arguments, **settings):
        from dropglm.places.gpu.runtime import SIMULATED, array_module

        raise MemoryError if SIMULATED else array_module().cuda.memory.OutOfMemoryError(1, 1, 1)

    monkeypatch.setattr(lbfgs, "minimize", fail)
    X, y = data()
    with pytest.raises(MemoryError, match=r"GiB of the GPU's memory .* use float32"):
        LogisticRegression(device="cuda").fit(X, y)


def test_problems_that_do_not_fit_together_are_fitted_in_batches(monkeypatch):
    from dropglm.places.gpu import fits as on_gpu

    sizes, run = [], on_gpu.run_stages
    monkeypatch.setattr(
        on_gpu,
        "run_stages",
        lambda fits, tasks, solver: sizes.append(len(tasks)) or run(fits, tasks, solver),
    )
    monkeypatch.setattr(on_gpu, "_batch_size", lambda tasks: 2)
    X, y = data("binary", n=9, classes=3)
    cpu, cuda = both(LogisticRegression(), X, y)
    assert sizes == [2, 1]
    assert_same_steps(cpu, cuda)


def labels_of(n, K):
    """Return indicators of labels: the first one in every row, the second in two rows, some rows with few."""
    Y = (np.arange(n)[:, None] * 7 % np.arange(3, 3 + K) < 2).astype(int)
    Y[:, 0], Y[:, 1] = 1, np.arange(n) < 2
    return Y


@pytest.mark.parametrize("unlabeled", [False, True])
@pytest.mark.parametrize("K", [2, 4])
def test_each_of_several_labels_is_fitted_as_on_the_cpu(K, unlabeled):
    X, _ = data(n=10)
    more = {"X_unlabeled": data(n=9)[0]} if unlabeled else {}
    Y = labels_of(10, K)
    cpu, cuda = both(LogisticRegression(discount=0.5, tol=1e-8), X, Y, **more)
    assert cuda.multi_class_ == "multilabel"
    assert_allclose(cuda.coef_, cpu.coef_, atol=1e-6)
    assert_allclose(cuda.intercept_, cpu.intercept_, atol=1e-6)
    assert_allclose(cuda.predict_proba(X), cpu.predict_proba(X), atol=1e-6)


@pytest.mark.slow
def test_a_search_blends_several_labels_as_on_the_cpu():
    """With sums of the features by label, rounds that count unlabelled rows, and a factor per label."""
    X, U = data(n=24)[0], data(n=20)[0]
    Y = (np.arange(24)[:, None] * 7 % [3, 4, 5] < 2).astype(int)
    grid = {
        "dropout": 0.5,
        "l2": (1.0, 0.3),
        "l2_weights": ("naive_bayes", "uniform"),
        "cv": 2,
        "race": False,
    }
    model = LogisticRegressionCV(**grid, naive_bayes=True, rounds=1, tol=1e-6)
    cpu, cuda = both(model, abs(X), Y, X_unlabeled=abs(U))
    assert (cuda.l2_, cuda.l2_weights_) == (cpu.l2_, cpu.l2_weights_)
    assert_allclose(cuda.best_score_, cpu.best_score_, atol=1e-5)
    assert_allclose(cuda.cv_probabilities_, cpu.cv_probabilities_, atol=1e-4)
    assert_allclose(cuda.coef_, cpu.coef_, atol=1e-3)
