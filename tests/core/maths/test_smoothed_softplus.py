import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dropglm.core.maths.smoothed_softplus import increase
from tests.oracles import central_difference, integrated, softplus


def at(eta, v):
    return [float(part[0]) for part in increase(np.array([eta]), np.array([v]))]


@given(eta=st.floats(-50, 50), v=st.floats(0, 400))
def test_equals_adaptive_integration(eta, v):
    assert at(eta, v)[0] == pytest.approx(integrated(softplus, eta, v) - softplus(eta), abs=1e-8)


def test_equals_adaptive_integration_over_a_grid():
    etas = np.array([-50.0, -30.0, -15.02, -7.0, -2.0, -0.5, 0.0, 0.5, 2.0, 7.0, 15.02, 30.0, 50.0])
    for v in (1e-6, 1e-3, 0.1, 1.0, 5.0, 25.0, 100.0, 400.0):
        truth = [integrated(softplus, eta, v) - softplus(eta) for eta in etas]
        assert_allclose(increase(etas, np.full_like(etas, v))[0], truth, rtol=0, atol=1e-8)


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
        assert increase(etas, np.full_like(etas, v))[0].min() >= 0.0


@given(eta=st.floats(-20, 20), v=st.floats(0.01, 50))
def test_the_derivatives_agree_with_differences(eta, v):
    _, r_eta, r_v = at(eta, v)
    assert r_eta == pytest.approx(central_difference(lambda h: at(eta + h, v)[0], 1e-3), abs=1e-9)
    assert r_v == pytest.approx(central_difference(lambda h: at(eta, v + h)[0], 1e-3), abs=1e-8)
