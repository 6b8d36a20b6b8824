"""Objects are accepted where names are, so that extensions need no registry."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import LogisticRegression, LogisticRegressionCV, noising_penalty
from dropglm.core.families import Family, Logistic, Multinomial, Poisson
from dropglm.core.l2_weights import L2Weights
from dropglm.core.noise import Dropout, Gaussian, Noise, Together
from dropglm.core.penalties import EXPECTATIONS, Expectation, RowPenalty
from dropglm.linear import GeneralizedLinearRegressor
from tests.linear.test_fits import words
from tests.oracles import central_difference


@dataclass(frozen=True)
class Jitter(Noise):
    """Every entry is multiplied by 1 ± scale."""

    scale: float

    @property
    def relative(self):
        return self.scale**2

    @property
    def absolute(self):
        return 0.0

    def sample(self, X, rng):
        return X * (1.0 + self.scale * rng.choice([-1.0, 1.0], size=X.shape))


class Cosh(Family):
    """A(η) = cosh η, which no built-in family has."""

    log_partition = staticmethod(lambda eta: np.cosh(eta))
    mean = staticmethod(lambda eta: np.sinh(eta))
    variance = staticmethod(lambda eta: np.cosh(eta))
    third_cumulant = staticmethod(lambda eta: np.sinh(eta))
    natural_parameter = staticmethod(lambda mean: np.arcsinh(mean))
    conjugate = staticmethod(lambda y: y * np.arcsinh(y) - np.sqrt(1.0 + y * y))
    sample = staticmethod(lambda eta, rng: rng.normal(np.sinh(eta)))


class Halved(RowPenalty):
    """Half of the quadratic penalty."""

    def rows(self, eta, s2):
        A2, A3 = self.family.variance(eta), self.family.third_cumulant(eta)
        return 0.25 * A2 * s2, 0.25 * A3 * s2, 0.25 * A2


def test_a_noise_in_place_of_dropout_gives_the_penalty_of_its_variance(rng):
    X, beta = rng.normal(size=(7, 4)), rng.normal(size=4)
    found = noising_penalty(beta, X, dropout=Jitter(0.5), expectation="quadratic")
    same_variance = noising_penalty(beta, X, dropout=0.2, expectation="quadratic")  # δ/(1-δ) = ¼
    assert found == pytest.approx(same_variance)
    sampled = noising_penalty(
        beta, X, dropout=Jitter(0.1), expectation="monte_carlo", n_samples=4000, random_state=0
    )
    assert sampled == pytest.approx(noising_penalty(beta, X, dropout=Jitter(0.1)), rel=0.05)


def test_estimators_take_a_noise_in_place_of_dropout(rng):
    X, y = words(rng)
    expected = LogisticRegression(dropout=0.2, tol=1e-8).fit(X, y).coef_
    assert_allclose(LogisticRegression(dropout=Jitter(0.5), tol=1e-8).fit(X, y).coef_, expected, rtol=1e-6)
    assert_allclose(LogisticRegression(dropout=Dropout(0.2), tol=1e-8).fit(X, y).coef_, expected, rtol=1e-6)
    grid = (Jitter(0.1), Jitter(0.9))
    search = LogisticRegressionCV(dropout=grid, l2=1.0, l2_weights="uniform", cv=2).fit(X, y)
    assert search.dropout_ in grid
    assert [point["dropout"] for point in search.cv_results_["params"]] == [Jitter(0.9), Jitter(0.1)]
    with pytest.raises(ValueError, match="no exact penalty for Jitter noise; use expectation='monte_carlo'"):
        LogisticRegression(dropout=Jitter(0.5), expectation="exact").fit(X, y)


def test_a_new_family_has_the_penalties_that_need_nothing_but_the_family(rng):
    X, beta = 0.5 * rng.normal(size=(6, 3)), 0.5 * rng.normal(size=3)
    settings = {"family": Cosh, "dropout": 0.4, "expectation": "quadratic"}
    value, gradient = noising_penalty(beta, X, **settings, return_gradient=True)
    direction = rng.normal(size=3)
    slope = central_difference(lambda t: noising_penalty(beta + t * direction, X, **settings), 1e-4)
    assert gradient @ direction == pytest.approx(slope, rel=1e-6)
    s2 = 0.4 / 0.6 * (X**2) @ beta**2
    assert value == pytest.approx(0.5 * np.sum(np.cosh(X @ beta) * s2))
    with pytest.raises(ValueError, match="not available for the cosh family; use one of 'monte_carlo'"):
        noising_penalty(beta, X, family=Cosh, dropout=0.4)


def test_a_new_family_can_be_fitted(rng):
    class Model(GeneralizedLinearRegressor):
        family = Cosh

    X = rng.normal(size=(80, 2))
    y = np.sinh(0.3 + X @ [0.5, -0.4])
    model = Model(l2=0.0, tol=1e-9).fit(X, y)
    assert_allclose([model.intercept_, *model.coef_], [0.3, 0.5, -0.4], atol=1e-6)
    noised = Model(l2=0.0, dropout=0.3, expectation="quadratic").fit(X, y)
    assert np.abs(noised.coef_).sum() < np.abs(model.coef_).sum()


def test_a_penalty_class_or_an_expectation_in_place_of_its_name(rng):
    X, y = words(rng)
    beta = rng.normal(size=X.shape[1])
    half = noising_penalty(beta, X, dropout=0.5, expectation=Halved)
    assert half == pytest.approx(0.5 * noising_penalty(beta, X, dropout=0.5, expectation="quadratic"))
    named = LogisticRegression(expectation="quadratic", dropout=1 / 3, tol=1e-8).fit(X, y).coef_
    for given in (Halved, Expectation("halved", {Logistic: Halved})):
        found = LogisticRegression(expectation=given, dropout=0.5, tol=1e-8).fit(X, y).coef_
        assert_allclose(found, named, rtol=1e-3)
    assert EXPECTATIONS["quadratic"].penalty_class(Poisson).__name__ == "Quadratic"
    assert Expectation("halved", {Family: Halved}).penalty_class(Multinomial) is None


def test_l2_weights_may_be_a_rule(rng):
    X, y = words(rng)
    rule = L2Weights(lambda rows: np.full((rows[0].design.shape[1], rows[0].y.shape[1]), 3.0))
    expected = LogisticRegression(l2=3.0).fit(X, y).coef_
    assert_allclose(LogisticRegression(l2=1.0, l2_weights=rule).fit(X, y).coef_, expected, rtol=1e-6)
    search = LogisticRegressionCV(dropout=0.5, l2=1.0, l2_weights=["uniform", rule], cv=2).fit(X, y)
    assert [point["l2_weights"] for point in search.cv_results_["params"]] == ["uniform", rule]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Dropout(1.0), ValueError, r"dropout must be in \[0, 1\), got 1.0"),
        (lambda: Dropout(-0.5), ValueError, r"dropout must be in \[0, 1\)"),
        (lambda: Dropout("a"), TypeError, "dropout must be a number"),
        (lambda: Gaussian(np.nan), ValueError, "noise_std must be finite"),
    ],
)
def test_noise_objects_check_their_strength(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_combined_noise_equals_the_two_settings(rng):
    X, beta = rng.normal(size=(7, 4)), rng.normal(size=4)
    for expectation in ("exact", "gaussian", "quadratic"):
        both = noising_penalty(beta, X, dropout=0.5, noise_std=0.1, expectation=expectation)
        noise = Together((Dropout(0.5), Gaussian(0.1)))
        assert noising_penalty(beta, X, dropout=noise, expectation=expectation) == pytest.approx(both)


def test_a_grid_orders_rates_and_noises_by_strength(rng):
    class Unhashable(Jitter):
        __hash__ = None

    X, y = words(rng)
    grid = [Dropout(0.6), 0.8, Unhashable(0.1), 0.3]
    search = LogisticRegressionCV(dropout=grid, l2=1.0, l2_weights="uniform", cv=2).fit(X, y)
    order = [point["dropout"] for point in search.cv_results_["params"]]
    assert order == [0.8, Dropout(0.6), 0.3, Unhashable(0.1)]
