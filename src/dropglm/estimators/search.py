"""The fits of a cross-validation and their scores.

All folds share the design of the whole X: a fold is a weight of 0 for the rows that it does not train on. So
no fold copies X, and all threads read the same memory.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import check_cv

from dropglm.estimators.classifier import LogisticRegression
from dropglm.estimators.features import Features
from dropglm.estimators.logistic_model import Checked
from dropglm.estimators.problem import Problem
from dropglm.objective import Coefficients
from dropglm.penalties import Penalty
from dropglm.penalties.ridges import Ridge
from dropglm.progress import Progress
from dropglm.solvers import LBFGS, Status
from dropglm.threads import each

# A search needs scores, not digits: with this tolerance the accuracies of IMDB's bigrams moved by 0.0005 at
# most, and its fits took three quarters of the iterations that 1e-2 took.
SEARCH_TOL = 3e-2

FIGURES = ("score", "seconds", "n_iter", "converged")


class Candidate(NamedTuple):
    """A point of the grid."""

    dropout: float
    l2: float
    l2_weights: int  # its place among the ridges
    discount: float


class Fold(NamedTuple):
    """How often each row is trained on, and the rows that are scored."""

    times: np.ndarray
    test: np.ndarray


class Search:
    """Everything that the fits of a cross-validation share."""

    def __init__(
        self,
        data: Checked,
        features: Features,
        problems: list[Problem],
        penalties: dict[float, Penalty | None],
        ridges: list[Ridge],
        folds: list[Fold],
        scorer: Any,
        *,
        weighted: bool,
    ) -> None:
        self.data = data
        self.features = features
        self.problems = problems
        self.penalties = penalties
        self.ridges = ridges
        self.folds = folds
        self.scorer = scorer
        # Rows held out are scored by their predictors: as features of a model that passes them on.
        K = sum(problem.y.shape[1] for problem in problems)
        self.judge = LogisticRegression()
        self.judge.multi_class_ = "multinomial" if problems[0].family.several else "ovr"
        self.judge.classes_, self.judge.n_features_in_ = data.classes, K
        self.judge.coef_, self.judge.intercept_ = np.eye(K), np.zeros(K)
        self.weighted = weighted and _takes_weights(scorer)

    def run(
        self, grid: list[Candidate], *, tol: float, max_iter: int, threads: int, shown: bool
    ) -> dict[str, np.ndarray]:
        """The figures of every candidate in every fold, by name; (candidates, folds) each.

        Candidates that differ in dropout and l2 only form a path, along which each fit starts where the last
        one ended. Threads take a path of a fold each; those that have none of their own help with the loops.
        """
        outcomes = {name: np.empty((len(grid), len(self.folds))) for name in FIGURES}
        paths: dict[tuple[int, float], list[int]] = {}
        for number, candidate in enumerate(grid):
            paths.setdefault((candidate.l2_weights, candidate.discount), []).append(number)
        chains = [(fold, path) for path in paths.values() for fold in range(len(self.folds))]
        self.features.threads = max(1, threads // len(chains))
        solver = LBFGS(max(tol, SEARCH_TOL), max_iter, threads=self.features.threads)
        with Progress("fits", len(grid) * len(self.folds), shown=shown) as progress:

            def walk(chain: tuple[int, list[int]]) -> None:
                fold, path = chain
                steps = self._walk(self.folds[fold], [grid[k] for k in path], solver)
                for number, figures in zip(path, steps, strict=True):
                    for name, figure in zip(FIGURES, figures, strict=True):
                        outcomes[name][number, fold] = figure
                    progress.advance()

            each(walk, chains, threads)
        self.features.threads = threads
        return outcomes

    def _walk(
        self, fold: Fold, path: list[Candidate], solver: LBFGS
    ) -> Iterator[tuple[float, float, float, bool]]:
        """The figures of the candidates along a path."""
        design = self.features.labeled
        weights = fold.times * self.data.weights
        problems = [replace(problem, weights=weights) for problem in self.problems]
        # The naive-Bayes ridge looks at labels: at those of the fold's own rows only.
        ridge = self.ridges[path[0].l2_weights]
        spreads = [problem.spread(ridge) for problem in problems]
        last: list[Coefficients | None] = [None] * len(problems)
        strongest = last  # ridge at the dropout rate before: where the next rate starts
        for k, candidate in enumerate(path):
            begin = time.perf_counter()
            new_rate = k == 0 or candidate.dropout != path[k - 1].dropout
            penalty = self.penalties[candidate.dropout]
            solved = [
                problem.fit(penalty, ridge, spread, candidate.l2, candidate.discount, solver, start)
                for problem, spread, start in zip(
                    problems, spreads, strongest if new_rate else last, strict=True
                )
            ]
            seconds = time.perf_counter() - begin
            last = [coefficients for coefficients, _ in solved]
            strongest = last if new_rate else strongest
            eta = np.hstack([design.dot(beta) + b for (beta, b), _ in solved])[fold.test]
            n_iter = sum(result.n_iter for _, result in solved)
            converged = all(result.status is Status.CONVERGED for _, result in solved)
            yield self._score(eta, fold.test), seconds, n_iter, converged

    def _score(self, eta: np.ndarray, rows: np.ndarray) -> float:
        y = self.data.classes[self.data.y[rows]]
        weights = {"sample_weight": self.data.sample_weights[rows]} if self.weighted else {}
        return float(self.scorer(self.judge, eta, y, **weights))


def folds_from(cv: Any, data: Checked) -> list[Fold]:
    """The folds that scikit-learn's ``cv`` stands for."""
    n, K = len(data.y), len(data.classes)
    folds = []
    for number, (train, test) in enumerate(check_cv(cv, data.y, classifier=True).split(data.X, data.y)):
        train, test = (np.arange(n)[rows] for rows in (train, test))
        fold = Fold(np.bincount(train, minlength=n).astype(np.float64), test)
        weighted = np.bincount(data.y, fold.times * data.weights, minlength=K)
        if not weighted.all():
            raise ValueError(
                f"Fold {number} has no row of class {data.classes[weighted.argmin()]} to train on; use fewer "
                "folds or shuffle them."
            )
        if not data.sample_weights[test].any():
            raise ValueError(f"Fold {number} has no row with a weight above 0 to score.")
        folds.append(fold)
    if not folds:
        raise ValueError("cv has no folds.")
    return folds


