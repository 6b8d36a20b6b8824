"""The IMDB table: naive Bayes, NB-SVM and dropout, with labelled rows alone and with unlabelled rows.

The data set's own split has 25,000 labelled, 50,000 unlabelled and 25,000 test reviews. According to the
paper, dropout gains from unlabelled rows even with many labels, and is ahead of all earlier methods.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.naive_bayes import MultinomialNB

from dropglm.baselines import NBSVM, SemiSupervisedNaiveBayes
from dropglm.datasets import load_dataset
from dropglm.experiments.experiment import Comparison, Experiment, Fit, Line
from dropglm.experiments.methods import (
    GAUSSIAN,
    METHODS,
    QUADRATIC,
    Baseline,
    DropoutMethod,
    Method,
    score,
    tune,
    tune_and_score,
)
from dropglm.experiments.raw_results import by
from dropglm.experiments.texts import LAST_WORDS, MIN_DF, Load, Split, imdb, imdb_as_published, imdb_wide
from dropglm.pages import ResultTable
from dropglm.plots.axes import COLORS, fresh_axes

NGRAMS = {1: "unigrams", 2: "bigrams", 3: "trigrams"}
PUBLISHED = "split at white space"
WIDE = "wide"
FOLDS = 3
# Seconds on unigrams, and the factor for longer n-grams; other methods take 4, or 18 with unlabelled rows.
COST = {"MNB": 2.0, "MNB, SFE": 3.0, "MNB, EM": 38.0, "NB-SVM": 7.0, "L2": 9.0, "entropy": 60.0}
COST_FACTOR = {1: 1.0, 2: 5.0, 3: 9.0}
# Naive Bayes does not gain from trigrams, since it counts every n-gram; entropy takes as long as all others.
TRIGRAMS = ("NB-SVM", "L2", *QUADRATIC, *GAUSSIAN)
# One setting each, that of the literature, to check that the baselines perform as published.
LITERATURE: dict[str, Baseline] = {
    "MNB": Baseline(MultinomialNB(), {"alpha": (1.0,)}),
    "MNB, SFE": Baseline(SemiSupervisedNaiveBayes(), {"alpha": (1.0,)}, unlabeled=True),
    "NB-SVM": Baseline(NBSVM(random_state=0), {"C": (1.0,), "beta": (0.25,)}),
}
WIDE_METHOD = DropoutMethod(
    "gaussian", "naive_bayes_unlabeled", dropout=(0.6, 0.5), l2=(0.3, 0.1), discount=(1.0,), unlabeled=True
)

Pair = tuple[float | None, float | None]  # accuracy with labelled rows alone, and with unlabelled rows
NONE: Pair = (None, None)
# The rows of the paper's table, in per cent.
PAPER: dict[str, Pair] = {
    "MNB-Uni": (83.62, 84.13),
    "MNB-Bi": (86.63, 86.98),
    "Vect.Sent, as published": (88.33, 88.89),
    "NBSVM-Bi": (91.22, None),
    "Drop-Uni": (87.78, 89.52),
    "Drop-Bi": (91.31, 91.98),
}
# For each of these rows, the features and the methods without and with unlabelled rows that reproduce it.
REPLICATIONS: dict[str, tuple[str, str, str | None]] = {
    "MNB-Uni": (f"unigrams, {PUBLISHED}", "MNB", "MNB, SFE"),
    "MNB-Bi": (f"bigrams, {PUBLISHED}", "MNB", "MNB, SFE"),
    "NBSVM-Bi": (f"bigrams, {PUBLISHED}", "NB-SVM", None),
}
DROPOUT = {"Drop-Uni": "unigrams", "Drop-Bi": "bigrams", "Drop-Tri": "trigrams", "Drop, wide": WIDE}


@dataclass(frozen=True)
class IMDB(Experiment):
    """The experiment; ``trigrams`` names the methods that are also run on trigrams."""

    methods: Mapping[str, Method] = field(default_factory=lambda: METHODS)
    trigrams: Sequence[str] = TRIGRAMS
    wide_method: DropoutMethod = WIDE_METHOD
    load: Load = load_dataset

    title = "IMDB: dropout compared with other methods, with and without unlabelled reviews"
    summary = "test accuracy for all rows of the paper's IMDB table, and for trigrams"
    data = ("imdb",)
    takes = "55 minutes"

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            "IMDB's own split: 25,000 labelled, 50,000 unlabelled and 25,000 test reviews. Features: the "
            "presence of n-grams of words and punctuation, in lower case, that occur in two or more reviews "
            "outside the test set. Every method has twelve settings to choose from, by accuracy in "
            "three-fold cross-validation on labelled rows; a fold is a contiguous block of the file, so "
            f"that it contains other films than the rest, as the test set does. '{PUBLISHED}' are the "
            "baselines with the tokens and settings of the literature and no tuning, to check that they "
            "perform as published. 'wide' adds to 1- to 4-grams bigrams that skip one word, and the 1- and "
            f"2-grams of a review's last {LAST_WORDS} words; it has four settings. The number compared with "
            "the paper is, for each length of n-grams, that of our method with the best cross-validation "
            "score. ± in the summary is the binomial standard error of an accuracy on the test rows, about "
            "0.2 percentage points. Vect.Sent (Maas et al., 2011) is not run here; its numbers are the "
            "published ones."
        )

    def fits(self, quick: bool) -> list[Fit]:
        """Return all fits, matrix by matrix; there is no quick version because the data set is a file."""
        if quick:
            return []
        fits = []
        for n, words in NGRAMS.items():
            features: dict[str, Any] = {"ngrams": [1, n], "min_df": MIN_DF}
            for label in self.trigrams if n == 3 else self.methods:
                method = self.methods[label]
                cost = COST.get(label, 18.0 if method.unlabeled else 4.0) * COST_FACTOR[n]
                fits.append(_fit(words, label, method, features, partial(imdb, n, self.load), cost))
            if n < 3:
                published = {"ngrams": [1, n], "min_df": 1, "tokens": "white space"}
                load = partial(imdb_as_published, n, self.load)
                for label, method in LITERATURE.items():
                    name = f"{words}, {PUBLISHED}"
                    fits.append(_fit(name, label, method, published, load, COST_FACTOR[n]))
        views = {"ngrams": [1, 4], "skip_bigrams": True, "ngrams_of_last_words": [1, 2]}
        views |= {"last_words": LAST_WORDS, "min_df": MIN_DF}
        parameters = _parameters(self.wide_method, views)
        load_wide = partial(imdb_wide, self.load)
        fits.append(Fit(WIDE, list(GAUSSIAN)[-1], 0, parameters, load_wide, self._measure_wide, 400.0))
        return fits

    def tabulate(self, lines: list[Line]) -> list[ResultTable]:
        """Return the paper's table with ours, all methods by n-grams, and the chosen settings."""
        data = by("data", lines)
        return [
            _paper_table(data),
            self._all_methods(data),
            *(_chosen_settings(name, group) for name, group in data.items() if PUBLISHED not in name),
        ]

    def draw(self, lines: list[Line]) -> dict[str, list[Any]]:
        """Draw the accuracy of all methods."""
        data, names = by("data", lines), list(self.methods)
        ax = fresh_axes()
        ax.figure.set_size_inches(6, 5.5)
        for k, (words, colour) in enumerate(zip(NGRAMS.values(), COLORS, strict=False)):
            accuracies = {line["method"]: 100 * line["result"]["accuracy"] for line in data.get(words, [])}
            heights = [names.index(label) + 0.2 * (k - 1) for label in accuracies]
            ax.plot(list(accuracies.values()), heights, "o", color=colour, label=words)
        for row, style in (("Drop-Uni", ":"), ("Drop-Bi", "--")):
            label = f"the paper's {row} + unlabelled"
            ax.axvline(PAPER[row][1], color="#888888", linestyle=style, label=label)
        ax.set(yticks=range(len(names)), yticklabels=names, xlabel="test accuracy, per cent")
        ax.set_xlim(left=82)
        ax.invert_yaxis()
        ax.legend(frameon=False, fontsize="small", loc="lower left")
        return {"IMDB: test accuracy of every method, tuned on labelled rows.": [ax.figure]}

    def compare(self, lines: list[Line]) -> list[Comparison]:
        """Compare all rows of the paper's table that were run, and list ours that go beyond it."""
        data, comparisons = by("data", lines), []
        for row in PAPER | DROPOUT:
            for source, pair in _our_accuracies(row, data).items():
                for suffix, paper, ours in zip(
                    ("", " + unlabelled"), PAPER.get(row, NONE), pair, strict=True
                ):
                    if ours is not None:
                        error = float(np.sqrt(ours * (100 - ours) / lines[0]["result"]["test_rows"]))
                        what = f"{row}{suffix}, per cent: {source}"
                        comparisons.append(Comparison(what, paper, ours, error))
        return comparisons

    def _measure_wide(self, split: Split) -> dict[str, Any]:
        """Tune and score on the wide matrix, and time one fit with the chosen settings."""
        tuned = tune(split, method=self.wide_method, folds=FOLDS, seed=None)
        start = time.perf_counter()
        clone(tuned.model).set_params(n_jobs=-1).fit(split.X, split.y, X_unlabeled=split.X_unlabeled)
        return score(tuned, split) | {"training_seconds": round(time.perf_counter() - start, 1)}

    def _all_methods(self, data: dict[str, list[Line]]) -> ResultTable:
        """Accuracy and log loss of every method."""
        rows = []
        for label in self.methods:
            row = [label]
            for words in NGRAMS.values():
                line = {line["method"]: line for line in data.get(words, [])}.get(label)
                loss = None if line is None else line["result"].get("log_loss")
                row += [_cell(_percent(line)), _cell(loss, ".3f")]
            rows.append(row)
        header = ["method", *(name for words in NGRAMS.values() for name in (words, f"{words} log loss"))]
        return ResultTable("Every method, tuned: test accuracy in per cent, and log loss", header, rows)


