"""The rows of a partition as the user passes them, and their checks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.base import checks
from dropglm.base.blocks import Blocks
from dropglm.base.errors import InputError, InputTypeError


class Rows(NamedTuple):
    """A partition: features and, for labelled rows, targets; weights are optional.

    Attributes
    ----------
    number : int
        Number of the partition, for messages.
    X : array-like, sparse matrix, data frame or Blocks
        Features.
    y : array-like or None
        Labels or targets; None for unlabelled rows.
    weights : array-like or None
        Weights of the rows; None means 1.
    labeled : bool
        Whether the rows have labels.

    See Also
    --------
    fit_partitions : Fits a model to such partitions.

    Examples
    --------
    >>> from dropglm.places.partitions import Rows
    >>> Rows(0, [[1.0], [0.0]], ["a", "b"]).labeled
    True
    """

    number: int  # of the partition, for messages
    X: Any
    y: Any = None
    weights: Any = None
    labeled: bool = True


class CheckedRows(NamedTuple):
    """Rows without those of weight 0, as arrays of known types."""

    number: int
    X: Any  # ndarray, csr_array or Blocks
    y: np.ndarray | None  # labels or targets; None for unlabelled rows
    weights: np.ndarray
    names: tuple[str, ...] | None  # of the columns of a table

    @property
    def name(self) -> str:
        """The partition as messages call it."""
        return partition_name(self.number, labeled=self.y is not None)


class Requirements(NamedTuple):
    """What the checks need to know of the estimator."""

    targets: str  # "labels", "numbers" or "counts"


def partition_name(number: int, *, labeled: bool) -> str:
    """Return what messages call a partition, counted from 0 like rows."""
    return f"Partition {number}" if labeled else f"Unlabelled partition {number}"


def check_rows(rows: Rows, requirements: Requirements) -> CheckedRows:
    """Return the rows after all checks that one partition allows.

    Raises
    ------
    ValueError or TypeError
        One sentence, which names the partition and, if a single row is to blame, the row.
    """
    number, X, y, weights, labeled = rows
    with naming(partition_name(number, labeled=labeled)):
        names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
        n = _length(X)
        X = _features(X) if n else _no_rows(X)
        w = checks.weights(weights, n) if n else np.empty(0)
        target = None
        if labeled:
            if y is None:
                raise InputError("has rows without labels; pass these as X_unlabeled.")
            target = _targets(y, n, requirements.targets)
        kept = w > 0
        if not kept.all():
            X, w, target = X[kept], w[kept], None if target is None else target[kept]
        return CheckedRows(number, X, target, w, names)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Put the name of a partition in front of the message of an error."""
    try:
        yield
    except (TypeError, ValueError) as error:
        sentence = str(error)
        link = " " if sentence.startswith("has ") else ": "
        raise type(error)(f"{name}{link}{sentence}", *getattr(error, "parameters", ())) from None


def _length(X: Any) -> int:
    if hasattr(X, "shape"):
        return int(X.shape[0])
    if hasattr(X, "__len__"):
        return len(X)
    raise InputTypeError(f"X must be a matrix, got {type(X).__name__}.")


def _no_rows(X: Any) -> Any:
    """Return an empty partition in a form that later steps accept."""
    if isinstance(X, Blocks):
        return X
    shape = getattr(X, "shape", (0, 0))
    return sparse.csr_array((0, shape[1] if len(shape) == 2 else 0), dtype=np.float32)


def _features(X: Any) -> Any:
    try:
        return checks.features_or_blocks(X)
    except ValueError:
        row = _first_not_finite(X)
        if row is None:
            raise
        raise InputError(f"row {row} of X contains NaN or infinity.") from None


def _first_not_finite(X: Any) -> int | None:
    """Return the first row with an entry that is not finite, if X has numbers."""
    blocks = X.blocks if isinstance(X, Blocks) else [X]
    for block in blocks:
        try:
            if sparse.issparse(block):
                csr = sparse.csr_array(block)
                bad = np.flatnonzero(~np.isfinite(csr.data))
                if len(bad):
                    return int(np.searchsorted(csr.indptr, bad[0], side="right") - 1)
            else:
                bad = np.flatnonzero(~np.isfinite(np.asarray(block, np.float64)).all(axis=1))
                if len(bad):
                    return int(bad[0])
        except (TypeError, ValueError):  # not numbers
            return None
    return None


def _targets(y: Any, n: int, kind: str) -> np.ndarray:
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (n,):
        raise InputError(f"has y of shape {y.shape}, but {n} rows.")
    missing = checks.missing(y)
    if missing is not None:
        advice = "; pass rows without labels as X_unlabeled" if kind == "labels" else ""
        raise InputError(f"row {missing} of y is missing or not finite{advice}.")
    fraction = checks.fractional(y) if kind == "labels" else None
    if fraction is not None:
        raise InputError(
            f"row {fraction} of y is {y[fraction]:g}, but a classifier needs labels; "
            "use a regressor for continuous targets."
        )
    if kind == "labels" or n == 0:
        return y
    numbers = checks.numbers(y, "y")
    if kind == "counts" and (numbers < 0).any():
        raise InputError(f"row {int(np.argmin(numbers))} of y is negative, but y must contain counts.")
    return numbers
