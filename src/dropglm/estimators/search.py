"""The fits of a cross-validation and their scores.

All folds share the design of the whole X: a fold is a weight of 0 for its held-out rows. So no fold copies X,
and all threads read the same memory.
"""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from dropglm.estimators.blend import PRIORS, PRIORS_BESIDE_OTHERS, Blend, Priors, fit_blend
from dropglm.estimators.features import Features
from dropglm.estimators.folds import Fold
from dropglm.estimators.grid import Candidate
from dropglm.estimators.logistic import LogisticRegression, problems_of
from dropglm.estimators.naive_bayes import log_ratios
from dropglm.estimators.problem import Solution
from dropglm.estimators.rounds import Member, Rounds
from dropglm.estimators.scoring import takes_weights
from dropglm.estimators.validation import TrainingData
from dropglm.families import Multinomial
from dropglm.progress import Progress
from dropglm.solvers import LBFGS, Status
from dropglm.threads import each

# A search needs scores, not digits: with this tolerance the accuracies of IMDB's bigrams changed by at most
# 0.0005, and the fits took three quarters of the iterations that 1e-2 takes.
SEARCH_TOL = 3e-2


class Fit(NamedTuple):
    """One fit of a candidate: the predictors of its held-out rows, and how it went."""

    eta: np.ndarray
    seconds: float
    n_iter: int
    converged: bool


class Solved(NamedTuple):
    """The solutions of a candidate, one per problem, over the features of its design."""

    features: Features
    solutions: list[Solution]
    seconds: float


