"""The fits of a cross-validation of rows in memory.

All folds share the design of the whole X: a fold is a weight of 0 for its held-out rows. So no fold copies X,
and all threads read the same memory.
"""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from dropglm.dependencies import each_when_ready
from dropglm.estimators.features import Features
from dropglm.estimators.grid import Candidate
from dropglm.estimators.held_out_rows import HeldOutRows
from dropglm.estimators.l2_weights import L2Weights
from dropglm.estimators.logistic import problems_of, targets_of
from dropglm.estimators.paths import Job, PathFits
from dropglm.estimators.problem import Problem
from dropglm.estimators.together import problem_class
from dropglm.estimators.validation import TrainingData
from dropglm.families import Logistic, Multinomial


class FoldFits(PathFits):
    """The fits to rows in memory.

    Parameters
    ----------
    data : TrainingData
        All labelled rows.
    held_out : HeldOutRows
    joint : bool
        Whether more than two classes are fitted in one multinomial model.
    fit_intercept : bool
    keeps : callable
    """

    def __init__(
        self,
        data: TrainingData,
        held_out: HeldOutRows,
        *,
        joint: bool,
        fit_intercept: bool,
        keeps: Callable[[Candidate], bool],
    ) -> None:
        self.data = data
        self.held_out = held_out
        self.features: Features = held_out.features
        self.folds = held_out.folds
        self.family = Multinomial if joint else Logistic
        self.fit_intercept = fit_intercept
        self.keeps = keeps
        self.targets = targets_of(data, joint=joint)
        self.problem_count = len(self.targets)
        self.fold_count = len(self.folds)
        self._means: dict[tuple[int, frozenset[int]], np.ndarray] = {}  # by fold and blocks left out

    def prepare(self, left_out: set[frozenset[int]], folds: range) -> None:
        """Compute the mean rows that the problems of all classes share, and store the held-out rows."""
        self.held_out.prepare(folds)
        self.prepare_means(left_out, folds)

    def prepare_means(self, left_out: set[frozenset[int]], folds: range) -> None:
        """Compute the mean rows that the problems of all classes share."""
        for fold, blocks in product(folds, left_out):
            if (fold, blocks) not in self._means:
                self._means[fold, blocks] = self.features.without(blocks).mean_row(self.weights(fold))

    def weights(self, fold: int) -> np.ndarray:
        """Return the weights of the rows in the fits to a fold."""
        return self.folds[fold].times * self.data.weights

    def problems(self, rule: L2Weights) -> list[Problem]:
        """Return the problems of a fit to all rows."""
        features, joint = self.features.without(rule.left_out), self.family.several
        return problems_of(self.data, features, rule, self.fit_intercept, joint=joint)

    def problem(self, rule: L2Weights, job: Job) -> Problem:
        """Return what the fits of a job share, with these l2 weights."""
        # Naive-Bayes weights depend on the labels: on those of the fold's own rows only.
        return problem_class(self.features)(
            self.features.without(rule.left_out),
            self.family,
            self.targets[job.problem],
            self.weights(job.fold),
            self.data.unlabeled_weights,
            self.fit_intercept,
            rule,
            labels_first=True,
            mean=self._means[job.fold, rule.left_out],
        )

    def predict(self, fold: int, rule: L2Weights, beta: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return the predictors of the held-out rows of a fold; shape (n, K)."""
        return self.held_out.dot(fold, beta, rule.left_out) + intercept

    def each_when_ready(self, work: Callable[[int], None], needs: Sequence[Sequence[int]]) -> None:
        """Call ``work(k)`` for k = 0, 1, …, on all threads; spare threads share the loops over the rows."""
        each_when_ready(work, needs, self.features.threads)
