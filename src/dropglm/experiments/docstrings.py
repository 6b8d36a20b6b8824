"""Few labels and many unlabelled texts: which package does a docstring come from?

    minimise  Σ_i loss_i + n/(n + αm) (R(β) + α R_unlabelled(β)) + ½λ‖β‖²

The paper's semi-supervised section estimates the dropout penalty, which needs no labels, on additional rows,
and finds gains on text data sets with hundreds or thousands of labels. This experiment has fewer labels, on
texts that are available wherever this library is installed.
"""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.model_selection import GridSearchCV

from dropglm.datasets import load_dataset
from dropglm.estimators import LogisticRegression, LogisticRegressionCV
from dropglm.experiments.experiment import Experiment, Fit, Line
from dropglm.experiments.raw_results import (
    by,
    count_seeds,
    mean_percent,
    standard_error,
    standard_error_percent,
    values,
    with_parameter,
)
from dropglm.pages import ResultTable
from dropglm.plots.axes import INK, colors_of, fresh_axes
from dropglm.text import NgramVectorizer

NGRAMS, MIN_DF = (1, 1), 2
FOLDS = 3
# Only the points of the grid, chosen by accuracy as for scikit-learn's model.
SEARCH: dict[str, Any] = {
    "l2_weights": "uniform",
    "cv": FOLDS,
    "scoring": "accuracy",
    "extend_l2": False,
    "calibrate": False,
}
L2, DROPOUT, UNLABELED = "L2", "dropout", "dropout + unlabelled"
STYLES = {"defaults": "--", "tuned": "-"}


class Size(NamedTuple):
    """Size of a run; ``per_class`` counts the texts of each package, labelled or not."""

    labels: tuple[int, ...]
    seeds: int
    per_class: int
    test: int


FULL = Size(labels=(60, 150, 300, 600), seeds=10, per_class=1000, test=1000)
QUICK = Size(labels=(60, 300), seeds=2, per_class=300, test=500)


class EncodedTexts(NamedTuple):
    """Word features of labelled, unlabelled and test texts, and the labels."""

    X: Any
    y: np.ndarray
    X_unlabeled: Any
    X_test: Any
    y_test: np.ndarray


# Fits are ordered by seed and number of labels, so it is enough to keep one set of texts.
@lru_cache(maxsize=1)
def encode_texts(load: Callable[..., Any], labels: int, per_class: int, test: int, seed: int) -> EncodedTexts:
    """Load the texts of a seed and turn them into features."""
    data = load("docstrings", n_labeled=labels, n_test=test, n_per_class=per_class, random_state=seed)
    words = NgramVectorizer(NGRAMS, min_df=MIN_DF).fit([*data.texts, *data.unlabeled])
    X, X_unlabeled, X_test = map(words.transform, (data.texts, data.unlabeled, data.texts_test))
    return EncodedTexts(X, data.y, X_unlabeled, X_test, data.y_test)


def fit_l2(texts: EncodedTexts, *, C: float) -> Any:
    """Fit scikit-learn's logistic regression to the labelled texts."""
    return SklearnLogisticRegression(C=C, max_iter=1000).fit(texts.X, texts.y)


def tune_l2(texts: EncodedTexts, *, C: list[float]) -> Any:
    """Fit scikit-learn's logistic regression with the best C."""
    return GridSearchCV(SklearnLogisticRegression(max_iter=1000), {"C": C}, cv=FOLDS).fit(texts.X, texts.y)


def fit_dropout(texts: EncodedTexts, **settings: Any) -> Any:
    """Fit dropout to the labelled texts."""
    return LogisticRegression(**settings).fit(texts.X, texts.y)


def tune_dropout(texts: EncodedTexts, **grid: Any) -> Any:
    """Fit dropout to the labelled texts with the best point of a grid."""
    return LogisticRegressionCV(**grid, **SEARCH).fit(texts.X, texts.y)


def fit_dropout_unlabeled(texts: EncodedTexts, **settings: Any) -> Any:
    """Fit dropout with the penalty also on the unlabelled texts."""
    return LogisticRegression(**settings).fit(texts.X, texts.y, X_unlabeled=texts.X_unlabeled)


