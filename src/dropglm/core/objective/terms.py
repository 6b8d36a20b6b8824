"""Blocks of rows, and the share of a block in the objective, for any family and penalty.

    f(β, b) = Σ_i w_i (A(η_i) - y_i η_i + A*(y_i)) + Σ_i π_i (E A(η̃_i) - A(η_i)),     η = Xβ + b

Where the penalty depends only on a row's η and s², ``row_term.py`` computes the same in fewer passes.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dropglm.core.design import AnyDesign
from dropglm.core.families import Family
from dropglm.core.noise import NO_NOISE
from dropglm.core.penalties import Penalty

# β of shape (d, K) and b of shape (K,), or one value for each of their entries
Coefficients = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Labels:
    """The labels of a block and their weights in the loss."""

    y: np.ndarray  # (n, K); indicators of the classes for the multinomial family
    weights: np.ndarray  # w, (n,)


def loss_constant(family: type[Family], labels: Labels) -> float:
    """Return Σ_i w_i A*(y_i), which makes the loss of a perfect fit 0."""
    y = labels.y if family.several else labels.y[:, 0]
    return float(np.sum(labels.weights * family.conjugate(y)))


@dataclass(frozen=True)
class Block:
    """Rows of features; the loss of a row has weight w, its penalty weight π."""

    design: AnyDesign
    penalty_weights: np.ndarray  # π, (n,)
    labels: Labels | None = None


def penalty_scales(n: Any, m: float, discount: Any) -> tuple[Any, Any]:
    """Return n/(n+αm) and α n/(n+αm), the factors of the penalty of labelled and of unlabelled rows.

    α is the discount, n and m are the sums of the weights of labelled and unlabelled rows. n and α are
    numbers, or arrays with one number per problem.
    """
    share = n / (n + discount * m)
    return share, share * discount


def semi_supervised(labeled: Block, unlabeled: Block | None, discount: float) -> list[Block]:
    """Return the blocks of loss + n/(n+αm) (R + α R_unlabelled), whose factors become the weights π."""
    if unlabeled is None or discount == 0.0:
        return [labeled]
    n, m = labeled.penalty_weights.sum(), unlabeled.penalty_weights.sum()
    labeled_factor, unlabeled_factor = penalty_scales(n, m, discount)
    return [
        Block(labeled.design, labeled_factor * labeled.penalty_weights, labeled.labels),
        Block(unlabeled.design, unlabeled_factor * unlabeled.penalty_weights),
    ]


@dataclass(frozen=True)
class Share:
    """Value and gradient of a term, with its predictors."""

    value: float
    by_beta: np.ndarray  # ∂f/∂β, (d, K); the term's next share may overwrite it
    by_intercept: np.ndarray  # ∂f/∂b, (K,)
    eta: np.ndarray  # (n, K)


class TermLine(Protocol):
    """A term along a ray."""

    def value_and_slope(self, step: float) -> tuple[float, float]:
        """Return the value and its derivative with respect to the step."""

    def arrive(self, step: float, beta: np.ndarray) -> Share:
        """Return the share at that step, where the coefficients are beta."""


class AnyTerm(Protocol):
    """A summand of the objective."""

    passes: int  # over the rows so far

    def at(self, beta: np.ndarray, intercept: np.ndarray) -> Share:
        """Return the share at these coefficients."""

    def along(self, here: Any, start: Coefficients, direction: Coefficients) -> TermLine:
        """Return the share along the ray start + step · direction."""

    def fisher(self, here: Any, mean: np.ndarray) -> Coefficients:
        """Return the diagonal of the Fisher information of loss and penalty."""


class Term:
    """The share of a block in the objective; every evaluation passes over its rows."""

    def __init__(self, block: Block, family: type[Family], penalty: Penalty | None) -> None:
        self.block = block
        self.family = family
        self.penalty = penalty
        self.passes = 0  # over the rows so far
        self.noise = NO_NOISE if penalty is None else penalty.noise
        self.constant = 0.0 if block.labels is None else loss_constant(family, block.labels)

    def at(self, beta: np.ndarray, intercept: np.ndarray) -> Share:
        """Return the share at these coefficients."""
        design, labels = self.block.design, self.block.labels
        eta = design.dot(beta) + intercept
        self.passes += 1
        value, by_beta, by_intercept = self.constant, np.zeros_like(beta), np.zeros(len(intercept))
        if labels is not None:
            A = self.family.log_partition(eta).reshape(len(eta))
            value += float(np.sum(labels.weights * (A - (labels.y * eta).sum(axis=1))))
            residual = labels.weights[:, None] * (self.family.mean(eta) - labels.y)
            by_beta += design.transposed_dot(residual)
            by_intercept += residual.sum(axis=0)
            self.passes += 1
        if self.penalty is not None:
            weights = self.block.penalty_weights
            R, slopes = self.penalty.value_and_gradient(design, beta, intercept, weights)
            self.passes += 2
            value, by_beta, by_intercept = value + R, by_beta + slopes.beta, by_intercept + slopes.intercept
        return Share(value, by_beta, by_intercept, eta)

    def along(self, here: Share, start: Coefficients, direction: Coefficients) -> TermLine:
        """Return the share along the ray start + step · direction."""
        return EvaluatedLine(self, start, direction)

    def fisher(self, here: Share, mean: np.ndarray) -> Coefficients:
        """Return the diagonal of the Fisher information of loss and penalty, to second order in the noise.

        Σ_i w_i A''(η_i) (x_ij - x̄_j)² + π_i A''(η_i) (relative · x_ij² + absolute) for a feature, with the
        predictor of the mean row x̄ held fixed, and Σ_i w_i A''(η_i) for that predictor.
        """
        design, labels, pi = self.block.design, self.block.labels, self.block.penalty_weights
        A2 = self.family.own_variance(here.eta)
        w = np.zeros(len(A2)) if labels is None else labels.weights
        weights = [np.stack([w * a, pi * a], axis=1) for a in A2.T]
        spreads = [self.noise.spread(design, mean, columns) for columns in weights]
        by_beta = spreads[0][:, None] if len(spreads) == 1 else np.stack(spreads, axis=1)
        self.passes += A2.shape[1]
        return by_beta, (w[:, None] * A2).sum(axis=0)


class EvaluatedLine:
    """A line on which every step is an evaluation; the last one is kept, since the search ends there."""

    def __init__(self, term: AnyTerm, start: Coefficients, direction: Coefficients) -> None:
        self.term = term
        self.start = start
        self.direction = direction
        self.last: tuple[float, Share] | None = None

    def value_and_slope(self, step: float) -> tuple[float, float]:
        """Return the value and its derivative with respect to the step."""
        here = self._at(step)
        d_beta, d_intercept = self.direction
        slope = np.sum(np.multiply(here.by_beta, d_beta, dtype=np.float64))
        slope += here.by_intercept @ d_intercept
        return here.value, float(slope)

    def arrive(self, step: float, beta: np.ndarray) -> Share:
        """Return the share at that step."""
        return self._at(step)

    def _at(self, step: float) -> Share:
        if self.last is None or self.last[0] != step:
            beta, intercept = (
                (a + step * d).astype(a.dtype) for a, d in zip(self.start, self.direction, strict=True)
            )
            self.last = step, self.term.at(beta, intercept)
        return self.last[1]
