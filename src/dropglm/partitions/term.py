"""All rows of a fit as one summand of its objective, evaluated by the partitions."""

from dataclasses import dataclass

import numpy as np

from dropglm.objective.terms import Coefficients, EvaluatedLine, Share, TermLine
from dropglm.partitions.features import PartitionedFeatures
from dropglm.partitions.prepared import Target
from dropglm.partitions.requests import Evaluate, differs_from_mean
from dropglm.solvers.lbfgs import REFRESHES


@dataclass(frozen=True)
class PartitionedShare(Share):
    """A share, with the coefficients it belongs to; η stays with the partitions."""

    beta: np.ndarray
    intercept: np.ndarray
    curvature: Coefficients | None  # if it was asked for in the same round


class PartitionedTerm:
    """The loss and the penalty of all rows; every evaluation is one round.

    Parameters
    ----------
    features : PartitionedFeatures
    target : Target
        The problem.
    mean : ndarray of shape (d,)
        The mean row x̄, to which curvatures refer.
    """

    def __init__(self, features: PartitionedFeatures, target: Target, mean: np.ndarray) -> None:
        self.features = features
        self.target = target
        self.mean = mean
        self.passes = 0
        # The solver asks for the curvature at the start and after certain iterations; value, gradient and
        # curvature then come in one round.
        self._lines = 0
        self._expects_curvature = True

    def at(self, beta: np.ndarray, intercept: np.ndarray) -> PartitionedShare:
        """Return value and gradient at these coefficients."""
        curved, self._expects_curvature = self._expects_curvature, False
        return self._evaluate(beta, intercept, curved=curved)

    def along(self, here: Share, start: Coefficients, direction: Coefficients) -> TermLine:
        """Return the share along the ray start + step · direction.

        Every step is an evaluation with its gradient: a second round would cost more than a gradient that is
        not needed, and nine of ten first steps are taken.
        """
        self._lines += 1
        self._expects_curvature = self._lines in REFRESHES
        return EvaluatedLine(self, start, direction)

    def fisher(self, here: PartitionedShare, mean: np.ndarray) -> Coefficients:
        """Return the diagonal of the Fisher information of loss and penalty."""
        curvature = here.curvature or self._evaluate(here.beta, here.intercept, curved=True).curvature
        assert curvature is not None
        return curvature

    def _evaluate(self, beta: np.ndarray, intercept: np.ndarray, *, curved: bool) -> PartitionedShare:
        """Return value, gradient and, if asked to, curvature in one round."""
        K, mean = len(intercept), self.mean
        (sums,) = self.features.rounds.ask(Evaluate(self.target, beta, intercept, mean if curved else None))
        self.passes += 3 if curved else 2
        value, by_intercept, w_A2, p = np.split(sums.numbers, [1, 1 + K, 1 + 2 * K])
        by_beta, curvature = sums.dense(), None
        if curved:
            by_beta, spread = (np.ascontiguousarray(half) for half in np.hsplit(by_beta, 2))
            curvature = spread + differs_from_mean(p, mean), w_A2
        eta = np.empty((0, K))
        return PartitionedShare(
            float(value[0]), by_beta, by_intercept, eta, beta.copy(), intercept.copy(), curvature
        )