def tune_dropout_unlabeled(texts: EncodedTexts, **grid: Any) -> Any:
    """Fit dropout with unlabelled texts and the best point of a grid."""
    search = LogisticRegressionCV(**grid, **SEARCH)
    return search.fit(texts.X, texts.y, X_unlabeled=texts.X_unlabeled)


# Function and settings of each method: the library's defaults, then eight grid points for each, so that no
# method is tuned more than another.
METHODS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "L2, defaults": (fit_l2, {"C": 1.0}),
    "dropout, defaults": (fit_dropout, {"dropout": 0.5, "l2": 1.0}),
    "dropout + unlabelled, defaults": (fit_dropout_unlabeled, {"dropout": 0.5, "l2": 1.0, "discount": 0.1}),
    "L2, tuned": (tune_l2, {"C": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]}),
    "dropout, tuned": (tune_dropout, {"dropout": [0.8, 0.5], "l2": [10.0, 3.0, 1.0, 0.3]}),
    "dropout + unlabelled, tuned": (
        tune_dropout_unlabeled,
        {"dropout": [0.8, 0.5], "l2": [3.0, 0.3], "discount": [0.5, 0.05]},
    ),
}


def fit_and_score(
    texts: EncodedTexts, *, method: Callable[..., Any], settings: dict[str, Any]
) -> dict[str, Any]:
    """Return the accuracy on test texts, and the settings chosen by cross-validation."""
    model = method(texts, **settings)
    chosen = getattr(model, "best_params_", {})
    return {
        "accuracy": float(np.mean(model.predict(texts.X_test) == texts.y_test)),
        "chosen": {name: value for name, value in chosen.items() if name != "l2_weights"},
        "features": texts.X.shape[1],
        "unlabeled": texts.X_unlabeled.shape[0],
    }


