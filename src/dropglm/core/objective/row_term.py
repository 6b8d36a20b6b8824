"""The share of a block in the objective where each row's share depends only on its η and s².

Along a ray β + step·d both are polynomials in the step,

    η + step·u,      s² + 2·step·c + step²·q,

so one pass over the rows serves all steps that a line search tries, and one more gives the gradient at its
end.
"""

from dataclasses import dataclass

import numpy as np

from dropglm.base.threads import each, even_ranges
from dropglm.core.families import Family, Logistic, logistic
from dropglm.core.maths.compile import fused_kernel
from dropglm.core.maths.shared_loops import even_cuts, share, take_piece, total
from dropglm.core.maths.smoothed_softplus import add_components
from dropglm.core.objective.terms import Block, Coefficients, Share, Term, TermLine
from dropglm.core.penalties import RowPenalty
from dropglm.core.penalties.base import PIECE
from dropglm.core.penalties.gaussian import GaussianLogistic

# Rows per piece of compiled rows, which have no overhead of NumPy's calls to hide.
COMPILED_PIECE = 1 << 9


@dataclass(frozen=True)
class RowShare(Share):
    """A share, with the moments at which the next line starts."""

    s2: np.ndarray  # (n,)


class RowTerm(Term):
    """The share of a block without penalty or with a ``RowPenalty``, in a family with one η per row."""

    penalty: RowPenalty | None

    def __init__(self, block: Block, family: type[Family], penalty: RowPenalty | None) -> None:
        super().__init__(block, family, penalty)
        n, labels = len(block.penalty_weights), block.labels
        self.pieces = [slice(*bounds) for bounds in even_ranges(n, PIECE)]
        self.compiled = family is Logistic and type(penalty) in (GaussianLogistic, type(None))
        # y, w and π of every row; w is 0 without labels, π is 0 without a penalty.
        self.y = np.zeros(n) if labels is None else np.ascontiguousarray(labels.y[:, 0], np.float64)
        self.w = np.zeros(n) if labels is None else labels.weights
        self.pi = np.zeros(n) if penalty is None else block.penalty_weights
        # ∂f/∂β of the last share: memory that is used again is faster than new memory.
        self.by_beta = np.empty((block.design.shape[1], 1), block.design.dtype)

    def at(self, beta: np.ndarray, intercept: np.ndarray) -> RowShare:
        """Return the share at these coefficients."""
        eta, s2 = self.noise.moments(self.block.design, beta[:, 0])
        self.passes += 1
        return _RowLine(self, eta + intercept, s2, ray=np.zeros((3, len(s2)))).arrive(0.0, beta)

    def along(self, here: Share, start: Coefficients, direction: Coefficients) -> TermLine:
        """Return the share along the ray start + step · direction."""
        assert isinstance(here, RowShare)
        (beta, _), (d_beta, d_intercept) = start, direction
        ray = self.noise.ray(self.block.design, beta[:, 0], d_beta[:, 0])
        self.passes += 1
        ray[0] += d_intercept
        return _RowLine(self, here.eta[:, 0], here.s2, ray)

    def rows(self, rows: slice, eta: np.ndarray, s2: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return Σ f over these rows, and its derivatives with respect to each η and s²."""
        w, y, value, f_eta, f_s2 = self.w[rows], self.y[rows], 0.0, np.zeros_like(eta), np.zeros_like(eta)
        if self.block.labels is not None:
            value += float(np.sum(w * (self.family.log_partition(eta) - y * eta)))
            f_eta += w * (self.family.mean(eta) - y)
        if self.penalty is not None:
            r, r_eta, r_s2 = self.penalty.weighted_rows(eta, s2, self.pi[rows])
            value, f_eta, f_s2 = value + r, f_eta + r_eta, f_s2 + r_s2
        return value, f_eta, f_s2


class _RowLine:
    """A line on which a step needs every row's η and s², but not its features."""

    def __init__(self, term: RowTerm, eta: np.ndarray, s2: np.ndarray, ray: np.ndarray) -> None:
        self.term = term
        self.eta, self.s2 = eta, s2  # at the start of the line
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
        rows = self.eta, self.s2, self.ray, term.y, term.w, term.pi
        threads = term.block.design.threads
        share(
            _evaluate_logistic,
            cuts,
            threads,
            float(step),
            *rows,
            term.penalty is not None,
            self.end,
            self.slopes,
            sums,
        )
        value, slope = total(sums)
        return float(value), float(slope)

    def _general(self, step: float) -> tuple[float, float]:
        term = self.term

        def piece(rows: slice) -> tuple[float, float]:
            u, c, q = self.ray[:, rows]
            eta = self.eta[rows] + step * u
            # Rounding could make s² slightly negative where coefficients vanish.
            s2 = np.maximum(self.s2[rows] + step * (2.0 * c + step * q), 0.0)
            value, f_eta, f_s2 = term.rows(rows, eta, s2)
            self.end[0, rows], self.end[1, rows] = eta, s2
            self.slopes[rows, 0], self.slopes[rows, 1] = f_eta, f_s2
            return value, float(np.sum(f_eta * u + f_s2 * (2.0 * (c + step * q))))

        results = each(piece, term.pieces, term.block.design.threads)
        return sum(value for value, _ in results), sum(slope for _, slope in results)

    def arrive(self, step: float, beta: np.ndarray) -> RowShare:
        term = self.term
        if self.step != step:
            self.value_and_slope(step)
        eta, s2 = self.end
        term.noise.pull_back(term.block.design, beta[:, 0], self.slopes, term.by_beta[:, 0])
        term.passes += 1
        by_intercept = self.slopes[:, 0].sum(keepdims=True)
        return RowShare(self.value, term.by_beta, by_intercept, eta[:, None], s2)


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
