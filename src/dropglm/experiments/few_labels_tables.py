"""Tables of the experiment with few labels, made from raw results."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dropglm.experiments.experiment import Line
from dropglm.experiments.raw_results import by, count_seeds, mean, standard_error, with_parameter
from dropglm.pages import ResultTable

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


def _percent(number: float) -> str:
    return f"{100 * number:.2f}"


def _three(number: float) -> str:
    return f"{number:.3f}"


SCORES: dict[str, Score] = {
    "accuracy": Score("accuracy in per cent", _percent, higher=True),
    "log_loss": Score("log loss", _three),
    "calibration_error": Score("calibration error", _three),
}
COMPARED = ("accuracy", "log_loss")


def means_over_sets(score: str, groups: Groups) -> dict[str, dict[int, Mean]]:
    """Return for each method and number of labels the mean over data sets, of the seeds with all of them."""
    lines = [line for group in groups.values() for line in group]
    return {
        name: {
            count: found for count in _counts(own) if (found := _over_sets(score, count, own, len(groups)))
        }
        for name, own in by("method", lines).items()
    }


def means_of_set(score: str, lines: list[Line]) -> dict[str, dict[int, Mean]]:
    """Return for each method and number of labels the mean over the seeds of one data set."""
    return {
        name: {
            count: found
            for count in _counts(own)
            if (found := _mean_of(_by_seed(score, count, own).values())) is not None
        }
        for name, own in by("method", lines).items()
    }


def mean_over_sets(score: str, groups: Groups) -> ResultTable:
    """Return the means over data sets, one row per method."""
    shown, means = SCORES[score], means_over_sets(score, groups)
    counts = _counts(line for group in groups.values() for line in group)
    rows = [
        [name, *(cell for count in counts for cell in _cells(found.get(count), shown))]
        for name, found in means.items()
    ]
    sets = f"{len(groups)} data sets" if len(groups) > 1 else next(iter(groups))
    return ResultTable(f"Mean over {sets}: {shown.name}", ["method", *_headings(counts, "±")], rows)


def differences(score: str, groups: Groups, ours: str, rivals: Sequence[str]) -> ResultTable:
    """Return ours minus the rival that has the best mean, by data set and number of labels."""
    shown = SCORES[score]
    counts = _counts(line for group in groups.values() for line in group)
    rows = []
    for name, group in groups.items():
        methods = by("method", group)
        row = [name]
        for count in counts:
            own = _by_seed(score, count, methods.get(ours, []))
            others = {rival: _by_seed(score, count, methods.get(rival, [])) for rival in rivals}
            row += _difference(own, {rival: found for rival, found in others.items() if found}, shown)
        rows.append(row)
    title = f"{shown.name[0].upper()}{shown.name[1:]}: {ours} minus the best rival"
    return ResultTable(title, ["data", *_headings(counts, "±", "best rival")], rows)


def one_set(name: str, lines: list[Line]) -> ResultTable:
    """Return accuracy, log loss and calibration error of every method on one data set."""
    counts, methods = _counts(lines), by("method", lines)
    rows = []
    for method, own in methods.items():
        row = [method]
        for count in counts:
            group = with_parameter("labels", count, own)
            row += _cells(_mean_of(_by_seed("accuracy", count, own).values()), SCORES["accuracy"])
            row += [mean(_values(score, group)) for score in ("log_loss", "calibration_error")]
        rows.append(row)
    title = f"{name}: accuracy in per cent, log loss and calibration error, {count_seeds(lines)}"
    return ResultTable(title, ["method", *_headings(counts, "±", "loss", "cal.")], rows)


def many_labels(name: str, lines: list[Line]) -> ResultTable:
    """Return the scores of a data set with one split; ± is the standard error over its test texts."""
    rows = []
    for method, own in by("method", lines).items():
        (accuracy,), (texts,) = _values("accuracy", own[:1]), _values("test_rows", own[:1])
        error = np.sqrt(accuracy * (1 - accuracy) / texts)
        scores = [mean(_values(score, own[:1])) for score in ("log_loss", "calibration_error")]
        rows.append([method, _percent(accuracy), _percent(float(error)), *scores])
    labels = lines[0]["parameters"]["labels"]
    header = ["method", "accuracy", "±", "log loss", "calibration error"]
    return ResultTable(f"{name}: {labels:,} labels", header, rows)


def many_classes(name: str, lines: list[Line]) -> ResultTable:
    """Return accuracy beside the mean top probability."""
    scores = ("accuracy", "top_probability", "log_loss")
    rows = [[line["method"], *(mean(_values(score, [line])) for score in scores)] for line in lines]
    labels = lines[0]["parameters"]["labels"]
    header = ["method", "accuracy", "mean top probability", "log loss"]
    return ResultTable(f"{name}: {labels:,} labels", header, rows)


def _counts(lines: Iterable[Line]) -> list[int]:
    return sorted({line["parameters"]["labels"] for line in lines})


def _values(score: str, lines: Iterable[Line]) -> list[float]:
    return [line["result"][score] for line in lines if score in line["result"]]


def _by_seed(score: str, count: int, lines: Iterable[Line]) -> dict[int, float]:
    return {
        line["seed"]: line["result"][score]
        for line in with_parameter("labels", count, lines)
        if score in line["result"]
    }


def _over_sets(score: str, count: int, lines: list[Line], sets: int) -> Mean | None:
    """Mean over the seeds of the means over data sets; None if no seed has all data sets."""
    seeds = by("seed", with_parameter("labels", count, lines)).values()
    found = [_values(score, group) for group in seeds]
    return _mean_of([float(np.mean(values)) for values in found if len(values) == sets])


def _mean_of(numbers: Iterable[float]) -> Mean | None:
    found = list(numbers)
    return Mean(float(np.mean(found)), standard_error(found)) if found else None


def _cells(found: Mean | None, shown: Score) -> list[str]:
    if found is None:
        return ["-", "-"]
    return [shown.show(found.value), "-" if found.error is None else shown.show(found.error)]


def _difference(
    own: Mapping[int, float], others: Mapping[str, Mapping[int, float]], shown: Score
) -> list[str]:
    """Cells: the mean difference from the best rival on the seeds that both have, its error, the rival."""
    if not own or not others:
        return ["-", "-", "-"]
    sign = 1.0 if shown.higher else -1.0
    best = max(others, key=lambda rival: sign * float(np.mean(list(others[rival].values()))))
    found = _mean_of([own[seed] - others[best][seed] for seed in own if seed in others[best]])
    difference, error = _cells(found, shown)
    return [difference if difference.startswith("-") else f"+{difference}", error, best]


def _headings(counts: Iterable[int], *further: str) -> list[str]:
    return [heading for count in counts for heading in (f"{count:,} labels", *further)]
