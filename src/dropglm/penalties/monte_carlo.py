"""The expectation as a mean over noised copies of the rows.

The copies depend only on the seed, not on β: value and gradient belong to one smooth function, and two
evaluations can be compared. Nor do they depend on storage or threads.

The tangent A(η) + A'(η)(η̃ - η), whose mean is A(η), is subtracted from each copy's A(η̃). The difference
is never negative, since A is convex, and varies far less. Without this control variate a fit could diverge:
the mean of a row's copies differs a little from the row, and moving along that difference would reduce the
objective without bound.
"""

from typing import Any, Self

import numpy as np
from scipy import sparse

from dropglm import checks
from dropglm.design import AnyDesign
from dropglm.families import Family
from dropglm.noise import Noise
from dropglm.penalties.base import Penalty, Slopes

# Entries of one noised copy: copies stay in the cache, and additive noise does not fill the memory.
BLOCK = 1 << 18


class MonteCarlo(Penalty):
    """R(β) = Σ_i 1/S Σ_s A(η̃_i^s) - A(η_i) - A'(η_i)(η̃_i^s - η_i) over S = ``n_samples`` noised copies.

    Additive noise makes the copies dense, so it costs n·d·S even for sparse rows.

    Parameters
    ----------
    family : Family class
        The distribution of y.
    noise : Noise
        The noise on the features.
    n_samples : int, default=1000
        Number of noised copies of each row.
    seed : int, default=0
        Random seed; the copies depend on nothing else.

    See Also
    --------
    Penalty : The interface of all penalties.

    Examples
    --------
    >>> from dropglm import noising_penalty
    >>> noising_penalty([1.0], [[1.0]], dropout=0.5, expectation="monte_carlo", random_state=0) > 0
    True
    """

    spares_one_sided = True

    def __init__(self, family: type[Family], noise: Noise, *, n_samples: int = 1000, seed: int = 0) -> None:
        super().__init__(family, noise)
        self.n_samples = n_samples
        self.seed = seed

    @classmethod
    def build(cls, family: type[Family], noise: Noise, *, n_samples: int, random_state: Any) -> Self:
        """Return the penalty with a seed drawn from the random state."""
        return cls(family, noise, n_samples=n_samples, seed=checks.seed(random_state))

    def value_and_gradient(
        self, design: AnyDesign, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, Slopes]:
        """Return R(β) and its gradient."""
        n = design.shape[0]
        parts = [(self.noise.of_block(number), columns, part) for number, columns, part in design.blocks]
        # Dropout keeps the copies sparse; additive noise makes them dense.
        size = sum(part.shape[1] if noise.absolute else part.nnz // n for noise, _, part in parts)
        step = max(1, BLOCK // max(1, size))
        blocks = [(first, min(first + step, n)) for first in range(0, n, step)]
        values, slopes = np.zeros(n), np.zeros((n, len(intercept)))

        def add(first: int, last: int, out: np.ndarray) -> None:
            rows = slice(first, last)
            narrow = []  # noise, rows, their columns and coefficients
            for noise, place, part in parts:
                X, columns = _narrowed(part.block(first, last), full=noise.absolute > 0)
                columns += place.start
                narrow.append((noise, X, columns, beta[columns].astype(np.float64)))
            rng = np.random.default_rng([self.seed, first])
            w = weights[rows, None]
            eta = sum(X @ coef for _, X, _, coef in narrow) + intercept
            A, A1 = self.family.log_partition(eta), self.family.mean(eta)
            drift = np.zeros_like(eta)
            for _ in range(self.n_samples):
                copies = [noise.sample(X, rng) for noise, X, _, _ in narrow]
                noised = intercept + sum(
                    copy @ coef for copy, (_, _, _, coef) in zip(copies, narrow, strict=True)
                )
                shift = noised - eta
                divergence = self.family.log_partition(noised) - A - _along_classes(A1 * shift, A.ndim)
                values[rows] += weights[rows] * divergence.reshape(last - first) / self.n_samples
                residual = w * (self.family.mean(noised) - A1) / self.n_samples
                slopes[rows] += residual
                for copy, (_, _, columns, _) in zip(copies, narrow, strict=True):
                    out[columns] += copy.T @ residual
                drift += shift / self.n_samples
            correction = w * _curvature_times(self.family, eta, drift)
            slopes[rows] -= correction
            for _, X, columns, _ in narrow:
                out[columns] -= X.T @ correction

        gradient = design.sum_over_rows(add, *beta.shape, pieces=blocks)
        return float(values.sum()), Slopes(gradient, slopes.sum(axis=0))


def _along_classes(products: np.ndarray, ndim: int) -> np.ndarray:
    """Sum the products over the classes if A has no axis for them."""
    return products if products.ndim == ndim else products.sum(axis=-1)


def _curvature_times(family: type[Family], eta: np.ndarray, drift: np.ndarray) -> np.ndarray:
    """A''(η) times the drift; (n, K)."""
    A2 = family.variance(eta)
    return A2 * drift if A2.ndim == drift.ndim else np.einsum("nkl,nl->nk", A2, drift)


def _narrowed(X: sparse.csr_array, *, full: bool) -> tuple[sparse.csr_array, np.ndarray]:
    """Return X in float64, without its empty columns unless ``full``, and the numbers of its columns."""
    if full:
        return X.astype(np.float64), np.arange(X.shape[1])
    columns, indices = np.unique(X.indices, return_inverse=True)
    shape = (X.shape[0], len(columns))
    return sparse.csr_array((X.data.astype(np.float64), indices, X.indptr), shape), columns
