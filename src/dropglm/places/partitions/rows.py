"""Fits of the estimators to rows in partitions: the verbs of ``TrainingRows`` as sums over partitions.

The client knows the labels, the weights and the folds of all labelled rows. The features stay with the
partitions; a round sends coefficients to them and returns sums, or predictors of labelled rows.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dropglm.base import checks
from dropglm.base.errors import InputError, InputTypeError
from dropglm.core.features import AnyFeatures
from dropglm.core.l2_weights import L2Weights, NaiveBayesCounts
from dropglm.core.noise import Noise
from dropglm.core.objective import Coefficients, EvaluatedRay, Objective, TermRay, TermValue, penalty_scales
from dropglm.core.penalties import Penalty
from dropglm.core.problem import Problem
from dropglm.core.solvers import LBFGS, REFRESHES, Callback, Result
from dropglm.places.labels import RowLabels, with_class_weights
from dropglm.places.partitions.checkpoint import (
    ProblemCheckpoint,
    checkpoint_folder,
    checkpointed,
    remove_checkpoint,
)
from dropglm.places.partitions.contents import (
    Rows,
    Survey,
    check_columns_agree,
    check_rows,
    merge,
    orders_of,
    partition_name,
    survey,
)
from dropglm.places.partitions.engine import Engine, SerialEngine
from dropglm.places.partitions.prepared import LabeledRows, Plan, Target, prepare
from dropglm.places.partitions.round_trips import (
    BlockGram,
    Columns,
    PendingRequest,
    Predictors,
    RoundTrips,
    TransposedProduct,
    ValueAndGradient,
    class_columns,
    differs_from_mean,
    predicted_classes,
    predicted_columns,
    target_columns,
    weight_column,
)
from dropglm.places.rows import (
    NO_BLOCKS,
    ClassTotals,
    TrainingData,
    TrainingRows,
)

Item = TypeVar("Item")
Value = TypeVar("Value")

# The share of the slope that may be left at the end of a step. Every trial of a step is a pass over all rows
# here; on IMDB's bigrams with unlabelled rows 0.9 takes 100 trials, and 0.5, as for rows in memory, 144.
CURVATURE = 0.9

# Past steps that the solver keeps, and how many numbers these may have for all problems together, in each of
# its two arrays. Algebra on the client costs less than a round: on IMDB's bigrams with unlabelled rows 30
# steps take 90 rounds, and 10, as for rows in memory, 121. On four samples of 40 % of the rows they take 81,
# 83, 86 and 85, and 97, 96, 83 and 100.
STEPS, NUMBERS = 30, 1 << 25

# Coefficients of this many bytes are sent at a time: with more, sending takes longer than the round itself.
MESSAGE = 1 << 26


class FeaturesInPartitions(AnyFeatures):
    """The features that occur in some partition, in the order of the coefficients.

    Parameters
    ----------
    labeled : Survey
        Of the labelled partitions.
    unlabeled : Survey or None
        Of the unlabelled partitions, if they have rows that count.
    threads : int
        Number of threads of the client.

    Attributes
    ----------
    round_trips : RoundTrips
        How to ask the partitions; set when these are prepared.
    smallest_unlabeled : tuple of float
        Of each block, the smallest entry of unlabelled rows, or 0 if none is negative.
    """

    round_trips: RoundTrips
    smallest: tuple[float, ...] = ()
    threads: int = 1

    def __init__(self, labeled: Survey, unlabeled: Survey | None, threads: int) -> None:
        assert labeled.widths is not None
        self.n = sum(labeled.rows)
        self.threads, self.smallest = threads, labeled.smallest
        self.smallest_unlabeled = labeled.smallest if unlabeled is None else unlabeled.smallest
        super().__init__(
            orders_of(labeled, unlabeled),
            labeled.widths,
            labeled.dtype,
            in_blocks=labeled.in_blocks,
            some_unlabeled=unlabeled is not None,
        )

    @property
    def blocks(self) -> list[tuple[int, slice, Any]]:
        """Number and columns, among the coefficients, of each block."""
        found, start = [], 0
        for number, order in enumerate(self.orders):
            if number not in self.left_out:
                found.append((number, slice(start, start + len(order)), None))
                start += len(order)
        return found

    @property
    def labeled(self) -> "LabeledDesign":
        """The labelled rows, as far as a problem needs them."""
        return LabeledDesign(self)

    def totals(self, count: int, columns: Columns, **arguments: Any) -> TransposedProduct:
        """Return the request for XᵀR, where R has so many columns."""
        shape = len(self.order), count
        return TransposedProduct(partial(columns, **arguments), shape, self.dtype, self.left_out)

    def each(self, work: Callable[[Item], Value], items: Sequence[Item]) -> list[Value]:
        """Return ``[work(item) for item in items]``, all at a time, with common rounds."""
        return self.round_trips.each(work, items)

    def each_when_ready(self, work: Callable[[int], None], needs: Sequence[Sequence[int]]) -> None:
        """Call ``work(k)`` for k = 0, 1, …, in common rounds."""
        # One message has the coefficients of all fits that are in progress.
        size = max(1, len(self.order) * self.dtype.itemsize)
        self.round_trips.each(work, range(len(needs)), needs, max(1, MESSAGE // size))


class LabeledDesign(NamedTuple):
    """The labelled rows of all partitions."""

    features: FeaturesInPartitions

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of features that occur."""
        return self.features.n, len(self.features.order)

    @property
    def dtype(self) -> np.dtype:
        """Type of the features."""
        return self.features.dtype

    def dot(self, beta: np.ndarray) -> np.ndarray:
        """Return Xβ of all rows; shape (n, K)."""
        (found,) = self.features.round_trips.ask(Predictors(beta, None, self.features.left_out))
        return found.in_order(self.features.n)


