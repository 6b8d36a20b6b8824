import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from dropglm.plots import LossExpansionDisplay, PenaltyCurvesDisplay, RidgeContoursDisplay
from tests.oracles import integrated, softplus

matplotlib.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_the_penalty_curves_are_the_penalties():
    display = PenaltyCurvesDisplay.from_probabilities([0.5, 0.9], noise_levels=[0.0, 0.7, 1.4])
    for k, p in enumerate((0.5, 0.9)):
        eta = np.log(p / (1 - p))
        truth = [integrated(softplus, eta, s * s) - softplus(eta) for s in display.noise_levels]
        assert_allclose(display.true[k], truth, atol=1e-8)
        assert_allclose(display.quadratic[k], 0.5 * p * (1 - p) * display.noise_levels**2)


def test_the_expansion_at_one_half_is_above_the_loss_and_the_confident_ones_fall_below():
    display = LossExpansionDisplay.from_probabilities()
    low, middle, high = display.expansions
    assert np.all(middle >= display.loss - 1e-12)
    assert np.mean(low < display.loss - 1e-12) > 0.5
    assert_allclose(high - display.eta, low[::-1], atol=1e-12)  # A(η) - η = A(-η)


def test_the_optima_minimise_likelihood_and_ridge(rng):
    root = rng.normal(size=(2, 2))
    display = RidgeContoursDisplay(root @ root.T, [2.0, 1.0], strength=0.7)
    for ridge, optimum in zip(display.ridges, display.optima, strict=True):

        def objective(beta, ridge=ridge):
            away = beta - display.peak
            return away @ display.information @ away + 0.7 * beta @ ridge @ beta

        assert_allclose(minimize(objective, np.zeros(2), tol=1e-12).x, optimum, atol=1e-5)


def test_the_information_comes_from_the_predictions(rng):
    X, coef = rng.normal(size=(50, 2)), np.array([1.0, -0.5])
    p = 1 / (1 + np.exp(-X @ coef))
    display = RidgeContoursDisplay.from_predictions(X, p, coef)
    assert_allclose(display.information, sum(q * (1 - q) * np.outer(x, x) for x, q in zip(X, p, strict=True)))


@pytest.mark.parametrize(
    "make", [PenaltyCurvesDisplay.from_probabilities, LossExpansionDisplay.from_probabilities]
)
def test_curves_are_drawn_on_given_or_on_new_axes(make):
    display = make().plot()
    assert len(display.ax_.lines) > 3
    assert display.ax_.get_xlabel()
    _, ax = plt.subplots()
    assert make().plot(ax=ax).ax_ is ax


def test_contours_are_drawn_on_given_or_on_new_axes():
    display = RidgeContoursDisplay(np.diag([1.0, 9.0]), np.array([2.0, 2.0]), strength=1.0)
    assert len(display.plot().axes_) == 2
    _, axes = plt.subplots(1, 2)
    assert display.plot(axes=axes).figure_ is axes[0].figure


def test_the_level_curves_pass_through_the_optimum():
    display = RidgeContoursDisplay(np.diag([1.0, 9.0]), np.array([2.0, 2.0]), strength=1.0).plot()
    for ax, ridge, optimum in zip(display.axes_, display.ridges, display.optima, strict=True):
        likelihood, penalty = (curves.levels for curves in ax.collections if hasattr(curves, "levels"))
        away = optimum - display.peak
        distances = np.array([0.5, 1.0, 1.5])
        assert_allclose(likelihood, distances**2 * (away @ display.information @ away))
        assert_allclose(penalty, distances**2 * (optimum @ ridge @ optimum))


def test_bad_probabilities_and_shapes_are_refused():
    for display in (PenaltyCurvesDisplay, LossExpansionDisplay):
        with pytest.raises(ValueError, match="between 0 and 1"):
            display.from_probabilities([0.5, 1.0])
    with pytest.raises(ValueError, match="two coefficients"):
        RidgeContoursDisplay(np.eye(3), np.ones(3), strength=1.0)


def test_without_matplotlib_the_error_says_what_to_install():
    code = """
import sys
sys.modules["matplotlib"] = None
from dropglm.plots import PenaltyCurvesDisplay
try:
    PenaltyCurvesDisplay.from_probabilities().plot()
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "pip install 'dropglm[plots]'" in run.stdout
