"""What is kept of a run, what is run again, and what drawing needs."""

import json

import pytest

from dropglm.datasets import DatasetError
from dropglm.experiments import Experiment, raw, report, run, wanted
from dropglm.experiments.experiment import Fit
from dropglm.files import FileError
from dropglm.pages import Table


def toy(worked=None, absent=()):
    """Squares of seeds; ``worked`` is called with each fit that is run."""

    def rows(data):
        if data in absent:
            raise DatasetError(f"{data} is not on this machine.")
        return data

    def fits(quick):
        def fit(data, seed):
            def work(given):
                if worked is not None:
                    worked((given, seed))
                return {"square": seed**2}

            return Fit(data, "square", seed, {"rows": 5 if quick else 50}, lambda: rows(data), work)

        return [fit(data, seed) for seed in range(2 if quick else 3) for data in ("one", "two")]

    def collect(lines):
        return [
            Table("Squares", ["data", "square"], [[x["data"], str(x["result"]["square"])] for x in lines])
        ]

    return Experiment(
        "Squares", "squares", ("one", "two"), "", "", "It squares.", fits, collect, lambda lines: {}
    )


def timeless(path):
    return [{k: v for k, v in json.loads(x).items() if k != "seconds"} for x in path.read_text().splitlines()]


class Killed(BaseException):
    pass


def test_a_killed_run_goes_on_where_it_was_and_ends_with_the_same_lines(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    run("toy", toy(), whole)
    for done in (2, 4):  # two fits are finished before each kill
        seen = []

        def worked(fit, seen=seen):
            seen.append(fit)
            if len(seen) == 3:
                raise Killed

        with pytest.raises(Killed):
            run("toy", toy(worked), parts)
        assert len(wanted("toy", toy(), parts)) == done
    run("toy", toy(), parts)
    assert timeless(parts / "toy.jsonl") == timeless(whole / "toy.jsonl")
    again = []
    run("toy", toy(again.append), parts)
    assert again == []


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_half_written_last_line_is_dropped_and_run_again(tmp_path, cut):
    run("toy", toy(), tmp_path)
    path = tmp_path / "toy.jsonl"
    before = timeless(path)
    path.write_bytes(path.read_bytes()[:-cut])
    assert len(wanted("toy", toy(), tmp_path)) == len(before) - 1  # drawing does not trip over it either
    seen = []
    run("toy", toy(seen.append), tmp_path)
    assert seen == [("two", 2)]
    assert timeless(path) == before


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
    lines = wanted("toy", toy(), tmp_path)
    assert {line["data"] for line in lines} == {"two"}
    assert "Nothing is here of one." in report("toy", toy(), tmp_path, lines).read_text()


def test_a_page_is_made_of_lines_alone(tmp_path):
    run("toy", toy(), tmp_path)
    seen = []
    unable = toy(seen.append, absent=("one", "two"))
    path = report("toy", unable, tmp_path, wanted("toy", unable, tmp_path))
    text = path.read_text()
    assert seen == []
    assert "It squares." in text
    assert "<td>4</td>" in text
    assert "6 fits, made with dropglm" in text


def test_a_line_has_what_made_it(tmp_path):
    run("toy", toy(), tmp_path)
    line = json.loads((tmp_path / "toy.jsonl").read_text().splitlines()[0])
    assert set(line["versions"]) == {"dropglm", "numpy", "scikit-learn", "python"}
    assert line["seconds"] >= 0
    assert line["experiment"] == "toy"


def test_a_line_of_something_else_is_no_result(tmp_path):
    (tmp_path / "toy.jsonl").write_text('{"experiment": "toy"}\n{"a": 1}\n')
    with pytest.raises(FileError, match="line 1 is no raw result"):
        raw.read(tmp_path / "toy.jsonl")
