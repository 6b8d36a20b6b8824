"""All rows of a fit as one summand of its objective, evaluated by the partitions."""

from dataclasses import dataclass

import numpy as np

from dropglm.objective.terms import Coefficients, EvaluatedLine, Share, TermLine
from dropglm.partitions.features import PartitionedFeatures
from dropglm.partitions.prepared import Target
from dropglm.partitions.requests import Curvature, Evaluate, differs_from_mean


@dataclass(frozen=True)
class PartitionedShare(Share):
    """A share, with the coefficients it belongs to; η stays with the partitions."""

    beta: np.ndarray
    intercept: np.ndarray


class PartitionedTerm:
    """The loss and the penalty of all rows; every evaluation is one round.

    Parameters
    ----------
    features : PartitionedFeatures
    target : Target
        The problem.
    """

    def __init__(self, features: PartitionedFeatures, target: Target) -> None:
        self.features = features
        self.target = target
        self.passes = 0

    def at(self, beta: np.ndarray, intercept: np.ndarray) -> PartitionedShare:
        """Return value and gradient at these coefficients."""
        (sums,) = self.features.rounds.ask(Evaluate(self.target, beta, intercept))
        self.passes += 2
        eta = np.empty((0, len(intercept)))
        return PartitionedShare(
            float(sums.numbers[0]), sums.dense(), sums.numbers[1:], eta, beta.copy(), intercept.copy()
        )

    def along(self, here: Share, start: Coefficients, direction: Coefficients) -> TermLine:
        """Return the share along the ray start + step · direction.

        Every step is an evaluation with its gradient: a second round would cost more than a gradient that is
        not needed, and nine of ten first steps are taken.
        """
        return EvaluatedLine(self, start, direction)

    def fisher(self, here: PartitionedShare, mean: np.ndarray) -> Coefficients:
        """Return the diagonal of the Fisher information of loss and penalty."""
        K = len(here.intercept)
        (sums,) = self.features.rounds.ask(Curvature(self.target, here.beta, here.intercept, mean))
        self.passes += 1
        by_intercept, p = np.split(sums.numbers, [K])
        return sums.dense() + differs_from_mean(p, mean), by_intercept
