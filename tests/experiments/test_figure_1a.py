"""Figure 1a: true and quadratic penalty of one row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm.experiments.figures import Figure1a
from tests.experiments.stored import page_without_fits, run_lines
from tests.oracles import integrated, softplus

FIGURE = Figure1a()


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure-1a")
    return folder, run_lines("figure-1a", FIGURE, folder)


def test_stored_curves_equal_the_integrals(stored):
    (line,) = stored[1]
    for k, p in enumerate(FIGURE.probabilities):
        eta = np.log(p / (1 - p))
        for m in (0, 7, 20, 60):
            sigma = line["parameters"]["levels"][m]
            true = integrated(softplus, eta, sigma**2) - softplus(eta)
            assert line["result"]["true"][k][m] == pytest.approx(true, abs=2e-8)
            assert line["result"]["quadratic"][k][m] == pytest.approx(0.5 * p * (1 - p) * sigma**2)


def test_the_table_has_the_ratios_at_the_levels_in_its_header(stored):
    (table,) = FIGURE.tabulate(stored[1])
    assert table.header[1:] == ["σ = 0.25", "σ = 0.5", "σ = 1", "σ = 1.5"]
    for row, p in zip(table.rows, FIGURE.probabilities, strict=True):
        eta = np.log(p / (1 - p))
        assert row[0] == f"p = {p:g}"
        for cell, sigma in zip(row[1:], FIGURE.shown_levels, strict=True):
            true = integrated(softplus, eta, sigma**2) - softplus(eta)
            assert float(cell) == pytest.approx(0.5 * p * (1 - p) * sigma**2 / true, abs=6e-4)


def test_the_claim_of_the_paper_holds(stored):
    """Too large near p = ½ and too small for the most confident, at every noise level."""
    (line,) = stored[1]
    ratio = np.array(line["result"]["quadratic"])[:, 1:] / np.array(line["result"]["true"])[:, 1:]
    assert np.all(ratio[0] > 1)
    assert np.all(ratio[-1] < 1)
    assert_allclose(ratio[:, :10], 1, atol=0.02)  # close to 1 if there is little noise


def test_the_page_is_made_without_fits(stored):
    text = page_without_fits("figure-1a", FIGURE, stored[0])
    assert text.count("<svg") == 1
    assert "noise level" in text
