"""How l2 is spread over the features: λ_j = λ · weight_j.

``L2_WEIGHTS`` turns a name into an ``L2Weights``.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from dropglm import checks
from dropglm.blocks import PerBlock, values_by_block
from dropglm.design import AnyDesign
from dropglm.estimators.features import Features
from dropglm.estimators.warning import stacklevel
from dropglm.registry import lookup

# Log ratios closer to 0 than this are replaced by it, so no weight exceeds 10,000.
SMALLEST_LOG_RATIO = 0.01


class LabeledRows(NamedTuple):
    """Rows with labels, which may be predicted probabilities."""

    design: AnyDesign
    y: np.ndarray  # (n, K)
    weights: np.ndarray  # (n,)


@dataclass(frozen=True)
class L2Weights:
    """A rule for the weights of l2.

    Attributes
    ----------
    compute : callable
        Returns the weights, of shape (d, K), given a list of ``LabeledRows`` that starts with the labelled
        rows.
    counts_unlabeled : bool
        Whether a second fit uses weights that also count the unlabelled rows, with the labels that the first
        fit predicts.
    left_out : frozenset of int
        Numbers of the blocks of features that are left out of the model.
    """

    compute: Callable[[Sequence[LabeledRows]], np.ndarray]
    counts_unlabeled: bool = False
    left_out: frozenset[int] = frozenset()


def uniform(rows: Sequence[LabeledRows]) -> np.ndarray:
    """Return 1 for every feature."""
    design, y, _ = rows[0]
    return np.ones((design.shape[1], y.shape[1]), design.dtype)


def naive_bayes(rows: Sequence[LabeledRows]) -> np.ndarray:
    """Return 1/r_j², where r_j is the log ratio of a feature's frequencies in the class and in the others.

    Frequencies are smoothed by adding one, as in NB-SVM (Wang and Manning 2012), which scales features by
    r_j. With predicted labels the added count grows with the total weight, so that more rows are smoothed
    equally. As a prior, this is a separate l2 for each feature; the dropout penalty does not change when
    features are scaled.
    """
    if any(part.design.smallest < 0.0 for part in rows):
        raise ValueError("Naive-Bayes l2_weights need non-negative features; use l2_weights='uniform'.")
    # Counts in the classes and in the others, in one pass.
    both = [part.weights[:, None] * np.hstack([part.y, 1.0 - part.y]) for part in rows]
    counts = sum(part.design.transposed_dot(weighted) for part, weighted in zip(rows, both, strict=True))
    in_class, in_others = np.hsplit(np.asarray(counts), 2)
    smoothing = sum(part.weights.sum() for part in rows) / rows[0].weights.sum()
    # Features that occur only in rows without weight or label are not part of the vocabulary.
    seen = in_class + in_others > 0.0
    smoothed = [np.where(seen, smoothing + part, 0.0) for part in (in_class, in_others)]
    frequencies = [part / part.sum(axis=0) for part in smoothed]
    r = np.log(np.where(seen, frequencies[0], 1.0)) - np.log(np.where(seen, frequencies[1], 1.0))
    return np.maximum(np.abs(r), SMALLEST_LOG_RATIO).astype(rows[0].design.dtype) ** -2


L2_WEIGHTS: dict[str, L2Weights] = {
    "uniform": L2Weights(uniform),
    "naive_bayes": L2Weights(naive_bayes),
    "naive_bayes_unlabeled": L2Weights(naive_bayes, counts_unlabeled=True),
}


def l2_weights_from(given: Any, features: Features) -> L2Weights:
    """Return the rule of that name, the ``L2Weights`` itself, or a rule that returns the given weights."""
    if not isinstance(given, PerBlock):
        return _rule(given, features.order, features)
    values = values_by_block(given, features.block_count, "l2_weights")
    left_out = frozenset(number for number, value in enumerate(values) if _is_infinite(value))
    if len(left_out) == len(values):
        raise ValueError("l2_weights leaves out every block; give at least one block a finite weight.")
    rules = {
        number: _rule(value, features.orders[number], features, features.widths[number])
        for number, value in enumerate(values)
        if number not in left_out
    }

    def compute(rows: Sequence[LabeledRows]) -> np.ndarray:
        weights = []
        for place, block in enumerate(rows[0].design.blocks):
            rule = rules[block.number]
            counted = rows if rule.counts_unlabeled else rows[:1]
            weights.append(
                rule.compute([part._replace(design=part.design.blocks[place].design) for part in counted])
            )
        return np.concatenate(weights)

    counts_unlabeled = any(rule.counts_unlabeled for rule in rules.values())
    return L2Weights(compute, counts_unlabeled, left_out)


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


def _is_infinite(value: Any) -> bool:
    return isinstance(value, Real) and value == np.inf


def _rule(given: Any, order: np.ndarray, features: Features, width: int | None = None) -> L2Weights:
    """Return the rule for the features in this order, of all features or of a block of that width."""
    if isinstance(given, str):
        found = lookup(L2_WEIGHTS, given, "l2_weights")
        if found.counts_unlabeled and features.unlabeled is None:
            warnings.warn(
                f"l2_weights={given!r} without X_unlabeled is the same as 'naive_bayes'.",
                UserWarning,
                stacklevel=stacklevel(),
            )
        return found
    if isinstance(given, L2Weights):
        return given
    if given is None:
        raise TypeError("l2_weights must be a name, an array or an L2Weights, got None.")
    weights = checks.numbers(given, "l2_weights")
    d, columns = (features.d, "X") if width is None else (width, "the block")
    if isinstance(given, Real):
        weights = np.full(d, weights[0])
    if weights.shape != (d,):
        raise ValueError(f"l2_weights has shape {weights.shape}, but {columns} has {d} columns.")
    if (weights < 0).any():
        raise ValueError(
            f"l2_weights must not be negative, but that of feature {int(np.argmin(weights))} is."
        )
    selected = weights[order, None].astype(features.labeled.dtype)
    return L2Weights(lambda rows: np.repeat(selected, rows[0].y.shape[1], axis=1))
