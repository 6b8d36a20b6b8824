"""IMDB: the paper's table, and its two figures of accuracy against the number of rows.

The table has naive Bayes, NB-SVM and dropout, with labelled rows alone and with unlabelled rows. The data
set's own split has 25,000 labelled, 50,000 unlabelled and 25,000 test reviews. According to the paper,
dropout gains from unlabelled rows even with many labels, and is ahead of all earlier methods.

The left figure has 10,000 labelled reviews and up to 40,000 unlabelled ones, the right one 3,000 to 15,000
labelled reviews, with and without 25,000 unlabelled ones. Both have unigrams, and the paper's discount
α = 0.4.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from dropglm.baselines import NBSVM, SemiSupervisedNaiveBayes, SentimentVectors
from dropglm.datasets import load_dataset
from dropglm.experiments import few_labels, texts
from dropglm.experiments.experiment import Comparison, Experiment, PlannedData, PlannedFit
from dropglm.experiments.few_labels import OURS, OURS_UNLABELED, score_text_method
from dropglm.experiments.methods import (
    GAUSSIAN,
    METHODS,
    QUADRATIC,
    Baseline,
    DropoutMethod,
    Method,
    SklearnL2,
    Tuning,
    best_in_cross_validation,
    score,
)
from dropglm.experiments.results import ACCURACY, LOG_LOSS, POINTS, Lines, table
from dropglm.plots.pages import COLORS, ResultTable, colors_of, fresh_axes

NGRAMS = {1: "unigrams", 2: "bigrams", 3: "trigrams"}
PUBLISHED = "split at white space"
WIDE, VECTORS, TEXTS, AS_IT_COMES = "wide", "word vectors", "texts", f"{OURS}() as it comes"
VECTOR_METHODS = {(SVM := "linear SVM"): False, (SVM_ALL := "linear SVM, vectors of all reviews"): True}
VECTOR_SVM = Baseline(LinearSVC(random_state=0), {"C": (0.03, 0.1, 0.3, 1.0, 3.0)})
FOLDS = 3
IN_BLOCKS = Tuning(FOLDS)
# Seconds on unigrams, and the factor for longer n-grams; other methods take 4, or 18 with unlabelled rows.
COST = {
    "MNB": 2.0,
    "MNB, SFE": 3.0,
    "MNB, EM": 38.0,
    "NB-SVM": 7.0,
    "L2": 9.0,
    "entropy": 60.0,
    "transductive SVM": 300.0,
}
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
    "Vect.Sent": (88.33, 88.89),
    "NBSVM-Bi": (91.22, None),
    "Drop-Uni": (87.78, 89.52),
    "Drop-Bi": (91.31, 91.98),
}
# For each of these rows, the features and the methods without and with unlabelled rows that reproduce it.
REPLICATIONS: dict[str, tuple[str, str, str | None]] = {
    "MNB-Uni": (f"unigrams, {PUBLISHED}", "MNB", "MNB, SFE"),
    "MNB-Bi": (f"bigrams, {PUBLISHED}", "MNB", "MNB, SFE"),
    "Vect.Sent": (f"{VECTORS} and words", SVM, SVM_ALL),
    "Vect.Sent, vectors alone": (VECTORS, SVM, SVM_ALL),
    "NBSVM-Bi": (f"bigrams, {PUBLISHED}", "NB-SVM", None),
    AS_IT_COMES: (TEXTS, OURS, OURS_UNLABELED),
}
DROPOUT = {"Drop-Uni": "unigrams", "Drop-Bi": "bigrams", "Drop-Tri": "trigrams", "Drop, wide": WIDE}

# The methods of the figures, each with four values of l2.
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


@dataclass(frozen=True)
class IMDB(Experiment):
    """The experiment; ``trigrams`` names the methods that are also run on trigrams."""

    methods: Mapping[str, Method] = field(default_factory=lambda: METHODS)
    trigrams: Sequence[str] = TRIGRAMS
    wide_method: DropoutMethod = WIDE_METHOD
    vectors: SentimentVectors = field(default_factory=lambda: SentimentVectors(random_state=0))
    load: texts.Load = load_dataset

    title = "IMDB: dropout compared with other methods, with and without unlabelled reviews"
    summary = "test accuracy for all rows of the paper's IMDB table, and for trigrams"
    data = ("imdb",)
    takes = "65 minutes, or 15 minutes with --subset"
    protocol = (
        "IMDB's own split: 25,000 labelled, 50,000 unlabelled and 25,000 test reviews. Features: the "
        "presence of n-grams of words and punctuation, in lower case, that occur in two or more reviews "
        "outside the test set. Every method has twelve settings to choose from, by accuracy in "
        "three-fold cross-validation on labelled rows; a fold is a contiguous block of the file, so "
        f"that it contains other films than the rest, as the test set does. '{PUBLISHED}' are the "
        "baselines with the tokens and settings of the literature and no tuning, to check that they "
        "perform as published. 'wide' adds to 1- to 4-grams bigrams that skip one word, and the 1- and "
        f"2-grams of a review's last {texts.LAST_WORDS} words; it has four settings. The number compared "
        "with the paper is, for each length of n-grams, that of our method with the best cross-validation "
        "score. ± in the summary is the binomial standard error of an accuracy on the test rows, about "
        "0.2 percentage points. Vect.Sent (Maas et al., 2011) are word vectors, learnt from the labelled "
        "reviews or from the unlabelled ones as well, with the bag of words beside them, unless 'vectors "
        "alone'; a linear SVM has one of five values of C, chosen while the vectors have seen the classes "
        "of all training reviews. The transductive SVM knows the share of positive labels. "
        f"'{AS_IT_COMES}' is our text classifier with its defaults, on texts."
    )

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return all fits, matrix by matrix; there is no quick version because the data set is a file."""
        if quick:
            return []
        fits = []
        for n, words in NGRAMS.items():
            features: dict[str, Any] = {"ngrams": [1, n], "min_df": texts.MIN_DF}
            data = PlannedData(words, 0, {"features": features}, partial(texts.imdb, n, self.load))
            for label in self.trigrams if n == 3 else self.methods:
                method = self.methods[label]
                cost = COST.get(label, 18.0 if method.unlabeled else 4.0) * COST_FACTOR[n]
                fits.append(IN_BLOCKS.fit(data, label, method, cost))
            if n < 3:
                published = {"features": {"ngrams": [1, n], "min_df": 1, "tokens": "white space"}}
                load = partial(texts.imdb_as_published, n, self.load)
                data = PlannedData(f"{words}, {PUBLISHED}", 0, published, load)
                literature = LITERATURE.items()
                fits += [IN_BLOCKS.fit(data, label, method, COST_FACTOR[n]) for label, method in literature]
        views = {"ngrams": [1, 4], "skip_bigrams": True, "ngrams_of_last_words": [1, 2]}
        views |= {"last_words": texts.LAST_WORDS, "min_df": texts.MIN_DF}
        data = PlannedData(WIDE, 0, {"features": views}, partial(texts.imdb_wide, self.load))
        wide = IN_BLOCKS.fit(data, list(GAUSSIAN)[-1], self.wide_method, 400.0)
        return [*fits, *self.subset(), replace(wide, measure=self._measure_wide)]

    def subset(self) -> list[PlannedFit]:
        """Return the fits to word vectors and to texts, which need none of the matrices of n-grams."""
        fits = []
        for (label, unlabeled), with_words in product(VECTOR_METHODS.items(), (False, True)):
            parameters = {"vectors": self.vectors.get_params(), "words": with_words}
            load = partial(texts.imdb_vectors, self.vectors, self.load, unlabeled=unlabeled, words=with_words)
            name = f"{VECTORS} and words" if with_words else VECTORS
            data = PlannedData(name, 0, {"features": parameters | {"unlabeled": unlabeled}}, load)
            fits.append(IN_BLOCKS.fit(data, label, VECTOR_SVM, 60.0))
        data = PlannedData(TEXTS, 0, {}, lambda: texts.official_split(self.load("imdb")))
        for label in (OURS, OURS_UNLABELED):
            own = few_labels.METHODS[label]
            measure = partial(score_text_method, method=own, seed=0)
            fits.append(data.fit(label, measure, 300.0, **own.settings))
        return fits

    def tabulate(self, lines: Lines) -> list[ResultTable]:
        """Return the paper's table with ours, all methods by n-grams, and the chosen settings."""
        data = lines.by("data")
        title = "Every method, tuned: test accuracy in per cent, and log loss"
        methods = {label: own for label in self.methods if (own := lines.where(method=label))}
        columns = {words: {"data": words} for words in NGRAMS.values()}
        every = table(title, ["method", "{} log loss"], methods, columns, _accuracy_and_log_loss)
        return [
            _paper_table(lines),
            *([every] if methods else []),
            *(
                _chosen_settings(name, group)
                for name, group in data.items()
                if not name.endswith((PUBLISHED, TEXTS))
            ),
        ]

    def draw(self, lines: Lines) -> dict[str, list[Any]]:
        """Draw the accuracy of all methods."""
        data, names = lines.by("data"), list(self.methods)
        ax = fresh_axes()
        ax.figure.set_size_inches(6, 5.5)
        for k, (words, colour) in enumerate(zip(NGRAMS.values(), COLORS, strict=False)):
            accuracies = {
                line["method"]: 100 * line["result"]["accuracy"] for line in data.get(words, Lines())
            }
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

    def compare(self, lines: Lines) -> list[Comparison]:
        """Compare all rows of the paper's table that were run, and list ours that go beyond it."""
        comparisons = []
        for row, source, papers, pair in _rows(lines):
            for suffix, paper, ours in zip(("", " + unlabelled"), papers, pair, strict=True):
                if ours is not None:
                    error = float(np.sqrt(ours * (100 - ours) / lines[0]["result"]["test_rows"]))
                    comparisons.append(Comparison(f"{row}{suffix}, per cent: {source}", paper, ours, error))
        return comparisons

    def _measure_wide(self, split: texts.Split) -> dict[str, Any]:
        """Tune and score on the wide matrix, and time one fit with the chosen settings."""
        tuned = IN_BLOCKS.tune(split, self.wide_method)
        start = time.perf_counter()
        clone(tuned.model).set_params(n_jobs=-1).fit(split.X, split.y, X_unlabeled=split.X_unlabeled)
        return score(tuned, split) | {"training_seconds": round(time.perf_counter() - start, 1)}


