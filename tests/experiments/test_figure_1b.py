"""Figure 1b: penalties along the path of a fit with exact dropout."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import LogisticRegression, load_dataset, noising_penalty
from dropglm.datasets import DatasetError
from dropglm.experiments import ExperimentRun
from dropglm.experiments.figures import Figure1b, athr_rows, measure_path, synthetic_rows, training_path
from tests.experiments.stored import page_without_fits, run_lines
from tests.oracles import enumerated, softplus

FIGURE = Figure1b()
SOLVER = {"dropout": 0.5, "tol": 1e-4, "max_iter": 150}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure-1b")
    return folder, run_lines("figure-1b", FIGURE, folder)


def test_results_are_those_of_the_coefficients_at_each_step():
    """Short rows, so that all masks can be enumerated."""
    rows = synthetic_rows(40, 0, words=30, length=6)
    path, objective = training_path(rows, l2=0.1, **SOLVER)
    result = measure_path(path, rows, dropout=0.5)
    X = rows.X.toarray()
    for k, (beta, b) in list(enumerate(path))[::4]:
        eta = X @ beta + b
        exact = enumerated(softplus, X, beta, intercept=b, dropout=0.5).sum()
        loss = np.sum(softplus(eta) - rows.y * eta)
        assert result["exact"][k] == pytest.approx(exact, rel=1e-8)
        assert result["loss"][k] == pytest.approx(loss)
        assert objective[k] == pytest.approx(loss + exact + 0.05 * beta @ beta)
        p = 1 / (1 + np.exp(-eta))
        assert result["confidence"][k] == pytest.approx(np.mean(np.maximum(p, 1 - p)))
        quadratic = noising_penalty(beta, X, dropout=0.5, expectation="quadratic", intercept=b)
        assert result["quadratic"][k] == pytest.approx(quadratic)
    assert len(path) == len(result["exact"]) > 8
    assert np.all(np.diff(objective) < 0)


def test_the_first_step_ignores_the_scales_of_the_features():
    """It is proportional to the gradient, for frequent and rare words alike."""
    rows = synthetic_rows(60, 1)
    path, _ = training_path(rows, l2=1.0, **SOLVER)
    first = path[0][0]
    gradient = rows.X.T @ (rows.y.mean() - rows.y)
    moved = np.abs(gradient) > 1e-9
    assert_allclose(first[moved] / gradient[moved], first[0] / gradient[0])
    assert first[0] * gradient[0] < 0


def test_the_path_ends_where_the_estimator_ends(stored):
    for line in stored[1]:
        X, y = synthetic_rows(line["parameters"]["rows"], 0)
        model = LogisticRegression(dropout=0.5, l2=line["parameters"]["l2"], expectation="exact").fit(X, y)
        assert line["result"]["objective"][-1] == pytest.approx(model.result_.objective, rel=1e-6)
        penalty = noising_penalty(
            model.coef_[0], X, dropout=0.5, expectation="exact", intercept=model.intercept_
        )
        assert line["result"]["exact"][-1] == pytest.approx(penalty, rel=1e-2)


def test_the_table_has_the_first_and_the_last_step(stored):
    for table, line in zip(FIGURE.tabulate(stored[1]), stored[1], strict=True):
        result = line["result"]
        assert line["method"] in table.title
        assert [row[0] for row in table.rows][:3] == ["step 1", "step 2", "step 4"]
        assert table.rows[-1][0] == f"step {len(result['exact'])}, the last"
        for row, k in ((table.rows[0], 0), (table.rows[2], 3), (table.rows[-1], -1)):
            exact, quadratic, gaussian = (result[name][k] for name in ("exact", "quadratic", "gaussian"))
            errors = [f"{100 * (value / exact - 1):+.1f}" for value in (quadratic, gaussian)]
            values = [f"{value:.2f}" for value in (exact, quadratic, gaussian)]
            assert row[1:] == [*values, *errors, f"{result['loss'][k]:.2f}", f"{result['confidence'][k]:.3f}"]


def test_the_page_is_made_without_fits(stored):
    text = page_without_fits("figure-1b", FIGURE, stored[0])
    assert text.count("<svg") == 4
    assert "relative error" in text


def test_a_run_without_the_data_set_says_so(tmp_path):
    def absent(name):
        raise DatasetError(f"{name} is not available.")

    messages = []
    ExperimentRun("figure-1b", Figure1b(load=absent), tmp_path).run(tell=messages.append)
    assert messages == ["athr is skipped: athr is not available."]


@pytest.mark.skipif("DROPGLM_DATA" not in os.environ, reason="DROPGLM_DATA is not set")
def test_on_athr_the_quadratic_penalty_falls_far_below_the_exact_one():
    """Close at the first step, far below once predictions are confident; the gaussian one stays close."""
    rows = athr_rows(load_dataset, 1000, 0)
    path, _ = training_path(rows, l2=0.01, **SOLVER | {"max_iter": 9})
    result = measure_path(path, rows, dropout=0.5)
    error = {name: np.array(result[name]) / result["exact"] - 1 for name in ("quadratic", "gaussian")}
    assert abs(error["quadratic"][0]) < 0.05
    assert error["quadratic"][-1] < -0.3
    assert np.all(np.abs(error["gaussian"]) < 0.1)
    assert result["confidence"][-1] > 0.95
