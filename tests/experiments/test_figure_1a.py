"""The true and the quadratic penalty of one row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm.experiments import EXPERIMENTS, figure_1a
from tests.experiments.made import lines_of, page_of
from tests.oracles import integrated, softplus

FIGURE = EXPERIMENTS["figure-1a"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure-1a")
    return folder, lines_of("figure-1a", FIGURE, folder)


def test_the_stored_curves_are_the_integrals(made):
    (line,) = made[1]
    for k, p in enumerate(figure_1a.PROBABILITIES):
        eta = np.log(p / (1 - p))
        for m in (0, 7, 20, 60):
            sigma = line["parameters"]["levels"][m]
            true = integrated(softplus, eta, sigma**2) - softplus(eta)
            assert line["result"]["true"][k][m] == pytest.approx(true, abs=2e-8)
            assert line["result"]["quadratic"][k][m] == pytest.approx(0.5 * p * (1 - p) * sigma**2)


def test_the_table_has_the_ratios_at_the_levels_that_it_names(made):
    (table,) = FIGURE.collect(made[1])
    assert table.header[1:] == ["σ = 0.25", "σ = 0.5", "σ = 1", "σ = 1.5"]
    for row, p in zip(table.rows, figure_1a.PROBABILITIES, strict=True):
        eta = np.log(p / (1 - p))
        assert row[0] == f"p = {p:g}"
        for cell, sigma in zip(row[1:], figure_1a.TABLED, strict=True):
            true = integrated(softplus, eta, sigma**2) - softplus(eta)
            assert float(cell) == pytest.approx(0.5 * p * (1 - p) * sigma**2 / true, abs=6e-4)


def test_the_papers_statement_holds(made):
    """Too large near p = ½, too small for the most confident, at every level of noise."""
    (line,) = made[1]
    ratio = np.array(line["result"]["quadratic"])[:, 1:] / np.array(line["result"]["true"])[:, 1:]
    assert np.all(ratio[0] > 1)
    assert np.all(ratio[-1] < 1)
    assert_allclose(ratio[:, :10], 1, atol=0.02)  # and near for little noise


def test_it_is_drawn_without_a_fit(made):
    text = page_of("figure-1a", FIGURE, made[0])
    assert text.count("<svg") == 1
    assert "noise level" in text
