import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from dropglm import noising_penalty
from dropglm.core.families import Logistic
from dropglm.core.noise import Noise
from dropglm.core.penalties.exact import MAX_REACH, ExactLogistic
from tests.oracles import central_difference, enumerated, softplus

A = {"logistic": softplus, "poisson": np.exp}
DROPOUTS = (0.01, 0.1, 0.5, 0.9, 0.99)


def exact(beta, X, **settings):
    return noising_penalty(beta, X, expectation="exact", **settings)


@pytest.mark.parametrize("noise_std", [0.0, 0.6])
@pytest.mark.parametrize("dropout", DROPOUTS)
@pytest.mark.parametrize("family", A)
def test_equals_the_enumeration_of_all_masks(family, dropout, noise_std, rng):
    """Row by row, with up to 12 active features, dropout alone and both noises."""
    for m in (1, 2, 5, 12):
        X = rng.normal(size=(3, m))
        # The Poisson expectation grows like exp(η / (1 - δ)); keep it in a range where 1e-9 is meaningful.
        scale = 1.0 if family == "logistic" else 1.0 - dropout
        beta = scale * rng.normal(scale=0.5, size=m)
        noises = {"dropout": dropout, "noise_std": noise_std}
        truth = enumerated(A[family], X, beta, intercept=0.3, **noises)
        found = [exact(beta, x[None], family=family, intercept=0.3, **noises) for x in X]
        assert_allclose(found, truth, rtol=0, atol=1e-9)
        assert_allclose(exact(beta, X, family=family, intercept=0.3, **noises), truth.sum(), atol=1e-9)


@given(
    z=st.lists(st.floats(-5, 5), min_size=1, max_size=8),
    dropout=st.floats(0.01, 0.99),
    intercept=st.floats(-10, 10),
)
@settings(max_examples=60)
def test_equals_the_enumeration_for_any_row(z, dropout, intercept):
    X, beta = np.ones((1, len(z))), np.array(z)
    truth = enumerated(softplus, X, beta, intercept=intercept, dropout=dropout).sum()
    assert exact(beta, X, dropout=dropout, intercept=intercept) == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("dropout", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("reach", [0.5, 2.0, 7.0, 20.0, 40.0, 60.0, 200.0, 1000.0])
def test_nodes_follow_the_range_of_the_noised_predictor(reach, dropout, rng):
    """1e-8 a row while η̃ spreads to 60 and far beyond, to one side or to both."""
    for signs in (np.ones(12), rng.choice([-1.0, 1.0], size=12)):
        z = signs * rng.uniform(0.2, 1.0, size=12)
        z *= reach * (1.0 - dropout) / np.abs(z).sum()
        truth = enumerated(softplus, np.ones((1, 12)), z, dropout=dropout).sum()
        assert exact(z, np.ones((1, 12)), dropout=dropout) == pytest.approx(truth, abs=1e-8)


def test_a_predictor_out_of_range_is_an_error_that_names_the_row():
    X = np.diag([1.0, 2.0 * MAX_REACH])
    message = r"for row 1: .* reaches 47768.8, above the limit of 11942.2; .*use expectation='gaussian'"
    with pytest.raises(ValueError, match=message):
        exact([1.0, 1.0], X, dropout=0.5)
    assert exact([1.0, 1.0], X[:1], dropout=0.5) > 0.0


@pytest.mark.parametrize("noise_std", [0.1, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("intercept", [-50.0, -3.0, 0.0, 1.0, 50.0])
def test_additive_noise_alone_is_a_normal_integral(noise_std, intercept):
    truth = enumerated(softplus, [[1.0]], np.ones(1), intercept=intercept, noise_std=noise_std)
    found = exact([1.0], [[1.0]], noise_std=noise_std, intercept=intercept)
    # The trapezoid oracle is accurate to 1e-9 at a standard deviation of 20.
    assert found == pytest.approx(truth[0], abs=2e-9)


def test_factors_that_vanish_leave_the_gradient_finite():
    """With δ = ½ a feature's factor of the characteristic function has zeros."""
    step = 2 * np.pi / (4 * np.pi + 28.0)
    z = np.pi / (2 * step * np.array([1.0, 2.0, 3.0]))
    z *= 2 * np.pi / np.abs(z).sum()
    value, gradient = exact(z, np.ones((1, 3)), dropout=0.5, return_gradient=True)
    truth = enumerated(softplus, np.ones((1, 3)), z, dropout=0.5).sum()
    assert value == pytest.approx(truth, abs=1e-9)
    for j in range(3):
        slope = central_difference(
            lambda h, j=j: enumerated(softplus, np.ones((1, 3)), z + h * np.eye(3)[j], dropout=0.5).sum(),
            1e-3,
        )
        assert gradient[j] == pytest.approx(slope, abs=1e-9)


@pytest.mark.parametrize("family", A)
def test_the_gradient_at_a_zero_coefficient_is_correct(family, rng):
    """∂R/∂β_j = x_j (E A'(η̃) - A'(η)) where β_j = 0."""
    X, beta = rng.normal(size=(3, 4)), np.array([0.8, 0.0, -0.5, 0.0])
    _, gradient = exact(beta, X, family=family, dropout=0.4, return_gradient=True)
    for j in (1, 3):
        step = np.eye(4)[j]
        slope = central_difference(
            lambda h, step=step: enumerated(A[family], X, beta + h * step, dropout=0.4).sum(), 1e-3
        )
        assert gradient[j] == pytest.approx(slope, abs=1e-9)
        assert abs(slope) > 1e-3


@pytest.mark.parametrize(
    ("coef", "intercept", "dropout"),
    [
        ([-800.0], 0.0, 0.5),  # e^η underflows, its expectation does not
        ([-400.0, -400.0], 0.0, 0.5),
        ([-705.0], -30.0, 0.5),
        ([1e-9], 0.0, 0.5),  # the first order cancels, and the second is all there is
        ([1.3183984244425977e-08], 34.736788252250825, 0.027064759736136087),
        ([3e-5, -2e-4], 1.0, 0.99),
        ([0.3, -0.49], 0.0, 0.2),
    ],
)
def test_the_poisson_penalty_is_accurate_at_both_ends(coef, intercept, dropout):
    with mpmath.workdps(60):
        delta, b = mpmath.mpf(dropout), mpmath.mpf(intercept)
        factors = [delta + (1 - delta) * mpmath.exp(mpmath.mpf(z) / (1 - delta)) for z in coef]
        truth = mpmath.exp(b) * mpmath.fprod(factors) - mpmath.exp(b + mpmath.fsum(map(mpmath.mpf, coef)))
        truth = float(truth)
    found = exact(coef, np.ones((1, len(coef))), family="poisson", intercept=intercept, dropout=dropout)
    assert found == pytest.approx(truth, rel=1e-11, abs=0.0)


def test_long_rows_are_summed_without_overflow(rng):
    X = sparse.random_array((3, 5000), density=0.5, rng=rng, format="csr")
    beta = rng.normal(scale=0.02, size=5000)
    values = {
        expectation: noising_penalty(beta, X, dropout=0.5, expectation=expectation)
        for expectation in ("exact", "gaussian")
    }
    assert values["exact"] == pytest.approx(values["gaussian"], rel=1e-3)


def test_an_unsupported_noise_is_an_error():
    class Blur(Noise):
        relative = absolute = 1.0

        def sample(self, X, rng):
            return X

    with pytest.raises(ValueError, match="There is no exact penalty for Blur noise"):
        ExactLogistic(Logistic, Blur())
