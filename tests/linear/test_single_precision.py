"""Predictors of sparse rows in single precision are summed in double precision."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from dropglm.core import predictions
from dropglm.core.predictions import FittedLogistic


def rows(rng, n, d, shares):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < np.resize(shares, n)[:, None])
    return sparse.csr_matrix(X.astype(np.float32))


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("shares", [[0.0], [0.3], [0.0, 0.5, 0.0, 0.0], [0.5, 0.0]], ids=repr)
@pytest.mark.parametrize("at_a_time", [1, 100, 1 << 16])
def test_the_sum_is_that_of_double_precision(K, shares, at_a_time, monkeypatch):
    monkeypatch.setattr(predictions, "ENTRIES", at_a_time)
    rng = np.random.default_rng(0)
    X, coef = rows(rng, 30, 200, shares), rng.normal(size=(K, 200)).astype(np.float32)
    model = FittedLogistic(np.arange(max(K, 2)), coef, np.ones(K, np.float32), "multinomial", 200)
    eta = model._predictors(X)
    exact = X.toarray().astype(float) @ coef.T.astype(float) + 1.0
    assert eta.dtype == np.float32
    assert_allclose(eta, exact.astype(np.float32), rtol=2e-7, atol=2e-7)


def test_a_long_row_does_not_lose_digits():
    """One large term and 10,000 small ones, none of which changes the sum in single precision."""
    d = 10_001
    X = sparse.csr_matrix(np.ones((1, d), np.float32))
    coef = np.full((1, d), 0.4, np.float32)
    coef[0, 0] = 2.0**23
    model = FittedLogistic(np.arange(2), coef, np.zeros(1, np.float32), "ovr", d)
    assert_allclose(model._predictors(X), 2.0**23 + 4000, rtol=1e-7)
    assert (X @ coef.T)[0, 0] < 2.0**23 + 1
