"""One fit, after the user's settings and data have become objects and arrays."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dropglm.estimators import small_fit
from dropglm.estimators.features import Features
from dropglm.estimators.l2_weights import L2_WEIGHTS, L2Weights, LabeledRows
from dropglm.families import Family
from dropglm.noise import Noise
from dropglm.objective import Block, Coefficients, Labels, Objective, Point, mean_row, semi_supervised
from dropglm.penalties import Penalty
from dropglm.solvers import LBFGS, Result

# Tolerance of a fit that only provides a starting point: the objective is within 1e-4 of its minimum.
ROUGH_TOL = 1e-2

# Called after each iteration with its number, the objective and a function that returns β and b; a true
# return value stops the fit.
Watch = Callable[[int, float, Callable[[], Coefficients]], bool]


class Solution(NamedTuple):
    """The minimum of a problem, and how the solver reached it."""

    beta: np.ndarray  # (d, K)
    intercept: np.ndarray  # (K,)
    result: Result


@dataclass(frozen=True)
class Problem:
    """Rows, labels and weights of a fit.

    The penalty, l2 and the discount are arguments of ``solve``, since all points of a grid share the rest.
    """

    features: Features
    family: type[Family]
    y: np.ndarray  # (n, K)
    weights: np.ndarray  # (n,)
    unlabeled_weights: np.ndarray | None = None  # (m,)
    fit_intercept: bool = True
    l2_weights: L2Weights = L2_WEIGHTS["uniform"]
    labels_first: bool = False  # whether a fit with unlabelled rows starts from one without them
    mean: np.ndarray | None = None  # the mean row, if it is already known
    one_of_many: bool = False  # whether it pays to compile a small fit as a whole

    def solve(
        self,
        penalty: Penalty | None,
        l2: float,
        discount: float,
        solver: LBFGS,
        start: Coefficients | None = None,
        watch: Watch | None = None,
    ) -> Solution:
        """Minimise the objective; without ``start``, from the model with β = 0.

        Up to two rough fits come first. The penalty of an unlabelled row, E A(η̃) - A(η), is not convex on its
        own, and from β = 0 a fit with few labels may predict one class for most rows (on thirds of IMDB-2k it
        ends at 80 % instead of 85 %); so a classifier starts from the fit of its labelled rows, which is
        convex. And l2 weights that count unlabelled rows need a fit that predicts their labels.
        """
        rough = replace(solver, tol=max(solver.tol, ROUGH_TOL))
        penalises_unlabeled = self._unlabeled is not None and penalty is not None and discount > 0.0
        predicts_labels = self.l2_weights.counts_unlabeled and self._unlabeled is not None
        stages = []
        if start is None and self.labels_first and penalises_unlabeled:
            stages.append((rough, 0.0))
        if predicts_labels:
            stages.append((rough, discount))
        stages.append((solver, discount))
        if start is None:
            start = self.null_model()

        weights, passes = self.labeled_l2_weights, 0
        for number, (stage_solver, stage_discount) in enumerate(stages, start=1):
            is_last = number == len(stages)
            if is_last and predicts_labels:
                weights = self._l2_weights_with_predictions(start)
            objective = self.objective(penalty, l2 * weights, stage_discount)
            callback = _callback(watch, objective) if is_last and watch is not None else None
            theta = objective.join(*start)
            if self.one_of_many and callback is None:
                theta, result = small_fit.minimize(stage_solver, objective, theta)
            else:
                theta, result = stage_solver.minimize(objective, theta, callback)
            start = objective.split(theta)
            passes += result.passes
        return Solution(*start, replace(result, passes=passes))

    def objective(self, penalty: Penalty | None, l2: np.ndarray, discount: float) -> Objective:
        """Return the function to minimise, given λ of every coefficient and the discount α."""
        return Objective(
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
        K = self.y.shape[1]
        beta = np.zeros((self.features.labeled.shape[1], K), self.features.labeled.dtype)
        if not self.fit_intercept:
            return beta, np.zeros(K)
        mean = (self.weights[:, None] * self.y).sum(axis=0) / self.weights.sum()
        return beta, self.family.natural_parameter(mean)

    @cached_property
    def labeled_l2_weights(self) -> np.ndarray:
        """Weights of l2, from the labelled rows alone; shape (d, K)."""
        return self.l2_weights.compute([self._labeled_rows])

    def _l2_weights_with_predictions(self, coefficients: Coefficients) -> np.ndarray:
        """Return the weights of l2 when unlabelled rows count with their predicted labels; shape (d, K)."""
        (beta, intercept), unlabeled = coefficients, self._unlabeled
        assert unlabeled is not None
        predicted = self.family.mean(unlabeled.design.dot(beta) + intercept)
        return self.l2_weights.compute(
            [self._labeled_rows, LabeledRows(unlabeled.design, predicted, unlabeled.penalty_weights)]
        )

    @property
    def _labeled_rows(self) -> LabeledRows:
        return LabeledRows(self.features.labeled, self.y, self.weights)

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
        return mean_row([self._labeled]) if self.mean is None else self.mean


def _callback(watch: Watch, objective: Objective) -> Callable[[int, Point], bool]:
    return lambda number, point: watch(number, point.value, lambda: objective.split(point.theta))


def previous_coefficients(estimator: Any, features: Features, shape: tuple[int, int]) -> Coefficients | None:
    """Return the coefficients of the previous fit, or None; ``shape`` is that of the new ones."""
    if not hasattr(estimator, "coef_"):
        return None
    coef = estimator._dense_coef()
    if coef.shape != shape:
        raise ValueError(
            f"warm_start needs the same classes and features as the previous fit, but coef_ had shape "
            f"{coef.shape} and would now have {shape}; set warm_start=False to start anew."
        )
    intercept = np.atleast_1d(estimator.intercept_).astype(np.float64)
    return features.select(coef), intercept if estimator.fit_intercept else np.zeros(len(coef))


def diverging_because(problem: Problem, penalty: Penalty | None, l2: float, solution: Solution) -> str | None:
    """Return why the coefficients can grow without bound, or None if there is no sign of it."""
    if (l2 * problem.labeled_l2_weights).any():
        return None
    if penalty is None or penalty.vanishes:
        if not _is_separated(problem, solution):
            return None
        return "the rows are separable and " + (
            "there is neither noise nor l2"
            if penalty is None
            else "the quadratic penalty vanishes as coefficients grow"
        )
    if penalty.spares_one_sided and _has_one_sided_feature(problem, penalty.noise):
        return "some features occur in one class only, and dropout alone does not bound their coefficients"
    return None


def _is_separated(problem: Problem, solution: Solution) -> bool:
    """Return whether the solution classifies every row correctly."""
    eta = problem.features.labeled.dot(solution.beta) + solution.intercept
    if problem.family.several:
        return bool((eta.argmax(axis=1) == problem.y.argmax(axis=1)).all())
    return bool(((eta > 0)[:, 0] == problem.y[:, 0]).all())


def _has_one_sided_feature(problem: Problem, noise: Noise) -> bool:
    """Return whether some feature without additive noise is never negative and occurs in one class only."""
    if problem.family.several:
        return False
    side = 2.0 * problem.y - 1.0
    for number, _, block in problem.features.labeled.blocks:
        if noise.of_block(number).absolute or block.smallest < 0.0:
            continue
        # |Σ_i ±x_ij| equals Σ_i x_ij if all rows with the feature have the same sign.
        signed, unsigned = (np.abs(block.transposed_dot(r)[:, 0]) for r in (side, np.ones_like(side)))
        if ((signed >= unsigned * (1.0 - 1e-6)) & (unsigned > 0.0)).any():
            return True
    return False
