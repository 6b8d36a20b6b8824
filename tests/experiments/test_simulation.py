"""The simulation study."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import LogisticRegression
from dropglm.experiments import simulation
from tests.experiments.stored import page_without_fits, run_lines

RUNS = 3
SIMULATION = simulation.Simulation(quick_runs=RUNS, max_iter=30)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulation")
    return folder, run_lines("simulation", SIMULATION, folder)


def column(table, heading, nth=0):
    place = [k for k, name in enumerate(table.header) if name == heading][nth]
    return {row[0]: row[place] for row in table.rows}


def accuracies(model):
    """Return the accuracy of an estimator on active and on all rows, per run."""
    found = []
    for run in range(RUNS):
        rows = simulation.simulate_run(np.random.default_rng(run))
        right = model.fit(rows.X, rows.y).predict(rows.X_test) == rows.y_test
        useful = (rows.X_test[:, :50] != 0).any(axis=1)
        found.append((right[useful].mean(), right.mean()))
    return np.array(found)


def test_the_tables_have_the_accuracy_of_the_estimators_and_of_the_paper(stored):
    models = {
        "ridge, λ = 32": LogisticRegression(dropout=0.0, l2=32.0, fit_intercept=False),
        "gaussian": LogisticRegression(dropout=0.9, l2=0.0, fit_intercept=False),
    }
    paper = {"ridge, λ = 32": (0.66, 0.53), "gaussian": (0.73, 0.55)}
    scores = {name: accuracies(model) for name, model in models.items()}
    gain = scores["gaussian"] - scores["ridge, λ = 32"]
    for k, table in enumerate(SIMULATION.tabulate(stored[1])[:2]):
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


def test_the_true_model_is_the_one_that_generated_the_labels(stored):
    truth = [line["result"] for line in stored[1] if line["method"] == "true model"]
    for run, result in enumerate(truth):
        rows = simulation.simulate_run(np.random.default_rng(run))
        p = 1 / (1 + np.exp(-0.057 * rows.X_test[:, :50].sum(axis=1)))
        assert result["active"] == np.mean((p > 0.5) == rows.y_test, where=rows.active)
        loss = -np.mean(np.log(np.where(rows.y_test == 1, p, 1 - p)))
        assert result["log_loss"] == pytest.approx(loss)
        assert (result["useful_size"], result["nuisance_size"]) == (pytest.approx(0.057), 0.0)
    assert column(SIMULATION.tabulate(stored[1])[2], "ratio")["true model"] == "-"


def test_stopped_early_means_a_small_gradient_of_the_quadratic_objective():
    """The gradient is computed from its formula."""
    rows = simulation.simulate_run(np.random.default_rng(0))
    largest = []
    for limit in (0.5, 0.02):
        settings = simulation.Simulation().methods()["quadratic, stopped early"][1] | {
            "largest_gradient": limit
        }
        beta = simulation.fit_stopped_early(rows, **settings)
        p = 1 / (1 + np.exp(-rows.X @ beta))
        v, s2 = p * (1 - p), 9.0 * rows.X**2 @ beta**2
        gradient = rows.X.T @ (p - rows.y + 0.5 * v * (1 - 2 * p) * s2) + 9.0 * (rows.X.T**2 @ v) * beta
        largest.append(np.abs(gradient).max())
        assert largest[-1] <= limit * (1 + 1e-6)
    assert largest[0] > 0.02  # the fit did not continue longer than necessary


def test_all_methods_use_the_same_rows_and_runs_differ():
    first, again, other = (simulation.simulate_run(np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert_allclose(first.X_test, again.X_test)
    assert not np.allclose(first.X, other.X)
    assert first.active.sum() == (first.X_test[:, :50] != 0).any(axis=1).sum()


def test_sizes_are_medians_over_runs(stored):
    table = SIMULATION.tabulate(stored[1])[2]
    for name, useful, nuisance, ratio, log_loss in table.rows[:-1]:
        mine = [line["result"] for line in stored[1] if line["method"] == name]
        assert useful == f"{np.median([result['useful_size'] for result in mine]):.4f}"
        assert nuisance == f"{np.median([result['nuisance_size'] for result in mine]):.4f}"
        ratios = [result["useful_size"] / result["nuisance_size"] for result in mine]
        assert ratio == f"{np.median(ratios):.2f}"
        assert log_loss == f"{np.median([result['log_loss'] for result in mine]):.3f}"


def scores(lines, method, score):
    """Return a score per run."""
    found = {line["seed"]: line["result"][score] for line in lines if line["method"] == method}
    return np.array([found[seed] for seed in sorted(found)])


@pytest.mark.parametrize(("score", "ridge", "dropout"), [("active", 0.66, 0.73), ("all", 0.53, 0.55)])
def test_the_comparison_has_the_gaussian_penalty_with_its_standard_error(stored, score, ridge, dropout):
    compared = {item.what: item for item in SIMULATION.compare(stored[1])}
    ours, theirs = scores(stored[1], "gaussian", score), scores(stored[1], "ridge, λ = 32", score)
    early = scores(stored[1], "quadratic, stopped early", score)
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


def test_the_drawn_gains_are_on_active_rows(stored):
    ((gains, _),) = SIMULATION.draw(stored[1]).values()
    drawn = {line.get_label(): line.get_xdata() for line in gains.axes[0].lines}
    for name in ("quadratic, stopped early", "quadratic, not stopped", "gaussian"):
        gain = {
            score: np.sort(scores(stored[1], name, score) - scores(stored[1], "ridge, λ = 32", score))
            for score in ("active", "all")
        }
        assert_allclose(drawn[name], gain["active"])
        assert not np.allclose(gain["active"], gain["all"])


def test_the_page_is_made_without_fits(stored):
    text = page_without_fits("simulation", SIMULATION, stored[0])
    assert text.count("<svg") == 2
    assert "gain over ridge" in text
