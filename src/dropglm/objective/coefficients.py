"""Loops over the unknowns θ = (β, c) of an objective, with β row after row: (d, K), then K numbers.

The loops take transposed arrays, class after class: for a single class these are contiguous, and the compiler
vectorises.
"""

import numpy as np

from dropglm.maths import vectors
from dropglm.maths.compile import summing_kernel
from dropglm.maths.shared_loops import even_cuts, share, take_piece, total


def products_along(
    l2: np.ndarray, mean: np.ndarray, beta: np.ndarray, d: np.ndarray, threads: int
) -> tuple[float, float, np.ndarray]:
    """Return Σ λ β d, Σ λ d² and x̄·d for a direction d.

    Parameters
    ----------
    l2, beta, d : ndarray of shape (d, K)
        λ, β and the direction.
    mean : ndarray of shape (d,)
        x̄.
    threads : int

    Returns
    -------
    crossed, square : float
    at_mean : ndarray of shape (K,)
    """
    cuts = even_cuts(len(beta), vectors.PIECE)
    sums = np.zeros((len(cuts) - 1, 2 + beta.shape[1]))
    share(_sum_products, cuts, threads, l2.T, mean, beta.T, d.T, sums)
    totals = total(sums)
    return float(totals[0]), float(totals[1]), totals[2:]


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


def complete_gradient(
    by_beta: np.ndarray,
    by_intercept: np.ndarray,
    l2: np.ndarray,
    mean: np.ndarray,
    theta: np.ndarray,
    threads: int,
) -> np.ndarray:
    """Return the gradient with respect to θ, given the derivatives of all terms but l2 by β and b.

    For fixed c, a change of β changes b by -x̄·β, so the first part is ∂/∂β - x̄ ∂/∂b + λβ.
    """
    gradient = np.empty_like(theta)
    gradient[l2.size :] = by_intercept
    beta, out = (vector[: l2.size].reshape(l2.shape) for vector in (theta, gradient))
    cuts = even_cuts(len(l2), vectors.PIECE)
    share(_complete, cuts, threads, by_beta.T, by_intercept, l2.T, mean, beta.T, out.T)
    return gradient


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


def complete_diagonal(
    by_beta: np.ndarray, by_intercept: np.ndarray, l2: np.ndarray, threads: int
) -> np.ndarray:
    """Return the diagonal of the Fisher information plus λ, strictly positive, for θ.

    A feature without a row of positive weight may have no curvature; any positive number will do.
    """
    diagonal = np.empty(l2.size + l2.shape[1], by_beta.dtype)
    tiny = np.finfo(diagonal.dtype).tiny
    with np.errstate(over="ignore"):
        diagonal[l2.size :] = np.where(by_intercept <= tiny, 1.0, by_intercept)
    cuts = even_cuts(l2.size, vectors.PIECE)
    totals = np.empty(len(cuts) - 1)
    share(_add_l2, cuts, threads, by_beta.ravel(), l2.ravel(), diagonal[: l2.size], float(tiny), totals)
    if not np.isfinite([*totals, *diagonal[l2.size :]]).all():
        raise ValueError(f"The squares of the features overflow {diagonal.dtype}; scale the features down.")
    return diagonal


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