def source_versions() -> dict[str, str]:
    """Return the versions of the packages that the docstrings come from."""
    versions = {"python": platform.python_version()}
    for package in ("numpy", "polars", "scipy", "scikit-learn"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


@dataclass(frozen=True)
class Docstrings(Experiment):
    """The experiment."""

    full: Size = FULL
    quick: Size = QUICK
    load: Callable[..., Any] = load_dataset

    title = "Docstrings: few labels and many unlabelled texts"
    summary = "L2, dropout and dropout with unlabelled texts, by the number of labels"
    takes, takes_quick = "5 minutes", "20 seconds"

    @property
    def protocol(self) -> str:
        """What was done."""
        return (
            "Docstrings of NumPy, polars, Python, SciPy and scikit-learn, with the names of the packages "
            f"removed; the label is the package. There are up to {self.full.per_class:,} texts per package. "
            f"Of all texts, {self.full.test:,} are test texts, some are labelled, and the rest are "
            f"unlabelled. Features: the presence of words that occur in at least {MIN_DF} training texts, "
            "labelled or not; the same for all methods. L2 is scikit-learn's LogisticRegression. Defaults "
            "are those of the libraries: C = 1; dropout 0.5, l2 1, discount 0.1. Tuned is the best of eight "
            f"grid points by accuracy in {FOLDS}-fold cross-validation on the labelled texts: eight values "
            "of C; two of dropout times four of l2; two of dropout times two of l2 times two of discount. "
            "Nothing was chosen on test texts. ± is the standard error over seeds; each seed draws and "
            "splits the texts anew. Gains are over L2 on the same texts, defaults compared with defaults "
            "and tuned with tuned. A quick run has fewer unlabelled texts."
        )

    def fits(self, quick: bool) -> list[Fit]:
        """Return all methods, by seed and number of labels."""
        size = self.quick if quick else self.full
        texts = {"per_class": size.per_class, "test": size.test, "ngrams": list(NGRAMS), "min_df": MIN_DF}
        texts["of"] = source_versions()
        return [
            Fit(
                "docstrings",
                name,
                seed,
                texts | {"labels": labels, "folds": FOLDS, "settings": settings},
                partial(encode_texts, self.load, labels, size.per_class, size.test, seed),
                partial(fit_and_score, method=method, settings=settings),
                (2.0 if "tuned" in name else 0.4) * (0.4 if quick else 1.0),
            )
            for seed in range(size.seeds)
            for labels in size.labels
            for name, (method, settings) in METHODS.items()
        ]

    def tabulate(self, lines: list[Line]) -> list[ResultTable]:
        """Return accuracy by number of labels, gain over L2, and gain from unlabelled texts alone."""
        counts = _label_counts(lines)
        methods = by("method", lines)
        header = ["method", *(column for count in counts for column in (f"{count} labels", "±"))]
        accuracy = [
            [name, *(cell for count in counts for cell in _accuracy_cells(count, group))]
            for name, group in methods.items()
        ]

        def gains(base: str, compared: tuple[str, ...]) -> list[list[str]]:
            return [
                [name, *(cell for count in counts for cell in _gain_cells(count, methods, name, base))]
                for name in methods
                if _method(name) in compared
            ]

        unlabeled = values("unlabeled", lines)
        title = (
            f"Accuracy in per cent, {count_seeds(lines)}; {min(unlabeled):,} to {max(unlabeled):,} "
            "unlabelled texts"
        )
        return [
            ResultTable(title, header, accuracy),
            ResultTable(
                "Gain over L2 on the same texts, in percentage points",
                header,
                gains(L2, (DROPOUT, UNLABELED)),
            ),
            ResultTable(
                "Gain of unlabelled texts over dropout without them", header, gains(DROPOUT, (UNLABELED,))
            ),
        ]

    def draw(self, lines: list[Line]) -> dict[str, list[Any]]:
        """Draw accuracy against the number of labels, for each method at its defaults and tuned."""
        methods = by("method", lines)
        colours = colors_of(dict.fromkeys(map(_method, methods)))
        ax = fresh_axes()
        for name, group in methods.items():
            counts = _label_counts(group)
            accuracies = [values("accuracy", with_parameter("labels", count, group)) for count in counts]
            errors = [standard_error(numbers) or 0.0 for numbers in accuracies]
            style = {"color": colours[_method(name)], "linestyle": STYLES[_setting(name)], "capsize": 2}
            ax.errorbar(counts, [np.mean(numbers) for numbers in accuracies], errors, **style)
        for name, colour in colours.items():
            ax.plot([], [], color=colour, label=name)
        for name, style_of_line in STYLES.items():
            ax.plot([], [], color=INK, linestyle=style_of_line, label=name)
        ticks = _label_counts(lines)
        ax.set(xscale="log", xlabel="labelled texts", ylabel="accuracy", title="Which package?")
        ax.set_xticks(ticks, [str(count) for count in ticks])
        ax.minorticks_off()
        ax.legend(loc="lower right", frameon=False)
        caption = f"Accuracy on test texts, mean over {count_seeds(lines)}; bars are standard errors."
        return {caption: [ax.figure]}


def _label_counts(lines: list[Line]) -> list[int]:
    return sorted({line["parameters"]["labels"] for line in lines})


def _method(name: str) -> str:
    return name.rpartition(", ")[0]


def _setting(name: str) -> str:
    return name.rpartition(", ")[2]


def _accuracy_cells(count: int, lines: list[Line]) -> list[str]:
    accuracies = values("accuracy", with_parameter("labels", count, lines))
    return [mean_percent(accuracies), standard_error_percent(accuracies)]


def _gain_cells(count: int, methods: dict[str, list[Line]], name: str, base: str) -> list[str]:
    """Gain over the base method with the same setting, averaged over the seeds that have both."""
    base_lines = with_parameter("labels", count, methods.get(f"{base}, {_setting(name)}", []))
    before = {line["seed"]: line["result"]["accuracy"] for line in base_lines}
    gains = [
        line["result"]["accuracy"] - before[line["seed"]]
        for line in with_parameter("labels", count, methods[name])
        if line["seed"] in before
    ]
    return [f"{100 * np.mean(gains):+.2f}" if gains else "-", standard_error_percent(gains)]
