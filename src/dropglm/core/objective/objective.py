"""Labelled loss + noising penalty + discounted penalty of the unlabelled rows + l2, as one function.

    f(β, b) = Σ_blocks f_block(β, b) + ½ Σ_jk λ_jk β_jk²

A plain sum over blocks of rows that share only the coefficients. The unknowns are one vector θ = (β, c), β
row after row: (d, K), then K numbers, where c = b + x̄·β is the predictor of the mean row x̄. The solver works
with c rather than b because features with a non-zero mean make the effects of β and b on η correlated; those
of β and c are not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dropglm.base.errors import InputError
from dropglm.core.design import AnyDesign
from dropglm.core.families import Family
from dropglm.core.maths import vectors
from dropglm.core.maths.compile import summing_kernel
from dropglm.core.maths.shared_loops import even_cuts, share, take_piece, total
from dropglm.core.noise import NO_NOISE
from dropglm.core.objective.row_term import RowTerm
from dropglm.core.objective.terms import AnyTerm, Block, Coefficients, Share, Term
from dropglm.core.penalties import Penalty, RowPenalty


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
    """The function that a fit minimises: the sum of terms, and l2.

    Parameters
    ----------
    terms : sequence of AnyTerm
        Of rows that all have the same features.
    l2 : ndarray of shape (d, K)
        λ, one value per coefficient, in the features' dtype.
    mean : ndarray of shape (d,)
        x̄.
    fit_intercept : bool
        Whether to fit b; otherwise it is 0.
    threads : int
        Number of threads for the algebra on θ; the designs have their own.
    """

    def __init__(
        self,
        terms: Sequence[AnyTerm],
        l2: np.ndarray,
        mean: np.ndarray,
        *,
        fit_intercept: bool = True,
        threads: int = 1,
    ) -> None:
        self.terms = terms
        self.l2 = l2
        self.mean = mean if fit_intercept else np.zeros_like(mean)
        self.fit_intercept = fit_intercept
        self.threads = threads

    @classmethod
    def of_blocks(
        cls,
        blocks: Sequence[Block],
        family: type[Family],
        penalty: Penalty | None,
        l2: np.ndarray,
        *,
        mean: np.ndarray | None = None,
        **settings: Any,
    ) -> Self:
        """Return the objective of blocks of rows, for any family and penalty, which is None without noise.

        x̄ is computed unless it is given; the other settings are those of the class.
        """
        terms = [term_of(block, family, penalty) for block in blocks]
        return cls(terms, l2, mean_row(blocks) if mean is None else mean, **settings)

    @property
    def passes(self) -> int:
        """Number of passes over the rows of a block so far."""
        return sum(term.passes for term in self.terms)

    def join(self, beta: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return θ, given β of shape (d, K) and b of shape (K,)."""
        c = intercept + self._at_mean(beta)
        return np.concatenate([beta.ravel(), c.astype(beta.dtype)])

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
        l2_norm, _, at_mean = self.products_along(beta, beta)
        intercept = theta[self.l2.size :] - at_mean
        shares = tuple([term.at(beta, intercept) for term in self.terms])
        return self._point(theta, intercept, shares, l2_norm)

    def along(self, point: Point, direction: np.ndarray) -> "Line":
        """Return the function along the ray from that point."""
        return Line(self, point, direction)

    def preconditioner(self, point: Point) -> np.ndarray:
        """Return the diagonal of the Fisher information plus l2, strictly positive."""
        parts = [term.fisher(here, self.mean) for term, here in zip(self.terms, point.shares, strict=True)]
        by_beta, by_intercept = (sum(own[1:], start=own[0]) for own in zip(*parts, strict=True))
        size = self.l2.size
        diagonal = np.empty(size + self.l2.shape[1], by_beta.dtype)
        # A feature without a row of positive weight may have no curvature; any positive number will do.
        tiny = np.finfo(diagonal.dtype).tiny
        with np.errstate(over="ignore"):
            diagonal[size:] = np.where(by_intercept <= tiny, 1.0, by_intercept)
        cuts = even_cuts(size, vectors.PIECE)
        totals = np.empty(len(cuts) - 1)
        vectors_of_beta = by_beta.ravel(), self.l2.ravel(), diagonal[:size]
        share(_add_l2, cuts, self.threads, *vectors_of_beta, float(tiny), totals)
        check_squares(bool(np.isfinite([*totals, *diagonal[size:]]).all()), diagonal.dtype)
        return diagonal

    def products_along(self, beta: np.ndarray, d: np.ndarray) -> tuple[float, float, np.ndarray]:
        """Return Σ λ β d, Σ λ d² and x̄·d for a direction d of shape (d, K); the last of shape (K,)."""
        cuts = even_cuts(len(beta), vectors.PIECE)
        sums = np.zeros((len(cuts) - 1, 2 + beta.shape[1]))
        share(_sum_products, cuts, self.threads, self.l2.T, self.mean, beta.T, d.T, sums)
        totals = total(sums)
        return float(totals[0]), float(totals[1]), totals[2:]

    def _point(
        self, theta: np.ndarray, intercept: np.ndarray, shares: tuple[Share, ...], l2_norm: float
    ) -> Point:
        by_beta, by_intercept = shares[0].by_beta, shares[0].by_intercept
        for other in shares[1:]:
            by_beta, by_intercept = by_beta + other.by_beta, by_intercept + other.by_intercept
        by_intercept = by_intercept if self.fit_intercept else np.zeros_like(by_intercept)
        # For fixed c, a change of β changes b by -x̄·β, so the first part is ∂/∂β - x̄ ∂/∂b + λβ.
        gradient = np.empty_like(theta)
        gradient[self.l2.size :] = by_intercept
        parts = by_beta.T, by_intercept, self.l2.T, self.mean, self.beta(theta).T, self.beta(gradient).T
        share(_complete, even_cuts(len(self.l2), vectors.PIECE), self.threads, *parts)
        value = sum(one.value for one in shares) + 0.5 * l2_norm
        # The gradient contains the derivatives; a second copy would cost one long vector per point.
        shares = tuple([replace(one, by_beta=by_beta[:0]) for one in shares])
        return Point(theta, intercept, value, gradient, shares, l2_norm)


