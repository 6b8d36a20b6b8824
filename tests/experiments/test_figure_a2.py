"""The plain and the Fisher-scaled ridge."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from dropglm.experiments import EXPERIMENTS, figure_a2
from tests.experiments.made import lines_of, page_of
from tests.oracles import enumerated, softplus

FIGURE = EXPERIMENTS["figure-a2"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure-a2")
    return folder, lines_of("figure-a2", FIGURE, folder)


def test_the_stored_estimate_is_the_most_likely_and_the_information_its_curvature(made):
    (line,) = made[1]
    X, y = figure_a2.rows(0)
    peak = np.array(line["result"]["peak"])
    p = 1 / (1 + np.exp(-X @ peak))
    assert_allclose(X.T @ (p - y), 0, atol=1e-3)
    assert_allclose(line["result"]["information"], (X.T * (p * (1 - p))) @ X)


def test_the_table_has_the_minima_of_both_sums(made):
    (line,), (table,) = made[1], FIGURE.collect(made[1])
    peak, information = (np.array(line["result"][name]) for name in ("peak", "information"))
    diagonal = np.diag(information)
    for row, weights in zip(table.rows[1:3], (np.full(2, diagonal.mean()), diagonal), strict=True):

        def objective(beta, weights=weights):
            return (beta - peak) @ information @ (beta - peak) + weights @ beta**2

        best = minimize(objective, np.zeros(2), tol=1e-12).x
        expected = [*best, *(best / peak), np.linalg.norm(best - peak)]
        assert_allclose([float(cell) for cell in row[1:]], expected, atol=6e-4)


def test_the_optimum_of_dropout_is_near_that_of_the_noised_loss(made):
    """Two features are few, and the library's default takes their noise for normal."""
    (line,) = made[1]
    X, y = figure_a2.rows(0)

    def noised(beta):
        eta = X @ beta
        return np.sum(softplus(eta) - y * eta + enumerated(softplus, X, beta, dropout=0.5))

    found = np.array(line["result"]["dropout"])
    best = minimize(noised, found, method="Nelder-Mead", options={"maxiter": 40}).x
    assert_allclose(found, best, rtol=0.1)


def test_the_papers_statement_holds(made):
    """The scaled ridge leaves as much of both coefficients, the plain one does not; dropout is between."""
    _, plain, scaled, dropout = (
        [float(cell) for cell in row[3:5]] for row in FIGURE.collect(made[1])[0].rows
    )
    uneven = [max(left) / min(left) for left in (scaled, dropout, plain)]
    assert uneven == sorted(uneven)
    assert uneven[0] < 1.1
    assert uneven[2] > 2


def test_it_is_drawn_without_a_fit(made):
    text = page_of("figure-a2", FIGURE, made[0])
    assert text.count("<svg") == 2
    assert "Fisher-scaled ridge" in text
