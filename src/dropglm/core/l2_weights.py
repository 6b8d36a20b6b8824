"""How l2 is spread over the features: λ_j = λ · weight_j.

``L2_WEIGHTS`` turns a name into an ``L2Weights``.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from numbers import Real
from operator import add
from typing import Any, NamedTuple, Protocol

import numpy as np

from dropglm.base import checks
from dropglm.base.blocks import PerBlock, values_by_block
from dropglm.base.errors import InputError, InputTypeError, stacklevel
from dropglm.base.gpu_arrays import concatenate
from dropglm.base.registry import lookup
from dropglm.core.design import AnyDesign
from dropglm.core.features import AnyFeatures

# Log ratios closer to 0 than this are replaced by it, so no weight exceeds 10,000.
SMALLEST_LOG_RATIO = 0.01


class NaiveBayesCounts(Protocol):
    """Rows with labels, which may be predicted probabilities, as far as the weights of l2 depend on them."""

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of features and of classes."""

    @property
    def dtype(self) -> np.dtype:
        """The type of the features."""

    @property
    def weight(self) -> float:
        """The sum of the rows' weights."""

    @property
    def smallest(self) -> float:
        """The smallest entry, or 0 if no entry is negative."""

    @property
    def block_numbers(self) -> Sequence[int]:
        """The number of each block of features."""

    def counts(self) -> np.ndarray:
        """Return the sums of each feature over the rows of each class and over the others; (d, 2K)."""

    def block(self, place: int) -> "NaiveBayesCounts":
        """Return the rows with the features of one block."""


class CountsInMemory(NamedTuple):
    """Rows with labels in memory."""

    design: AnyDesign
    y: np.ndarray  # (n, K)
    weights: np.ndarray  # (n,)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of features and of classes."""
        return self.design.shape[1], self.y.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The type of the features."""
        return self.design.dtype

    @property
    def weight(self) -> float:
        """The sum of the rows' weights."""
        return float(self.weights.sum())

    @property
    def smallest(self) -> float:
        """The smallest entry, or 0 if no entry is negative."""
        return self.design.smallest

    @property
    def block_numbers(self) -> Sequence[int]:
        """The number of each block of features."""
        return [block.number for block in self.design.blocks]

    def counts(self) -> np.ndarray:
        """Return the sums of each feature over the rows of each class and over the others; (d, 2K)."""
        return self.design.transposed_dot(self.weights[:, None] * np.hstack([self.y, 1.0 - self.y]))

    def block(self, place: int) -> "CountsInMemory":
        """Return the rows with the features of one block."""
        return self._replace(design=self.design.blocks[place].design)


@dataclass(frozen=True)
class L2Weights:
    """A rule for the weights of l2.

    Attributes
    ----------
    compute : callable
        Returns the weights, of shape (d, K), given a list of ``NaiveBayesCounts`` that starts with those of
        the labelled rows.
    counts_unlabeled : bool
        Whether a second fit uses weights that also count the unlabelled rows, with the labels that the first
        fit predicts.
    left_out : frozenset of int
        Numbers of the blocks of features that are left out of the model.
    uses_labels : bool
        Whether the weights depend on the labels, and so differ between folds and classes.
    """

    compute: Callable[[Sequence[NaiveBayesCounts]], np.ndarray]
    counts_unlabeled: bool = False
    left_out: frozenset[int] = frozenset()
    uses_labels: bool = True


def uniform_weights(rows: Sequence[NaiveBayesCounts]) -> np.ndarray:
    """Return 1 for every feature."""
    return np.ones(rows[0].shape, rows[0].dtype)


def naive_bayes_weights(rows: Sequence[NaiveBayesCounts]) -> np.ndarray:
    """Return 1/r_j², where r_j is the log ratio of a feature's frequencies in the class and in the others.

    Frequencies are smoothed by adding one, as in NB-SVM (Wang and Manning 2012), which scales features by
    r_j. With predicted labels the added count grows with the total weight, so that more rows are smoothed
    equally. As a prior, this is a separate l2 for each feature; the dropout penalty does not change when
    features are scaled.
    """
    if any(part.smallest < 0.0 for part in rows):
        raise InputError("Naive-Bayes l2_weights need non-negative features; use l2_weights='uniform'.")
    in_class, in_others = np.hsplit(reduce(add, [part.counts() for part in rows]), 2)
    smoothing = sum(part.weight for part in rows) / rows[0].weight
    # Features that occur only in rows without weight or label are not part of the vocabulary.
    seen = in_class + in_others > 0.0
    smoothed = [np.where(seen, smoothing + part, 0.0) for part in (in_class, in_others)]
    frequencies = [part / part.sum(axis=0) for part in smoothed]
    r = np.log(np.where(seen, frequencies[0], 1.0)) - np.log(np.where(seen, frequencies[1], 1.0))
    return np.maximum(np.abs(r), SMALLEST_LOG_RATIO).astype(rows[0].dtype) ** -2


