"""Accuracy on IMDB against the number of unlabelled and of labelled rows (two figures of the paper).

Left: 10,000 labelled reviews and up to 40,000 unlabelled ones. Right: 3,000 to 15,000 labelled reviews, with
and without 25,000 unlabelled ones. Unigrams, and the paper's discount α = 0.4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dropglm.datasets import load_dataset
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.experiments.methods import DropoutMethod, Method, SklearnL2, tune_and_score
from dropglm.experiments.raw_results import (
    by,
    count_seeds,
    mean_percent,
    standard_error_percent,
    values,
    with_parameter,
)
from dropglm.experiments.texts import MIN_DF, Load, Split, imdb, subset
from dropglm.pages import ResultTable
from dropglm.plots.axes import colors_of, fresh_axes

FOLDS = 3
L2 = (30.0, 10.0, 3.0, 1.0)
GRID: dict[str, Any] = {"dropout": (0.5,), "l2": L2, "discount": (0.4,)}
LABELED_ONLY: dict[str, Method] = {
    "L2": SklearnL2(tuple(1.0 / l2 for l2 in (100.0, *L2[:3]))),
    "quadratic": DropoutMethod("quadratic", "uniform", **GRID),
    "gaussian": DropoutMethod("gaussian", "uniform", **GRID),
}
WITH_UNLABELED: dict[str, Method] = {
    "quadratic + unlabelled": DropoutMethod("quadratic", "uniform", **GRID, unlabeled=True),
    "gaussian + unlabelled": DropoutMethod("gaussian", "uniform", **GRID, unlabeled=True),
    "gaussian, NB ridge of all rows + unlabelled": DropoutMethod(
        "gaussian", "naive_bayes_unlabeled", **GRID, unlabeled=True
    ),
}


def draw_subset(labeled: int, unlabeled: int, seed: int, load: Load = load_dataset) -> Split:
    """Draw rows of IMDB at random; with the same seed, a larger subset contains the smaller ones."""
    whole, rng = imdb(1, load), np.random.default_rng(seed)
    order, unlabeled_order = rng.permutation(len(whole.y)), rng.permutation(whole.X_unlabeled.shape[0])
    return subset(whole, order[:labeled], unlabeled_order[:unlabeled])


@dataclass(frozen=True)
class IMDBCurves(Experiment):
    """The experiment.

    The left curve has ``fixed_labeled`` labelled rows and each number of ``unlabeled_counts``; the right one
    has each number of ``labeled_counts``, without and with ``fixed_unlabeled`` unlabelled rows.
    """

    fixed_labeled: int = 10_000
    unlabeled_counts: tuple[int, ...] = (0, 5_000, 10_000, 20_000, 30_000, 40_000)
    labeled_counts: tuple[int, ...] = (3_000, 6_000, 9_000, 12_000, 15_000)
    fixed_unlabeled: int = 25_000
    seeds: int = 3
    labeled_only: Mapping[str, Method] = field(default_factory=lambda: LABELED_ONLY)
    with_unlabeled: Mapping[str, Method] = field(default_factory=lambda: WITH_UNLABELED)
    load: Load = load_dataset

    title = "IMDB: accuracy against the number of unlabelled and of labelled rows"
    summary = "the effect of more unlabelled rows and of more labels"
    data = ("imdb",)
    takes = "4 minutes"

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            "Unigrams of IMDB. A seed draws the labelled and the unlabelled rows at random, so that each "
            "larger set contains the smaller ones; the test set is always the whole one. Dropout 0.5 and the "
            "paper's α = 0.4 are fixed; l2 is chosen among four values by three-fold cross-validation on the "
            "labelled rows, for every method and point. The vocabulary consists of the words in two or more "
            "reviews outside the test set. ± is the standard error of the mean over seeds."
        )

    def fits(self, quick: bool) -> list[Fit]:
        """Return all fits, seed by seed; there is no quick version because the data set is a file."""
        left = [(self.fixed_labeled, m) for m in self.unlabeled_counts]
        right = [(n, m) for n in self.labeled_counts for m in (0, self.fixed_unlabeled)]
        fits = []
        for seed in () if quick else range(self.seeds):
            for n, m in dict.fromkeys(left + right):
                for label, method in (self.with_unlabeled if m else self.labeled_only).items():
                    parameters = {
                        "labeled": n,
                        "unlabeled": m,
                        "ngrams": [1, 1],
                        "min_df": MIN_DF,
                        "folds": FOLDS,
                        "scoring": "accuracy",
                        "settings": method.settings(),
                    }
                    load = partial(draw_subset, n, m, seed, self.load)
                    measure = partial(tune_and_score, method=method, folds=FOLDS, seed=seed)
                    fits.append(Fit("imdb", label, seed, parameters, load, measure, 1e-4 * (n + 2 * m)))
        return fits

    def tabulate(self, lines: list[Line]) -> list[ResultTable]:
        """Return both curves as tables."""
        left = f"{self.fixed_labeled:,} labelled rows: accuracy by number of unlabelled rows"
        right = (
            f"Accuracy by number of labelled rows, without and with {self.fixed_unlabeled:,} unlabelled rows"
        )
        return [
            _curve_table(left, "unlabeled", self._left(lines)),
            _curve_table(right, "labeled", self._right(lines)),
        ]

    def draw(self, lines: list[Line]) -> dict[str, list[Any]]:
        """Draw both curves."""
        panels = []
        colours = colors_of((*self.labeled_only, *self.with_unlabeled))
        for along, axis, part in (
            ("unlabeled", "unlabelled rows", self._left(lines)),
            ("labeled", "labelled rows", self._right(lines)),
        ):
            ax = fresh_axes()
            for label, group in by("method", part).items():
                curve = _curve(along, group)
                accuracy = [100 * np.mean(values("accuracy", point)) for point in curve.values()]
                if along == "unlabeled" and label in self.labeled_only:  # a level to compare with
                    ax.axhline(accuracy[0], color=colours[label], linestyle=":", label=label)
                else:
                    style = "o-" if label in self.with_unlabeled else "o:"
                    ax.plot(list(curve), accuracy, style, color=colours[label], label=label)
            ax.set(xlabel=axis, ylabel="test accuracy, per cent")
            if part:
                ax.figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
            panels.append(ax.figure)
        caption = (
            f"IMDB, unigrams, α = 0.4. Left: {self.fixed_labeled:,} labelled rows and an increasing number "
            "of unlabelled rows; dotted lines use none. Right: an increasing number of labelled rows; solid "
            f"lines use {self.fixed_unlabeled:,} unlabelled rows."
        )
        return {caption: panels}

    def _left(self, lines: list[Line]) -> list[Line]:
        group = with_parameter("labeled", self.fixed_labeled, lines)
        return [line for line in group if line["parameters"]["unlabeled"] in self.unlabeled_counts]

    def _right(self, lines: list[Line]) -> list[Line]:
        return [
            line
            for line in lines
            if line["parameters"]["labeled"] in self.labeled_counts
            and line["parameters"]["unlabeled"] in (0, self.fixed_unlabeled)
        ]


def _curve(along: str, lines: list[Line]) -> dict[int, list[Line]]:
    """The lines by the value of one parameter, sorted."""
    places = sorted({line["parameters"][along] for line in lines})
    return {place: with_parameter(along, place, lines) for place in places}


def _curve_table(title: str, along: str, lines: list[Line]) -> ResultTable:
    places = sorted({line["parameters"][along] for line in lines})
    rows = []
    for label, group in by("method", lines).items():
        curve = _curve(along, group)
        scores = [values("accuracy", curve.get(place, [])) for place in places]
        cells = (cell for part in scores for cell in (mean_percent(part), standard_error_percent(part)))
        rows.append([label, *cells])
    header = ["method", *(cell for place in places for cell in (f"{place:,}", "±"))]
    return ResultTable(f"{title}; {count_seeds(lines)}", header, rows)
