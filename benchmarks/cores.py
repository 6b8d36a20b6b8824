"""The same work on one thread and on more, up to all cores of the machine, and whether results are identical.

The tasks: one fit to IMDB's bigrams, a search over 60 points with 5 folds on them, the vectorizer that makes
them, and a tuned TextClassifier on 20 newsgroups. Then profiles of the tuned classifier on two threads and on
the most. The machine needs only Python, Numba, SciPy and scikit-learn; for the data see ``training_texts``.

    DROPGLM_DATA=… python -m benchmarks.cores [--threads 1,2,4] [--only NAME …] [--minutes 8] [--out FILE]

The most threads and one thread come first. Further numbers of threads are left out, and said to be, if they
would take longer than the minutes. FILE is written anew after every run.
"""

import argparse
import hashlib
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import thread_time
from benchmarks.markdown import table
from benchmarks.training_texts import training_texts

HEADER = ("threads", "time", "speed-up", "processor time", "result")
PROFILE = ("", "share of the threads' time", "calls")
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite")
FEW = 300  # texts, to compile or load compiled code


class Run(NamedTuple):
    """One run of a task."""

    seconds: float
    processor_seconds: float
    result: str  # a digest


@cache
def imdb() -> tuple[list[str], np.ndarray]:
    """Return IMDB's training reviews in a random order, and their labels."""
    texts, y = training_texts("imdb")
    order = np.random.default_rng(0).permutation(len(texts))
    return [texts[k] for k in order], y[order]


@cache
def bigrams() -> tuple[Any, np.ndarray]:
    """Return binary features: words and pairs of words that occur in at least two reviews."""
    from dropglm import NgramVectorizer

    texts, y = imdb()
    return NgramVectorizer((1, 2), 2, n_jobs=-1).fit_transform(texts), y


def vectorize(threads: int, n: int | None = None) -> tuple[bytes, ...]:
    from dropglm import NgramVectorizer

    X = NgramVectorizer((1, 2), 2, n_jobs=threads).fit_transform(imdb()[0][:n])
    return X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes()


def fit(threads: int, n: int | None = None) -> tuple[bytes, ...]:
    from dropglm import LogisticRegression

    X, y = bigrams()
    # The tolerance leaves a relative objective gap of about 1e-4.
    model = LogisticRegression(dropout=0.5, l2=1.0, tol=1e-2, n_jobs=threads).fit(X[:n], y[:n])
    return model.coef_.tobytes(), model.intercept_.tobytes()


def search(threads: int, n: int | None = None) -> tuple[bytes, ...]:
    from dropglm import LogisticRegressionCV

    X, y = bigrams()
    model = LogisticRegressionCV(
        dropout=(0.8, 0.65, 0.5, 0.35, 0.2),
        l2=(10.0, 3.0, 1.0, 0.3),
        l2_weights=["uniform", "naive_bayes", np.random.default_rng(0).uniform(0.5, 2.0, X.shape[1])],
        scoring="accuracy",
        extend_l2=False,
        n_jobs=threads,
    ).fit(X[:n], y[:n])
    return model.coef_.tobytes(), model.cv_results_["mean_test_score"].tobytes()


def newsgroups(threads: int, n: int | None = None) -> tuple[bytes, ...]:
    from dropglm import TextClassifier

    texts, y = news()
    model = TextClassifier(n_jobs=threads).fit(texts[:n], y[:n])
    return model.predict_proba(texts[:100]).tobytes(), repr(model.search_.best_params_).encode()


@cache
def news() -> tuple[list[str], np.ndarray]:
    """Return the training texts of 20 newsgroups in a random order, and their labels."""
    texts, y = training_texts("20news")
    order = np.random.default_rng(0).permutation(len(texts))
    return [texts[k] for k in order], y[order]


class Task(NamedTuple):
    """Work by name: a title, a function of the number of threads, and how often it is repeated."""

    title: str
    work: Callable[..., tuple[bytes, ...]]
    rounds: int


TASKS = {
    "fit": Task("One fit, IMDB bigrams, relative objective gap 1e-4", fit, 3),
    "vectorizer": Task("NgramVectorizer, bigrams of 25,000 reviews", vectorize, 3),
    "newsgroups": Task("TextClassifier, tuned, 20 newsgroups, 11,314 texts", newsgroups, 1),
    "search": Task("LogisticRegressionCV, 60 points × 5 folds and the final fit, IMDB bigrams", search, 1),
}


def timed(task: Task, threads: int) -> Run:
    """Return the fastest of the runs."""
    runs = []
    for _ in range(task.rounds):
        start, processor = time.perf_counter(), time.process_time()
        result = task.work(threads)
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
        runs.append(Run(seconds, processor, hashlib.sha256(b"".join(result)).hexdigest()))
    return min(runs, key=lambda run: run.seconds)


