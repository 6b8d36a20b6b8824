"""The paper's statements, each as a test."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import noising_penalty
from dropglm.core.families import FAMILIES
from tests.oracles import enumerated, integrated, softplus

CURVATURE = {name: FAMILIES[name].variance for name in ("linear", "logistic", "poisson")}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.7)
    return X, rng.normal(scale=0.6, size=4)


@pytest.fixture
def normalised(data):
    """Σ_i x_ij² = 1 for every feature, as the paper's table of penalty forms assumes."""
    X, beta = data
    return X / np.sqrt((X**2).sum(axis=0)), beta


def test_the_noised_loss_is_the_loss_plus_a_penalty_without_labels(data):
    """E loss(x̃, y) - loss(x, y) is R for every y."""
    X, beta = data
    R = noising_penalty(beta, X, dropout=0.4, expectation="exact")
    for y in (0.0, 1.0, 0.3):
        increase = enumerated(lambda eta, y=y: softplus(eta) - y * eta, X, beta, dropout=0.4).sum()
        assert increase == pytest.approx(R, abs=1e-9)


@pytest.mark.parametrize("expectation", ["quadratic", "gaussian", "exact"])
def test_the_quadratic_penalty_is_exact_for_the_linear_family(expectation, data):
    X, beta = data
    truth = enumerated(lambda eta: 0.5 * eta**2, X, beta, dropout=0.4, noise_std=0.3).sum()
    assert noising_penalty(
        beta, X, family="linear", dropout=0.4, noise_std=0.3, expectation=expectation
    ) == pytest.approx(truth)


def test_additive_noise_on_linear_regression_is_ridge(data):
    X, beta = data
    truth = 0.5 * 0.7**2 * len(X) * (beta @ beta)
    assert noising_penalty(beta, X, family="linear", noise_std=0.7) == pytest.approx(truth)


def test_additive_noise_on_logistic_regression_weighs_ridge_by_uncertainty(data):
    X, beta = data
    p = 1 / (1 + np.exp(-X @ beta))
    truth = 0.5 * 0.7**2 * (beta @ beta) * (p * (1 - p)).sum()
    assert noising_penalty(beta, X, noise_std=0.7, expectation="quadratic") == pytest.approx(truth)


@pytest.mark.parametrize("family", CURVATURE)
def test_the_dropout_penalty_is_ridge_scaled_by_the_fisher_information(family, data):
    """R^q(β) = ½ · δ/(1-δ) · βᵀ diag(XᵀV(β)X) β."""
    X, beta = data
    delta = 0.4
    V = np.diag(CURVATURE[family](X @ beta))
    truth = 0.5 * delta / (1 - delta) * beta @ np.diag(np.diag(X.T @ V @ X)) @ beta
    found = noising_penalty(beta, X, family=family, dropout=delta, expectation="quadratic")
    assert found == pytest.approx(truth, rel=1e-12)


# The table "Form of the different regularization schemes", up to its constants ½σ² and ½δ/(1-δ).
FORMS = {
    ("additive", "linear"): lambda X, beta, p: len(X) * (beta @ beta),
    ("additive", "logistic"): lambda X, beta, p: (beta @ beta) * np.sum(p * (1 - p)),
    ("additive", "poisson"): lambda X, beta, p: (beta @ beta) * np.trace(np.diag(np.exp(X @ beta))),
    ("dropout", "linear"): lambda X, beta, p: beta @ beta,
    ("dropout", "logistic"): lambda X, beta, p: np.sum((p * (1 - p))[:, None] * X**2 * beta**2),
    ("dropout", "poisson"): lambda X, beta, p: (
        beta @ np.diag(np.diag(X.T @ np.diag(np.exp(X @ beta)) @ X)) @ beta
    ),
}


@pytest.mark.parametrize(("noise", "family"), FORMS)
def test_every_entry_of_the_table_of_penalty_forms(noise, family, normalised):
    X, beta = normalised
    p = 1 / (1 + np.exp(-X @ beta))
    noises = {"additive": {"noise_std": 1.0}, "dropout": {"dropout": 0.5}}[noise]
    found = noising_penalty(beta, X, family=family, expectation="quadratic", **noises)
    assert 2 * found == pytest.approx(FORMS[noise, family](X, beta, p), rel=1e-12)


