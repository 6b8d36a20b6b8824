"""Noised copies of rows on the GPU, for a penalty by Monte Carlo.

They are those of ``dropglm.penalties.monte_carlo``, but drawn only once in a fit, by the host. The passes
over the copies are those over any rows.
"""

import os
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from dropglm.cuda.design import DeviceDesign
from dropglm.cuda.problems import Copies
from dropglm.cuda.upload import put_on_gpu
from dropglm.design import AnyDesign, Matrix
from dropglm.penalties import MonteCarlo
from dropglm.threads import each


def draw(penalty: MonteCarlo, design: DeviceDesign) -> Copies:
    """Draw the copies of all rows of a design."""
    host = design.on_host()
    _check_memory(penalty, host)

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
    matrices = [put_on_gpu(_joined(pieces), design.threads) for pieces in by_block]
    return Copies(list(zip(design.places, matrices, strict=True)), penalty.n_samples)


def _widened(X: Matrix, columns: np.ndarray, d: int, dtype: np.dtype) -> Matrix:
    """Return a matrix over all d features, given those of its columns."""
    if not sparse.issparse(X):
        wide = np.zeros((X.shape[0], d), dtype)
        wide[:, columns] = X
        return wide
    return sparse.csr_array((X.data.astype(dtype), columns[X.indices], X.indptr), (X.shape[0], d))


def _check_memory(penalty: MonteCarlo, design: AnyDesign) -> None:
    """Raise an error if the copies would fill the host's memory, where all of them are before the GPU's."""
    numbers = sum(
        block.shape[0] * block.shape[1] if penalty.noise.of_block(number).absolute else 2 * block.nnz
        for number, _, block in design.blocks
    )
    size = penalty.n_samples * numbers * design.dtype.itemsize
    if size > physical_memory():
        raise MemoryError(
            f"{penalty.n_samples} noised copies of the rows need about {size / 2**30:,.0f} GiB of memory; "
            "use expectation='gaussian', or device='cpu', which keeps few of them at a time."
        )


def physical_memory() -> float:
    """Return the bytes of the host's memory, or infinity where they are not known."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # on Windows
        return float("inf")


def _joined(matrices: Sequence[Matrix]) -> Matrix:
    return sparse.vstack(matrices, "csr") if sparse.issparse(matrices[0]) else np.concatenate(matrices)
