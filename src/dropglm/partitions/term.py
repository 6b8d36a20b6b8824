"""All rows of a fit as one summand of its objective, evaluated by the partitions."""

from dataclasses import dataclass

import numpy as np

from dropglm.objective.terms import Coefficients, EvaluatedLine, Share, TermLine
from dropglm.partitions.features import PartitionedFeatures
from dropglm.partitions.prepared import Target
from dropglm.partitions.requests import Curvature, Evaluate, Request, differs_from_mean
from dropglm.partitions.sums import Sums
from dropglm.solvers.lbfgs import REFRESHES


@dataclass(frozen=True)
class PartitionedShare(Share):
    """A share, with the coefficients it belongs to; η stays with the partitions."""

    beta: np.ndarray
    intercept: np.ndarray
    curvature: Sums | None  # if it was asked for in the same round


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
        requests: list[Request] = [Evaluate(self.target, beta, intercept)]
        if self._expects_curvature:
            requests.append(Curvature(self.target, beta, intercept, self.mean))
        sums, *curvature = self.features.rounds.ask(*requests)
        self.passes += 1 + len(requests)
        self._expects_curvature = False
        return PartitionedShare(
            float(sums.numbers[0]),
            sums.dense(),
            sums.numbers[1:],
            np.empty((0, len(intercept))),
            beta.copy(),
            intercept.copy(),
            curvature[0] if curvature else None,
        )

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
        sums = here.curvature
        if sums is None:
            (sums,) = self.features.rounds.ask(Curvature(self.target, here.beta, here.intercept, mean))
            self.passes += 1
        by_intercept, p = np.split(sums.numbers, [len(here.intercept)])
        return sums.dense() + differs_from_mean(p, mean), by_intercept
