"""Six data sets cut into thirds: L2, dropout, dropout with unlabelled rows (the paper's Table of data sets).

R_*(β) = n/(n + αm) (R(β) + α R_unlabelled(β)): the penalty has no labels in it, so that rows without labels
help to estimate it. The paper sees a gain from dropout and a further one from unlabelled rows on all but one.
"""

from functools import lru_cache, partial
from typing import Any

import numpy as np

from dropglm.experiments.experiment import Comparison, Experiment, Fit, Line
from dropglm.experiments.lines import by, percent, results, standard_error
from dropglm.experiments.methods import METHODS, OURS, PAPERS, measured
from dropglm.experiments.texts import Split, thirds
from dropglm.pages import Table
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
SEEDS, SEEDS_IMDB = 10, 3
FOLDS, FOLDS_IMDB = 5, 3
NGRAMS = {1: "unigrams", 2: "bigrams"}
COMPARED = ("MNB", "NB-SVM", "L2", *PAPERS, *OURS)
CHOSEN = "ours + unlabelled, chosen"
COST = {"imdb": 20.0}  # seconds; the others take one to three

PROTOCOL = (
    "Each data set is shuffled and cut into thirds: rows with labels, rows without, rows to test on. A seed "
    "is such a cut, the same for all methods. xgraph and bbcrypt are pairs of 20 newsgroups without headers; "
    "imdb is its 50,000 labelled reviews. Features: which n-grams a text has, all that occur in the first "
    "two thirds. Every method has sixteen settings to choose from, by accuracy of "
    f"{FOLDS}-fold cross-validation ({FOLDS_IMDB} folds for imdb) on the labelled third; no test row is "
    "looked at. ± is the standard error of the mean over seeds. "
    f"'{CHOSEN}' takes for each seed, among our three ridges and unigrams or bigrams, what cross-validation "
    "finds best: it is the row to set beside the paper's. The paper does not say how many cuts it made."
)


@lru_cache(maxsize=2)  # unigrams and bigrams of a cut
def rows(name: str, n: int, seed: int) -> Split:
    """A cut."""
    return thirds(name, n, seed)


def fits(quick: bool) -> list[Fit]:
    """All fits, cut by cut; there is nothing to do without data sets."""
    found = []
    for name in () if quick else PAPER:
        folds = FOLDS_IMDB if name == "imdb" else FOLDS
        for seed in range(SEEDS_IMDB if name == "imdb" else SEEDS):
            for n, words in NGRAMS.items():
                for label in COMPARED:
                    method = METHODS[label]
                    parameters = {"ngrams": n, "folds": folds, "settings": method.settings()}
                    work = partial(measured, method=method, folds=folds, seed=seed)
                    cost = COST.get(name, 2.0) * n * (2.0 if method.unlabeled else 1.0)
                    load = partial(rows, name, n, seed)
                    found.append(Fit(name, f"{label}, {words}", seed, parameters, load, work, cost))
    return found


def collect(lines: list[Line]) -> list[Table]:
    """For each data set all methods, and one table that sets the chosen ones beside the paper's."""
    data = by("data", lines)
    return [_beside(data), *(_all(name, mine) for name, mine in data.items())]


def _beside(data: dict[str, list[Line]]) -> Table:
    """The paper's three columns, and the same of ours."""
    rows_ = []
    for name, lines in data.items():
        methods = by("method", lines)
        ridge = results("accuracy", methods.get("L2, unigrams", []))
        labelled = results("accuracy", chosen(lines, unlabeled=False))
        both = results("accuracy", chosen(lines, unlabeled=True))
        ours = [
            cell for scores in (ridge, labelled, both) for cell in (percent(scores), standard_error(scores))
        ]
        gap = f"{100 * np.mean(both) - PAPER[name][2]:+.2f}" if both else "-"
        rows_.append([name, *(f"{value:.2f}" for value in PAPER[name]), *ours, gap])
    header = ["data", "paper: L2", "dropout", "+ unl.", "L2, 1-grams", "±", "ours", "±", "+ unl.", "±", "gap"]
    return Table(
        "The paper's table and ours: test accuracy in per cent, chosen on training rows", header, rows_
    )


