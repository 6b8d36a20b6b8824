"""A subset of ``dropglm reproduce few-labels``, and a comparison of its results before and after a change.

Six of the seven data sets, all seeds, our classifiers and two rivals: about ten minutes on two
idle cores. Results are stored as raw results of the experiment; an interrupted run is resumed. ``compare``
prints the scores of both runs by data set, number of labels and method. ± is the standard error, over seeds,
of the score before.

    DROPGLM_DATA=… python -m benchmarks.same_results run FOLDER
    python -m benchmarks.same_results compare BEFORE AFTER
"""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import dropglm
from benchmarks.markdown import table
from dropglm.base.progress import Progress
from dropglm.experiments import EXPERIMENTS, ExperimentRun

EXPERIMENT = "few-labels"
SETS = ("rt", "subj", "imdb2k", "imdb8k", "docs", "news4")
LABELS = (50, 100, 300, 1000)
SEEDS = 5
METHODS = (
    "TextClassifier",
    "TextClassifier + unlabelled",
    "TextClassifier 0.2",
    "tf-idf",
    "EM naive Bayes, tf-idf",
)
SCORES = ("accuracy", "log_loss")
HEADER = ("data", "labels", "method", "score", "before", "±", "after", "difference")

Split = tuple[str, int, str]  # data set, number of labels, method
Scores = dict[Split, dict[int, dict[str, float]]]  # by split, seed and name


def subset(folder: Path) -> ExperimentRun:
    """Return the experiment with these data sets, seeds and methods, and its stored results."""
    run = ExperimentRun(EXPERIMENT, EXPERIMENTS[EXPERIMENT], folder)
    run.fits = [
        fit
        for fit in run.fits
        if fit.data in SETS
        and fit.method in METHODS
        and fit.seed < SEEDS
        and fit.parameters["labels"] in LABELS
        and "unlabeled" not in fit.parameters  # these have some of the unlabelled texts
    ]
    return run


def scores(folder: Path) -> Scores:
    """Return the stored scores, whatever settings the methods had when they were stored."""
    found: Scores = {}
    for text in (folder / f"{EXPERIMENT}.jsonl").read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        split = line["data"], line["parameters"]["labels"], line["method"]
        found.setdefault(split, {})[line["seed"]] = line["result"]
    return found


def compare(before: Scores, after: Scores) -> tuple[list[tuple[str, ...]], Mapping[str, int]]:
    """Return the rows of the table, and how many are the same, within a standard error, and beyond it."""
    rows, verdicts = [], {"the same": 0, "within one standard error": 0, "beyond one standard error": 0}
    for split in [split for split in before if split in after]:
        seeds = sorted(before[split].keys() & after[split].keys())
        data, labels, method = split
        for score in SCORES:
            pair = [np.array([run[split][seed][score] for seed in seeds]) for run in (before, after)]
            old, new = pair
            error = float(np.std(old, ddof=1) / np.sqrt(len(seeds))) if len(seeds) > 1 else 0.0
            difference = float(np.mean(new - old))
            verdicts[_verdict(float(np.abs(new - old).max()), difference, error)] += 1
            numbers = (old.mean(), error, new.mean())
            cells = (*(f"{number:.5f}" for number in numbers), f"{difference:+.1e}")
            rows.append((data, f"{labels:,}", method, score, *cells))
    return rows, verdicts


def _verdict(largest: float, difference: float, error: float) -> str:
    if largest == 0.0:
        return "the same"
    return "within one standard error" if abs(difference) <= error else "beyond one standard error"


def main(command: str, *folders: str) -> None:
    if command == "run":
        (folder,) = map(Path, folders)
        folder.mkdir(parents=True, exist_ok=True)
        run, start = subset(folder), time.perf_counter()
        print(f"{len(run.missing)} fits with {dropglm.__file__}", flush=True)
        with Progress("fits", costs=[fit.cost for fit in run.missing], shown=True) as progress:
            run.run(progress=progress)
        print(f"{time.perf_counter() - start:.0f} s, {time.process_time():.0f} s of CPU time")
    else:
        rows, verdicts = compare(*(scores(Path(folder)) for folder in folders))
        print(table(HEADER, rows))
        print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
