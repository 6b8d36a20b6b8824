"""One fit, after the user's settings and data have become objects and arrays, and the stages of a fit.

Rough fits that provide a start come first, then the fit itself: the same for rows in memory, for rows that
are spread over partitions, and for many fits at once on a GPU.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from dropglm.base.errors import InputError
from dropglm.core.dual import dual_steps, has_dual_steps
from dropglm.core.families import Family, Logistic
from dropglm.core.features import AnyFeatures
from dropglm.core.l2_weights import L2_WEIGHTS, CountsInMemory, L2Weights, NaiveBayesCounts
from dropglm.core.noise import Noise
from dropglm.core.objective import Coefficients, Labels, Objective, RowTerm, WeightedRows, semi_supervised
from dropglm.core.penalties import Penalty
from dropglm.core.solvers import LBFGS, Callback, Result, Status

# Tolerance of a fit that only provides a starting point: the objective is within 1e-4 of its minimum.
ROUGH_TOL = 1e-2

# Called after each iteration with its number, the objective and a function that returns β and b; a true
# return value stops the fit.
IterationCallback = Callable[[int, float, Callable[[], Coefficients]], bool]


class Solution(NamedTuple):
    """The minimum of a problem, and how the solver reached it."""

    beta: np.ndarray  # (d, K)
    intercept: np.ndarray  # (K,)
    result: Result


@dataclass(frozen=True)
class Problem:
    """Rows, labels and weights of a fit.

    The penalty, l2 and the discount belong to a ``Task``, since all points of a grid share the rest.
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

    def solve_task(self, task: "Task", solver: LBFGS) -> Solution:
        """Minimise the objective of a task of this problem."""
        fit = _Fit(task)
        run_stages(fit, [task], solver)
        return Solution(*fit.coefficients, replace(fit.result, passes=fit.passes))

    @staticmethod
    def solve_together(tasks: "Sequence[Task]", solver: LBFGS) -> list[Solution]:
        """Return the solutions of tasks that share their features; here, one after the other."""
        return [task.solve(solver) for task in tasks]

    def minimize(
        self, solver: LBFGS, objective: Objective, theta: np.ndarray, callback: Callback | None
    ) -> tuple[np.ndarray, Result]:
        """Return the minimum of a stage's objective, from θ, and how the solver ended."""
        return solver.minimize(objective, theta, callback)

    def objective(self, penalty: Penalty | None, l2: np.ndarray, discount: float) -> Objective:
        """Return the function to minimise, given λ of every coefficient and the discount α."""
        return Objective.of_rows(
            semi_supervised(self._labeled, self._unlabeled, discount if penalty is not None else 0.0),
            self.family,
            penalty,
            l2,
            fit_intercept=self.fit_intercept,
            mean=self._mean,
            threads=self.features.threads,
        )

    def has_dual_steps(self, penalty: Penalty | None, l2: float, discount: float) -> bool:
        """Return whether a fit without a start takes dual steps, rather than to start at β = 0."""
        only_labeled = penalty is None or discount == 0.0 or not self.some_unlabeled
        return only_labeled and l2 > 0.0 and has_dual_steps(self.features.labeled, self.family, penalty)

    def null_model(self) -> Coefficients:
        """Return β = 0 and the best intercept for it."""
        shape = self.features.labeled.shape[1], self.y.shape[1]
        return np.zeros(shape, self.features.labeled.dtype), self.null_intercept()

    def null_intercept(self) -> np.ndarray:
        """Return the best intercept for β = 0; shape (K,)."""
        if not self.fit_intercept:
            return np.zeros(self.y.shape[1])
        mean = self.mean_label
        if self.is_certain:  # as if half a row were different
            smallest = 0.5 / self.weights.sum()
            mean = np.clip(mean, smallest, 1.0 - smallest)
        return self.family.natural_parameter(mean)

    @property
    def mean_label(self) -> np.ndarray:
        """The weighted mean of y; shape (K,)."""
        return np.asarray((self.weights[:, None] * self.y).sum(axis=0) / self.weights.sum())

    @property
    def is_certain(self) -> bool:
        """Whether no row has the label, or every row; this happens to one of several labels only."""
        return self.family is Logistic and not 0.0 < self.mean_label[0] < 1.0

    def certain_solution(self) -> "Solution":
        """Return the solution of a problem without anything to learn."""
        return Solution(*self.null_model(), Result.of(Status.CONVERGED, 0, [(0.0, 0.0, 0.0)]))

    @cached_property
    def labeled_l2_weights(self) -> np.ndarray:
        """Weights of l2, from the labelled rows alone; shape (d, K)."""
        return self.l2_weights.compute([self.labeled_counts()])

    def l2_weights_with_predictions(self, coefficients: Coefficients) -> np.ndarray:
        """Return the weights of l2 when unlabelled rows count with their predicted labels; shape (d, K)."""
        return self.l2_weights.compute([self.labeled_counts(), self.predicted_counts(coefficients)])

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
        rows = self.labeled_counts(weighted=False)
        for place, number in enumerate(rows.block_numbers):
            block = rows.block(place)
            if noise.of_block(number).absolute or block.smallest < 0.0:
                continue
            in_class, in_others = np.hsplit(block.counts(), 2)
            if is_one_sided(in_class - in_others, in_class + in_others).any():
                return True
        return False

    def labeled_counts(self, *, weighted: bool = True) -> NaiveBayesCounts:
        """Return the labelled rows as naive Bayes counts them; if not weighted, each as 1 or 0."""
        weights = self.weights if weighted else (self.weights > 0.0).astype(np.float64)
        return CountsInMemory(self.features.labeled, self.y, weights)

    def predicted_counts(self, coefficients: Coefficients) -> NaiveBayesCounts:
        """Return the unlabelled rows with the labels that these coefficients predict."""
        (beta, intercept), unlabeled = coefficients, self._unlabeled
        assert unlabeled is not None
        predicted = self.family.mean(unlabeled.design.dot(beta) + intercept)
        return CountsInMemory(unlabeled.design, predicted, unlabeled.penalty_weights)

    @property
    def _labeled(self) -> WeightedRows:
        return WeightedRows(self.features.labeled, self.weights, Labels(self.y, self.weights))

    @property
    def _unlabeled(self) -> WeightedRows | None:
        if self.features.unlabeled is None or self.unlabeled_weights is None:
            return None
        return WeightedRows(self.features.unlabeled, self.unlabeled_weights)

    @cached_property
    def _mean(self) -> np.ndarray:
        """x̄, which takes one pass over the rows and is shared by all points of a grid."""
        return self.features.mean_row(self.weights) if self.mean is None else self.mean


