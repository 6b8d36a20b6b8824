"""The table of a search, in the layout of scikit-learn's ``cv_results_``."""

from typing import Any

import numpy as np

from dropglm.estimators.search import Search
from dropglm.threads import each


def results_table(search: Search[Any, Any], best: int) -> dict[str, Any]:
    """Return the outcomes of all candidates, given the number of the best one.

    Candidates that dropped out have no score of some folds. Means over the others would compare different
    rows, so theirs are the mean of the best candidate minus the mean difference over the folds that both
    have; likewise for the accuracy. They rank behind all others.
    """
    outcomes, held_out = search.outcomes, search.held_out
    scores = np.array([outcome.scores for outcome in outcomes])
    folds = [len(outcome.fits) for outcome in outcomes]
    full = np.array(folds) == scores.shape[1]
    means = scores.mean(axis=1)
    fitted = list(zip(outcomes, folds, strict=True))
    accuracies = np.array(each(lambda one: held_out.accuracy(*one), fitted, search.fits.features.threads))
    of_best: dict[int, float] = {}  # on the rows of the first folds, by the number of folds
    for k in np.flatnonzero(~full):
        differences = (scores[k] - scores[best])[: folds[k]]
        means[k] = means[best] + differences.mean()
        if folds[k] not in of_best:
            of_best[folds[k]] = held_out.accuracy(outcomes[best], folds[k])
        accuracies[k] += accuracies[best] - of_best[folds[k]]

    params = [candidate.params for candidate in search.grid]
    columns: dict[str, Any] = {"params": params}
    for name in params[0]:
        column = np.empty(len(params), object)
        column[:] = [point[name] for point in params]
        columns[f"param_{name}"] = column
    for fold in range(scores.shape[1]):
        columns[f"split{fold}_test_score"] = scores[:, fold]
    fits = [outcome.fits for outcome in outcomes]
    return columns | {
        "mean_test_score": means,
        # A single fold of several says nothing about the spread.
        "std_test_score": np.array(
            [np.nan if m == 1 < len(row) else row[:m].std() for row, m in zip(scores, folds, strict=True)]
        ),
        "rank_test_score": ranks(means, full),
        "accuracy": accuracies,
        "scale": np.array([outcome.blend.scale for outcome in outcomes]),
        "naive_bayes": np.array([outcome.blend.naive_bayes for outcome in outcomes]),
        "mean_fit_time": np.array([np.mean([fit.seconds for fit in row]) for row in fits]),
        "mean_n_iter": np.array([np.mean([fit.n_iter for fit in row]) for row in fits]),
        "converged": np.array([all(fit.converged for fit in row) for row in fits]),
        "folds_fitted": np.array(folds, np.int32),
    }


def ranks(means: np.ndarray, full: np.ndarray) -> np.ndarray:
    """Return the ranks of mean scores, 1 for the best; those with all folds come first, NaN last among them.

    Examples
    --------
    >>> ranks(np.array([0.7, 0.9, np.nan, 0.8]), np.array([True, False, True, True]))
    array([2, 4, 3, 1], dtype=int32)
    """
    found = np.empty(len(means), np.int32)
    found[full] = _ranks(np.where(np.isnan(means[full]), -np.inf, means[full]))
    found[~full] = full.sum() + _ranks(means[~full])
    return found


def _ranks(scores: np.ndarray) -> np.ndarray:
    """Return 1 plus the number of larger scores, for each score."""
    return np.searchsorted(np.sort(-scores), -scores) + 1
