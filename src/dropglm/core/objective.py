"""What a fit minimises: the loss of labelled rows, the noise penalty of all rows, and l2, as one function.

    f(β, b) = Σ_terms f_term(β, b) + ½ Σ_jk λ_jk β_jk²

A plain sum over terms, sets of rows that share only the coefficients. The unknowns are one vector θ = (β, c),
β row after row: (d, K), then K numbers, where c = b + x̄·β is the predictor of the mean row x̄. The solver
works with c rather than b because features with a non-zero mean make the effects of β and b on η correlated;
those of β and c are not.

The value of a term is ::

    f(β, b) = Σ_i w_i (A(η_i) - y_i η_i + A*(y_i)) + Σ_i π_i (E A(η̃_i) - A(η_i)),     η = Xβ + b

for any family and penalty (``Term``). Where the penalty depends only on a row's η and s² (``RowTerm``), both
are polynomials in the step along a ray β + step·d, ::

    η + step·u,      s² + 2·step·c + step²·q,

so one pass over the rows serves all steps that a line search tries, and one more gives the gradient at its
end.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from dropglm.base.errors import InputError
from dropglm.base.threads import each, even_ranges
from dropglm.core.design import AnyDesign
from dropglm.core.families import Family, Logistic, logistic
from dropglm.core.maths import vectors
from dropglm.core.maths.compile import fused_kernel, summing_kernel
from dropglm.core.maths.shared_loops import even_cuts, run_shared_loop, sum_over_pieces, take_piece
from dropglm.core.maths.softplus import add_components
from dropglm.core.noise import NO_NOISE
from dropglm.core.penalties import Penalty, RowPenalty
from dropglm.core.penalties.base import PIECE
from dropglm.core.penalties.closed_forms import GaussianLogistic

# β of shape (d, K) and b of shape (K,), or one value for each of their entries
Coefficients = tuple[np.ndarray, np.ndarray]

# Rows per piece of compiled rows, which have no overhead of NumPy's calls to hide.
COMPILED_PIECE = 1 << 9


@dataclass(frozen=True)
class Labels:
    """The labels of rows and their weights in the loss."""

    y: np.ndarray  # (n, K); indicators of the classes for the multinomial family
    weights: np.ndarray  # w, (n,)


def loss_constant(family: type[Family], labels: Labels) -> float:
    """Return Σ_i w_i A*(y_i), which makes the loss of a perfect fit 0."""
    y = labels.y if family.several else labels.y[:, 0]
    return float(np.sum(labels.weights * family.conjugate(y)))


@dataclass(frozen=True)
class WeightedRows:
    """Rows of features; the loss of a row has weight w, its penalty weight π."""

    design: AnyDesign
    penalty_weights: np.ndarray  # π, (n,)
    labels: Labels | None = None


def penalty_scales(n: Any, m: float, discount: Any) -> tuple[Any, Any]:
    """Return n/(n+αm) and α n/(n+αm), the factors of the penalty of labelled and of unlabelled rows.

    α is the discount, n and m are the sums of the weights of labelled and unlabelled rows. n and α are
    numbers, or arrays with one number per problem.
    """
    factor = n / (n + discount * m)
    return factor, factor * discount


def semi_supervised(
    labeled: WeightedRows, unlabeled: WeightedRows | None, discount: float
) -> list[WeightedRows]:
    """Return the rows of loss + n/(n+αm) (R + α R_unlabelled), whose factors become the weights π."""
    if unlabeled is None or discount == 0.0:
        return [labeled]
    n, m = labeled.penalty_weights.sum(), unlabeled.penalty_weights.sum()
    labeled_factor, unlabeled_factor = penalty_scales(n, m, discount)
    return [
        WeightedRows(labeled.design, labeled_factor * labeled.penalty_weights, labeled.labels),
        WeightedRows(unlabeled.design, unlabeled_factor * unlabeled.penalty_weights),
    ]


@dataclass(frozen=True)
class TermValue:
    """Value and gradient of a term, with its predictors."""

    value: float
    by_beta: np.ndarray  # ∂f/∂β, (d, K); the term's next value may overwrite it
    by_intercept: np.ndarray  # ∂f/∂b, (K,)
    eta: np.ndarray  # (n, K)


class TermRay(Protocol):
    """A term along a ray."""

    def value_and_slope(self, step: float) -> tuple[float, float]:
        """Return the value and its derivative with respect to the step."""

    def arrive(self, step: float, beta: np.ndarray) -> TermValue:
        """Return value and gradient at that step, where the coefficients are beta."""


class AnyTerm(Protocol):
    """A summand of the objective."""

    passes: int  # over the rows so far

    def at(self, beta: np.ndarray, intercept: np.ndarray) -> TermValue:
        """Return value and gradient at these coefficients."""

    def along(self, here: Any, start: Coefficients, direction: Coefficients) -> TermRay:
        """Return the term along the ray start + step · direction."""

    def fisher(self, here: Any, mean: np.ndarray) -> Coefficients:
        """Return the diagonal of the Fisher information of loss and penalty."""


class Term:
    """The summand of some rows; every evaluation passes over them."""

    def __init__(self, rows: WeightedRows, family: type[Family], penalty: Penalty | None) -> None:
        self.rows = rows
        self.family = family
        self.penalty = penalty
        self.passes = 0  # over the rows so far
        self.noise = NO_NOISE if penalty is None else penalty.noise
        self.constant = 0.0 if rows.labels is None else loss_constant(family, rows.labels)

    def at(self, beta: np.ndarray, intercept: np.ndarray) -> TermValue:
        """Return value and gradient at these coefficients."""
        design, labels = self.rows.design, self.rows.labels
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
            weights = self.rows.penalty_weights
            R, slopes = self.penalty.value_and_gradient(design, beta, intercept, weights)
            self.passes += 2
            value, by_beta, by_intercept = value + R, by_beta + slopes.beta, by_intercept + slopes.intercept
        return TermValue(value, by_beta, by_intercept, eta)

    def along(self, here: TermValue, start: Coefficients, direction: Coefficients) -> TermRay:
        """Return the term along the ray start + step · direction."""
        return EvaluatedRay(self, start, direction)

    def fisher(self, here: TermValue, mean: np.ndarray) -> Coefficients:
        """Return the diagonal of the Fisher information of loss and penalty, to second order in the noise.

        Σ_i w_i A''(η_i) (x_ij - x̄_j)² + π_i A''(η_i) (relative · x_ij² + absolute) for a feature, with the
        predictor of the mean row x̄ held fixed, and Σ_i w_i A''(η_i) for that predictor.
        """
        design, labels, pi = self.rows.design, self.rows.labels, self.rows.penalty_weights
        A2 = self.family.own_variance(here.eta)
        w = np.zeros(len(A2)) if labels is None else labels.weights
        weights = [np.stack([w * a, pi * a], axis=1) for a in A2.T]
        spreads = [self.noise.spread(design, mean, columns) for columns in weights]
        by_beta = spreads[0][:, None] if len(spreads) == 1 else np.stack(spreads, axis=1)
        self.passes += A2.shape[1]
        return by_beta, (w[:, None] * A2).sum(axis=0)


class EvaluatedRay:
    """A ray on which every step is an evaluation; the last one is kept, since the search ends there."""

    def __init__(self, term: AnyTerm, start: Coefficients, direction: Coefficients) -> None:
        self.term = term
        self.start = start
        self.direction = direction
        self.last: tuple[float, TermValue] | None = None

    def value_and_slope(self, step: float) -> tuple[float, float]:
        """Return the value and its derivative with respect to the step."""
        here = self._at(step)
        d_beta, d_intercept = self.direction
        slope = np.sum(np.multiply(here.by_beta, d_beta, dtype=np.float64))
        slope += here.by_intercept @ d_intercept
        return here.value, float(slope)

    def arrive(self, step: float, beta: np.ndarray) -> TermValue:
        """Return value and gradient at that step."""
        return self._at(step)

    def _at(self, step: float) -> TermValue:
        if self.last is None or self.last[0] != step:
            beta, intercept = (
                (a + step * d).astype(a.dtype) for a, d in zip(self.start, self.direction, strict=True)
            )
            self.last = step, self.term.at(beta, intercept)
        return self.last[1]


@dataclass(frozen=True)
class RowTermValue(TermValue):
    """Value and gradient, with the moments at which the next ray starts."""

    s2: np.ndarray  # (n,)


class RowTerm(Term):
    """The summand of rows without penalty or with a ``RowPenalty``, in a family with one η per row."""

    penalty: RowPenalty | None

    def __init__(self, rows: WeightedRows, family: type[Family], penalty: RowPenalty | None) -> None:
        super().__init__(rows, family, penalty)
        n, labels = len(rows.penalty_weights), rows.labels
        self.slices = [slice(*bounds) for bounds in even_ranges(n, PIECE)]
        self.compiled = family is Logistic and type(penalty) in (GaussianLogistic, type(None))
        # y, w and π of every row; w is 0 without labels, π is 0 without a penalty.
        self.y = np.zeros(n) if labels is None else np.ascontiguousarray(labels.y[:, 0], np.float64)
        self.w = np.zeros(n) if labels is None else labels.weights
        self.pi = np.zeros(n) if penalty is None else rows.penalty_weights
        # ∂f/∂β of the last value: memory that is used again is faster than new memory.
        self.by_beta = np.empty((rows.design.shape[1], 1), rows.design.dtype)

    def at(self, beta: np.ndarray, intercept: np.ndarray) -> RowTermValue:
        """Return value and gradient at these coefficients."""
        eta, s2 = self.noise.moments(self.rows.design, beta[:, 0])
        self.passes += 1
        return _RowRay(self, eta + intercept, s2, ray=np.zeros((3, len(s2)))).arrive(0.0, beta)

    def along(self, here: TermValue, start: Coefficients, direction: Coefficients) -> TermRay:
        """Return the term along the ray start + step · direction."""
        assert isinstance(here, RowTermValue)
        (beta, _), (d_beta, d_intercept) = start, direction
        ray = self.noise.ray(self.rows.design, beta[:, 0], d_beta[:, 0])
        self.passes += 1
        ray[0] += d_intercept
        return _RowRay(self, here.eta[:, 0], here.s2, ray)

    def evaluate(self, rows: slice, eta: np.ndarray, s2: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return Σ f over these rows, and its derivatives with respect to each η and s²."""
        w, y, value, f_eta, f_s2 = self.w[rows], self.y[rows], 0.0, np.zeros_like(eta), np.zeros_like(eta)
        if self.rows.labels is not None:
            value += float(np.sum(w * (self.family.log_partition(eta) - y * eta)))
            f_eta += w * (self.family.mean(eta) - y)
        if self.penalty is not None:
            r, r_eta, r_s2 = self.penalty.weighted_rows(eta, s2, self.pi[rows])
            value, f_eta, f_s2 = value + r, f_eta + r_eta, f_s2 + r_s2
        return value, f_eta, f_s2


