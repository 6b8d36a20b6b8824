"""The expectation as a mean over noised copies of the rows.

The copies depend only on the seed, not on β: value and gradient belong to one smooth function, and two
evaluations can be compared. Nor do they depend on storage or threads.

The tangent A(η) + A'(η)(η̃ - η), whose mean is A(η), is subtracted from each copy's A(η̃). The difference
is never negative, since A is convex, and varies far less. Without this control variate a fit could diverge:
the mean of a row's copies differs a little from the row, and moving along that difference would reduce the
objective without bound.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from dropglm.base import checks
from dropglm.core.design import AnyDesign, Matrix
from dropglm.core.families import Family
from dropglm.core.noise import Noise
from dropglm.core.penalties.base import Penalty, PenaltyGradient

# Entries of one noised copy: copies stay in the cache, and additive noise does not fill the memory.
BLOCK = 1 << 18


class NoisyRows(NamedTuple):
    """Some rows of a block of features, in float64, and the noise on them."""

    noise: Noise
    X: sparse.csr_array  # without its empty columns, unless noise is additive
    columns: np.ndarray  # the numbers of its columns in the design


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
    ) -> tuple[float, PenaltyGradient]:
        """Return R(β) and its gradient."""
        n = design.shape[0]
        values, slopes = np.zeros(n), np.zeros((n, len(intercept)))

        def add(first: int, last: int, out: np.ndarray) -> None:
            rows, parts = slice(first, last), self.parts(design, first, last)
            coefs = [beta[part.columns].astype(np.float64) for part in parts]
            w = weights[rows, None]
            eta = sum(part.X @ coef for part, coef in zip(parts, coefs, strict=True)) + intercept
            A, A1 = self.family.log_partition(eta), self.family.mean(eta)
            drift = np.zeros_like(eta)
            for copies in self.copies(parts, first):
                noised = intercept + sum(copy @ coef for copy, coef in zip(copies, coefs, strict=True))
                shift = noised - eta
                divergence = self.family.log_partition(noised) - A - _along_classes(A1 * shift, A.ndim)
                values[rows] += weights[rows] * divergence.reshape(last - first) / self.n_samples
                residual = w * (self.family.mean(noised) - A1) / self.n_samples
                slopes[rows] += residual
                for copy, part in zip(copies, parts, strict=True):
                    out[part.columns] += copy.T @ residual
                drift += shift / self.n_samples
            correction = w * _curvature_times(self.family, eta, drift)
            slopes[rows] -= correction
            for part in parts:
                out[part.columns] -= part.X.T @ correction

        gradient = design.sum_over_rows(add, *beta.shape, pieces=self.row_ranges(design))
        return float(values.sum()), PenaltyGradient(gradient, slopes.sum(axis=0))

    def row_ranges(self, design: AnyDesign) -> list[tuple[int, int]]:
        """Return ranges of rows whose copies are drawn together."""
        n = design.shape[0]
        # Dropout keeps the copies sparse; additive noise makes them dense.
        size = sum(
            block.shape[1] if self.noise.of_block(number).absolute else block.nnz // n
            for number, _, block in design.blocks
        )
        step = max(1, BLOCK // max(1, size))
        return [(first, min(first + step, n)) for first in range(0, n, step)]

    def parts(self, design: AnyDesign, first: int, last: int) -> list[NoisyRows]:
        """Return rows first to last - 1, by block of features."""
        parts = []
        for number, place, block in design.blocks:
            noise = self.noise.of_block(number)
            X, columns = _narrowed(block.csr_rows(first, last), full=noise.absolute > 0)
            parts.append(NoisyRows(noise, X, columns + place.start))
        return parts

    def copies(self, parts: Sequence[NoisyRows], first: int) -> Iterator[list[Matrix]]:
        """Draw copies of rows from the first on.

        Yields
        ------
        list of ndarray or CSR array
            A copy, one matrix per block of features.
        """
        rng = np.random.default_rng([self.seed, first])
        for _ in range(self.n_samples):
            yield [part.noise.sample(part.X, rng) for part in parts]


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
