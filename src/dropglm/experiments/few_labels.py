"""Seven data sets with 50 to 1,000 labels: our text classifier as it comes, and what users would try first.

The rivals are tf-idf with scikit-learn's logistic regression, naive Bayes and NB-SVM, and of those that learn
from unlabelled texts EM naive Bayes, latent semantic analysis and self-training. Curves show what more
unlabelled texts bring. Two more data sets show what becomes of many labels (20 newsgroups) and of many
classes (synthetic texts).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dropglm.datasets import load_dataset
from dropglm.experiments import few_labels_comparisons as comparisons
from dropglm.experiments import few_labels_curves as curves
from dropglm.experiments import few_labels_tables as tables
from dropglm.experiments.docstrings import source_versions
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.experiments.few_labels_methods import (
    LABELED_ONLY,
    METHODS,
    NEWS_METHODS,
    OLD,
    OURS,
    OURS_UNLABELED,
    TFIDF,
    WITH_UNLABELED,
    Method,
    fit_and_score,
)
from dropglm.experiments.few_labels_scores import SCORES, Groups, Mean, means_of_set, means_over_sets
from dropglm.experiments.few_labels_texts import (
    CLASSES,
    MAX_TEST,
    SETS,
    TEXTS_PER_CLASS,
    few_labels,
    many_classes,
    newsgroups_by_date,
)
from dropglm.experiments.raw_results import by, count_seeds
from dropglm.experiments.texts import Texts
from dropglm.pages import ResultTable
from dropglm.plots.axes import COLORS, INK, fresh_axes

NEWS_BY_DATE, MANY_CLASSES = "20 newsgroups by date", f"{CLASSES} classes"
NEWS_LABELS = 11_314
LABELS = (50, 100, 300, 1000)
COMPARED = ("accuracy", "log_loss")
DOCSTRINGS = "docs"  # the only set that needs no file
QUICK_LABELS, QUICK_SEEDS = (50, 100), 1
QUICK_METHODS = (TFIDF, "naive Bayes, words", "LSA", "EM naive Bayes, tf-idf", OURS, OURS_UNLABELED)
CURVES = ("EM naive Bayes, tf-idf", OURS_UNLABELED)  # methods with curves over the number of unlabelled texts
# A colour per kind; methods that learn from unlabelled texts have solid lines.
DRAWN: dict[str, tuple[str, str]] = {
    TFIDF: (COLORS[0], "--"),
    "self-training, LSA": (COLORS[0], "-"),
    "naive Bayes, words": (COLORS[1], "--"),
    "EM naive Bayes, tf-idf": (COLORS[1], "-"),
    "NB-SVM, words": (COLORS[2], "--"),
    "LSA": (COLORS[2], "-"),
    OURS: (INK, "--"),
    OURS_UNLABELED: (INK, "-"),
}
# With 20 classes it takes minutes per fit; at seed 0 it has 5.7 per cent with 50 labels and 7.1 with 100.
TOO_SLOW = {("news20", "self-training")}
# scikit-learn's logistic regression with 500 classes and 60,000 features takes hours.
MANY_CLASSES_METHODS = ("naive Bayes, words", OLD, OURS)


@dataclass(frozen=True)
class FewLabels(Experiment):
    """The experiment."""

    sets: Sequence[str] = tuple(SETS)
    labels: Sequence[int] = LABELS
    seeds: int = 5
    curve_labels: Sequence[int] = (100,)
    methods: Mapping[str, Method] = field(default_factory=lambda: METHODS)
    news_methods: Mapping[str, Method] = field(default_factory=lambda: NEWS_METHODS)
    load: Callable[..., Any] = load_dataset

    title = "Few labels: our text classifier, with and without unlabelled texts, and its rivals"
    summary = "accuracy, log loss and calibration with 50 to 1,000 labels and with unlabelled texts"
    data = ("rt", "subj", "imdb2k", "imdb", "20news")
    takes, takes_quick = "200 minutes", "25 seconds, no data set"

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            "Seven data sets: rt, subj and imdb2k; imdb8k, 8,000 of IMDB's 50,000 labelled reviews; docs, "
            "docstrings labelled by package, up to 1,000 per package; news4, 7,000 messages of 20 "
            "newsgroups labelled by the top-level groups comp, rec, sci and talk; news20, 8,000 messages "
            "labelled by all 20 groups. Messages have no headers. A third of the texts, at most "
            f"{MAX_TEST:,}, are test texts. Of the others, the given number have labels: they are drawn at "
            "random, with at least two of each class. The rest are unlabelled. A seed is such a split, the "
            "same for all methods. All settings are chosen by cross-validation on the labelled texts. "
            "The following rivals use labelled texts only. tf-idf is scikit-learn's TfidfVectorizer (words, "
            "sublinear_tf) with LogisticRegressionCV, which chooses one of ten values of C by log loss in "
            "five stratified folds, or fewer if a class has fewer texts. Naive Bayes is multinomial, on "
            "counts of unigrams and bigrams with alpha = 1; 'words' uses the presence of words and alpha = "
            "0.1; 'tuned' does so with alpha chosen by accuracy. NB-SVM has its authors' settings, C = 1 and "
            "beta = 0.25, on the presence of unigrams and bigrams, or of words; it has no probabilities. "
            "The following rivals also use the unlabelled texts: their features are the words that occur in "
            "at least two of all texts. LSA, latent semantic analysis, is logistic regression as above on "
            "the first 100 singular vectors of the tf-idf of all texts, with rows of length 1. EM naive "
            "Bayes uses counts, or tf-idf; alpha (0.01, 0.1 or 1) and the weight of an unlabelled text (0, "
            "0.1 or 1) are chosen by accuracy, and it stops early, at tol = 0.01 or 0.001. Self-training is "
            "scikit-learn's SelfTrainingClassifier around logistic regression, with the C that was chosen on "
            "the labelled texts: on tf-idf with threshold 0.75, except for news20, or on LSA with threshold "
            "0.9. TextClassifier 0.2 is our classifier with the defaults of version 0.2 and labelled texts "
            "only, TextClassifier the one with today's defaults and labelled texts only, and TextClassifier "
            "+ unlabelled the same with all unlabelled texts. The calibration "
            "error is the difference between the mean probability of the predicted class and the share of "
            "correct predictions, averaged over 15 ranges of probability. ± is the standard error over "
            "seeds; for means over data sets, that of the seeds' means. Differences are taken seed by seed. "
            "The best rival of a data set and number of labels is the one with the best mean test score, "
            "which favours the rivals. TextClassifier + unlabelled is compared with the best of all eleven "
            "rivals, TextClassifier with the best of the six that use labelled texts only. Curves over the "
            "number of unlabelled texts use the first texts of a random order, so that a larger number "
            "includes the texts of a smaller one; the labelled and test texts are the same for all numbers. "
            "20 newsgroups by date is the official "
            f"split with all labels. {MANY_CLASSES} are synthetic texts, {TEXTS_PER_CLASS} labelled ones per "
            "class."
        )

    def fits(self, quick: bool) -> list[Fit]:
        """Return all fits, split by split, then those of the two further data sets."""
        if quick:
            few = {name: self.methods[name] for name in QUICK_METHODS if name in self.methods}
            return self._splits((DOCSTRINGS,), QUICK_LABELS, QUICK_SEEDS, few)
        many = {name: self.methods[name] for name in MANY_CLASSES_METHODS if name in self.methods}
        news = partial(newsgroups_by_date, self.load)
        return [
            *self._splits(self.sets, self.labels, self.seeds, self.methods),
            *self._curves(),
            *self._fits(NEWS_BY_DATE, NEWS_LABELS, 0, news, self.news_methods),
            *self._fits(MANY_CLASSES, CLASSES * TEXTS_PER_CLASS, 0, partial(many_classes, 0), many),
        ]

    def tabulate(self, lines: list[Line]) -> list[ResultTable]:
        """Return means over the sets, differences, curves, each set, and the further sets."""
        main, some = (by("data", group) for group in curves.separated(lines))
        further = [
            table(name, main.pop(name))
            for name, table in ((NEWS_BY_DATE, tables.many_labels), (MANY_CLASSES, tables.many_classes))
            if name in main
        ]
        return [
            *(tables.mean_over_sets(score, main) for score in SCORES if len(main) > 1),
            *_compared(main),
            *(curves.curve_table(drawn, main, some) for drawn in _drawn_curves(some)),
            *(tables.one_set(name, group) for name, group in main.items()),
            *further,
        ]

    def draw(self, lines: list[Line]) -> dict[str, list[Any]]:
        """Draw accuracy and log loss against the number of labels, accuracy by set, and the curves."""
        main, some = (by("data", group) for group in curves.separated(lines))
        groups = {name: group for name, group in main.items() if name in SETS}
        if not groups:
            return {}
        over_sets = [
            _curves(title, score, means_over_sets(score, groups))
            for score, title in (("accuracy", "Mean accuracy"), ("log_loss", "Mean log loss"))
        ]
        seeds = count_seeds(lines)
        key = "Solid lines: also with unlabelled texts."
        figures = {f"Means over the data sets and {seeds}; bars are standard errors. {key}": over_sets}
        if some:
            caption = f"Accuracy against the number of unlabelled texts, mean over {seeds}."
            figures[caption] = [curves.draw_curves(drawn, main, some) for drawn in _drawn_curves(some)]
        if len(groups) > 1:
            figures[f"Accuracy by data set, mean over {seeds}; bars are standard errors. {key}"] = [
                _curves(name, "accuracy", means_of_set("accuracy", group)) for name, group in groups.items()
            ]
        return figures

    def _curves(self) -> list[Fit]:
        """Return the fits with some of the unlabelled texts; those with none and with all are above."""
        methods = {name: self.methods[name] for name in CURVES if name in self.methods}
        return [
            fit
            for name in self.sets
            for seed in range(self.seeds)
            for labels in self.curve_labels
            for count in curves.unlabeled_counts(name, labels)
            for fit in self._fits(
                name,
                labels,
                seed,
                partial(curves.few_unlabeled, name, labels, count, seed, self.load),
                methods,
                {curves.PARAMETER: count},
            )
        ]

    def _splits(
        self, sets: Sequence[str], labels: Sequence[int], seeds: int, methods: Mapping[str, Method]
    ) -> list[Fit]:
        """Return the fits of the methods, by data set, seed and number of labels."""
        return [
            fit
            for name in sets
            for seed in range(seeds)
            for count in labels
            for fit in self._fits(
                name, count, seed, partial(few_labels, name, count, seed, self.load), methods
            )
        ]

    def _fits(
        self,
        data: str,
        labels: int,
        seed: int,
        load: Callable[[], Texts],
        methods: Mapping[str, Method],
        further: Mapping[str, Any] | None = None,
    ) -> list[Fit]:
        """Return the fits of methods to one split."""
        parameters: dict[str, Any] = {"labels": labels, **(further or {})}
        if data == DOCSTRINGS:
            parameters["of"] = source_versions()
        return [
            Fit(
                data,
                name,
                seed,
                parameters | {"settings": dict(method.settings)},
                load,
                partial(fit_and_score, method=method, seed=seed),
                method.seconds(labels),
            )
            for name, method in methods.items()
            if (data, name) not in TOO_SLOW
        ]


def _compared(groups: Groups) -> list[ResultTable]:
    """Return our classifier minus the best rival, with unlabelled texts and without, and what they bring."""
    if not groups:
        return []
    found = []
    if any(line["method"] == OURS_UNLABELED for group in groups.values() for line in group):
        everyone = [*LABELED_ONLY, *WITH_UNLABELED]
        found = [
            *(comparisons.differences(score, groups, OURS_UNLABELED, everyone) for score in COMPARED),
            *(comparisons.gains(score, groups, OURS_UNLABELED, OURS) for score in COMPARED),
            *([comparisons.safety(groups, OURS_UNLABELED, OURS)] if len(groups) > 1 else []),
        ]
    kind = "rival without unlabelled texts"
    return [
        *found,
        *(comparisons.differences(score, groups, OURS, [*LABELED_ONLY], kind) for score in COMPARED),
    ]


def _drawn_curves(some: Groups) -> list[curves.Drawn]:
    """Return the curves that there are results of."""
    found = {(line["method"], line["parameters"]["labels"]) for group in some.values() for line in group}
    without = {OURS_UNLABELED: OURS}
    return [
        curves.Drawn(method, without.get(method), labels)
        for method in reversed(CURVES)
        for labels in sorted({count for name, count in found if name == method})
    ]


def _curves(title: str, score: str, means: Mapping[str, Mapping[int, Mean]]) -> Any:
    """Return a figure with a curve per kind of method."""
    ax, factor = fresh_axes(), 100.0 if score == "accuracy" else 1.0
    for name, (colour, style) in DRAWN.items():
        points = means.get(name, {})
        errors = [factor * (mean.error or 0.0) for mean in points.values()]
        values = [factor * mean.value for mean in points.values()]
        if values:
            ax.errorbar(list(points), values, errors, color=colour, linestyle=style, capsize=2, label=name)
    ticks = sorted({count for points in means.values() for count in points})
    ax.set(xscale="log", xlabel="labelled texts", ylabel=SCORES[score].name, title=title)
    if score == "log_loss":
        ax.set(yscale="log")  # naive Bayes has ten times the log loss of the others
        low, high = ax.get_ylim()
        marks = [mark for mark in (0.2, 0.5, 1, 2, 5, 10, 20) if low < mark < high]
        ax.set_yticks(marks, [f"{mark:g}" for mark in marks])
    ax.set_xticks(ticks, [f"{count:,}" for count in ticks])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize="small")
    return ax.figure