class Task(NamedTuple):
    """A problem with the settings of a fit; without ``start``, the fit starts at the model with β = 0."""

    problem: Any  # a Problem
    penalty: Penalty | None
    l2: float
    discount: float
    start: Coefficients | None = None
    callback: IterationCallback | None = None

    def solve(self, solver: LBFGS) -> Solution:
        """Minimise the objective, unless there is nothing to learn."""
        if self.problem.is_certain:
            return self.problem.certain_solution()
        return self.problem.solve_task(self, solver)


class StagedFit(Protocol):
    """One fit, or several at once, that go through the stages."""

    def solve(self, solver: LBFGS, discounts: np.ndarray, *, with_callback: bool = False) -> None:
        """Minimise the objectives of a stage, from the coefficients so far."""

    def count_predictions(self) -> None:
        """Let the weights of l2 count unlabelled rows with the labels that are predicted so far."""


def run_stages(fit: StagedFit, tasks: Sequence[Task], solver: LBFGS) -> None:
    """Take a fit of tasks, which share their features and their rule of l2 weights, through its stages.

    Up to two rough fits come first. The penalty of an unlabelled row, E A(η̃) - A(η), is not convex on its
    own, and from β = 0 a fit with few labels may predict one class for most rows (on thirds of IMDB-2k it
    ends at 80 % instead of 85 %); so a classifier starts from the fit of its labelled rows, which is convex.
    And l2 weights that count unlabelled rows need a fit that predicts their labels.
    """
    problem = tasks[0].problem
    discounts = np.array([task.discount if task.penalty is not None else 0.0 for task in tasks])
    rough = replace(solver, tol=max(solver.tol, ROUGH_TOL))
    from_nothing = all(task.start is None for task in tasks)
    if from_nothing and problem.labels_first and problem.some_unlabeled and discounts.any():
        fit.solve(rough, np.zeros_like(discounts))
    if problem.l2_weights.counts_unlabeled and problem.some_unlabeled:
        fit.solve(rough, discounts)
        fit.count_predictions()
    fit.solve(solver, discounts, with_callback=True)


