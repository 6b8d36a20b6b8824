"""Few labels and many texts without any: which package is a docstring from?

    minimise  Σ_i loss_i + n/(n + αm) (R(β) + α R_unlabelled(β)) + ½λ‖β‖²

The paper's section on semi-supervised training estimates the dropout penalty, which needs no labels, on
further rows, and finds gains on text data sets with hundreds or thousands of labels each. Here are fewer, on
texts that every machine with this library has.
"""

import platform
from collections.abc import Callable
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.model_selection import GridSearchCV

from dropglm.datasets import load_dataset
from dropglm.estimators import LogisticRegression, LogisticRegressionCV
from dropglm.experiments.docstrings_results import collect, draw
from dropglm.experiments.experiment import Experiment, Fit
from dropglm.text import NgramVectorizer

LABELS, LABELS_QUICK = (60, 150, 300, 600), (60, 300)
SEEDS, SEEDS_QUICK = 10, 2
PER_CLASS, PER_CLASS_QUICK = 1000, 300  # texts of each package, labelled or not
TEST, TEST_QUICK = 1000, 500
NGRAMS, MIN_DF = (1, 1), 2
FOLDS = 3

PROTOCOL = (
    "Docstrings of NumPy, polars, Python, SciPy and scikit-learn, names of the packages taken out; the "
    f"label is the package. Up to {PER_CLASS:,} texts of each; {TEST:,} are to test on, some have labels, "
    f"and the others have none. Features: which words a text has, of those in at least {MIN_DF} texts of the "
    "training part, labelled or not; the same for all methods. L2 is scikit-learn's LogisticRegression. "
    "Defaults are the libraries' own: C = 1, and dropout ½, l2 1, discount 0.1. Tuned is the best of eight "
    f"points of a grid by the accuracy in {FOLDS}-fold cross-validation on the labelled texts: eight values "
    "of C; two of dropout by four of l2; two of dropout by two of l2 by two of discount. No choice was made "
    "with test texts. ± is the standard error over seeds, which draw the texts and their parts anew; gains "
    "are over L2, defaults against defaults and tuned against tuned, on the same texts. A quick run has "
    "fewer texts without labels."
)


class Rows(NamedTuple):
    """Words of texts with labels, of texts without, and of texts to test on."""

    X: Any
    y: np.ndarray
    unlabeled: Any
    X_test: Any
    y_test: np.ndarray


# Fits come seed by seed and label count by label count.
@lru_cache(maxsize=1)
def rows_of(labels: int, per_class: int, test: int, seed: int) -> Rows:
    """The texts of a seed as features."""
    data: Any = load_dataset(
        "docstrings", n_labeled=labels, n_test=test, n_per_class=per_class, random_state=seed
    )
    words = NgramVectorizer(NGRAMS, min_df=MIN_DF).fit([*data.texts, *data.unlabeled])
    X, unlabeled, X_test = map(words.transform, (data.texts, data.unlabeled, data.texts_test))
    return Rows(X, data.y, unlabeled, X_test, data.y_test)


def theirs(rows: Rows, *, C: float) -> Any:
    """scikit-learn's, on labelled texts."""
    return Theirs(C=C, max_iter=1000).fit(rows.X, rows.y)


def theirs_tuned(rows: Rows, *, C: list[float]) -> Any:
    """The same with the best C."""
    return GridSearchCV(Theirs(max_iter=1000), {"C": C}, cv=FOLDS).fit(rows.X, rows.y)


def ours(rows: Rows, **settings: Any) -> Any:
    """Dropout, on labelled texts."""
    return LogisticRegression(**settings).fit(rows.X, rows.y)


def ours_tuned(rows: Rows, **grid: Any) -> Any:
    """The same with the best point of a grid."""
    return LogisticRegressionCV(**grid, l2_weights="uniform", cv=FOLDS).fit(rows.X, rows.y)


def ours_with_more(rows: Rows, **settings: Any) -> Any:
    """Dropout, its penalty also on texts without labels."""
    return LogisticRegression(**settings).fit(rows.X, rows.y, X_unlabeled=rows.unlabeled)


def ours_with_more_tuned(rows: Rows, **grid: Any) -> Any:
    """The same with the best point of a grid."""
    search = LogisticRegressionCV(**grid, l2_weights="uniform", cv=FOLDS)
    return search.fit(rows.X, rows.y, X_unlabeled=rows.unlabeled)


# Each method's function and settings: the libraries' defaults, then eight points for each, so that no method
# is tuned more than another.
METHODS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "L2, defaults": (theirs, {"C": 1.0}),
    "dropout, defaults": (ours, {"dropout": 0.5, "l2": 1.0}),
    "dropout + unlabelled, defaults": (ours_with_more, {"dropout": 0.5, "l2": 1.0, "discount": 0.1}),
    "L2, tuned": (theirs_tuned, {"C": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]}),
    "dropout, tuned": (ours_tuned, {"dropout": [0.8, 0.5], "l2": [10.0, 3.0, 1.0, 0.3]}),
    "dropout + unlabelled, tuned": (
        ours_with_more_tuned,
        {"dropout": [0.8, 0.5], "l2": [3.0, 0.3], "discount": [0.5, 0.05]},
    ),
}


def scored(rows: Rows, *, method: Callable[..., Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Accuracy on test texts, and what cross-validation chose."""
    model = method(rows, **settings)
    chosen = {
        name: value for name, value in getattr(model, "best_params_", {}).items() if name != "l2_weights"
    }
    return {
        "accuracy": float(np.mean(model.predict(rows.X_test) == rows.y_test)),
        "chosen": chosen,
        "features": rows.X.shape[1],
        "unlabeled": rows.unlabeled.shape[0],
    }


def sources() -> dict[str, str]:
    """The versions whose docstrings these are: others have other texts."""
    found = {"python": platform.python_version()}
    for package in ("numpy", "polars", "scipy", "scikit-learn"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def fits(quick: bool) -> list[Fit]:
    """All methods, seed by seed and label count by label count."""
    seeds, counts = (SEEDS_QUICK, LABELS_QUICK) if quick else (SEEDS, LABELS)
    per_class, test = (PER_CLASS_QUICK, TEST_QUICK) if quick else (PER_CLASS, TEST)
    texts = {"per_class": per_class, "test": test, "ngrams": list(NGRAMS), "min_df": MIN_DF, "of": sources()}
    return [
        Fit(
            "docstrings",
            name,
            seed,
            texts | {"labels": labels, "folds": FOLDS, "settings": settings},
            partial(rows_of, labels, per_class, test, seed),
            partial(scored, method=method, settings=settings),
            (2.0 if "tuned" in name else 0.4) * (0.4 if quick else 1.0),
        )
        for seed in range(seeds)
        for labels in counts
        for name, (method, settings) in METHODS.items()
    ]


DOCSTRINGS = Experiment(
    title="Docstrings: few labels, and many texts without any",
    summary="L2, dropout and dropout with unlabelled texts by the number of labels",
    data=(),
    takes="5 minutes",
    takes_quick="20 seconds",
    protocol=PROTOCOL,
    fits=fits,
    collect=collect,
    draw=draw,
)