class Report:
    """The runs so far, printed as they come and kept in a file."""

    def __init__(self, out: Path | None) -> None:
        self.out = out
        self.runs: dict[str, dict[int, Run | None]] = {}  # None: left out
        self.profiles: dict[str, thread_time.Profile] = {}
        self.title = machine()
        self.say(self.title)

    def say(self, line: str) -> None:
        """Print a line, and write the file."""
        print(line, flush=True)
        if self.out is not None:
            self.out.write_text(self.markdown(), encoding="utf-8")

    def add(self, name: str, threads: int, run: Run | None) -> None:
        """Add a run, or None for one that was left out."""
        self.runs.setdefault(name, {})[threads] = run
        self.say(f"{name:<12}" + "".join(f"{cell:<26}" for cell in self.row(name, threads)))

    def row(self, name: str, threads: int) -> tuple[str, ...]:
        """Return the cells of a run."""
        run, one = self.runs[name][threads], self.runs[name].get(1)
        if run is None:
            return str(threads), "left out", "", "", ""
        processor = f"{run.processor_seconds:.2f} s"
        if one is None:
            return str(threads), f"{run.seconds:.2f} s", "", processor, ""
        same = "identical" if run.result == one.result else "**different**"
        speedup = f"**{one.seconds / run.seconds:.2f}**"
        return str(threads), f"{run.seconds:.2f} s", speedup, processor, same

    def markdown(self) -> str:
        """Return all tables."""
        parts = [f"Machine: {self.title}."]
        for name, runs in self.runs.items():
            rows = [self.row(name, threads) for threads in sorted(runs)]
            parts.append(f"### {TASKS[name].title}\n\n{table(HEADER, rows)}")
        for title, found in self.profiles.items():
            parts.append(f"### {title}\n\n{table(PROFILE, profile_rows(found))}")
        return "\n\n".join(parts) + "\n"


def machine() -> str:
    """Return the processor, the number of cores that may be used, and versions."""
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    name = names[0].split(":")[1].strip() if names else platform.machine()
    return f"{cores()} cores of {name}; Python {platform.python_version()}, {', '.join(versions())}"


def versions() -> Iterable[str]:
    for library in LIBRARIES:
        try:
            yield f"{library} {version(library)}"
        except PackageNotFoundError:
            yield f"{library} missing"


def cores() -> int:
    return len(os.sched_getaffinity(0))


def profile_rows(found: thread_time.Profile) -> list[tuple[str, ...]]:
    """Return one row per kind of work, and one per compiled function that takes at least 1 %."""
    kinds: list[tuple[str, ...]] = [
        (kind, f"{100 * share:.0f} %", "") for kind, share in found.shares.items()
    ]
    loops = [(f"`{one.name}`", f"{100 * one.share:.0f} %", f"{one.calls:,}") for one in found.loops]
    return kinds + [row for row, one in zip(loops, found.loops, strict=True) if one.share >= 0.01]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    powers = [2**k for k in range(8) if 2**k < cores()]
    parser.add_argument("--threads", default=",".join(map(str, [*powers, cores()])))
    parser.add_argument("--only", nargs="*", default=list(TASKS), choices=TASKS)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--no-profile", action="store_true")
    options = parser.parse_args(arguments)
    numbers = sorted(map(int, options.threads.split(",")))
    end = time.perf_counter() + 60.0 * options.minutes
    report = Report(options.out)

    def left() -> float:
        return end - time.perf_counter()

    for name in options.only:  # compile, or load compiled code
        start = time.perf_counter()
        for threads in (1, numbers[-1]):
            TASKS[name].work(threads, FEW)
        report.say(f"{name}: data read and code compiled in {time.perf_counter() - start:.1f} s")
    for name in options.only:
        for threads in dict.fromkeys([numbers[0], numbers[-1]]):
            report.add(name, threads, timed(TASKS[name], threads))
    if "newsgroups" in options.only and not options.no_profile:
        for threads in dict.fromkeys([min(2, numbers[-1]), numbers[-1]]):
            title = f"Profile of the tuned classifier on {threads} threads"
            found = thread_time.profile(partial(newsgroups, threads), threads)
            report.profiles[f"{title}, {found.seconds:.1f} s"] = found
            report.say(f"{title}: {found.seconds:.1f} s, {found.processor_seconds:.1f} s of processor time")
            for row in profile_rows(found):
                report.say(f"  {row[0]:<75}{row[1]:>5}{row[2]:>12}")
    for name in options.only:
        for threads in numbers[1:-1]:
            one = report.runs[name][numbers[0]]
            assert one is not None
            # Half as much again as with a perfect speed-up.
            expected = 1.5 * TASKS[name].rounds * one.seconds * numbers[0] / threads
            report.add(name, threads, timed(TASKS[name], threads) if expected < left() else None)
    if options.out is not None:
        print(f"The tables are in {options.out}.")


if __name__ == "__main__":
    main(sys.argv[1:])
