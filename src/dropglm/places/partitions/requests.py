"""What a client asks of all partitions: sums over rows, or numbers of each labelled row.

A round answers a list of requests, of one problem or of several.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from dropglm.core.families import Family, Multinomial
from dropglm.core.noise import NO_NOISE
from dropglm.core.objective import Coefficients, term_of
from dropglm.core.predictions import all_classes
from dropglm.places.partitions.prepared import Prepared, Target
from dropglm.places.partitions.sums import Answer, RowValues, Sums, add_answers, sums_of


class Request(Protocol):
    """A sum over rows, or numbers of rows."""

    def of(self, part: Any) -> Answer:
        """Return the share of a partition."""


def answer(group: Sequence[Any], requests: Sequence[Request]) -> list[Answer]:
    """Return the shares of a group of partitions in the answers to all requests."""
    with np.errstate(over="ignore", invalid="ignore"):  # the solver sees what is not finite
        return [reduce(add_answers, map(request.of, group)) for request in requests]


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
        part = part.without(self.target.left_out)
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


class Predictors(NamedTuple):
    """Xβ of the labelled rows that a fold holds out, or of all labelled rows."""

    beta: np.ndarray  # (d, K)
    fold: int | None = None
    left_out: frozenset[int] = frozenset()

    def of(self, part: Prepared) -> RowValues:
        """Return the predictors of a partition's rows."""
        if part.y is None or part.rows is None:
            return RowValues(np.empty(0, np.intp), np.empty((0, self.beta.shape[1])))
        rows, eta = part.rows, _predictors(part.without(self.left_out), self.beta)
        if self.fold is None:
            return RowValues(rows, eta)
        assert part.folds is not None
        held_out = part.folds.held_out[self.fold]
        return RowValues(rows[held_out], eta[held_out])


# Returns R of shape (n, C) for the rows of a partition, or None if these do not count.
Columns = Callable[[Prepared], np.ndarray | None]


class Totals(NamedTuple):
    """XᵀR for columns R that the partitions compute from their labels, weights and predictors."""

    columns: Columns
    shape: tuple[int, int]  # (d, C)
    dtype: np.dtype
    left_out: frozenset[int] = frozenset()

    def of(self, part: Prepared) -> Sums:
        """Return the share of a partition."""
        part = part.without(self.left_out)
        R = self.columns(part)
        if R is None:
            return _nothing(0, self.shape, self.dtype)
        return sums_of(np.empty(0), part.design.transposed_dot(R), part.places, self.shape[0])


def weight_column(fold: int | None) -> Columns:
    """Return the columns of the mean row: the weights of labelled rows in the fits to a fold."""
    return partial(_weight_column, fold=fold)


def _weight_column(part: Prepared, fold: int | None) -> np.ndarray | None:
    return None if part.y is None else part.weights_of(fold)[:, None]


def class_columns(fold: int | None) -> Columns:
    """Return one column per class, with the weights of its labelled rows in the fits to a fold."""
    return partial(_class_columns, fold=fold)


def _class_columns(part: Prepared, fold: int | None) -> np.ndarray | None:
    return None if part.y is None else part.weights_of(fold)[:, None] * part.target(None)


def target_columns(number: int | None, fold: int | None, *, weighted: bool) -> Columns:
    """Return the columns w y and w (1 - y) of labelled rows, as naive Bayes counts them."""
    return partial(_target_columns, number=number, fold=fold, weighted=weighted)


def _target_columns(
    part: Prepared, number: int | None, fold: int | None, weighted: bool
) -> np.ndarray | None:
    if part.y is None:
        return None
    weights, y = part.weights_of(fold), part.target(number)
    return (weights if weighted else weights > 0.0)[:, None] * np.hstack([y, 1.0 - y])


def predicted_columns(family: type[Family], model: Coefficients) -> Columns:
    """Return the columns w p and w (1 - p) of unlabelled rows, with predicted p."""
    return partial(_predicted_columns, family=family, model=model)


def _predicted_columns(part: Prepared, family: type[Family], model: Coefficients) -> np.ndarray | None:
    if part.y is not None:
        return None
    p = family.mean(_predictors(part, model[0]) + model[1])
    return part.weights[:, None] * np.hstack([p, 1.0 - p])


def predicted_classes(model: Coefficients) -> Columns:
    """Return one column per class, the weights of unlabelled rows times its predicted probability."""
    return partial(_predicted_classes, model=model)


def _predicted_classes(part: Prepared, model: Coefficients) -> np.ndarray | None:
    eta = _predictors(part, model[0]) + model[1]
    return part.weights[:, None] * Multinomial.mean(all_classes(eta))


def _predictors(part: Prepared, beta: np.ndarray) -> np.ndarray:
    """Return Xβ; shape (n, K).

    One set of coefficients goes through the columns, which an evaluation reads as well: rows that are stored
    only for this would double the memory of a partition.
    """
    own = part.own(beta)
    return NO_NOISE.moments(part.design, own[:, 0])[0][:, None] if own.shape[1] == 1 else part.design.dot(own)


def _nothing(numbers: int, shape: tuple[int, int], dtype: np.dtype) -> Sums:
    """Return the share of a partition without rows that count."""
    return Sums(np.zeros(numbers), np.zeros((0, shape[1]), dtype), np.zeros(0, np.int32), shape[0])
