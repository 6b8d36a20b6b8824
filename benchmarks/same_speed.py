"""The jobs of README's table with this checkout and with another one, in alternating fresh processes.

Prints the fastest run of each, and their ratio. Commands are timed as whole processes; a fit, a vectorizer
and an online learner inside a process, after a first run that compiles.

    DROPGLM_DATA=… python -m benchmarks.same_speed OTHER/src [JOB …]
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks import whole_job
from benchmarks.fits import GAP, ours
from benchmarks.markdown import ROOT, table
from benchmarks.processes import run
from benchmarks.text import imdb, read

PYTHON = [sys.executable, "-m"]
HEADER = ("", "there", "here", "here / there")
TEXT = "Split the string at the given delimiter."


def one_fit() -> Callable[[], object]:
    split = imdb(2)
    return lambda: ours(tol=GAP).fit(split.X, split.y)


def bigrams() -> Callable[[], object]:
    from dropglm import NgramVectorizer

    texts = read("imdb")["text"].to_list()
    return lambda: NgramVectorizer((1, 2), 2, n_jobs=2).fit_transform(texts)


def online_memory() -> Callable[[], object]:
    from dropglm import OnlineLogisticRegression

    split = imdb(2)
    order = np.random.default_rng(0).permutation(len(split.y))
    X, y = split.X[order], split.y[order]
    return lambda: OnlineLogisticRegression("adagrad").partial_fit(X, y, np.unique(y))


def search() -> Callable[[], object]:
    from dropglm import LogisticRegressionCV

    split = imdb(1)
    return lambda: LogisticRegressionCV(n_jobs=2).fit(split.X[::5], split.y[::5])


# Inside a process, and how often each is repeated there.
INSIDE = {"fit": (one_fit, 5), "bigrams": (bigrams, 1), "search": (search, 2), "online": (online_memory, 15)}
# Whole processes, and how often both checkouts run each. ``predict`` needs the model of ``docstrings``.
COMMANDS = {
    "docstrings": ("train ../docstrings.csv --unlabeled ../docstrings_unlabeled.csv --out model.skops", 5),
    "predict": ("predict model.skops", 7),
    "online from a file": ("train ../imdb.csv --online --out online.skops", 5),
    "imdb": ("train ../imdb.csv --unlabeled ../imdb_unlabeled.csv --out imdb.skops", 2),
    "newsgroups": ("train ../newsgroups.csv --out newsgroups.skops", 1),
}
ROUNDS = 3


def inside(name: str) -> float:
    """Return the seconds of the fastest run of a job in this process."""
    make, repeats = INSIDE[name]
    job, taken = make(), []
    for _ in range(1 + repeats):
        start = time.perf_counter()
        job()
        taken.append(time.perf_counter() - start)
    return min(taken[1:])


def seconds(name: str, source: Path, folder: Path) -> float:
    """Return the seconds of a job with the library of a checkout."""
    path = {"PYTHONPATH": os.pathsep.join([str(source), str(ROOT)])}
    if name in INSIDE:
        return float(run([*PYTHON, "benchmarks.same_speed", "--inside", name], folder, path).output)
    arguments, _ = COMMANDS[name]
    return run([*PYTHON, "dropglm", *arguments.split()], folder, path, text=TEXT).seconds


def main(other: str, *names: str) -> None:
    if other == "--inside":
        print(inside(names[0]))
        return
    here, there = ROOT / "src", Path(other).resolve()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for data in whole_job.JOBS:
            whole_job.write_tables(data, folder)
        folders = {there: folder / "there", here: folder / "here"}  # each has model files of its own
        for one in folders.values():
            one.mkdir()
        for name in names or (*COMMANDS, *INSIDE):
            best = {source: seconds(name, source, folders[source]) for source in folders}  # may compile
            for k in range(COMMANDS[name][1] if name in COMMANDS else ROUNDS):
                for source in (there, here)[:: 1 if k % 2 else -1]:
                    best[source] = min(best[source], seconds(name, source, folders[source]))
            cells = (f"{best[there]:.3f} s", f"{best[here]:.3f} s", f"{best[here] / best[there]:.3f}")
            rows.append((name, *cells))
            print(*rows[-1], sep=" | ", flush=True)
    print(table(HEADER, rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
