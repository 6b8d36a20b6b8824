"""Tables of the experiment with few labels: means over data sets, and every method on each of them."""

import numpy as np

from dropglm.experiments.experiment import Line
from dropglm.experiments.few_labels_scores import (
    SCORES,
    Groups,
    all_lines,
    by_seed,
    headings,
    label_counts,
    mean_cells,
    mean_of,
    means_over_sets,
    percent,
)
from dropglm.experiments.raw_results import by, count_seeds, mean, values, with_parameter
from dropglm.pages import ResultTable


def mean_over_sets(score: str, groups: Groups) -> ResultTable:
    """Return the means over data sets, one row per method."""
    shown, means, counts = SCORES[score], means_over_sets(score, groups), label_counts(all_lines(groups))
    rows = [
        [name, *(cell for count in counts for cell in mean_cells(found.get(count), shown))]
        for name, found in means.items()
    ]
    sets = f"{len(groups)} data sets" if len(groups) > 1 else next(iter(groups))
    return ResultTable(f"Mean over {sets}: {shown.name}", ["method", *headings(counts, "±")], rows)


def one_set(name: str, lines: list[Line]) -> ResultTable:
    """Return accuracy, log loss and calibration error of every method on one data set."""
    counts, methods = label_counts(lines), by("method", lines)
    rows = []
    for method, own in methods.items():
        row = [method]
        for count in counts:
            group = with_parameter("labels", count, own)
            row += mean_cells(mean_of(by_seed("accuracy", count, own).values()), SCORES["accuracy"])
            row += [mean(values(score, group)) for score in ("log_loss", "calibration_error")]
        rows.append(row)
    title = f"{name}: accuracy in per cent, log loss and calibration error, {count_seeds(lines)}"
    return ResultTable(title, ["method", *headings(counts, "±", "loss", "cal.")], rows)


def many_labels(name: str, lines: list[Line]) -> ResultTable:
    """Return the scores of a data set with one split; ± is the standard error over its test texts."""
    rows = []
    for method, own in by("method", lines).items():
        (accuracy,), (texts,) = values("accuracy", own[:1]), values("test_rows", own[:1])
        error = np.sqrt(accuracy * (1 - accuracy) / texts)
        scores = [mean(values(score, own[:1])) for score in ("log_loss", "calibration_error")]
        rows.append([method, percent(accuracy), percent(float(error)), *scores])
    labels = lines[0]["parameters"]["labels"]
    header = ["method", "accuracy", "±", "log loss", "calibration error"]
    return ResultTable(f"{name}: {labels:,} labels", header, rows)


def many_classes(name: str, lines: list[Line]) -> ResultTable:
    """Return accuracy beside the mean top probability."""
    scores = ("accuracy", "top_probability", "log_loss")
    rows = [[line["method"], *(mean(values(score, [line])) for score in scores)] for line in lines]
    labels = lines[0]["parameters"]["labels"]
    header = ["method", "accuracy", "mean top probability", "log loss"]
    return ResultTable(f"{name}: {labels:,} labels", header, rows)
