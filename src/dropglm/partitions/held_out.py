"""Predictors of held-out rows, which stay with the partitions, and sums over them.

A fit of a search predicts the rows that its fold holds out. Their predictors are scaled, blended with those
of naive Bayes, and scored, as sums over rows; only sums reach the client.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from dropglm.estimators.blend import Blend, BlendedRows, Quadratic, all_classes
from dropglm.estimators.scoring import ROW_SCORERS, softmax_predictors
from dropglm.estimators.validation import class_numbers
from dropglm.objective import Coefficients
from dropglm.partitions.prepared import Prepared
from dropglm.partitions.rows import Requirements, Rows, check_rows, naming
from dropglm.partitions.sums import Sums, no_features

# The name under which the predictors of naive Bayes are kept; those of candidates have numbers.
NAIVE_BAYES = -1


class FoldModel(NamedTuple):
    """A model that predicts the rows that a fold holds out."""

    key: int  # of the candidate
    fold: int
    problems: tuple[Coefficients, ...]  # one per class against the rest, or one


class HeldOutRows(NamedTuple):
    """The labelled rows of a partition with the predictors of all candidates."""

    y: np.ndarray  # class numbers
    K: int
    folds: np.ndarray  # which fold holds out each row, or -1
    weights: np.ndarray  # sample weights times class weights
    sample_weights: np.ndarray
    eta: dict[int, np.ndarray]  # by key: (n, K), or (n, 1) for two classes; NaN where there are none yet

    def first(self, stop: int) -> np.ndarray:
        """Return the rows that the first folds hold out."""
        return np.flatnonzero((self.folds >= 0) & (self.folds < stop))


def labeled_rows(group: Sequence[Prepared], class_factors: np.ndarray) -> list[HeldOutRows]:
    """Return the labelled rows of prepared partitions, without predictors."""
    found = []
    for part in group:
        if part.y is None or part.folds is None:  # unlabelled rows
            nothing = np.empty(0)
            found.append(HeldOutRows(nothing.astype(int), part.K, nothing, nothing, nothing, {}))
        else:
            sample_weights = part.weights / class_factors[part.y]
            found.append(HeldOutRows(part.y, part.K, part.folds, part.weights, sample_weights, {}))
    return found


def predict(group: Sequence[Prepared], models: Sequence[FoldModel]) -> list[list[np.ndarray]]:
    """Return, for every partition of a group, the predictors of each model's held-out rows."""
    return [[_predictors(part, model) for model in models] for part in group]


def _predictors(part: Prepared, model: FoldModel) -> np.ndarray:
    K = sum(len(intercept) for _, intercept in model.problems)
    if part.y is None:
        return np.empty((0, K))
    columns = [part.design.dot(part.own(beta)) + intercept for beta, intercept in model.problems]
    return np.hstack(columns)[part.folds == model.fold]


class Additions(NamedTuple):
    """Which predictors are added to the held-out rows, and which are no longer needed."""

    models: tuple[tuple[tuple[int, int], ...], ...]  # key and fold, one sequence per part that follows
    released: frozenset[int]


def extend(parts: Sequence[Any], additions: Additions) -> list[HeldOutRows]:
    """Return held-out rows with more predictors, given these rows and then what ``predict`` returned."""
    group, *predicted = parts
    found = []
    for number, rows in enumerate(group):
        eta = {key: values for key, values in rows.eta.items() if key not in additions.released}
        new = set()
        for own, models in zip(predicted, additions.models, strict=True):
            for values, (key, fold) in zip(own[number], models, strict=True):
                if key not in new:
                    new.add(key)
                    K = values.shape[1]
                    eta[key] = eta[key].copy() if key in eta else np.full((len(rows.y), K), np.nan)
                eta[key][rows.folds == fold] = values
        found.append(rows._replace(eta=eta))
    return found


class BlendLoss(NamedTuple):
    """Loss of the rows of the first folds, with its derivatives by the factors of a blend.

    Numbers are the value, the gradient and the Hessian.
    """

    key: int
    stop: int
    calibrate: bool  # whether the first factor is that of the predictors; else these have factor 1
    spread: float  # of naive Bayes' predictors, whose factor is the last; 0 if they are not added
    factors: Sequence[float]

    def of(self, part: HeldOutRows) -> Sums:
        """Return the share of a partition."""
        rows, P = part.first(self.stop), len(self.factors)
        if not len(rows):
            return no_features(np.zeros(1 + P + P * P))
        eta, nu = part.eta[self.key][rows], part.eta[NAIVE_BAYES][rows] if self.spread else None
        blended = BlendedRows(
            eta, nu, part.y[rows], part.weights[rows], calibrate=self.calibrate, spread=self.spread
        )
        value, gradient, hessian = blended.loss(self.factors)
        return no_features([value, *gradient, *chain.from_iterable(hessian)])


