"""Differences on the same splits: ours minus the best rival, and with minus without unlabelled texts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dropglm.experiments.few_labels_scores import (
    SCORES,
    Groups,
    Mean,
    Score,
    all_lines,
    by_seed,
    difference_cells,
    headings,
    label_counts,
    mean_of,
    paired,
)
from dropglm.experiments.raw_results import by
from dropglm.pages import ResultTable

LOSS, LARGE_LOSS = 0.01, 0.03  # of accuracy, in one split


class Pair(NamedTuple):
    """The accuracy with unlabelled texts minus that without, on one split."""

    data: str
    labels: int
    seed: int
    difference: float


def differences(
    score: str, groups: Groups, ours: str, rivals: Sequence[str], kind: str = "rival"
) -> ResultTable:
    """Return ours minus the rival that has the best mean, by data set and number of labels.

    ``kind`` says in the title which rivals are compared.
    """
    shown, counts = SCORES[score], label_counts(all_lines(groups))
    rows, found = [], []
    for name, group in groups.items():
        methods = by("method", group)
        row = [name]
        for count in counts:
            own = by_seed(score, count, methods.get(ours, []))
            others = {rival: by_seed(score, count, methods.get(rival, [])) for rival in rivals}
            best = _best({rival: numbers for rival, numbers in others.items() if numbers}, shown)
            difference = mean_of(paired(own, others[best]).values()) if best else None
            row += [*difference_cells(difference, shown), best if difference and best else "-"]
            found += [difference] if difference else []
        rows.append(row)
    title = f"{_upper(shown.name)}: {ours} minus the best {kind}{_verdict(found, shown)}"
    return ResultTable(title, ["data", *headings(counts, "±", "best rival")], rows)


def gains(score: str, groups: Groups, ours: str, without: str) -> ResultTable:
    """Return the score with unlabelled texts minus that without, by data set and number of labels."""
    shown, counts = SCORES[score], label_counts(all_lines(groups))
    found = {
        name: [_gain(score, count, group, ours, without) for count in counts]
        for name, group in groups.items()
    }
    if len(groups) > 1:
        seeds = [[each[k] for each in found.values()] for k in range(len(counts))]
        found["mean"] = [_mean_over_sets(sets) for sets in seeds]
    rows = [
        [name, *(cell for each in row for cell in difference_cells(mean_of(each.values()), shown))]
        for name, row in found.items()
    ]
    title = f"{_upper(shown.name)}: {ours} minus {without}"
    return ResultTable(title, ["data", *headings(counts, "±")], rows)


def safety(groups: Groups, ours: str, without: str) -> ResultTable:
    """Return in how many splits unlabelled texts reduce the accuracy, by number of labels and in all."""
    pairs = [
        Pair(name, count, seed, difference)
        for name, group in groups.items()
        for count in label_counts(group)
        for seed, difference in _gain("accuracy", count, group, ours, without).items()
    ]
    counts = sorted({pair.labels for pair in pairs})
    rows = [_losses(f"{n:,} labels", [pair for pair in pairs if pair.labels == n]) for n in counts]
    if len(counts) > 1:
        rows.append(_losses("all", pairs))
    header = ["", "splits", f"more than {100 * LOSS:g} point lower", "per cent"]
    header += [f"more than {100 * LARGE_LOSS:g} points lower", "worst", "where"]
    return ResultTable("Splits in which unlabelled texts reduce the accuracy", header, rows)


def _best(others: Mapping[str, Mapping[int, float]], shown: Score) -> str | None:
    """Return the rival with the best mean."""
    sign = 1.0 if shown.higher else -1.0
    return max(others, key=lambda name: sign * float(np.mean(list(others[name].values()))), default=None)


def _verdict(found: Iterable[Mean], shown: Score) -> str:
    """Say in how many cells we are ahead, and in how many behind by more than a standard error."""
    signed = [(mean.value if shown.higher else -mean.value, mean.error) for mean in found]
    if not signed:
        return ""
    ahead = sum(value > 0 for value, _ in signed)
    text = f" (better in {ahead} of {len(signed)} cells"
    if all(error is not None for _, error in signed):
        behind = sum(value < -(error or 0.0) for value, error in signed)
        text += f", worse by more than one standard error in {behind}"
    return f"{text})"


def _gain(score: str, count: int, lines: Sequence[dict], ours: str, without: str) -> dict[int, float]:
    methods = by("method", lines)
    return paired(*(by_seed(score, count, methods.get(name, [])) for name in (ours, without)))


def _mean_over_sets(sets: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Return the means over data sets, by seed, of the seeds that all of them have."""
    seeds = set.intersection(*(set(each) for each in sets))
    return {seed: float(np.mean([each[seed] for each in sets])) for seed in sorted(seeds)}


def _losses(name: str, pairs: Sequence[Pair]) -> list[str]:
    lower, much_lower = (sum(pair.difference < -limit for pair in pairs) for limit in (LOSS, LARGE_LOSS))
    worst = min(pairs, key=lambda pair: pair.difference)
    where = f"{worst.data}, {worst.labels:,} labels, seed {worst.seed}"
    share = f"{100 * lower / len(pairs):.1f}"
    return [
        name,
        str(len(pairs)),
        str(lower),
        share,
        str(much_lower),
        f"{100 * worst.difference:+.2f}",
        where,
    ]


def _upper(name: str) -> str:
    return f"{name[0].upper()}{name[1:]}"
