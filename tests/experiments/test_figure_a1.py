"""Expansions of the logistic loss."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm.experiments import EXPERIMENTS, figure_a1
from tests.experiments.made import lines_of, page_of

FIGURE = EXPERIMENTS["figure-a1"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure-a1")
    return folder, lines_of("figure-a1", FIGURE, folder)


def test_the_stored_expansions_touch_the_loss_to_second_order(made):
    """Value, slope and curvature of each stored parabola, found from three points, are A, A' and A''."""
    (line,) = made[1]
    eta = np.array(line["parameters"]["eta"])
    assert_allclose(line["result"]["loss"], np.log(1 + np.exp(eta)))
    for p, curve in zip(figure_a1.PROBABILITIES, line["result"]["expansions"], strict=True):
        quadratic = np.polynomial.Polynomial.fit(eta[[0, 60, 120]], np.array(curve)[[0, 60, 120]], 2)
        assert_allclose(quadratic(eta), curve, atol=1e-12)
        place = np.log(p / (1 - p))
        found = quadratic(place), quadratic.deriv()(place), quadratic.deriv(2)(place)
        assert_allclose(found, (-np.log(1 - p), p, p * (1 - p)), atol=1e-10)


def test_the_table_counts_both_sides(made):
    (line,), (table,) = made[1], FIGURE.collect(made[1])
    for row, curve in zip(table.rows, line["result"]["expansions"], strict=True):
        above = np.subtract(curve, line["result"]["loss"])
        shares = [100 * np.mean(above > 1e-9), 100 * np.mean(above < -1e-9)]
        assert_allclose([float(cell) for cell in row[1:3]], shares, atol=0.051)
        assert_allclose([float(cell) for cell in row[3:]], [above.max(), -min(above.min(), 0)], atol=6e-4)


def test_the_papers_statement_holds(made):
    """At p = ½ never below the loss; at p = 0.05 and 0.95 below it over most of the range, alike."""
    low, middle, high = ([float(cell) for cell in row[1:]] for row in FIGURE.collect(made[1])[0].rows)
    assert middle[1] == middle[3] == 0
    assert low == high
    assert low[1] > 50


def test_it_is_drawn_without_a_fit(made):
    text = page_of("figure-a1", FIGURE, made[0])
    assert text.count("<svg") == 1
    assert "at p = 0.95" in text
