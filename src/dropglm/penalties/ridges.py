"""How the ridge is spread over the features: λ_j = λ · weight_j.

``RIDGES`` turns a name into a ``Ridge``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dropglm.design import Design

# Log ratios nearer to 0 than this are taken as this: no feature's ridge exceeds 10,000 λ.
FLOOR = 0.01


class Counted(NamedTuple):
    """Rows whose labels are known, or guessed as probabilities."""

    design: Design
    y: np.ndarray  # (n, K)
    weights: np.ndarray  # (n,)


@dataclass(frozen=True)
class Ridge:
    """A way to spread the ridge.

    Attributes
    ----------
    spread : callable
        The weights, (d, K), from blocks of rows, the labelled ones first.
    counts_unlabeled : bool
        Whether a second fit is to take weights in which unlabelled rows count too, with the labels that the
        first fit guesses.
    """

    spread: Callable[[Sequence[Counted]], np.ndarray]
    counts_unlabeled: bool = False


def uniform(blocks: Sequence[Counted]) -> np.ndarray:
    """The same for all features."""
    design, y, _ = blocks[0]
    return np.ones((design.shape[1], y.shape[1]), design.dtype)


def naive_bayes(blocks: Sequence[Counted]) -> np.ndarray:
    """The weights 1/r_j², r_j the log ratio of a feature's frequencies in the class and in the others.

    Frequencies are smoothed by adding one, as in NB-SVM (Wang and Manning 2012), which scales features by
    r_j; with further blocks by adding what one is to the first block's weight, so that more rows are not
    smoothed less. Seen as a prior that is a ridge of its own for each feature; the dropout penalty does not
    change when features are scaled.
    """
    if any(block.design.smallest < 0.0 for block in blocks):
        raise ValueError("A naive-Bayes ridge needs features that are not negative; use 'uniform'.")
    own = sum(block.design.transposed_dot(block.weights[:, None] * block.y) for block in blocks)
    other = sum(block.design.transposed_dot(block.weights[:, None] * (1.0 - block.y)) for block in blocks)
    more = sum(block.weights.sum() for block in blocks) / blocks[0].weights.sum()
    # Features of rows without a weight or a label are no part of the vocabulary.
    seen = own + other > 0.0
    frequencies = [np.where(seen, more + counts, 0.0) for counts in (own, other)]
    shares = [counts / counts.sum(axis=0) for counts in frequencies]
    r = np.log(np.where(seen, shares[0], 1.0)) - np.log(np.where(seen, shares[1], 1.0))
    return np.maximum(np.abs(r), FLOOR).astype(blocks[0].design.dtype) ** -2


RIDGES: dict[str, Ridge] = {
    "uniform": Ridge(uniform),
    "naive_bayes": Ridge(naive_bayes),
    "naive_bayes_unlabeled": Ridge(naive_bayes, counts_unlabeled=True),
}