def test_on_linear_regression_all_schemes_are_the_ridge_of_the_table(normalised):
    """The table's L2 row: with normalised columns dropout is λ‖β‖² and additive noise is nλ‖β‖²."""
    X, beta = normalised
    ridge = 0.5 * (beta @ beta)
    assert noising_penalty(beta, X, family="linear", dropout=0.5) == pytest.approx(ridge)
    assert noising_penalty(beta, X, family="linear", noise_std=1.0) == pytest.approx(len(X) * ridge)


@pytest.mark.parametrize("s2", [0.25, 1.0, 4.0, 9.0])
def test_the_quadratic_penalty_overestimates_uncertain_rows_and_underestimates_confident_ones(s2):
    def penalties(p):
        eta = np.log(p / (1 - p))
        settings = {"noise_std": 1.0, "intercept": eta}
        true = integrated(softplus, eta, s2) - softplus(eta)
        quadratic = noising_penalty([np.sqrt(s2)], [[0.0]], expectation="quadratic", **settings)
        return true, quadratic

    true, quadratic = penalties(0.5)
    assert quadratic > true
    for p in (0.01, 0.001, 0.999):
        true, quadratic = penalties(p)
        assert quadratic < true


@pytest.mark.parametrize("family", ["logistic", "poisson"])
@pytest.mark.parametrize("expectation", ["gaussian", "exact"])
@pytest.mark.parametrize("noises", [{"dropout": 0.5}, {"noise_std": 0.7}, {"dropout": 0.9, "noise_std": 0.3}])
def test_the_noised_objective_is_convex(expectation, family, noises, rng):
    """Midpoint test on random pairs; the term with the labels is linear and does not matter."""
    A = FAMILIES[family].log_partition
    scale = 3.0 if family == "logistic" else 0.2
    for _ in range(40):
        X = rng.normal(size=(3, 5)) * (rng.random((3, 5)) < 0.6)

        def objective(beta, X=X):
            return A(X @ beta).sum() + noising_penalty(
                beta, X, family=family, expectation=expectation, **noises
            )

        one, other = scale * rng.normal(size=(2, 5))
        mean = 0.5 * (objective(one) + objective(other))
        assert objective(0.5 * (one + other)) <= mean + 3e-8 + 1e-12 * abs(mean)


def test_the_quadratic_objective_is_not_convex():
    """On one row with x = 1 and δ = 0.9, the penalty decreases again when the prediction is confident."""

    def objective(beta):
        loss = softplus(beta) - beta
        return loss + noising_penalty([beta], [[1.0]], dropout=0.9, expectation="quadratic")

    assert objective(4.0) > 0.5 * (objective(1.0) + objective(7.0)) + 0.01
    assert objective(60.0) < 1e-20  # the hole: the global minimum is at infinity


def test_the_true_objective_does_not_vanish_at_infinity():
    """If the only feature is dropped, the loss is log 2 however large the coefficient."""

    def objective(beta, expectation):
        return softplus(beta) - beta + noising_penalty([beta], [[1.0]], dropout=0.9, expectation=expectation)

    assert objective(60.0, "exact") == pytest.approx(0.9 * np.log(2.0))
    assert objective(60.0, "gaussian") > objective(10.0, "gaussian") > objective(1.0, "gaussian")


def test_the_scaling_of_the_authors_code_gives_the_same_objective(data):
    """Keeping features with probability q unscaled and weights w is our noise with β = q·w."""
    X, w = data
    q = 0.6
    kept_unscaled = enumerated(softplus, X, q * w, dropout=1 - q) + softplus(q * (X @ w))
    plain = softplus(X @ (q * w)).sum() + noising_penalty(q * w, X, dropout=1 - q, expectation="exact")
    assert_allclose(kept_unscaled.sum(), plain, atol=1e-9)