def _accuracy_and_log_loss(lines: Lines) -> list[str]:
    return [ACCURACY.mean(lines), LOG_LOSS.mean(lines)]


def _paper_table(lines: Lines) -> ResultTable:
    rows = []
    for row, source, paper, pair in _rows(lines):
        gaps = [None if a is None or b is None else a - b for a, b in zip(pair, paper, strict=True)]
        name = f"{row}, {source}" if source == "quadratic" else row
        cells = [*map(POINTS.cell, (*paper, *pair)), *(POINTS.cell(gap, "+") for gap in gaps)]
        if pair != NONE:
            rows.append([name, *cells])
    header = ["method", "paper", "+ unl.", "ours", "+ unl.", "gap", "gap, + unl."]
    return ResultTable("The paper's table and ours: test accuracy in per cent", header, rows)


def _rows(lines: Lines) -> Iterator[tuple[str, str, Pair, Pair]]:
    """Yield the rows of the paper's table and ours: name, kind of method, the paper's accuracies, ours."""
    for row in dict.fromkeys((*PAPER, *DROPOUT, *REPLICATIONS)):
        paper = PAPER.get(row, NONE)
        if row in REPLICATIONS:
            name, *methods = REPLICATIONS[row]
            labeled, both = (_percent(lines.where(data=name, method=method)) for method in methods)
            yield row, "baseline", paper, (labeled, both)
        else:
            for source, ours in (("ours", GAUSSIAN), ("quadratic", QUADRATIC)):
                best = partial(best_in_cross_validation, lines.where(data=DROPOUT[row]), ours)
                yield row, source, paper, (_percent(best(unlabeled=False)), _percent(best(unlabeled=True)))


