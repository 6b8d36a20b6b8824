"""What the scores of a grid say: which candidate is the best, and whether to look beyond the grid."""

import numpy as np

from dropglm.estimators.grid import Candidate


def best_candidate(grid: list[Candidate], scores: np.ndarray, *, one_standard_error: bool) -> int:
    """Return the index of the best candidate, the first among equals; those without all scores do not count.

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
    gains = gains[~np.isnan(gains)]  # over the first folds, if the neighbour dropped out of the race
    if not gains.mean() > gains.std() / np.sqrt(len(gains)):
        return []
    return [grid[best]._replace(params=grid[best].params | {"l2": beyond}, after=best)]


def _same_but_l2(one: Candidate, other: Candidate) -> bool:
    return one.path == other.path and one.penalty is other.penalty


def _values_of_l2(grid: list[Candidate], best: int) -> list[float]:
    """Return the values of l2 that were tried with the best noise, l2_weights and discount, sorted."""
    return sorted({one.params["l2"] for one in grid if _same_but_l2(one, grid[best])})
