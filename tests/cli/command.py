"""The command as a process of its own, and tables for it to read."""

import csv
import subprocess
import sys

import numpy as np

GOOD, BAD = ["lovely", "great", "fun", "moving", "warm"], ["dull", "boring", "long", "weak", "cold"]
REST = ["a", "the", "film", "cast", "story", "music", "and", "with"]


def dropglm(*arguments, cwd, stdin=None, code=0, wrapper=("-m", "dropglm")):
    """Run the command; its standard output, or its standard error where it is to fail."""
    done = subprocess.run(
        [sys.executable, *wrapper, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=120,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == code, f"{done.returncode}: {out}{err}"
    assert "Traceback" not in err
    return out if code == 0 else err


def complaint(*arguments, cwd, code=3, **rest):
    """The one sentence with which the command refuses."""
    err = dropglm(*arguments, cwd=cwd, code=code, **rest)
    lines = [line for line in err.splitlines() if not line.startswith("Reading")]
    assert len(lines) == 1, err
    assert lines[0].startswith("dropglm: ")
    assert lines[0].endswith((".", ")"))
    return lines[0]


def texts(n, seed=0):
    rng = np.random.default_rng(seed)
    labels = ["good", "bad"] * (n // 2)
    return [" ".join(rng.choice((GOOD if y == "good" else BAD) + REST, size=9)) for y in labels], labels


def write_csv(path, rows, header=("text", "label")):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