class _RowRay:
    """A ray on which a step needs every row's η and s², but not its features."""

    def __init__(self, term: RowTerm, eta: np.ndarray, s2: np.ndarray, ray: np.ndarray) -> None:
        self.term = term
        self.eta, self.s2 = eta, s2  # at the start of the ray
        self.ray = ray
        # At the step that was evaluated last:
        self.step, self.value = np.nan, np.nan
        self.end = np.empty((2, len(s2)))  # η and s²
        self.slopes = np.empty((len(s2), 2))

    def value_and_slope(self, step: float) -> tuple[float, float]:
        value, slope = self._compiled(step) if self.term.compiled else self._general(step)
        self.step, self.value = step, self.term.constant + value
        return self.value, slope

    def _compiled(self, step: float) -> tuple[float, float]:
        term, cuts = self.term, even_cuts(len(self.s2), COMPILED_PIECE)
        sums = np.empty((len(cuts) - 1, 2))
        start, labels = (self.eta, self.s2, self.ray), (term.y, term.w, term.pi)
        given, found = (float(step), *start, *labels, term.penalty is not None), (self.end, self.slopes, sums)
        run_shared_loop(_evaluate_logistic, cuts, term.rows.design.threads, *given, *found)
        value, slope = sum_over_pieces(sums)
        return float(value), float(slope)

    def _general(self, step: float) -> tuple[float, float]:
        term = self.term

        def piece(rows: slice) -> tuple[float, float]:
            u, c, q = self.ray[:, rows]
            eta = self.eta[rows] + step * u
            # Rounding could make s² slightly negative where coefficients vanish.
            s2 = np.maximum(self.s2[rows] + step * (2.0 * c + step * q), 0.0)
            value, f_eta, f_s2 = term.evaluate(rows, eta, s2)
            self.end[0, rows], self.end[1, rows] = eta, s2
            self.slopes[rows, 0], self.slopes[rows, 1] = f_eta, f_s2
            return value, float(np.sum(f_eta * u + f_s2 * (2.0 * (c + step * q))))

        results = each(piece, term.slices, term.rows.design.threads)
        return sum(value for value, _ in results), sum(slope for _, slope in results)

    def arrive(self, step: float, beta: np.ndarray) -> RowTermValue:
        term = self.term
        if self.step != step:
            self.value_and_slope(step)
        eta, s2 = self.end
        term.noise.pull_back(term.rows.design, beta[:, 0], self.slopes, term.by_beta[:, 0])
        term.passes += 1
        by_intercept = self.slopes[:, 0].sum(keepdims=True)
        return RowTermValue(self.value, term.by_beta, by_intercept, eta[:, None], s2)


