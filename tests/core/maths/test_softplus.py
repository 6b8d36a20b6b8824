import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from dropglm.core.maths.softplus import softplus

X = np.concatenate([[0.0], np.geomspace(1e-300, 690.0, 400), np.linspace(0.0, 40.0, 400)])


@pytest.mark.parametrize("call", [softplus, softplus.py_func], ids=["compiled", "python"])
def test_value_and_derivatives_agree_with_scipy(call):
    x = np.concatenate([X, -X])
    value, p, variance = np.transpose([call(np.float64(one)) for one in x])
    assert_allclose(value, np.logaddexp(0.0, x), rtol=2e-15)
    assert_allclose(p, expit(x), rtol=1e-15)
    assert_allclose(variance, expit(x) * expit(-x), rtol=2e-15)


def test_numbers_that_are_not_finite():
    assert np.isnan(softplus(np.nan)[0])
    assert softplus(1e300)[:2] == (1e300, 1.0)
    assert max(softplus(-1e300)) < 1e-300
