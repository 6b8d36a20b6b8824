"""What distinguishes the problems of a batch: labels, weights, noise, l2; and the rows that they share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dropglm.cuda.matrix import DeviceMatrix


class Copies(NamedTuple):
    """Noised copies of the rows of a set, those of a row following each other."""

    blocks: Sequence[tuple[slice, DeviceMatrix]]
    n_samples: int


@dataclass(frozen=True)
class RowSet:
    """Rows with or without labels: blocks of features, and columns of labels and weights.

    Attributes
    ----------
    blocks : sequence of (slice, DeviceMatrix)
        The matrices side by side, and their places among the coefficients.
    y, w, pi : ndarray of shape (n, ...)
        Columns of labels, of weights in the loss and of weights in the penalty.
    column_of_y, column_of_w, column_of_pi : ndarray of shape (P,)
        The column of each problem.
    share : ndarray of shape (P,)
        The factor of π.
    penalty : int
        The number of the penalty in kernels; 0 if there is none, or copies.
    copies : Copies, optional
        For a penalty by Monte Carlo.
    """

    blocks: Sequence[tuple[slice, DeviceMatrix]]
    y: np.ndarray
    w: np.ndarray
    pi: np.ndarray
    column_of_y: np.ndarray
    column_of_w: np.ndarray
    column_of_pi: np.ndarray
    share: np.ndarray
    penalty: int
    copies: Copies | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.blocks[0][1].shape[0]


@dataclass(frozen=True)
class Problems:
    """P problems that share rows and a family.

    A multinomial model of K classes counts as K neighbouring problems, which move together.

    Attributes
    ----------
    row_sets : sequence of RowSet
    family : int
        Its number in kernels; it does not matter if there are several classes.
    classes : int
        K of multinomial models; 1 for other families.
    constant : ndarray of shape (P,)
        Σ w A*(y), which makes the loss of a perfect fit 0.
    relative, absolute : ndarray of shape (B, P)
        The noise of each block.
    l2 : ndarray of shape (P,)
        λ.
    l2_weights : array of the GPU or ndarray of shape (d, W)
        Columns of weights of λ.
    column_of_l2 : ndarray of shape (P,)
    mean : array of the GPU or ndarray of shape (d, M)
        Columns of mean rows.
    column_of_mean : ndarray of shape (P,)
    fit_intercept : bool
    dtype : dtype
        Of the coefficients.
    """

    row_sets: Sequence[RowSet]
    family: int
    classes: int
    constant: np.ndarray
    relative: np.ndarray
    absolute: np.ndarray
    l2: np.ndarray
    l2_weights: Any
    column_of_l2: np.ndarray
    mean: Any
    column_of_mean: np.ndarray
    fit_intercept: bool
    dtype: np.dtype

    @property
    def count(self) -> int:
        """P."""
        return len(self.l2)

    @property
    def d(self) -> int:
        """Number of features."""
        return self.l2_weights.shape[0]
