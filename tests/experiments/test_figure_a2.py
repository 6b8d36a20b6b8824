"""Figure A.2: plain and Fisher-scaled ridge penalty."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from dropglm.experiments.figures import FigureA2
from tests.experiments.stored import page_without_fits, run_lines
from tests.oracles import enumerated, softplus

FIGURE = FigureA2()


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure-a2")
    return folder, run_lines("figure-a2", FIGURE, folder)


def test_stored_estimate_maximises_the_likelihood_and_information_is_its_curvature(stored):
    (line,) = stored[1]
    X, y = FIGURE.draw_rows(0)
    peak = np.array(line["result"]["peak"])
    p = 1 / (1 + np.exp(-X @ peak))
    assert_allclose(X.T @ (p - y), 0, atol=1e-3)
    assert_allclose(line["result"]["information"], (X.T * (p * (1 - p))) @ X)


def test_the_table_has_the_minima_of_both_penalised_likelihoods(stored):
    (line,), (table,) = stored[1], FIGURE.tabulate(stored[1])
    peak, information = (np.array(line["result"][name]) for name in ("peak", "information"))
    diagonal = np.diag(information)
    for row, weights in zip(table.rows[1:3], (np.full(2, diagonal.mean()), diagonal), strict=True):

        def objective(beta, weights=weights):
            return (beta - peak) @ information @ (beta - peak) + weights @ beta**2

        best = minimize(objective, np.zeros(2), tol=1e-12).x
        expected = [*best, *(best / peak), np.linalg.norm(best - peak)]
        assert_allclose([float(cell) for cell in row[1:]], expected, atol=6e-4)


def test_the_optimum_of_dropout_is_close_to_that_of_the_noised_loss(stored):
    """Only close: the library's default treats the noise as Gaussian, and there are only two features."""
    (line,) = stored[1]
    X, y = FIGURE.draw_rows(0)

    def noised(beta):
        eta = X @ beta
        return np.sum(softplus(eta) - y * eta + enumerated(softplus, X, beta, dropout=0.5))

    found = np.array(line["result"]["dropout"])
    best = minimize(noised, found, method="Nelder-Mead", options={"maxiter": 40}).x
    assert_allclose(found, best, rtol=0.1)


def test_the_claim_of_the_paper_holds(stored):
    """The scaled ridge shrinks both coefficients alike, the plain one does not; dropout is in between."""
    _, plain, scaled, dropout = (
        [float(cell) for cell in row[3:5]] for row in FIGURE.tabulate(stored[1])[0].rows
    )
    uneven = [max(left) / min(left) for left in (scaled, dropout, plain)]
    assert uneven == sorted(uneven)
    assert uneven[0] < 1.1
    assert uneven[2] > 2


def test_the_page_is_made_without_fits(stored):
    text = page_without_fits("figure-a2", FIGURE, stored[0])
    assert text.count("<svg") == 2
    assert "Fisher-scaled ridge" in text
