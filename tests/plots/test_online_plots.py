import numpy as np
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose

from dropglm.plots import FisherDisplay, ProgressiveCurvesDisplay

CURVES = {"sgd": [[0.5, 0.6, 0.7], [0.5, 0.7, 0.8]], "adagrad": [[0.6, 0.7, 0.8], [0.6, 0.8, 0.9]]}


def test_curves_are_means_with_a_band_and_a_line_for_the_truth():
    display = ProgressiveCurvesDisplay([10, 20, 40], CURVES, best=0.95).plot()
    assert_allclose(display.ax_.lines[1].get_ydata(), [0.6, 0.75, 0.85])
    assert len(display.ax_.collections) == 2
    assert len(display.ax_.lines) == 3
    assert display.ax_.get_xscale() == "log"
    names = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert names == ["sgd", "adagrad", "true model"]


def test_a_single_run_has_no_band_and_colours_may_be_given():
    _, ax = plt.subplots(layout="constrained")
    one = {name: runs[:1] for name, runs in CURVES.items()}
    display = ProgressiveCurvesDisplay([10, 20, 40], one, colors={"adagrad": "black"}).plot(ax)
    assert display.ax_ is ax
    assert not ax.collections
    assert [line.get_color() for line in ax.lines] == ["#0072B2", "black"]


@pytest.mark.parametrize("given", [False, True])
def test_errors_fall_and_features_lie_on_the_line(given, rng):
    fisher, t = rng.random(5), np.array([10, 100, 1000])
    runs = fisher * (1 + rng.normal(size=(4, 3, 5)) / np.sqrt(t)[:, None])
    axes = [plt.subplots(layout="constrained")[1] for _ in range(2)] if given else None
    display = FisherDisplay(t, fisher, {"adagrad": runs, "dropout": runs}).plot(axes)
    error = np.abs(runs / fisher - 1)
    assert_allclose(display.ax_[0].lines[0].get_ydata(), [error[:, k].mean() for k in range(3)])
    assert_allclose(display.ax_[0].lines[1].get_ydata(), [error[:, k].max(axis=1).mean() for k in range(3)])
    assert_allclose(display.ax_[1].lines[0].get_ydata(), runs[:, -1].mean(axis=0))
    assert len(display.figure_.legends) == 1
