"""``dropglm reproduce``."""

import json
import re
import signal
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dropglm import experiments
from dropglm.base import progress
from dropglm.cli.app import app
from dropglm.experiments.experiment import identity
from tests.cli.command import dropglm
from tests.experiments.toys import Killed, Toy, killed_after, timeless

KILLED_AFTER_FIVE_FITS = """
import os, signal
from dropglm.cli import main
from dropglm.experiments.experiment import RawResults
append, done = RawResults.append, []
def counted(*arguments, **settings):
    append(*arguments, **settings)
    done.append(1)
    if len(done) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
RawResults.append = counted
main()
"""


@pytest.fixture
def registered(monkeypatch):
    """Replace the experiments by three toys, the last without a quick version; tests may replace these."""
    toys = {"first": Toy(), "second": Toy(title="Squares again"), "third": Toy(has_quick=False)}
    monkeypatch.setattr(experiments, "EXPERIMENTS", toys)
    return toys


def reproduce(*arguments, code=0):
    """Return the standard output and the standard error of the command."""
    done = CliRunner().invoke(app, ["reproduce", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return " ".join(done.stdout.split()), " ".join(done.stderr.replace("│", " ").split())


def raw_lines(folder):
    return {path.name: path.read_text().splitlines() for path in sorted(folder.glob("*.jsonl"))}


def sections(folder, page="index.html"):
    return re.findall('<section id="(.*?)">', (folder / page).read_text())


def test_list_shows_data_sets_and_durations(registered, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out, _ = reproduce("list")
    for name, quick in (("first", "a minute"), ("second", "a minute"), ("third", "not available")):
        assert f"│ {name} │ squares │ one, two │ an hour │ {quick} │" in out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["onlin", "Online"])
def test_an_unknown_name_gives_a_suggestion(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    _, err = reproduce(name, code=2)
    assert f"experiment {name!r} is unknown; did you mean 'online'?" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("names", [["first"], ["first", "second"]])
def test_names_together_with_all_are_refused(registered, tmp_path, names):
    _, err = reproduce(*names, "--all", "--out", tmp_path / "out", code=2)
    assert "give names or --all, not both" in err
    assert not list(tmp_path.iterdir())


def test_a_call_without_names_or_all_is_refused(registered, tmp_path):
    _, err = reproduce("--out", tmp_path / "out", code=2)
    assert "give names or --all; list shows the names." in err
    assert not list(tmp_path.iterdir())


def test_an_output_folder_that_is_a_file_is_refused(registered, tmp_path):
    (tmp_path / "out").write_text("mine")
    _, err = reproduce("--all", "--out", tmp_path / "out", code=2)
    assert "is a file; give a folder" in err


def test_all_experiments_are_run_and_shown_on_one_page(registered, tmp_path):
    out, err = reproduce("--all", "--out", tmp_path)
    assert out.count("Squares by seed") == 3
    assert out.count("largest square") == 3
    assert f"wrote {tmp_path / 'index.html'}." in err
    assert sorted(raw_lines(tmp_path)) == ["first.jsonl", "second.jsonl", "third.jsonl"]
    assert sections(tmp_path) == ["summary", "first", "second", "third", "times"]
    assert [path.name for path in tmp_path.glob("*.html")] == ["index.html"]


def test_an_experiment_without_a_quick_version_is_skipped_with_a_message(registered, tmp_path):
    _, err = reproduce("--all", "--quick", "--out", tmp_path)
    assert "third is skipped, since it has no quick version." in err
    assert sections(tmp_path, "quick.html") == ["summary", "first", "second", "times"]
    assert not (tmp_path / "index.html").exists()  # the page of full runs
    _, err = reproduce("third", "--quick", "--out", tmp_path / "another", code=2)
    assert "third: there is no quick version." in err
    assert not (tmp_path / "another").exists()


def test_a_subset_is_run_first_and_a_full_run_adds_the_rest(registered, tmp_path):
    registered["second"] = Toy(has_subset=False)
    _, err = reproduce("first", "second", "--subset", "--out", tmp_path)
    assert "second is skipped, since it has no subset." in err
    assert {name: len(lines) for name, lines in raw_lines(tmp_path).items()} == {"first.jsonl": 2}
    assert "2 of 6 fits are available" in (tmp_path / "index.html").read_text()
    before = raw_lines(tmp_path)["first.jsonl"]
    reproduce("first", "--out", tmp_path)
    after = raw_lines(tmp_path)["first.jsonl"]
    assert (len(after), after[:2]) == (6, before)


def test_a_subset_that_does_not_exist_or_is_quick_is_refused(registered, tmp_path):
    registered["second"] = Toy(has_subset=False)
    _, err = reproduce("second", "--subset", "--out", tmp_path / "out", code=2)
    assert "second: there is no subset." in err
    _, err = reproduce("first", "--subset", "--quick", "--out", tmp_path / "out", code=2)
    assert "cannot be combined with --quick" in err
    assert not (tmp_path / "out").exists()


def test_a_bad_line_of_another_experiment_is_reported_before_any_work(registered, tmp_path):
    good = '{"experiment": "third", "data": "one", "method": "a", "seed": 0, "parameters": {}'
    bad = ("{}, {}, NaN", '{}, {}, "a"', "7, {}, 1", "{}, null, 1")
    parts = [part.split(", ") for part in bad]
    for rest in ("}", *(f', "result": {r}, "versions": {v}, "seconds": {s}}}' for r, v, s in parts)):
        (tmp_path / "third.jsonl").write_text(good + rest + "\n")
        _, err = reproduce("first", "--out", tmp_path, code=3)
        assert "line 1 is not a raw result" in err
        assert not (tmp_path / "first.jsonl").exists()


def test_list_cannot_be_combined_with_other_arguments(registered):
    assert "list cannot be combined with experiments." in reproduce("list", "first", code=2)[1]
    assert "list already shows all experiments." in reproduce("list", "--all", code=2)[1]


def test_running_one_experiment_again_keeps_the_others_on_the_page(registered, tmp_path):
    reproduce("--all", "--out", tmp_path)
    page = (tmp_path / "index.html").read_text()
    out, _ = reproduce("second", "--out", tmp_path)
    assert out.count("Squares by seed") == 1
    assert (tmp_path / "index.html").read_text() == page


def test_a_missing_data_set_does_not_stop_the_others(registered, tmp_path):
    registered["second"] = Toy(absent=("one",))
    registered["third"] = Toy(absent=("one", "two"))
    out, err = reproduce("--all", "--out", tmp_path)
    assert err.count("second: one is skipped: one is not on this machine.") == 1
    assert "third: two is skipped" in err
    assert "third has no results, since none of its data sets is available." in err
    assert out.count("Squares by seed") == 2
    assert sections(tmp_path) == ["summary", "first", "second", "times"]


def test_a_named_experiment_without_results_is_an_error_after_the_others(registered, tmp_path):
    registered["second"] = Toy(absent=("one", "two"))
    out, err = reproduce("first", "second", "--out", tmp_path, code=3)
    assert out.count("Squares by seed") == 1
    assert "second: no results, since the data sets are not available." in err
    assert sections(tmp_path) == ["summary", "first", "times"]


def test_a_run_without_any_data_set_fails(registered, tmp_path):
    registered["second"] = registered["first"] = Toy(absent=("one", "two"))
    _, err = reproduce("first", "second", "--out", tmp_path, code=3)
    assert "first, second: no results, since no data set is available." in err
    assert not list(tmp_path.iterdir())


def test_a_killed_run_of_several_experiments_resumes_with_the_same_results(registered, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    expected, _ = reproduce("--all", "--out", whole)
    second = registered["second"]
    registered["second"] = Toy(killed_after(3))
    with pytest.raises(Killed):
        reproduce("--all", "--out", parts)
    assert [len(lines) for lines in raw_lines(parts).values()] == [6, 3]
    registered |= {"first": Toy(killed_after(0)), "second": second}
    assert reproduce("--all", "--out", parts)[0] == expected
    for mine, theirs in zip(raw_lines(parts).values(), raw_lines(whole).values(), strict=True):
        assert timeless(map(json.loads, mine)) == timeless(map(json.loads, theirs))
    registered |= {"second": Toy(killed_after(0)), "third": Toy(killed_after(0))}
    assert reproduce("--all", "--out", parts)[0] == expected


def test_a_log_has_one_line_per_experiment_and_occasional_progress(registered, tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "LOG_EVERY", 0.001)
    registered["first"] = registered["third"] = Toy(cost=0.01)
    registered["second"] = Toy(worked=lambda fit: time.sleep(0.02), cost=600.0)
    _, err = reproduce("--all", "--out", tmp_path)
    assert re.search(r"first is finished, 6\d minutes left\.", err)  # 60, and more on a busy machine
    assert re.search("/18 fits, .* left; second: (one|two), square, seed 0", err)
    assert "\x1b" not in err
    assert "third is finished" not in err  # since no time is left then


def test_stored_results_are_read_once(registered, tmp_path, monkeypatch):
    reproduce("--all", "--out", tmp_path)
    read_bytes, read = Path.read_bytes, []

    def recorded(path):
        read.append(path.name)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", recorded)
    reproduce("--all", "--out", tmp_path)
    names = [name for name in read if name.endswith(".jsonl")]
    assert sorted(names) == ["first.jsonl", "second.jsonl", "third.jsonl"]


def test_quiet_is_silent(registered, tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "LOG_EVERY", 0.001)
    registered["second"] = Toy(worked=lambda fit: time.sleep(0.02))
    _, err = reproduce("--all", "--quiet", "--out", tmp_path)
    assert err == ""


@pytest.mark.slow
def test_a_killed_quick_run_resumes_and_writes_a_page(tmp_path):
    wrapper = ("-c", KILLED_AFTER_FIVE_FITS)
    command = "reproduce", "online", "--quick", "--out", "results/here"
    dropglm(*command, cwd=tmp_path, code=-signal.SIGKILL, wrapper=wrapper)
    path = tmp_path / "results" / "here" / "online.jsonl"
    first = path.read_text().splitlines()
    assert len(first) == 5
    out = dropglm(*command, cwd=tmp_path)
    lines = path.read_text().splitlines()
    assert lines[:5] == first
    assert len({identity(json.loads(line)) for line in lines}) == len(lines) > 5
    for expected in ("simulation", "adagrad", "well-specified", "true model"):
        assert expected in out
    assert "<svg" in path.with_name("quick.html").read_text()
    assert dropglm(*command, cwd=tmp_path) == out
    assert path.read_text().splitlines() == lines
