"""Noised copies of rows on the GPU, for a penalty by Monte Carlo.

They are those of ``dropglm.penalties.monte_carlo``, but drawn only once, by the host. The passes over the
copies are those over any rows.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from dropglm.cuda.design import DeviceDesign
from dropglm.cuda.problems import Copies
from dropglm.cuda.upload import on_gpu
from dropglm.design import Matrix
from dropglm.penalties import MonteCarlo
from dropglm.threads import each


def draw(penalty: MonteCarlo, design: DeviceDesign) -> Copies:
    """Draw the copies of all rows of a design."""
    host = design.on_host()

    def draw_range(rows: tuple[int, int]) -> list[Matrix]:
        """Return all copies of some rows, one matrix per block of features."""
        parts = penalty.parts(host, *rows)
        # The copies of a row follow each other.
        order = np.arange(penalty.n_samples * (rows[1] - rows[0])).reshape(penalty.n_samples, -1).T.ravel()
        drawn = zip(*penalty.copies(parts, rows[0]), strict=True)
        return [
            _widened(
                _joined(copies)[order], part.columns - place.start, place.stop - place.start, design.dtype
            )
            for copies, part, place in zip(drawn, parts, design.places, strict=True)
        ]

    by_block = zip(*each(draw_range, penalty.row_ranges(host), design.threads), strict=True)
    matrices = [on_gpu(_joined(pieces), design.threads) for pieces in by_block]
    return Copies(list(zip(design.places, matrices, strict=True)), penalty.n_samples)


def _widened(X: Matrix, columns: np.ndarray, d: int, dtype: np.dtype) -> Matrix:
    """Return a matrix over all d features, given those of its columns."""
    if not sparse.issparse(X):
        return X.astype(dtype)  # additive noise is on every feature
    return sparse.csr_array((X.data.astype(dtype), columns[X.indices], X.indptr), (X.shape[0], d))


def _joined(matrices: Sequence[Matrix]) -> Matrix:
    return sparse.vstack(matrices, "csr") if sparse.issparse(matrices[0]) else np.concatenate(matrices)
