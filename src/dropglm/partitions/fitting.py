"""Fits of the estimators to rows in partitions."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from dropglm import checks
from dropglm.estimators import LogisticRegression
from dropglm.estimators.l2_weights import L2Weights, l2_weights_from
from dropglm.estimators.logistic import fits_jointly
from dropglm.estimators.regression import GeneralizedLinearRegressor
from dropglm.estimators.validation import TrainingData, check_settings, class_factors
from dropglm.families import Family, Logistic, Multinomial, Poisson
from dropglm.noise import Noise
from dropglm.noising import expectation_from, noise_from, training_penalty
from dropglm.partitions.checkpoint import checkpoint_folder, checkpointed
from dropglm.partitions.engine import Engine
from dropglm.partitions.features import PartitionedFeatures
from dropglm.partitions.folds import RowFolds
from dropglm.partitions.prepared import Plan, prepare
from dropglm.partitions.problem import PartitionedProblem
from dropglm.partitions.requests import MeanRow
from dropglm.partitions.rounds import Rounds
from dropglm.partitions.rows import Requirements, check_rows
from dropglm.partitions.survey import Survey, check_columns, merge, survey
from dropglm.solvers import LBFGS

# The share of the slope that may be left at the end of a step. Every trial of a step is a pass over all rows
# here; on IMDB's bigrams with unlabelled rows 0.9 takes 100 trials, and 0.5, as for rows in memory, 144.
CURVATURE = 0.9

# Past steps that the solver keeps, and how many numbers these may have for all problems together, in each of
# its two arrays. Algebra on the client costs less than a round: on IMDB's bigrams with unlabelled rows 30
# steps take 90 rounds, and 10, as for rows in memory, 121. On four samples of 40 % of the rows they take 81,
# 83, 86 and 85, and 97, 96, 83 and 100.
STEPS, NUMBERS = 30, 1 << 25


class Surveyed(NamedTuple):
    """Checked partitions that have rows, and what they contain."""

    labeled_parts: list[Any]
    unlabeled_parts: list[Any]
    labeled: Survey
    unlabeled: Survey | None


def fit_logistic(
    estimator: LogisticRegression,
    engine: Engine,
    labeled: list[Any],
    unlabeled: list[Any] | tuple[()] = (),
    checkpoint: str | PathLike[str] | None = None,
) -> LogisticRegression:
    """Fit a classifier to partitions, and return it.

    Parameters
    ----------
    estimator : LogisticRegression
        With the settings of the fit.
    engine : Engine
        Who keeps and adds up the partitions.
    labeled, unlabeled : lists
        Partitions as the engine keeps them: ``Rows``, checked when they are first used. Both lists are
        emptied, so that an engine can release the rows as soon as they are prepared.
    checkpoint : str or path, optional
        A folder for the state after each iteration. It stays at the end: whoever stores the model removes it
        afterwards, with ``checkpoint.remove_checkpoint``.

    Returns
    -------
    LogisticRegression
        The fitted estimator.

    See Also
    --------
    fit : Fits any of the models to partitions, without an engine of your own.

    Examples
    --------
    >>> from dropglm import LogisticRegression
    >>> from dropglm.partitions import Rows, SerialEngine, fit_logistic
    >>> parts = [lambda: Rows(0, [[0.0], [1.0]], [0, 1]), lambda: Rows(1, [[0.0], [1.0]], [0, 1])]
    >>> engine = SerialEngine()
    >>> labeled = engine.keep(lambda load, message: load(), parts, None)
    >>> fit_logistic(LogisticRegression(dropout=0.2), engine, labeled, []).predict([[1.0]])
    array([1])
    """
    # Check.
    check_settings(estimator)
    if checkpoint is not None:
        checkpoint_folder(checkpoint)
    method = expectation_from(estimator.expectation)
    found = survey_classes(engine, labeled, unlabeled)
    classes = found.labeled.classes
    factors = class_factors(estimator.class_weight, classes, found.labeled.class_weights)
    by_class = factors * found.labeled.class_weights

    # Build one problem, or one per class against the rest.
    checks.on_cpu(estimator)
    features = PartitionedFeatures(found.labeled, found.unlabeled, checks.threads(estimator.n_jobs))
    noise = noise_from(estimator.dropout, estimator.noise_std, features.block_count)
    joint = fits_jointly(estimator.multi_class, len(classes), method, noisy=bool(noise.parts))
    family = Multinomial if joint else Logistic
    penalty = training_penalty(method, family, noise, estimator.random_state)
    rule = l2_weights_from(estimator.l2_weights, features)
    features.leave_out(rule.left_out)
    prepare_partitions(engine, found, features, [noise], classes, factors)
    mean = mean_row(features, float(by_class.sum()))
    problems = [
        class_problem(features, found, family, number, by_class, bool(estimator.fit_intercept), rule, mean)
        for number in class_numbers_of(len(classes), joint=joint)
    ]

    # Solve.
    solver = solver_of(estimator, problems[0].size, len(problems), checkpoint)
    problems = checkpointed(checkpoint, estimator, [found.labeled, found.unlabeled], problems)
    return estimator._solve(problems, penalty, features, training_data(found.labeled), solver)


def class_numbers_of(K: int, *, joint: bool) -> list[int | None]:
    """Return the class that each problem fits against the rest; None for a joint model."""
    return [None] if joint else [1] if K == 2 else [*range(K)]


def class_problem(
    features: PartitionedFeatures,
    found: Surveyed,
    family: type[Family],
    number: int | None,
    by_class: np.ndarray,
    fit_intercept: bool,
    rule: L2Weights,
    mean: np.ndarray,
    fold: int | None = None,
) -> PartitionedProblem:
    """Return the problem of a class against the rest, or of all classes, given the weights of each class."""
    shares = by_class / by_class.sum()
    return PartitionedProblem(
        features,
        family,
        number,
        shares if number is None else shares[[number]],
        float(by_class.sum()),
        0.0 if found.unlabeled is None else found.unlabeled.weight,
        fit_intercept,
        rule,
        mean,
        labels_first=True,
        fold=fold,
    )


def fit_regression(
    estimator: GeneralizedLinearRegressor,
    engine: Engine,
    labeled: list[Any],
    unlabeled: list[Any] | tuple[()] = (),
    checkpoint: str | PathLike[str] | None = None,
) -> GeneralizedLinearRegressor:
    """Fit a regressor to partitions, and return it.

    Parameters
    ----------
    estimator : LinearRegression or PoissonRegressor
        With the settings of the fit.
    engine : Engine
        Who keeps and adds up the partitions.
    labeled, unlabeled : lists
        Partitions as the engine keeps them: ``Rows``, checked when they are first used. Both lists are
        emptied, so that an engine can release the rows as soon as they are prepared.
    checkpoint : str or path, optional
        A folder for the state after each iteration. It stays at the end: whoever stores the model removes it
        afterwards, with ``checkpoint.remove_checkpoint``.

    Returns
    -------
    LinearRegression or PoissonRegressor
        The fitted estimator.

    See Also
    --------
    fit : Fits any of the models to partitions, without an engine of your own.

    Examples
    --------
    >>> from dropglm import LinearRegression
    >>> from dropglm.partitions import Rows, SerialEngine, fit_regression
    >>> parts = [lambda: Rows(0, [[0.0], [1.0]], [1.0, 3.0]), lambda: Rows(1, [[0.0], [1.0]], [1.0, 3.0])]
    >>> engine = SerialEngine()
    >>> labeled = engine.keep(lambda load, message: load(), parts, None)
    >>> fit_regression(LinearRegression(), engine, labeled, []).coef_.round(2)
    array([2.])
    """
    # Check.
    check_settings(estimator)
    if checkpoint is not None:
        checkpoint_folder(checkpoint)
    estimator._check_l2_weights()
    method = expectation_from(estimator.expectation)
    kind = "counts" if estimator.family is Poisson else "numbers"
    found = survey_partitions(engine, labeled, unlabeled, Requirements(kind))
    if kind == "counts" and found.labeled.target == 0.0:
        raise ValueError("y is 0 in every row, so the best mean is 0, which no finite coefficients give.")

    # Build the problem.
    checks.on_cpu(estimator)
    features = PartitionedFeatures(found.labeled, found.unlabeled, checks.threads(estimator.n_jobs))
    noise = noise_from(estimator.dropout, estimator.noise_std, features.block_count)
    penalty = training_penalty(method, estimator.family, noise, estimator.random_state)
    rule = l2_weights_from(estimator.l2_weights, features)
    features.leave_out(rule.left_out)
    prepare_partitions(engine, found, features, [noise])
    weight = found.labeled.weight
    problem = PartitionedProblem(
        features,
        estimator.family,
        None,
        np.array([found.labeled.target / weight]),
        weight,
        0.0 if found.unlabeled is None else found.unlabeled.weight,
        bool(estimator.fit_intercept),
        rule,
        mean_row(features, weight),
    )

    # Solve.
    solver = solver_of(estimator, problem.size, 1, checkpoint)
    (problem,) = checkpointed(checkpoint, estimator, [found.labeled, found.unlabeled], [problem])
    return estimator._solve(problem, penalty, features, training_data(found.labeled), solver)


def survey_classes(engine: Engine, labeled: list[Any], unlabeled: list[Any] | tuple[()]) -> Surveyed:
    """Check the partitions of a classifier, and return what ``survey_partitions`` returns."""
    found = survey_partitions(engine, labeled, unlabeled, Requirements("labels"))
    classes = found.labeled.classes
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes[0]}; a classifier needs at least 2 classes.")
    return found


def survey_partitions(
    engine: Engine, labeled: list[Any], unlabeled: list[Any] | tuple[()], requirements: Requirements
) -> Surveyed:
    """Check all partitions, and return those that have rows with what they contain."""
    if not labeled:
        raise ValueError("There is no partition of labelled rows.")
    parts, found = _survey(engine, labeled, requirements)
    if found.widths is None:
        raise ValueError("No partition has a labelled row of positive weight.")
    others, without_labels = _survey(engine, unlabeled, requirements) if unlabeled else ([], None)
    if without_labels is None or without_labels.widths is None:
        return Surveyed(parts, [], found, None)
    check_columns(found, without_labels)
    return Surveyed(parts, others, found, without_labels)


def _survey(engine: Engine, parts: list[Any], requirements: Requirements) -> tuple[list[Any], Survey]:
    checked = engine.keep(check_rows, parts, requirements)
    parts.clear()
    found: Survey = engine.total(survey, checked, requirements.targets == "labels", merge)
    return [part for part, n in zip(checked, found.rows, strict=True) if n], found


def prepare_partitions(
    engine: Engine,
    found: Surveyed,
    features: PartitionedFeatures,
    noises: Sequence[Noise],
    classes: np.ndarray | None = None,
    factors: np.ndarray | None = None,
    folds: RowFolds | None = None,
) -> None:
    """Prepare the partitions, and set ``features.rounds``.

    Parameters
    ----------
    engine : Engine
    found : Surveyed
        Its partitions are released.
    features : PartitionedFeatures
        Without the blocks that are left out.
    noises : sequence of Noise
        All that the fits are going to use.
    classes, factors : ndarrays of shape (K,), optional
        For a classifier: its classes, and the factors of their weights.
    folds : RowFolds, optional
        For a cross-validation.
    """
    plan = Plan(
        tuple(features.orders),
        features.left_out,
        features.block_count is not None,
        features.dtype,
        classes,
        factors,
        # Additive noise on a feature adds to the variance of rows that do not have it.
        every_feature=any(
            noise.of_block(number).absolute for noise in noises for number, _, _ in features.blocks
        ),
        by_columns=not engine.rereads,
        folds=folds,
    )
    groups = in_groups(found.labeled_parts, found.unlabeled_parts, engine.slots)
    features.rounds = Rounds(engine, engine.keep(prepare, groups, plan))
    # The prepared partitions replace the checked ones; an engine that loses some computes both anew.
    found.labeled_parts.clear()
    found.unlabeled_parts.clear()


def mean_row(features: PartitionedFeatures, weight: float) -> np.ndarray:
    """Return the mean of the labelled rows, given the sum of their weights; shape (d,)."""
    (total,) = features.rounds.ask(MeanRow(len(features.order), features.dtype))
    return (total.dense()[:, 0] / weight).astype(features.dtype)


def in_groups(labeled: Sequence[Any], unlabeled: Sequence[Any], slots: int | None) -> list[list[Any]]:
    """Return groups of neighbouring partitions, one per slot, each with its share of the unlabelled ones.

    Every task of a round costs some 5 ms on Dask, and its result has to be sent. The groups depend on the
    number of slots only, not on where the partitions are.

    Examples
    --------
    >>> in_groups("abcde", "uvw", 2)
    [['a', 'b', 'u'], ['c', 'd', 'e', 'v', 'w']]
    """
    count = max(len(labeled), len(unlabeled))
    count = count if slots is None else min(count, slots)

    def piece(parts: Sequence[Any], k: int) -> list[Any]:
        return list(parts[len(parts) * k // count : len(parts) * (k + 1) // count])

    groups = [piece(labeled, k) + piece(unlabeled, k) for k in range(count)]
    return [group for group in groups if group]


def solver_of(
    estimator: Any, size: int, at_a_time: int, checkpoint: str | PathLike[str] | None = None
) -> LBFGS:
    """Return the solver of problems of a size; it keeps more steps than for rows in memory, if they fit.

    With a checkpoint it does not, since all of them are written after each iteration.
    """
    solver = LBFGS(estimator.tol, estimator.max_iter, curvature=CURVATURE)
    if checkpoint is not None:
        return solver
    size = max(1, size)
    return replace(solver, memory=max(solver.memory_for(size), min(STEPS, NUMBERS // (size * at_a_time))))


def training_data(found: Survey) -> TrainingData:
    """Return what an estimator stores about its data; the rows themselves stay where they are."""
    assert found.widths is not None
    attributes: dict[str, Any] = {"n_features_in_": sum(found.widths)}
    if found.names is not None:
        attributes["feature_names_in_"] = np.array(found.names, dtype=object)
    if found.in_blocks:
        attributes["_block_widths"] = found.widths
    nothing = np.empty(0)
    return TrainingData(None, nothing, attributes, nothing, nothing, classes=found.classes)
