"""Accuracy on IMDB against the number of unlabelled and of labelled rows (the paper's pair of curves).

Left: 10,000 labelled reviews and up to 40,000 unlabelled ones. Right: 3,000 to 15,000 labelled reviews, with
25,000 unlabelled ones and without. Unigrams, and the discount α = 0.4 of the paper.
"""

from functools import partial
from typing import Any

import numpy as np

from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.experiments.lines import by, percent, results, seeds, standard_error
from dropglm.experiments.methods import Dropout, Method, TheirPath, measured
from dropglm.experiments.texts import MIN_DF, Split, imdb, subset
from dropglm.pages import ResultTable
from dropglm.plots.axes import colours_of, fresh_axes

LEFT = (10_000, (0, 5_000, 10_000, 20_000, 30_000, 40_000))  # labelled, and how many unlabelled
RIGHT = ((3_000, 6_000, 9_000, 12_000, 15_000), 25_000)  # how many labelled, and unlabelled
SEEDS, FOLDS = 3, 3
L2 = (30.0, 10.0, 3.0, 1.0)
FIXED: dict[str, Any] = {"dropout": (0.5,), "l2": L2, "discount": (0.4,)}
METHODS: dict[str, Method] = {
    "L2": TheirPath(tuple(1.0 / l2 for l2 in (100.0, *L2[:3]))),
    "quadratic": Dropout("quadratic", "uniform", **FIXED),
    "gaussian": Dropout("gaussian", "uniform", **FIXED),
}
WITH: dict[str, Method] = {
    "quadratic + unlabelled": Dropout("quadratic", "uniform", **FIXED, unlabeled=True),
    "gaussian + unlabelled": Dropout("gaussian", "uniform", **FIXED, unlabeled=True),
    "gaussian, NB ridge of all rows + unlabelled": Dropout(
        "gaussian", "naive_bayes_unlabeled", **FIXED, unlabeled=True
    ),
}

PROTOCOL = (
    "Unigrams of IMDB. A seed draws the labelled and the unlabelled rows at random, each larger set having "
    "the smaller one in it; the test set is always the whole one. Dropout 0.5 and α = 0.4 (the paper's) are "
    "fixed; the ridge is chosen among four by three-fold cross-validation on the labelled rows, for every "
    "method and point. The vocabulary is that of all reviews that are not for the test, in two or more of "
    "them. ± is the standard error of the mean over seeds."
)


def drawn(labeled: int, unlabeled: int, seed: int) -> Split:
    """Some rows of IMDB; a larger set has the smaller ones in it."""
    whole, rng = imdb(1), np.random.default_rng(seed)
    order, others = rng.permutation(len(whole.y)), rng.permutation(whole.X_unlabeled.shape[0])
    return subset(whole, order[:labeled], others[:unlabeled])


def fits(quick: bool) -> list[Fit]:
    """All fits, seed by seed; there is nothing to do without the data set."""
    found = []
    for seed in () if quick else range(SEEDS):
        left, right = [(LEFT[0], m) for m in LEFT[1]], [(n, m) for n in RIGHT[0] for m in (0, RIGHT[1])]
        for n, m in dict.fromkeys(left + right):
            for label, method in (WITH if m else METHODS).items():
                parameters = {
                    "labeled": n,
                    "unlabeled": m,
                    "ngrams": [1, 1],
                    "min_df": MIN_DF,
                    "folds": FOLDS,
                    "scoring": "accuracy",
                    "settings": method.settings(),
                }
                work = partial(measured, method=method, folds=FOLDS, seed=seed)
                cost = 1e-4 * (n + 2 * m)
                found.append(Fit("imdb", label, seed, parameters, partial(drawn, n, m, seed), work, cost))
    return found


def collect(lines: list[Line]) -> list[ResultTable]:
    """Both curves as tables."""
    left = _table(f"{LEFT[0]:,} labelled rows: accuracy by unlabelled rows", "unlabeled", _left(lines))
    right = _table(
        f"Accuracy by labelled rows, without and with {RIGHT[1]:,} unlabelled", "labeled", _right(lines)
    )
    return [left, right]


def _left(lines: list[Line]) -> list[Line]:
    return [
        line
        for line in lines
        if line["parameters"]["labeled"] == LEFT[0] and line["parameters"]["unlabeled"] in LEFT[1]
    ]


def _right(lines: list[Line]) -> list[Line]:
    return [
        line
        for line in lines
        if line["parameters"]["labeled"] in RIGHT[0] and line["parameters"]["unlabeled"] in (0, RIGHT[1])
    ]


def _curve(along: str, lines: list[Line]) -> dict[int, list[Line]]:
    """The lines by where they stand on the axis."""
    places = sorted({line["parameters"][along] for line in lines})
    return {place: [line for line in lines if line["parameters"][along] == place] for place in places}


def _table(title: str, along: str, lines: list[Line]) -> ResultTable:
    places = sorted({line["parameters"][along] for line in lines})
    rows = []
    for label, mine in by("method", lines).items():
        curve = _curve(along, mine)
        scores = [results("accuracy", curve.get(place, [])) for place in places]
        rows.append([label, *(cell for part in scores for cell in (percent(part), standard_error(part)))])
    header = ["method", *(cell for place in places for cell in (f"{place:,}", "±"))]
    return ResultTable(f"{title}; {seeds(lines)}", header, rows)


def draw(lines: list[Line]) -> dict[str, list[Any]]:
    """Both curves."""
    panels = []
    colours = colours_of((*METHODS, *WITH))
    for along, what, mine in (
        ("unlabeled", "unlabelled rows", _left(lines)),
        ("labeled", "labelled rows", _right(lines)),
    ):
        ax = fresh_axes()
        for label, found in by("method", mine).items():
            curve = _curve(along, found)
            accuracy = [100 * np.mean(results("accuracy", part)) for part in curve.values()]
            if along == "unlabeled" and label in METHODS:  # without unlabelled rows: a line to rise above
                ax.axhline(accuracy[0], color=colours[label], linestyle=":", label=label)
            else:
                style = "o-" if label in WITH else "o:"
                ax.plot(list(curve), accuracy, style, color=colours[label], label=label)
        ax.set(xlabel=what, ylabel="test accuracy, per cent")
        if mine:
            ax.figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
        panels.append(ax.figure)
    caption = (
        f"IMDB, unigrams, α = 0.4. Left: {LEFT[0]:,} labelled rows and more and more unlabelled ones; dotted "
        f"lines have none. Right: more and more labelled rows; solid lines have {RIGHT[1]:,} unlabelled ones."
    )
    return {caption: panels}


IMDB_CURVES = Experiment(
    title="IMDB: accuracy against the number of unlabelled and of labelled rows",
    summary="what more unlabelled rows, and more labels, are worth",
    data=("imdb",),
    takes="4 minutes",
    takes_quick="",
    protocol=PROTOCOL,
    fits=fits,
    collect=collect,
    draw=draw,
)
