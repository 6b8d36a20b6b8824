"""Noised copies of rows on the GPU, for a penalty by Monte Carlo.

    R(β) = Σ_i π_i (1/S Σ_s A(η̃_i^s) - A(η_i) - A'(η_i) m_i),     m_i = 1/S Σ_s η̃_i^s - η_i

as in ``dropglm.penalties.monte_carlo``, with the same copies. They are drawn once, by the host, and are a set
of rows of their own, without labels. So the passes, the line search and the solver are those of any fit: for
a copy r is A(η̃), and for the row itself -A - A' m, where m takes the place of s². It is linear in β.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from dropglm.cuda.design import DeviceDesign
from dropglm.cuda.groups import DeviceArray, Group
from dropglm.cuda.matrix import DeviceMatrix, Ends, Slopes
from dropglm.cuda.problems import RowSet
from dropglm.cuda.row_loops import COPY, ROW
from dropglm.cuda.runtime import array_module
from dropglm.cuda.upload import on_gpu
from dropglm.design import Matrix
from dropglm.penalties import MonteCarlo
from dropglm.threads import each


class DriftingMatrix:
    """Rows X and their drift D, the mean of their copies minus X.

    Parameters
    ----------
    X, drift : DeviceMatrix
        With the same rows and features.
    """

    calls_kernels_only = False
    kind = "drifting"

    def __init__(self, X: DeviceMatrix, drift: DeviceMatrix) -> None:
        self.X, self.drift = X, drift
        self.shape, self.dtype = X.shape, X.dtype

    def ray(self, group: Group, ends: Ends, relative: DeviceArray, out: DeviceArray, *, add: bool) -> None:
        """Set, or add to, ``out``: Xd, ½ Dd and 0, so that m + 2·step·c + step²·q is m at a step."""
        none = _zeros_like(relative)
        self.X.ray(group, ends, none, out, add=add)
        along = _zeros_like(out)
        self.drift.ray(group, ends, none, along, add=False)
        out.array[1] += 0.5 * along.array[0]

    def backward(
        self,
        group: Group,
        beta: DeviceArray,
        twice: DeviceArray,
        slopes: Slopes,
        out: DeviceArray,
        *,
        add: bool,
    ) -> None:
        """Set, or add to, ``out``: Xᵀr + Dᵀq."""
        none = _zeros_like(twice)
        self.X.backward(group, beta, none, slopes, out, add=add)
        self.drift.backward(group, beta, none, Slopes(slopes.q, slopes.q), out, add=True)

    def column_sums(
        self, group: Group, slopes: Slopes, linear: DeviceArray, squares: DeviceArray, *, add: bool
    ) -> None:
        """Set, or add, Xᵀr to ``linear`` and (X²)ᵀq to ``squares``."""
        self.X.column_sums(group, slopes, linear, squares, add=add)


@dataclass(frozen=True)
class NoisedRows:
    """The rows of a design with their drift, and their copies.

    Attributes
    ----------
    drifting : sequence of DriftingMatrix
        One per block of features.
    copies : sequence of DeviceMatrix
        All copies of all rows, one matrix per block of features.
    row_of : ndarray of int
        The row of each copy.
    n_samples : int
        Number of copies of each row, S.
    """

    drifting: Sequence[DriftingMatrix]
    copies: Sequence[DeviceMatrix]
    row_of: np.ndarray
    n_samples: int

    def row_sets(self, rows: RowSet) -> list[RowSet]:
        """Return the rows and their copies as two sets, given the rows without noise."""
        places = [place for place, _ in rows.blocks]
        own = replace(rows, blocks=list(zip(places, self.drifting, strict=True)), penalty=ROW)
        nothing, first = np.zeros((len(self.row_of), 1)), np.zeros_like(rows.column_of_pi)
        copies = RowSet(
            list(zip(places, self.copies, strict=True)),
            nothing,
            nothing,
            rows.pi[self.row_of] / self.n_samples,
            first,
            first,
            rows.column_of_pi,
            rows.share,
            COPY,
        )
        return [own, copies]


def draw(penalty: MonteCarlo, design: DeviceDesign) -> NoisedRows:
    """Draw the copies of all rows of a design."""
    host = design.on_host()
    ranges = penalty.row_ranges(host)

    def draw_range(rows: tuple[int, int]) -> list[tuple[Matrix, Matrix]]:
        """Return copies and drift of some rows, for each block of features."""
        parts = penalty.parts(host, *rows)
        drawn = zip(*penalty.copies(parts, rows[0]), strict=True)
        found = []
        for part, copies, place in zip(parts, drawn, design.places, strict=True):
            stacked = sparse.vstack(copies, "csr") if sparse.issparse(copies[0]) else np.concatenate(copies)
            drift = _mean_of_copies(len(copies), part.X.shape[0]) @ stacked - part.X
            columns, d = part.columns - place.start, place.stop - place.start
            found.append(tuple(_widened(matrix, columns, d, design.dtype) for matrix in (stacked, drift)))
        return found

    by_block = zip(*each(draw_range, ranges, design.threads), strict=True)
    copies, drifting = [], []
    for matrix, pieces in zip(design.matrices, by_block, strict=True):
        stacked, drift = (on_gpu(_joined(parts), design.threads) for parts in zip(*pieces, strict=True))
        copies.append(stacked)
        drifting.append(DriftingMatrix(matrix, drift))
    row_of = np.concatenate([np.tile(np.arange(*rows), penalty.n_samples) for rows in ranges])
    return NoisedRows(drifting, copies, row_of, penalty.n_samples)


def _mean_of_copies(n_samples: int, n: int) -> sparse.csr_array:
    """Return the matrix that takes n_samples stacked copies of n rows to their mean."""
    return sparse.hstack([sparse.eye_array(n)] * n_samples, "csr") / n_samples


def _widened(X: Matrix, columns: np.ndarray, d: int, dtype: np.dtype) -> Matrix:
    """Return a matrix over all d features, given those of its columns."""
    if not sparse.issparse(X):
        return np.asarray(X, dtype=dtype)  # additive noise is on every feature
    indices = columns.astype(np.int32)[X.indices]
    return sparse.csr_array((X.data.astype(dtype), indices, X.indptr), (X.shape[0], d))


def _joined(matrices: Sequence[Matrix]) -> Matrix:
    return sparse.vstack(matrices, "csr") if sparse.issparse(matrices[0]) else np.concatenate(matrices)


def _zeros_like(array: DeviceArray) -> Any:
    return DeviceArray(array_module().zeros_like(array.array))
