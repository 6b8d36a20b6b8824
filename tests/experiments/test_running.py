"""What is kept of a run, and what is run again."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from dropglm.experiments import raw, run, running, to_do, wanted
from dropglm.files import FileError
from dropglm.progress import Progress
from tests.experiments.toys import Killed, killed_after, timeless, toy


def lines_of(path):
    return timeless(json.loads(line) for line in path.read_text().splitlines())


def test_a_killed_run_goes_on_where_it_was_and_ends_with_the_same_lines(tmp_path):
    """Of two experiments, wherever it is killed: two fits are finished before each kill."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    for name in ("first", "second"):
        run(name, toy(), whole)
        for done in (2, 4):
            with pytest.raises(Killed):
                run(name, toy(killed_after(2)), parts)
            assert len(wanted(name, toy(), parts)) == done
            assert len(to_do(name, toy(), parts)) == 6 - done
        run(name, toy(), parts)
        assert lines_of(parts / f"{name}.jsonl") == lines_of(whole / f"{name}.jsonl")
    for name in ("first", "second"):
        run(name, toy(killed_after(0)), parts)  # nothing is fitted again


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_half_written_last_line_is_dropped_and_run_again(tmp_path, cut):
    run("toy", toy(), tmp_path)
    path = tmp_path / "toy.jsonl"
    before = lines_of(path)
    path.write_bytes(path.read_bytes()[:-cut])
    assert len(wanted("toy", toy(), tmp_path)) == len(before) - 1  # drawing does not trip over it either
    seen = []
    run("toy", toy(seen.append), tmp_path)
    assert seen == [("two", 2)]
    assert lines_of(path) == before


def test_a_quick_run_is_not_mistaken_for_a_full_one(tmp_path):
    run("toy", toy(), tmp_path, quick=True)
    seen = []
    run("toy", toy(seen.append), tmp_path)
    assert len(seen) == 6
    assert {line["parameters"]["rows"] for line in wanted("toy", toy(), tmp_path)} == {50}
    assert len(wanted("toy", toy(), tmp_path, quick=True)) == 4


def test_a_data_set_that_cannot_be_had_is_told_once_and_the_others_go_on(tmp_path):
    told = []
    run("toy", toy(absent=("one",)), tmp_path, tell=told.append)
    assert told == ["one is left out: one is not on this machine."]
    assert {line["data"] for line in wanted("toy", toy(), tmp_path)} == {"two"}


def test_the_time_left_is_that_of_fits_that_can_be_run(tmp_path):
    absent = toy(absent=("one",), cost=7.0)
    progress = Progress("fits", costs=[fit.cost for fit in absent.fits(False)], shown=False)
    run("toy", absent, tmp_path, progress=progress, tell=lambda sentence: None)
    assert (progress.done, progress.total, progress.total_cost) == (3, 3, 21.0)
    assert progress.seconds_left() == 0.0


def test_a_line_has_what_made_it(tmp_path):
    run("toy", toy(), tmp_path)
    line = json.loads((tmp_path / "toy.jsonl").read_text().splitlines()[0])
    assert set(line["versions"]) == {"dropglm", "numpy", "scikit-learn", "python"}
    assert line["seconds"] >= 0
    assert line["experiment"] == "toy"


def test_the_seconds_of_a_line_are_those_of_the_fit_and_not_of_reading(tmp_path, monkeypatch):
    clock = [0.0]

    def takes(seconds, action):
        def slow(*given):
            clock[0] += seconds
            return action(*given)

        return slow

    monkeypatch.setattr(running, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    plain = toy()
    slow = [
        replace(fit, rows=takes(100.0, fit.rows), work=takes(2.5 + fit.seed, fit.work))
        for fit in plain.fits(False)
    ]
    experiment = replace(plain, fits=lambda quick: slow)
    run("toy", experiment, tmp_path)
    for line in wanted("toy", experiment, tmp_path):
        assert line["seconds"] == 2.5 + line["seed"]


def test_a_line_of_something_else_is_no_result(tmp_path):
    (tmp_path / "toy.jsonl").write_text('{"experiment": "toy"}\n{"a": 1}\n')
    with pytest.raises(FileError, match="line 1 is no raw result"):
        raw.read(tmp_path / "toy.jsonl")
