"""A partition that is ready for the loops of a fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.core.design import AnyDesign, BlockDesign, Design
from dropglm.core.families import Family
from dropglm.core.objective import Labels, WeightedRows
from dropglm.core.penalties import Penalty
from dropglm.core.predictions import indicators
from dropglm.places.partitions.contents import CheckedRows, blocks_of
from dropglm.places.rows import with_total


class Plan(NamedTuple):
    """What the client has decided after the survey."""

    orders: tuple[np.ndarray, ...]  # of each block: the features of the fit, in the order of the coefficients
    in_blocks: bool
    dtype: np.dtype
    K: int  # number of classes, 0 for targets that are not classes
    multilabel: bool  # whether rows have any number of labels
    every_feature: bool  # whether partitions need features that they do not have, as for additive noise
    by_columns: bool  # whether to sort the entries by columns, which takes as long as ten evaluations


class LabeledRows(NamedTuple):
    """What the client knows of a partition's labelled rows: where they are, their labels and their folds."""

    first: int  # place among all labelled rows
    y: np.ndarray  # (n,): class numbers or targets
    weights: np.ndarray  # (n,): with those of the classes
    times: np.ndarray  # (folds, n): how often each row is trained on
    held_out: np.ndarray  # (folds, n): whether each row is held out
    membership: np.ndarray | None  # (K, n): how far each row belongs to each class; None if y says all


class Target(NamedTuple):
    """What one of the problems that share the partitions predicts, and from which rows it learns."""

    family: type[Family]
    penalty: Penalty | None
    number: int | None = None  # of the class that is fitted against the rest; None for targets as they are
    labeled_factor: float = 1.0  # factors of the penalty of labelled and of unlabelled rows
    unlabeled_factor: float = 0.0
    fold: int | None = None  # whose held-out rows are left out
    left_out: frozenset[int] = frozenset()  # blocks that are not part of the model


@dataclass(frozen=True, eq=False)
class PreparedPartition:
    """The rows of a partition over its own features."""

    design: AnyDesign
    places_by_block: tuple[np.ndarray, ...]  # of its features among those of each block of the design
    widths: tuple[int, ...]  # number of features of these blocks, in all partitions
    y: np.ndarray | None  # class numbers or targets; None for unlabelled rows
    weights: np.ndarray
    K: int  # number of classes, 0 for targets that are not classes
    multilabel: bool = False
    rows: np.ndarray | None = None  # places of the rows among all labelled rows
    known: LabeledRows | None = None
    _without: dict[frozenset[int], "PreparedPartition"] = field(default_factory=dict, repr=False)

    @cached_property
    def places(self) -> np.ndarray | None:
        """Places of its features among the coefficients, ascending; None if it has all of them."""
        starts = np.cumsum((0, *self.widths))
        joined = np.concatenate(
            [start + own for start, own in zip(starts, self.places_by_block, strict=False)]
        )
        if len(joined) == starts[-1]:
            return None
        return joined.astype(np.int32 if starts[-1] < 2**31 else np.int64)

    def without(self, left_out: frozenset[int]) -> "PreparedPartition":
        """Return the rows without the blocks of these numbers."""
        if not left_out:
            return self
        if left_out not in self._without:
            assert isinstance(self.design, BlockDesign)
            kept = [k for k, block in enumerate(self.design.blocks) if block.number not in left_out]
            self._without[left_out] = replace(
                self,
                design=self.design.without(left_out),
                places_by_block=tuple(self.places_by_block[k] for k in kept),
                widths=tuple(self.widths[k] for k in kept),
                _without={},
            )
        return self._without[left_out]

    def weights_of(self, fold: int | None) -> np.ndarray:
        """Return the weights of the labelled rows in the fits to a fold; None means all rows."""
        if fold is None:
            return self.weights
        assert self.known is not None
        return self.known.times[fold] * self.weights

    def own(self, values: np.ndarray) -> np.ndarray:
        """Return the rows of an array that belong to the partition's own features."""
        return values if self.places is None else np.ascontiguousarray(values[self.places])

    def target(self, number: int | None) -> np.ndarray:
        """Return y as the problem of a class against the rest sees it, or that of all; shape (n, K)."""
        assert self.y is not None
        if not self.K:
            return self.y[:, None]
        numbers = range(self.K) if number is None else [number]
        if self.known is None or self.known.membership is None:
            return indicators(self.y, numbers)
        return np.ascontiguousarray(self.known.membership[numbers].T)

    def class_columns(self) -> np.ndarray:
        """Return the columns of ``TrainingRows.class_columns``."""
        own = self.target(None)
        return with_total(own) if self.multilabel else own

    def block(self, target: Target) -> WeightedRows | None:
        """Return the rows as a summand of a problem's objective, or None if they are not part of it."""
        if self.y is not None:
            weights = self.weights_of(target.fold)
            labels = Labels(self.target(target.number), weights)
            return WeightedRows(self.design, target.labeled_factor * weights, labels)
        if target.penalty is None or not target.unlabeled_factor:
            return None
        return WeightedRows(self.design, target.unlabeled_factor * self.weights)


def prepare(group: Sequence[Any], plan: Plan) -> list[PreparedPartition]:
    """Return partitions with their own features in the plan's order.

    Labelled partitions are joined to one, and so are unlabelled ones: a loop over the columns of one long
    matrix is faster than over those of several short ones, and every result needs memory.

    Parameters
    ----------
    group : sequence
        ``CheckedRows``, each followed by its ``LabeledRows`` if it is labelled.
    plan : Plan
    """
    alike: dict[tuple[bool, ...], list[tuple[CheckedRows, LabeledRows | None]]] = {}
    for rows, known in zip_longest(group, group[1:]):
        if isinstance(rows, CheckedRows):
            kind = (rows.y is not None, *map(sparse.issparse, blocks_of(rows.X)))
            alike.setdefault(kind, []).append((rows, known if isinstance(known, LabeledRows) else None))
    return [_prepare(several, plan) for several in alike.values()]


def _prepare(several: Sequence[tuple[CheckedRows, LabeledRows | None]], plan: Plan) -> PreparedPartition:
    designs, places = [], []
    by_block = zip(*(blocks_of(rows.X) for rows, _ in several), strict=True)
    for blocks, order in zip(by_block, plan.orders, strict=True):
        design, own = _design(_joined(blocks), order, plan)
        designs.append(design)
        places.append(own)
    known = [own for _, own in several if own is not None]
    if known:
        parts: Any = list(zip(*known, strict=True))[1:]
        fields: Any = [None if own[0] is None else np.concatenate(own, -1) for own in parts]
        joined = LabeledRows(0, *fields)
        y, weights = joined.y, joined.weights
        row_places = np.concatenate([own.first + np.arange(len(own.y)) for own in known])
    else:
        y, weights, joined, row_places = None, _joined([rows.weights for rows, _ in several]), None, None
    return PreparedPartition(
        BlockDesign(designs) if plan.in_blocks else designs[0],
        tuple(places),
        tuple(map(len, plan.orders)),
        y,
        weights,
        plan.K,
        plan.multilabel,
        row_places,
        joined,
    )


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
