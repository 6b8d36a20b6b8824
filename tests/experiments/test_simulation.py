"""The simulation study."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import LogisticRegression
from dropglm.experiments import EXPERIMENTS, simulation
from tests.experiments.made import lines_of, page_of

SIMULATION = EXPERIMENTS["simulation"]
RUNS = 3


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulation")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "RUNS_QUICK", RUNS)
        patch.setattr(simulation, "MAX_ITER", 30)
        return folder, lines_of("simulation", SIMULATION, folder)


def column(table, heading, nth=0):
    place = [k for k, name in enumerate(table.header) if name == heading][nth]
    return {row[0]: row[place] for row in table.rows}


def accuracies(model):
    """Of an estimator over active and over all rows, run by run."""
    found = []
    for run in range(RUNS):
        rows = simulation.drawn(np.random.default_rng(run))
        right = model.fit(rows.X, rows.y).predict(rows.X_test) == rows.y_test
        useful = (rows.X_test[:, :50] != 0).any(axis=1)
        found.append((right[useful].mean(), right.mean()))
    return np.array(found)


def test_the_tables_have_what_the_estimators_give_beside_the_papers_numbers(made):
    models = {
        "ridge, λ = 32": LogisticRegression(dropout=0.0, l2=32.0, fit_intercept=False),
        "gaussian": LogisticRegression(dropout=0.9, l2=0.0, fit_intercept=False),
    }
    paper = {"ridge, λ = 32": (0.66, 0.53), "gaussian": (0.73, 0.55)}
    scores = {name: accuracies(model) for name, model in models.items()}
    gain = scores["gaussian"] - scores["ridge, λ = 32"]
    for k, table in enumerate(SIMULATION.collect(made[1])[:2]):
        assert ("active", "all")[k] in table.title
        for name, found in scores.items():
            mean, error = found[:, k].mean(), found[:, k].std(ddof=1) / np.sqrt(RUNS)
            assert column(table, "ours")[name] == f"{mean:.3f}"
            assert column(table, "±")[name] == f"{error:.3f}"
            assert column(table, "paper")[name] == f"{paper[name][k]:.2f}"
            assert column(table, "gap")[name] == f"{mean - paper[name][k]:+.3f}"
        assert column(table, "gain")["gaussian"] == f"{gain[:, k].mean():+.3f}"
        assert column(table, "±", 1)["gaussian"] == f"{gain[:, k].std(ddof=1) / np.sqrt(RUNS):.3f}"
        assert column(table, "paper's gain")["gaussian"] == ("+0.07", "+0.02")[k]
        assert column(table, "gain")["ridge, λ = 32"] == "-"


def test_the_truth_is_what_the_labels_were_drawn_from(made):
    truth = [line["result"] for line in made[1] if line["method"] == "the truth"]
    for run, result in enumerate(truth):
        rows = simulation.drawn(np.random.default_rng(run))
        p = 1 / (1 + np.exp(-0.057 * rows.X_test[:, :50].sum(axis=1)))
        assert result["active"] == np.mean((p > 0.5) == rows.y_test, where=rows.active)
        loss = -np.mean(np.log(np.where(rows.y_test == 1, p, 1 - p)))
        assert result["log_loss"] == pytest.approx(loss)
        assert (result["useful_size"], result["nuisance_size"]) == (pytest.approx(0.057), 0.0)
    assert column(SIMULATION.collect(made[1])[2], "ratio")["the truth"] == "-"


def test_stopped_early_means_a_small_gradient_of_the_papers_objective():
    """Its gradient written out, at what was found and at no penalty more than asked for."""
    rows = simulation.drawn(np.random.default_rng(0))
    largest = []
    for limit in (0.5, 0.02):
        settings = simulation.methods()["quadratic, stopped early"][1] | {"largest_gradient": limit}
        beta = simulation.stopped_early(rows, **settings)
        p = 1 / (1 + np.exp(-rows.X @ beta))
        v, s2 = p * (1 - p), 9.0 * rows.X**2 @ beta**2
        gradient = rows.X.T @ (p - rows.y + 0.5 * v * (1 - 2 * p) * s2) + 9.0 * (rows.X.T**2 @ v) * beta
        largest.append(np.abs(gradient).max())
        assert largest[-1] <= limit * (1 + 1e-6)
    assert largest[0] > 0.02  # it went no further than it had to


def test_all_methods_see_the_same_rows_and_runs_differ():
    first, again, other = (simulation.drawn(np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert_allclose(first.X_test, again.X_test)
    assert not np.allclose(first.X, other.X)
    assert first.active.sum() == (first.X_test[:, :50] != 0).any(axis=1).sum()


def test_the_sizes_are_medians_over_runs(made):
    table = SIMULATION.collect(made[1])[2]
    for name, useful, nuisance, ratio, log_loss in table.rows[:-1]:
        mine = [line["result"] for line in made[1] if line["method"] == name]
        assert useful == f"{np.median([result['useful_size'] for result in mine]):.4f}"
        assert nuisance == f"{np.median([result['nuisance_size'] for result in mine]):.4f}"
        ratios = [result["useful_size"] / result["nuisance_size"] for result in mine]
        assert ratio == f"{np.median(ratios):.2f}"
        assert log_loss == f"{np.median([result['log_loss'] for result in mine]):.3f}"


def of(lines, method, score):
    """Run by run."""
    found = {line["seed"]: line["result"][score] for line in lines if line["method"] == method}
    return np.array([found[seed] for seed in sorted(found)])


@pytest.mark.parametrize(("score", "ridge", "dropout"), [("active", 0.66, 0.73), ("all", 0.53, 0.55)])
def test_beside_the_paper_stands_the_gaussian_penalty_with_its_standard_error(made, score, ridge, dropout):
    compared = {item.what: item for item in SIMULATION.compare(made[1])}
    ours, theirs = of(made[1], "gaussian", score), of(made[1], "ridge, λ = 32", score)
    early = of(made[1], "quadratic, stopped early", score)
    assert ours.mean() != early.mean()
    for what, paper, values in (
        ("ridge, λ = 32", ridge, theirs),
        ("quadratic, stopped early", dropout, early),
        ("gain of quadratic, stopped early", dropout - ridge, early - theirs),
        ("gaussian", dropout, ours),
        ("gain of gaussian", dropout - ridge, ours - theirs),
    ):
        found = compared[f"{score} rows: {what}"]
        error = np.sqrt(((values - values.mean()) ** 2).sum() / (RUNS - 1) / RUNS)
        assert found.paper == pytest.approx(paper)
        assert found.ours == pytest.approx(values.mean())
        assert found.error == pytest.approx(error)
        assert error > 0


def test_the_gains_that_are_drawn_are_over_active_rows(made):
    ((gains, _),) = SIMULATION.draw(made[1]).values()
    drawn = {line.get_label(): line.get_xdata() for line in gains.axes[0].lines}
    for name in ("quadratic, stopped early", "quadratic, not stopped", "gaussian"):
        gain = {
            score: np.sort(of(made[1], name, score) - of(made[1], "ridge, λ = 32", score))
            for score in ("active", "all")
        }
        assert_allclose(drawn[name], gain["active"])
        assert not np.allclose(gain["active"], gain["all"])


def test_it_is_drawn_without_a_fit(made, monkeypatch):
    monkeypatch.setattr(simulation, "RUNS_QUICK", RUNS)
    monkeypatch.setattr(simulation, "MAX_ITER", 30)
    text = page_of("simulation", SIMULATION, made[0])
    assert text.count("<svg") == 2
    assert "gain over ridge" in text
