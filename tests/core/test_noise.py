import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dropglm.core.noise import Dropout, Gaussian, Together
from tests.core.penalties.cases import NOISE_CASES as CASES
from tests.oracles import central_difference
from tests.storages import DESIGNS, real


@pytest.mark.parametrize("noise", CASES.values(), ids=CASES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_copies_have_the_mean_of_x_and_the_stated_variance(noise, form, rng):
    X, beta, copies = real(rng, n=4), rng.normal(size=6), 20_000
    sampled = noise.sample(form(np.tile(X, (copies, 1))), rng)  # all copies at once, one below the other
    predictors = np.asarray(sampled @ beta).reshape(copies, 4)
    s2 = noise.variance(DESIGNS["dense"](X), beta)
    error = np.sqrt(np.maximum(s2, 1e-12) / copies)
    assert np.all(np.abs(predictors.mean(axis=0) - X @ beta) < 5 * error)
    assert_allclose(predictors.var(axis=0), s2, rtol=0.08, atol=1e-12)


@pytest.mark.parametrize("noise", CASES.values(), ids=CASES)
@pytest.mark.parametrize("storage", DESIGNS)
def test_the_gradient_of_the_variance_is_its_slope(noise, storage, rng):
    X = real(rng)
    design = DESIGNS[storage](X)
    beta, u, direction = rng.normal(size=6), rng.normal(size=7), rng.normal(size=6)
    slope = central_difference(lambda h: u @ noise.variance(design, beta + h * direction), 1e-3)
    assert_allclose(
        noise.pull_back(design, beta, np.stack([np.zeros_like(u), u], axis=1)) @ direction, slope, rtol=1e-9
    )


@given(delta=st.floats(0, 0.99), seed=st.integers(0, 1000))
def test_dropout_zeroes_entries_or_scales_them_up(delta, seed):
    rng = np.random.default_rng(seed)
    X = real(rng)
    for form in (np.asarray, sparse.csr_array, sparse.csc_array):
        brought = form(X)
        copy = Dropout(delta).sample(brought, rng)
        assert sparse.issparse(copy) == sparse.issparse(brought)
        if sparse.issparse(copy):
            assert copy.format == brought.format
            assert np.count_nonzero(copy.data) == copy.nnz
            assert_array_equal(brought.toarray(), X)
            copy = copy.toarray()
        kept = copy != 0
        assert_allclose(copy[kept], (X / (1 - delta))[kept])


def test_dropout_keeps_float32():
    assert Dropout(0.5).sample(np.ones((2, 2), np.float32), np.random.default_rng(0)).dtype == np.float32


def test_additive_noise_makes_a_dense_copy(rng):
    assert isinstance(Gaussian(1.0).sample(sparse.csr_array(np.eye(3)), rng), np.ndarray)


def test_variances_add_up(rng):
    design, beta = DESIGNS["csr"](real(rng)), rng.normal(size=6)
    parts = CASES["dropout"].variance(design, beta) + CASES["gaussian"].variance(design, beta)
    assert_allclose(CASES["both"].variance(design, beta), parts)


def test_dropout_after_additive_noise_is_refused():
    with pytest.raises(ValueError, match="must come first"):
        Together((Gaussian(1.0), Dropout(0.5)))
