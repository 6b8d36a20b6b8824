"""The rows of a fit, ready for the kernels: features ordered by frequency, stored by rows and by columns."""

from typing import Any

import numpy as np
from scipy import sparse

from dropglm.design import Design, Matrix, frequency_order


class Features:
    """Labelled and unlabelled rows over the features that occur.

    A feature that occurs in no row has coefficient 0 and is left out.

    Parameters
    ----------
    X : ndarray or scipy sparse of shape (n, d)
    X_unlabeled : ndarray or scipy sparse of shape (m, d), optional
    threads : int
    """

    def __init__(self, X: Matrix, X_unlabeled: Matrix | None = None, threads: int = 1) -> None:
        matrices = [_by_rows(part, X.dtype) for part in (X, X_unlabeled) if part is not None]
        self.d: int = X.shape[1]
        self.order = frequency_order(*matrices)
        designs = [Design(part, order=self.order, threads=threads).by_columns() for part in matrices]
        self.labeled = designs[0]
        self.unlabeled = designs[1] if X_unlabeled is not None else None

    @property
    def threads(self) -> int:
        """Number of threads for the loops over the rows."""
        return self.labeled.threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self.labeled.threads = threads
        if self.unlabeled is not None:
            self.unlabeled.threads = threads

    def select(self, coef: np.ndarray) -> np.ndarray:
        """Return β of the features that occur, given a (K, d) array for all features; shape (d', K)."""
        return np.ascontiguousarray(coef[:, self.order].T, dtype=self.labeled.dtype)

    def expand(self, beta: np.ndarray) -> np.ndarray:
        """Return the (K, d) array of all features, given β; 0 for those that do not occur."""
        coef = np.zeros((beta.shape[1], self.d), beta.dtype)
        coef[:, self.order] = beta.T
        return coef


def _by_rows(X: Any, dtype: np.dtype) -> Matrix:
    with np.errstate(over="ignore"):
        rows = (
            sparse.csr_array(X, dtype=dtype) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=dtype)
        )
    if X.dtype != dtype and not np.isfinite(rows.data if sparse.issparse(rows) else rows).all():
        raise ValueError(f"X_unlabeled contains numbers too large for X's dtype {dtype}.")
    return rows
