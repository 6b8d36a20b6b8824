"""Scores of the experiment with few labels: how they are shown, and their means over seeds and data sets."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from dropglm.experiments.experiment import Line
from dropglm.experiments.raw_results import by, standard_error, values, with_parameter

Groups = Mapping[str, list[Line]]  # lines by data set


class Score(NamedTuple):
    """How a score is shown: its name, its format, and whether higher is better."""

    name: str
    show: Callable[[float], str]
    higher: bool = False


class Mean(NamedTuple):
    """A mean and its standard error, which a single number does not have."""

    value: float
    error: float | None


def percent(number: float) -> str:
    """Return a share in per cent, with two decimals."""
    return f"{100 * number:.2f}"


def _three(number: float) -> str:
    return f"{number:.3f}"


SCORES: dict[str, Score] = {
    "accuracy": Score("accuracy in per cent", percent, higher=True),
    "log_loss": Score("log loss", _three),
    "calibration_error": Score("calibration error", _three),
}


def means_over_sets(score: str, groups: Groups) -> dict[str, dict[int, Mean]]:
    """Return for each method and number of labels the mean over data sets, of the seeds with all of them."""
    return {
        name: {
            count: found
            for count in label_counts(own)
            if (found := _over_sets(score, count, own, len(groups)))
        }
        for name, own in by("method", all_lines(groups)).items()
    }


def means_of_set(score: str, lines: list[Line]) -> dict[str, dict[int, Mean]]:
    """Return for each method and number of labels the mean over the seeds of one data set."""
    return {
        name: {
            count: found
            for count in label_counts(own)
            if (found := mean_of(by_seed(score, count, own).values())) is not None
        }
        for name, own in by("method", lines).items()
    }


def all_lines(groups: Groups) -> list[Line]:
    """Return the lines of all data sets."""
    return [line for group in groups.values() for line in group]


def label_counts(lines: Iterable[Line]) -> list[int]:
    """Return the numbers of labels, in ascending order."""
    return sorted({line["parameters"]["labels"] for line in lines})


def by_seed(score: str, count: int, lines: Iterable[Line]) -> dict[int, float]:
    """Return a score by seed, of the lines with this number of labels that have it."""
    return {
        line["seed"]: line["result"][score]
        for line in with_parameter("labels", count, lines)
        if score in line["result"]
    }


def paired(own: Mapping[int, float], others: Mapping[int, float]) -> dict[int, float]:
    """Return the differences on the seeds that both have.

    Examples
    --------
    >>> paired({0: 0.75, 1: 0.5}, {1: 0.25, 2: 0.5})
    {1: 0.25}
    """
    return {seed: number - others[seed] for seed, number in own.items() if seed in others}


def mean_of(numbers: Iterable[float]) -> Mean | None:
    """Return the mean of some numbers with its standard error, or None if there are none."""
    found = list(numbers)
    return Mean(float(np.mean(found)), standard_error(found)) if found else None


def mean_cells(found: Mean | None, shown: Score) -> list[str]:
    """Return a mean and its standard error as two cells."""
    if found is None:
        return ["-", "-"]
    return [shown.show(found.value), "-" if found.error is None else shown.show(found.error)]


def difference_cells(found: Mean | None, shown: Score) -> list[str]:
    """Return a mean difference, with its sign, and its standard error as two cells.

    Examples
    --------
    >>> difference_cells(Mean(0.0125, 0.005), SCORES["accuracy"]), difference_cells(None, SCORES["log_loss"])
    (['+1.25', '0.50'], ['-', '-'])
    """
    difference, error = mean_cells(found, shown)
    return [difference if difference.startswith("-") else f"+{difference}", error]


def headings(counts: Iterable[int], *further: str) -> list[str]:
    """Return the headings of the columns of each number of labels."""
    return [heading for count in counts for heading in (f"{count:,} labels", *further)]


def _over_sets(score: str, count: int, lines: list[Line], sets: int) -> Mean | None:
    """Mean over the seeds of the means over data sets; None if no seed has all data sets."""
    seeds = by("seed", with_parameter("labels", count, lines)).values()
    found = [values(score, group) for group in seeds]
    return mean_of([float(np.mean(numbers)) for numbers in found if len(numbers) == sets])
