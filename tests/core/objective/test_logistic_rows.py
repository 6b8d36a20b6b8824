"""The compiled rows agree with NumPy's."""

import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dropglm.core.design import Design
from dropglm.core.families import Logistic
from dropglm.core.noise import Dropout
from dropglm.core.objective import Labels, RowTerm, WeightedRows
from dropglm.core.penalties.closed_forms import GaussianLogistic


@pytest.mark.parametrize("noisy", [True, False])
@pytest.mark.parametrize("labelled", [True, False])
def test_compiled_rows_agree_with_numpy(noisy, labelled, rng):
    n, d = 1200, 5
    X, w, pi = rng.normal(size=(n, d)), rng.random(n), rng.random(n)
    labels = Labels((rng.random((n, 1)) < 0.5).astype(float), w) if labelled else None
    penalty = GaussianLogistic(Logistic, Dropout(0.4)) if noisy else None
    compiled, general = (RowTerm(WeightedRows(Design(X), pi, labels), Logistic, penalty) for _ in range(2))
    general.compiled = False
    assert compiled.compiled
    start, direction = ((30.0 * rng.normal(size=(d, 1)), rng.normal(size=1)) for _ in range(2))
    by_beta = compiled.at(*start).by_beta.copy()
    lines = [term.along(term.at(*start), start, direction) for term in (compiled, general)]
    for step in (0.0, 0.3, 1.0, 40.0):
        one, other = (line.value_and_slope(step) for line in lines)
        assert_allclose(one, other, rtol=1e-10, atol=1e-10)
        beta = start[0] + step * direction[0]
        ends = [line.arrive(step, beta) for line in lines]
        for name in ("value", "by_beta", "by_intercept", "eta", "s2"):
            assert_allclose(getattr(ends[0], name), getattr(ends[1], name), rtol=1e-8, atol=1e-8)
    compiled.rows.design.threads = 3
    assert_array_equal(compiled.at(*start).by_beta, by_beta)
