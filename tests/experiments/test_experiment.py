"""Storing results, and resuming a run that was stopped."""

import json
import platform
from dataclasses import replace
from importlib.metadata import version
from types import SimpleNamespace

import pytest

from dropglm.base.files import FileError
from dropglm.base.progress import Progress
from dropglm.experiments import ExperimentRun, experiment
from dropglm.experiments.experiment import RawResults
from tests.experiments.toys import Killed, Toy, killed_after, timeless


def stored(path):
    return timeless(json.loads(line) for line in path.read_text().splitlines())


def test_a_killed_run_is_resumed_and_ends_with_the_same_lines(tmp_path):
    """For two experiments, wherever they are killed: two fits finish before each kill."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    for name in ("first", "second"):
        ExperimentRun(name, Toy(), whole).run()
        for done in (2, 4):
            with pytest.raises(Killed):
                ExperimentRun(name, Toy(killed_after(2)), parts).run()
            run = ExperimentRun(name, Toy(), parts)
            assert len(run.lines) == done
            assert len(run.missing) == 6 - done
        ExperimentRun(name, Toy(), parts).run()
        assert stored(parts / f"{name}.jsonl") == stored(whole / f"{name}.jsonl")
    for name in ("first", "second"):
        ExperimentRun(name, Toy(killed_after(0)), parts).run()  # nothing is fitted again


def test_results_of_a_run_are_the_same_before_and_after_reading_them_again(tmp_path):
    run = ExperimentRun("toy", Toy(), tmp_path)
    run.run()
    assert len(run.lines) == 6
    assert run.missing == []
    assert run.lines == ExperimentRun("toy", Toy(), tmp_path).lines


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_an_incomplete_last_line_is_dropped_and_run_again(tmp_path, cut):
    ExperimentRun("toy", Toy(), tmp_path).run()
    path = tmp_path / "toy.jsonl"
    before = stored(path)
    path.write_bytes(path.read_bytes()[:-cut])
    seen = []
    run = ExperimentRun("toy", Toy(seen.append), tmp_path)
    assert len(run.lines) == len(before) - 1  # the page can be made from an incomplete file
    run.run()
    assert seen == [("two", 2)]
    assert stored(path) == before


def test_a_quick_run_is_not_mistaken_for_a_full_one(tmp_path):
    ExperimentRun("toy", Toy(), tmp_path, quick=True).run()
    seen = []
    run = ExperimentRun("toy", Toy(seen.append), tmp_path)
    run.run()
    assert len(seen) == 6
    assert {line["parameters"]["rows"] for line in run.lines} == {50}
    assert len(ExperimentRun("toy", Toy(), tmp_path, quick=True).lines) == 4


def test_results_of_a_subset_are_those_of_a_full_run(tmp_path):
    ExperimentRun("toy", Toy(), tmp_path, subset=True).run()
    seen = []
    run = ExperimentRun("toy", Toy(seen.append), tmp_path)
    assert [line["seed"] for line in run.lines] == [0, 0]
    run.run()
    assert {seed for _, seed in seen} == {1, 2}
    subset = ExperimentRun("toy", Toy(), tmp_path, subset=True)
    assert subset.missing == []
    assert subset.lines == run.lines  # all results are shown, not only those of the subset


def test_an_unavailable_data_set_is_reported_once_and_the_others_are_run(tmp_path):
    messages = []
    run = ExperimentRun("toy", Toy(absent=("one",)), tmp_path)
    run.run(tell=messages.append)
    assert messages == ["one is skipped: one is not on this machine."]
    assert {line["data"] for line in run.lines} == {"two"}


def test_the_time_left_is_that_of_fits_that_can_be_run(tmp_path):
    absent = Toy(absent=("one",), cost=7.0)
    progress = Progress("fits", costs=[fit.cost for fit in absent.fits(False)], shown=False)
    ExperimentRun("toy", absent, tmp_path).run(progress=progress, tell=lambda sentence: None)
    assert (progress.done, progress.total, progress.total_cost) == (3, 3, 21.0)
    assert progress.seconds_left() == 0.0


def test_a_line_says_which_versions_produced_it(tmp_path):
    ExperimentRun("toy", Toy(), tmp_path).run()
    line = json.loads((tmp_path / "toy.jsonl").read_text().splitlines()[0])
    packages = {name: version(name) for name in ("dropglm", "numpy", "scikit-learn")}
    assert line["versions"] == packages | {"python": platform.python_version()}
    assert line["experiment"] == "toy"


def test_the_seconds_of_a_line_do_not_include_loading_data(tmp_path, monkeypatch):
    clock = [0.0]

    def takes(seconds, action):
        def slow(*given):
            clock[0] += seconds
            return action(*given)

        return slow

    monkeypatch.setattr(experiment, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    run = ExperimentRun("toy", Toy(), tmp_path)
    run.fits = [
        replace(fit, load=takes(100.0, fit.load), measure=takes(2.5 + fit.seed, fit.measure))
        for fit in run.fits
    ]
    run.run()
    assert len(run.lines) == 6
    for line in run.lines:
        assert line["seconds"] == 2.5 + line["seed"]


def test_a_line_that_is_not_a_result_is_refused(tmp_path):
    (tmp_path / "toy.jsonl").write_text('{"experiment": "toy"}\n{"a": 1}\n')
    with pytest.raises(FileError, match="line 1 is not a raw result"):
        RawResults(tmp_path, "toy")
