"""Wrong labels found by ``dropglm.labelling.suspicious`` and by cleanlab, from the same model.

Of 2,000 labels, one in twenty is replaced by another class at random. Both list the labels that look wrong;
the score is the share of wrong ones among the first 100 listed, or among as many as ours lists if these are
fewer. cleanlab gets the cross-validated probabilities of the same model, and ranks in three ways.

    DROPGLM_DATA=… python -m benchmarks.suspicious          measure, and fill the table of docs/labelling.md
    DROPGLM_DATA=… python -m benchmarks.suspicious SET …    print the table of some data sets only
    DROPGLM_DATA=… python -m benchmarks.suspicious --sure   print how sure the page must be to list a label

The last one lists labels of few texts, once with all labels right and once with one in twenty exchanged, and
counts those whose other class has at least some probability.
"""

import sys
import time

import numpy as np

from benchmarks.markdown import ROOT, fill, table
from dropglm.datasets import load_dataset
from dropglm.experiments.labelling import SETS, Annotated, annotated
from dropglm.labelling import suspicious
from dropglm.labelling.pool import LabeledTexts, choose_settings

LABELS, FLIPPED, LISTED, SEEDS = 2000, 0.05, 100, 3
FEW_LABELS, FLOORS = (60, 200, 600), (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
FEW_SETS = ("rt", "subj", "emotion6", "banking77", "tweetsent_fr", "chnsenti_zh")
RANKINGS = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
OURS = "dropglm"
HEADER = ("data", OURS, *(f"cleanlab, {name}" for name in RANKINGS), "listed", "seconds")


def with_wrong_labels(
    data: Annotated, seed: int, n: int = LABELS, share: float = FLIPPED
) -> tuple[dict[int, str], set[int]]:
    """Return labels of texts drawn at random, and the numbers of those that were changed."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(data.truth))[:n])
    classes = np.unique(data.truth)
    labels = {int(row): str(data.truth[row]) for row in rows}
    changed = rng.permutation(rows)[: round(share * len(rows))]
    for row in changed.tolist():
        labels[row] = str(rng.choice(classes[classes != labels[row]]))
    return labels, set(changed.tolist())


def precision(found: list[int], wrong: set[int]) -> float:
    return float(np.mean([row in wrong for row in found])) if found else 0.0


def one(data: Annotated, seed: int) -> tuple[list[float], int, float]:
    """Return the precision of each method, how many texts ours lists, and the seconds that it takes."""
    from cleanlab.filter import find_label_issues

    labels, wrong = with_wrong_labels(data, seed)
    begin = time.perf_counter()
    ours = [entry.row for entry in suspicious(data.pool, labels, LISTED)]
    seconds = time.perf_counter() - begin
    labeled = LabeledTexts.of(labels)
    p = choose_settings(data.pool, labeled)[1]
    assert p is not None
    theirs = [
        labeled.rows[find_label_issues(labeled.y, p, return_indices_ranked_by=ranking, n_jobs=1)].tolist()
        for ranking in RANKINGS
    ]
    return [precision(found[: len(ours)], wrong) for found in (ours, *theirs)], len(ours), seconds


def rows(names: list[str]) -> list[tuple[str, ...]]:
    """Return the lines of the table, the last one with the means over the data sets."""
    lines, all_means = [], []
    for name in names:
        data = annotated(name, load_dataset)
        results = [one(data, seed) for seed in range(SEEDS)]
        means = np.mean([found for found, _, _ in results], axis=0)
        listed, seconds = (np.mean([result[k] for result in results]) for k in (1, 2))
        all_means.append(means)
        lines.append((name, *(f"{100 * mean:.1f}" for mean in means), f"{listed:.0f}", f"{seconds:.1f}"))
        print(*lines[-1], flush=True)
    lines.append(("mean", *(f"{100 * mean:.1f}" for mean in np.mean(all_means, axis=0)), "", ""))
    return lines


def listed_by_probability() -> str:
    """Return a table of the labels that are listed, for each least probability; sums over sets and seeds."""
    found: dict[tuple[int, float], np.ndarray] = {}
    for name in FEW_SETS:
        data = annotated(name, load_dataset)
        for n in FEW_LABELS:
            for seed in range(SEEDS):
                for share in (0.0, FLIPPED):
                    labels, wrong = with_wrong_labels(data, seed, n, share)
                    listed = suspicious(data.pool, labels, None)
                    for floor in FLOORS:
                        rows = [one.row for one in listed if one.probability >= floor]
                        n_wrong = sum(row in wrong for row in rows)
                        counts = (
                            (0, 0, len(rows), len(labels)) if share == 0.0 else (n_wrong, len(rows), 0, 0)
                        )
                        found[n, floor] = found.get((n, floor), np.zeros(4, int)) + counts
    header = (
        "labels",
        "least probability",
        "right labels listed, %",
        "wrong among the listed, %",
        "listed",
    )
    lines = [
        (str(n), str(floor), f"{100 * right / of:.1f}", f"{100 * n_wrong / max(listed, 1):.0f}", str(listed))
        for (n, floor), (n_wrong, listed, right, of) in found.items()
    ]
    return table(header, lines)


if __name__ == "__main__":
    names = sys.argv[1:]
    if names == ["--sure"]:
        print(listed_by_probability())
        sys.exit()
    block = table(HEADER, rows(names or list(SETS)))
    print(block)
    if not names:
        fill(ROOT / "docs/labelling.md", "suspicious", block)
