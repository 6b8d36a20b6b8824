"""Seven data sets with 50 to 1,000 labels: our text classifier as it comes, and what users would try first.

The rivals are tf-idf with scikit-learn's logistic regression, naive Bayes and NB-SVM. Two more data sets show
what becomes of many labels (20 newsgroups) and of many classes (synthetic texts).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dropglm.datasets import load_dataset
from dropglm.experiments import few_labels_tables as tables
from dropglm.experiments.docstrings import source_versions
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.experiments.few_labels_methods import (
    METHODS,
    NEWS_METHODS,
    OLD,
    OURS,
    RIVALS,
    TFIDF,
    Method,
    fit_and_score,
)
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
from dropglm.plots.axes import INK, colors_of, fresh_axes

NEWS_BY_DATE, MANY_CLASSES = "20 newsgroups by date", f"{CLASSES} classes"
NEWS_LABELS = 11_314
GREY = "#999999"
LABELS = (50, 100, 300, 1000)
DOCSTRINGS = "docs"  # the only set that needs no file
QUICK_LABELS, QUICK_SEEDS = (50, 100), 1
QUICK_METHODS = (TFIDF, "naive Bayes, words", "NB-SVM, words", OURS)  # one per kind
# scikit-learn's logistic regression with 500 classes and 60,000 features takes hours.
MANY_CLASSES_METHODS = ("naive Bayes, words", OLD, OURS)


@dataclass(frozen=True)
class FewLabels(Experiment):
    """The experiment."""

    sets: Sequence[str] = tuple(SETS)
    labels: Sequence[int] = LABELS
    seeds: int = 5
    methods: Mapping[str, Method] = field(default_factory=lambda: METHODS)
    news_methods: Mapping[str, Method] = field(default_factory=lambda: NEWS_METHODS)
    load: Callable[..., Any] = load_dataset

    title = "Few labels: our text classifier compared with tf-idf, naive Bayes and NB-SVM"
    summary = "accuracy, log loss and calibration with 50 to 1,000 labels"
    data = ("rt", "subj", "imdb2k", "imdb", "20news")
    takes, takes_quick = "100 minutes", "15 seconds, no data set"

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            "Seven data sets: rt, subj and imdb2k; imdb8k, 8,000 of IMDB's 50,000 labelled reviews; docs, "
            "docstrings labelled by package, up to 1,000 per package; news4, 7,000 messages of 20 "
            "newsgroups labelled by the top-level groups comp, rec, sci and talk; news20, 8,000 messages "
            "labelled by all 20 groups. Messages have no headers. A third of the texts, at most "
            f"{MAX_TEST:,}, are test texts. Of the others, the given number have labels: they are drawn at "
            "random, with at least two of each class. The rest is not used by these methods. A seed is such "
            "a split, the same for all methods. All settings are chosen by cross-validation on the labelled "
            "texts. tf-idf is scikit-learn's TfidfVectorizer (words, sublinear_tf) with "
            "LogisticRegressionCV, which chooses one of ten values of C by log loss in five stratified "
            "folds, or fewer if a class has fewer texts. Naive Bayes is multinomial, on counts of unigrams "
            "and bigrams with alpha = 1; 'words' uses the presence of words and alpha = 0.1; 'tuned' does "
            "so with alpha chosen by accuracy. NB-SVM has its authors' settings, C = 1 and beta = 0.25, on "
            "the presence of unigrams and bigrams, or of words; it has no probabilities. TextClassifier 0.2 "
            "is our classifier with the defaults of version 0.2, TextClassifier the one with today's "
            "defaults. The calibration error is the difference between the mean probability of the "
            "predicted class and the share of correct predictions, averaged over 15 ranges of probability. "
            "± is the standard error over seeds; for means over data sets, that of the seeds' means. "
            "Differences are taken seed by seed. The best rival of a data set and number of labels is the "
            "one of these six (tf-idf, three of naive Bayes, two of NB-SVM) with the best mean test score, "
            "which favours the rivals. 20 newsgroups by date is the official "
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
            *self._fits(NEWS_BY_DATE, NEWS_LABELS, 0, news, self.news_methods, 50.0),
            *self._fits(MANY_CLASSES, CLASSES * TEXTS_PER_CLASS, 0, partial(many_classes, 0), many, 20.0),
        ]

    def tabulate(self, lines: list[Line]) -> list[ResultTable]:
        """Return means over the sets, differences from the best rival, each set, and the further sets."""
        groups = by("data", lines)
        further = [
            table(name, groups.pop(name))
            for name, table in ((NEWS_BY_DATE, tables.many_labels), (MANY_CLASSES, tables.many_classes))
            if name in groups
        ]
        return [
            *(tables.mean_over_sets(score, groups) for score in tables.SCORES if groups),
            *(tables.differences(score, groups, OURS, RIVALS) for score in tables.COMPARED if groups),
            *(tables.one_set(name, group) for name, group in groups.items()),
            *further,
        ]

    def draw(self, lines: list[Line]) -> dict[str, list[Any]]:
        """Draw accuracy and log loss against the number of labels: means, then accuracy by set."""
        groups = {name: group for name, group in by("data", lines).items() if name in SETS}
        if not groups:
            return {}
        colours = colors_of(self.methods, {OURS: INK, OLD: GREY})
        over_sets = [
            _curves(title, score, tables.means_over_sets(score, groups), colours)
            for score, title in (("accuracy", "Mean accuracy"), ("log_loss", "Mean log loss"))
        ]
        seeds = count_seeds(lines)
        figures = {f"Means over the data sets and {seeds}; bars are standard errors.": over_sets}
        if len(groups) > 1:
            figures[f"Accuracy by data set, mean over {seeds}; bars are standard errors."] = [
                _curves(name, "accuracy", tables.means_of_set("accuracy", group), colours)
                for name, group in groups.items()
            ]
        return figures

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
                name,
                count,
                seed,
                partial(few_labels, name, count, seed, self.load),
                methods,
                count / 300,
            )
        ]

    def _fits(
        self,
        data: str,
        labels: int,
        seed: int,
        load: Callable[[], Texts],
        methods: Mapping[str, Method],
        factor: float,
    ) -> list[Fit]:
        """Return the fits of methods to one split."""
        parameters: dict[str, Any] = {"labels": labels}
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
                method.cost * factor,
            )
            for name, method in methods.items()
        ]


def _curves(
    title: str, score: str, means: Mapping[str, Mapping[int, tables.Mean]], colours: Mapping[str, str]
) -> Any:
    """Return a figure with a curve per method."""
    ax, factor = fresh_axes(), 100.0 if score == "accuracy" else 1.0
    for name, points in means.items():
        errors = [factor * (mean.error or 0.0) for mean in points.values()]
        values = [factor * mean.value for mean in points.values()]
        if values:
            ax.errorbar(list(points), values, errors, color=colours[name], capsize=2, label=name)
    ticks = sorted({count for points in means.values() for count in points})
    ax.set(xscale="log", xlabel="labelled texts", ylabel=tables.SCORES[score].name, title=title)
    if score == "log_loss":
        ax.set(yscale="log")  # naive Bayes has ten times the log loss of the others
        low, high = ax.get_ylim()
        marks = [mark for mark in (0.2, 0.5, 1, 2, 5, 10, 20) if low < mark < high]
        ax.set_yticks(marks, [f"{mark:g}" for mark in marks])
    ax.set_xticks(ticks, [f"{count:,}" for count in ticks])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize="small")
    return ax.figure
