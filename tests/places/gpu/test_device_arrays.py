"""Matrices of CuPy stay on the GPU, from the input to coefficients and predictions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import LinearRegression, LogisticRegression, LogisticRegressionCV, PoissonRegressor
from tests.places.gpu.data import rows


@pytest.fixture(params=["dense", "csr", "binary"])
def both(request, real_gpu):
    """The same rows on the host and on the GPU, and labels."""
    from cupyx.scipy.sparse import csr_matrix

    X = rows(request.param, n=40)
    on_gpu = real_gpu.asarray(X) if request.param == "dense" else csr_matrix(X)
    return X, on_gpu, np.arange(40) * 7 % 5 % 2


@pytest.mark.parametrize("model", [LogisticRegression, LinearRegression, PoissonRegressor])
def test_coefficients_and_predictions_are_where_x_is(both, model, real_gpu):
    X, on_gpu, y = both
    cpu, cuda = model(l2=0.5, tol=1e-8).fit(X, y), model(l2=0.5, tol=1e-8).fit(on_gpu, real_gpu.asarray(y))
    assert isinstance(cuda.coef_, real_gpu.ndarray)
    assert_allclose(cuda.coef_.get(), cpu.coef_, atol=1e-6)
    predicted = cuda.predict(on_gpu)
    assert isinstance(predicted, real_gpu.ndarray)
    assert_allclose(predicted.get(), cpu.predict(X), atol=1e-6)
    assert_allclose(cuda.predict(X), cpu.predict(X), atol=1e-6)


def test_probabilities_are_on_the_gpu(both, real_gpu):
    X, on_gpu, y = both
    names = np.array(["no", "yes"])[y]
    model = LogisticRegression().fit(on_gpu, names)
    probabilities = model.predict_proba(on_gpu)
    assert isinstance(probabilities, real_gpu.ndarray)
    assert_allclose(probabilities.get(), model.predict_proba(X), atol=1e-12)
    assert model.predict(on_gpu).tolist() == model.predict(X).tolist()


def test_a_search_takes_matrices_of_cupy(both):
    X, on_gpu, y = both
    settings = {"dropout": 0.5, "l2": (3.0, 0.3), "l2_weights": "uniform", "cv": 3, "extend_l2": False}
    cpu, cuda = LogisticRegressionCV(**settings).fit(X, y), LogisticRegressionCV(**settings).fit(on_gpu, y)
    assert cuda.best_params_ == cpu.best_params_
    assert_allclose(cuda.coef_.get(), cpu.coef_, atol=1e-2)


def test_rows_that_do_not_fit_are_moved_by_the_driver(both, monkeypatch, real_gpu):
    from dropglm.places.gpu import runtime

    X, _, y = both
    expected = LogisticRegression(device="cuda").fit(X, y)
    allocated = []
    allocate = real_gpu.cuda.malloc_managed
    monkeypatch.setattr(real_gpu.cuda, "malloc_managed", lambda n: allocated.append(n) or allocate(n))
    monkeypatch.setattr(runtime, "free_memory", lambda: 0)
    model = LogisticRegression(device="cuda").fit(X, y)
    assert allocated
    assert np.array_equal(model.coef_, expected.coef_)


def test_tensors_of_pytorch_come_through_dlpack(real_gpu):
    torch = pytest.importorskip("torch")
    X, y = rows("dense", n=40), np.arange(40) * 7 % 5 % 2
    cpu = LogisticRegression(tol=1e-8).fit(X, y)
    cuda = LogisticRegression(tol=1e-8).fit(torch.as_tensor(X, device="cuda"), y)
    assert_allclose(cuda.coef_.get(), cpu.coef_, atol=1e-6)


def test_wrong_matrices_get_one_sentence(real_gpu):
    X = real_gpu.asarray(rows("dense"))
    y = np.arange(7) % 2
    with pytest.raises(ValueError, match='X is on a GPU, but device="cpu"'):
        LogisticRegression(device="cpu").fit(X, y)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN or infinity"):
        LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="it needs rows and columns"):
        LogisticRegression().fit(X[0], y)