def _takes_weights(scorer: Any) -> bool:
    score = getattr(scorer, "_score_func", None)
    return score is not None and "sample_weight" in signature(score).parameters


def chosen(grid: list[Candidate], scores: np.ndarray, *, one_standard_error: bool) -> int:
    """The best candidate, the first of equals; or the strongest of its path within a standard error of it."""
    means = scores.mean(axis=1)
    if np.isnan(means).all():
        raise ValueError("Every score is NaN; choose another scoring or larger folds.")
    best = int(np.nanargmax(means))
    if not one_standard_error:
        return best
    folds = scores.shape[1]
    error = scores[best].std(ddof=1) / np.sqrt(folds) if folds > 1 else 0.0
    near = [
        k
        for k, mean in enumerate(means)
        if mean >= means[best] - error
        and (grid[k].l2_weights, grid[k].discount) == (grid[best].l2_weights, grid[best].discount)
    ]
    return max(near, key=lambda k: (grid[k].dropout, grid[k].l2))


def table(grid: list[Candidate], ridges: list[Any], outcomes: dict[str, np.ndarray]) -> dict[str, Any]:
    """The outcomes as scikit-learn's searches give them: a column for every parameter and figure."""
    scores = outcomes["score"]
    means = scores.mean(axis=1)
    params = [point._asdict() | {"l2_weights": ridges[point.l2_weights]} for point in grid]
    columns: dict[str, Any] = {"params": params}
    for name in Candidate._fields:
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