def _all(name: str, lines: list[Line]) -> Table:
    """A row for each method: unigrams and bigrams, accuracy and log loss."""
    cells = []
    methods = by("method", lines)
    for label in COMPARED:
        row = [label]
        for words in NGRAMS.values():
            mine = methods.get(f"{label}, {words}", [])
            accuracy, losses = results("accuracy", mine), results("log_loss", mine)
            row += [percent(accuracy), standard_error(accuracy), f"{np.mean(losses):.3f}" if losses else "-"]
        cells.append(row)
    n, seeds = lines[0]["result"]["labeled"], len({line["seed"] for line in lines})
    header = [
        "method",
        *(f"{words} {cell}".strip() for words in NGRAMS.values() for cell in ("", "±", "log loss")),
    ]
    return Table(f"{name}: {n:,} labelled rows, {seeds} cuts", header, cells)


def chosen(lines: list[Line], *, unlabeled: bool) -> list[Line]:
    """Of ours, the line of each seed that cross-validation finds best."""
    mine = [
        line
        for line in lines
        if (label := line["method"].rpartition(", ")[0]) in OURS and OURS[label].unlabeled == unlabeled
    ]
    return [max(cut, key=lambda line: line["result"]["cv_accuracy"]) for cut in by("seed", mine).values()]


def compare(lines: list[Line]) -> list[Comparison]:
    """Dropout with unlabelled rows, data set by data set."""
    found = []
    for name, mine in by("data", lines).items():
        scores = 100 * np.array(results("accuracy", chosen(mine, unlabeled=True)))
        error = float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else None
        what = f"thirds, {name}: dropout + unlabelled"
        found.append(Comparison(what, PAPER[name][2], float(scores.mean()), error))
    return found


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """What dropout and unlabelled rows add to L2, here and in the paper."""
    data = by("data", lines)
    panels = []
    for title, ours in (("the paper", False), ("ours", True)):
        ax = fresh_axes()
        for k, (name, mine) in enumerate(data.items()):
            values = _means(mine) if ours else PAPER[name]
            gains = np.subtract(values[1:], values[0])
            for shift, gain, colour in zip((-0.2, 0.2), gains, COLOURS, strict=False):
                ax.barh(k + shift, gain, height=0.36, color=colour)
        ax.barh(0, 0, color=COLOURS[0], label="dropout")
        ax.barh(0, 0, color=COLOURS[1], label="dropout + unlabelled")
        ax.set(yticks=range(len(data)), yticklabels=list(data), title=f"Gain over L2: {title}")
        ax.set(xlabel="points of accuracy")
        ax.invert_yaxis()
        ax.legend(frameon=False)
        panels.append(ax)
    right = max(ax.get_xlim()[1] for ax in panels)
    left = min(ax.get_xlim()[0] for ax in panels)
    for ax in panels:
        ax.set_xlim(left, right)
    caption = "What dropout, and dropout with unlabelled rows, add to L2 on unigrams; means over the cuts."
    return {caption: [ax.figure for ax in panels]}


def _means(lines: list[Line]) -> list[float]:
    """L2, ours, ours + unlabelled, in per cent."""
    parts = (
        by("method", lines).get("L2, unigrams", []),
        chosen(lines, unlabeled=False),
        chosen(lines, unlabeled=True),
    )
    return [100 * float(np.mean(results("accuracy", part))) if part else np.nan for part in parts]


THIRDS = Experiment(
    title="Six data sets in thirds: L2, dropout, and unlabelled rows",
    summary="accuracy on text with few labels, with and without unlabelled rows",
    data=("subj", "rt", "imdb2k", "20news", "imdb"),
    takes="20 minutes",
    takes_quick="nothing to run without data sets",
    protocol=PROTOCOL,
    fits=fits,
    collect=collect,
    draw=draw,
    compare=compare,
)
