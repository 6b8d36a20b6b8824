import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dropglm.maths import vectors


@pytest.mark.parametrize("size", [1, 7, 200_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_vector_operations_agree_with_numpy(size, dtype, threads, rng):
    weights, a, b = rng.normal(size=(3, size)).astype(dtype)
    exact = np.sum(weights.astype(float) * a * b)
    assert_allclose(vectors.form(weights, a, b, threads), exact, rtol=1e-12, atol=1e-9)
    total = weights.copy()
    vectors.add_product(total, a, b, threads)
    assert_allclose(total, weights + a * b, rtol=1e-5, atol=1e-6)
    moved = vectors.moved(a, 0.5, b, threads)
    assert moved.dtype == dtype
    assert_allclose(moved, a + 0.5 * b, rtol=1e-5, atol=1e-6)
    pairs = vectors.side_by_side(a, b, threads)
    assert_array_equal(pairs, np.stack([a, b], axis=1))
    assert pairs.flags.c_contiguous


def test_sums_do_not_depend_on_threads(rng):
    a = rng.normal(size=(3, 1_000_000)).astype(np.float32)
    assert vectors.form(*a, 1) == vectors.form(*a, 2)
