"""What each display shows, compared with independent computations."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.exceptions import NotFittedError

from dropglm import Blocks, LogisticRegression, LogisticRegressionCV, PerBlock, TextClassifier
from dropglm.plots import (
    ConvergenceDisplay,
    CVSurfaceDisplay,
    FisherDisplay,
    LossExpansionDisplay,
    NgramWeightsDisplay,
    PenaltyCurvesDisplay,
    PenaltyPathDisplay,
    ProgressiveCurvesDisplay,
    RidgeContoursDisplay,
)
from tests.oracles import enumerated, integrated, softplus

CURVES = {"sgd": [[0.5, 0.6, 0.7], [0.5, 0.7, 0.8]], "adagrad": [[0.6, 0.7, 0.8], [0.6, 0.8, 0.9]]}


def test_penalty_curves_equal_the_integrated_penalties():
    display = PenaltyCurvesDisplay.from_probabilities([0.5, 0.9], noise_levels=[0.0, 0.7, 1.4])
    for k, p in enumerate((0.5, 0.9)):
        eta = np.log(p / (1 - p))
        truth = [integrated(softplus, eta, s * s) - softplus(eta) for s in display.noise_levels]
        assert_allclose(display.true[k], truth, atol=1e-8)
        assert_allclose(display.quadratic[k], 0.5 * p * (1 - p) * display.noise_levels**2)


def test_penalties_along_a_path_equal_those_of_its_coefficients(rng):
    X = rng.normal(size=(5, 4))
    path = [(rng.normal(scale=scale, size=4), b) for scale, b in ((0.2, 0.1), (1.0, -0.4), (2.0, 0.3))]
    display = PenaltyPathDisplay.from_path(path, X, dropout=0.3)
    exact = [enumerated(softplus, X, beta, intercept=b, dropout=0.3).sum() for beta, b in path]
    assert_allclose(display.exact, exact, atol=1e-9)
    for (beta, b), value in zip(path, display.approximations["quadratic"], strict=True):
        p = 1 / (1 + np.exp(-b - X @ beta))
        assert value == pytest.approx(0.5 * 0.3 / 0.7 * np.sum((p * (1 - p))[:, None] * (X * beta) ** 2))
    penalties, errors = display.ax_
    assert_allclose(penalties.lines[0].get_ydata(), exact, atol=1e-9)
    assert_allclose(errors.lines[-1].get_ydata(), display.approximations["gaussian"] / display.exact - 1)
    _, axes = plt.subplots(1, 2)
    assert display.plot(ax=axes).figure_ is axes[0].figure


def test_expansion_at_one_half_is_above_the_loss_and_confident_ones_fall_below_it():
    display = LossExpansionDisplay.from_probabilities()
    low, middle, high = display.expansions
    assert np.all(middle >= display.loss - 1e-12)
    assert np.mean(low < display.loss - 1e-12) > 0.5
    assert_allclose(high - display.eta, low[::-1], atol=1e-12)  # A(η) - η = A(-η)


def test_optima_minimise_likelihood_plus_ridge(rng):
    root = rng.normal(size=(2, 2))
    display = RidgeContoursDisplay(root @ root.T, [2.0, 1.0], strength=0.7)
    for ridge, optimum in zip(display.ridges, display.optima, strict=True):

        def objective(beta, ridge=ridge):
            away = beta - display.peak
            return away @ display.information @ away + 0.7 * beta @ ridge @ beta

        assert_allclose(minimize(objective, np.zeros(2), tol=1e-12).x, optimum, atol=1e-5)


def test_information_is_computed_from_the_predictions(rng):
    X, coef = rng.normal(size=(50, 2)), np.array([1.0, -0.5])
    p = 1 / (1 + np.exp(-X @ coef))
    display = RidgeContoursDisplay.from_predictions(X, p, coef)
    assert_allclose(display.information, sum(q * (1 - q) * np.outer(x, x) for x, q in zip(X, p, strict=True)))


@pytest.mark.parametrize(
    "make", [PenaltyCurvesDisplay.from_probabilities, LossExpansionDisplay.from_probabilities]
)
def test_curves_are_drawn_on_given_or_new_axes(make):
    display = make()
    assert len(display.ax_.lines) > 3
    assert display.ax_.get_xlabel()
    _, ax = plt.subplots()
    assert make(ax=ax).ax_ is ax


def test_contours_are_drawn_on_given_or_new_axes():
    display = RidgeContoursDisplay(np.diag([1.0, 9.0]), np.array([2.0, 2.0]), strength=1.0)
    assert len(display.plot().ax_) == 2
    _, axes = plt.subplots(1, 2)
    assert display.plot(ax=axes).figure_ is axes[0].figure


def test_level_curves_pass_through_the_optimum():
    display = RidgeContoursDisplay(np.diag([1.0, 9.0]), np.array([2.0, 2.0]), strength=1.0).plot()
    for ax, ridge, optimum in zip(display.ax_, display.ridges, display.optima, strict=True):
        likelihood, penalty = (curves.levels for curves in ax.collections if hasattr(curves, "levels"))
        away = optimum - display.peak
        distances = np.array([0.5, 1.0, 1.5])
        assert_allclose(likelihood, distances**2 * (away @ display.information @ away))
        assert_allclose(penalty, distances**2 * (optimum @ ridge @ optimum))


def test_convergence_is_drawn_for_every_problem(rng):
    X = rng.normal(size=(60, 4))
    for y, curves in ((X[:, 0] > 0, 1), (X[:, :3].argmax(axis=1), 3)):
        model = LogisticRegression().fit(X, y)
        display = ConvergenceDisplay.from_estimator(model)
        objective, gradient = display.ax_
        assert (len(objective.lines), len(gradient.lines)) == (curves, curves + 1)  # including the tolerance
        assert_allclose(gradient.lines[0].get_ydata(), display.results[0].history.gradient_norm)
        assert objective.get_yscale() == gradient.get_yscale() == "log"
    _, axes = plt.subplots(1, 2)
    assert display.plot(ax=axes).figure_ is axes[0].figure
    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(LogisticRegression())


def test_cv_surface_shows_the_scores_and_marks_the_chosen_cell(rng):
    X = (rng.random((80, 6)) < 0.5).astype(float)
    y = X[:, 0] + X[:, 1] + rng.random(80) > 1.2
    model = LogisticRegressionCV(dropout=(0.2, 0.6), l2=(1.0, 10.0, 0.1), cv=2, extend_l2=False).fit(X, y)
    display = CVSurfaceDisplay.from_estimator(model)
    assert_allclose(display.l2s, [0.1, 1.0, 10.0])
    for params, score in zip(model.cv_results_["params"], model.cv_results_["mean_test_score"], strict=True):
        if params["l2_weights"] == model.l2_weights_:
            a, b = (0.2, 0.6).index(params["dropout"]), (0.1, 1.0, 10.0).index(params["l2"])
            assert display.scores[a, b] == score
    assert display.scores.max() == model.cv_results_["mean_test_score"].max()
    assert len(display.ax_.texts) == 6
    (frame,) = display.ax_.patches
    centre = np.array(frame.get_xy()) + 0.46
    assert_allclose(
        centre, [list(display.l2s).index(model.l2_), list(display.dropouts).index(model.dropout_)]
    )
    _, ax = plt.subplots()
    assert display.plot(ax=ax).ax_ is ax


def test_bad_probabilities_and_shapes_are_refused():
    for display in (PenaltyCurvesDisplay, LossExpansionDisplay):
        with pytest.raises(ValueError, match="between 0 and 1"):
            display.from_probabilities([0.5, 1.0])
    with pytest.raises(ValueError, match="two coefficients"):
        RidgeContoursDisplay(np.eye(3), np.ones(3), strength=1.0)


def test_error_without_matplotlib_says_what_to_install():
    code = """
