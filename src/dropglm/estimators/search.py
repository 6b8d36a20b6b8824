"""The fits of a cross-validation and their scores.

All folds share the design of the whole X: a fold is a weight of 0 for its held-out rows. So no fold copies X,
and all threads read the same memory.
"""

import time
from collections.abc import Iterator
from inspect import signature
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv

from dropglm.estimators.features import Features
from dropglm.estimators.l2_weights import L2Weights
from dropglm.estimators.logistic import LogisticRegression, problems_of
from dropglm.estimators.validation import TrainingData
from dropglm.penalties import Penalty
from dropglm.progress import Progress
from dropglm.registry import lookup
from dropglm.solvers import LBFGS, Status
from dropglm.threads import each

# A search needs scores, not digits: with this tolerance the accuracies of IMDB's bigrams changed by at most
# 0.0005, and the fits took three quarters of the iterations that 1e-2 takes.
SEARCH_TOL = 3e-2


def is_grid(name: str, value: Any) -> bool:
    """Return whether the value of this setting is a sequence of values; a vector of l2_weights is one value.

    Examples
    --------
    >>> is_grid("l2", [1.0, 2.0]), is_grid("l2_weights", [1.0, 2.0]), is_grid("l2_weights", ["uniform"])
    (True, False, True)
    """
    if isinstance(value, str) or not np.iterable(value):
        return False
    return name != "l2_weights" or any(np.iterable(one) or isinstance(one, L2Weights) for one in value)


def classification_scorers() -> list[str]:
    """Return the names of scikit-learn's scorers for classifiers with one label per row."""
    modules = {name: get_scorer(name)._score_func.__module__ for name in get_scorer_names()}
    return [
        name
        for name, module in modules.items()
        if module.endswith(("_classification", "_ranking")) and not name.endswith("_samples")
    ]


def check_scorer_name(scoring: Any) -> None:
    """Refuse a name that scikit-learn does not have, and suggest the nearest scorer for classification."""
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        lookup(dict.fromkeys(classification_scorers()), scoring, "scoring")


class Candidate(NamedTuple):
    """A point of the grid: its values, and the objects that they stand for."""

    params: dict[str, Any]  # dropout, l2, l2_weights, discount
    penalty: Penalty | None
    l2_weights: L2Weights
    path: int  # candidates of the same path differ only in dropout and l2
    noise_strength: float


class Fold(NamedTuple):
    """How often each row is trained on, and the held-out rows."""

    times: np.ndarray
    test: np.ndarray


class Outcome(NamedTuple):
    """What is recorded of one fit."""

    score: float
    seconds: float
    n_iter: int
    converged: bool