@dataclass(frozen=True)
class TermValueInPartitions(TermValue):
    """A share, with the coefficients it belongs to; η stays with the partitions."""

    beta: np.ndarray
    intercept: np.ndarray
    curvature: Coefficients | None  # if it was asked for in the same round


class TermInPartitions:
    """The loss and the penalty of all rows; every evaluation is one round.

    Parameters
    ----------
    features : FeaturesInPartitions
    target : Target
        The problem.
    mean : ndarray of shape (d,)
        The mean row x̄, to which curvatures refer.
    """

    def __init__(self, features: FeaturesInPartitions, target: Target, mean: np.ndarray) -> None:
        self.features = features
        self.target = target
        self.mean = mean
        self.passes = 0
        # The solver asks for the curvature at the start and after certain iterations; value, gradient and
        # curvature then come in one round.
        self._lines = 0
        self._expects_curvature = True

    def at(self, beta: np.ndarray, intercept: np.ndarray) -> TermValueInPartitions:
        """Return value and gradient at these coefficients."""
        curved, self._expects_curvature = self._expects_curvature, False
        return self._evaluate(beta, intercept, curved=curved)

    def along(self, here: TermValue, start: Coefficients, direction: Coefficients) -> TermRay:
        """Return the share along the ray start + step · direction.

        Every step is an evaluation with its gradient: a second round would cost more than a gradient that is
        not needed, and nine of ten first steps are taken.
        """
        self._lines += 1
        self._expects_curvature = self._lines in REFRESHES
        return EvaluatedRay(self, start, direction)

    def fisher(self, here: TermValueInPartitions, mean: np.ndarray) -> Coefficients:
        """Return the diagonal of the Fisher information of loss and penalty."""
        curvature = here.curvature or self._evaluate(here.beta, here.intercept, curved=True).curvature
        assert curvature is not None
        return curvature

    def _evaluate(self, beta: np.ndarray, intercept: np.ndarray, *, curved: bool) -> TermValueInPartitions:
        """Return value, gradient and, if asked to, curvature in one round."""
        K, mean = len(intercept), self.mean
        (sums,) = self.features.round_trips.ask(
            ValueAndGradient(self.target, beta, intercept, mean if curved else None)
        )
        self.passes += 3 if curved else 2
        value, by_intercept, w_A2, p = np.split(sums.numbers, [1, 1 + K, 1 + 2 * K])
        by_beta, curvature = sums.dense(), None
        if curved:
            by_beta, spread = (np.ascontiguousarray(half) for half in np.hsplit(by_beta, 2))
            curvature = spread + differs_from_mean(p, mean), w_A2
        eta = np.empty((0, K))
        return TermValueInPartitions(
            float(value[0]), by_beta, by_intercept, eta, beta.copy(), intercept.copy(), curvature
        )


