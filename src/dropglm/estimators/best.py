"""The best candidate of a search, which goes on beyond the grid while the best l2 is at its edge."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dropglm.estimators.choice import best_candidate, beyond_edge
from dropglm.estimators.grid import Candidate
from dropglm.estimators.search import Search
from dropglm.estimators.warning import warn_unless_all_converged

# The grid of l2 is continued up to this factor beyond its edge.
REACH = 10.0


class Reach:
    """How far the values of l2 are continued beyond the grid.

    Parameters
    ----------
    estimator : LogisticRegressionCV
    grid : sequence of float
        The values of l2.
    """

    def __init__(self, estimator: Any, grid: Sequence[float]) -> None:
        self.extends = bool(estimator.extend_l2)
        self.edges = {min(grid)} if estimator.calibrate else {min(grid), max(grid)}
        self.limits = min(grid) / REACH, max(grid) * (1.0 if estimator.calibrate else REACH)

    def keeps(self, one: Candidate) -> bool:
        """Return whether fits beyond the edge may start from those of a candidate.

        They do if it is at the edge, or beyond it but not yet at the limit.
        """
        l2 = one.params["l2"]
        beyond = one.after is not None and self.limits[0] * 1.001 < l2 < self.limits[1] * 0.999
        return self.extends and (l2 in self.edges or beyond)


def find_best(
    estimator: Any, search: Search[Any, Any], candidates: list[Candidate], reach: Reach
) -> int | None:
    """Run a search, and return the number of the best candidate; None if all of them lost to a rival.

    Parameters
    ----------
    estimator : LogisticRegressionCV
    search : Search
    candidates : list of Candidate
        Those of the grid.
    reach : Reach
    """
    best: int | None = None
    while candidates:
        search.run(candidates, shown=bool(estimator.verbose))
        scores = np.array([outcome.scores for outcome in search.outcomes])
        if search.all_dropped_out:
            break
        best = best_candidate(search.grid, scores, one_standard_error=estimator.one_standard_error)
        candidates = beyond_edge(search.grid, scores, best, reach.limits) if reach.extends else []
    search.release(set(range(len(search.grid))).difference({best}))
    converged = [fit.converged for outcome in search.outcomes for fit in outcome.fits]
    warn_unless_all_converged(converged, estimator.max_iter)
    return best