class _Fit:
    """The fit of one task, and its coefficients so far."""

    result: Result

    def __init__(self, task: Task) -> None:
        self.task = task
        self.from_nothing = task.start is None
        self.coefficients: Coefficients = task.problem.null_model() if task.start is None else task.start
        self.weights = task.problem.labeled_l2_weights
        self.passes = 0  # over the rows, in all stages

    def solve(self, solver: LBFGS, discounts: np.ndarray, *, with_callback: bool = False) -> None:
        task = self.task
        objective = task.problem.objective(task.penalty, float(task.l2) * self.weights, float(discounts[0]))
        callback = _solver_callback(task.callback, objective) if with_callback and task.callback else None
        if self.from_nothing and task.problem.has_dual_steps(task.penalty, task.l2, float(discounts[0])):
            solver = self._near_minimum(objective, solver)
        self.from_nothing = False
        theta = objective.join(*self.coefficients)
        theta, self.result = task.problem.minimize(solver, objective, theta, callback)
        self.coefficients = objective.split(theta)
        self.passes += self.result.passes

    def _near_minimum(self, objective: Objective, solver: LBFGS) -> LBFGS:
        """Take dual steps, and return the solver, which may stop where they end."""
        (term,) = objective.terms
        assert isinstance(term, RowTerm)
        b = float(self.coefficients[1][0]) if objective.fit_intercept else None
        found = dual_steps(term, objective.l2, b, solver.tol)
        if found is None:
            return solver
        self.coefficients = found.coefficients
        self.passes += found.passes
        return replace(solver, min_iter=0)

    def count_predictions(self) -> None:
        self.weights = self.task.problem.l2_weights_with_predictions(self.coefficients)


def _solver_callback(callback: IterationCallback, objective: Objective) -> Callback:
    return lambda number, point: callback(number, point.value, lambda: objective.split(point.theta))


def is_one_sided(signed: np.ndarray, unsigned: np.ndarray) -> np.ndarray:
    """Return whether each feature occurs in one class only, given Σ_i ±x_ij, by class, and Σ_i x_ij."""
    return (np.abs(signed) >= unsigned * (1.0 - 1e-6)) & (unsigned > 0.0)


def divergence_reason(problem: Problem, penalty: Penalty | None, l2: float, solution: Solution) -> str | None:
    """Return why the coefficients can grow without bound, or None if there is no sign of it."""
    if l2 and problem.labeled_l2_weights.any():
        return None
    if penalty is None or penalty.vanishes:
        if not problem.is_separated(solution):
            return None
        return "the rows are separable and " + (
            "there is neither noise nor l2"
            if penalty is None
            else "the quadratic penalty vanishes as coefficients grow"
        )
    if penalty.spares_one_sided and problem.has_one_sided_feature(penalty.noise):
        return "some features occur in one class only, and dropout alone does not bound their coefficients"
    return None


def previous_coefficients(
    estimator: Any, features: AnyFeatures, shape: tuple[int, int]
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
