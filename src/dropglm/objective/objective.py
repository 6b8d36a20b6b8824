"""Labelled loss + noising penalty + discounted penalty of the unlabelled rows + l2, as one function.

    f(β, b) = Σ_blocks f_block(β, b) + ½ Σ_jk λ_jk β_jk²

A plain sum over blocks of rows that share only the coefficients. The unknowns are one vector θ = (β, c), β
row after row, where c = b + x̄·β is the predictor of the mean row x̄. The solver works with c rather than b
because features with a non-zero mean make the effects of β and b on η correlated; those of β and c are not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from dropglm.design import AnyDesign
from dropglm.families import Family
from dropglm.maths import vectors
from dropglm.noise import NO_NOISE
from dropglm.objective.coefficients import complete_diagonal, complete_gradient, products_along
from dropglm.objective.row_term import RowTerm
from dropglm.objective.terms import AnyTerm, Block, Coefficients, Share, Term
from dropglm.penalties import Penalty, RowPenalty


@dataclass(frozen=True)
class Point:
    """Value and gradient at θ, with the parts that the next line search needs."""

    theta: np.ndarray
    intercept: np.ndarray  # b, (K,)
    value: float
    gradient: np.ndarray
    shares: tuple[Share, ...]
    l2_norm: float  # Σ λ β²


class Objective:
    """The function that a fit minimises, for any family and penalty.

    Parameters
    ----------
    blocks : sequence of Block
        Rows, all with the same features.
    family : type of Family
    penalty : Penalty or None
        None if there is no noise.
    l2 : ndarray of shape (d, K)
        λ, one value per coefficient, in the features' dtype.
    fit_intercept : bool
        Whether to fit b; otherwise it is 0.
    mean : ndarray of shape (d,), optional
        x̄, if it is already known.
    threads : int
        Number of threads for the algebra on θ; the designs have their own.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        family: type[Family],
        penalty: Penalty | None,
        l2: np.ndarray,
        *,
        fit_intercept: bool = True,
        mean: np.ndarray | None = None,
        threads: int = 1,
    ) -> None:
        terms = [term_of(block, family, penalty) for block in blocks]
        self._set(terms, l2, mean_row(blocks) if mean is None else mean, fit_intercept, threads)

    @classmethod
    def of_terms(
        cls,
        terms: Sequence[AnyTerm],
        l2: np.ndarray,
        mean: np.ndarray,
        *,
        fit_intercept: bool = True,
        threads: int = 1,
    ) -> Self:
        """Return the sum of given terms and l2; the other arguments are those of the class."""
        objective = object.__new__(cls)
        objective._set(terms, l2, mean, fit_intercept, threads)
        return objective

    def _set(
        self, terms: Sequence[AnyTerm], l2: np.ndarray, mean: np.ndarray, fit_intercept: bool, threads: int
    ) -> None:
        self.terms = terms
        self.l2 = l2
        self.mean = mean if fit_intercept else np.zeros_like(mean)
        self.fit_intercept = fit_intercept
        self.threads = threads

    @property
    def passes(self) -> int:
        """Number of passes over the rows of a block so far."""
        return sum(term.passes for term in self.terms)

    def join(self, beta: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return θ, given β of shape (d, K) and b of shape (K,)."""
        return _flat(beta, intercept + self._at_mean(beta))

    def split(self, theta: np.ndarray) -> Coefficients:
        """Return β and b; β is a view of θ."""
        beta = self.beta(theta)
        return beta, theta[self.l2.size :] - self._at_mean(beta)

    def beta(self, theta: np.ndarray) -> np.ndarray:
        """Return β, a view of θ."""
        return theta[: self.l2.size].reshape(self.l2.shape)

    def _at_mean(self, beta: np.ndarray) -> np.ndarray:
        """Return x̄·β; shape (K,)."""
        return np.array([vectors.dot(self.mean, column, self.threads) for column in beta.T])

    def at(self, theta: np.ndarray) -> Point:
        """Return value and gradient at θ."""
        beta = self.beta(theta)
        l2_norm, _, at_mean = products_along(self.l2, self.mean, beta, beta, self.threads)
        intercept = theta[self.l2.size :] - at_mean
        shares = tuple([term.at(beta, intercept) for term in self.terms])
        return self._point(theta, intercept, shares, l2_norm)

    def along(self, point: Point, direction: np.ndarray) -> "Line":
        """Return the function along the ray from that point."""
        return Line(self, point, direction)

    def preconditioner(self, point: Point) -> np.ndarray:
        """Return the diagonal of the Fisher information plus l2, strictly positive."""
        parts = [term.fisher(share, self.mean) for term, share in zip(self.terms, point.shares, strict=True)]
        by_beta, by_intercept = (sum(part[1:], start=part[0]) for part in zip(*parts, strict=True))
        return complete_diagonal(by_beta, by_intercept, self.l2, self.threads)

    def _point(
        self, theta: np.ndarray, intercept: np.ndarray, shares: tuple[Share, ...], l2_norm: float
    ) -> Point:
        by_beta, by_intercept = shares[0].by_beta, shares[0].by_intercept
        for other in shares[1:]:
            by_beta, by_intercept = by_beta + other.by_beta, by_intercept + other.by_intercept
        by_intercept = by_intercept if self.fit_intercept else np.zeros_like(by_intercept)
        gradient = complete_gradient(by_beta, by_intercept, self.l2, self.mean, theta, self.threads)
        value = sum(share.value for share in shares) + 0.5 * l2_norm
        # The gradient contains the derivatives; a second copy would cost one long vector per point.
        shares = tuple([replace(share, by_beta=by_beta[:0]) for share in shares])
        return Point(theta, intercept, value, gradient, shares, l2_norm)


class Line:
    """f(θ + step · direction) as a function of the step."""

    def __init__(self, objective: Objective, point: Point, direction: np.ndarray) -> None:
        self.objective = objective
        self.point = point
        self.direction = direction
        beta, d = objective.beta(point.theta), objective.beta(direction)
        products = products_along(objective.l2, objective.mean, beta, d, objective.threads)
        self.crossed, self.square, at_mean = products
        self.d_intercept = direction[objective.l2.size :] - at_mean
        self.lines = [
            term.along(share, (beta, point.intercept), (d, self.d_intercept))
            for term, share in zip(objective.terms, point.shares, strict=True)
        ]

    def value_and_slope(self, step: float) -> tuple[float, float]:
        """Return the value and its derivative with respect to the step."""
        value, slope = 0.5 * self._l2_norm(step), self.crossed + step * self.square
        for line in self.lines:
            line_value, line_slope = line.value_and_slope(step)
            value, slope = value + line_value, slope + line_slope
        return value, slope

    def arrive(self, step: float) -> Point:
        """Return the point at that step; cheapest for the step that was evaluated last."""
        theta = vectors.moved(self.point.theta, step, self.direction, self.objective.threads)
        beta, intercept = self.objective.beta(theta), self.point.intercept + step * self.d_intercept
        shares = tuple([line.arrive(step, beta) for line in self.lines])
        return self.objective._point(theta, intercept, shares, self._l2_norm(step))

    def _l2_norm(self, step: float) -> float:
        return self.point.l2_norm + step * (2.0 * self.crossed + step * self.square)


def _flat(beta: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    return np.concatenate([beta.ravel(), intercept.astype(beta.dtype)])


def mean_row(blocks: Sequence[Block]) -> np.ndarray:
    """Return x̄, the weighted mean of the labelled rows; shape (d,)."""
    labeled = [(block.design, block.labels.weights) for block in blocks if block.labels is not None]
    total = sum(float(w.sum()) for _, w in labeled)
    means = [sum_of_rows(design, w / total) for design, w in labeled]
    return means[0] if len(means) == 1 else np.sum(means, axis=0)


def sum_of_rows(design: AnyDesign, weights: np.ndarray) -> np.ndarray:
    """Return Σ w_i x_i; shape (d,)."""
    slopes = np.stack([weights, np.zeros_like(weights)], axis=1)
    return NO_NOISE.pull_back(design, np.zeros(design.shape[1], design.dtype), slopes)


def term_of(block: Block, family: type[Family], penalty: Penalty | None) -> Term:
    """Return the cheapest term that supports this family and penalty."""
    if not family.several and (penalty is None or isinstance(penalty, RowPenalty)):
        return RowTerm(block, family, penalty)
    return Term(block, family, penalty)