def _chosen_settings(name: str, lines: Lines) -> ResultTable:
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


def _percent(lines: Lines) -> float | None:
    """Return the accuracy of the only line, if there is one, in per cent."""
    return 100 * lines[0]["result"]["accuracy"] if lines else None


def draw_subset(labeled: int, unlabeled: int, seed: int, load: texts.Load = load_dataset) -> texts.Split:
    """Draw rows of IMDB at random; with the same seed, a larger subset contains the smaller ones."""
    whole, rng = texts.imdb(1, load), np.random.default_rng(seed)
    rows = rng.permutation(len(whole.y))[:labeled]
    more = rng.permutation(whole.X_unlabeled.shape[0])[:unlabeled]
    return whole._replace(X=whole.X[rows], y=whole.y[rows], X_unlabeled=whole.X_unlabeled[more])


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
    load: texts.Load = load_dataset

    title = "IMDB: accuracy against the number of unlabelled and of labelled rows"
    summary = "the effect of more unlabelled rows and of more labels"
    data = ("imdb",)
    takes = "4 minutes"
    protocol = (
        "Unigrams of IMDB. A seed draws the labelled and the unlabelled rows at random, so that each "
        "larger set contains the smaller ones; the test set is always the whole one. Dropout 0.5 and the "
        "paper's α = 0.4 are fixed; l2 is chosen among four values by three-fold cross-validation on the "
        "labelled rows, for every method and point. The vocabulary consists of the words in two or more "
        "reviews outside the test set. ± is the standard error of the mean over seeds."
    )

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return all fits, seed by seed; there is no quick version because the data set is a file."""
        left = [(self.fixed_labeled, m) for m in self.unlabeled_counts]
        right = [(n, m) for n in self.labeled_counts for m in (0, self.fixed_unlabeled)]
        fits = []
        for seed, (n, m) in product(() if quick else range(self.seeds), dict.fromkeys(left + right)):
            parameters = {"labeled": n, "unlabeled": m, "ngrams": [1, 1], "min_df": texts.MIN_DF}
            data = PlannedData("imdb", seed, parameters, partial(draw_subset, n, m, seed, self.load))
            methods = self.with_unlabeled if m else self.labeled_only
            tuning, cost = Tuning(FOLDS, seed), 1e-4 * (n + 2 * m)
            fits += [tuning.fit(data, label, method, cost) for label, method in methods.items()]
        return fits

    def tabulate(self, lines: Lines) -> list[ResultTable]:
        """Return both curves as tables."""
        titles = {
            "unlabeled": f"{self.fixed_labeled:,} labelled rows: accuracy by number of unlabelled rows",
            "labeled": "Accuracy by number of labelled rows, without and with "
            f"{self.fixed_unlabeled:,} unlabelled rows",
        }
        tables = []
        for along, part in self._curves(lines).items():
            title, columns = f"{titles[along]}; {part.count_seeds()}", part.counts(along, unit="")
            tables.append(table(title, ["method", "±"], part.by("method"), columns, ACCURACY.cells))
        return tables

    def draw(self, lines: Lines) -> dict[str, list[Any]]:
        """Draw both curves."""
        panels = []
        colours = colors_of((*self.labeled_only, *self.with_unlabeled))
        for along, part in self._curves(lines).items():
            ax = fresh_axes()
            for label, group in part.by("method").items():
                means = group.means("accuracy", along)
                accuracy = [100 * mean.value for mean in means.values()]
                if along == "unlabeled" and label in self.labeled_only:  # a level to compare with
                    ax.axhline(accuracy[0], color=colours[label], linestyle=":", label=label)
                else:
                    style = "o-" if label in self.with_unlabeled else "o:"
                    ax.plot(list(means), accuracy, style, color=colours[label], label=label)
            xlabel = "unlabelled rows" if along == "unlabeled" else "labelled rows"
            ax.set(xlabel=xlabel, ylabel="test accuracy, per cent")
            if part:
                ax.figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
            panels.append(ax.figure)
        caption = (
            f"IMDB, unigrams, α = 0.4. Left: {self.fixed_labeled:,} labelled rows and an increasing number "
            "of unlabelled rows; dotted lines use none. Right: an increasing number of labelled rows; solid "
            f"lines use {self.fixed_unlabeled:,} unlabelled rows."
        )
        return {caption: panels}

    def _curves(self, lines: Lines) -> dict[str, Lines]:
        """Return the results of each curve by the number that changes along it."""
        return {
            "unlabeled": lines.among(labeled=(self.fixed_labeled,), unlabeled=self.unlabeled_counts),
            "labeled": lines.among(labeled=self.labeled_counts, unlabeled=(0, self.fixed_unlabeled)),
        }
