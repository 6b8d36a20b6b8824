"""softplus, the normal distribution and softplus under normal noise, against SciPy and integration."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import erfcx, expit
from scipy.stats import norm

from dropglm.core.maths import softplus as maths
from tests.oracles import central_difference, integrated, softplus

X = np.concatenate([[0.0], np.geomspace(1e-300, 690.0, 400), np.linspace(0.0, 40.0, 400)])


@pytest.mark.parametrize("call", [maths.softplus, maths.softplus.py_func], ids=["compiled", "python"])
def test_value_and_derivatives_agree_with_scipy(call):
    x = np.concatenate([X, -X])
    value, p, variance = np.transpose([call(np.float64(one)) for one in x])
    assert_allclose(value, np.logaddexp(0.0, x), rtol=2e-15)
    assert_allclose(p, expit(x), rtol=1e-15)
    assert_allclose(variance, expit(x) * expit(-x), rtol=2e-15)


def test_numbers_that_are_not_finite():
    assert np.isnan(maths.softplus(np.nan)[0])
    assert maths.softplus(1e300)[:2] == (1e300, 1.0)
    assert max(maths.softplus(-1e300)) < 1e-300


@pytest.fixture(params=["compiled", "python"])
def run(request):
    """Apply a scalar function to every entry, compiled or as Python."""

    def apply(function, u):
        call = function if request.param == "compiled" else function.py_func
        return np.array([call(np.float64(x)) for x in u])

    return apply


def test_exp_is_exact_to_two_units_in_the_last_place(run):
    x = -np.concatenate([[0.0], np.geomspace(1e-300, 699.0, 400)])
    assert_allclose(run(maths.exp_of_nonpositive, x), np.exp(x), rtol=4.5e-16)


def test_exp_of_very_negative_numbers_is_tiny_and_finite():
    assert 0.0 < maths.exp_of_nonpositive(-1e9) < 1e-300


def test_density_agrees_with_scipy(run):
    u = np.linspace(0.0, 37.0, 500)
    assert_allclose(run(maths.density, u), norm.pdf(u), rtol=1e-14)


def test_mills_ratio_agrees_with_scipy(run):
    u = np.concatenate([[0.0], np.geomspace(1e-8, 1e8, 500)])
    assert_allclose(run(maths.mills_ratio, u), math.sqrt(math.pi / 2) * erfcx(u / math.sqrt(2)), atol=2e-14)


def at(eta, v):
    return [float(part[0]) for part in maths.increase(np.array([eta]), np.array([v]))]


@given(eta=st.floats(-50, 50), v=st.floats(0, 400))
def test_equals_adaptive_integration(eta, v):
    assert at(eta, v)[0] == pytest.approx(integrated(softplus, eta, v) - softplus(eta), abs=1e-8)


def test_equals_adaptive_integration_over_a_grid():
    etas = np.array([-50.0, -30.0, -15.02, -7.0, -2.0, -0.5, 0.0, 0.5, 2.0, 7.0, 15.02, 30.0, 50.0])
    for v in (1e-6, 1e-3, 0.1, 1.0, 5.0, 25.0, 100.0, 400.0):
        truth = [integrated(softplus, eta, v) - softplus(eta) for eta in etas]
        assert_allclose(maths.increase(etas, np.full_like(etas, v))[0], truth, rtol=0, atol=1e-8)


@given(eta=st.floats(-1e4, 1e4), v=st.floats(0, 1e6))
def test_is_even_never_negative_and_zero_without_noise(eta, v):
    r, r_eta, r_v = at(eta, v)
    assert r >= 0.0
    assert r_v >= 0.0
    assert at(eta, 0.0)[0] == 0.0
    assert at(-eta, v) == [r, -r_eta, r_v] or eta == 0.0


def test_rounding_does_not_make_it_negative():
    etas = np.linspace(-20.0, 20.0, 4001)
    for v in (1e-18, 1e-17, 1e-16, 1e-15):
        assert maths.increase(etas, np.full_like(etas, v))[0].min() >= 0.0


@given(eta=st.floats(-20, 20), v=st.floats(0.01, 50))
def test_the_derivatives_agree_with_differences(eta, v):
    _, r_eta, r_v = at(eta, v)
    assert r_eta == pytest.approx(central_difference(lambda h: at(eta + h, v)[0], 1e-3), abs=1e-9)
    assert r_v == pytest.approx(central_difference(lambda h: at(eta, v + h)[0], 1e-3), abs=1e-8)


@pytest.mark.parametrize("call", [maths.noised_mean, maths.noised_mean.py_func], ids=["compiled", "python"])
def test_the_mean_under_noise_is_the_derivative_of_softplus_under_noise(call, rng):
    eta, v = rng.normal(scale=4.0, size=50), rng.uniform(0.0, 20.0, size=50)
    mean, slope = np.transpose([call(*one) for one in zip(eta, v, strict=True)])
    _, r_eta, r_v = maths.increase(eta, v)
    assert_allclose(mean, expit(eta) + r_eta, atol=1e-8)
    assert_allclose(slope, 2.0 * r_v, rtol=1e-12)  # E softplus'' is twice the derivative with respect to v
