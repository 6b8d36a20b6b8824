"""One fit, after the user's settings and data have become objects and arrays."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dropglm.errors import InputError
from dropglm.estimators.features import FeatureOrder
from dropglm.estimators.l2_weights import L2_WEIGHTS, CountedRows, L2Weights, LabeledRows
from dropglm.estimators.stages import Solution, StagedProblem, is_one_sided
from dropglm.families import Family
from dropglm.noise import Noise
from dropglm.objective import Block, Coefficients, Labels, Objective, semi_supervised
from dropglm.penalties import Penalty


@dataclass(frozen=True)
class Problem(StagedProblem):
    """Rows, labels and weights of a fit.

    The penalty, l2 and the discount are arguments of ``solve``, since all points of a grid share the rest.
    """

    features: Any
    family: type[Family]
    y: np.ndarray  # (n, K)
    weights: np.ndarray  # (n,)
    unlabeled_weights: np.ndarray | None = None  # (m,)
    fit_intercept: bool = True
    l2_weights: L2Weights = L2_WEIGHTS["uniform"]
    labels_first: bool = False
    mean: np.ndarray | None = None  # the mean row, if it is already known

    def objective(self, penalty: Penalty | None, l2: np.ndarray, discount: float) -> Objective:
        """Return the function to minimise, given λ of every coefficient and the discount α."""
        return Objective.of_blocks(
            semi_supervised(self._labeled, self._unlabeled, discount if penalty is not None else 0.0),
            self.family,
            penalty,
            l2,
            fit_intercept=self.fit_intercept,
            mean=self._mean,
            threads=self.features.threads,
        )

    def null_model(self) -> Coefficients:
        """Return β = 0 and the best intercept for it."""
        shape = self.features.labeled.shape[1], self.y.shape[1]
        return np.zeros(shape, self.features.labeled.dtype), self.null_intercept()

    def null_intercept(self) -> np.ndarray:
        """Return the best intercept for β = 0; shape (K,)."""
        if not self.fit_intercept:
            return np.zeros(self.y.shape[1])
        mean = (self.weights[:, None] * self.y).sum(axis=0) / self.weights.sum()
        return self.family.natural_parameter(mean)

    @cached_property
    def labeled_l2_weights(self) -> np.ndarray:
        """Weights of l2, from the labelled rows alone; shape (d, K)."""
        return self.l2_weights.compute([self.counted_rows()])

    def l2_weights_with_predictions(self, coefficients: Coefficients) -> np.ndarray:
        """Return the weights of l2 when unlabelled rows count with their predicted labels; shape (d, K)."""
        return self.l2_weights.compute([self.counted_rows(), self.predicted_rows(coefficients)])

    @property
    def some_unlabeled(self) -> bool:
        """Whether there are unlabelled rows."""
        return self._unlabeled is not None

    def is_separated(self, solution: Solution) -> bool:
        """Return whether the solution classifies every row of positive weight correctly."""
        eta = self.features.labeled.dot(solution.beta) + solution.intercept
        if self.family.several:
            correct = eta.argmax(axis=1) == self.y.argmax(axis=1)
        else:
            correct = (eta > 0)[:, 0] == self.y[:, 0]
        return bool(correct[self.weights > 0.0].all())

    def has_one_sided_feature(self, noise: Noise) -> bool:
        """Return whether a feature without additive noise is never negative and occurs in one class only."""
        if self.family.several:
            return False
        rows = self.counted_rows(weighted=False)
        for place, number in enumerate(rows.block_numbers):
            block = rows.block(place)
            if noise.of_block(number).absolute or block.smallest < 0.0:
                continue
            in_class, in_others = np.hsplit(block.counts(), 2)
            if is_one_sided(in_class - in_others, in_class + in_others).any():
                return True
        return False

    def counted_rows(self, *, weighted: bool = True) -> CountedRows:
        """Return the labelled rows as naive Bayes counts them; if not weighted, each as 1 or 0."""
        weights = self.weights if weighted else (self.weights > 0.0).astype(np.float64)
        return LabeledRows(self.features.labeled, self.y, weights)

    def predicted_rows(self, coefficients: Coefficients) -> CountedRows:
        """Return the unlabelled rows with the labels that these coefficients predict."""
        (beta, intercept), unlabeled = coefficients, self._unlabeled
        assert unlabeled is not None
        predicted = self.family.mean(unlabeled.design.dot(beta) + intercept)
        return LabeledRows(unlabeled.design, predicted, unlabeled.penalty_weights)

    @property
    def _labeled(self) -> Block:
        return Block(self.features.labeled, self.weights, Labels(self.y, self.weights))

    @property
    def _unlabeled(self) -> Block | None:
        if self.features.unlabeled is None or self.unlabeled_weights is None:
            return None
        return Block(self.features.unlabeled, self.unlabeled_weights)

    @cached_property
    def _mean(self) -> np.ndarray:
        """x̄, which takes one pass over the rows and is shared by all points of a grid."""
        return self.features.mean_row(self.weights) if self.mean is None else self.mean


def previous_coefficients(
    estimator: Any, features: FeatureOrder, shape: tuple[int, int]
) -> Coefficients | None:
    """Return the coefficients of the previous fit, or None; ``shape`` is that of the new ones."""
    if not hasattr(estimator, "coef_"):
        return None
    coef = estimator._dense_coef()
    if coef.shape != shape:
        raise InputError(
            f"warm_start needs the same classes and features as the previous fit, but coef_ had shape "
            f"{coef.shape} and would now have {shape}; set warm_start=False to start anew."
        )
    intercept = np.atleast_1d(estimator.intercept_).astype(np.float64)
    return features.select(coef), intercept if estimator.fit_intercept else np.zeros(len(coef))
