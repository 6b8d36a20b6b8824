"""Linear-chain conditional random fields under dropout: the objective, its gradient and its curvature.

A sentence has tokens t = 1, …, n with features x_t, and gets one of K tags per token. A sequence of tags has
the score ::

    s(y) = Σ_t (x_t·W[:, y_t]) + Σ_t T[y_{t-1}, y_t] + start[y_1] + end[y_n]

and the probability exp(s(y) - A), where A = log Σ_y exp s(y). The objective is ::

    Σ_i w_i (A - A_known) + π_i R + ½ l2 ‖θ‖²

where A_known sums over the sequences that agree with the known tags: it is s(y) if all tags are known, and a
sentence without a known tag has no loss. R is the quadratic penalty, the second-order expansion of the
expectation E A(s̃) - A(s) over the noise. The noise of a token scales its features, so it moves the scores of
all tags of this token together, and tokens are independent. Of the Hessian of A, which is the covariance of
the tags, only the blocks of single tokens and pairs remain ::

    R = ½ Σ_t Σ_j c x_tj² Var_{k ~ μ_t}[W_jk] + ½ Σ_t e Var_{(k, l) ~ μ_{t-1,t}}[T_kl]

with the marginals μ and c = δ/(1-δ), and e in its place for transitions. The marginals depend on θ: the
gradient of R has a part that is a covariance with the tags, ∂/∂s_t(k) = Cov(1[y_t = k], Σ_t g_t(y_t) + …),
where g = ∂R/∂μ. Recursions of the forward-backward kind compute it in O(n K²), as they do the marginals.

Sentences are evaluated in blocks that do not depend on the number of threads, and neither does the result.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dropglm.core.design.storage import BinaryRows, CsrRows, column, span, value
from dropglm.core.maths import vectors
from dropglm.core.maths.compile import fused_kernel, kernel_helper
from dropglm.core.maths.shared_loops import cuts_by_cost, run_shared_loop, take_piece

UNKNOWN = -1  # in place of the number of a tag

# The features of a token overlap, so the Hessian is far from its diagonal, which slows down the coefficients
# of frequent features. On 2,500 sentences of CoNLL-2000, L-BFGS passed over the rows 160 times with the
# diagonal until the objective was within 1e-3 of its minimum, 68 times without a preconditioner, and 53 times
# with the diagonal's fourth root.
FLATNESS = 0.25

LANES = np.uint64(8)  # sums that are added to at a time
ZERO, ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN = map(np.uint64, range(8))

# Each block of sentences has a gradient of its own: as many blocks as fit into 64 MB, within limits.
GRADIENTS, FEWEST_BLOCKS, MOST_BLOCKS = 1 << 23, 4, 32


class Chains(NamedTuple):
    """Sentences, one after the other.

    Attributes
    ----------
    rows : CsrRows or BinaryRows
        The features of each token.
    starts : ndarray of shape (n + 1,)
        The first token of each sentence.
    tags : ndarray of shape (tokens,)
        The number of each token's tag, or ``UNKNOWN``.
    free, known, penalty : ndarray of shape (n,)
        The weights of A, of -A_known and of R; w, w and π unless the penalty is sampled.
    """

    rows: CsrRows | BinaryRows
    starts: np.ndarray
    tags: np.ndarray
    free: np.ndarray
    known: np.ndarray
    penalty: np.ndarray


class Scores(NamedTuple):
    """What has a coefficient: pairs of a feature and a tag, transitions, and the tags of both ends.

    θ has the coefficients of the pairs, feature by feature, then T, start and end.

    Attributes
    ----------
    pair_starts : ndarray of shape (d + 1,)
        The first pair of each feature.
    pair_tags : ndarray of shape (P,)
        The tag of each pair.
    allowed : ndarray of shape (K + 2, K)
        Which transitions, starts (row K) and ends (row K + 1) have a coefficient; that of others is 0.
    """

    pair_starts: np.ndarray
    pair_tags: np.ndarray
    allowed: np.ndarray

    @property
    def size(self) -> int:
        """Number of coefficients, with those that are always 0."""
        return len(self.pair_tags) + self.allowed.size


class Dropout(NamedTuple):
    """The noise: relative variances of a feature and of a transition, δ/(1-δ); 0 without noise."""

    feature: float = 0.0
    transition: float = 0.0


@dataclass(frozen=True)
class ChainPoint:
    """Value and gradient at θ."""

    theta: np.ndarray
    value: float
    gradient: np.ndarray


NO_NOISE = Dropout()
NO_MARGINALS = np.zeros((0, 0))


@dataclass(eq=False)
class ChainObjective:
    """The function that a fit minimises, for ``core.solvers``.

    Parameters
    ----------
    chains : Chains
    scores : Scores
    dropout : Dropout
    l2 : float
        λ of ½λ‖θ‖².
    marginals : ndarray of shape (tokens, K), optional
        Held fixed in R, which then has no derivative through them; by default, R has those at θ.
    threads : int
    """

    chains: Chains
    scores: Scores
    dropout: Dropout = NO_NOISE
    l2: float = 0.0
    marginals: np.ndarray = field(default_factory=lambda: NO_MARGINALS)
    threads: int = 1
    passes: int = 0

    def __post_init__(self) -> None:
        starts, size = self.chains.starts, self.scores.size
        blocks = min(max(GRADIENTS // size, FEWEST_BLOCKS), MOST_BLOCKS)
        self._cuts = cuts_by_cost(starts.astype(np.int64), blocks)
        self._gradients = np.empty((len(self._cuts) - 1, size))
        self._values = np.empty(len(self._cuts) - 1)

    def at(self, theta: np.ndarray) -> ChainPoint:
        """Return value and gradient at θ."""
        value, gradient = self._evaluate(theta, curvature=False)
        l2_norm = vectors.dot(theta, theta, self.threads)
        gradient += self.l2 * theta
        gradient[len(self.scores.pair_tags) :] *= self.scores.allowed.ravel()
        return ChainPoint(theta, value + 0.5 * self.l2 * l2_norm, gradient)

    def along(self, point: ChainPoint, direction: np.ndarray) -> "ChainRay":
        """Return the function along the ray from that point."""
        return ChainRay(self, point, direction)

    def preconditioner(self, point: ChainPoint) -> np.ndarray:
        """Return a positive diagonal that is closer to the Hessian than a constant is.

        It is a power of ``curvature``, times that of its geometric mean which makes it a curvature.
        """
        diagonal = self.curvature(point)
        mean = np.exp(np.log(diagonal).mean())
        return mean ** (1.0 - FLATNESS) * diagonal**FLATNESS

    def curvature(self, point: ChainPoint) -> np.ndarray:
        """Return the variances of the tags under the model, by coefficient, plus l2; strictly positive."""
        _, diagonal = self._evaluate(point.theta, curvature=True)
        diagonal += self.l2
        return np.where(diagonal > np.finfo(np.float64).tiny, diagonal, 1.0)

    def _evaluate(self, theta: np.ndarray, *, curvature: bool) -> tuple[float, np.ndarray]:
        noise = np.array(self.dropout, np.float64)
        given = self.chains, self.scores, theta, noise, self.marginals, curvature
        run_shared_loop(_evaluate, self._cuts, self.threads, *given, self._values, self._gradients)
        self.passes += 1
        return float(self._values.sum()), self._gradients.sum(axis=0)


class ChainRay:
    """The function along a ray. A step is an evaluation; the last is kept, since the search ends there."""

    def __init__(self, objective: ChainObjective, point: ChainPoint, direction: np.ndarray) -> None:
        self.objective = objective
        self.start = point
        self.direction = direction
        self.last: tuple[float, ChainPoint] | None = None

    def value_and_slope(self, step: float) -> tuple[float, float]:
        """Return the value and its derivative with respect to the step."""
        point = self.arrive(step)
        return point.value, vectors.dot(point.gradient, self.direction, self.objective.threads)

    def arrive(self, step: float) -> ChainPoint:
        """Return the point at that step."""
        if self.last is None or self.last[0] != step:
            threads = self.objective.threads
            theta = vectors.moved(self.start.theta, step, self.direction, threads)
            self.last = step, self.objective.at(theta)
        return self.last[1]


def log_partition(chains: Chains, scores: Scores, theta: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return A of each sentence; shape (n,)."""
    return _infer(chains, scores, theta, threads)[2]


