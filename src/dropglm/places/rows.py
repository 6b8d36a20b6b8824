"""The rows of a fit, wherever they are: what the estimators and the search see of them.

Labels, weights and folds (``TrainingData``, ``Fold``) are always at hand. Features are in memory (here), on a
GPU (``gpu.fits``) or in partitions (``partitions.rows``), and are reached through a few verbs:

- ``prepare`` the rows for fits with some noises and folds; it returns their features;
- ``problem`` and ``problems``: what a solver minimises, for a class against the rest or all, and a fold;
- ``fit_candidates``: the fits of a search to some folds;
- ``held_out_predictors``: s Xβ + b of the held-out rows of a fold;
- ``class_totals``, ``unlabeled_totals`` and ``gram``: sums of features by class and of their products, as
  naive Bayes and discriminant analysis count them.

Each of them is a sum over rows, or one number per row and class, so that it costs one pass over the rows and
a short message.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.base import checks
from dropglm.base.blocks import Blocks, block_count
from dropglm.base.errors import InputError
from dropglm.base.gpu_arrays import concatenate, is_on_gpu, like, to_host
from dropglm.base.registry import lookup
from dropglm.base.threads import each
from dropglm.core.design import BlockDesign, Design
from dropglm.core.families import Family
from dropglm.core.features import AnyFeatures, Features
from dropglm.core.l2_weights import L2Weights
from dropglm.core.noise import Noise
from dropglm.core.objective import Coefficients
from dropglm.core.predictions import class_probabilities, indicators
from dropglm.core.problem import Problem
from dropglm.core.solvers import LBFGS
from dropglm.places.candidate_fits import fit_along_paths

# A class of weight 0 gets this share of the other weights instead, so that the intercept stays finite.
NEGLIGIBLE = 1e-9

# Sums of features by class that several models share a pass over the rows for; they fit into the cache.
AT_ONCE = 1 << 21


class TrainingData(NamedTuple):
    """The rows of a fit."""

    X: Any
    y: np.ndarray  # targets, or numbers of the classes
    feature_attributes: dict[str, Any]  # n_features_in_; feature_names_in_, _block_widths if there are any
    sample_weights: np.ndarray
    weights: np.ndarray  # sample weights times class weights
    X_unlabeled: Any = None
    unlabeled_weights: np.ndarray | None = None
    classes: np.ndarray = np.empty(0)  # none in a regression
    groups: np.ndarray | None = None  # labels of any type; rows of a group are held out together
    # Where y does not say all, (n, K): the probability of each class or, if a row has any number of labels
    # (multilabel), 1 for those that it has. y is then the likeliest class, or a number for the rarest label.
    membership: np.ndarray | None = None
    multilabel: bool = False

    @property
    def memberships(self) -> np.ndarray:
        """How far each row belongs to each class, 1 or 0 if that is certain; shape (n, K)."""
        known = self.membership
        return indicators(self.y, range(len(self.classes))) if known is None else known

    def without_zero_weights(self) -> "TrainingData":
        """Return the data without rows of weight 0, which must not matter even if they would overflow.

        It has no groups, which only searches need.
        """
        names = ["y", "sample_weights", *([] if self.membership is None else ["membership"])]
        X, weights, *others = with_weight(self.X, self.weights, *(getattr(self, name) for name in names))
        return self._replace(X=X, weights=weights, groups=None, **dict(zip(names, others, strict=True)))


def number_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes, at least two, and the number of each row's class."""
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y has only one class, {classes[0]}; a classifier needs at least 2 classes.")
    return classes, numbers