@dataclass(frozen=True)
class Point:
    """Value and gradient at θ, with the parts that the next line search needs."""

    theta: np.ndarray
    intercept: np.ndarray  # b, (K,)
    value: float
    gradient: np.ndarray
    term_values: tuple[TermValue, ...]
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
    def of_rows(
        cls,
        parts: Sequence[WeightedRows],
        family: type[Family],
        penalty: Penalty | None,
        l2: np.ndarray,
        *,
        mean: np.ndarray | None = None,
        **settings: Any,
    ) -> Self:
        """Return the objective of sets of rows, for any family and penalty, which is None without noise.

        x̄ is computed unless it is given; the other settings are those of the class.
        """
        terms = [term_of(rows, family, penalty) for rows in parts]
        return cls(terms, l2, mean_row(parts) if mean is None else mean, **settings)

    @property
    def passes(self) -> int:
        """Number of passes over the rows of a term so far."""
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
        columns = np.ascontiguousarray(beta.T)  # for which the loop need not be compiled once more
        return np.array([vectors.dot(self.mean, column, self.threads) for column in columns])

    def at(self, theta: np.ndarray) -> Point:
        """Return value and gradient at θ."""
        beta = self.beta(theta)
        l2_norm, _, at_mean = self.products_along(beta, beta)
        intercept = theta[self.l2.size :] - at_mean
        values = tuple([term.at(beta, intercept) for term in self.terms])
        return self._point(theta, intercept, values, l2_norm)

    def along(self, point: Point, direction: np.ndarray) -> "ObjectiveRay":
        """Return the function along the ray from that point."""
        return ObjectiveRay(self, point, direction)

    def preconditioner(self, point: Point) -> np.ndarray:
        """Return the diagonal of the Fisher information plus l2, strictly positive."""
        parts = [
            term.fisher(here, self.mean) for term, here in zip(self.terms, point.term_values, strict=True)
        ]
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
        run_shared_loop(_add_l2, cuts, self.threads, *vectors_of_beta, float(tiny), totals)
        check_squares(bool(np.isfinite([*totals, *diagonal[size:]]).all()), diagonal.dtype)
        return diagonal

    def products_along(self, beta: np.ndarray, d: np.ndarray) -> tuple[float, float, np.ndarray]:
        """Return Σ λ β d, Σ λ d² and x̄·d for a direction d of shape (d, K); the last of shape (K,)."""
        cuts = even_cuts(len(beta), vectors.PIECE)
        sums = np.zeros((len(cuts) - 1, 2 + beta.shape[1]))
        run_shared_loop(_sum_products, cuts, self.threads, self.l2.T, self.mean, beta.T, d.T, sums)
        totals = sum_over_pieces(sums)
        return float(totals[0]), float(totals[1]), totals[2:]

    def _point(
        self, theta: np.ndarray, intercept: np.ndarray, values: tuple[TermValue, ...], l2_norm: float
    ) -> Point:
        by_beta, by_intercept = values[0].by_beta, values[0].by_intercept
        for other in values[1:]:
            by_beta, by_intercept = by_beta + other.by_beta, by_intercept + other.by_intercept
        by_intercept = by_intercept if self.fit_intercept else np.zeros_like(by_intercept)
        # For fixed c, a change of β changes b by -x̄·β, so the first part is ∂/∂β - x̄ ∂/∂b + λβ.
        gradient = np.empty_like(theta)
        gradient[self.l2.size :] = by_intercept
        parts = by_beta.T, by_intercept, self.l2.T, self.mean, self.beta(theta).T, self.beta(gradient).T
        run_shared_loop(_complete, even_cuts(len(self.l2), vectors.PIECE), self.threads, *parts)
        value = sum(one.value for one in values) + 0.5 * l2_norm
        # The gradient contains the derivatives; a second copy would cost one long vector per point.
        values = tuple([replace(one, by_beta=by_beta[:0]) for one in values])
        return Point(theta, intercept, value, gradient, values, l2_norm)


