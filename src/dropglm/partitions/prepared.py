"""A partition that is ready for the loops of a fit."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.blocks import Blocks
from dropglm.design import AnyDesign, BlockDesign, Design
from dropglm.estimators.validation import class_numbers
from dropglm.families import Family
from dropglm.objective import Block, Labels
from dropglm.partitions.folds import RowFolds
from dropglm.partitions.rows import CheckedRows, naming
from dropglm.penalties import Penalty


class Plan(NamedTuple):
    """What the client has decided after the survey."""

    orders: tuple[np.ndarray, ...]  # of each block: the features of the fit, in the order of the coefficients
    left_out: frozenset[int]  # numbers of blocks that are not part of the model
    in_blocks: bool
    dtype: np.dtype
    classes: np.ndarray | None  # None for targets that are not classes
    class_factors: np.ndarray | None  # factor of the weights of each class
    every_feature: bool  # whether partitions need features that they do not have, as for additive noise
    by_columns: bool  # whether to sort the entries by columns, which takes as long as ten evaluations
    folds: RowFolds | None = None  # of a cross-validation


class Target(NamedTuple):
    """What one of the problems that share the partitions predicts, and from which rows it learns."""

    family: type[Family]
    penalty: Penalty | None
    number: int | None = None  # of the class that is fitted against the rest; None for targets as they are
    labeled_share: float = 1.0  # factors of the penalty of labelled and of unlabelled rows
    unlabeled_share: float = 0.0
    fold: int | None = None  # whose held-out rows are left out


class Prepared(NamedTuple):
    """The rows of a partition over its own features."""

    design: AnyDesign
    places: np.ndarray | None  # of its features among the coefficients, ascending; None if it has all
    y: np.ndarray | None  # class numbers or targets
    weights: np.ndarray
    K: int  # number of classes, 0 for targets that are not classes
    folds: np.ndarray | None = None  # which fold holds out each row, or -1; None without cross-validation

    def weights_without(self, fold: int | None) -> np.ndarray:
        """Return the weights of the rows, 0 for those that a fold holds out."""
        if fold is None or self.folds is None:
            return self.weights
        return np.where(self.folds == fold, 0.0, self.weights)

    def own(self, values: np.ndarray) -> np.ndarray:
        """Return the rows of an array that belong to the partition's own features."""
        return values if self.places is None else np.ascontiguousarray(values[self.places])

    def target(self, target: Target) -> np.ndarray:
        """Return y as a problem sees it; shape (n, K)."""
        assert self.y is not None
        if not self.K:
            return self.y[:, None]
        if target.number is not None:
            return (self.y == target.number).astype(np.float64)[:, None]
        return (self.y[:, None] == np.arange(self.K)).astype(np.float64)

    def block(self, target: Target) -> Block | None:
        """Return the rows as a summand of a problem's objective, or None if they are not part of it."""
        if self.y is not None:
            weights = self.weights_without(target.fold)
            return Block(self.design, target.labeled_share * weights, Labels(self.target(target), weights))
        if target.penalty is None or not target.unlabeled_share:
            return None
        return Block(self.design, target.unlabeled_share * self.weights)


def prepare(group: Sequence[CheckedRows], plan: Plan) -> list[Prepared]:
    """Return partitions with their own features in the plan's order.

    Labelled partitions are joined to one, and so are unlabelled ones: a loop over the columns of one long
    matrix is faster than over those of several short ones, and every result needs memory.
    """
    alike: dict[tuple[bool, ...], list[CheckedRows]] = {}
    for rows in group:
        alike.setdefault((rows.y is not None, *map(sparse.issparse, _blocks(rows.X))), []).append(rows)
    return [_prepare(several, plan) for several in alike.values()]


def _prepare(several: Sequence[CheckedRows], plan: Plan) -> Prepared:
    y, weights, folds = (
        _joined(arrays) for arrays in zip(*(_targets(rows, plan) for rows in several), strict=True)
    )
    designs, numbers, places, start = [], [], [], 0
    by_block = zip(*(_blocks(rows.X) for rows in several), strict=True)
    for number, (blocks, order) in enumerate(zip(by_block, plan.orders, strict=True)):
        if number in plan.left_out:
            continue
        design, own = _design(_joined(blocks), order, plan)
        designs.append(design)
        numbers.append(number)
        places.append(start + own)
        start += len(order)
    joined = np.concatenate(places)
    return Prepared(
        BlockDesign(designs, numbers) if plan.in_blocks else designs[0],
        None if len(joined) == start else joined.astype(np.int32 if start < 2**31 else np.int64),
        y,
        weights,
        0 if plan.classes is None else len(plan.classes),
        folds,
    )


def _targets(rows: CheckedRows, plan: Plan) -> tuple[np.ndarray | None, np.ndarray, np.ndarray | None]:
    """Return y as the fit needs it, the weights, and the folds."""
    y, weights, folds = rows.y, rows.weights, None
    if y is not None and plan.classes is not None:
        with naming(rows.name):
            y = class_numbers(y, plan.classes)
        if plan.class_factors is not None:
            weights = weights * plan.class_factors[y]
        if plan.folds is not None:
            folds = plan.folds.of(rows.number, y)
    return y, weights, folds


def _blocks(X: Any) -> Sequence[Any]:
    return X.blocks if isinstance(X, Blocks) else (X,)


def _joined(parts: Sequence[Any]) -> Any:
    """Return vectors or matrices one below the other; None if there are none."""
    if len(parts) == 1 or parts[0] is None:
        return parts[0]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def _design(block: Any, order: np.ndarray, plan: Plan) -> tuple[Design, np.ndarray]:
    """Return a design of the features that occur in the block, and their places in the order."""
    if not sparse.issparse(block):
        X = np.ascontiguousarray(block, dtype=plan.dtype)
        places = np.arange(len(order))
    elif plan.every_feature:
        X, places = sparse.csr_array(block, dtype=plan.dtype), np.arange(len(order))
    else:
        X = sparse.csr_array(block, dtype=plan.dtype)
        occurs = np.zeros(X.shape[1], np.bool_)
        occurs[X.indices] = True
        places = np.flatnonzero(occurs[order])
    design = Design(X, order=order[places])
    return design.by_columns() if plan.by_columns else design, places
