"""The experiment on online learning."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import OnlineLogisticRegression, load_dataset
from dropglm.datasets import DatasetError
from dropglm.experiments import ExperimentRun, online
from dropglm.experiments.online import BETA_NORMAL, BETA_WORD, INTERCEPT, fisher_diagonal, well_specified_rows
from tests.experiments.stored import page_without_fits, run_lines

SIZE = online.OnlineSize(seeds=2, simulated=300, well_specified=400, cost=0.1)
ONLINE = online.Online()
SMALL = online.Online(quick=SIZE, simulated_test=100)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("online")
    return folder, run_lines("online", SMALL, folder)


@pytest.fixture
def lines(stored):
    return stored[1]


@pytest.mark.parametrize(("name", "model"), online.MODELS.items())
def test_the_table_has_the_scores_of_the_estimator_with_defaults(lines, name, model):
    accuracies, losses, late, tests = [], [], [], []
    for seed in range(2):
        data = load_dataset("simulation", n_rows=400, random_state=seed)
        order = np.random.default_rng(seed).permutation(300)
        first, second = order[:150], order[150:]
        learner = OnlineLogisticRegression(**model)  # the default rate of the rule
        learner.partial_fit(data.X[first], data.y[first], classes=[0, 1])
        half = learner.progressive_accuracy_
        learner.partial_fit(data.X[second], data.y[second])
        accuracies.append(learner.progressive_accuracy_)
        losses.append(learner.progressive_log_loss_)
        late.append(2 * learner.progressive_accuracy_ - half)
        tests.append(learner.score(data.X[300:], data.y[300:]))
    (row,) = [row for row in SMALL.tabulate(lines)[0].rows if row[0] == name]
    assert row[1:] == [
        f"{100 * np.mean(accuracies):.2f}",
        f"{100 * np.std(accuracies, ddof=1):.2f}",
        f"{100 * np.mean(late):.2f}",
        f"{100 * np.mean(tests):.2f}",
        f"{np.mean(losses):.3f}",
    ]


def test_rates_are_multiples_of_the_default(lines):
    table = SMALL.tabulate(lines)[1]
    assert table.header == ["data, rule", "rate × 0.25", "rate × 1", "rate × 4"]
    assert [row[0] for row in table.rows] == [
        f"simulation, {name}" for name in online.MODELS if name != "arow"
    ]
    ends = []
    for seed in range(2):
        data = load_dataset("simulation", n_rows=400, random_state=seed)
        order = np.random.default_rng(seed).permutation(300)
        learner = OnlineLogisticRegression("adagrad", rate=4.0)
        learner.partial_fit(data.X[order], data.y[order], classes=[0, 1])
        ends.append(learner.progressive_accuracy_)
    assert table.rows[1][3] == f"{100 * np.mean(ends):.2f}"


def test_the_page_is_made_without_fits(stored, monkeypatch):
    def refuse(*arguments, **settings):
        raise AssertionError("a fit was run")

    monkeypatch.setattr(OnlineLogisticRegression, "partial_fit", refuse)
    folder = stored[0]
    before = (folder / "online.jsonl").read_bytes()
    text = page_without_fits("online", SMALL, folder)
    assert (folder / "online.jsonl").read_bytes() == before
    assert text.count("<svg") == 4
    assert "dropout, power ½" in text


def test_a_quick_run_needs_no_data_sets_and_a_full_run_continues_without_them(tmp_path):
    assert {fit.data for fit in ONLINE.fits(True)} == {"simulation", "well-specified"}
    assert {fit.data for fit in ONLINE.fits(False)} >= set(ONLINE.data)

    def load(name, **settings):
        if name != "simulation":
            raise DatasetError(f"{name} is not available.")
        return load_dataset(name, **settings)

    run = ExperimentRun("online", online.Online(full=SIZE._replace(seeds=1), load=load), tmp_path)
    messages = []
    run.run(tell=messages.append)
    assert messages == ["imdb is skipped: imdb is not available.", "rt is skipped: rt is not available."]
    assert len(run.lines) == 13 + 3


def test_all_fits_have_different_identities():
    for quick in (True, False):
        fits = ONLINE.fits(quick)
        assert len({str((fit.data, fit.method, fit.seed, fit.parameters)) for fit in fits}) == len(fits)


def test_the_fisher_information_agrees_with_sampled_rows():
    X, y = well_specified_rows(200_000, 0)[:2]
    p = 1 / (1 + np.exp(-INTERCEPT - X @ np.concatenate([BETA_NORMAL, BETA_WORD])))
    each = (p * (1 - p))[:, None] * X**2
    error = each.std(axis=0) / np.sqrt(len(X))
    assert np.all(np.abs(each.mean(axis=0) - fisher_diagonal()) < 4 * error)
    assert_allclose(y.mean(), p.mean(), atol=4 * 0.5 / np.sqrt(len(y)))


def test_the_sums_converge_to_the_fisher_information():
    """The theorem, checked for AdaGrad and for dropout with power ½."""
    X, y = well_specified_rows(100_000, 0)[:2]
    for model in ({"rule": "adagrad"}, {"rule": "dropout", "power": 0.5}):
        learner = OnlineLogisticRegression(**model).partial_fit(X, y, classes=[0, 1])
        assert np.mean(np.abs(learner.sums_[0] / learner.t_ / fisher_diagonal() - 1)) < 0.05