import sys
sys.modules["matplotlib"] = None
from dropglm.plots import PenaltyCurvesDisplay
try:
    PenaltyCurvesDisplay.from_probabilities()
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "pip install 'dropglm[plots]'" in run.stdout


def test_bars_equal_the_weights():
    texts = ["a fine $5 film", "a bad_ film", "fine $5", "bad_"]
    model = TextClassifier((1, 1), tune=False).fit(texts, ["<good>", "$bad$"] * 2)
    display = NgramWeightsDisplay.from_estimator(model, "<good>", 2)
    top = sorted(model.top_features(2)["<good>"], key=lambda entry: -entry.weight)
    assert list(display.ngrams) == [entry.ngram for entry in top]
    assert_allclose([bar.get_width() for bar in display.ax_.patches], display.weights)
    why = model.explain("a fine bad_ film")
    display = NgramWeightsDisplay.from_explanation(why)
    shown = why.supporting + why.opposing
    assert list(display.ngrams) == [entry.ngram for entry in shown]
    assert_allclose([bar.get_width() for bar in display.ax_.patches], [entry.weight for entry in shown])
    for bar, label in zip(display.bars_, display.labels, strict=True):
        assert (bar.get_width() > 0) == (label == why.label)
    display.figure_.canvas.draw()  # a dollar sign is not a formula
    display = NgramWeightsDisplay(["_", "b"], [1.0, 2.0], ["_x", "y"], ["_x", "y"]).plot()
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["_", "b"]
    assert [text.get_text() for text in display.figure_.legends[0].get_texts()] == ["for _x", "for y"]
    with pytest.raises(ValueError, match="label 'other' is not a class"):
        NgramWeightsDisplay.from_estimator(model, "other")
    with pytest.raises(NotFittedError):
        NgramWeightsDisplay.from_estimator(TextClassifier(), 1)