def _parameters(method: Method, features: dict[str, Any]) -> dict[str, Any]:
    return {"features": features, "folds": FOLDS, "scoring": "accuracy", "settings": method.settings()}


def _fit(
    data: str, label: str, method: Method, features: dict[str, Any], load: Callable[[], Split], cost: float
) -> Fit:
    measure = partial(tune_and_score, method=method, folds=FOLDS, seed=None)
    return Fit(data, label, 0, _parameters(method, features), load, measure, cost)


def _paper_table(data: dict[str, list[Line]]) -> ResultTable:
    rows = []
    for row in PAPER | DROPOUT:
        paper = PAPER.get(row, NONE)
        for source, pair in (_our_accuracies(row, data) or {"": NONE}).items():
            gaps = [None if a is None or b is None else a - b for a, b in zip(pair, paper, strict=True)]
            name = f"{row}, {source}" if source == "quadratic" else row
            if source != "quadratic" or pair != NONE:
                rows.append([name, *map(_cell, (*paper, *pair)), *(_cell(gap, "+.2f") for gap in gaps)])
    header = ["method", "paper", "+ unl.", "ours", "+ unl.", "gap", "gap, + unl."]
    return ResultTable("The paper's table and ours: test accuracy in per cent", header, rows)


def _our_accuracies(row: str, data: dict[str, list[Line]]) -> dict[str, Pair]:
    """Our accuracies for a row of the paper's table, by the kind of method."""
    if row in REPLICATIONS:
        name, labeled, both = REPLICATIONS[row]
        lines = {line["method"]: line for line in data.get(name, [])}
        return {"baseline": (_percent(lines.get(labeled)), _percent(lines.get(both)))}
    if row not in DROPOUT:
        return {}
    group = data.get(DROPOUT[row], [])
    return {
        source: (
            _percent(best_in_cross_validation(group, methods, unlabeled=False)),
            _percent(best_in_cross_validation(group, methods, unlabeled=True)),
        )
        for source, methods in (("ours", GAUSSIAN), ("quadratic", QUADRATIC))
    }


