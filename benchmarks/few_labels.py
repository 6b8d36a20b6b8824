"""Seconds of a fit with few labels: our defaults, those of version 0.2, and tf-idf with logistic regression.

Our classifier is timed with labelled texts only, and with all unlabelled texts of the split. Data sets,
splits and methods are those of ``dropglm reproduce few-labels``. All fits run one after the other in one
process, with one thread, and the methods take turns; the fastest of the rounds counts. With all data sets,
the table is also written to the page of the experiment.

    DROPGLM_DATA=… python -m benchmarks.few_labels [SET …]
"""

import sys

from threadpoolctl import threadpool_limits

from benchmarks.markdown import ROOT, fill, table
from dropglm.datasets import load_dataset
from dropglm.experiments.few_labels import (
    METHODS,
    OLD,
    OURS,
    OURS_UNLABELED,
    SETS,
    TFIDF,
    label_counts,
    score_text_method,
)
from dropglm.experiments.texts import few_labels

PAGE = ROOT / "docs" / "paper" / "few-labels.md"
ROUNDS = 2
SEED = 0
COMPARED = (OURS, OURS_UNLABELED, OLD, TFIDF)
HEADER = ("data", "labels", *(f"{name}, s" for name in COMPARED), f"ours / {OLD}", f"ours / {TFIDF}")


def seconds(name: str, labels: int) -> dict[str, float]:
    """Return the shortest time of a fit by method."""
    texts = few_labels(name, labels, SEED, load_dataset)
    found: dict[str, list[float]] = {method: [] for method in COMPARED}
    for _ in range(ROUNDS):
        for method, times in found.items():
            times.append(score_text_method(texts, method=METHODS[method].on(name), seed=SEED)["fit_seconds"])
    return {method: min(times) for method, times in found.items()}


def row(name: str, labels: int) -> tuple[str, ...]:
    taken = seconds(name, labels)
    ours = taken[OURS]
    return (
        name,
        f"{labels:,}",
        *(f"{taken[method]:.2f}" for method in COMPARED),
        f"{ours / taken[OLD]:.2f}",
        f"{ours / taken[TFIDF]:.2f}",
    )


if __name__ == "__main__":
    names = sys.argv[1:] or SETS
    with threadpool_limits(1, "blas"):
        rows = []
        for name in names:
            for labels in label_counts(name):
                rows.append(row(name, labels))
                print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    print(table(HEADER, rows))
    if len(sys.argv) == 1:
        fill(PAGE, "seconds", table(HEADER, rows))
