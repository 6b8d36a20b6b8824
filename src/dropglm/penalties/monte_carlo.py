"""The expectation as a mean over noised copies of the rows.

The copies depend on the seed alone, not on β: value and gradient belong to one smooth function, convex
together with the loss, and two evaluations can be compared. They do not depend on storage or threads either.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from dropglm.design import Design, Matrix
from dropglm.families import Family
from dropglm.noise import Noise
from dropglm.penalties.base import Penalty, Slopes

# Entries of one noised copy, so that copies stay in the cache and additive noise does not fill the memory.
BLOCK = 1 << 18


class MonteCarlo(Penalty):
    """R(β) = Σ_i 1/S Σ_s A(x̃_i^s·β + b) - A(x_i·β + b) over S = ``n_samples`` noised copies of each row.

    Additive noise makes dense copies: its cost is n·d·S, also for sparse rows.
    """

    def __init__(self, family: type[Family], noise: Noise, *, n_samples: int = 1000, seed: int = 0) -> None:
        super().__init__(family, noise)
        self.n_samples = n_samples
        self.seed = seed

    def value_and_gradient(
        self, design: Design, beta: np.ndarray, intercept: np.ndarray, weights: np.ndarray
    ) -> tuple[float, Slopes]:
        """R(β) with its slopes."""
        n, d = design.shape
        # A dropped feature stays inside its row; added noise is everywhere.
        size = d if self.noise.absolute else max(1, design.nnz // n)
        step = max(1, BLOCK // size)
        blocks = [(first, min(first + step, n)) for first in range(0, n, step)]
        values, slopes = np.zeros(n), np.zeros((n, len(intercept)))

        def add(first: int, last: int, out: np.ndarray) -> None:
            rows = slice(first, last)
            X, columns = _narrowed(design.block(first, last), full=self.noise.absolute > 0)
            narrow_beta = beta[columns].astype(np.float64)
            rng = np.random.default_rng([self.seed, first])
            for factor, copies in ((1.0 / self.n_samples, self._copies(X, rng)), (-1.0, [X])):
                for copy in copies:
                    eta = copy @ narrow_beta + intercept
                    A, A1 = self.family.log_partition(eta), self.family.mean(eta)
                    values[rows] += factor * weights[rows] * A.reshape(last - first)
                    residual = factor * weights[rows, None] * A1
                    slopes[rows] += residual
                    out[columns] += copy.T @ residual

        gradient = design.sum_over_rows(add, *beta.shape, pieces=blocks)
        return float(values.sum()), Slopes(gradient, slopes.sum(axis=0))

    def _copies(self, X: sparse.csr_array, rng: np.random.Generator) -> Iterator[Matrix]:
        return (self.noise.sample(X, rng) for _ in range(self.n_samples))


def _narrowed(X: sparse.csr_array, *, full: bool) -> tuple[sparse.csr_array, np.ndarray]:
    """X in float64, without its empty columns unless ``full``, and the numbers of the columns left."""
    if full:
        return X.astype(np.float64), np.arange(X.shape[1])
    columns, indices = np.unique(X.indices, return_inverse=True)
    shape = (X.shape[0], len(columns))
    return sparse.csr_array((X.data.astype(np.float64), indices, X.indptr), shape), columns