class Search:
    """Everything that the fits of a cross-validation share.

    Parameters
    ----------
    data : TrainingData
        All labelled rows.
    features : Features
    folds : list of Fold
    scorer : callable
        A scorer of scikit-learn.
    joint : bool
        Whether more than two classes are fitted in one multinomial model.
    fit_intercept : bool
    weighted : bool
        Whether scores are weighted by the sample weights, if the scorer supports it.
    """

    def __init__(
        self,
        data: TrainingData,
        features: Features,
        folds: list[Fold],
        scorer: Any,
        *,
        joint: bool,
        fit_intercept: bool,
        weighted: bool,
    ) -> None:
        self.data = data
        self.features = features
        self.folds = folds
        self.scorer = scorer
        self.joint = joint
        self.fit_intercept = fit_intercept
        self.weighted = weighted and _takes_weights(scorer)
        # Held-out rows are scored by their predictors, which this model returns unchanged.
        K = 1 if len(data.classes) == 2 else len(data.classes)
        self.identity = LogisticRegression()
        self.identity.multi_class_ = "multinomial" if joint else "ovr"
        self.identity.classes_, self.identity.n_features_in_ = data.classes, K
        self.identity.coef_, self.identity.intercept_ = np.eye(K), np.zeros(K)

    def run(self, grid: list[Candidate], *, tol: float, max_iter: int, shown: bool) -> dict[str, np.ndarray]:
        """Return the outcomes of every candidate in every fold, by name; shape (candidates, folds) each.

        Along a path each fit starts from the previous one. Each thread works on one path of one fold; spare
        threads share the loops over the rows.
        """
        outcomes = {name: np.empty((len(grid), len(self.folds))) for name in Outcome._fields}
        paths: dict[int, list[int]] = {}
        for number, candidate in enumerate(grid):
            paths.setdefault(candidate.path, []).append(number)
        jobs = [(fold, path) for path in paths.values() for fold in range(len(self.folds))]
        threads = self.features.threads
        self.features.threads = max(1, threads // len(jobs))
        solver = LBFGS(max(tol, SEARCH_TOL), max_iter, threads=self.features.threads)
        with Progress("fits", len(grid) * len(self.folds), shown=shown) as progress:

            def follow(job: tuple[int, list[int]]) -> None:
                fold, path = job
                found = self._follow([grid[number] for number in path], self.folds[fold], solver)
                for number, outcome in zip(path, found, strict=True):
                    for name, value in outcome._asdict().items():
                        outcomes[name][number, fold] = value
                    progress.advance()

            each(follow, jobs, threads)
        self.features.threads = threads
        return outcomes

    def _follow(self, path: list[Candidate], fold: Fold, solver: LBFGS) -> Iterator[Outcome]:
        """Yield the outcomes of the candidates along a path."""
        # Naive-Bayes weights depend on the labels: on those of the fold's own rows only.
        training = self.data._replace(weights=fold.times * self.data.weights)
        problems = problems_of(
            training, self.features, path[0].l2_weights, self.fit_intercept, joint=self.joint
        )
        previous: list[Any] = [None] * len(problems)
        # The fit with the strongest l2 at the previous dropout rate, from which the next rate starts.
        strongest = previous
        for k, candidate in enumerate(path):
            begin = time.perf_counter()
            new_rate = k == 0 or candidate.penalty is not path[k - 1].penalty
            l2, discount = candidate.params["l2"], candidate.params["discount"]
            starts = strongest if new_rate else previous
            solutions = [
                problem.solve(candidate.penalty, l2, discount, solver, start)
                for problem, start in zip(problems, starts, strict=True)
            ]
            seconds = time.perf_counter() - begin
            previous = [(solution.beta, solution.intercept) for solution in solutions]
            strongest = previous if new_rate else strongest
            eta = np.hstack([self.features.labeled.dot(beta) + b for beta, b in previous])[fold.test]
            results = [solution.result for solution in solutions]
            yield Outcome(
                self._score(eta, fold.test),
                seconds,
                sum(result.n_iter for result in results),
                all(result.status == Status.CONVERGED for result in results),
            )

    def _score(self, eta: np.ndarray, rows: np.ndarray) -> float:
        """Return the score of the held-out rows, given their predictors."""
        y = self.data.classes[self.data.y[rows]]
        weights = {"sample_weight": self.data.sample_weights[rows]} if self.weighted else {}
        return float(self.scorer(self.identity, eta, y, **weights))


def folds_from(cv: Any, data: TrainingData) -> list[Fold]:
    """Return the folds that scikit-learn's ``cv`` describes; if a number, at most the smallest class."""
    n, K = len(data.y), len(data.classes)
    if isinstance(cv, Integral):
        counts = np.bincount(data.y)
        if counts.min() < 2:
            raise ValueError(
                f"Class {data.classes[counts.argmin()]!s} has only one row, too few for cross-validation; "
                "add rows of this class, or choose the settings yourself."
            )
        cv = min(int(cv), int(counts.min()))
    folds = []
    for number, (train, test) in enumerate(check_cv(cv, data.y, classifier=True).split(data.X, data.y)):
        train, test = (np.arange(n)[rows] for rows in (train, test))
        fold = Fold(np.bincount(train, minlength=n).astype(np.float64), test)
        weighted = np.bincount(data.y, fold.times * data.weights, minlength=K)
        if not weighted.all():
            raise ValueError(
                f"Split {number} has no row of class {data.classes[weighted.argmin()]} to train on; use "
                "fewer folds, or pass other splits as cv."
            )
        if not data.sample_weights[test].any():
            raise ValueError(f"Split {number} has no row of positive weight to score.")
        folds.append(fold)
    if not folds:
        raise ValueError("cv has no folds.")
    return folds


def _takes_weights(scorer: Any) -> bool:
    score = getattr(scorer, "_score_func", None)
    return score is not None and "sample_weight" in signature(score).parameters


def best_candidate(grid: list[Candidate], scores: np.ndarray, *, one_standard_error: bool) -> int:
    """Return the index of the best candidate, the first among equals.

    With ``one_standard_error``, return the strongest candidate of its path within one standard error of it.
    """
    means = scores.mean(axis=1)
    if np.isnan(means).all():
        raise ValueError("Every score is NaN; use another scoring or larger folds.")
    best = int(np.nanargmax(means))
    if not one_standard_error:
        return best
    folds = scores.shape[1]
    error = scores[best].std(ddof=1) / np.sqrt(folds) if folds > 1 else 0.0
    same_path = [k for k in range(len(grid)) if grid[k].path == grid[best].path]
    near = [k for k in same_path if means[k] >= means[best] - error]
    return max(near, key=lambda k: (grid[k].noise_strength, grid[k].params["l2"]))


def results_table(grid: list[Candidate], outcomes: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the outcomes in the layout of scikit-learn's ``cv_results_``."""
    scores = outcomes["score"]
    means = scores.mean(axis=1)
    params = [candidate.params for candidate in grid]
    columns: dict[str, Any] = {"params": params}
    for name in params[0]:
        column = np.empty(len(grid), object)
        column[:] = [point[name] for point in params]
        columns[f"param_{name}"] = column
    for fold in range(scores.shape[1]):
        columns[f"split{fold}_test_score"] = scores[:, fold]
    ranks = rankdata(-np.where(np.isnan(means), -np.inf, means), method="min")
    return columns | {
        "mean_test_score": means,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": ranks.astype(np.int32),
        "mean_fit_time": outcomes["seconds"].mean(axis=1),
        "mean_n_iter": outcomes["n_iter"].mean(axis=1),
        "converged": outcomes["converged"].all(axis=1),
    }
