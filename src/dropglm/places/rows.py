"""The rows of a fit, wherever they are: what the estimators and the search see of them.

Labels, weights and folds are always at hand. Features are in memory or on a GPU (here), or in partitions
(``dropglm.places.partitions``), and are reached through a few verbs. Each of these is a sum over rows, or one
number per row and class, so that it costs one pass over the rows and a short message.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from dropglm.base.blocks import Blocks, block_count
from dropglm.base.gpu_arrays import concatenate, to_host
from dropglm.base.threads import each
from dropglm.core.design import Design
from dropglm.core.families import Family, Multinomial
from dropglm.core.features import AnyFeatures
from dropglm.core.l2_weights import L2Weights
from dropglm.core.noise import Noise
from dropglm.core.objective import Coefficients
from dropglm.core.problem import Problem
from dropglm.core.solvers import LBFGS
from dropglm.linear.validation import TrainingData
from dropglm.places.gpu.fits import features_of, fit_in_batches, problem_class
from dropglm.places.paths import Fit, fit_along_paths
from dropglm.search.blend import all_classes
from dropglm.search.folds import Fold
from dropglm.search.grid import Candidate

NO_BLOCKS: frozenset[int] = frozenset()


class TrainingRows(ABC):
    """The rows of a fit.

    Attributes
    ----------
    data : TrainingData
        Labels, weights and what an estimator stores about its features; X is None in partitions.
    features : AnyFeatures
        The features that occur; set by ``prepare``.
    folds : list of Fold
        Those of a cross-validation, set by ``prepare``. A fold is a weight of 0 for its held-out rows, so all
        folds share the same rows.
    targets : list of ndarray of shape (n, K)
        The labels of each problem: one, or one for each class against the rest; set by ``prepare``.
    """

    data: TrainingData
    features: Any
    folds: list[Fold]
    targets: list[np.ndarray]
    family: type[Family]
    fit_intercept: bool

    def prepare(
        self,
        family: type[Family],
        noises: Sequence[Noise],
        *,
        fit_intercept: bool = True,
        folds: Sequence[Fold] = (),
        unlabeled: bool = True,
        counted: bool = False,
    ) -> AnyFeatures:
        """Prepare the rows for fits, and return their features.

        Parameters
        ----------
        family : type of Family
        noises : sequence of Noise
            All that the fits are going to use.
        fit_intercept : bool
        folds : sequence of Fold
        unlabeled : bool
            Whether unlabelled rows have a part in the fits; if not, they would only add features that stay 0.
        counted : bool
            Whether ``unlabeled_totals`` is going to be asked for.
        """
        self.family, self.fit_intercept, self.folds = family, bool(fit_intercept), list(folds)
        self.targets = targets_of(self.data, joint=family.several)
        self._means: dict[tuple[int | None, frozenset[int]], Any] = {}  # by fold and blocks left out
        self._held_out: dict[int, Any] = {}  # designs by fold, which take as much memory as X by rows
        self.features = self._prepare(noises, unlabeled, counted)
        return self.features

    @abstractmethod
    def _prepare(self, noises: Sequence[Noise], unlabeled: bool, counted: bool) -> AnyFeatures:
        """Prepare the rows; the other settings are attributes already."""

    @property
    @abstractmethod
    def block_count(self) -> int | None:
        """Number of blocks of features, None if they are a single matrix."""

    @property
    @abstractmethod
    def smallest_unlabeled(self) -> float | None:
        """The smallest entry of the first block of unlabelled rows, or 0; None without such rows."""

    def weights(self, fold: int | None = None) -> np.ndarray:
        """Return the weights of the labelled rows in the fits to a fold, or to all rows."""
        return self.data.weights if fold is None else self.folds[fold].times * self.data.weights

    @cached_property
    def indicators(self) -> np.ndarray:
        """1 for the class of a labelled row, 0 for the others; shape (n, K)."""
        return (self.data.y[:, None] == np.arange(len(self.data.classes))).astype(np.float64)

    def compute_means(self, left_out: Iterable[frozenset[int]], folds: Iterable[int | None]) -> None:
        """Compute the mean rows that the problems of these folds share, for each set of blocks left out."""
        new = [fold for fold in folds if (fold, NO_BLOCKS) not in self._means]
        if new:
            self._means |= {
                (fold, NO_BLOCKS): mean for fold, mean in zip(new, self._mean_rows(new), strict=True)
            }
        for fold, numbers in product(folds, left_out):
            if (fold, numbers) not in self._means:
                blocks = [one for one in self.features.blocks if one[0] not in numbers]
                mean = self._means[fold, NO_BLOCKS]
                self._means[fold, numbers] = concatenate([mean[columns] for _, columns, _ in blocks])

    @abstractmethod
    def _mean_rows(self, folds: Sequence[int | None]) -> list[Any]:
        """Return x̄, the weighted mean of the labelled rows, for each fold or for all rows; shape (d',)."""

    def problem(self, rule: L2Weights, k: int, fold: int | None = None) -> Problem:
        """Return the problem of class k against the rest, or of all classes, in a fold or for all rows."""
        self.compute_means([rule.left_out], [fold])
        return self._problem_class(
            self.features.without(rule.left_out),
            self.family,
            self.targets[k],
            # Naive-Bayes weights of l2 depend on the labels: on those of the fold's own rows only.
            self.weights(fold),
            self.data.unlabeled_weights,
            self.fit_intercept,
            rule,
            labels_first=bool(self.data.classes.size),
            mean=self._means[fold, rule.left_out],
            **self._place_of(k, fold),
        )

    @property
    @abstractmethod
    def _problem_class(self) -> type[Problem]: ...

    def _place_of(self, k: int, fold: int | None) -> dict[str, Any]:
        """Return further arguments of a problem."""
        return {}

    def problems(self, rule: L2Weights) -> list[Problem]:
        """Return the problems of a fit to all rows."""
        return [self.problem(rule, k) for k in range(len(self.targets))]

    def solver(self, tol: float, max_iter: int) -> LBFGS:
        """Return the solver of a fit to all rows."""
        return LBFGS(tol, max_iter)

    def fit_candidates(
        self,
        grid: Sequence[Candidate],
        numbers: Sequence[int],
        folds: range,
        solver: LBFGS,
        *,
        keeps: Callable[[Candidate], bool],
        on_fit: Callable[[], None],
        earlier: Callable[[int, int], tuple[Coefficients, ...]],
    ) -> dict[tuple[int, int], Fit]:
        """Return the fits of the candidates of these numbers to these folds, by number and fold.

        Parameters
        ----------
        grid : sequence of Candidate
        numbers : sequence of int
        folds : range
        solver : LBFGS
        keeps : callable
            Returns whether the fits of a candidate keep their coefficients.
        on_fit : callable
            Called after the fit of a candidate to a fold.
        earlier : callable
            Returns the coefficients of a candidate that was fitted before to a fold, if they were kept.
        """
        fit = fit_in_batches if self.features.solves_together else fit_along_paths
        return fit(self, grid, numbers, folds, solver, keeps, on_fit, earlier)

    def prepare_folds(self, left_out: Iterable[frozenset[int]], folds: Iterable[int]) -> None:
        """Compute what fits to these folds share, before threads use it at the same time."""
        self.compute_means(left_out, folds)

    def release_held_out(self) -> None:
        """Forget the held-out rows that are stored; they can be prepared again."""
        self._held_out.clear()

    @abstractmethod
    def held_out_predictors(
        self, fold: int, beta: np.ndarray, intercept: Any = 0.0, left_out: frozenset[int] = NO_BLOCKS
    ) -> Any:
        """Return Xβ + b of the held-out rows of a fold, (n, K), or what ``answered`` turns into it."""

    def answered(self, predictors: Sequence[Any]) -> list[np.ndarray]:
        """Return the predictors that ``held_out_predictors`` has promised."""
        return list(predictors)

    @abstractmethod
    def class_totals(self, folds: Sequence[int | None]) -> list[Any]:
        """Return, for each fold, the sums of the features of the first block over the rows of each class.

        Rows have the weights of the fold; None means all rows. Each is an array of shape (d', K).
        """

    @abstractmethod
    def unlabeled_totals(self, models: Sequence[Coefficients]) -> list[np.ndarray]:
        """Return the sums of all features of the first block over unlabelled rows, with predicted labels.

        Σ_i w_i p_ik x_ij with p = softmax(Xβ + b) for each of the models, whose β has a row for every
        feature; shape (d, K).
        """


class RowsInMemory(TrainingRows):
    """Rows in memory or on a GPU.

    Parameters
    ----------
    estimator : estimator
        With ``device`` and ``n_jobs``.
    data : TrainingData
    """

    def __init__(self, estimator: Any, data: TrainingData) -> None:
        self.estimator = estimator
        self.data = data

    def _prepare(self, noises: Sequence[Noise], unlabeled: bool, counted: bool) -> AnyFeatures:
        return features_of(self.estimator, self.data.X, self.data.X_unlabeled if unlabeled else None)

    @property
    def block_count(self) -> int | None:
        """Number of blocks of X, None if X is a single matrix."""
        return block_count(self.data.X)

    @property
    def smallest_unlabeled(self) -> float | None:
        """The smallest entry of the first block of unlabelled rows, or 0; None without such rows."""
        return None if self.data.X_unlabeled is None else Design(_first_block(self.data.X_unlabeled)).smallest

    def _mean_rows(self, folds: Sequence[int | None]) -> list[Any]:
        return [self.features.mean_row(self.weights(fold)) for fold in folds]

    @property
    def _problem_class(self) -> type[Problem]:
        return problem_class(self.features)

    def prepare_folds(self, left_out: Iterable[frozenset[int]], folds: Iterable[int]) -> None:
        """Compute the mean rows of these folds, and store their held-out rows."""
        self.compute_means(left_out, folds)
        for fold in folds:
            self._held_out_design(fold)

    def _held_out_design(self, fold: int) -> Any:
        if fold not in self._held_out:
            design = self.features.labeled.take(self.folds[fold].test)
            for block in design.blocks:
                _ = block.design.rows
            self._held_out[fold] = design
        return self._held_out[fold]

    def held_out_predictors(
        self, fold: int, beta: np.ndarray, intercept: Any = 0.0, left_out: frozenset[int] = NO_BLOCKS
    ) -> Any:
        """Return Xβ + b of the held-out rows of a fold, without the blocks left out; shape (n, K)."""
        design = self._held_out_design(fold)
        design.threads = self.features.threads
        return (design.without(left_out) if left_out else design).dot(beta) + intercept

    def class_totals(self, folds: Sequence[int | None]) -> list[Any]:
        """Return, for each fold, the sums of the features of the first block over the rows of each class."""
        first = self.features.labeled.blocks[0].design

        def totals(fold: int | None) -> Any:
            return first.transposed_dot(self.weights(fold)[:, None] * self.indicators).astype(np.float64)

        return self.features.each(totals, list(folds))

    @cached_property
    def _counted(self) -> tuple[Any, Design]:
        """The unlabelled rows, and the design of those of their features that are counted."""
        X = to_host(self.data.X_unlabeled)
        return X, Design(_first_block(X), threads=self.features.threads).by_columns()

    def unlabeled_totals(self, models: Sequence[Coefficients]) -> list[np.ndarray]:
        """Return the sums of the features of the first block over unlabelled rows, with predicted labels."""
        (X, counted), weights = self._counted, self.data.unlabeled_weights
        assert weights is not None

        def totals(model: Coefficients) -> np.ndarray:
            beta, intercept = model
            p = Multinomial.mean(all_classes(X @ beta.astype(X.dtype, copy=False) + intercept))
            return counted.transposed_dot(weights[:, None] * p)

        return each(totals, models, self.features.threads)


def _first_block(X: Any) -> Any:
    return X.blocks[0] if isinstance(X, Blocks) else X


def targets_of(data: TrainingData, *, joint: bool) -> list[np.ndarray]:
    """Return the labels of each problem: targets, indicators of all classes, or of one class."""
    K = len(data.classes)
    if not K:
        return [data.y[:, None]]
    indicators = (data.y[:, None] == np.arange(K)).astype(np.float64)
    return [indicators] if joint else [indicators[:, [k]] for k in ([1] if K == 2 else range(K))]
