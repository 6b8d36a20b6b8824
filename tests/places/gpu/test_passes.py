"""The kernels that pass over X equal NumPy's products, for every storage and number of problems."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

KINDS = ("dense", "csr", "binary")


@pytest.fixture(params=KINDS)
def X(request):
    from tests.places.gpu.data import rows

    return rows(request.param)


@pytest.fixture(params=[(1, np.float64), (3, np.float64), (1, np.float32), (4, np.float32)], ids=str)
def problems(request):
    """The number of problems, and their type; numbers of 32 bits are loaded two at a time."""
    return request.param


@pytest.fixture
def setting(X, problems):
    """The matrix on the GPU, the same as an array, a group of all problems, and coefficients."""
    from dropglm.places.gpu.runtime import Group, Stream
    from tests.places.gpu.data import on_gpu

    P, dtype = problems
    matrix, order = on_gpu(X, dtype)
    A = (X.toarray() if hasattr(X, "toarray") else X)[:, order]
    beta, direction = np.random.default_rng(1).normal(size=(2, A.shape[1], P)).astype(dtype)
    with Stream() as stream:
        yield matrix, A, Group(P, stream), beta, direction


def assert_close(array, expected, dtype):
    from tests.places.gpu.data import host

    assert_allclose(host(array), expected, atol=1e-12 if dtype == np.float64 else 1e-5)


def pair(array):
    from dropglm.places.gpu.runtime import GpuArray
    from tests.places.gpu.data import device

    return GpuArray(device(array))


def test_a_ray_has_the_moments_at_every_step(setting):
    """η(β + step·d) = η + step·u and ρt(β + step·d) = ρt + 2·step·c + step²·q."""
    from dropglm.places.gpu.matrix import Ray
    from tests.places.gpu.data import host

    matrix, A, group, beta, direction = setting
    rho = np.linspace(0.5, 2.0, beta.shape[1])
    out = pair(np.full((3, len(A), beta.shape[1]), 7.0))
    ends = Ray(pair(beta), pair(direction))
    if beta.dtype == np.float32 and beta.shape[1] == 1:
        both = np.hstack([beta, direction])
        ends = ends._replace(words=pair(both.view(np.uint64)[:, 0]))
    matrix.ray(group, ends, pair(rho), out, add=False)
    u, c, q = host(out.array)
    assert_close(u, A @ direction, beta.dtype)
    step, moved = 0.7, beta + 0.7 * direction
    assert_close(A @ beta + step * u, A @ moved, beta.dtype)
    s2 = rho * (A**2 @ beta**2) + step * (2 * c + step * q)
    assert_close(s2, rho * (A**2 @ moved**2), beta.dtype)


@pytest.mark.parametrize("add", [False, True])
def test_backward_is_the_gradient_of_a_function_of_the_moments(setting, add):
    from dropglm.places.gpu.matrix import Slopes

    matrix, A, group, beta, _ = setting
    r, q = np.random.default_rng(2).normal(size=(2, len(A), beta.shape[1])).astype(beta.dtype)
    rho = np.linspace(0.5, 2.0, beta.shape[1])
    out = pair(np.ones_like(beta))
    matrix.backward(
        group, pair(beta), pair((2.0 * rho).astype(beta.dtype)), Slopes(pair(r), pair(q)), out, add=add
    )
    assert_close(out.array, A.T @ r + 2 * rho * beta * (A.T**2 @ q) + add, beta.dtype)


@pytest.mark.parametrize("frequent", [0, 2])
def test_the_spread_of_features_is_that_around_the_mean_row_of_each_problem(setting, frequent):
    """Σ r (x - m)² + ρ q x², over rows that have the feature and rows that lack it; then those without r."""
    from dropglm.places.gpu.matrix import Centre, Slopes

    matrix, A, group, beta, _ = setting
    matrix.frequent = frequent  # of sparse ones: so many features have a block of threads each
    P = beta.shape[1]
    r, q = np.random.default_rng(2).uniform(0.1, 1.0, size=(2, len(A), P)).astype(beta.dtype)
    rho, place = np.linspace(0.5, 2.0, P), np.arange(P) % 2
    m = np.column_stack([A.mean(axis=0), A.mean(axis=0) + 3.0]).astype(beta.dtype)
    centre = Centre(pair(m), pair(place.astype(np.int32)), pair(r.sum(axis=0, dtype=np.float64)))
    out = pair(np.full_like(beta, 7.0))
    matrix.spread(group, centre, pair(rho), Slopes(pair(r), pair(q)), out, add=False)
    expected = ((A[:, :, None] - m[:, place]) ** 2 * r[:, None]).sum(axis=0) + rho * (A.T**2 @ q)
    assert_close(out.array, expected, beta.dtype)
    matrix.spread(group, centre, pair(rho), Slopes(pair(0.0 * r), pair(q)), out, add=True)
    assert_close(out.array, expected + rho * (A.T**2 @ q), beta.dtype)


def test_frequent_features_are_summed_in_chunks(monkeypatch):
    """A feature with more entries than a chunk has the same sums."""
    from dropglm.places.gpu import matrix as module
    from dropglm.places.gpu.design import DeviceDesign
    from tests.places.gpu.data import host, on_gpu, rows

    monkeypatch.setattr(module, "FREQUENT", 2)
    monkeypatch.setattr(module, "CHUNK", 3)
    X = rows("csr", n=11)
    matrix, order = on_gpu(X)
    assert matrix.frequent > 1
    assert matrix.chunk_count > matrix.frequent
    r = np.random.default_rng(0).normal(size=(11, 2))
    sums = host(DeviceDesign([matrix]).transposed_dot(r))
    assert_allclose(sums, X.toarray()[:, order].T @ r, atol=1e-12)


def test_designs_take_rows_and_multiply(X):
    from dropglm.places.gpu.design import DeviceDesign
    from tests.places.gpu.data import on_gpu

    matrix, order = on_gpu(X)
    A = (X.toarray() if hasattr(X, "toarray") else X)[:, order]
    design, some = DeviceDesign([matrix, matrix]), np.array([4, 0, 6])
    beta = np.random.default_rng(0).normal(size=(2 * A.shape[1], 2))
    assert_allclose(design.take(some).dot(beta), np.hstack([A, A])[some] @ beta, atol=1e-12)
    assert design.smallest == min(0.0, A.min())
    assert design.without([0]).numbers == [1]
