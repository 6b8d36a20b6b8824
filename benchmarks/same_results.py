"""A comparison of results of ``dropglm reproduce few-labels`` before and after a change.

Both folders have raw results of the experiment, or of its subset, which takes at most 30 minutes on two idle
cores. The table has the scores of both by data set, number of labels and method. ± is the standard error,
over seeds, of the score before.

    dropglm reproduce few-labels --subset --out BEFORE
    dropglm reproduce few-labels --subset --out AFTER      with the changed code
    python -m benchmarks.same_results BEFORE AFTER
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.markdown import table

EXPERIMENT = "few-labels"
SCORES = ("accuracy", "log_loss")
HEADER = ("data", "labels", "method", "score", "before", "±", "after", "difference")

Split = tuple[str, int, str]  # data set, number of labels, method
Scores = dict[Split, dict[int, dict[str, float]]]  # by split, seed and name


def scores(folder: Path) -> Scores:
    """Return the stored scores, whatever settings the methods had when they were stored."""
    found: Scores = {}
    for text in (folder / f"{EXPERIMENT}.jsonl").read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        if "unlabeled" in line["parameters"]:  # curves, with some of the unlabelled texts
            continue
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


if __name__ == "__main__":
    rows, verdicts = compare(*(scores(Path(folder)) for folder in sys.argv[1:]))
    print(table(HEADER, rows))
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))
