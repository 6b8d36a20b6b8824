import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dropglm.core.families import FAMILIES, Logistic, Multinomial
from tests.oracles import central_difference

SCALAR = {name: family for name, family in FAMILIES.items() if not family.several}

# The textbook formulas, safe in 50 digits.
TEXTBOOK = {
    "linear": lambda x: (x * x / 2, x, mpmath.mpf(1), mpmath.mpf(0)),
    "logistic": lambda x: (
        mpmath.log(1 + mpmath.exp(x)),
        1 / (1 + mpmath.exp(-x)),
        mpmath.exp(-x) / (1 + mpmath.exp(-x)) ** 2,
        mpmath.exp(-x) * (mpmath.exp(-x) - 1) / (1 + mpmath.exp(-x)) ** 3,
    ),
    "poisson": lambda x: (mpmath.exp(x),) * 4,
}
LARGEST = float(np.finfo(float).max)
SMALLEST = float(np.finfo(float).tiny)


def ladder(family, eta):
    return family.log_partition(eta), family.mean(eta), family.variance(eta), family.third_cumulant(eta)


@pytest.mark.parametrize("name", SCALAR)
def test_every_derivative_is_accurate_wherever_it_can_be_represented(name):
    points = np.concatenate([[0.0], np.geomspace(1e-6, 1e4, 60), -np.geomspace(1e-6, 1e4, 60)])
    values = np.array(ladder(SCALAR[name], points))
    truth = []
    for x in points:
        with mpmath.workdps(60 + int(abs(x))):  # enough digits for log(1 + e^-10000)
            truth.append(TEXTBOOK[name](mpmath.mpf(float(x))))
    for column, quadruple in enumerate(truth):
        for row, exact in enumerate(quadruple):
            size = abs(exact)
            if size == 0 or SMALLEST < size < LARGEST:
                assert_allclose(
                    values[row, column], float(exact), rtol=5e-15, err_msg=f"A^({row})({points[column]})"
                )
            elif size <= SMALLEST:
                assert abs(values[row, column]) <= SMALLEST
            else:
                assert values[row, column] == np.inf


@pytest.mark.parametrize("name", SCALAR)
def test_each_derivative_is_the_slope_of_the_one_before(name):
    family = SCALAR[name]
    for eta in np.linspace(-6, 6, 25):
        for lower, upper in (("log_partition", "mean"), ("mean", "variance"), ("variance", "third_cumulant")):
            slope = central_difference(lambda h: getattr(family, lower)(np.array(eta + h)), 1e-3)
            assert_allclose(getattr(family, upper)(np.array(eta)), slope, rtol=1e-8, atol=1e-9)


def test_each_multinomial_derivative_is_the_slope_of_the_one_before(rng):
    eta = rng.normal(scale=2.0, size=(5, 4))
    for k in range(4):
        direction = np.eye(4)[k]
        for lower, upper in (("log_partition", "mean"), ("mean", "variance"), ("variance", "third_cumulant")):
            slope = central_difference(lambda h: getattr(Multinomial, lower)(eta + h * direction), 1e-3)
            assert_allclose(getattr(Multinomial, upper)(eta)[..., k], slope, rtol=1e-8, atol=1e-9)


def test_the_multinomial_family_with_two_classes_equals_the_logistic_family(rng):
    x = np.concatenate([rng.normal(scale=5.0, size=50), [-1e4, -700.0, 700.0, 1e4]])
    eta = np.stack([np.zeros_like(x), x], axis=1)
    assert_allclose(Multinomial.log_partition(eta), Logistic.log_partition(x), rtol=1e-14)
    assert_allclose(Multinomial.mean(eta)[:, 1], Logistic.mean(x), rtol=1e-14)
    assert_allclose(Multinomial.variance(eta)[:, 1, 1], Logistic.variance(x), rtol=1e-13)
    assert_allclose(
        Multinomial.third_cumulant(eta)[:, 1, 1, 1], Logistic.third_cumulant(x), rtol=1e-12, atol=1e-15
    )


def test_the_multinomial_family_at_extreme_predictors():
    eta = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]])
    assert_allclose(Multinomial.log_partition(eta), [1e4, -1e4 + np.log(3)])
    assert_allclose(Multinomial.mean(eta), [[1, 0, 0], [1 / 3] * 3])


@pytest.mark.parametrize("name", SCALAR)
def test_samples_have_the_mean_and_the_variance(name, rng):
    family, n = SCALAR[name], 200_000
    for eta in (-1.0, 0.0, 1.5):
        y = family.sample(np.full(n, eta), rng)
        mean, variance = family.mean(np.array(eta)), family.variance(np.array(eta))
        assert abs(y.mean() - mean) < 5 * np.sqrt(variance / n)
        assert_allclose(y.var(), variance, rtol=0.05)


def test_samples_of_the_multinomial_have_its_frequencies(rng):
    eta, n = np.array([0.5, -1.0, 1.5]), 200_000
    counts = np.bincount(Multinomial.sample(np.tile(eta, (n, 1)), rng), minlength=3)
    p = Multinomial.mean(eta)
    assert np.all(np.abs(counts / n - p) < 5 * np.sqrt(p * (1 - p) / n))


def test_the_natural_parameter_inverts_the_mean():
    p = np.array([1e-300, 1e-9, 0.05, 0.5, 0.95, 1 - 1e-9])
    assert_allclose(Logistic.mean(Logistic.natural_parameter(p)), p, rtol=1e-13)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_natural_parameter_inverts_the_mean_of_every_family(name, rng):
    eta = rng.normal(size=(4, 3))
    eta -= eta.mean(axis=1, keepdims=True)  # all that a multinomial mean can tell
    assert_allclose(FAMILIES[name].natural_parameter(FAMILIES[name].mean(eta)), eta, atol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_conjugate_is_the_supremum_of_y_eta_minus_a(name, rng):
    """So the loss A - yη + A* is 0 at η = natural_parameter(y) and positive elsewhere."""
    family = FAMILIES[name]
    eta = rng.normal(size=(4, 3))
    y = family.mean(eta)

    def loss(eta):
        product = (y * eta).sum(axis=-1) if family.several else y * eta
        return family.log_partition(eta) - product + family.conjugate(y)

    assert_allclose(loss(eta), 0.0, atol=1e-12)
    assert np.all(loss(eta + rng.normal(size=(4, 3))) > 0.0)


def test_the_conjugate_of_certain_labels_is_zero():
    assert_array_equal(Logistic.conjugate(np.array([0.0, 1.0])), [0.0, 0.0])
    assert_array_equal(Multinomial.conjugate(np.eye(3)), np.zeros(3))
    assert_allclose(FAMILIES["poisson"].conjugate(np.array([0.0, 1.0, 3.0])), [0.0, -1.0, 3 * np.log(3) - 3])


@pytest.mark.parametrize("name", FAMILIES)
def test_own_variance_is_the_diagonal_of_the_variance(name, rng):
    eta = rng.normal(size=(4, 3))
    variance = FAMILIES[name].variance(eta)
    diagonal = variance[:, range(3), range(3)] if FAMILIES[name].several else variance
    assert_allclose(FAMILIES[name].own_variance(eta), diagonal, rtol=1e-13)


@pytest.mark.parametrize("name", SCALAR)
def test_float32_stays_float32(name):
    for part in ladder(SCALAR[name], np.float32([-2.0, 0.0, 3.0])):
        assert part.dtype == np.float32
