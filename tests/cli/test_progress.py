"""The line that shows the progress of a command, in a terminal and with the times of real runs."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dropglm import TextClassifier
from dropglm.base.progress import CLEAR_LINE, Progress, Stages
from dropglm.search.search import SURVIVING
from dropglm.text.training import rough_costs
from tests.cli.command import texts, write_csv

# What `dropglm train` reported on two cores that other programs were using as well, and when: the stages, the
# steps of each and those that were left out. There are no seconds in which functions were compiled.
RUNS = json.loads(Path(__file__).with_name("recorded_runs.json").read_text())
RECORDED: dict[str, Any] = {
    "characters": None,
    "dropout": 0.5,
    "l2_weights": "uniform",
}  # settings of the runs


def replay(run):
    """Return what `Stages` show during a run: the time it takes, a time, the estimate then and the bar."""
    now = 0.0

    def clock():
        return now

    found, steps = [], None
    with Stages(shown=False, clock=clock) as stages:
        for seconds, kind, value in run["reports"]:
            while now < seconds:
                found.append((now, stages.seconds_left(), stages.share_done()))
                now += 0.1
            now = max(now, seconds)
            match kind:
                case "stage":
                    stages.begin(value)
                case "plan":
                    counts = np.array(run["class_counts"])
                    # Runs with many classes had a single weight of longer n-grams.
                    weight = 0.5 if len(counts) > 10 else None
                    classifier = TextClassifier(tune=run["tune"], ngram_weight=weight, **RECORDED)
                    stages.plan(rough_costs(classifier, counts, *run["characters"]))
                case "steps":
                    likely = SURVIVING if stages.what == "Searching settings" else 1.0
                    steps = Progress("steps", value, shown=False, likely=likely, clock=clock).__enter__()
                case "advance":
                    steps.advance(value)
                case "leave_out":
                    steps.leave_out(value)
                case "end":
                    steps.__exit__(None)
    return [(now, *one) for one in found]


@pytest.mark.parametrize("name", RUNS)
def test_the_time_left_is_right_within_a_factor_of_two_after_a_tenth(name):
    """Or within half a second or a twentieth of the whole time, which matters at the end only."""
    shown = [one for one in replay(RUNS[name]) if one[1] >= 0.1 * one[0]]
    estimates = [(left, total - now) for total, now, left, _ in shown if left is not None]
    assert len(estimates) > 0.8 * len(shown)  # reading comes first
    slack = max(0.5, 0.05 * shown[0][0])
    assert all(true / 2 - slack < left < 2 * true + slack for left, true in estimates)


@pytest.mark.parametrize("name", RUNS)
def test_the_bar_only_moves_forward_and_does_not_stand_still(name):
    found = [(now, share) for _, now, _, share in replay(RUNS[name]) if share is not None]
    times, shares = zip(*found, strict=True)
    assert list(shares) == sorted(shares)
    changed = [
        time for time, before, after in zip(times[1:], shares, shares[1:], strict=False) if after > before
    ]
    assert max(np.diff(changed)) < 0.2 * times[-1]
    assert shares[-1] > 0.75


def test_a_terminal_shows_one_line_for_the_whole_command(tmp_path):
    """It appears before the library is imported, and is replaced by the time that each stage took."""
    write_csv(tmp_path / "reviews.csv", zip(*texts(200), strict=True))
    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "dropglm", "train", "reviews.csv", "--out", "m.skops"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    drawn = ""
    with open(main, "rb", buffering=0) as screen:
        try:
            while data := screen.read(1 << 16):
                drawn += data.decode()
        except OSError:  # the other side is closed
            pass
    assert process.wait() == 0
    first, *others, last = [line for line in drawn.split(CLEAR_LINE) if line]
    assert first == "0:00 Starting"
    assert all(re.fullmatch(r"(━* *)?\d:\d\d [A-Z][^\n]+", line) for line in others)
    assert re.fullmatch(r"Took [\d.]+ s: starting [\d.]+ s.*\.\r\n", last)