class Line:
    """f(θ + step · direction) as a function of the step."""

    def __init__(self, objective: Objective, point: Point, direction: np.ndarray) -> None:
        self.objective = objective
        self.point = point
        self.direction = direction
        beta, d = objective.beta(point.theta), objective.beta(direction)
        self.crossed, self.square, at_mean = objective.products_along(beta, d)
        self.d_intercept = direction[objective.l2.size :] - at_mean
        self.lines = [
            term.along(here, (beta, point.intercept), (d, self.d_intercept))
            for term, here in zip(objective.terms, point.shares, strict=True)
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


def check_squares(finite: bool, dtype: np.dtype) -> None:
    """Raise an error unless the diagonal, which sums squares of the features, is finite."""
    if not finite:
        raise InputError(f"The squares of the features overflow {dtype}; scale the features down.")


# Loops over the coefficients. They take transposed arrays, class after class: for a single class these are
# contiguous, and the compiler vectorises.
@summing_kernel
def _sum_products(cuts, tickets, l2, mean, beta, d, sums):
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        first, last = cuts[piece], cuts[piece + 1]
        mean_part = mean[first:last]
        for k in range(beta.shape[0]):
            l2_part, beta_part, d_part = l2[k, first:last], beta[k, first:last], d[k, first:last]
            crossed, square, at_mean = 0.0, 0.0, 0.0
            for j in range(mean_part.size):
                weighted = np.float64(l2_part[j]) * d_part[j]
                crossed += weighted * beta_part[j]
                square += weighted * d_part[j]
                at_mean += np.float64(mean_part[j]) * d_part[j]
            sums[piece, 0] += crossed
            sums[piece, 1] += square
            sums[piece, 2 + k] = at_mean
        piece = take_piece(tickets)


@summing_kernel
def _complete(cuts, tickets, by_beta, by_intercept, l2, mean, beta, gradient):
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        first, last = cuts[piece], cuts[piece + 1]
        mean_part = mean[first:last]
        for k in range(beta.shape[0]):
            slope, by_part, l2_part = by_intercept[k], by_beta[k, first:last], l2[k, first:last]
            beta_part, gradient_part = beta[k, first:last], gradient[k, first:last]
            for j in range(mean_part.size):
                gradient_part[j] = by_part[j] - slope * mean_part[j] + l2_part[j] * beta_part[j]
        piece = take_piece(tickets)


@summing_kernel
def _add_l2(cuts, tickets, by_beta, l2, diagonal, tiny, totals):
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        first, last = cuts[piece], cuts[piece + 1]
        by_part, l2_part, diagonal_part = by_beta[first:last], l2[first:last], diagonal[first:last]
        total = 0.0
        for j in range(diagonal_part.size):
            curvature = by_part[j] + l2_part[j]
            diagonal_part[j] = 1.0 if curvature <= tiny else curvature
            total += np.float64(diagonal_part[j])
        # A sum is finite only if all numbers are; those of float64 would have to be near its largest.
        totals[piece] = total
        piece = take_piece(tickets)