def test_curves_are_means_with_bands_and_a_line_for_the_true_model():
    display = ProgressiveCurvesDisplay([10, 20, 40], CURVES, best=0.95).plot()
    assert_allclose(display.ax_.lines[1].get_ydata(), [0.6, 0.75, 0.85])
    assert len(display.ax_.collections) == 2
    assert len(display.ax_.lines) == 3
    assert display.ax_.get_xscale() == "log"
    names = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert names == ["sgd", "adagrad", "true model"]


def test_a_single_run_has_no_band_and_takes_the_given_color():
    _, ax = plt.subplots(layout="constrained")
    one = {name: runs[:1] for name, runs in CURVES.items()}
    display = ProgressiveCurvesDisplay([10, 20, 40], one, colors={"adagrad": "black"}).plot(ax)
    assert display.ax_ is ax
    assert not ax.collections
    assert [line.get_color() for line in ax.lines] == ["#0072B2", "black"]


@pytest.mark.parametrize("given", [False, True])
def test_curves_equal_the_errors_and_points_the_last_estimates(given, rng):
    fisher, t = rng.random(5), np.array([10, 100, 1000])
    runs = fisher * (1 + rng.normal(size=(4, 3, 5)) / np.sqrt(t)[:, None])
    axes = [plt.subplots(layout="constrained")[1] for _ in range(2)] if given else None
    display = FisherDisplay(t, fisher, {"adagrad": runs, "dropout": runs}).plot(axes)
    error = np.abs(runs / fisher - 1)
    assert_allclose(display.ax_[0].lines[0].get_ydata(), [error[:, k].mean() for k in range(3)])
    assert_allclose(display.ax_[0].lines[1].get_ydata(), [error[:, k].max(axis=1).mean() for k in range(3)])
    assert_allclose(display.ax_[1].lines[0].get_ydata(), runs[:, -1].mean(axis=0))
    assert len(display.figure_.legends) == 1


def test_the_cv_surface_of_blocks_shows_the_dropout_of_the_first(rng):
    X, y = rng.random((60, 3)), np.arange(60) % 2
    model = LogisticRegressionCV(
        dropout=[PerBlock(0.5, 0.0), PerBlock(0.2, 0.0), PerBlock(0.3, 0.1)],
        noise_std=[0.0, PerBlock(0.0, 0.2)],
        l2=(1.0, 0.1),
        l2_weights="uniform",
        extend_l2=False,
        cv=2,
    ).fit(Blocks(X, X), y)
    display = CVSurfaceDisplay.from_estimator(model)
    alike = [
        rate for rate, other in [(0.2, 0.0), (0.3, 0.1), (0.5, 0.0)] if other == model.dropout_.values[1]
    ]
    assert display.dropouts.tolist() == alike
    assert display.scores.shape == (len(alike), 2)
    assert np.nanmax(display.scores) == model.best_score_
