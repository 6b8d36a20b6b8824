"""The rows of a fit, ready for the loops: features renumbered by frequency, stored by rows and by columns."""

from typing import Any

import numpy as np
from scipy import sparse

from dropglm.design import Design, Matrix, frequency_order


class Features:
    """Labelled and unlabelled rows over the features that occur.

    A feature that occurs in no row has weight 0, and is left out.

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
        """Threads of the loops over the rows."""
        return self.labeled.threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self.labeled.threads = threads
        if self.unlabeled is not None:
            self.unlabeled.threads = threads

    def taken(self, coef: np.ndarray) -> np.ndarray:
        """Of a (K, d) array for all features, β of those that occur; (d', K)."""
        return np.ascontiguousarray(coef[:, self.order].T, dtype=self.labeled.dtype)

    def given_back(self, beta: np.ndarray) -> np.ndarray:
        """The inverse, with 0 for the others; (K, d)."""
        coef = np.zeros((beta.shape[1], self.d), beta.dtype)
        coef[:, self.order] = beta.T
        return coef


def _by_rows(X: Any, dtype: np.dtype) -> Matrix:
    with np.errstate(over="ignore"):
        rows = (
            sparse.csr_array(X, dtype=dtype) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=dtype)
        )
    if X.dtype != dtype and not np.isfinite(rows.data if sparse.issparse(rows) else rows).all():
        raise ValueError(f"X_unlabeled holds numbers too large for the {dtype} of X.")
    return rows
