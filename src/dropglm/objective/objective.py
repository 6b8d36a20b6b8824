"""Labelled loss + noising penalty + discounted penalty of the unlabelled rows + ridge, in one function.

    f(β, b) = Σ_blocks f_block(β, b) + ½ Σ_jk λ_jk β_jk²

A plain sum over blocks of rows, which share nothing but the coefficients. The unknowns are one vector
θ = (β, c), β row after row, with c = b + x̄·β the predictor of the mean row x̄. For a solver c is a better
unknown than b: features that are not 0 on average make η move with β and b alike, with β and c they do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dropglm import vectors
from dropglm.families import Family
from dropglm.objective.block import Block
from dropglm.objective.row_term import RowTerm
from dropglm.objective.terms import Coefficients, Share, Term
from dropglm.penalties import Penalty, RowPenalty


@dataclass(frozen=True)
class Point:
    """Value and gradient at θ."""

    theta: np.ndarray
    value: float
    gradient: np.ndarray
    shares: tuple[Share, ...]
    ridge: float  # Σ λ β²


class Objective:
    """The function that a fit minimises, for every family and penalty.

    Parameters
    ----------
    blocks : sequence of Block
        Their designs have the same features.
    family : type of Family
    penalty : Penalty or None
        None where there is no noise.
    ridge : ndarray of shape (d, K)
        λ, one for each coefficient, in the features' dtype.
    fit_intercept : bool
        Whether b may move.
    mean : ndarray of shape (d,), optional
        x̄, for those who know it already.
    threads : int
        For the algebra on θ; the designs have their own.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        family: type[Family],
        penalty: Penalty | None,
        ridge: np.ndarray,
        *,
        fit_intercept: bool = True,
        mean: np.ndarray | None = None,
        threads: int = 1,
    ) -> None:
        self.terms = [_term(block, family, penalty) for block in blocks]
        self.ridge = ridge
        self.mean = mean_row(blocks) if mean is None else mean
        if not fit_intercept:
            self.mean = np.zeros_like(self.mean)
        self.fit_intercept = fit_intercept
        self.threads = threads

    @property
    def passes(self) -> int:
        """Passes over the rows of a block, so far."""
        return sum(term.passes for term in self.terms)

    def join(self, beta: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """θ of β, (d, K), and b, (K,)."""
        return _flat(beta, intercept + self._at_mean(beta))

    def split(self, theta: np.ndarray) -> Coefficients:
        """β and b of θ; β is a view. Linear, so that it splits a direction as well."""
        size = self.ridge.size
        beta = theta[:size].reshape(self.ridge.shape)
        return beta, theta[size:] - self._at_mean(beta)

    def _at_mean(self, beta: np.ndarray) -> np.ndarray:
        """x̄·β; (K,)."""
        return np.array([vectors.dot(self.mean, column, self.threads) for column in beta.T])

    def at(self, theta: np.ndarray) -> Point:
        """Value and gradient at θ."""
        beta = theta[: self.ridge.size]
        ridge = vectors.form(self.ridge.ravel(), beta, beta, self.threads)
        return self._point(theta, tuple(term.at(*self.split(theta)) for term in self.terms), ridge)

    def along(self, point: Point, direction: np.ndarray) -> "Line":
        """The function on the ray from that point."""
        return Line(self, point, direction)

    def preconditioner(self, point: Point) -> np.ndarray:
        """The diagonal of the Fisher information plus the ridge, all of it above 0."""
        diagonal, size = _flat(self.ridge, np.zeros(self.ridge.shape[1])), self.ridge.size
        for term, share in zip(self.terms, point.shares, strict=True):
            by_beta, by_intercept = term.fisher(share, self.mean)
            diagonal[:size] += by_beta.ravel()
            diagonal[size:] += by_intercept
        if not np.isfinite(diagonal).all():
            raise ValueError(f"The squares of the features exceed {diagonal.dtype}; scale the features down.")
        # A feature that no row with a weight has may lack all curvature; any positive number will do for it.
        diagonal[diagonal <= np.finfo(diagonal.dtype).tiny] = 1.0
        return diagonal

    def _point(self, theta: np.ndarray, shares: tuple[Share, ...], ridge: float) -> Point:
        by_beta, by_intercept = shares[0].by_beta, shares[0].by_intercept
        for other in shares[1:]:
            by_beta, by_intercept = by_beta + other.by_beta, by_intercept + other.by_intercept
        by_intercept = by_intercept if self.fit_intercept else np.zeros_like(by_intercept)
        gradient, size = _flat(by_beta, by_intercept), self.ridge.size
        # c fixed, a step in β moves b by -x̄.
        for column, slope in zip(gradient[:size].reshape(self.ridge.shape).T, by_intercept, strict=True):
            vectors.add_scaled(column, -slope, self.mean, self.threads)
        vectors.add_product(gradient[:size], self.ridge.ravel(), theta[:size], self.threads)
        value = sum(share.value for share in shares) + 0.5 * ridge
        # The gradient has the slopes now; keeping them twice would cost a long vector a point.
        shares = tuple(replace(share, by_beta=np.empty((0, self.ridge.shape[1]))) for share in shares)
        return Point(theta, value, gradient, shares, ridge)


class Line:
    """f(θ + step · direction) as a function of the step."""

    def __init__(self, objective: Objective, point: Point, direction: np.ndarray) -> None:
        self.objective = objective
        self.point = point
        self.direction = direction
        start, towards = objective.split(point.theta), objective.split(direction)
        self.lines = [
            term.along(share, start, towards)
            for term, share in zip(objective.terms, point.shares, strict=True)
        ]
        size, threads = objective.ridge.size, objective.threads
        ridge, beta, d = objective.ridge.ravel(), point.theta[:size], direction[:size]
        self.crossed = vectors.form(ridge, beta, d, threads)
        self.square = vectors.form(ridge, d, d, threads)

    def value_and_slope(self, step: float) -> tuple[float, float]:
        """The value and its derivative with respect to the step."""
        value, slope = 0.5 * self._ridge(step), self.crossed + step * self.square
        for line in self.lines:
            line_value, line_slope = line.value_and_slope(step)
            value, slope = value + line_value, slope + line_slope
        return value, slope

    def arrive(self, step: float) -> Point:
        """The point at that step; cheapest for the step that was looked at last."""
        theta = vectors.moved(self.point.theta, step, self.direction, self.objective.threads)
        beta, _ = self.objective.split(theta)
        shares = tuple(line.arrive(step, beta) for line in self.lines)
        return self.objective._point(theta, shares, self._ridge(step))

    def _ridge(self, step: float) -> float:
        return self.point.ridge + step * (2.0 * self.crossed + step * self.square)


def _flat(beta: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    return np.concatenate([beta.ravel(), intercept.astype(beta.dtype)])


def mean_row(blocks: Sequence[Block]) -> np.ndarray:
    """x̄, the mean of the labelled rows under their weights; (d,)."""
    total, weight = np.zeros(blocks[0].design.shape[1]), 0.0
    for block in blocks:
        if block.labels is not None:
            w = block.labels.weights
            total += block.design.transposed_dot(w[:, None])[:, 0]
            weight += w.sum()
    return (total / weight).astype(blocks[0].design.dtype)


def _term(block: Block, family: type[Family], penalty: Penalty | None) -> Term:
    """The cheapest term that can do it."""
    if not family.several and (penalty is None or isinstance(penalty, RowPenalty)):
        return RowTerm(block, family, penalty)
    return Term(block, family, penalty)
