"""What a client asks of all partitions: each request is a sum over rows.

A round answers a list of requests, of one problem or of several.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from dropglm.design import AnyDesign
from dropglm.noise import NO_NOISE
from dropglm.objective.objective import term_of
from dropglm.partitions.prepared import Prepared, Target
from dropglm.partitions.sums import Sums, add_sums, no_features, sums_of


class Request(Protocol):
    """A sum over rows."""

    def of(self, part: Any) -> Sums:
        """Return the share of a partition."""


def answer(group: Sequence[Any], requests: Sequence[Request]) -> list[Sums]:
    """Return the shares of a group of partitions in the answers to all requests."""
    with np.errstate(over="ignore", invalid="ignore"):  # the solver sees what is not finite
        return [reduce(add_sums, map(request.of, group)) for request in requests]


class Evaluate(NamedTuple):
    """Value and gradient of a problem: numbers are f and ∂f/∂b, values ∂f/∂β.

    With a mean row x̄, the diagonal of the Fisher information follows: that of b among the numbers, that of β
    as further columns of the values. A feature that a partition does not have differs from its mean even so
    and has the curvature p x̄_j², with p = Σ_i w_i A''(η_i) over the rows of such partitions. The last numbers
    are p, and the client adds this curvature.
    """

    target: Target
    beta: np.ndarray  # (d, K)
    intercept: np.ndarray  # (K,)
    mean: np.ndarray | None = None  # x̄, (d,)

    def of(self, part: Prepared) -> Sums:
        """Return the share of a partition."""
        block, (d, K) = part.block(self.target), self.beta.shape
        if block is None:
            numbers, columns = (1 + K, K) if self.mean is None else (1 + 3 * K, 2 * K)
            return _nothing(numbers, (d, columns), self.beta.dtype)
        term = term_of(block, self.target.family, self.target.penalty)
        share = term.at(part.own(self.beta), self.intercept)
        numbers, values = [[share.value], share.by_intercept], share.by_beta
        if self.mean is not None:
            centre = part.own(self.mean)
            spread, w_A2 = term.fisher(share, centre)
            p = np.zeros(K) if part.places is None else w_A2
            numbers += [w_A2, p]
            values = np.hstack([values, spread - differs_from_mean(p, centre)])
        return sums_of(np.concatenate(numbers), values, part.places, d)


def differs_from_mean(p: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return p_k x̄_j², the curvature of features in rows that do not have them; shape (d, K)."""
    return (np.square(mean, dtype=np.float64)[:, None] * p).astype(mean.dtype)


class MeanRow(NamedTuple):
    """Weighted sum of the labelled rows, without those that a fold holds out."""

    d: int
    dtype: np.dtype
    fold: int | None = None

    def of(self, part: Prepared) -> Sums:
        """Return the share of a partition."""
        if part.y is None:
            return _nothing(0, (self.d, 1), self.dtype)
        total = part.design.transposed_dot(part.weights_without(self.fold)[:, None])
        return sums_of(np.empty(0), total, part.places, self.d)


class ClassCounts(NamedTuple):
    """Sums of each feature over the rows of each class and over the others, as naive Bayes needs them.

    Labelled rows count unless coefficients are given; then unlabelled rows count, with predicted labels.
    """

    target: Target
    shape: tuple[int, int]  # (d, K)
    dtype: np.dtype
    coefficients: tuple[np.ndarray, np.ndarray] | None = None

    def of(self, part: Prepared) -> Sums:
        """Return the share of a partition."""
        d, K = self.shape
        counted = (part.y is not None) == (self.coefficients is None)
        if not counted:
            return _nothing(0, (d, 2 * K), self.dtype)
        if self.coefficients is None:
            y = part.target(self.target)
        else:
            beta, intercept = self.coefficients
            y = self.target.family.mean(_predictors(part.design, part.own(beta)) + intercept)
        weights = part.weights if part.y is None else part.weights_without(self.target.fold)
        both = weights[:, None] * np.hstack([y, 1.0 - y])
        return sums_of(np.empty(0), part.design.transposed_dot(both), part.places, d)


class ClassTotals(NamedTuple):
    """Sums of each feature over the labelled rows of each class, without those that a fold holds out."""

    d: int
    dtype: np.dtype
    fold: int | None = None

    def of(self, part: Prepared) -> Sums:
        """Return the share of a partition."""
        if part.y is None:
            return _nothing(0, (self.d, part.K), self.dtype)
        indicators = (part.y[:, None] == np.arange(part.K)).astype(np.float64)
        totals = part.design.transposed_dot(part.weights_without(self.fold)[:, None] * indicators)
        return sums_of(np.empty(0), totals, part.places, self.d)


class WeightsByFold(NamedTuple):
    """The weights of the labelled rows of each class that each fold holds out; numbers are (folds, K)."""

    folds: int

    def of(self, part: Prepared) -> Sums:
        """Return the share of a partition."""
        found = np.zeros((self.folds, part.K))
        if part.y is not None and part.folds is not None:
            held_out = part.folds >= 0
            np.add.at(found, (part.folds[held_out], part.y[held_out]), part.weights[held_out])
        return no_features(found.ravel())


class Misclassified(NamedTuple):
    """The number of labelled rows that a problem's coefficients classify incorrectly."""

    target: Target
    beta: np.ndarray
    intercept: np.ndarray

    def of(self, part: Prepared) -> Sums:
        """Return the share of a partition."""
        if part.y is None:
            return no_features([0.0])
        y, eta = part.target(self.target), _predictors(part.design, part.own(self.beta)) + self.intercept
        if self.target.family.several:
            return no_features([float((eta.argmax(axis=1) != y.argmax(axis=1)).sum())])
        return no_features([float(((eta > 0)[:, 0] != y[:, 0]).sum())])


class SignedSums(NamedTuple):
    """Sums of each feature over the labelled rows, with and without the sign of the row's class."""

    target: Target
    d: int
    dtype: np.dtype

    def of(self, part: Prepared) -> Sums:
        """Return the share of a partition."""
        if part.y is None:
            return _nothing(0, (self.d, 2), self.dtype)
        side = 2.0 * part.target(self.target) - 1.0
        both = part.design.transposed_dot(np.hstack([side, np.ones_like(side)]))
        return sums_of(np.empty(0), both, part.places, self.d)


def _predictors(design: AnyDesign, beta: np.ndarray) -> np.ndarray:
    """Return Xβ; shape (n, K).

    One set of coefficients goes through the columns, which an evaluation reads as well: rows that are stored
    only for this would double the memory of a partition.
    """
    return NO_NOISE.moments(design, beta[:, 0])[0][:, None] if beta.shape[1] == 1 else design.dot(beta)


def _nothing(numbers: int, shape: tuple[int, int], dtype: np.dtype) -> Sums:
    """Return the share of a partition without rows that count."""
    return Sums(np.zeros(numbers), np.zeros((0, shape[1]), dtype), np.zeros(0, np.int32), shape[0])