L2_WEIGHTS: dict[str, L2Weights] = {
    "uniform": L2Weights(uniform_weights, uses_labels=False),
    "naive_bayes": L2Weights(naive_bayes_weights),
    "naive_bayes_unlabeled": L2Weights(naive_bayes_weights, counts_unlabeled=True),
}


def l2_weights_from(given: Any, features: AnyFeatures) -> L2Weights:
    """Return the rule of that name, the ``L2Weights`` itself, or a rule that returns the given weights."""
    if not isinstance(given, PerBlock):
        return _rule(given, features)
    values = values_by_block(given, features.block_count, "l2_weights")
    left_out = frozenset(k for k, value in enumerate(values) if isinstance(value, Real) and value == np.inf)
    if len(left_out) == len(values):
        raise InputError("l2_weights leaves out every block; give at least one block a finite weight.")
    rules = {
        number: _rule(value, features, number)
        for number, value in enumerate(values)
        if number not in left_out
    }

    def compute(rows: Sequence[NaiveBayesCounts]) -> np.ndarray:
        weights = []
        for place, number in enumerate(rows[0].block_numbers):
            counted = rows if rules[number].counts_unlabeled else rows[:1]
            weights.append(rules[number].compute([part.block(place) for part in counted]))
        return concatenate(weights)

    counts_unlabeled = any(rule.counts_unlabeled for rule in rules.values())
    uses_labels = any(rule.uses_labels for rule in rules.values())
    return L2Weights(compute, counts_unlabeled, left_out, uses_labels)


def counts_unlabeled(given: Any) -> bool:
    """Return whether a value of l2_weights, or one value of a grid, has unlabelled rows counted."""
    if isinstance(given, str):
        return given in L2_WEIGHTS and L2_WEIGHTS[given].counts_unlabeled
    if isinstance(given, L2Weights):
        return given.counts_unlabeled
    values = given.values if isinstance(given, PerBlock) else given
    if isinstance(values, np.ndarray):
        values = values.tolist() if values.dtype.kind in "OU" else []
    return isinstance(values, (list, tuple)) and any(counts_unlabeled(value) for value in values)


def _checked(
    compute: Callable[[Sequence[NaiveBayesCounts]], np.ndarray], rows: Sequence[NaiveBayesCounts]
) -> np.ndarray:
    """Return the weights of a user's own rule, or raise an error about them."""
    weights = compute(rows)
    if np.shape(weights) != rows[0].shape:
        raise InputError(
            f"compute of an L2Weights must return an array of shape {rows[0].shape}, one row per feature, "
            f"got shape {np.shape(weights)}."
        )
    if not bool((np.isfinite(weights) & (weights >= 0.0)).all()):
        raise InputError("compute of an L2Weights must return weights that are finite and not negative.")
    return weights


def _rule(given: Any, features: AnyFeatures, block: int | None = None) -> L2Weights:
    """Return the rule for all features, or for the block of that number."""
    if isinstance(given, str):
        found = lookup(L2_WEIGHTS, given, "l2_weights")
        if found.counts_unlabeled and not features.some_unlabeled:
            warnings.warn(
                f"l2_weights={given!r} without X_unlabeled is the same as 'naive_bayes'.",
                UserWarning,
                stacklevel=stacklevel(),
            )
        return found
    if isinstance(given, L2Weights):
        return replace(given, compute=partial(_checked, given.compute))
    if given is None:
        raise InputTypeError("l2_weights must be a name, an array or an L2Weights, got None.")
    weights = checks.numbers(given, "l2_weights")
    d, columns = (features.d, "X") if block is None else (features.widths[block], "the block")
    if isinstance(given, Real):
        weights = np.full(d, weights[0])
    if weights.shape != (d,):
        raise InputError(f"l2_weights has shape {weights.shape}, but {columns} has {d} columns.")
    if (weights < 0).any():
        raise InputError(
            f"l2_weights must not be negative, but that of feature {int(np.argmin(weights))} is."
        )
    order = features.order if block is None else features.orders[block]
    selected = weights[order, None].astype(features.dtype)
    return L2Weights(lambda rows: np.repeat(selected, rows[0].shape[1], axis=1), uses_labels=False)
