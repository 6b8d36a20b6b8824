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
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.model_selection import GridSearchCV

from dropglm.datasets import load_dataset
from dropglm.experiments.experiment import Experiment, PlannedData, PlannedFit
from dropglm.experiments.results import ACCURACY, Lines, draw_curve, label_axis, table
from dropglm.experiments.texts import Load, Split, official_split, vectorize
from dropglm.linear import LogisticRegression
from dropglm.plots.pages import INK, ResultTable, colors_of, fresh_axes
from dropglm.search import LogisticRegressionCV
from dropglm.text import NgramVectorizer

DOCSTRINGS = "docs"  # in other experiments; the only set that needs no file
NGRAMS, MIN_DF = (1, 1), 2
FOLDS = 3
# Only the points of the grid, chosen by accuracy as for scikit-learn's model.
TUNED_DROPOUT = partial(
    LogisticRegressionCV, l2_weights="uniform", cv=FOLDS, scoring="accuracy", extend_l2=False, calibrate=False
)
L2, DROPOUT, UNLABELED = "L2", "dropout", "dropout + unlabelled"
# The methods whose gain over another is shown.
GAINS = {
    L2: ((DROPOUT, UNLABELED), "Gain over L2 on the same texts, in percentage points"),
    DROPOUT: ((UNLABELED,), "Gain of unlabelled texts over dropout without them"),
}
STYLES = {"defaults": "--", "tuned": "-"}


class DocstringsSize(NamedTuple):
    """Size of a run; ``per_class`` counts the texts of each package, labelled or not."""

    labels: tuple[int, ...]
    seeds: int
    per_class: int
    test: int


FULL = DocstringsSize(labels=(60, 150, 300, 600), seeds=10, per_class=1000, test=1000)
QUICK = DocstringsSize(labels=(60, 300), seeds=2, per_class=300, test=500)


# Fits are ordered by seed and number of labels, so it is enough to keep one set of texts.
@lru_cache(maxsize=1)
def encode_texts(load: Load, labels: int, per_class: int, test: int, seed: int) -> Split:
    """Load the texts of a seed and turn them into features."""
    data = load("docstrings", n_labeled=labels, n_test=test, n_per_class=per_class, random_state=seed)
    return vectorize(official_split(data), [(str, NgramVectorizer(NGRAMS, min_df=MIN_DF))])


class MatrixMethod(NamedTuple):
    """A model with its settings or grid, and whether it is also fitted to the unlabelled texts."""

    build: Callable[..., Any]
    settings: dict[str, Any]
    unlabeled: bool = False

    def fit(self, texts: Split) -> Any:
        """Return the fitted model."""
        return texts.fit(self.build(**self.settings), unlabeled=self.unlabeled)


def l2(**settings: Any) -> Any:
    """Return scikit-learn's logistic regression."""
    return SklearnLogisticRegression(max_iter=1000, **settings)


def tuned_l2(**grid: Any) -> Any:
    """Return scikit-learn's logistic regression with the best C."""
    return GridSearchCV(l2(), grid, cv=FOLDS)


# The library's defaults, then eight grid points for each, so that no method is tuned more than another.
METHODS: dict[str, MatrixMethod] = {
    "L2, defaults": MatrixMethod(l2, {"C": 1.0}),
    "dropout, defaults": MatrixMethod(LogisticRegression, {"dropout": 0.5, "l2": 1.0}),
    "dropout + unlabelled, defaults": MatrixMethod(
        LogisticRegression, {"dropout": 0.5, "l2": 1.0, "discount": 0.1}, unlabeled=True
    ),
    "L2, tuned": MatrixMethod(tuned_l2, {"C": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]}),
    "dropout, tuned": MatrixMethod(TUNED_DROPOUT, {"dropout": [0.8, 0.5], "l2": [10.0, 3.0, 1.0, 0.3]}),
    "dropout + unlabelled, tuned": MatrixMethod(
        TUNED_DROPOUT, {"dropout": [0.8, 0.5], "l2": [3.0, 0.3], "discount": [0.5, 0.05]}, unlabeled=True
    ),
}


