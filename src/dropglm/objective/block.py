"""Rows with their labels and weights: what the objective sums over."""

from dataclasses import dataclass

import numpy as np

from dropglm.design import Design


@dataclass(frozen=True)
class Labels:
    """What the loss needs of a block."""

    y: np.ndarray  # (n, K); indicators of the classes for the multinomial family
    weights: np.ndarray  # w, (n,)


@dataclass(frozen=True)
class Block:
    """Rows of features; a row's loss has the weight w, its penalty the weight π."""

    design: Design
    penalty_weights: np.ndarray  # π, (n,)
    labels: Labels | None = None


def semi_supervised(labeled: Block, unlabeled: Block | None, discount: float) -> list[Block]:
    """The blocks of loss + n/(n+αm) (R + α R_unlabelled), α the discount, n and m the two sums of weights.

    The penalty's factors become weights: π = n/(n+αm) for labelled rows and α n/(n+αm) for the others.
    """
    if unlabeled is None or discount == 0.0:
        return [labeled]
    n, m = labeled.penalty_weights.sum(), unlabeled.penalty_weights.sum()
    share = n / (n + discount * m)
    return [
        Block(labeled.design, share * labeled.penalty_weights, labeled.labels),
        Block(unlabeled.design, share * discount * unlabeled.penalty_weights),
    ]
