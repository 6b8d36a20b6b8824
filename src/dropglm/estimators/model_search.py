"""The search of a classifier: from its rows and grids to the best settings."""

from typing import Any, NamedTuple

import numpy as np

from dropglm.blocks import block_count
from dropglm.estimators.best import Reach, find_best
from dropglm.estimators.device_features import features_of
from dropglm.estimators.device_fits import fold_fits_class
from dropglm.estimators.fold_fits import FoldFits
from dropglm.estimators.folds import folds_from
from dropglm.estimators.grid import Candidate, candidates_of, grids_of, l2_weights_grid, noises_of
from dropglm.estimators.held_out import HeldOut
from dropglm.estimators.held_out_rows import HeldOutRows
from dropglm.estimators.l2_weights import counts_unlabeled
from dropglm.estimators.logistic import fits_jointly
from dropglm.estimators.race import Race
from dropglm.estimators.rounds import smallest_counted
from dropglm.estimators.scoring import row_scorer_of, scorer_from
from dropglm.estimators.search import Search
from dropglm.estimators.validation import check_classification, check_settings
from dropglm.families import Logistic, Multinomial
from dropglm.noising import expectation_from, training_penalty
from dropglm.solvers import LBFGS


class Searched(NamedTuple):
    """A search that is done."""

    search: Search[FoldFits, HeldOut]
    best: int | None  # number of the best candidate; None if all of them lost to a rival
    counts_predicted: bool  # whether rounds of naive Bayes follow

    @property
    def score(self) -> float:
        """The mean score of the best candidate, before any rounds; minus infinity if there is none."""
        return -np.inf if self.best is None else float(self.search.outcomes[self.best].scores.mean())

    def near_best(self) -> list[Candidate]:
        """Return the candidates within one standard error of the best; all of them if there was no race."""
        search = self.search
        if not isinstance(search.race, Race) or self.best is None:
            return search.grid
        fitted = [one.row_scores for one in search.outcomes]
        return [search.grid[k] for k in search.race.near(self.best, fitted)]

    def row_scores_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the scores of held-out rows by the best candidate, if these are its held-out rows."""
        if self.best is None or not np.array_equal(rows, self.search.held_out.rows):
            return None
        return self.search.outcomes[self.best].row_scores


def search_settings(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    X_unlabeled: Any = None,
    unlabeled_weight: Any = None,
    rival: Searched | None = None,
) -> Searched:
    """Fit the candidates of a LogisticRegressionCV to the folds, and choose one.

    Parameters
    ----------
    estimator : LogisticRegressionCV
    X, y, sample_weight, X_unlabeled, unlabeled_weight
        As for its ``fit``.
    rival : Searched, optional
        The search with other features of the same rows: candidates that lose to its best one drop out, if the
        folds are the same.

    Returns
    -------
    Searched
    """
    # Check.
    check_settings(estimator, grids=("l2", "discount"))
    method, blocks = expectation_from(estimator.expectation), block_count(X)
    grids = grids_of(estimator, blocks)
    scorer, row_scorer = scorer_from(estimator.scoring, estimator), row_scorer_of(estimator.scoring)
    data = check_classification(estimator, X, y, sample_weight, X_unlabeled, unlabeled_weight)
    folds = folds_from(estimator.cv, data, every_class=row_scorer is None)

    # Build the grid.
    noises = noises_of(grids, blocks)
    noisy = any(one.noise.parts for one in noises)
    joint = fits_jointly(estimator.multi_class, len(data.classes), method, noisy=noisy)
    family = Multinomial if joint else Logistic
    # One penalty per noise, so that its points share the copies where the penalty is sampled.
    penalties = [training_penalty(method, family, one.noise, estimator.random_state) for one in noises]
    # Unlabelled rows without a part in the fits would only add features that stay 0.
    counted = any(grids["discount"]) or counts_unlabeled(estimator.l2_weights)
    features = features_of(estimator, data.X, data.X_unlabeled if counted else None)
    if estimator.naive_bayes and features.labeled.blocks[0].design.smallest < 0.0:
        raise ValueError("naive_bayes=True needs non-negative features; use naive_bayes=False.")
    counts_predicted = bool(estimator.rounds and estimator.naive_bayes and data.X_unlabeled is not None)
    if counts_predicted and smallest_counted(data.X_unlabeled) < 0.0:
        raise ValueError("rounds needs non-negative features in X_unlabeled; use rounds=0.")
    l2_weights = l2_weights_grid(estimator.l2_weights, features)
    candidates = candidates_of(grids, noises, penalties, l2_weights, features)

    # Search.
    rows = HeldOutRows(features, folds)
    reach = Reach(estimator, grids["l2"])
    fits = fold_fits_class(features)(
        data,
        rows,
        joint=joint,
        fit_intercept=estimator.fit_intercept,
        keeps=lambda one: counts_predicted or reach.keeps(one),
    )
    held_out = HeldOut(
        data,
        rows,
        scorer,
        row_scorer,
        joint=joint,
        weighted=sample_weight is not None,
        calibrate=estimator.calibrate,
        naive_bayes=estimator.naive_bayes,
        priors=estimator._priors,
    )
    race = None
    if estimator.race and row_scorer is not None:
        race = Race(
            folds,
            held_out.score_weights,
            one_standard_error=estimator.one_standard_error,
            rival=None if rival is None else rival.row_scores_of(held_out.rows),
        )
    search = Search(fits, held_out, race, LBFGS(estimator.tol, estimator.max_iter))
    best = find_best(estimator, search, candidates, reach)
    rows.release()
    return Searched(search, best, counts_predicted)