def score_on_docstrings(texts: Split, *, method: MatrixMethod) -> dict[str, Any]:
    """Return the accuracy on test texts, and the settings chosen by cross-validation."""
    model = method.fit(texts)
    chosen = getattr(model, "best_params_", {})
    return {
        "accuracy": float(np.mean(model.predict(texts.X_test) == texts.y_test)),
        "chosen": {name: value for name, value in chosen.items() if name != "l2_weights"},
        "features": texts.X.shape[1],
        "unlabeled": texts.X_unlabeled.shape[0],
    }


def versions_of(name: str) -> dict[str, Any]:
    """Return what results on a data set depend on besides its name: for docstrings, versions of packages."""
    return {"of": source_versions()} if name == DOCSTRINGS else {}


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

    full: DocstringsSize = FULL
    quick: DocstringsSize = QUICK
    load: Load = load_dataset

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

    def fits(self, quick: bool) -> list[PlannedFit]:
        """Return all methods, by seed and number of labels."""
        size, fits = self.quick if quick else self.full, []
        texts = {"per_class": size.per_class, "test": size.test, "ngrams": list(NGRAMS), "min_df": MIN_DF}
        texts |= {"of": source_versions(), "folds": FOLDS}
        for seed, labels in product(range(size.seeds), size.labels):
            load = partial(encode_texts, self.load, labels, size.per_class, size.test, seed)
            data = PlannedData("docstrings", seed, texts | {"labels": labels}, load)
            for name, method in METHODS.items():
                cost = (2.0 if "tuned" in name else 0.4) * (0.4 if quick else 1.0)
                measure = partial(score_on_docstrings, method=method)
                fits.append(data.fit(name, measure, cost, settings=method.settings))
        return fits

    def tabulate(self, lines: Lines) -> list[ResultTable]:
        """Return accuracy by number of labels, gain over L2, and gain from unlabelled texts alone."""
        methods, unlabeled = lines.by("method"), lines.values("unlabeled")
        header, columns = ["method", "±"], lines.counts()
        texts = f"{min(unlabeled):,} to {max(unlabeled):,} unlabelled texts"
        title = f"Accuracy in per cent, {lines.count_seeds()}; {texts}"
        tables = [table(title, header, methods, columns, ACCURACY.cells)]
        for base, (better, title) in GAINS.items():
            # Defaults are compared with defaults and tuned with tuned, on the same texts.
            gains = {
                name: group.minus(lines.where(method=f"{base}, {_setting(name)}"))
                for name, group in methods.items()
                if _method(name) in better
            }
            tables.append(table(title, header, gains, columns, ACCURACY.gain))
        return tables

    def draw(self, lines: Lines) -> dict[str, list[Any]]:
        """Draw accuracy against the number of labels, for each method at its defaults and tuned."""
        methods = lines.by("method")
        colours = colors_of(dict.fromkeys(map(_method, methods)))
        ax = fresh_axes()
        for name, group in methods.items():
            style: dict[str, Any] = {"color": colours[_method(name)], "linestyle": STYLES[_setting(name)]}
            draw_curve(ax, group.means("accuracy", "labels"), **style)
        for name, colour in colours.items():
            ax.plot([], [], color=colour, label=name)
        for name, style_of_line in STYLES.items():
            ax.plot([], [], color=INK, linestyle=style_of_line, label=name)
        label_axis(ax, lines.by("labels"), ylabel="accuracy", title="Which package?")
        ax.legend(loc="lower right", frameon=False)
        caption = f"Accuracy on test texts, mean over {lines.count_seeds()}; bars are standard errors."
        return {caption: [ax.figure]}


def _method(name: str) -> str:
    return name.rpartition(", ")[0]


def _setting(name: str) -> str:
    return name.rpartition(", ")[2]
