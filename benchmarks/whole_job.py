"""From files to a tuned model: ``dropglm train`` compared with tf-idf and LogisticRegressionCV(Cs=10).

Whole processes are timed, from reading the table to the model file: README's example, 20 newsgroups, and
IMDB's bigrams. dropglm also learns from unlabelled texts, where there are any; scikit-learn's model cannot.
scikit-learn runs with its fastest setting (processes, threads of BLAS, precision, scoring), which is found
on a part of the texts by changing one of them at a time.

    DROPGLM_DATA=… python -m benchmarks.whole_job [--only NAME …]
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.processes import Finished, run
from benchmarks.text import read

Rows = list[tuple[str, ...]]
HEADER = (
    "",
    "time",
    "dropglm's time / this time",
    "processor time",
    "peak memory",
    "test accuracy",
    "test log loss",
)
DROPGLM = [sys.executable, "-m", "dropglm"]
SKLEARN = [sys.executable, str(Path(__file__).parent / "sklearn_job.py")]
# Each is tried in turn and kept if it is faster.
CHANGES = (
    ("2 processes", {"n_jobs": 2}),
    ("2 BLAS threads", {"blas": 2}),
    ("float32", {"float32": True}),
    ("scored by accuracy", {"scoring": "accuracy"}),
)
PLAIN = {"n_jobs": 1, "blas": 1, "float32": False, "scoring": "neg_log_loss"}


class Job(NamedTuple):
    """One data set: a title, arguments of ``dropglm train``, their tf-idf, and how often the jobs are run."""

    title: str
    arguments: list[str]
    tfidf: dict[str, Any]
    part: int  # texts on which the fastest setting is found
    rounds: int


JOBS = {
    "docstrings": Job(
        "README's example, 300 labelled and 3,700 unlabelled docstrings",
        ["--unlabeled", "docstrings_unlabeled.csv"],
        {},
        300,
        3,
    ),
    "newsgroups": Job("20 newsgroups, 11,314 labelled texts", [], {}, 1500, 1),
    "imdb": Job(
        "IMDB bigrams, 25,000 labelled and 50,000 unlabelled reviews",
        ["--unlabeled", "imdb_unlabeled.csv"],
        {"ngram_range": (1, 2), "min_df": 2, "sublinear_tf": True},
        2500,
        1,
    ),
}


def write_tables(name: str, folder: Path) -> None:
    """Write the training texts of a job, shuffled, its test texts and its unlabelled texts."""
    import polars as pl

    if name == "docstrings":
        run([*DROPGLM, "data", "export", "docstrings"], folder)
        return
    data = read({"newsgroups": "20news"}.get(name, name))
    data = data.with_columns(label=pl.col("group" if name == "newsgroups" else "label"))
    parts = {split: data.filter(pl.col("split") == split) for split in ("train", "test", "unsup")}
    train = parts["train"].sample(fraction=1, shuffle=True, seed=0)
    train.select("text", "label").write_csv(folder / f"{name}.csv")
    parts["test"].select("text", "label").write_csv(folder / f"{name}_test.csv")
    if len(parts["unsup"]):
        parts["unsup"].select("text").write_csv(folder / f"{name}_unlabeled.csv")


def theirs(table: str, job: Job, setting: dict[str, Any], folder: Path, limit: float = math.inf) -> Finished:
    """Run scikit-learn's job, at most for a number of seconds."""
    settings = {
        "tfidf": job.tfidf,
        "float32": setting["float32"],
        "logistic": {"n_jobs": setting["n_jobs"], "scoring": setting["scoring"]},
    }
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), str(setting["blas"]))
    return run([*SKLEARN, "train", table, "theirs.pickle", json.dumps(settings)], folder, threads, limit)


def best_setting(name: str, folder: Path) -> tuple[dict[str, Any], str]:
    """Return the fastest of their settings on a part of the texts, and its description."""
    import polars as pl

    job = JOBS[name]
    pl.read_csv(folder / f"{name}.csv").head(job.part).write_csv(folder / "part.csv")
    setting, words = dict(PLAIN), []

    def seconds(tried: dict[str, Any], fastest: float = math.inf) -> float:
        # What is much slower is stopped.
        limit = 1.3 * fastest + 1.0
        return min(theirs("part.csv", job, tried, folder, limit).seconds for _ in range(2))

    fastest = seconds(setting)
    print(f"{name}, {job.part} texts: {setting} {fastest:.1f} s", flush=True)
    for words_of_change, change in CHANGES:
        taken = seconds(setting | change, fastest)
        print(f"{name}, {job.part} texts: {change} {taken:.1f} s", flush=True)
        if taken < fastest:
            setting, fastest = setting | change, taken
            words.append(words_of_change)
    return setting, ", ".join(words or ["1 process, 1 BLAS thread, float64"])


def measure(name: str) -> tuple[str, Rows]:
    """Return a title, and a row for dropglm and one for scikit-learn: the fastest of alternating runs."""
    job = JOBS[name]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_tables(name, folder)
        setting, words = best_setting(name, folder)
        command = ["train", f"{name}.csv", *job.arguments]
        titles = {
            "ours": f"`dropglm {' '.join(command)}`",
            "theirs": f"{_tfidf(job)} and LogisticRegressionCV(Cs=10) on the labelled texts: {words}",
        }
        runs: dict[str, list[Finished]] = {"ours": [], "theirs": []}
        scores = {}
        for _ in range(job.rounds):
            runs["ours"].append(run([*DROPGLM, *command, "--quiet", "--out", "ours.skops"], folder))
            print(f"{name}: {titles['ours']} {runs['ours'][-1].seconds:.1f} s", flush=True)
            runs["theirs"].append(theirs(f"{name}.csv", job, setting, folder))
            print(f"{name}: {titles['theirs']} {runs['theirs'][-1].seconds:.1f} s", flush=True)
        test = f"{name}_test.csv"
        for key, line in (
            ("ours", [*DROPGLM, "evaluate", "ours.skops", test, "--json", "--quiet"]),
            ("theirs", [*SKLEARN, "score", test, "theirs.pickle"]),
        ):
            scores[key] = json.loads(run(line, folder).output)
    best = {key: min(done, key=lambda one: one.seconds) for key, done in runs.items()}
    rows: Rows = [
        (
            titles[key],
            f"{one.seconds:.1f} s",
            f"**{best['ours'].seconds / one.seconds:.2f}**",
            f"{one.processor_seconds:.1f} s",
            f"{one.peak_memory / 2**20:.0f} MiB",
            f"{100 * scores[key]['accuracy']:.2f}",
            f"{scores[key]['log_loss']:.3f}",
        )
        for key, one in best.items()
    ]
    return job.title, rows


def _tfidf(job: Job) -> str:
    return f"TfidfVectorizer({', '.join(f'{key}={value}' for key, value in job.tfidf.items())})"


def measure_all(names: Sequence[str]) -> Iterator[tuple[str, Rows]]:
    """Yield the table of each job, by title."""
    for name in names:
        yield measure(name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=list(JOBS), choices=JOBS)
    for title, rows in measure_all(parser.parse_args().only):
        print(title)
        for row in (HEADER, *rows):
            print("  " + "".join(f"{cell:<30}" for cell in row), flush=True)
