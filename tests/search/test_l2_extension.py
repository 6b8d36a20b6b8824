"""A search tries values of l2 beyond its grid as long as the one at the edge is clearly the best."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import LogisticRegressionCV
from dropglm.core.l2_weights import L2_WEIGHTS
from dropglm.places.candidate_fits import Candidate, FitPath
from dropglm.search.search import beyond_edge
from tests.linear.test_fits import words


def separable(rng):
    """Rows whose labels follow from few of the features: the smaller l2, the better."""
    X, _ = words(rng, n=200)
    return X, (X[:, 0] > X[:, 1] - 0.5).astype(int)


def noise(rng):
    """Rows that say nothing about their labels: the larger l2, the better."""
    return rng.normal(size=(60, 30)), np.arange(60) % 2


SETTINGS = {"dropout": 0.0, "l2_weights": "uniform", "cv": 4}


def tried(model):
    return [float(l2) for l2 in model.cv_results_["param_l2"]]


def test_a_search_goes_on_to_a_tenth_of_the_smallest_value(rng):
    X, y = separable(rng)
    model = LogisticRegressionCV(**SETTINGS, l2=(30.0, 10.0)).fit(X, y)
    assert_allclose(tried(model), [30.0, 10.0, 10.0 / 3.0, 10.0 / 9.0])
    assert model.l2_ == pytest.approx(10.0 / 9.0)
    assert model.l2_at_edge_
    for column in model.cv_results_.values():
        assert len(column) == 4
    assert_allclose(tried(LogisticRegressionCV(**SETTINGS, l2=(100.0, 10.0)).fit(X, y)), [100.0, 10.0, 1.0])
    assert model.best_estimator_.l2 == model.l2_ == model.cv_results_["param_l2"][model.best_index_]


def test_every_step_beyond_the_edge_starts_from_the_one_before(rng, monkeypatch):
    X, y = separable(rng)
    starts, create = [], FitPath.__init__

    def recorded(self, rows, candidates, fold, problem_number, first):
        starts.append((candidates[0].params["l2"], first))
        create(self, rows, candidates, fold, problem_number, first)

    monkeypatch.setattr(FitPath, "__init__", recorded)
    LogisticRegressionCV(**SETTINGS, l2=(30.0, 10.0)).fit(X, y)
    beyond = [first for l2, first in starts if l2 < 10.0]
    assert len(beyond) == 8  # two steps, four folds
    assert all(first is not None for first in beyond)


def test_it_goes_on_upwards_only_if_predictors_are_not_scaled(rng):
    X, y = noise(rng)
    grid = {"l2": (0.1, 1.0), **SETTINGS}
    model = LogisticRegressionCV(**grid, calibrate=False).fit(X, y)
    assert_allclose(tried(model), [1.0, 0.1, 10.0])
    assert model.l2_ >= 10.0
    assert tried(LogisticRegressionCV(**grid).fit(X, y)) == [1.0, 0.1]


@pytest.mark.parametrize("calibrate", [False, True])
def test_without_extension_only_the_given_values_are_tried(calibrate, rng):
    X, y = separable(rng)
    model = LogisticRegressionCV(**SETTINGS, l2=(30.0, 10.0), extend_l2=False, calibrate=calibrate).fit(X, y)
    assert tried(model) == [30.0, 10.0]
    assert model.l2_ == 10.0
    assert model.l2_at_edge_


def test_one_value_and_a_best_value_inside_the_grid_are_not_at_the_edge(rng):
    X, y = separable(rng)
    model = LogisticRegressionCV(**SETTINGS, l2=30.0).fit(X, y)
    assert tried(model) == [30.0]
    assert not model.l2_at_edge_
    X, y = words(rng, n=100)
    model = LogisticRegressionCV(**SETTINGS, l2=(1e3, 1.0, 1e-3), calibrate=False).fit(X, y)
    assert tried(model) == [1e3, 1.0, 1e-3]
    assert model.l2_ == 1.0
    assert not model.l2_at_edge_


def test_the_edge_is_that_of_the_best_other_settings(rng):
    """Values beyond the edge are tried with the best dropout and l2_weights only."""
    X, y = separable(rng)
    grid = {"dropout": (0.5, 0.0), "l2": (30.0, 10.0), "l2_weights": ("uniform", "naive_bayes"), "cv": 4}
    model = LogisticRegressionCV(**grid).fit(X, y)
    more = model.cv_results_["params"][8:]
    assert 1 <= len(more) <= 2
    for params in more:
        assert params["l2"] < 10.0
    again = {name: model.best_params_[name] for name in ("dropout", "l2_weights")}
    assert {name: more[-1][name] for name in again} == again


def candidates(*values):
    return [Candidate({"l2": l2}, None, L2_WEIGHTS["uniform"], 0, 0.0) for l2 in values]


@pytest.mark.parametrize(
    ("values", "best", "limits", "expected"),
    [
        ((10.0, 1.0, 0.5), 2, (0.0, 100.0), [0.25]),
        ((10.0, 1.0, 0.5), 0, (0.0, 100.0), [100.0]),
        ((10.0, 1.0, 0.5), 0, (0.0, 10.0), []),
        ((10.0, 1.0, 0.5), 2, (0.3, 100.0), []),
        ((10.0, 1.0, 0.5), 1, (0.0, 100.0), []),
        ((10.0,), 0, (0.0, 100.0), []),
        ((1.0, 0.0), 1, (0.0, 100.0), []),
    ],
)
def test_the_next_value_continues_the_last_ratio(values, best, limits, expected):
    grid = candidates(*values)
    scores = np.zeros((len(grid), 3))
    scores[best] = 1.0, 1.1, 0.9
    found = beyond_edge(grid, scores, best, limits)
    assert_allclose([one.params["l2"] for one in found], expected)


def test_gains_within_one_standard_error_are_not_pursued():
    grid = candidates(10.0, 1.0)
    # The mean gain is 0.1, and its standard error 0.1 or 0.2 over √3.
    for spread, further in ((0.1, True), (0.2, False)):
        scores = np.array([[0.0] * 3, [0.1 - spread * np.sqrt(1.5), 0.1, 0.1 + spread * np.sqrt(1.5)]])
        assert bool(beyond_edge(grid, scores, 1)) == further