class Outcome(NamedTuple):
    """The results of a candidate: its fits, how they are blended, and the scores by fold."""

    fits: tuple[Fit, ...]
    blend: Blend
    eta: np.ndarray  # blended predictors of the held-out rows of all folds
    scores: np.ndarray
    accuracy: float  # of all held-out rows


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
    calibrate, naive_bayes : bool
        Whether held-out predictors are scaled, and whether naive Bayes' are added; see ``blend``.
    priors : Priors or None
        Those of the two factors; None means those for the number of blocks of a candidate.
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
        calibrate: bool,
        naive_bayes: bool,
        priors: Priors | None = None,
    ) -> None:
        self.data = data
        self.features = features
        self.folds = folds
        self.scorer = scorer
        self.joint = joint
        self.fit_intercept = fit_intercept
        self.weighted = weighted and takes_weights(scorer)
        self.calibrate = calibrate
        self.priors = priors
        self.rows = np.concatenate([fold.test for fold in folds])  # held-out rows, fold by fold
        times = np.bincount(self.rows, minlength=len(data.y))
        self.blend_weights = (data.weights / np.maximum(times, 1))[self.rows]
        self.nu = self._naive_bayes_predictors() if naive_bayes else None
        # Held-out rows are scored by their predictors, which this model returns unchanged.
        K = 1 if len(data.classes) == 2 else len(data.classes)
        self.identity = LogisticRegression()
        softmax = joint or calibrate or naive_bayes
        self.identity.multi_class_ = "multinomial" if softmax else "ovr"
        self.identity.classes_, self.identity.n_features_in_ = data.classes, K
        self.identity.coef_, self.identity.intercept_ = np.eye(K), np.zeros(K)

    def naive_bayes_ratios(self, weights: np.ndarray) -> np.ndarray:
        """Return naive Bayes' log ratios of the labelled rows with these weights."""
        indicators = (self.data.y[:, None] == np.arange(len(self.data.classes))).astype(np.float64)
        return log_ratios(self.features.labeled, indicators, weights)

    def _naive_bayes_predictors(self) -> np.ndarray:
        """Return naive Bayes' predictors of all held-out rows, each without its own label."""
        found = []
        for fold in self.folds:
            ratios = self.naive_bayes_ratios(fold.times * self.data.weights)
            found.append(self.features.labeled.dot(ratios.astype(self.features.labeled.dtype))[fold.test])
        return np.concatenate(found)

    def run(self, grid: list[Candidate], *, tol: float, max_iter: int, shown: bool) -> list[Outcome]:
        """Return the outcome of every candidate.

        Along a path each fit starts from the previous one. Each thread works on one path of one fold; spare
        threads share the loops over the rows.
        """
        fits: list[list[Any]] = [[None] * len(self.folds) for _ in grid]
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
                for number, fit in zip(path, found, strict=True):
                    fits[number][fold] = fit
                    progress.advance()

            each(follow, jobs, threads)
        self.features.threads = threads
        return each(self._outcome, zip(grid, fits, strict=True), threads)

    def _follow(self, path: list[Candidate], fold: Fold, solver: LBFGS) -> Iterator[Fit]:
        """Yield the fits of the candidates along a path."""
        for features, solutions, seconds in self._solve(path, fold, solver):
            results = [solution.result for solution in solutions]
            yield Fit(
                np.hstack([features.labeled.dot(one.beta) + one.intercept for one in solutions])[fold.test],
                seconds,
                sum(result.n_iter for result in results),
                all(result.status == Status.CONVERGED for result in results),
            )

    def _solve(self, path: list[Candidate], fold: Fold, solver: LBFGS) -> Iterator[Solved]:
        """Yield the solutions of the candidates along a path, one solution per problem."""
        # Naive-Bayes weights depend on the labels: on those of the fold's own rows only.
        training = self.data._replace(weights=fold.times * self.data.weights)
        features = self.features.without(path[0].l2_weights.left_out)
        problems = problems_of(training, features, path[0].l2_weights, self.fit_intercept, joint=self.joint)
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
            yield Solved(features, solutions, seconds)

    def predict(self, X: Any, candidate: Candidate, blend: Blend, solver: LBFGS) -> list[np.ndarray]:
        """Return the blended predictors of further rows X by the fit of a candidate to every fold.

        The predictors are not kept during the search, where every candidate would need them.
        """

        def one(fold: Fold) -> np.ndarray:
            ((features, solutions, _),) = self._solve([candidate], fold, solver)
            beta = np.hstack([solution.beta for solution in solutions])
            intercept = np.hstack([solution.intercept for solution in solutions])
            r = self.naive_bayes_ratios(fold.times * self.data.weights) if self.nu is not None else None
            coef = blend(features.expand(beta), None if r is None else self.features.expand(r))
            return X @ np.ascontiguousarray(coef.T, X.dtype) + blend.scale * intercept

        threads = self.features.threads
        self.features.threads = max(1, threads // len(self.folds))
        found = each(one, self.folds, threads)
        self.features.threads = threads
        return found

    def rounds(self) -> Rounds:
        """Return the rounds that follow a search with unlabelled rows."""
        data = self.data
        assert data.unlabeled_weights is not None
        folds = [Member(fold.times * data.weights, fold.test) for fold in self.folds]
        return Rounds(
            data.X,
            data.X_unlabeled,
            data.y,
            len(data.classes),
            [*folds, Member(data.weights, self.rows[:0])],
            data.unlabeled_weights,
            self.blend_weights,
            self.features.threads,
        )

    def _outcome(self, item: tuple[Candidate, list[Fit]]) -> Outcome:
        """Blend the held-out predictors of a candidate, and score them fold by fold."""
        candidate, fits = item
        left_out = candidate.l2_weights.left_out
        blocks = len(self.features.widths) - len(left_out)
        nu = None if 0 in left_out else self.nu  # which is of the first block
        eta = np.concatenate([fit.eta for fit in fits])
        y = self.data.y[self.rows]
        blend = fit_blend(
            eta,
            nu,
            y,
            self.blend_weights,
            calibrate=self.calibrate,
            priors=self.priors or (PRIORS_BESIDE_OTHERS if blocks > 1 else PRIORS),
        )
        eta = blend(eta, nu)
        return Outcome(tuple(fits), blend, eta, self.scores(eta), self.accuracy(eta))

    def scores(self, eta: np.ndarray) -> np.ndarray:
        """Return the score of every fold, given the predictors of the held-out rows of all folds."""
        ends = np.cumsum([len(fold.test) for fold in self.folds])
        parts = zip(np.split(eta, ends[:-1]), self.folds, strict=True)
        return np.array([self._score(part, fold.test) for part, fold in parts])

    def _score(self, eta: np.ndarray, rows: np.ndarray) -> float:
        """Return the score of held-out rows, given their predictors."""
        y = self.data.classes[self.data.y[rows]]
        weights = {"sample_weight": self.data.sample_weights[rows]} if self.weighted else {}
        return float(self.scorer(self.identity, eta, y, **weights))

    def accuracy(self, eta: np.ndarray) -> float:
        """Return the share of held-out rows with the right prediction; a row counts once."""
        p = self.probabilities(eta)
        held_out = ~np.isnan(p[:, 0])
        return float(np.mean(p[held_out].argmax(axis=1) == self.data.y[held_out]))

    def probabilities(self, eta: np.ndarray) -> np.ndarray:
        """Return the probabilities of each row when it was held out; NaN for rows that never were.

        ``eta`` are the predictors of the held-out rows of all folds.
        """
        log_p = self.identity.predict_log_proba(eta)
        total = np.zeros((len(self.data.y), log_p.shape[1]))
        np.add.at(total, self.rows, log_p)
        times = np.bincount(self.rows, minlength=len(self.data.y))
        with np.errstate(invalid="ignore"):
            return Multinomial.mean(total / np.where(times, times, np.nan)[:, None])


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


def beyond_edge(
    grid: list[Candidate], scores: np.ndarray, best: int, limits: tuple[float, float] = (0.0, np.inf)
) -> list[Candidate]:
    """Return the best candidate with an l2 beyond the edge of the grid, if that is likely to be better.

    It is if the best l2 is at the edge, and better than the next one by more than the standard error of the
    difference. Candidates outside the limits are left out.
    """
    values, l2 = _values_of_l2(grid, best), grid[best].params["l2"]
    if len(values) < 2 or values[0] == 0.0 or l2 not in (values[0], values[-1]):
        return []
    beside = values[-2] if l2 == values[-1] else values[1]
    beyond = l2 * l2 / beside
    if not limits[0] * 0.999 <= beyond <= limits[1] * 1.001:  # limits are inclusive, up to rounding
        return []
    neighbour = next(
        k for k, one in enumerate(grid) if _same_but_l2(one, grid[best]) and one.params["l2"] == beside
    )
    gains = scores[best] - scores[neighbour]
    if not gains.mean() > gains.std() / np.sqrt(len(gains)):
        return []
    return [grid[best]._replace(params=grid[best].params | {"l2": beyond})]


def _same_but_l2(one: Candidate, other: Candidate) -> bool:
    return one.path == other.path and one.penalty is other.penalty


def _values_of_l2(grid: list[Candidate], best: int) -> list[float]:
    """Return the values of l2 that were tried with the best noise, l2_weights and discount, sorted."""
    return sorted({one.params["l2"] for one in grid if _same_but_l2(one, grid[best])})


def results_table(grid: list[Candidate], outcomes: list[Outcome]) -> dict[str, Any]:
    """Return the outcomes in the layout of scikit-learn's ``cv_results_``."""
    scores = np.array([outcome.scores for outcome in outcomes])
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
    fits = [outcome.fits for outcome in outcomes]
    return columns | {
        "mean_test_score": means,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": ranks.astype(np.int32),
        "accuracy": np.array([outcome.accuracy for outcome in outcomes]),
        "scale": np.array([outcome.blend.scale for outcome in outcomes]),
        "naive_bayes": np.array([outcome.blend.naive_bayes for outcome in outcomes]),
        "mean_fit_time": np.array([np.mean([fit.seconds for fit in row]) for row in fits]),
        "mean_n_iter": np.array([np.mean([fit.n_iter for fit in row]) for row in fits]),
        "converged": np.array([all(fit.converged for fit in row) for row in fits]),
    }
