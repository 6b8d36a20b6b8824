"""The methods compared on texts, each with a grid of twelve settings.

All of them choose a setting by cross-validation over the same folds of labelled rows, and are then fitted to
all labelled rows. Methods that use unlabelled rows get them in every fit, so all have the same budget.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV as SklearnLogisticRegressionCV
from sklearn.metrics import f1_score, get_scorer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import MultinomialNB

from dropglm.base import checks
from dropglm.base.threads import each
from dropglm.baselines import (
    NBSVM,
    EMNaiveBayes,
    EntropyRegularizedLogisticRegression,
    SemiSupervisedNaiveBayes,
    TransductiveSVM,
)
from dropglm.experiments.experiment import PlannedData, PlannedFit
from dropglm.experiments.results import Lines
from dropglm.experiments.texts import Split
from dropglm.search import LogisticRegressionCV
from dropglm.text.metrics import metrics_from_probabilities

TOL, MAX_ITER, SKLEARN_MAX_ITER = 1e-3, 200, 300

Folds = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class TunedModel:
    """A model fitted with its best setting, the setting, and its cross-validation score."""

    model: Any
    chosen: Mapping[str, Any]
    cv_score: float


@dataclass(frozen=True)
class Baseline:
    """Any estimator, tuned by trying each setting of its grid."""

    model: Any
    grid: Mapping[str, Sequence[Any]]
    unlabeled: bool = False

    def settings(self) -> Mapping[str, Any]:
        """Return everything the result depends on."""
        grid = {name: list(values) for name, values in self.grid.items()}
        return {"model": type(self.model).__name__, "parameters": self.model.get_params(), "grid": grid}

    def tune(self, split: Split, folds: Folds, scoring: str) -> TunedModel:
        """Fit the model with the settings that have the best mean score over the folds."""
        scorer = get_scorer(scoring)
        points = [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]

        def score(task: tuple[dict[str, Any], tuple[np.ndarray, np.ndarray]]) -> float:
            point, (train, test) = task
            model = self._fitted(point, split._replace(X=split.X[train], y=split.y[train]))
            return float(scorer(model, split.X[test], split.y[test]))

        scores = each(score, product(points, folds), checks.threads(-1))
        means = np.reshape(scores, (len(points), len(folds))).mean(axis=1)
        best = points[int(means.argmax())]
        return TunedModel(self._fitted(best, split), best, float(means.max()))

    def _fitted(self, point: Mapping[str, Any], split: Split) -> Any:
        return split.fit(clone(self.model).set_params(**point), unlabeled=self.unlabeled)


@dataclass(frozen=True)
class SklearnL2:
    """scikit-learn's logistic regression, tuned along a path of C."""

    C: Sequence[float]
    n_jobs: int = -1
    unlabeled: bool = False

    def settings(self) -> Mapping[str, Any]:
        """Return everything the result depends on."""
        return {"C": list(self.C), "max_iter": SKLEARN_MAX_ITER}

    def tune(self, split: Split, folds: Folds, scoring: str) -> TunedModel:
        """Fit the model with the best C."""
        model = SklearnLogisticRegressionCV(
            Cs=list(self.C),
            l1_ratios=(0.0,),
            scoring=scoring,
            cv=list(folds),
            max_iter=SKLEARN_MAX_ITER,
            n_jobs=self.n_jobs,
            use_legacy_attributes=False,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            # float64: its solver keeps the type of the matrix, and with float32 it stops early.
            model.fit(sparse.csr_array(split.X, dtype=np.float64), split.y)
        C = float(np.ravel(model.C_)[0])
        scores = np.asarray(model.scores_).reshape(len(folds), len(self.C))
        return TunedModel(model, {"C": C}, float(scores.mean(axis=0).max()))


@dataclass(frozen=True)
class DropoutMethod:
    """The library's logistic regression with dropout, tuned along warm-started paths."""

    expectation: str
    l2_weights: str
    dropout: Sequence[float]
    l2: Sequence[float]
    discount: Sequence[float] = (1.0,)
    unlabeled: bool = False

    def settings(self) -> Mapping[str, Any]:
        """Return everything the result depends on."""
        lists = {name: list(getattr(self, name)) for name in ("dropout", "l2", "discount")}
        names = {"expectation": self.expectation, "l2_weights": self.l2_weights, "unlabeled": self.unlabeled}
        return names | lists | {"tol": TOL, "max_iter": MAX_ITER}

    def tune(self, split: Split, folds: Folds, scoring: str) -> TunedModel:
        """Fit the model with the best point of the grid."""
        settings = {name: value for name, value in self.settings().items() if name != "unlabeled"}
        model = LogisticRegressionCV(
            **settings, cv=list(folds), scoring=scoring, extend_l2=False, calibrate=False, n_jobs=-1
        )
        with warnings.catch_warnings():
            # The quadratic penalty is not convex: with a weak ridge a fit may diverge.
            warnings.simplefilter("ignore", ConvergenceWarning)
            split.fit(model, unlabeled=self.unlabeled)
        chosen = {name: model.best_params_[name] for name in ("dropout", "l2", "discount")}
        return TunedModel(model.best_estimator_, chosen, model.best_score_)


Method = Baseline | SklearnL2 | DropoutMethod

ALPHA = tuple(np.geomspace(0.03, 30.0, 12).round(3).tolist())
CS = tuple(np.geomspace(0.003, 10.0, 12).round(4).tolist())

BASELINES: dict[str, Baseline | SklearnL2] = {
    "MNB": Baseline(MultinomialNB(), {"alpha": ALPHA}),
    "MNB, SFE": Baseline(SemiSupervisedNaiveBayes(), {"alpha": ALPHA}, unlabeled=True),
    "MNB, EM": Baseline(
        EMNaiveBayes(), {"alpha": (0.1, 0.3, 1.0, 3.0), "discount": (0.03, 0.1, 0.3)}, unlabeled=True
    ),
    "NB-SVM": Baseline(NBSVM(random_state=0), {"C": (0.1, 0.3, 1.0), "beta": (0.25, 0.5, 0.75, 1.0)}),
    "transductive SVM": Baseline(
        TransductiveSVM(random_state=0),
        {"C": (0.001, 0.003, 0.01, 0.03), "discount": (0.1, 0.3, 1.0)},
        unlabeled=True,
    ),
    "L2": SklearnL2(CS),
    "entropy": Baseline(
        EntropyRegularizedLogisticRegression(tol=TOL),
        {"l2": (30.0, 10.0, 3.0, 1.0), "entropy_weight": (0.03, 0.1, 0.3)},
        unlabeled=True,
    ),
}


@dataclass(frozen=True)
class DropoutGrids:
    """Twelve settings of dropout for labelled rows alone, and twelve for labelled and unlabelled rows."""

    labeled: Mapping[str, Any]
    unlabeled: Mapping[str, Any]

    def methods(self, expectation: str) -> dict[str, DropoutMethod]:
        """Return dropout with an expectation and each kind of ridge, without and with unlabelled rows."""
        found = {}
        for ridge, l2_weights in (("", "uniform"), (", NB ridge", "naive_bayes")):
            found[f"{expectation}{ridge}"] = DropoutMethod(expectation, l2_weights, **self.labeled)
            found[f"{expectation}{ridge} + unlabelled"] = self.with_unlabeled(expectation, l2_weights)
        return found

    def with_unlabeled(self, expectation: str, l2_weights: str) -> DropoutMethod:
        """Return dropout with unlabelled rows."""
        return DropoutMethod(expectation, l2_weights, **self.unlabeled, unlabeled=True)

    def gaussian(self) -> dict[str, DropoutMethod]:
        """Return dropout with the library's default penalty."""
        name = "gaussian, NB ridge of all rows + unlabelled"
        return self.methods("gaussian") | {name: self.with_unlabeled("gaussian", "naive_bayes_unlabeled")}


MANY_LABELS = DropoutGrids(
    {"dropout": (0.7, 0.5, 0.3), "l2": (30.0, 10.0, 3.0, 1.0)},
    {"dropout": (0.6, 0.4), "l2": (10.0, 1.0, 0.3), "discount": (1.0, 0.3)},
)
# With few labels, more noise takes the place of a stronger ridge.
FEW_LABELS = DropoutGrids(
    {"dropout": (0.8, 0.65, 0.5), "l2": (10.0, 3.0, 1.0, 0.3)},
    {"dropout": (0.7, 0.5), "l2": (3.0, 0.5, 0.1), "discount": (1.0, 0.3)},
)
QUADRATIC, GAUSSIAN = MANY_LABELS.methods("quadratic"), MANY_LABELS.gaussian()
METHODS: dict[str, Method] = BASELINES | QUADRATIC | GAUSSIAN


@dataclass(frozen=True)
class Tuning:
    """How methods are tuned on the labelled rows of a split.

    Attributes
    ----------
    folds : int
        Number of folds.
    seed : int or None, default=None
        Seed that shuffles the folds; None makes them contiguous blocks of rows.
    scoring : str, default="accuracy"
        Score whose mean over the folds is to be largest.
    """

    folds: int
    seed: int | None = None
    scoring: str = "accuracy"

    def fit(self, data: PlannedData, label: str, method: Method, cost: float) -> PlannedFit:
        """Return the fit of a tuned method."""
        tuning = {"folds": self.folds, "scoring": self.scoring, "settings": method.settings()}
        return data.fit(label, partial(self.tune_and_score, method=method), cost, **tuning)

    def tune_and_score(self, split: Split, method: Method) -> dict[str, Any]:
        """Tune a method on the labelled rows, and return its scores on the test rows."""
        if not method.unlabeled:
            # A model that does not use unlabelled rows has only the words of labelled rows in its vocabulary.
            split = split.without_unseen()
        return score(self.tune(split, method), split)

    def tune(self, split: Split, method: Method) -> TunedModel:
        """Tune a method on the labelled rows."""
        cv = StratifiedKFold(self.folds, shuffle=self.seed is not None, random_state=self.seed)
        return method.tune(split, list(cv.split(split.y, split.y)), self.scoring)


def best_in_cross_validation(lines: Lines, methods: Mapping[str, Method], *, unlabeled: bool) -> Lines:
    """Return for each seed the line of these methods with the best cross-validation score."""
    names = [name for name, method in methods.items() if method.unlabeled == unlabeled]
    seeds = lines.among(method=names).by("seed").values()
    return Lines(max(split, key=lambda line: line["result"]["cv_score"]) for split in seeds)


def score(tuned: TunedModel, split: Split) -> dict[str, Any]:
    """Return the scores of a model on the test rows, and how it was tuned."""
    how = {"cv_score": tuned.cv_score, "chosen": dict(tuned.chosen), "features": split.X.shape[1]}
    return score_on_test(tuned.model, split) | how


def score_on_test(model: Any, split: Split) -> dict[str, Any]:
    """Return the scores of a model on the test rows; those of probabilities if it has any."""
    # Texts are vectorised once: the predicted class is that of the largest probability.
    p = model.predict_proba(split.X_test) if hasattr(model, "predict_proba") else None
    predicted = model.predict(split.X_test) if p is None else model.classes_[p.argmax(axis=1)]
    accuracy = float(np.mean(predicted == split.y_test))
    macro_f1 = float(f1_score(split.y_test, predicted, average="macro", zero_division=0.0))
    result = {"accuracy": accuracy, "macro_f1": macro_f1}
    result |= {"labeled": len(split.y), "test_rows": len(split.y_test)}
    if p is None:
        return result
    found = metrics_from_probabilities(split.y_test, p, model.classes_)
    top = float(p.max(axis=1).mean())
    more = {"log_loss": found.log_loss, "calibration_error": found.calibration_error}
    return result | more | {"top_probability": top}
