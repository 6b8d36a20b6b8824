"""Tables and figure of the experiment on thirds, from its raw lines alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dropglm.experiments.experiment import Comparison, Line
from dropglm.experiments.lines import by, error, mean, percent, results, standard_error
from dropglm.experiments.methods import OURS
from dropglm.pages import ResultTable
from dropglm.plots.axes import COLOURS, fresh_axes

# What the paper reports, in per cent: L2, dropout, + unlabelled.
PAPER = {
    "subj": (88.96, 90.85, 91.48),
    "rt": (73.49, 75.18, 76.56),
    "imdb2k": (80.63, 81.23, 80.33),
    "xgraph": (83.10, 84.64, 85.41),
    "bbcrypt": (97.28, 98.49, 99.24),
    "imdb": (87.14, 88.70, 89.21),
}
TWICE = (
    "NB-SVM",
    "L2",
    "gaussian",
    "gaussian + unlabelled",
    "gaussian, NB ridge of all rows + unlabelled",
)
# The quadratic penalty is the paper's, and so are unigrams.
COMPARED = {
    "unigrams": ("MNB", *TWICE[:2], "quadratic", "quadratic + unlabelled", *TWICE[2:]),
    "more features": TWICE,
}


def collect(lines: list[Line]) -> list[ResultTable]:
    """Tables that set ours beside the paper's, by features, and for each data set all methods."""
    data = by("data", lines)
    beside = [_beside(features, data) for features in COMPARED]
    return [*beside, *(_all(name, mine) for name, mine in data.items())]


def chosen(lines: list[Line], *, unlabeled: bool) -> list[Line]:
    """Of ours, the line of each seed that cross-validation finds best."""
    mine = [line for line in lines if line["method"] in OURS and OURS[line["method"]].unlabeled == unlabeled]
    return [max(cut, key=lambda line: line["result"]["cv_score"]) for cut in by("seed", mine).values()]


def _of(features: str, lines: list[Line]) -> list[Line]:
    return [line for line in lines if line["parameters"]["features"] == features]


def _three(features: str, lines: list[Line]) -> list[list[float]]:
    """Accuracies of L2, of ours, and of ours with unlabelled rows."""
    mine = _of(features, lines)
    parts = (by("method", mine).get("L2", []), *(chosen(mine, unlabeled=u) for u in (False, True)))
    return [results("accuracy", part) for part in parts]


def _beside(features: str, data: dict[str, list[Line]]) -> ResultTable:
    """The paper's three columns, and the same of ours."""
    rows = []
    for name, lines in data.items():
        scores = _three(features, lines)
        gap = f"{100 * np.mean(scores[2]) - PAPER[name][2]:+.2f}" if scores[2] else "-"
        ours = [cell for part in scores for cell in (percent(part), standard_error(part))]
        rows.append([name, *(f"{value:.2f}" for value in PAPER[name]), *ours, gap])
    header = ["data", "paper L2", "dropout", "+ unl.", "L2 here", "±", "ours", "±", "+ unl.", "±", "gap"]
    return ResultTable(f"The paper's table and ours, {features}: test accuracy in per cent", header, rows)


def _all(name: str, lines: list[Line]) -> ResultTable:
    """A row for each method, by features: accuracy and log loss."""
    rows = []
    for label in COMPARED["unigrams"]:
        row = [label]
        for features in COMPARED:
            mine = by("method", _of(features, lines)).get(label, [])
            accuracy = results("accuracy", mine)
            row += [percent(accuracy), standard_error(accuracy), mean(results("log_loss", mine))]
        rows.append(row)
    cuts = len({line["seed"] for line in lines})
    header = ["method", *(name for features in COMPARED for name in (features, "±", "log loss"))]
    return ResultTable(
        f"{name}: {lines[0]['result']['labeled']:,} labelled rows, {cuts} {'cut' if cuts == 1 else 'cuts'}",
        header,
        rows,
    )


def compare(lines: list[Line]) -> list[Comparison]:
    """Dropout with unlabelled rows, data set by data set: like the paper's, and the best of ours."""
    found = []
    for name, mine in by("data", lines).items():
        surrogate = by("method", _of("unigrams", mine)).get("quadratic + unlabelled", [])
        for what, accuracies in (
            ("quadratic, unigrams", results("accuracy", surrogate)),
            ("ours, more features", _three("more features", mine)[2]),
        ):
            scores = [100 * score for score in accuracies]
            if scores:
                told = f"{name} + unlabelled, per cent: {what}"
                found.append(Comparison(told, PAPER[name][2], float(np.mean(scores)), error(scores)))
    return found


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """What dropout and unlabelled rows add to L2, here and in the paper."""
    data = {
        name: mine
        for name, mine in by("data", lines).items()
        if all(part for features in COMPARED for part in _three(features, mine))
    }
    sources: dict[str, Mapping[str, Sequence[float]]] = {"the paper": PAPER} | {
        features: {
            name: [100 * float(np.mean(part)) for part in _three(features, mine)]
            for name, mine in data.items()
        }
        for features in COMPARED
    }
    panels = [fresh_axes() for _ in sources]
    for ax, (title, values) in zip(panels, sources.items(), strict=True):
        for shift, colour, part, label in (
            (-0.2, COLOURS[0], 1, "dropout"),
            (0.2, COLOURS[1], 2, "+ unlabelled"),
        ):
            gains = [values[name][part] - values[name][0] for name in data]
            ax.barh(np.arange(len(data)) + shift, gains, height=0.36, color=colour, label=label)
        ax.set(yticks=range(len(data)), yticklabels=list(data), title=f"Gain over L2: {title}")
        ax.set(xlabel="points of accuracy")
        ax.invert_yaxis()
        ax.legend(frameon=False)
    limits = np.array([ax.get_xlim() for ax in panels])
    for ax in panels:
        ax.set_xlim(limits[:, 0].min(), limits[:, 1].max())
    caption = (
        "What dropout, and dropout with unlabelled rows, add to L2 of the same features; means over the cuts."
    )
    return {caption: [ax.figure for ax in panels]}
