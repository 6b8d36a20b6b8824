"""Accuracy against the number of unlabelled texts, with few labels: a table and a figure.

The unlabelled texts of a smaller number are among those of a larger number. The ends of a curve come from the
main comparison: without unlabelled texts from the method that uses none, with all of them from the method
that uses all.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from dropglm.experiments.experiment import Line
from dropglm.experiments.few_labels_scores import (
    SCORES,
    Groups,
    by_seed,
    difference_cells,
    mean_cells,
    mean_of,
    paired,
)
from dropglm.experiments.few_labels_texts import few_labels
from dropglm.experiments.raw_results import by, with_parameter
from dropglm.experiments.texts import Load, Texts
from dropglm.pages import ResultTable
from dropglm.plots.axes import INK, colors_of, fresh_axes

COUNTS = (100, 300, 1000, 3000)  # besides none and all
PARAMETER = "unlabeled"  # lines without it have all unlabelled texts, or none
POOLS = {"imdb2k": 1_334}  # labelled and unlabelled texts of sets that have fewer than 3,000 unlabelled ones
ALL = math.inf

Curve = dict[float, dict[int, float]]  # accuracies by number of unlabelled texts and by seed


class Drawn(NamedTuple):
    """What a curve shows: a method with unlabelled texts, the method without them if any, and the labels."""

    method: str
    without: str | None
    labels: int


def unlabeled_counts(data: str, labels: int) -> list[int]:
    """Return the numbers of unlabelled texts to try, all of them smaller than what the data set has.

    Examples
    --------
    >>> unlabeled_counts("rt", 100), unlabeled_counts("imdb2k", 100)
    ([100, 300, 1000, 3000], [100, 300, 1000])
    """
    return [count for count in COUNTS if count < POOLS.get(data, math.inf) - labels]


def few_unlabeled(name: str, labels: int, unlabeled: int, seed: int, load: Load) -> Texts:
    """Return one split of a data set with the first of its unlabelled texts, which are in random order."""
    texts = few_labels(name, labels, seed, load)
    return texts._replace(unlabeled=texts.unlabeled[:unlabeled])


def separated(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """Return the lines of the main comparison, and those with some of the unlabelled texts."""
    main = [line for line in lines if PARAMETER not in line["parameters"]]
    return main, [line for line in lines if PARAMETER in line["parameters"]]


def curve_table(drawn: Drawn, main: Groups, some: Groups) -> ResultTable:
    """Return the accuracy by data set and number of unlabelled texts, and the change from 100 to all."""
    shown, curves = SCORES["accuracy"], _curves(drawn, main, some)
    counts = sorted({count for curve in curves.values() for count in curve})
    rows, changes = [], []
    for name, curve in curves.items():
        change = mean_of(paired(curve.get(ALL, {}), curve.get(COUNTS[0], {})).values())
        changes += [change.value] if change else []
        means = [mean_cells(mean_of(curve.get(count, {}).values()), shown)[0] for count in counts]
        rows.append([name, *means, *difference_cells(change, shown)])
    title = f"{drawn.method}, {drawn.labels:,} labels: accuracy in per cent by number of unlabelled texts"
    if changes:
        rises = f"{sum(change > 0 for change in changes)} of {len(changes)} data sets"
        title += f" (from {COUNTS[0]} to all it rises on {rises})"
    return ResultTable(title, ["data", *map(_heading, counts), f"all minus {COUNTS[0]}", "±"], rows)


def draw_curves(drawn: Drawn, main: Groups, some: Groups) -> Any:
    """Return a figure with the accuracy against the number of unlabelled texts, one curve per data set."""
    ax, curves = fresh_axes(), _curves(drawn, main, some)
    places = {count: place for place, count in enumerate((0, *COUNTS, ALL))}
    for name, colour in colors_of(curves, dict.fromkeys(list(curves)[6:], INK)).items():
        means = {count: mean_of(scores.values()) for count, scores in sorted(curves[name].items())}
        found = {count: mean for count, mean in means.items() if mean}
        ax.errorbar(
            [places[count] for count in found],
            [100 * mean.value for mean in found.values()],
            [100 * (mean.error or 0.0) for mean in found.values()],
            color=colour,
            marker="o",
            markersize=3,
            capsize=2,
            label=name,
        )
    ax.set_xticks(list(places.values()), [_heading(count) for count in places])
    ax.set(
        xlabel="unlabelled texts",
        ylabel=SCORES["accuracy"].name,
        title=f"{drawn.method}, {drawn.labels:,} labels",
    )
    ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax.figure


def _curves(drawn: Drawn, main: Groups, some: Groups) -> dict[str, Curve]:
    """Return the curve of each data set that has results with some of the unlabelled texts."""
    found = {name: _curve(drawn, main.get(name, []), lines) for name, lines in some.items()}
    return {name: curve for name, curve in found.items() if curve.keys() - {0, ALL}}


def _curve(drawn: Drawn, main: Sequence[Line], some: Sequence[Line]) -> Curve:
    whole, own = by("method", main), by("method", some).get(drawn.method, [])
    ends = {0: whole.get(drawn.without or "", []), ALL: whole.get(drawn.method, [])}
    counts = {line["parameters"][PARAMETER] for line in own}
    between = {count: with_parameter(PARAMETER, count, own) for count in counts}
    found = {count: by_seed("accuracy", drawn.labels, group) for count, group in (ends | between).items()}
    return {count: scores for count, scores in found.items() if scores}


def _heading(count: float) -> str:
    return "all" if count == ALL else f"{count:,}"
