import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import noising_penalty
from dropglm.core.families import Multinomial
from tests.storages import real

NOISES = [{"dropout": 0.4}, {"noise_std": 0.6}, {"dropout": 0.4, "noise_std": 0.6}]


@pytest.mark.parametrize("noises", NOISES)
@pytest.mark.parametrize("expectation", ["quadratic", "monte_carlo"])
def test_the_multinomial_family_with_two_classes_equals_the_logistic_family(expectation, noises, rng):
    """Both draw the same copies, so even the sampled penalties agree."""
    X, beta = real(rng), rng.normal(size=6)
    settings = {
        "expectation": expectation,
        "random_state": 0,
        "n_samples": 50,
        "return_gradient": True,
        **noises,
    }
    value, gradient = noising_penalty(beta, X, family="logistic", intercept=0.4, **settings)
    coef = np.stack([np.zeros(6), beta])
    two, two_gradient = noising_penalty(coef, X, family="multinomial", intercept=[0.0, 0.4], **settings)
    assert two == pytest.approx(value, rel=1e-10)
    assert_allclose(two_gradient[1], gradient, rtol=1e-9, atol=1e-10)
    if expectation == "quadratic":  # in a sample the classes' slopes only cancel on average
        assert_allclose(two_gradient[0], -gradient, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("noises", NOISES)
def test_the_quadratic_penalty_is_half_the_trace_of_curvature_and_covariance(noises, rng):
    """½ Σ_i tr(A''(η_i) Cov[η̃_i]), with the matrices written out."""
    X, coef, b = real(rng), rng.normal(size=(4, 6)), rng.normal(size=4)
    delta, sigma = noises.get("dropout", 0.0), noises.get("noise_std", 0.0)
    truth = 0.0
    for x in X:
        covariance = coef @ np.diag(delta / (1 - delta) * x**2 + sigma**2) @ coef.T
        truth += 0.5 * np.trace(Multinomial.variance(coef @ x + b) @ covariance)
    found = noising_penalty(coef, X, family="multinomial", expectation="quadratic", intercept=b, **noises)
    assert found == pytest.approx(truth, rel=1e-12)


def test_a_constant_added_to_all_classes_changes_nothing(rng):
    X, coef = real(rng), rng.normal(size=(3, 6))
    settings = {"family": "multinomial", "expectation": "quadratic", "dropout": 0.5}
    moved = noising_penalty(coef + rng.normal(size=6), X, **settings)
    assert moved == pytest.approx(noising_penalty(coef, X, **settings), rel=1e-10)