def marginals(chains: Chains, scores: Scores, theta: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return the probability of each tag for each token; shape (tokens, K)."""
    return _infer(chains, scores, theta, threads)[1]


def best_tags(chains: Chains, scores: Scores, theta: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return the tags of the most probable sequence of each sentence; shape (tokens,)."""
    return _infer(chains, scores, theta, threads, wanted_marginals=False)[0]


def _infer(
    chains: Chains, scores: Scores, theta: np.ndarray, threads: int, *, wanted_marginals: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the best tags, or the marginals and A."""
    tokens, n, K = int(chains.starts[-1]), len(chains.starts) - 1, scores.allowed.shape[1]
    best = np.zeros(tokens, np.int32)
    mu, A = np.zeros((tokens if wanted_marginals else 0, K)), np.zeros(n)
    if n:
        cuts = cuts_by_cost(chains.starts.astype(np.int64), MOST_BLOCKS)
        run_shared_loop(_read, cuts, threads, chains, scores, theta, wanted_marginals, best, mu, A)
    return best, mu, A


@kernel_helper
def _add_to_scores(chains, scores, theta, first, size, u):
    """Set u to the score of each tag of each token, x_t·W with those of the ends."""
    K, P = scores.allowed.shape[1], scores.pair_tags.size
    for t in range(size):
        for k in range(K):
            u[t, k] = 0.0
        start, stop = span(chains.rows, first + t)
        for entry in range(start, stop):
            j, x = column(chains.rows, entry), value(chains.rows, first + t, entry)
            for p in _pairs(scores, j):
                u[t, scores.pair_tags[p]] += x * theta[p]
    for k in range(K):
        u[0, k] += theta[P + K * K + k]
        u[size - 1, k] += theta[P + K * K + K + k]


@kernel_helper
def _pairs(scores, j):
    """Return the pairs of a feature; unsigned, since Numba checks signed indices for wrap-around."""
    return range(np.uint64(scores.pair_starts[j]), np.uint64(scores.pair_starts[j + np.uint32(1)]))


@kernel_helper
def _times(vectors, s, matrix, out, t):
    """Set row t of ``out`` to row s of ``vectors`` times the matrix.

    Eight sums at a time stay in registers, and indices are unsigned, since Numba checks signed ones for
    wrap-around: for 20 tags, 85 ns; with signed indices, 290 ns.
    """
    from_row, to_row = np.uint64(s), np.uint64(t)
    for b in range(ZERO, np.uint64(matrix.shape[1]), LANES):
        sum_0, sum_1, sum_2, sum_3, sum_4, sum_5, sum_6, sum_7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for a in range(np.uint64(matrix.shape[0])):
            factor = vectors[from_row, a]
            sum_0 += factor * matrix[a, b]
            sum_1 += factor * matrix[a, b + ONE]
            sum_2 += factor * matrix[a, b + TWO]
            sum_3 += factor * matrix[a, b + THREE]
            sum_4 += factor * matrix[a, b + FOUR]
            sum_5 += factor * matrix[a, b + FIVE]
            sum_6 += factor * matrix[a, b + SIX]
            sum_7 += factor * matrix[a, b + SEVEN]
        out[to_row, b], out[to_row, b + ONE] = sum_0, sum_1
        out[to_row, b + TWO], out[to_row, b + THREE] = sum_2, sum_3
        out[to_row, b + FOUR], out[to_row, b + FIVE] = sum_4, sum_5
        out[to_row, b + SIX], out[to_row, b + SEVEN] = sum_6, sum_7


@kernel_helper
def _add_products(before, after, size, factor, matrix):
    """Add factor · Σ_t before_{t-1} after_tᵀ to the matrix, over the pairs of adjacent tokens."""
    for a in range(np.uint64(matrix.shape[0])):
        for b in range(ZERO, np.uint64(matrix.shape[1]), LANES):
            sum_0, sum_1, sum_2, sum_3, sum_4, sum_5, sum_6, sum_7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for t in range(ONE, np.uint64(size)):
                own = factor * before[t - ONE, a]
                sum_0 += own * after[t, b]
                sum_1 += own * after[t, b + ONE]
                sum_2 += own * after[t, b + TWO]
                sum_3 += own * after[t, b + THREE]
                sum_4 += own * after[t, b + FOUR]
                sum_5 += own * after[t, b + FIVE]
                sum_6 += own * after[t, b + SIX]
                sum_7 += own * after[t, b + SEVEN]
            matrix[a, b] += sum_0
            matrix[a, b + ONE] += sum_1
            matrix[a, b + TWO] += sum_2
            matrix[a, b + THREE] += sum_3
            matrix[a, b + FOUR] += sum_4
            matrix[a, b + FIVE] += sum_5
            matrix[a, b + SIX] += sum_6
            matrix[a, b + SEVEN] += sum_7


@kernel_helper
def _exponentials(u, size, K, psi):
    """Set ψ_t to exp(u_t - max u_t), and return the sum of the maxima."""
    total = 0.0
    for t in range(size):
        top = u[t, 0]
        for k in range(K):
            top = max(top, u[t, k])
        for k in range(K):
            psi[t, k] = np.exp(u[t, k] - top)
        total += top
    return total


@kernel_helper
def _forward_backward(psi, size, M, M_transposed, alpha, beta, v, scale):
    """Set α, β and v so that μ_t = α_t β_t and μ_{t-1,t} = α_{t-1} M v_tᵀ; return log Σ Π ψ M.

    α_t sums to 1, as in Rabiner (1989), so nothing overflows; ``scale`` has the factors.
    """
    K, total = M.shape[0], 0.0
    for t in range(size):
        if t:
            _times(alpha, t - 1, M, alpha, t)
        else:
            alpha[0, :] = 1.0
        c = 0.0
        for k in range(K):
            alpha[t, k] *= psi[t, k]
            c += alpha[t, k]
        for k in range(K):
            alpha[t, k] *= 1.0 / c
        scale[t] = 1.0 / c
        total += np.log(c)
    beta[size - 1, :] = 1.0
    for t in range(size - 1, 0, -1):
        for k in range(K):
            v[t, k] = psi[t, k] * beta[t, k] * scale[t]
        _times(v, t, M_transposed, beta, t - 1)
    return total


@kernel_helper
def _set_transitions(theta, P, K, T, M, M_transposed):
    """Set T, M = exp(T - max T) and its transpose, and return max T."""
    top = theta[P]
    for i in range(K * K):
        top = max(top, theta[P + i])
    for a in range(K):
        for b in range(K):
            T[a, b] = theta[P + a * K + b]
            M[a, b] = M_transposed[b, a] = np.exp(T[a, b] - top)
    return top


@kernel_helper
def _padded(K):
    """Return the number of columns of arrays by tag; those after the last tag are zeros."""
    return (K + 7) // 8 * 8


@kernel_helper
def _longest(starts, first, last):
    longest = 1
    for i in range(first, last):
        longest = max(longest, starts[i + 1] - starts[i])
    return longest


@fused_kernel
def _evaluate(cuts, tickets, chains, scores, theta, noise, fixed, curvature, values, gradients):
    """Set value and gradient of each block, without l2; or the curvature in place of the gradient."""
    P, K = scores.pair_tags.size, scores.allowed.shape[1]
    width = _padded(K)
    by_feature, by_transition, has_fixed = noise[0], noise[1], fixed.shape[0] > 0
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        longest = _longest(chains.starts, cuts[piece], cuts[piece + 1])
        most = _most_entries(chains, cuts[piece], cuts[piece + 1])
        scratch = np.zeros((13, longest, width))
        u, psi, alpha, beta, v = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
        g, F, B, z, residual, mu = scratch[5], scratch[6], scratch[7], scratch[8], scratch[9], scratch[10]
        known_alpha, known_beta = scratch[11], scratch[12]
        by_place = np.zeros((3, max(longest, most)))
        scale, mean_transition, means = by_place[0], by_place[1], by_place[2]
        by_tag = np.zeros((2, width))
        matrices = np.zeros((10, K, width))
        T, M, M_transposed = matrices[0], matrices[1], matrices[2]
        # M T and M T², element by element, and their transposes
        M1, M2, M1_transposed, M2_transposed = matrices[3], matrices[4], matrices[5], matrices[6]
        pairs, noisy_pairs, mean_pairs = matrices[7], matrices[8], matrices[9]
        top = _set_transitions(theta, P, K, T, M, M_transposed)
        for a in range(K):
            for b in range(K):
                M1[a, b] = M1_transposed[b, a] = M[a, b] * T[a, b]
                M2[a, b] = M2_transposed[b, a] = M1[a, b] * T[a, b]
        gradient = gradients[piece]
        gradient[:] = 0.0
        total, edges = 0.0, 0.0
        for i in range(cuts[piece], cuts[piece + 1]):
            first, size = chains.starts[i], chains.starts[i + 1] - chains.starts[i]
            free, known, penalty = chains.free[i], chains.known[i], chains.penalty[i]
            if size == 0:
                continue
            _add_to_scores(chains, scores, theta, first, size, u)
            A = _exponentials(u, size, K, psi) + (size - 1) * top
            A += _forward_backward(psi, size, M, M_transposed, alpha, beta, v, scale)
            for t in range(size):
                for k in range(K):
                    mu[t, k] = alpha[t, k] * beta[t, k]
                    residual[t, k] = free * mu[t, k]
            if curvature:
                weight = abs(free) + penalty * by_feature
                edges += abs(free) * (size - 1)
                for t in range(size):
                    for k in range(K):
                        residual[t, k] = weight * mu[t, k] * (1.0 - mu[t, k])
                _add_products(alpha, v, size, abs(free), pairs)
                _add_curvature(chains, scores, first, size, residual, gradient)
                continue
            total += free * A
            noisy = penalty != 0.0 and (by_feature > 0.0 or by_transition > 0.0)
            if free != 0.0:
                _add_products(alpha, v, size, free, pairs)
            if noisy and has_fixed:
                for t in range(size):
                    for k in range(K):
                        mu[t, k] = fixed[first + t, k]
            if noisy:
                R = _feature_payoffs(chains, scores, theta, first, size, by_feature, mu, means, g)
                if not has_fixed:
                    # B_t β_t: the expected payoff of the tokens after t, given the tag of t
                    B[size - 1, :] = 0.0
                    for t in range(size - 1, 0, -1):
                        for k in range(K):
                            z[t, k] = v[t, k] * g[t, k] + psi[t, k] * scale[t] * B[t, k]
                        _times(z, t, M_transposed, B, t - 1)
                        if by_transition > 0.0:
                            _times(v, t, M1_transposed, by_tag, 0)
                            _times(v, t, M2_transposed, by_tag, 1)
                            mean, second = 0.0, 0.0
                            for k in range(K):
                                mean += alpha[t - 1, k] * by_tag[0, k]
                                second += alpha[t - 1, k] * by_tag[1, k]
                            R += 0.5 * by_transition * max(second - mean * mean, 0.0)
                            mean_transition[t] = mean
                            for k in range(K):
                                B[t - 1, k] += by_transition * (0.5 * by_tag[1, k] - mean * by_tag[0, k])
                    # F_t α_t: that of t and the tokens before; and G, the expected payoff of the sentence
                    G = 0.0
                    for t in range(size):
                        if t:
                            _times(F, t - 1, M, F, t)
                            if by_transition > 0.0:
                                _times(alpha, t - 1, M1, by_tag, 0)
                                _times(alpha, t - 1, M2, by_tag, 1)
                                mean = mean_transition[t]
                                for k in range(K):
                                    F[t, k] += by_transition * (0.5 * by_tag[1, k] - mean * by_tag[0, k])
                            for k in range(K):
                                F[t, k] *= psi[t, k] * scale[t]
                        else:
                            F[0, :] = 0.0
                        for k in range(K):
                            F[t, k] += alpha[t, k] * g[t, k]
                    for k in range(K):
                        G += F[size - 1, k]
                    for t in range(size):
                        for k in range(K):
                            covariance = F[t, k] * beta[t, k] + alpha[t, k] * B[t, k] - G * mu[t, k]
                            residual[t, k] += penalty * covariance
                            z[t, k] -= G * v[t, k]
                    _add_products(alpha, z, size, penalty, pairs)
                    _add_products(F, v, size, penalty, pairs)
                    if by_transition > 0.0:
                        _add_products(alpha, v, size, penalty, noisy_pairs)
                        for t in range(1, size):
                            for k in range(K):
                                z[t, k] = mean_transition[t] * v[t, k]
                        _add_products(alpha, z, size, penalty, mean_pairs)
                total += penalty * R
            if known != 0.0:
                if chains.tags[first : first + size].min() >= 0:
                    score = 0.0
                    for t in range(size):
                        k = chains.tags[first + t]
                        score += u[t, k]
                        residual[t, k] -= known
                        if t:
                            before = chains.tags[first + t - 1]
                            score += T[before, k]
                            gradient[P + before * K + k] -= known
                    total -= known * score
                else:
                    for t in range(size):
                        if chains.tags[first + t] >= 0:
                            for k in range(K):
                                if k != chains.tags[first + t]:
                                    u[t, k] = -np.inf
                    A_known = _exponentials(u, size, K, psi) + (size - 1) * top
                    A_known += _forward_backward(
                        psi, size, M, M_transposed, known_alpha, known_beta, v, scale
                    )
                    total -= known * A_known
                    for t in range(size):
                        for k in range(K):
                            residual[t, k] -= known * known_alpha[t, k] * known_beta[t, k]
                    _add_products(known_alpha, v, size, -known, pairs)
            for k in range(K):
                gradient[P + K * K + k] += residual[0, k]
                gradient[P + K * K + K + k] += residual[size - 1, k]
            factor = penalty * by_feature if noisy else 0.0
            _add_gradient(chains, scores, theta, first, size, residual, mu, factor, means, gradient)
        for a in range(K):
            for b in range(K):
                place = P + a * K + b
                if curvature:
                    expected = M[a, b] * pairs[a, b]
                    gradient[place] = expected * max(1.0 - expected / max(edges, 1.0), 0.0)
                else:
                    gradient[place] += M[a, b] * pairs[a, b]
                    # ∂R/∂T for given marginals, and h = ∂R/∂μ_{t-1,t}, to which the covariance is added
                    spread = T[a, b] * noisy_pairs[a, b] - mean_pairs[a, b]
                    payoff = T[a, b] * (0.5 * T[a, b] * noisy_pairs[a, b] - mean_pairs[a, b])
                    gradient[place] += by_transition * M[a, b] * (spread + payoff)
        values[piece] = total
        piece = take_piece(tickets)


@kernel_helper
def _most_entries(chains, first, last):
    """Return the largest number of entries of a sentence."""
    most = 1
    for i in range(first, last):
        entries = 0
        for t in range(chains.starts[i], chains.starts[i + 1]):
            start, stop = span(chains.rows, t)
            entries += stop - start
        most = max(most, entries)
    return most


@kernel_helper
def _feature_payoffs(chains, scores, theta, first, size, by_feature, mu, means, g):
    """Set g = ∂R/∂μ of the tokens, up to a constant per token, and return R of the features.

    Also sets the mean of W_jk over the tags, for each entry.
    """
    R, number = 0.0, 0
    for t in range(size):
        g[t, :] = 0.0
        start, stop = span(chains.rows, first + t)
        for entry in range(start, stop):
            j, x = column(chains.rows, entry), value(chains.rows, first + t, entry)
            mean, second = 0.0, 0.0
            for p in _pairs(scores, j):
                part = mu[t, scores.pair_tags[p]] * theta[p]
                mean += part
                second += part * theta[p]
            c = 0.5 * by_feature * x * x
            R += c * max(second - mean * mean, 0.0)
            for p in _pairs(scores, j):
                g[t, scores.pair_tags[p]] += c * theta[p] * (theta[p] - 2.0 * mean)
            means[number] = mean
            number += 1
    return R


@kernel_helper
def _add_gradient(chains, scores, theta, first, size, residual, mu, factor, means, gradient):
    """Add the derivatives with respect to the coefficients of features."""
    number = 0
    for t in range(size):
        start, stop = span(chains.rows, first + t)
        for entry in range(start, stop):
            j, x = column(chains.rows, entry), value(chains.rows, first + t, entry)
            if factor == 0.0:
                for p in _pairs(scores, j):
                    gradient[p] += x * residual[t, scores.pair_tags[p]]
            else:
                c, mean = factor * x * x, means[number]
                for p in _pairs(scores, j):
                    k = scores.pair_tags[p]
                    gradient[p] += x * residual[t, k] + c * mu[t, k] * (theta[p] - mean)
            number += 1


@kernel_helper
def _add_curvature(chains, scores, first, size, residual, gradient):
    """Add the variances of the tags, by coefficient, of features and of both ends."""
    P, K = scores.pair_tags.size, scores.allowed.shape[1]
    for t in range(size):
        start, stop = span(chains.rows, first + t)
        for entry in range(start, stop):
            j, x = column(chains.rows, entry), value(chains.rows, first + t, entry)
            for p in _pairs(scores, j):
                gradient[p] += x * x * residual[t, scores.pair_tags[p]]
    for k in range(K):
        gradient[P + K * K + k] += residual[0, k]
        gradient[P + K * K + K + k] += residual[size - 1, k]


@fused_kernel
def _read(cuts, tickets, chains, scores, theta, wanted_marginals, best, marginals, partitions):
    """Set the most probable tags of each sentence (Viterbi), or the marginals and A."""
    P, K = scores.pair_tags.size, scores.allowed.shape[1]
    piece = take_piece(tickets)
    while piece < cuts.size - 1:
        longest = _longest(chains.starts, cuts[piece], cuts[piece + 1])
        scratch = np.zeros((5, longest, _padded(K)))
        u, psi, alpha, beta, v = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
        scale = np.zeros(longest)
        matrices = np.zeros((3, K, _padded(K)))
        T, M, M_transposed = matrices[0], matrices[1], matrices[2]
        back = np.zeros((longest, K), np.int32)
        top = _set_transitions(theta, P, K, T, M, M_transposed)
        for i in range(cuts[piece], cuts[piece + 1]):
            first, size = chains.starts[i], chains.starts[i + 1] - chains.starts[i]
            if size == 0:
                continue
            _add_to_scores(chains, scores, theta, first, size, u)
            if wanted_marginals:
                A = _exponentials(u, size, K, psi) + (size - 1) * top
                A += _forward_backward(psi, size, M, M_transposed, alpha, beta, v, scale)
                partitions[i] = A
                for t in range(size):
                    for k in range(K):
                        marginals[first + t, k] = alpha[t, k] * beta[t, k]
                continue
            for t in range(1, size):
                for b in range(K):
                    highest, chosen = -np.inf, 0
                    for a in range(K):
                        score = u[t - 1, a] + T[a, b]
                        if score > highest:
                            highest, chosen = score, a
                    u[t, b] += highest
                    back[t, b] = chosen
            k = 0
            for b in range(1, K):
                if u[size - 1, b] > u[size - 1, k]:
                    k = b
            for t in range(size - 1, -1, -1):
                best[first + t] = k
                k = back[t, k]
        piece = take_piece(tickets)
