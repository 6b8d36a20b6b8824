"""The methods that are compared on texts, each with twelve settings to choose from.

All choose by cross-validation over the same folds of labelled rows, and are then fitted to all of them.
Unlabelled rows, where a method takes them, join every fit. So every method has the same budget.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV as TheirLogisticRegressionCV
from sklearn.metrics import accuracy_score, get_scorer, log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import MultinomialNB

from dropglm import checks
from dropglm.baselines import (
    NBSVM,
    EMNaiveBayes,
    EntropyRegularizedLogisticRegression,
    SemiSupervisedNaiveBayes,
)
from dropglm.estimators import LogisticRegressionCV
from dropglm.experiments.texts import Split
from dropglm.threads import each

TOL, MAX_ITER, THEIR_MAX_ITER = 1e-3, 200, 300

Folds = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Tuned:
    """A model that is fitted with the best of its settings."""

    model: Any
    chosen: Mapping[str, Any]
    cv_score: float


@dataclass(frozen=True)
class Rival:
    """Any estimator, its settings tried one by one."""

    model: Any
    grid: Mapping[str, Sequence[Any]]
    unlabeled: bool = False

    def settings(self) -> Mapping[str, Any]:
        """What the result depends on."""
        grid = {name: list(values) for name, values in self.grid.items()}
        return {"model": type(self.model).__name__, "parameters": self.model.get_params(), "grid": grid}

    def tuned(self, split: Split, folds: Folds, scoring: str) -> Tuned:
        """The model, fitted with the settings that are best over the folds."""
        scorer = get_scorer(scoring)
        points = [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]

        def score(task: tuple[dict[str, Any], tuple[np.ndarray, np.ndarray]]) -> float:
            point, (train, test) = task
            model = self._fitted(point, split.X[train], split.y[train], split.X_unlabeled)
            return float(scorer(model, split.X[test], split.y[test]))

        scores = each(score, product(points, folds), checks.threads(-1))
        means = np.reshape(scores, (len(points), len(folds))).mean(axis=1)
        best = points[int(means.argmax())]
        model = self._fitted(best, split.X, split.y, split.X_unlabeled)
        return Tuned(model, best, float(means.max()))

    def _fitted(self, point: Mapping[str, Any], X: Any, y: np.ndarray, X_unlabeled: Any) -> Any:
        more = {"X_unlabeled": X_unlabeled} if self.unlabeled else {}
        return clone(self.model).set_params(**point).fit(X, y, **more)


@dataclass(frozen=True)
class TheirPath:
    """scikit-learn's logistic regression, along a path of C."""

    C: Sequence[float]
    unlabeled: bool = False

    def settings(self) -> Mapping[str, Any]:
        """What the result depends on."""
        return {"C": list(self.C), "max_iter": THEIR_MAX_ITER}

    def tuned(self, split: Split, folds: Folds, scoring: str) -> Tuned:
        """The model, fitted with the best C."""
        model = TheirLogisticRegressionCV(
            Cs=list(self.C),
            l1_ratios=(0.0,),
            scoring=scoring,
            cv=list(folds),
            max_iter=THEIR_MAX_ITER,
            n_jobs=-1,
            use_legacy_attributes=False,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            # float64: its solver works on the matrix as it is, and float32 stops it early
            model.fit(sparse.csr_array(split.X, dtype=np.float64), split.y)
        C = float(np.ravel(model.C_)[0])
        scores = np.asarray(model.scores_).reshape(len(folds), len(self.C))
        return Tuned(model, {"C": C}, float(scores.mean(axis=0).max()))


@dataclass(frozen=True)
class Dropout:
    """Ours, along warm-started paths."""

    expectation: str
    l2_weights: str
    dropout: Sequence[float]
    l2: Sequence[float]
    discount: Sequence[float] = (1.0,)
    unlabeled: bool = False

    def settings(self) -> Mapping[str, Any]:
        """What the result depends on."""
        lists = {name: list(getattr(self, name)) for name in ("dropout", "l2", "discount")}
        names = {"expectation": self.expectation, "l2_weights": self.l2_weights, "unlabeled": self.unlabeled}
        return names | lists | {"tol": TOL, "max_iter": MAX_ITER}

    def tuned(self, split: Split, folds: Folds, scoring: str) -> Tuned:
        """The model, fitted with the best point of the grid."""
        model = LogisticRegressionCV(
            dropout=self.dropout,
            l2=self.l2,
            expectation=self.expectation,
            discount=self.discount,
            l2_weights=self.l2_weights,
            cv=list(folds),
            scoring=scoring,
            tol=TOL,
            max_iter=MAX_ITER,
            n_jobs=-1,
        )
        more = {"X_unlabeled": split.X_unlabeled} if self.unlabeled else {}
        with warnings.catch_warnings():
            # The quadratic penalty is not convex: with little ridge a fit may wander off.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(split.X, split.y, **more)
        chosen = {name: model.best_params_[name] for name in ("dropout", "l2", "discount")}
        return Tuned(model.best_estimator_, chosen, model.best_score_)


Method = Rival | TheirPath | Dropout

ALPHA = tuple(np.geomspace(0.03, 30.0, 12).round(3).tolist())
CS = tuple(np.geomspace(0.003, 10.0, 12).round(4).tolist())

RIVALS: dict[str, Rival | TheirPath] = {
    "MNB": Rival(MultinomialNB(), {"alpha": ALPHA}),
    "MNB, SFE": Rival(SemiSupervisedNaiveBayes(), {"alpha": ALPHA}, unlabeled=True),
    "MNB, EM": Rival(
        EMNaiveBayes(), {"alpha": (0.1, 0.3, 1.0, 3.0), "discount": (0.03, 0.1, 0.3)}, unlabeled=True
    ),
    "NB-SVM": Rival(NBSVM(random_state=0), {"C": (0.1, 0.3, 1.0), "beta": (0.25, 0.5, 0.75, 1.0)}),
    "L2": TheirPath(CS),
    "entropy": Rival(
        EntropyRegularizedLogisticRegression(tol=TOL),
        {"l2": (30.0, 10.0, 3.0, 1.0), "entropy_weight": (0.03, 0.1, 0.3)},
        unlabeled=True,
    ),
}


@dataclass(frozen=True)
class Grids:
    """The twelve settings of dropout for labelled rows alone, and the twelve with unlabelled ones."""

    labeled: Mapping[str, Any]
    unlabeled: Mapping[str, Any]

    def papers(self) -> dict[str, Dropout]:
        """Dropout with the paper's penalty."""
        return {
            "quadratic": self._without("quadratic", "uniform"),
            "quadratic + unlabelled": self._with("quadratic", "uniform"),
            "quadratic, NB ridge": self._without("quadratic", "naive_bayes"),
            "quadratic, NB ridge + unlabelled": self._with("quadratic", "naive_bayes"),
        }

    def ours(self) -> dict[str, Dropout]:
        """Dropout with the library's."""
        return {
            "gaussian": self._without("gaussian", "uniform"),
            "gaussian + unlabelled": self._with("gaussian", "uniform"),
            "gaussian, NB ridge": self._without("gaussian", "naive_bayes"),
            "gaussian, NB ridge + unlabelled": self._with("gaussian", "naive_bayes"),
            "gaussian, NB ridge of all rows + unlabelled": self._with("gaussian", "naive_bayes_unlabeled"),
        }

    def _without(self, expectation: str, l2_weights: str) -> Dropout:
        return Dropout(expectation, l2_weights, **self.labeled)

    def _with(self, expectation: str, l2_weights: str) -> Dropout:
        return Dropout(expectation, l2_weights, **self.unlabeled, unlabeled=True)


MANY_LABELS = Grids(
    {"dropout": (0.7, 0.5, 0.3), "l2": (30.0, 10.0, 3.0, 1.0)},
    {"dropout": (0.6, 0.4), "l2": (10.0, 1.0, 0.3), "discount": (1.0, 0.3)},
)
# Where labels are few, more noise does what the ridge would do.
FEW_LABELS = Grids(
    {"dropout": (0.8, 0.65, 0.5), "l2": (10.0, 3.0, 1.0, 0.3)},
    {"dropout": (0.7, 0.5), "l2": (3.0, 0.5, 0.1), "discount": (1.0, 0.3)},
)
PAPERS, OURS = MANY_LABELS.papers(), MANY_LABELS.ours()
METHODS: dict[str, Method] = RIVALS | PAPERS | OURS


def measured(
    split: Split, *, method: Method, folds: int, seed: int | None, scoring: str = "accuracy"
) -> dict[str, Any]:
    """Test accuracy and log loss of a method that has tuned itself on the labelled rows."""
    if not method.unlabeled:
        # A word that no labelled row has is no part of the vocabulary of a model that sees no others.
        split = split.without_unseen()
    return scored(tuned(split, method=method, folds=folds, seed=seed, scoring=scoring), split)


def tuned(split: Split, *, method: Method, folds: int, seed: int | None, scoring: str = "accuracy") -> Tuned:
    """The method's model; folds are blocks of the rows as they stand, or shuffled if there is a seed."""
    cv = StratifiedKFold(folds, shuffle=seed is not None, random_state=seed)
    return method.tuned(split, list(cv.split(split.y, split.y)), scoring)


def scored(found: Tuned, split: Split) -> dict[str, Any]:
    """What a line of raw results says of a model."""
    classes = found.model.classes_
    result = {
        "accuracy": float(accuracy_score(split.y_test, found.model.predict(split.X_test))),
        "cv_score": found.cv_score,
        "chosen": dict(found.chosen),
        "labeled": split.X.shape[0],
        "features": split.X.shape[1],
        "test_rows": split.X_test.shape[0],
    }
    if hasattr(found.model, "predict_proba"):
        p = np.asarray(found.model.predict_proba(split.X_test), np.float64)
        # Of float32 they sum to one only nearly, which scikit-learn complains of.
        result["log_loss"] = float(log_loss(split.y_test, p / p.sum(axis=1, keepdims=True), labels=classes))
    return result