@dataclass(frozen=True)
class ProblemInPartitions(Problem):
    """A problem whose rows are in partitions, which know its labels and weights by class and fold."""

    number: int | None = None  # of the class that is fitted against the rest
    fold: int | None = None  # whose held-out rows are left out
    unlabeled_weight: float = 0.0
    checkpoint: ProblemCheckpoint | None = None
    # Not a cached_property: until Python 3.12 it has one lock for all instances, and problems in threads of
    # their own, which wait for each other's requests, would wait forever.
    _l2_weights: list[np.ndarray] = field(default_factory=list, init=False, repr=False)

    @property
    def some_unlabeled(self) -> bool:
        """Whether there are unlabelled rows."""
        return self.features.some_unlabeled

    @property
    def labeled_l2_weights(self) -> np.ndarray:
        """Weights of l2, from the labelled rows alone; shape (d, K)."""
        if not self._l2_weights:
            self._l2_weights.append(self.l2_weights.compute([self.labeled_counts()]))
        return self._l2_weights[0]

    def has_dual_steps(self, penalty: Penalty | None, l2: float, discount: float) -> bool:
        """Return that there are none: every step needs the coefficients after the previous row."""
        return False

    def objective(self, penalty: Penalty | None, l2: np.ndarray, discount: float) -> Objective:
        """Return the function to minimise, given λ of every coefficient and the discount α."""
        mean = self._mean if self.fit_intercept else np.zeros_like(self._mean)
        target = Target(self.family, penalty, self.number, fold=self.fold, left_out=self.features.left_out)
        if penalty is not None and discount > 0.0 and self.some_unlabeled:
            scales = penalty_scales(float(self.weights.sum()), self.unlabeled_weight, discount)
            target = target._replace(labeled_factor=scales[0], unlabeled_factor=scales[1])
        return Objective(
            [TermInPartitions(self.features, target, mean)],
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

    def labeled_counts(self, *, weighted: bool = True) -> NaiveBayesCounts:
        """Return the labelled rows as naive Bayes counts them; if not weighted, each as 1 or 0."""
        columns = partial(target_columns, number=self.number, fold=self.fold, weighted=weighted)
        weight = float(self.weights.sum())
        return CountsInPartitions(self.features, columns, self.y.shape[1], weight, self.features.smallest)

    def predicted_counts(self, coefficients: Coefficients) -> NaiveBayesCounts:
        """Return the unlabelled rows with the labels that these coefficients predict."""
        columns = partial(predicted_columns, family=self.family, model=coefficients)
        weight, smallest = self.unlabeled_weight, self.features.smallest_unlabeled
        return CountsInPartitions(self.features, columns, self.y.shape[1], weight, smallest)


class CountsInPartitions(NamedTuple):
    """Labelled rows of all partitions, or unlabelled ones with predicted labels, for the weights of l2."""

    features: FeaturesInPartitions
    columns: Columns
    K: int
    weight: float
    smallest_by_block: tuple[float, ...]
    place: int | None = None  # of the only block that counts

    @property
    def _blocks(self) -> list[tuple[int, slice, Any]]:
        blocks = self.features.blocks
        return blocks if self.place is None else [blocks[self.place]]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of features and of classes."""
        return sum(columns.stop - columns.start for _, columns, _ in self._blocks), self.K

    @property
    def dtype(self) -> np.dtype:
        """The type of the features."""
        return self.features.dtype

    @property
    def smallest(self) -> float:
        """The smallest entry, or 0 if no entry is negative."""
        return min(self.smallest_by_block[number] for number, _, _ in self._blocks)

    @property
    def block_numbers(self) -> Sequence[int]:
        """The number of each block of features."""
        return [number for number, _, _ in self._blocks]

    def counts(self) -> np.ndarray:
        """Return the sums of each feature over the rows of each class and over the others; (d, 2K)."""
        (found,) = self.features.round_trips.ask(self.features.totals(2 * self.K, self.columns))
        return found.dense() if self.place is None else found.dense()[self._blocks[0][1]]

    def block(self, place: int) -> "CountsInPartitions":
        """Return the rows with the features of one block."""
        return self._replace(place=place)


class RowsInPartitions(TrainingRows):
    """Rows in partitions.

    Parameters
    ----------
    estimator : estimator
        With the settings of the fit.
    engine : Engine
        Who keeps and adds up the partitions.
    labeled, unlabeled : lists
        Partitions of ``Rows`` as the engine keeps them. Both lists are emptied, so that an engine can release
        the rows as soon as they are prepared.
    targets : {"labels", "numbers", "counts"}
        What y is.
    checkpoint : str or path, optional
        A folder for the state of the solver.
    """

    def __init__(
        self,
        estimator: Any,
        engine: Engine,
        labeled: list[Any],
        unlabeled: list[Any] | tuple[()],
        targets: str = "labels",
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        checks.on_cpu(estimator)
        if checkpoint is not None:
            checkpoint_folder(checkpoint)
        if not labeled:
            raise InputError("There is no partition of labelled rows.")
        self.estimator, self.engine, self.checkpoint = estimator, engine, checkpoint
        self.target_kind = targets
        self._parts, self.survey = self._survey(labeled)
        if self.survey.widths is None:
            raise InputError("No partition has a labelled row of positive weight.")
        self._unlabeled_parts: list[Any] = []
        self.unlabeled_survey: Survey | None = None  # if some unlabelled partition has rows
        if unlabeled:
            self._unlabeled_parts, found = self._survey(unlabeled)
            if found.widths is not None:
                check_columns_agree(self.survey, found)
                self.unlabeled_survey = found
        self.data = self._training_data()

    def _survey(self, parts: Any) -> tuple[list[Any], Survey]:
        """Check partitions, and return those that have rows with what they contain."""
        checked = self.engine.keep(check_rows, parts, self.target_kind)
        parts.clear()
        found: Survey = self.engine.total(survey, checked, None, merge)
        return [part for part, n in zip(checked, found.rows, strict=True) if n], found

    def _training_data(self) -> TrainingData:
        """Return the labels and weights of all rows, and what an estimator stores about its features."""
        found, classes = self.survey, np.empty(0)
        assert found.widths is not None
        assert found.y is not None
        y, weights = found.y, found.weights
        own, membership, multilabel = weights, None, False
        if self.target_kind == "labels":
            labels = RowLabels.of(self.estimator, y, len(y))
            classes, y, membership, multilabel = labels
            own = with_class_weights(self.estimator.class_weight, labels, weights)
        attributes: dict[str, Any] = {"n_features_in_": sum(found.widths)}
        if found.names is not None:
            attributes["feature_names_in_"] = np.array(found.names, dtype=object)
        if found.in_blocks:
            attributes["_block_widths"] = found.widths
        return TrainingData(
            None,
            y,
            attributes,
            weights,
            own,
            classes=classes,
            groups=found.groups,
            membership=membership,
            multilabel=multilabel,
        )

    @property
    def block_count(self) -> int | None:
        """Number of blocks of features, None if they are a single matrix."""
        return len(self.survey.smallest) if self.survey.in_blocks else None

    @property
    def smallest_unlabeled(self) -> float | None:
        """The smallest entry of the first block of unlabelled rows, or 0; None without such rows."""
        return None if self.unlabeled_survey is None else self.unlabeled_survey.smallest[0]

    def _prepare(self, noises: Sequence[Noise], unlabeled: bool, for_rounds: bool) -> AnyFeatures:
        others = self.unlabeled_survey if unlabeled else None
        features = FeaturesInPartitions(self.survey, others, checks.threads(self.estimator.n_jobs))
        plan = Plan(
            tuple(features.orders),
            features.block_count is not None,
            features.dtype,
            len(self.data.classes),
            self.data.multilabel,
            # Additive noise on a feature adds to the variance of rows that do not have it.
            every_feature=any(
                noise.of_block(number).absolute for noise in noises for number, _, _ in features.blocks
            ),
            by_columns=not self.engine.rereads,
        )
        rows = [n for n in self.survey.rows if n]
        starts = np.cumsum([0, *rows])
        times = np.array([fold.times for fold in self.folds], np.int32).reshape(len(self.folds), features.n)
        held_out = np.zeros(times.shape, np.bool_)
        for own, fold in zip(held_out, self.folds, strict=True):
            own[fold.test] = True
        labeled = [
            [part, self._known(slice(start, start + n), times, held_out)]
            for part, start, n in zip(self._parts, starts.tolist(), rows, strict=False)
        ]
        used = [[part] for part in self._unlabeled_parts] if others is not None else []
        groups = group_partitions(labeled, used, self.engine.slots)
        joined = [[one for part in group for one in part] for group in groups]
        features.round_trips = RoundTrips(self.engine, self.engine.keep(prepare, joined, plan))
        if for_rounds:
            # With a row of coefficients for every feature, also for those that no labelled row has.
            everything = tuple(np.arange(width) for width in features.widths)
            plan = plan._replace(orders=everything, every_feature=False, by_columns=True)
            groups = group_partitions(self._unlabeled_parts, [], self.engine.slots)
            self._counted = RoundTrips(self.engine, self.engine.keep(prepare, groups, plan))
        # The prepared partitions replace the checked ones; an engine that loses some computes both anew.
        self._parts.clear()
        self._unlabeled_parts.clear()
        return features

    def _known(self, rows: slice, times: np.ndarray, held_out: np.ndarray) -> LabeledRows:
        """Return what the client knows of some labelled rows."""
        data = self.data
        membership = None if data.membership is None else data.membership[rows].T
        return LabeledRows(
            rows.start, data.y[rows], data.weights[rows], times[:, rows], held_out[:, rows], membership
        )

    def _mean_rows(self, folds: Sequence[int | None]) -> list[Any]:
        features = self.features
        found = features.round_trips.ask(*(features.totals(1, weight_column, fold=fold) for fold in folds))
        return [
            (total.dense()[:, 0] / self.weights(fold).sum()).astype(features.dtype)
            for fold, total in zip(folds, found, strict=True)
        ]

    _problem_class = ProblemInPartitions

    def _place_of(self, k: int, fold: int | None) -> dict[str, Any]:
        K = len(self.data.classes)
        number = None if self.family.several or not K else 1 if K == 2 and not self.data.multilabel else k
        weight = 0.0 if self.unlabeled_survey is None else self.unlabeled_survey.weight
        return {"number": number, "fold": fold, "unlabeled_weight": weight}

    def problems(self, rule: L2Weights) -> list[Problem]:
        """Return the problems of a fit to all rows, which continue from a checkpoint if there is one."""
        surveys = [self.survey, self.unlabeled_survey]
        return checkpointed(self.checkpoint, self.estimator, surveys, super().problems(rule))

    def solver(self, tol: float, max_iter: int) -> LBFGS:
        """Return the solver of a fit to all rows."""
        size = len(self.features.order) * self.targets[0].shape[1]
        stored = self.checkpoint is not None
        return solver_of(LBFGS(tol, max_iter), size, len(self.targets), stored=stored)

    def held_out_predictors(
        self, fold: int, beta: np.ndarray, intercept: Any = 0.0, left_out: frozenset[int] = NO_BLOCKS
    ) -> Any:
        """Return what ``collect_predictors`` turns into the predictors of the held-out rows of a fold."""
        ask = self.features.round_trips.ask_later
        others, own = self._unscaled_part(beta, left_out)
        unscaled = ask(Predictors(own, fold, left_out | others)) if len(own) else None
        return PendingPredictors(ask(Predictors(beta, fold, left_out)), unscaled, fold, intercept)

    def collect_predictors(self, predictors: Iterable[Any]) -> list[np.ndarray]:
        """Return the predictors that ``held_out_predictors`` has promised."""
        predictors = list(predictors)  # which asks for them
        self.features.round_trips.flush()

        def of(request: PendingRequest, fold: int) -> np.ndarray:
            return np.asarray(request.answer.in_order(self.features.n)[self.folds[fold].test])

        return [
            self._as_held_out(
                fold, of(request, fold), intercept, 0.0 if unscaled is None else of(unscaled, fold)
            )
            for request, unscaled, fold, intercept in predictors
        ]

    def class_totals(self, folds: Sequence[int | None], block: int = 0) -> list[Any]:
        """Return, for each fold, the sums of the features of a block over the rows of each class."""
        features, K = self.features, len(self.data.classes) + self.data.multilabel
        _, columns, _ = features.blocks[block]
        found = features.round_trips.ask(*(features.totals(K, class_columns, fold=fold) for fold in folds))
        return [totals.dense()[columns].astype(np.float64) for totals in found]

    def unlabeled_totals(self, models: Sequence[Coefficients], block: int = 0) -> list[ClassTotals]:
        """Return the sums of the features of a block over unlabelled rows, with predicted labels."""
        widths, dtype, many = self.features.widths, self.features.dtype, self.data.multilabel
        K = len(self.data.classes) + many
        at_a_time = max(1, MESSAGE // max(1, models[0][0].nbytes))
        columns = slice(sum(widths[:block]), sum(widths[: block + 1]))
        found: list[ClassTotals] = []
        for first in range(0, len(models), at_a_time):
            requests = [
                TransposedProduct(
                    partial(predicted_classes, model=model, multilabel=many), (sum(widths), K), dtype
                )
                for model in models[first : first + at_a_time]
            ]
            found += [ClassTotals(one.dense()[columns], one.numbers) for one in self._counted.ask(*requests)]
        return found

    def gram(self, block: int) -> np.ndarray:
        """Return Σ_i w_i x_i x_iᵀ over all rows of a dense block."""
        width, order = self.features.widths[block], self.features.orders[block]
        labeled = BlockGram(block, len(order), labeled=True)
        unlabeled = BlockGram(block, width, labeled=False)
        own = self.features.round_trips.ask(labeled)[0].numbers.reshape(len(order), len(order))
        total = self._counted.ask(unlabeled)[0].numbers.reshape(width, width).copy()
        total[np.ix_(order, order)] += own
        return total


def solver_of(solver: LBFGS, size: int, at_a_time: int, *, stored: bool = False) -> LBFGS:
    """Return a solver for problems of a size in partitions; it keeps more steps than in memory, if they fit.

    If they are stored in a checkpoint it does not, since all of them are written after each iteration.
    """
    solver, size = replace(solver, curvature=CURVATURE), max(1, size)
    if stored:
        return solver
    return replace(solver, memory=max(solver.memory_for(size), min(STEPS, NUMBERS // (size * at_a_time))))


class PendingPredictors(NamedTuple):
    """Predictors of held-out rows that come with the next round, and the part that is not scaled."""

    request: PendingRequest
    unscaled: PendingRequest | None
    fold: int
    intercept: Any


def group_partitions(labeled: Sequence[Any], unlabeled: Sequence[Any], slots: int | None) -> list[list[Any]]:
    """Return groups of neighbouring partitions, one per slot, each with its share of the unlabelled ones.

    Every task of a round costs some 5 ms on Dask, and its result has to be sent. The groups depend on the
    number of slots only, not on where the partitions are.

    Examples
    --------
    >>> group_partitions("abcde", "uvw", 2)
    [['a', 'b', 'u'], ['c', 'd', 'e', 'v', 'w']]
    """
    count = max(len(labeled), len(unlabeled))
    count = count if slots is None else min(count, slots)

    def piece(parts: Sequence[Any], k: int) -> list[Any]:
        return list(parts[len(parts) * k // count : len(parts) * (k + 1) // count])

    groups = [piece(labeled, k) + piece(unlabeled, k) for k in range(count)]
    return [group for group in groups if group]


def fit_partitions(
    estimator: Any,
    engine: Engine,
    labeled: list[Any],
    unlabeled: list[Any] | tuple[()] = (),
    checkpoint: str | PathLike[str] | None = None,
) -> Any:
    """Fit an estimator to partitions, and return it.

    Parameters
    ----------
    estimator : LogisticRegression, LogisticRegressionCV, LinearRegression or PoissonRegressor
        With the settings of the fit.
    engine : Engine
        Who keeps and adds up the partitions.
    labeled, unlabeled : lists
        Partitions as the engine keeps them: ``Rows``, checked when they are first used. Both lists are
        emptied, so that an engine can release the rows as soon as they are prepared.
    checkpoint : str or path, optional
        A folder for the state after each iteration, except of a search. It stays at the end: whoever stores
        the model removes it afterwards, with ``checkpoint.remove_checkpoint``.

    Returns
    -------
    estimator
        The fitted estimator.

    See Also
    --------
    fit : Fits any of the models to partitions, without an engine of your own.

    Examples
    --------
    >>> from dropglm import LogisticRegression
    >>> from dropglm.places.partitions import Rows, SerialEngine, fit_partitions
    >>> parts = [lambda: Rows(0, [[0.0], [1.0]], [0, 1]), lambda: Rows(1, [[0.0], [1.0]], [0, 1])]
    >>> engine = SerialEngine()
    >>> labeled = engine.keep(lambda load, message: load(), parts, None)
    >>> fit_partitions(LogisticRegression(dropout=0.2), engine, labeled).predict([[1.0]])
    array([1])
    """
    estimator._check_settings()
    if checkpoint is not None and not estimator._has_checkpoints:
        raise InputError(
            "A search has no checkpoint; fit LogisticRegressionCV without it, or LogisticRegression with it."
        )
    rows = RowsInPartitions(estimator, engine, labeled, unlabeled, estimator._targets, checkpoint)
    estimator._check_targets(rows.data.y, rows.data.weights)
    return estimator._fit_to(rows)


Model = TypeVar("Model")


def fit(
    model: Model,
    partitions: Sequence[Any],
    unlabeled_partitions: Sequence[Any] = (),
    *,
    load: Callable[[Any], Any] | None = None,
    in_memory: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Model:
    """Fit a linear model to partitions of rows that are read again in each pass over the data.

    The coefficients are those of ``model.fit`` to all rows at once, up to the tolerance of the solver. At
    most ``model.n_jobs`` partitions are in memory at a time, each worked on by a thread of its own, besides
    some vectors of one number per feature.

    Parameters
    ----------
    model : LogisticRegression, LogisticRegressionCV, LinearRegression or PoissonRegressor
        With the settings of the fit. The restrictions of ``dropglm.dask.LogisticRegressionCV`` apply here as
        well.
    partitions : sequence
        Labelled rows: functions without arguments, or whatever ``load`` takes, such as paths. A partition is
        (X, y), (X, y, sample_weight) or (X, y, sample_weight, groups), and must be the same each time it is
        read.
    unlabeled_partitions : sequence
        Unlabelled rows; such a partition is X or (X, unlabeled_weight).
    load : callable, optional
        Returns the rows of a partition, given an item of the sequences.
    in_memory : bool, default=False
        Keep the prepared partitions in memory, in place of reading them again.
    checkpoint : str or path, optional
        A folder for the state of the fit after each iteration. If the process dies, the same call continues
        there. The folder is removed at the end.

    Returns
    -------
    model
        The fitted model.

    See Also
    --------
    dropglm.dask : The same on a cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from dropglm import LogisticRegression
    >>> from dropglm.places.partitions import fit
    >>> def rows(seed):  # for instance, read a file
    ...     rng = np.random.default_rng(seed)
    ...     X = rng.normal(size=(1000, 3))
    ...     return X, X[:, 0] + rng.normal(size=1000) > 0
    >>> model = fit(LogisticRegression(dropout=0.2), range(5), load=rows)
    >>> model.predict([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    array([ True, False])
    """
    if isinstance(model, type):
        raise InputTypeError(f"model is the class {model.__name__}; pass an estimator, {model.__name__}().")
    if not hasattr(model, "_fit_to"):
        kind = f"{type(model).__module__}.{type(model).__name__}"
        raise InputTypeError(f"{kind} cannot be fitted to partitions; pass a linear model of dropglm.")
    if load is not None and not callable(load):
        raise InputTypeError(f"load must be a function, got {load!r}.")
    for name, given in (("partitions", partitions), ("unlabeled_partitions", unlabeled_partitions)):
        if not isinstance(given, Iterable):
            raise InputTypeError(f"{name} must be a sequence, got {type(given).__name__}.")
    engine = SerialEngine(rereads=not in_memory, threads=checks.threads(getattr(model, "n_jobs", None)))
    labeled = engine.keep(read, list(enumerate(partitions)), (load, True))
    unlabeled = engine.keep(read, list(enumerate(unlabeled_partitions)), (load, False))
    fitted: Model = fit_partitions(model, engine, labeled, unlabeled, checkpoint)
    remove_checkpoint(checkpoint)
    return fitted


def read(numbered: tuple[int, Any], how: tuple[Callable[[Any], Any] | None, bool]) -> Rows:
    """Return the rows of a partition, given its number and how to load it, and whether it has labels."""
    (number, partition), (load, labeled) = numbered, how
    name = partition_name(number, labeled=labeled)
    if load is None and not callable(partition):
        raise InputTypeError(
            f"{name} is a {type(partition).__name__}, not a function; pass load=, which reads a partition."
        )
    try:
        found = partition() if load is None else load(partition)
    except Exception as error:
        error.add_note(f"{name} could not be read.")
        raise
    if not labeled and not isinstance(found, tuple):
        found = (found,)
    sizes = (2, 3, 4) if labeled else (1, 2)
    if not isinstance(found, tuple) or len(found) not in sizes:
        of_labeled = "(X, y), (X, y, sample_weight) or (X, y, sample_weight, groups)"
        expected = of_labeled if labeled else "X or (X, unlabeled_weight)"
        raise InputTypeError(f"{name} must be {expected}.")
    if labeled:
        X, y, weights, groups = (*found, None, None)[:4]
        return Rows(number, X, y, weights, groups=groups)
    return Rows(number, found[0], None, found[1] if len(found) == 2 else None, labeled=False)
