import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm.core.maths import vectors


@pytest.mark.parametrize("size", [1, 7, 200_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_vector_operations_agree_with_numpy(size, dtype, threads, rng):
    a, b = rng.normal(size=(2, size)).astype(dtype)
    assert_allclose(vectors.dot(a, b, threads), np.sum(a.astype(float) * b), rtol=1e-12, atol=1e-9)
    moved = vectors.moved(a, 0.5, b, threads)
    assert moved.dtype == dtype
    assert_allclose(moved, a + 0.5 * b, rtol=1e-5, atol=1e-6)


def test_sums_do_not_depend_on_threads(rng):
    a = rng.normal(size=(2, 1_000_000)).astype(np.float32)
    assert vectors.dot(*a, 1) == vectors.dot(*a, 2) == vectors.dot(*a, 5)
