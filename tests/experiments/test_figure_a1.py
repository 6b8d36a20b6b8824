"""Figure A.1: expansions of the logistic loss."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm.experiments.figures import FigureA1
from tests.experiments.stored import page_without_fits, run_lines

FIGURE = FigureA1()


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure-a1")
    return folder, run_lines("figure-a1", FIGURE, folder)


def test_stored_expansions_agree_with_the_loss_to_second_order(stored):
    """Value, slope and curvature of each parabola, computed from three points, are A, A' and A''."""
    (line,) = stored[1]
    eta = np.array(line["parameters"]["eta"])
    assert_allclose(line["result"]["loss"], np.log(1 + np.exp(eta)))
    for p, curve in zip(FIGURE.probabilities, line["result"]["expansions"], strict=True):
        quadratic = np.polynomial.Polynomial.fit(eta[[0, 60, 120]], np.array(curve)[[0, 60, 120]], 2)
        assert_allclose(quadratic(eta), curve, atol=1e-12)
        place = np.log(p / (1 - p))
        found = quadratic(place), quadratic.deriv()(place), quadratic.deriv(2)(place)
        assert_allclose(found, (-np.log(1 - p), p, p * (1 - p)), atol=1e-10)


def test_the_table_has_shares_above_and_below(stored):
    (line,), (table,) = stored[1], FIGURE.tabulate(stored[1])
    for row, curve in zip(table.rows, line["result"]["expansions"], strict=True):
        above = np.subtract(curve, line["result"]["loss"])
        shares = [100 * np.mean(above > 1e-9), 100 * np.mean(above < -1e-9)]
        assert_allclose([float(cell) for cell in row[1:3]], shares, atol=0.051)
        assert_allclose([float(cell) for cell in row[3:]], [above.max(), -min(above.min(), 0)], atol=6e-4)


def test_the_claim_of_the_paper_holds(stored):
    """At p = ½ never below the loss; at p = 0.05 and 0.95 equally often, and mostly, below it."""
    low, middle, high = ([float(cell) for cell in row[1:]] for row in FIGURE.tabulate(stored[1])[0].rows)
    assert middle[1] == middle[3] == 0
    assert low == high
    assert low[1] > 50


def test_the_page_is_made_without_fits(stored):
    text = page_without_fits("figure-a1", FIGURE, stored[0])
    assert text.count("<svg") == 1
    assert "at p = 0.95" in text
