"""Benchmarks import without their optional libraries, and what they wrote is consistent."""

import importlib
import json
import lzma
import re
import sys
from pathlib import Path

import benchmarks
import numpy as np
import pytest
from benchmarks import (
    cold_start,
    cores,
    processes,
    readme,
    report,
    same_gap,
    same_results,
    streaming,
    thread_time,
    training_texts,
    vectorizing,
    whole_job,
)
from benchmarks.markdown import ROOT

from dropglm import LogisticRegression


@pytest.mark.parametrize("path", sorted(Path(benchmarks.__file__).parent.glob("*.py")), ids=lambda p: p.stem)
def test_every_benchmark_imports(path):
    assert importlib.import_module(f"benchmarks.{path.stem}".removesuffix(".__init__")).__doc__


HEADERS = {
    "jobs": [whole_job.HEADER] * len(whole_job.JOBS),
    "gaps": [same_gap.HEADER] * len(same_gap.GAPS),
    "vectorizers": [case.header for case in vectorizing.CASES],
    "online": [streaming.PARSED, streaming.FILES],
    "starts": [cold_start.HEADER, cold_start.INSTALLED, cold_start.FIRST],
    "cores": [cores.HEADER] * len(cores.TASKS),
}


@pytest.mark.parametrize("section", HEADERS)
def test_the_stored_tables_have_the_headers_of_the_benchmarks(section):
    tables = report.stored()[section]
    for (header, rows), expected in zip(tables, HEADERS[section], strict=False):
        assert tuple(header) == expected
        assert {len(row) for row in rows} == {len(header)}


def test_the_page_is_what_its_blocks_give(tmp_path, monkeypatch):
    """Writing a page again changes nothing."""
    before = report.PAGE.read_text(encoding="utf-8")
    copy = tmp_path / "measured.md"
    copy.write_text(before, encoding="utf-8")
    monkeypatch.setattr(report, "PAGE", copy)
    report.write({})
    assert copy.read_text(encoding="utf-8") == before


def test_the_readmes_table_follows_from_the_stored_measurements():
    block = re.search(
        r"<!-- measured: start -->\n(.*)\n<!-- measured: stop -->",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.S,
    )[1]
    assert block == readme.speed()


@pytest.mark.parametrize("guess", [1, 9, 40, 300])
def test_fewest_iterations_are_found_from_any_guess(guess):
    """The gap falls by a tenth per iteration: 0.9^k ≤ 1e-3 from k = 66 on."""

    def fit(iterations):
        return same_gap.Fit(0.0, 0.9**iterations, None)

    assert same_gap.fewest_iterations(fit, 1e-3, guess) == 66


def test_a_solver_that_stops_short_of_the_gap_is_left_out():
    assert same_gap.fewest_iterations(lambda k: same_gap.Fit(0.0, 0.01 + 0.5**k, None), 1e-3, 5) is None


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
def test_the_lowest_objective_is_lower_than_beside_it(intercept):
    rng = np.random.default_rng(0)
    X, y = same_gap.sparse.csr_array(rng.normal(size=(50, 4)) + 0.5), rng.integers(0, 2, 50)
    lowest = same_gap.lowest_objective(intercept, X, y)
    model = LogisticRegression(dropout=0.0, l2=1 / same_gap.C, fit_intercept=intercept == "free").fit(X, y)
    others = [
        same_gap.Coefficients(model.coef_[0] + step, model.intercept_[0]) for step in rng.normal(size=(9, 4))
    ]
    assert lowest <= min(same_gap.objective(intercept, X, y, one) for one in others)


def test_the_shares_of_a_profile_add_up():
    rng = np.random.default_rng(0)
    model, X, y = (
        LogisticRegression(dropout=0.5, n_jobs=1),
        rng.normal(size=(200, 5)),
        rng.integers(0, 2, 200),
    )
    model.fit(X, y)
    found = thread_time.profile(lambda: model.fit(X, y), 1)
    assert sum(found.shares.values()) == pytest.approx(1.0, abs=0.3)
    assert any(loop.name.startswith("design.") for loop in found.loops)
    assert model.fit(X, y)  # calls are no longer timed


def test_training_texts_from_lines(tmp_path, monkeypatch):
    rows = [{"text": "a fine\nfilm", "label": 1}, {"text": "dull", "label": 0}]
    with lzma.open(tmp_path / "imdb.jsonl.xz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    monkeypatch.setenv("DROPGLM_DATA", str(tmp_path))
    texts, y = training_texts.training_texts("imdb")
    assert texts == ["a fine\nfilm", "dull"]
    assert y.tolist() == [1, 0]


def test_a_process_is_timed_and_stopped(tmp_path):
    done = processes.run([sys.executable, "-c", "print(input())"], tmp_path, text="given\n")
    assert done.output == "given\n"
    assert done.seconds > 0
    assert done.peak_memory > 1 << 20
    slow = processes.run([sys.executable, "-c", "while True: pass"], tmp_path, limit=0.2)
    assert slow.seconds == np.inf


def test_results_before_and_after_are_compared_split_by_split():
    """A row that moved by less than its standard error over seeds is told apart from one that moved more."""
    split, other = ("rt", 50, "tf-idf"), ("subj", 50, "tf-idf")
    before = {seed: {"accuracy": 0.5 + 0.2 * seed, "log_loss": 0.75} for seed in (0, 1)}
    after = {
        seed: {"accuracy": scores["accuracy"] + 0.05, "log_loss": 0.625} for seed, scores in before.items()
    }
    rows, verdicts = same_results.compare({split: before, other: before}, {split: after, other: before})
    assert rows[0] == ("rt", "50", "tf-idf", "accuracy", "0.60000", "0.10000", "0.65000", "+5.0e-02")
    assert [row[-1] for row in rows[1:]] == ["-1.2e-01", "+0.0e+00", "+0.0e+00"]
    assert list(verdicts.values()) == [2, 1, 1]


def test_stored_scores_are_those_of_all_unlabelled_texts(tmp_path):
    line = {"data": "rt", "method": "ours", "seed": 0}
    lines = [
        line | {"parameters": {"labels": 50}, "result": {"accuracy": 0.75}},
        line | {"parameters": {"labels": 50, "unlabeled": 100}, "result": {"accuracy": 0.5}},
    ]
    path = tmp_path / "few-labels.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    assert same_results.scores(tmp_path) == {("rt", 50, "ours"): {0: {"accuracy": 0.75}}}
