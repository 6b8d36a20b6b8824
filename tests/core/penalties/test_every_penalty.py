"""Properties of every entry of the registries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm.base import threads
from dropglm.core.families import FAMILIES
from dropglm.core.penalties import EXPECTATIONS
from tests.core.penalties.cases import CASES, build, coefficients, evaluate
from tests.oracles import central_difference
from tests.storages import DESIGNS, binary, real


def test_every_penalty_supports_dropout_and_gaussian_noise():
    for name, expectation in EXPECTATIONS.items():
        for family in FAMILIES:
            for noise in ("dropout", "gaussian", "both"):
                known = expectation.penalty_class(FAMILIES[family]) is not None
                assert (f"{name} {family} {noise}" in CASES) == known
    assert len(CASES) == 3 * (4 + 3 + 3 + 4)


@pytest.mark.parametrize("make", [real, binary])
@pytest.mark.parametrize("storage", DESIGNS)
@pytest.mark.parametrize("name", CASES)
def test_gradient_is_the_slope_of_the_value(name, storage, make, rng):
    """∇R·v equals the central difference of R along v, in the coefficients and in the intercept."""
    design = DESIGNS[storage](make(rng))
    penalty, K = build(name)
    (beta, direction), (b, shift) = coefficients(rng, design.shape[1], K)
    weights = rng.uniform(0.0, 2.0, size=design.shape[0])

    def value(h):
        return penalty.value(design, beta + h * direction, b + h * shift, weights)

    _, slopes = penalty.value_and_gradient(design, beta, b, weights)
    along = np.vdot(slopes.beta, direction) + np.vdot(slopes.intercept, shift)
    assert slopes.beta.shape == beta.shape
    assert slopes.intercept.shape == (K,)
    assert_allclose(along, central_difference(value, 1e-3), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("make", [real, binary])
@pytest.mark.parametrize("name", CASES)
def test_every_storage_gives_the_same_result(name, make, rng):
    X = make(rng)
    _, K = build(name)
    (beta, _), (b, _) = coefficients(rng, X.shape[1], K)
    value, slopes = evaluate(name, DESIGNS["dense"](X), beta, b)
    for storage in DESIGNS:
        other, other_slopes = evaluate(name, DESIGNS[storage](X), beta, b)
        assert_allclose(other, value, rtol=1e-12)
        assert_allclose(other_slopes.beta, slopes.beta, rtol=1e-11, atol=1e-13)
        # float32 has 7 digits
        single = DESIGNS[storage](X.astype(np.float32))
        other, other_slopes = evaluate(name, single, beta.astype(np.float32), b)
        assert other_slopes.beta.dtype == np.float32
        assert_allclose(other, value, rtol=1e-5)
        assert_allclose(other_slopes.beta, slopes.beta, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_threads_change_only_the_rounding(name, rng, monkeypatch):
    monkeypatch.setattr(threads.even_pieces, "__defaults__", (40,))
    X = real(rng, n=40, d=12)
    _, K = build(name)
    (beta, _), (b, _) = coefficients(rng, 12, K)
    one, two = DESIGNS["by columns"](X), DESIGNS["by columns"](X)
    two.threads = 2
    value, slopes = evaluate(name, one, beta, b)
    other, other_slopes = evaluate(name, two, beta, b)
    assert_allclose(other, value, rtol=1e-13)
    assert_allclose(other_slopes.beta, slopes.beta, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in CASES if "monte_carlo" not in name])
def test_a_weight_of_two_equals_a_repeated_row(name, rng):
    X = real(rng)
    _, K = build(name)
    (beta, _), (b, _) = coefficients(rng, X.shape[1], K)
    counts = np.array([1, 2, 0, 3, 1, 2, 1])
    weighted = evaluate(name, DESIGNS["csr"](X), beta, b, counts.astype(float))
    repeated = evaluate(name, DESIGNS["csr"](np.repeat(X, counts, axis=0)), beta, b)
    assert_allclose(weighted[0], repeated[0], rtol=1e-12)
    assert_allclose(weighted[1].beta, repeated[1].beta, rtol=1e-11, atol=1e-13)
    assert_allclose(weighted[1].intercept, repeated[1].intercept, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", [name for name in CASES if "monte_carlo" not in name])
def test_the_penalty_is_never_negative(name, rng):
    X = real(rng, n=1)
    _, K = build(name)
    for scale in (1e-6, 0.1, 1.0, 10.0):
        for _ in range(20):
            (beta, _), (b, _) = coefficients(rng, X.shape[1], K)
            # Rounding error: the exact logistic penalty is a sum of 30 to 200 terms.
            assert evaluate(name, DESIGNS["dense"](X), scale * beta, b)[0] >= -1e-11


@pytest.mark.parametrize("name", CASES)
def test_the_penalty_is_zero_at_zero_coefficients(name, rng):
    X = real(rng)
    _, K = build(name)
    value, slopes = evaluate(name, DESIGNS["csr"](X), np.zeros((6, K)), np.full(K, 0.3))
    assert value == pytest.approx(0.0, abs=1e-11)
    if "monte_carlo" not in name:
        assert_allclose(slopes.beta, 0.0, atol=1e-11)
