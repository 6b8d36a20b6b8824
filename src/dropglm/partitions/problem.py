"""One problem whose rows are in partitions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dropglm.estimators.l2_weights import L2Weights
from dropglm.estimators.stages import Solution, StagedProblem, is_one_sided
from dropglm.families import Family
from dropglm.noise import Noise
from dropglm.objective import Coefficients, Objective
from dropglm.partitions.checkpoint import ProblemCheckpoint
from dropglm.partitions.features import PartitionedFeatures
from dropglm.partitions.prepared import Target
from dropglm.partitions.requests import ClassCounts, Misclassified, SignedSums
from dropglm.partitions.term import PartitionedTerm
from dropglm.penalties import Penalty
from dropglm.solvers import LBFGS, Callback, Result


@dataclass(frozen=True)
class PartitionedProblem(StagedProblem):
    """The targets and weights of a fit, known by their sums; the same stages as for rows in memory."""

    features: PartitionedFeatures
    family: type[Family]
    number: int | None  # of the class that is fitted against the rest
    mean_target: np.ndarray  # weighted mean of y, (K,)
    weight: float  # sum of the weights of the labelled rows
    unlabeled_weight: float
    fit_intercept: bool
    l2_weights: L2Weights
    mean: np.ndarray  # x̄, (d,)
    labels_first: bool = False
    checkpoint: ProblemCheckpoint | None = None
    fold: int | None = None  # whose held-out rows are left out
    # Not a cached_property: until Python 3.12 it has one lock for all instances, and problems in threads of
    # their own, which wait for each other's requests, would wait forever.
    _l2_weights: list[np.ndarray] = field(default_factory=list, init=False, repr=False)

    @property
    def some_unlabeled(self) -> bool:
        """Whether there are unlabelled rows."""
        return self.features.some_unlabeled

    @property
    def size(self) -> int:
        """Number of coefficients, without the intercepts."""
        return len(self.features.order) * len(self.mean_target)

    def target(self, penalty: Penalty | None, discount: float) -> Target:
        """Return the problem as the partitions see it."""
        if penalty is None or discount == 0.0 or not self.some_unlabeled:
            return Target(self.family, penalty, self.number, fold=self.fold)
        share = self.weight / (self.weight + discount * self.unlabeled_weight)
        return Target(self.family, penalty, self.number, share, share * discount, self.fold)

    def objective(self, penalty: Penalty | None, l2: np.ndarray, discount: float) -> Objective:
        """Return the function to minimise, given λ of every coefficient and the discount α."""
        mean = self.mean if self.fit_intercept else np.zeros_like(self.mean)
        return Objective.of_terms(
            [PartitionedTerm(self.features, self.target(penalty, discount), mean)],
            l2,
            mean,
            fit_intercept=self.fit_intercept,
            threads=self.features.threads,
        )

    def minimize(
        self, solver: LBFGS, objective: Objective, theta: np.ndarray, callback: Callback | None
    ) -> tuple[np.ndarray, Result]:
        """Return the minimum of a stage's objective, from θ or from a checkpoint."""
        if self.checkpoint is None:
            return super().minimize(solver, objective, theta, callback)
        return self.checkpoint.minimize(solver, objective, theta, callback)

    def null_model(self) -> Coefficients:
        """Return β = 0 and the best intercept for it."""
        K = len(self.mean_target)
        beta = np.zeros((len(self.features.order), K), self.features.dtype)
        if not self.fit_intercept:
            return beta, np.zeros(K)
        return beta, self.family.natural_parameter(self.mean_target)

    @property
    def labeled_l2_weights(self) -> np.ndarray:
        """Weights of l2, from the labelled rows alone; shape (d, K)."""
        if not self._l2_weights:
            self._l2_weights.append(self.l2_weights.compute([_CountedPartitions(self, self.weight)]))
        return self._l2_weights[0]

    def l2_weights_with_predictions(self, coefficients: Coefficients) -> np.ndarray:
        """Return the weights of l2 when unlabelled rows count with their predicted labels; shape (d, K)."""
        return self.l2_weights.compute(
            [
                _CountedPartitions(self, self.weight),
                _CountedPartitions(self, self.unlabeled_weight, coefficients),
            ]
        )

    def is_separated(self, solution: Solution) -> bool:
        """Return whether the solution classifies every row correctly."""
        (sums,) = self.features.rounds.ask(
            Misclassified(self.target(None, 0.0), solution.beta, solution.intercept)
        )
        return sums.numbers[0] == 0.0

    def has_one_sided_feature(self, noise: Noise) -> bool:
        """Return whether a feature without additive noise is never negative and occurs in one class only."""
        if self.family.several:
            return False
        features = self.features
        request = SignedSums(self.target(None, 0.0), len(features.order), features.dtype)
        signed, unsigned = features.rounds.ask(request)[0].dense().T
        one_sided = is_one_sided(signed, unsigned)
        return any(
            one_sided[columns].any()
            for number, columns, _ in features.blocks
            if not noise.of_block(number).absolute and features.smallest[number] >= 0.0
        )


class _CountedPartitions:
    """Labelled rows of all partitions, or unlabelled ones with predicted labels, for the weights of l2."""

    def __init__(
        self, problem: PartitionedProblem, weight: float, coefficients: Coefficients | None = None
    ) -> None:
        self.problem = problem
        self.weight = weight
        self.coefficients = coefficients
        self.columns = slice(None)
        self.shape = (len(problem.features.order), len(problem.mean_target))
        self.dtype = problem.features.dtype
        features = problem.features
        self._smallest = features.smallest if coefficients is None else features.smallest_unlabeled
        self.smallest = min(self._smallest)
        self.block_numbers: Sequence[int] = [number for number, _, _ in problem.features.blocks]

    def counts(self) -> np.ndarray:
        problem = self.problem
        whole = (len(problem.features.order), self.shape[1])
        request = ClassCounts(problem.target(None, 0.0), whole, self.dtype, self.coefficients)
        return problem.features.rounds.ask(request)[0].dense()[self.columns]

    def block(self, place: int) -> "_CountedPartitions":
        number, columns, _ = self.problem.features.blocks[place]
        part = _CountedPartitions(self.problem, self.weight, self.coefficients)
        part.columns, part.block_numbers = columns, [number]
        part.shape = (columns.stop - columns.start, self.shape[1])
        part.smallest = self._smallest[number]
        return part
