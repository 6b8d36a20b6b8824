"""``LogisticRegressionCV`` for rows in partitions.

All folds, paths of the grid and classes share the rounds; see ``Rounds.each``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dropglm import checks
from dropglm.estimators.best import Reach, find_best
from dropglm.estimators.cv_results import results_table
from dropglm.estimators.final_fit import best_model, fitted_attributes
from dropglm.estimators.grid import Candidate, candidates_of, grids_of, l2_weights_grid, noises_of
from dropglm.estimators.l2_weights import L2Weights, counts_unlabeled
from dropglm.estimators.logistic import fits_jointly
from dropglm.estimators.logistic_cv import LogisticRegressionCV
from dropglm.estimators.paths import Job, PathFits
from dropglm.estimators.scoring import ROW_SCORERS, row_scorer_of
from dropglm.estimators.search import Search
from dropglm.estimators.validation import check_settings, class_factors
from dropglm.families import Logistic, Multinomial
from dropglm.noising import expectation_from, training_penalty
from dropglm.objective import Coefficients
from dropglm.partitions.engine import Engine
from dropglm.partitions.features import PartitionedFeatures
from dropglm.partitions.fitting import (
    Surveyed,
    class_numbers_of,
    class_problem,
    prepare_partitions,
    solver_of,
    survey_classes,
    training_data,
)
from dropglm.partitions.folds import RowFolds, count_classes, folds_of, join
from dropglm.partitions.held_out import Scoring
from dropglm.partitions.judge import MESSAGE, PartitionedHeldOut
from dropglm.partitions.problem import PartitionedProblem
from dropglm.partitions.race import PartitionedRace
from dropglm.partitions.requests import MeanRow, WeightsByFold
from dropglm.solvers import LBFGS


class PartitionedFits(PathFits):
    """The fits of a search to rows in partitions.

    Parameters
    ----------
    features : PartitionedFeatures
    found : Surveyed
    folds : RowFolds
    by_class : ndarray of shape (K,)
        The weights of the rows of each class.
    joint : bool
        Whether more than two classes are fitted in one multinomial model.
    fit_intercept : bool
    keeps : callable
        Returns whether the fits of a candidate keep their coefficients.

    Attributes
    ----------
    size : int
        Number of coefficients of a problem, without the intercepts.
    at_a_time : int
        How many fits may be in progress at a time.
    held_out : ndarray of shape (folds, K)
        The weights of the rows of each class that each fold holds out.
    """

    def __init__(
        self,
        features: PartitionedFeatures,
        found: Surveyed,
        folds: RowFolds,
        by_class: np.ndarray,
        *,
        joint: bool,
        fit_intercept: bool,
        keeps: Callable[[Candidate], bool],
    ) -> None:
        self.features: PartitionedFeatures = features
        self.fold_count = folds.number
        self.keeps = keeps
        self._found = found
        self._by_class = by_class
        self._family = Multinomial if joint else Logistic
        self._fit_intercept = fit_intercept
        self._numbers = class_numbers_of(len(by_class), joint=joint)
        self.problem_count = len(self._numbers)
        # Sums that the problems need: weights by fold, and the mean rows of all folds and of all rows.
        numbers = [*range(folds.number), None]
        weights, *rows = features.rounds.ask(
            WeightsByFold(folds.number),
            *(MeanRow(len(features.order), features.dtype, fold) for fold in numbers),
        )
        # One message has the coefficients of all fits that are in progress.
        K = len(by_class) if joint else 1
        self.size = len(features.order) * K
        self.at_a_time = max(1, MESSAGE // max(1, self.size * features.dtype.itemsize))
        self.held_out = weights.numbers.reshape(folds.number, -1)
        self._means = {
            fold: (row.dense()[:, 0] / self._weights(fold).sum()).astype(features.dtype)
            for fold, row in zip(numbers, rows, strict=True)
        }

    def _weights(self, fold: int | None) -> np.ndarray:
        """Return the weights of the rows of each class that a fold trains on; None means all rows."""
        return self._by_class if fold is None else self._by_class - self.held_out[fold]

    def problems(self, rule: L2Weights) -> list[PartitionedProblem]:
        """Return the problems of a fit to all rows."""
        return [self._problem(rule, number, None) for number in self._numbers]

    def problem(self, rule: L2Weights, job: Job) -> PartitionedProblem:
        """Return what the fits of a job share, with these l2 weights."""
        return self._problem(rule, self._numbers[job.problem], job.fold)

    def _problem(self, rule: L2Weights, number: int | None, fold: int | None) -> PartitionedProblem:
        by_class, mean = self._weights(fold), self._means[fold]
        return class_problem(
            self.features, self._found, self._family, number, by_class, self._fit_intercept, rule, mean, fold
        )

    def prepare(self, left_out: set[frozenset[int]], folds: range) -> None:
        """Do nothing: all that the problems share is known."""

    def predict(self, fold: int, rule: L2Weights, beta: np.ndarray, intercept: np.ndarray) -> Coefficients:
        """Return the coefficients, from which the partitions compute predictors when all fits are done."""
        return beta, intercept

    def each_when_ready(self, work: Callable[[int], None], needs: Sequence[Sequence[int]]) -> None:
        """Call ``work(k)`` for k = 0, 1, …, in common rounds."""
        self.features.rounds.each(work, range(len(needs)), needs, self.at_a_time)


def fit_logistic_cv(
    estimator: LogisticRegressionCV,
    engine: Engine,
    labeled: list[Any],
    unlabeled: list[Any] | tuple[()] = (),
    checkpoint: None = None,
) -> LogisticRegressionCV:
    """Choose the settings of a classifier by cross-validation, fit it to partitions, and return it.

    Parameters
    ----------
    estimator : LogisticRegressionCV
        With the grids of the search.
    engine : Engine
        Who keeps and adds up the partitions.
    labeled, unlabeled : lists
        Partitions as the engine keeps them: ``Rows``, checked when they are first used. Both lists are
        emptied, so that an engine can release the rows as soon as they are prepared.
    checkpoint : None
        A search has no checkpoint.

    Returns
    -------
    LogisticRegressionCV
        The fitted estimator.

    See Also
    --------
    fit : Fits any of the models to partitions, without an engine of your own.

    Examples
    --------
    >>> from dropglm import LogisticRegressionCV
    >>> from dropglm.partitions import Rows, SerialEngine, fit_logistic_cv
    >>> parts = [lambda: Rows(0, [[0.0], [1.0]], [0, 1]), lambda: Rows(1, [[0.0], [1.0]], [0, 1])]
    >>> engine = SerialEngine()
    >>> labeled = engine.keep(lambda load, message: load(), parts, None)
    >>> model = LogisticRegressionCV(dropout=0.2, l2=(1.0, 0.1), l2_weights="uniform", cv=2)
    >>> fit_logistic_cv(model, engine, labeled, []).predict([[1.0]])
    array([1])
    """
    # Check.
    if checkpoint is not None:
        raise ValueError(
            "A search has no checkpoint; fit LogisticRegressionCV without it, or LogisticRegression with it."
        )
    check_settings(estimator, grids=("l2", "discount"))
    _check_supported(estimator)
    method = expectation_from(estimator.expectation)
    # Unlabelled rows without a part in the fits would only add features that stay 0.
    counted = np.any(estimator.discount) or counts_unlabeled(estimator.l2_weights)
    if unlabeled and not counted:
        unlabeled.clear()
    found = survey_classes(engine, labeled, unlabeled)
    classes = found.labeled.classes
    folds = folds_of(estimator.cv, classes, engine.total(count_classes, found.labeled_parts, classes, join))
    factors = class_factors(estimator.class_weight, classes, found.labeled.class_weights)

    # Build the grid.
    checks.on_cpu(estimator)
    features = PartitionedFeatures(found.labeled, found.unlabeled, checks.threads(estimator.n_jobs))
    grids = grids_of(estimator, features.block_count)
    noises = noises_of(grids, features.block_count)
    noisy = any(one.noise.parts for one in noises)
    joint = fits_jointly(estimator.multi_class, len(classes), method, noisy=noisy)
    family = Multinomial if joint else Logistic
    penalties = [training_penalty(method, family, one.noise, estimator.random_state) for one in noises]
    if estimator.naive_bayes and features.smallest[0] < 0.0:
        raise ValueError("naive_bayes=True needs non-negative features; use naive_bayes=False.")
    l2_weights = l2_weights_grid(estimator.l2_weights, features)
    candidates = candidates_of(grids, noises, penalties, l2_weights, features)
    left_out = {one.l2_weights.left_out for one in candidates}
    if len(left_out) > 1:
        raise ValueError(
            "For rows in partitions, all values of l2_weights must leave out the same blocks; search with "
            "one of them at a time."
        )
    features.leave_out(left_out.pop())

    # Search.
    prepare_partitions(engine, found, features, [one.noise for one in noises], classes, factors, folds)
    reach = Reach(estimator, grids["l2"])
    fits = PartitionedFits(
        features,
        found,
        folds,
        factors * found.labeled.class_weights,
        joint=joint,
        fit_intercept=bool(estimator.fit_intercept),
        keeps=reach.keeps,
    )
    held_out = PartitionedHeldOut(
        features,
        factors,
        folds.sizes,
        (fits.held_out / factors).sum(axis=1),
        Scoring(estimator.scoring, joint or estimator.calibrate or estimator.naive_bayes),
        calibrate=estimator.calibrate,
        naive_bayes=estimator.naive_bayes,
        priors=estimator._priors,
    )
    race = PartitionedRace(held_out, one_standard_error=estimator.one_standard_error)
    # With the steps of a search in memory, since fits of low precision depend on them, and so do the scores:
    # those of ``solver_of`` save 7 % of the rounds, but change a log loss of 0.193 by 0.002.
    solver = LBFGS(estimator.tol, estimator.max_iter)
    search = Search(fits, held_out, race if estimator.race else None, solver)
    best = find_best(estimator, search, candidates, reach)
    assert best is not None

    # Fit the best settings to all rows, and blend.
    chosen, outcome, results = search.grid[best], search.outcomes[best], results_table(search, best)
    model = best_model(estimator, chosen.params, joint=joint)
    data = training_data(found.labeled)
    problems = fits.problems(chosen.l2_weights)
    solver = solver_of(estimator, fits.size, len(problems))
    model._solve(problems, chosen.penalty, features, data, solver)
    if estimator.calibrate or estimator.naive_bayes:
        ratios = held_out.naive_bayes_ratios([None])[0] if held_out.naive_bayes else None
        outcome.blend.apply_to(model, None if ratios is None else features.expand(ratios))
    estimator._set_fitted(
        **fitted_attributes(search, best, model, results),
        best_score_=float(outcome.scores.mean()),
        best_scores_=outcome.scores,
        rounds_=[],
        **data.feature_attributes,
    )
    return estimator


def _check_supported(estimator: LogisticRegressionCV) -> None:
    """Raise an error for settings that only rows in memory allow."""
    if row_scorer_of(estimator.scoring) is None:
        names = " or ".join(repr(name) for name in ROW_SCORERS if name is not None)
        raise ValueError(f"For rows in partitions, scoring must be {names}, got {estimator.scoring!r}.")
    if estimator.rounds:
        raise ValueError(f"For rows in partitions, rounds must be 0, got {estimator.rounds}.")
