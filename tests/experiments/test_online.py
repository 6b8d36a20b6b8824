"""The experiment on learning row by row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dropglm import OnlineLogisticRegression, load_dataset
from dropglm.datasets import DatasetError
from dropglm.experiments import EXPERIMENTS, online, report, run, wanted
from dropglm.experiments.well_specified import BETA_NORMAL, BETA_WORD, INTERCEPT, fisher, well_specified

ONLINE = EXPERIMENTS["online"]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """A run smaller than the quick one."""
    folder = tmp_path_factory.mktemp("online")
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        run("online", ONLINE, folder, quick=True)
    return folder


def small(patch):
    patch.setattr(online, "SIMULATED_QUICK", 300)
    patch.setattr(online, "SIMULATED_TEST", 100)
    patch.setattr(online, "SPECIFIED_QUICK", 400)
    patch.setattr(online, "SEEDS_QUICK", 2)


@pytest.fixture
def lines(out, monkeypatch):
    small(monkeypatch)
    return wanted("online", ONLINE, out, quick=True)


@pytest.mark.parametrize(("name", "model"), online.MODELS.items())
def test_the_table_has_what_the_estimator_gives_at_its_defaults(lines, name, model):
    accuracies, losses, late, tests = [], [], [], []
    for seed in range(2):
        data = load_dataset("simulation", n_rows=400, random_state=seed)
        order = np.random.default_rng(seed).permutation(300)
        first, second = order[:150], order[150:]
        learner = OnlineLogisticRegression(**model)  # no rate: the rule's own
        learner.partial_fit(data.X[first], data.y[first], classes=[0, 1])
        half = learner.progressive_accuracy_
        learner.partial_fit(data.X[second], data.y[second])
        accuracies.append(learner.progressive_accuracy_)
        losses.append(learner.progressive_log_loss_)
        late.append(2 * learner.progressive_accuracy_ - half)
        tests.append(learner.score(data.X[300:], data.y[300:]))
    (row,) = [row for row in ONLINE.collect(lines)[0].rows if row[0] == name]
    assert row[1:] == [
        f"{100 * np.mean(accuracies):.2f}",
        f"{100 * np.std(accuracies, ddof=1):.2f}",
        f"{100 * np.mean(late):.2f}",
        f"{100 * np.mean(tests):.2f}",
        f"{np.mean(losses):.3f}",
    ]


def test_rates_are_multiples_of_the_default(lines):
    table = ONLINE.collect(lines)[1]
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


def test_it_is_drawn_without_a_fit(out, monkeypatch):
    small(monkeypatch)

    def refuse(*arguments, **settings):
        raise AssertionError("a fit")

    monkeypatch.setattr(OnlineLogisticRegression, "partial_fit", refuse)
    monkeypatch.setattr(online, "load_dataset", refuse)
    online.simulated_rows.cache_clear()
    before = (out / "online.jsonl").read_bytes()
    run("online", ONLINE, out, quick=True)
    text = report({"online": ONLINE}, out, quick=True).read_text()
    assert (out / "online.jsonl").read_bytes() == before
    assert text.count("<svg") == 4
    assert "dropout, power ½" in text


def test_the_quick_run_reads_no_data_set_and_the_full_one_goes_on_without(tmp_path, monkeypatch):
    assert {fit.data for fit in ONLINE.fits(True)} == {"simulation", "well-specified"}
    assert {fit.data for fit in ONLINE.fits(False)} >= set(ONLINE.data)
    monkeypatch.setattr(online, "SIMULATED", 300)
    monkeypatch.setattr(online, "SPECIFIED", 400)
    monkeypatch.setattr(online, "SEEDS", 1)

    def absent(name):
        raise DatasetError(f"{name} cannot be had.")

    monkeypatch.setattr(online, "text_rows", absent)
    told = []
    run("online", ONLINE, tmp_path, tell=told.append)
    assert told == ["imdb is left out: imdb cannot be had.", "rt is left out: rt cannot be had."]
    assert len(wanted("online", ONLINE, tmp_path)) == 13 + 3


def test_identities_of_all_fits_differ():
    for quick in (True, False):
        fits = ONLINE.fits(quick)
        assert len({str((fit.data, fit.method, fit.seed, fit.parameters)) for fit in fits}) == len(fits)


def test_the_fisher_information_is_that_of_the_rows():
    X, y = well_specified(200_000, 0)
    p = 1 / (1 + np.exp(-INTERCEPT - X @ np.concatenate([BETA_NORMAL, BETA_WORD])))
    each = (p * (1 - p))[:, None] * X**2
    error = each.std(axis=0) / np.sqrt(len(X))
    assert np.all(np.abs(each.mean(axis=0) - fisher()) < 4 * error)
    assert_allclose(y.mean(), p.mean(), atol=4 * 0.5 / np.sqrt(len(y)))


def test_the_sums_come_near_the_fisher_information():
    """The theorem, on rows enough: AdaGrad's and dropout's, the latter with its root."""
    X, y = well_specified(100_000, 0)
    for model in ({"rule": "adagrad"}, {"rule": "dropout", "power": 0.5}):
        learner = OnlineLogisticRegression(**model).partial_fit(X, y, classes=[0, 1])
        assert np.mean(np.abs(learner.sums_[0] / learner.t_ / fisher() - 1)) < 0.05