def class_numbers(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the number of each row's class, given the sorted classes; unknown labels raise a ValueError."""
    if y.dtype.kind == classes.dtype.kind != "O":
        numbers = np.searchsorted(classes, y)
        numbers[classes[np.minimum(numbers, len(classes) - 1)] != y] = -1
    else:
        number_of = {label: number for number, label in enumerate(classes.tolist())}
        numbers = np.array([number_of.get(label, -1) for label in y.tolist()], np.intp)
    if (numbers < 0).any():
        row = int(numbers.argmin())
        raise InputError(f"Row {row} has the label {y[row]!s}, which is not among the classes {classes}.")
    return numbers


def class_factors(class_weight: Any, classes: np.ndarray, by_class: np.ndarray) -> np.ndarray:
    """Return the factor of each class, given the sum of the sample weights of each class."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        return by_class.sum() / (len(classes) * by_class)
    if class_weight is None:
        return np.ones(len(classes))
    if not isinstance(class_weight, dict):
        raise InputError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")
    from sklearn.utils import compute_class_weight  # here, since online learning needs no scikit-learn

    factors = compute_class_weight(class_weight, classes=classes, y=classes)
    if not (np.isfinite(factors).all() and (factors >= 0).all()):
        raise InputError(f"class_weight must be finite and not negative, got {class_weight}.")
    if not factors.any():
        raise InputError("class_weight is zero for every class.")
    return np.where(factors > 0.0, factors, NEGLIGIBLE * factors.max())


def with_weight(X: Any, weights: np.ndarray, *others: np.ndarray) -> tuple[Any, ...]:
    """Return all arrays without the rows of weight 0."""
    kept = weights > 0
    if kept.all():
        return X, weights, *others
    if sparse.issparse(X) or (is_on_gpu(X) and hasattr(X, "tocsr")):
        X = X.tocsr()
    rows = np.flatnonzero(kept) if is_on_gpu(X) else kept
    return X[rows], weights[kept], *(other[kept] for other in others)


NO_BLOCKS: frozenset[int] = frozenset()


class Fold(NamedTuple):
    """How often each row is trained on, and the held-out rows."""

    times: np.ndarray
    test: np.ndarray


class ClassTotals(NamedTuple):
    """Sums over rows by class: of the features, (d, K), and of the weights, (K,)."""

    features: np.ndarray
    weights: np.ndarray


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
    held_out_scale : ndarray of shape (n,), or None
        s_i, by which the features of row i are multiplied where it is held out: new texts lack n-grams that
        labelled texts have, which changes the size of rows of length 1. None means 1.
    unscaled : frozenset of int
        The blocks that are not scaled: embeddings, which are the same in new texts.
    """

    data: TrainingData
    features: Any
    folds: list[Fold]
    targets: list[np.ndarray]
    family: type[Family]
    fit_intercept: bool
    held_out_scale: np.ndarray | None = None
    unscaled: frozenset[int] = NO_BLOCKS
    _problem_class: type[Problem] = Problem

    def prepare(
        self,
        family: type[Family],
        noises: Sequence[Noise],
        *,
        fit_intercept: bool = True,
        folds: Sequence[Fold] = (),
        unlabeled: bool = True,
        for_rounds: bool = False,
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
        for_rounds : bool
            Whether ``unlabeled_totals`` is going to be asked for.
        """
        self.family, self.fit_intercept, self.folds = family, bool(fit_intercept), list(folds)
        self.targets = self._targets()
        self._means: dict[tuple[int | None, frozenset[int]], Any] = {}  # by fold and blocks left out
        self._held_out: dict[int, Any] = {}  # designs by fold, which take as much memory as X by rows
        self.features = self._prepare(noises, unlabeled, for_rounds)
        return self.features

    @abstractmethod
    def _prepare(self, noises: Sequence[Noise], unlabeled: bool, for_rounds: bool) -> AnyFeatures:
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
    def class_columns(self) -> np.ndarray:
        """What sums over labelled rows by class count: the membership of each class; shape (n, K).

        If rows have several labels, the last of K + 1 columns is 1, for the sum over all rows.
        """
        own = self.data.memberships
        return with_total(own) if self.data.multilabel else own

    def _targets(self) -> list[np.ndarray]:
        """Return the labels of each problem: targets, memberships of all classes, or of one class."""
        K = len(self.data.classes)
        if not K:
            return [self.data.y[:, None]]
        own = self.data.memberships
        if self.family.several:
            return [own]
        return [own[:, [k]] for k in ([1] if K == 2 and not self.data.multilabel else range(K))]

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

    def _place_of(self, k: int, fold: int | None) -> dict[str, Any]:
        """Return further arguments of a problem."""
        return {}

    def problems(self, rule: L2Weights) -> list[Problem]:
        """Return the problems of a fit to all rows."""
        return [self.problem(rule, k) for k in range(len(self.targets))]

    def solver(self, tol: float, max_iter: int) -> LBFGS:
        """Return the solver of a fit to all rows."""
        return LBFGS(tol, max_iter)

    fit_candidates = fit_along_paths

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
        """Return s Xβ + b of the held-out rows of a fold, (n, K), as ``collect_predictors`` takes it."""

    def _as_held_out(
        self, fold: int, predictors: np.ndarray, intercept: Any, unscaled: Any = 0.0
    ) -> np.ndarray:
        """Return s Xβ + b, given Xβ of the held-out rows of a fold, and the part of it that is not scaled."""
        if self.held_out_scale is None:
            return predictors + intercept
        scale = like(predictors, self.held_out_scale[self.folds[fold].test, None])
        return scale * (predictors - unscaled) + unscaled + intercept

    def _unscaled_part(self, beta: np.ndarray, left_out: frozenset[int]) -> tuple[frozenset[int], np.ndarray]:
        """Return the blocks that are neither unscaled nor left out, with β of the unscaled ones.

        β has no rows if there are none of these, or nothing is scaled.
        """
        blocks = [(number, columns) for number, columns, _ in self.features.without(left_out).blocks]
        used = [own for number, own in blocks if number in self.unscaled and self.held_out_scale is not None]
        others = frozenset(number for number, _ in blocks if number not in self.unscaled)
        return others, concatenate([beta[own] for own in used]) if used else beta[:0]

    def collect_predictors(self, predictors: Iterable[Any]) -> list[np.ndarray]:
        """Return the predictors that ``held_out_predictors`` has promised."""
        return list(predictors)

    @abstractmethod
    def class_totals(self, folds: Sequence[int | None], block: int = 0) -> list[Any]:
        """Return, for each fold, the sums of the features of a block over the rows of each class.

        Rows have the weights of the fold; None means all rows. Each is an array of shape (d', K), or
        (d', K + 1) with the sum over all rows if these have several labels.
        """

    @abstractmethod
    def unlabeled_totals(self, models: Sequence[Coefficients], block: int = 0) -> list[ClassTotals]:
        """Return the sums of all features of a block over unlabelled rows, with predicted labels.

        Σ_i w_i p_ik x_ij with p = softmax(Xβ + b) for each of the models, whose β has a row for every
        feature; and Σ_i w_i p_ik. If rows have several labels, p = σ(Xβ + b), and the sums over all rows are
        last.
        """

    @abstractmethod
    def gram(self, block: int) -> np.ndarray:
        """Return Σ_i w_i x_i x_iᵀ over all rows, labelled and unlabelled, of a dense block; shape (d, d)."""


class RowsInMemory(TrainingRows):
    """Rows in memory.

    Parameters
    ----------
    estimator : estimator
        With ``n_jobs``.
    data : TrainingData
    """

    def __init__(self, estimator: Any, data: TrainingData) -> None:
        self.estimator = estimator
        self.data = data

    def _prepare(self, noises: Sequence[Noise], unlabeled: bool, for_rounds: bool) -> AnyFeatures:
        X_unlabeled = self.data.X_unlabeled if unlabeled else None
        return Features(self.data.X, X_unlabeled, checks.threads(self.estimator.n_jobs))

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
        predictors = (design.without(left_out) if left_out else design).dot(beta)
        return self._as_held_out(fold, predictors, intercept, self._unscaled(fold, beta, left_out))

    def _unscaled(self, fold: int, beta: np.ndarray, left_out: frozenset[int] = NO_BLOCKS) -> Any:
        """Return Xβ of the held-out rows of a fold, as far as it is not scaled."""
        others, own = self._unscaled_part(beta, left_out)
        return self._held_out_design(fold).without(left_out | others).dot(own) if len(own) else 0.0

    def class_totals(self, folds: Sequence[int | None], block: int = 0) -> list[Any]:
        """Return, for each fold, the sums of the features of a block over the rows of each class."""
        design = self.features.labeled.blocks[block].design

        def totals(fold: int | None) -> Any:
            return design.transposed_dot(self.weights(fold)[:, None] * self.class_columns).astype(np.float64)

        return self.features.each(totals, list(folds))

    @cached_property
    def _counted(self) -> BlockDesign:
        """The unlabelled rows with all features; the first block, which is counted, also by columns."""
        X = to_host(self.data.X_unlabeled)
        blocks = X.blocks if isinstance(X, Blocks) else (X,)
        dtype, threads = self.features.dtype, self.features.threads
        designs = [Design(block.astype(dtype, copy=False), threads=threads) for block in blocks]
        designs[0].by_columns()
        return BlockDesign(designs)

    def unlabeled_totals(self, models: Sequence[Coefficients], block: int = 0) -> list[ClassTotals]:
        """Return the sums of the features of a block over unlabelled rows, with predicted labels."""
        rows, weights = self._counted, self.data.unlabeled_weights
        assert weights is not None

        def totals(some: Sequence[Coefficients]) -> list[ClassTotals]:
            betas, intercepts = (np.hstack(parts) for parts in zip(*some, strict=True))
            # Not X @ β: for a dense block, several threads would wait for those of BLAS.
            eta = rows.dot(betas.astype(rows.dtype, copy=False)) + intercepts
            p = [class_probability_columns(part, self.data.multilabel) for part in np.hsplit(eta, len(some))]
            sums = rows.blocks[block].design.transposed_dot(weights[:, None] * np.hstack(p))
            return list(map(ClassTotals, np.hsplit(sums, len(some)), [weights @ own for own in p]))

        size = max(1, AT_ONCE // (rows.shape[1] * len(self.data.classes)))
        groups = [models[k : k + size] for k in range(0, len(models), size)]
        return list(chain(*each(totals, groups, self.features.threads)))

    def gram(self, block: int) -> np.ndarray:
        """Return Σ_i w_i x_i x_iᵀ over all rows of a dense block."""
        data = self.data
        assert data.unlabeled_weights is not None
        labeled = weighted_gram(to_host(data.X.blocks[block]), self.weights(None))
        return labeled + weighted_gram(to_host(data.X_unlabeled.blocks[block]), data.unlabeled_weights)


def with_total(memberships: np.ndarray) -> np.ndarray:
    """Return the memberships of rows, and a column of ones; shape (n, K + 1)."""
    return np.hstack([memberships, np.ones((len(memberships), 1))])


def class_probability_columns(eta: np.ndarray, multilabel: bool) -> np.ndarray:
    """Return the columns of ``TrainingRows.class_columns`` for rows with predicted labels."""
    p = class_probabilities(eta, multilabel=multilabel)
    return with_total(p) if multilabel else p


def weighted_gram(Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return Σ_i w_i z_i z_iᵀ."""
    return ((weights[:, None] * Z).T @ Z).astype(np.float64)


def _first_block(X: Any) -> Any:
    return X.blocks[0] if isinstance(X, Blocks) else X


# Whether a fit runs on a GPU; None means that it depends on where X is.
DEVICES = {"cpu": False, "cuda": True}


def rows_of(estimator: Any, data: TrainingData) -> RowsInMemory:
    """Return the rows of a fit, in memory or on a GPU, as the estimator's ``device`` says."""
    device = getattr(estimator, "device", None)
    on_gpu = is_on_gpu(data.X) if device is None else lookup(DEVICES, device, "device")
    if on_gpu:
        from dropglm.places.gpu.fits import RowsOnGpu  # only fits on a GPU need it

        return RowsOnGpu(estimator, data)
    if is_on_gpu(data.X):
        raise InputError('X is on a GPU, but device="cpu"; use device=None, or pass X.get().')
    if is_on_gpu(data.X_unlabeled):
        raise InputError(
            'X_unlabeled is on a GPU, but X is not; use device="cuda", or pass X_unlabeled.get().'
        )
    return RowsInMemory(estimator, data)


def check_device(device: str) -> None:
    """Raise an error unless fits can run on this device."""
    if lookup(DEVICES, device, "device"):
        from dropglm.places.gpu import runtime

        runtime.array_module()