class ObjectiveRay:
    """f(θ + step · direction) as a function of the step."""

    def __init__(self, objective: Objective, point: Point, direction: np.ndarray) -> None:
        self.objective = objective
        self.point = point
        self.direction = direction
        beta, d = objective.beta(point.theta), objective.beta(direction)
        self.crossed, self.square, at_mean = objective.products_along(beta, d)
        self.d_intercept = direction[objective.l2.size :] - at_mean
        self.rays = [
            term.along(here, (beta, point.intercept), (d, self.d_intercept))
            for term, here in zip(objective.terms, point.term_values, strict=True)
        ]

    def value_and_slope(self, step: float) -> tuple[float, float]:
        """Return the value and its derivative with respect to the step."""
        value, slope = 0.5 * self._l2_norm(step), self.crossed + step * self.square
        for ray in self.rays:
            term_value, term_slope = ray.value_and_slope(step)
            value, slope = value + term_value, slope + term_slope
        return value, slope

    def arrive(self, step: float) -> Point:
        """Return the point at that step; cheapest for the step that was evaluated last."""
        theta = vectors.moved(self.point.theta, step, self.direction, self.objective.threads)
        beta, intercept = self.objective.beta(theta), self.point.intercept + step * self.d_intercept
        values = tuple([ray.arrive(step, beta) for ray in self.rays])
        return self.objective._point(theta, intercept, values, self._l2_norm(step))

    def _l2_norm(self, step: float) -> float:
        return self.point.l2_norm + step * (2.0 * self.crossed + step * self.square)