def best_in_cross_validation(
    lines: list[Line], methods: dict[str, DropoutMethod], *, unlabeled: bool
) -> Line | None:
    """Return the line of these methods with the best cross-validation score."""
    candidates = [
        line for line in lines if line["method"] in methods and methods[line["method"]].unlabeled == unlabeled
    ]
    return max(candidates, key=lambda line: line["result"]["cv_score"], default=None)


def _chosen_settings(name: str, lines: list[Line]) -> ResultTable:
    rows = []
    for line in lines:
        result = line["result"]
        settings = ", ".join(f"{key} {value:g}" for key, value in result["chosen"].items())
        cv, test = 100 * result["cv_score"], 100 * result["accuracy"]
        rows.append([line["method"], settings, f"{cv:.2f}", f"{test:.2f}", f"{line['seconds']:.0f}"])
    d = max(line["result"]["features"] for line in lines)
    header = ["method", "chosen", "cross-validation", "test", "seconds"]
    title = f"{name}: chosen settings, accuracy, and seconds of tuning and training; {d:,} features"
    training = [line["result"]["training_seconds"] for line in lines if "training_seconds" in line["result"]]
    if training:
        title += f"; {training[0]:.0f} s to train with known settings"
    return ResultTable(title, header, rows)


def _percent(line: Line | None) -> float | None:
    return None if line is None else 100 * line["result"]["accuracy"]


def _cell(value: float | None, form: str = ".2f") -> str:
    return "-" if value is None else f"{value:{form}}"
