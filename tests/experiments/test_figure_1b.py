"""Penalties along the path of a fit with exact dropout."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import LogisticRegression, noising_penalty
from dropglm.datasets import DatasetError
from dropglm.experiments import EXPERIMENTS, figure_1b, run
from tests.experiments.made import lines_of, page_of
from tests.oracles import enumerated, softplus

FIGURE = EXPERIMENTS["figure-1b"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure-1b")
    return folder, lines_of("figure-1b", FIGURE, folder)


def test_what_is_stored_is_that_of_the_coefficients_at_each_step(monkeypatch):
    """Short rows, whose masks can be counted."""
    monkeypatch.setattr(figure_1b, "WORDS", 30)
    monkeypatch.setattr(figure_1b, "LENGTH", 6)
    penalties_along, seen = figure_1b.penalties_along, []

    def watched(path, X, **settings):
        seen.extend(path)
        return penalties_along(path, X, **settings)

    monkeypatch.setattr(figure_1b, "penalties_along", watched)
    rows = figure_1b.made_up_rows(40, 0)
    result = figure_1b.path(rows, l2=0.1)
    X = rows.X.toarray()
    for k, (beta, b) in list(enumerate(seen))[::4]:
        eta = X @ beta + b
        exact = enumerated(softplus, X, beta, intercept=b, dropout=0.5).sum()
        loss = np.sum(softplus(eta) - rows.y * eta)
        assert result["exact"][k] == pytest.approx(exact, rel=1e-8)
        assert result["loss"][k] == pytest.approx(loss)
        assert result["objective"][k] == pytest.approx(loss + exact + 0.05 * beta @ beta)
        p = 1 / (1 + np.exp(-eta))
        assert result["confidence"][k] == pytest.approx(np.mean(np.maximum(p, 1 - p)))
        quadratic = noising_penalty(beta, X, dropout=0.5, expectation="quadratic", intercept=b)
        assert result["quadratic"][k] == pytest.approx(quadratic)
    assert len(seen) == len(result["exact"]) > 8
    assert np.all(np.diff(result["objective"]) < 0)


def test_the_first_step_knows_nothing_of_the_features_scales(monkeypatch):
    """Frequent and rare words alike go as far as their gradients say."""
    rows, seen, made = figure_1b.made_up_rows(60, 1), [], figure_1b.penalties_along

    def keep(path, X, **settings):
        seen.append(path[0][0])
        return made(path, X, **settings)

    monkeypatch.setattr(figure_1b, "penalties_along", keep)
    figure_1b.path(rows, l2=1.0)
    gradient = rows.X.T @ (rows.y.mean() - rows.y)
    moved = np.abs(gradient) > 1e-9
    assert_allclose(seen[0][moved] / gradient[moved], seen[0][0] / gradient[0])
    assert seen[0][0] * gradient[0] < 0


def test_the_path_ends_where_the_estimator_ends(made):
    for line in made[1]:
        X, y = figure_1b.made_up_rows(line["parameters"]["rows"], 0)
        model = LogisticRegression(dropout=0.5, l2=line["parameters"]["l2"], expectation="exact").fit(X, y)
        assert line["result"]["objective"][-1] == pytest.approx(model.result_.objective, rel=1e-6)
        penalty = noising_penalty(
            model.coef_[0], X, dropout=0.5, expectation="exact", intercept=model.intercept_
        )
        assert line["result"]["exact"][-1] == pytest.approx(penalty, rel=1e-2)


def test_the_table_has_the_first_and_the_last_step(made):
    for table, line in zip(FIGURE.collect(made[1]), made[1], strict=True):
        result = line["result"]
        assert line["method"] in table.title
        assert [row[0] for row in table.rows][:3] == ["step 1", "step 2", "step 4"]
        assert table.rows[-1][0] == f"step {len(result['exact'])}, the last"
        for row, k in ((table.rows[0], 0), (table.rows[2], 3), (table.rows[-1], -1)):
            exact, quadratic, gaussian = (result[name][k] for name in ("exact", "quadratic", "gaussian"))
            errors = [f"{100 * (value / exact - 1):+.1f}" for value in (quadratic, gaussian)]
            values = [f"{value:.2f}" for value in (exact, quadratic, gaussian)]
            assert row[1:] == [*values, *errors, f"{result['loss'][k]:.2f}", f"{result['confidence'][k]:.3f}"]


def test_it_is_drawn_without_a_fit(made):
    text = page_of("figure-1b", FIGURE, made[0])
    assert text.count("<svg") == 4
    assert "relative error" in text


def test_a_run_without_the_data_set_says_so(tmp_path, monkeypatch):
    def absent(name):
        raise DatasetError(f"{name} cannot be had.")

    monkeypatch.setattr(figure_1b, "load_dataset", absent)
    figure_1b.athr_rows.cache_clear()
    told = []
    run("figure-1b", FIGURE, tmp_path, tell=told.append)
    assert told == ["athr is left out: athr cannot be had."]


@pytest.mark.skipif("DROPGLM_DATA" not in os.environ, reason="DROPGLM_DATA is not set")
def test_on_athr_the_quadratic_penalty_leaves_the_exact_one_behind(monkeypatch):
    """Near it at the first step, far below it when predictions have become confident; the gaussian stays."""
    monkeypatch.setattr(figure_1b, "MAX_ITER", 9)
    result = figure_1b.path(figure_1b.athr_rows(1000, 0), l2=0.01)
    error = {name: np.array(result[name]) / result["exact"] - 1 for name in ("quadratic", "gaussian")}
    assert abs(error["quadratic"][0]) < 0.05
    assert error["quadratic"][-1] < -0.3
    assert np.all(np.abs(error["gaussian"]) < 0.1)
    assert result["confidence"][-1] > 0.95
