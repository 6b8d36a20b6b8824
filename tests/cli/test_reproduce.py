"""``dropglm reproduce``."""

import json
import signal

import pytest

from dropglm.experiments.raw import identity
from tests.cli.command import dropglm

KILLED_AFTER_FIVE_FITS = """
import os, signal
from dropglm.cli import main
from dropglm.experiments import raw
append, done = raw.append, []
def counted(*arguments):
    append(*arguments)
    done.append(1)
    if len(done) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
raw.append = counted
main()
"""


def test_list_says_what_each_needs_and_takes(tmp_path):
    out = " ".join(dropglm("reproduce", "list", cwd=tmp_path).split())
    for expected in ("online", "imdb, rt", "minutes", "seconds"):
        assert expected in out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["onlin", "Online"])
def test_an_unknown_name_is_answered_with_the_nearest(tmp_path, name):
    err = " ".join(dropglm("reproduce", name, cwd=tmp_path, code=2).replace("│", " ").split())
    assert f"experiment {name!r} is unknown; did you mean 'online'?" in err
    assert not list(tmp_path.iterdir())


def test_a_killed_quick_run_goes_on_and_leaves_a_page(tmp_path):
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
    for expected in ("simulation", "adagrad", "well-specified", "the truth"):
        assert expected in out
    assert "<svg" in path.with_suffix(".html").read_text()
    assert dropglm(*command, cwd=tmp_path) == out
    assert path.read_text().splitlines() == lines
