"""A block's share of the objective, for any family and any penalty.

    f(β, b) = Σ_i w_i (A(η_i) - y_i η_i + A*(y_i)) + Σ_i π_i (E A(η̃_i) - A(η_i)),     η = Xβ + b

Where the penalty is a function of a row's η and s² alone, ``row_term.py`` does the same in fewer passes.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dropglm.families import Family
from dropglm.objective.block import Block
from dropglm.penalties import Penalty


@dataclass(frozen=True)
class Share:
    """Value and gradient of a term, and the predictors they belong to."""

    value: float
    by_beta: np.ndarray  # ∂f/∂β, (d, K)
    by_intercept: np.ndarray  # ∂f/∂b, (K,)
    eta: np.ndarray  # (n, K)


class TermLine(Protocol):
    """A term along a ray."""

    def value_and_slope(self, step: float) -> tuple[float, float]:
        """F and its derivative with respect to the step."""

    def arrive(self, step: float, beta: np.ndarray) -> Share:
        """The share at that step, where the coefficients are beta."""


class Term:
    """The share of a block; every evaluation passes over its rows."""

    def __init__(self, block: Block, family: type[Family], penalty: Penalty | None) -> None:
        self.block = block
        self.family = family
        self.penalty = penalty
        self.passes = 0  # over the rows, so far
        self.relative = 0.0 if penalty is None else penalty.noise.relative
        self.absolute = 0.0 if penalty is None else penalty.noise.absolute
        self.constant = 0.0  # Σ_i w_i A*(y_i), with which a perfect fit has no loss
        if block.labels is not None:
            y = block.labels.y if family.several else block.labels.y[:, 0]
            self.constant = float(np.sum(block.labels.weights * family.conjugate(y)))

    def at(self, beta: np.ndarray, intercept: np.ndarray) -> Share:
        """The share at these coefficients."""
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

    def along(self, here: Share, start: "Coefficients", direction: "Coefficients") -> TermLine:
        """The share along the ray start + step · direction."""
        return _EvaluatedLine(self, start, direction)

    def fisher(self, here: Share, mean: np.ndarray) -> "Coefficients":
        """The Fisher information's diagonal, loss and penalty together, to second order in the noise.

        Σ_i w_i A''(η_i) (x_ij - x̄_j)² + relative · Σ_i π_i A''(η_i) x_ij² + absolute · Σ_i π_i A''(η_i) for a
        feature, the predictor of the mean row x̄ held fixed, and Σ_i w_i A''(η_i) for that predictor.
        """
        design, labels, pi = self.block.design, self.block.labels, self.block.penalty_weights
        A2 = self.family.own_variance(here.eta)
        w = np.zeros(len(A2)) if labels is None else labels.weights
        weights = [np.stack([w * a, self.relative * pi * a], axis=1) for a in A2.T]
        by_beta = np.stack([design.spread(mean, columns) for columns in weights], axis=1)
        self.passes += A2.shape[1]
        by_beta += (self.absolute * (pi[:, None] * A2).sum(axis=0)).astype(by_beta.dtype)
        return by_beta, (w[:, None] * A2).sum(axis=0)


# β of shape (d, K) and b of shape (K,), or what there is one of for each of them
Coefficients = tuple[np.ndarray, np.ndarray]


class _EvaluatedLine:
    """A line on which every step is an evaluation; the last is kept, since a search ends there."""

    def __init__(self, term: Term, start: Coefficients, direction: Coefficients) -> None:
        self.term = term
        self.start = start
        self.direction = direction
        self.last: tuple[float, Share] | None = None

    def value_and_slope(self, step: float) -> tuple[float, float]:
        here = self._at(step)
        d_beta, d_intercept = self.direction
        slope = np.sum(np.multiply(here.by_beta, d_beta, dtype=np.float64))
        slope += here.by_intercept @ d_intercept
        return here.value, float(slope)

    def arrive(self, step: float, beta: np.ndarray) -> Share:
        return self._at(step)

    def _at(self, step: float) -> Share:
        if self.last is None or self.last[0] != step:
            beta, intercept = (
                (a + step * d).astype(a.dtype) for a, d in zip(self.start, self.direction, strict=True)
            )
            self.last = step, self.term.at(beta, intercept)
        return self.last[1]
