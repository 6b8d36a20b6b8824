import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import erfcx
from scipy.stats import norm

from dropglm.core.maths import normal


@pytest.fixture(params=["compiled", "python"])
def run(request):
    """Apply a scalar function to every entry, compiled or as Python."""

    def apply(function, u):
        call = function if request.param == "compiled" else function.py_func
        return np.array([call(np.float64(x)) for x in u])

    return apply


def test_exp_is_exact_to_two_units_in_the_last_place(run):
    x = -np.concatenate([[0.0], np.geomspace(1e-300, 699.0, 400)])
    assert_allclose(run(normal.exp_of_nonpositive, x), np.exp(x), rtol=4.5e-16)


def test_exp_of_very_negative_numbers_is_tiny_and_finite():
    assert 0.0 < normal.exp_of_nonpositive(-1e9) < 1e-300


def test_density_agrees_with_scipy(run):
    u = np.linspace(0.0, 37.0, 500)
    assert_allclose(run(normal.density, u), norm.pdf(u), rtol=1e-14)


def test_mills_ratio_agrees_with_scipy(run):
    u = np.concatenate([[0.0], np.geomspace(1e-8, 1e8, 500)])
    assert_allclose(run(normal.mills_ratio, u), math.sqrt(math.pi / 2) * erfcx(u / math.sqrt(2)), atol=2e-14)