def quadratic_of(numbers: np.ndarray, P: int) -> Quadratic:
    """Return the loss and its derivatives by P factors, given the numbers of ``BlendLoss``."""
    return Quadratic(float(numbers[0]), numbers[1 : 1 + P].tolist(), numbers[1 + P :].reshape(P, P).tolist())


class Spread(NamedTuple):
    """The squares of naive Bayes' predictors, less the mean of each row, and how many there are."""

    stop: int

    def of(self, part: HeldOutRows) -> Sums:
        """Return the share of a partition."""
        rows = part.first(self.stop)
        if not len(rows):
            return no_features([0.0, 0.0])
        nu = all_classes(part.eta[NAIVE_BAYES][rows])
        return no_features([float(((nu - nu.mean(axis=1, keepdims=True)) ** 2).sum()), float(nu.size)])


class Scoring(NamedTuple):
    """How rows are scored."""

    name: str | None  # of ``ROW_SCORERS``
    softmax: bool  # whether the probabilities of several classes are softmax(η)

    def predictors(self, part: HeldOutRows, rows: np.ndarray, key: int, blend: Blend) -> np.ndarray:
        """Return what a row scorer takes for some rows, predicted by a blended candidate."""
        nu = part.eta[NAIVE_BAYES][rows] if blend.naive_bayes else None
        return softmax_predictors(blend(part.eta[key][rows], nu), softmax=self.softmax)

    def of_rows(self, part: HeldOutRows, rows: np.ndarray, key: int, blend: Blend) -> np.ndarray:
        """Return the score of some rows by a blended candidate; shape (n,)."""
        return ROW_SCORERS[self.name](self.predictors(part, rows, key, blend), part.y[rows])


class ScoresByFold(NamedTuple):
    """The weighted sum of the scores of each of the first folds, and its number of correct predictions."""

    key: int
    blend: Blend
    stop: int
    scoring: Scoring

    def of(self, part: HeldOutRows) -> Sums:
        """Return the share of a partition; numbers are (2, folds)."""
        rows = part.first(self.stop)
        if not len(rows):
            return no_features(np.zeros(2 * self.stop))
        eta = self.scoring.predictors(part, rows, self.key, self.blend)
        y, folds = part.y[rows], part.folds[rows]
        scores = part.sample_weights[rows] * ROW_SCORERS[self.scoring.name](eta, y)
        hits = ROW_SCORERS["accuracy"](eta, y)
        return no_features(
            np.concatenate([np.bincount(folds, column, minlength=self.stop) for column in (scores, hits)])
        )


class Moments(NamedTuple):
    """Sums over the rows of the first folds of s d, s², s² d and s² d².

    d is the difference between the scores of two candidates, or the score of one; s is the share of a row in
    the mean score.
    """

    key: int
    blend: Blend
    leader: tuple[int, Blend] | None
    shares: np.ndarray  # s of a row of weight 1, by fold; as many as there are first folds
    scoring: Scoring

    def of(self, part: HeldOutRows) -> Sums:
        """Return the share of a partition."""
        rows = part.first(len(self.shares))
        if not len(rows):
            return no_features(np.zeros(4))
        d = self.scoring.of_rows(part, rows, self.key, self.blend)
        if self.leader is not None:
            d = self.scoring.of_rows(part, rows, *self.leader) - d
        s = part.sample_weights[rows] * self.shares[part.folds[rows]]
        return no_features([float(s @ d), float(s @ s), float((s * s) @ d), float((s * s) @ (d * d))])


def mean_and_error(numbers: np.ndarray) -> tuple[float, float]:
    """Return the mean and its standard error, given the numbers of ``Moments``.

    Examples
    --------
    >>> s, d = np.full(100, 0.01), np.array([1.0, -1.0] * 50)
    >>> mean_and_error(np.array([s @ d, s @ s, s**2 @ d, s**2 @ d**2]))
    (0.0, 0.1)
    """
    mean, s2, s2d, s2d2 = map(float, numbers)
    return mean, float(np.sqrt(max(s2d2 - 2.0 * mean * s2d + mean * mean * s2, 0.0)))


def score_rows(rows: Rows, model: Any) -> tuple[float, float]:
    """Return the weighted sum of the scores of a partition by a fitted model, and the sum of its weights."""
    checked = check_rows(rows, Requirements("labels"))
    if not len(checked.weights):
        return 0.0, 0.0
    assert checked.y is not None
    with naming(checked.name):
        y = class_numbers(checked.y, model.classes_)
        scores = ROW_SCORERS[model.scoring](model.predict_log_proba(checked.X), y)
    return float(checked.weights @ scores), float(checked.weights.sum())


def add_scores(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """Return the sums of two groups of partitions."""
    return a[0] + b[0], a[1] + b[1]