def mean_row(parts: Sequence[WeightedRows]) -> np.ndarray:
    """Return x̄, the weighted mean of the labelled rows; shape (d,)."""
    labeled = [(rows.design, rows.labels.weights) for rows in parts if rows.labels is not None]
    total = sum(float(w.sum()) for _, w in labeled)
    means = [sum_of_rows(design, w / total) for design, w in labeled]
    return means[0] if len(means) == 1 else np.sum(means, axis=0)


def sum_of_rows(design: AnyDesign, weights: np.ndarray) -> np.ndarray:
    """Return Σ w_i x_i; shape (d,)."""
    slopes = np.stack([weights, np.zeros_like(weights)], axis=1)
    return NO_NOISE.pull_back(design, np.zeros(design.shape[1], design.dtype), slopes)


def term_of(rows: WeightedRows, family: type[Family], penalty: Penalty | None) -> Term:
    """Return the cheapest term that supports this family and penalty."""
    if not family.several and (penalty is None or isinstance(penalty, RowPenalty)):
        return RowTerm(rows, family, penalty)
    return Term(rows, family, penalty)


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


@fused_kernel
def _evaluate_logistic(cuts, tickets, step, eta, s2, ray, y, w, pi, noisy, end, slopes, sums):
    """Evaluate rows of logistic regression without noise or with the gaussian penalty, compiled.

        f_i = w_i (softplus(η_i) - y_i η_i) + π_i (E softplus(N(η_i, s²_i)) - softplus(η_i))

    Other families and penalties go through NumPy. For the default of every classifier this loop replaces
    some thirty calls of NumPy per step, which took most of the time of a fit with few rows.

    The rows of the ray are u, c and q. Sets η and s² at the end of the step, the derivatives of f_i with
    respect to both (``slopes``), and the sums over each piece of f_i and of its derivative with respect to
    the step.
    """
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        first, last = cuts[piece], cuts[piece + 1]
        size = last - first
        u, c, q = ray[0, first:last], ray[1, first:last], ray[2, first:last]
        y_part, w_part, pi_part = y[first:last], w[first:last], pi[first:last]
        eta_end, s2_end = end[0, first:last], end[1, first:last]
        eta_start, s2_start = eta[first:last], s2[first:last]
        # |η| and s² and, in the second half of each row, without noise; then T and its derivatives. In one
        # array, since each kind of allocation takes time to compile.
        scratch = np.zeros((5, 2 * size))
        distance, variance, tails = scratch[0], scratch[1], scratch[2:]
        for i in range(size):
            eta_end[i] = eta_start[i] + step * u[i]
            # Rounding could make s² slightly negative where coefficients vanish.
            s2_end[i] = max(s2_start[i] + step * (2.0 * c[i] + step * q[i]), 0.0)
            distance[i] = distance[size + i] = abs(eta_end[i])
            variance[i] = s2_end[i]
        if noisy:
            add_components(distance, variance, tails[0], tails[1], tails[2])
        value, slope = 0.0, 0.0
        for i in range(size):
            softplus, p, _, _ = logistic(eta_end[i])
            sign = 1.0 if eta_end[i] > 0.0 else -1.0
            # Rounding could give -1e-17 for tiny s².
            r = max(tails[0, i] - tails[0, size + i], 0.0)
            value += w_part[i] * (softplus - y_part[i] * eta_end[i]) + pi_part[i] * r
            by_eta = w_part[i] * (p - y_part[i]) + pi_part[i] * sign * (tails[1, i] - tails[1, size + i])
            by_s2 = pi_part[i] * tails[2, i]
            slopes[first + i, 0], slopes[first + i, 1] = by_eta, by_s2
            slope += by_eta * u[i] + by_s2 * 2.0 * (c[i] + step * q[i])
        sums[piece, 0], sums[piece, 1] = value, slope
        piece = take_piece(tickets)
