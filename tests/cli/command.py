"""The command, in this process or in one of its own, and tables for it to read."""

import contextlib
import csv
import os
import subprocess
import sys

import numpy as np
from typer.testing import CliRunner

GOOD, BAD = ["lovely", "great", "fun", "moving", "warm"], ["dull", "boring", "long", "weak", "cold"]
REST = ["a", "the", "film", "cast", "story", "music", "and", "with"]


def run(*arguments, cwd, stdin=None):
    """Run the command in this process, which saves the time that imports take."""
    from dropglm.cli.app import app

    with contextlib.chdir(cwd):
        done = CliRunner().invoke(app, list(map(str, arguments)), prog_name="dropglm", input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def run_process(*arguments, cwd, stdin=None, wrapper=("-m", "dropglm"), **environment):
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, *wrapper, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=120,
        env=os.environ | environment,
    )


def dropglm(*arguments, cwd, stdin=None, code=0, wrapper=None):
    """Return the standard output of the command, or its standard error if it is to fail.

    It runs in this process unless ``wrapper`` is given, the arguments of a Python that runs it.
    """
    if wrapper is None:
        done = run(*arguments, cwd=cwd, stdin=stdin)
        returncode, out, err = done.exit_code, done.stdout_bytes.decode(), done.stderr_bytes.decode()
    else:
        process = run_process(*arguments, cwd=cwd, stdin=stdin, wrapper=wrapper)
        returncode, out, err = process.returncode, process.stdout.decode(), process.stderr.decode()
    assert returncode == code, f"{returncode}: {out}{err}"
    assert "Traceback" not in err
    return out if code == 0 else err


def error_of(*arguments, cwd, code=3, **rest):
    """Return the one sentence with which the command fails."""
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
