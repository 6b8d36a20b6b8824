import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropglm import noising_penalty
from tests.oracles import integrated, softplus


@given(eta=st.floats(-50, 50), s2=st.floats(1e-6, 400))
def test_the_logistic_penalty_is_the_normal_integral(eta, s2):
    found = noising_penalty([np.sqrt(s2)], [[0.0]], noise_std=1.0, intercept=eta)
    assert found == pytest.approx(integrated(softplus, eta, s2) - softplus(eta), abs=1e-8)


@given(eta=st.floats(-5, 5), s2=st.floats(1e-6, 9))
@settings(max_examples=50)
def test_the_poisson_penalty_is_the_normal_integral(eta, s2):
    found = noising_penalty([np.sqrt(s2)], [[0.0]], family="poisson", noise_std=1.0, intercept=eta)
    assert found == pytest.approx(integrated(np.exp, eta, s2) - np.exp(eta), rel=1e-9, abs=1e-12)


def test_the_poisson_penalty_at_a_very_negative_predictor():
    """e^{-840} underflows, e^{-840 + s²/2} does not: s² = 1600."""
    found = noising_penalty([-40.0], [[1.0]], family="poisson", intercept=-800.0, dropout=0.5)
    assert found == pytest.approx(np.exp(-40.0), rel=1e-12)


def test_the_poisson_penalty_is_accurate_for_small_noise():
    found = noising_penalty([1e-9], [[1.0]], family="poisson", dropout=0.5)
    assert found == pytest.approx(np.exp(1e-9) * 0.5e-18, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("family", ["logistic", "poisson"])
def test_the_gaussian_penalty_is_exact_for_additive_noise(family, rng):
    X, beta = rng.normal(size=(5, 4)), rng.normal(scale=0.4, size=4)
    values = [
        noising_penalty(beta, X, family=family, noise_std=0.8, expectation=expectation)
        for expectation in ("gaussian", "exact")
    ]
    assert values[0] == pytest.approx(values[1], abs=5 * 1e-8)


def test_the_gaussian_penalty_approaches_the_exact_one_as_features_are_added(rng):
    gaps = []
    for m in (4, 16, 64, 256):
        X = np.ones((1, m))
        beta = rng.choice([-1.0, 1.0], size=m) / np.sqrt(m)
        exact, gaussian = (
            noising_penalty(beta, X, dropout=0.5, expectation=expectation)
            for expectation in ("exact", "gaussian")
        )
        gaps.append(abs(gaussian - exact))
    assert gaps[-1] < 0.05 * gaps[0]
