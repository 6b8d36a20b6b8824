"""The rows of a partition as the user passes them, their checks, and what a fit must know of all partitions.

Before a fit starts, a survey finds the sizes, the features that occur and the classes of all partitions.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.base import checks
from dropglm.base.blocks import Blocks
from dropglm.base.errors import InputError, InputTypeError
from dropglm.places.labels import as_rows, several_labels
from dropglm.places.partitions.sums import merge_ascending


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
    groups : array-like or None
        Labels of any type; a search holds rows of the same group, in whatever partitions, out together.

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
    groups: Any = None


class CheckedRows(NamedTuple):
    """Rows without those of weight 0, as arrays of known types."""

    number: int
    X: Any  # ndarray, csr_array or Blocks
    y: np.ndarray | None  # labels, of which a row may have several, or targets; None for unlabelled rows
    weights: np.ndarray
    names: tuple[str, ...] | None  # of the columns of a table
    groups: np.ndarray | None = None

    @property
    def name(self) -> str:
        """The partition as messages call it."""
        return partition_name(self.number, labeled=self.y is not None)


def partition_name(number: int, *, labeled: bool) -> str:
    """Return what messages call a partition, counted from 0 like rows."""
    return f"Partition {number}" if labeled else f"Unlabelled partition {number}"


def check_rows(rows: Rows, targets: str) -> CheckedRows:
    """Return the rows after all checks that one partition allows; ``targets`` says what y is.

    y are "labels", "numbers" or "counts".

    Raises
    ------
    ValueError or TypeError
        One sentence, which names the partition and, if a single row is to blame, the row.
    """
    number, X, y, weights, labeled, groups = rows
    with naming(partition_name(number, labeled=labeled)):
        names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
        n = _length(X)
        X = _features(X) if n else _no_rows(X)
        w = checks.weights(weights, n) if n else np.empty(0)
        target = None
        if labeled:
            if y is None:
                raise InputError("has rows without labels; pass these as X_unlabeled.")
            target = _targets(y, n, targets)
        groups = None if groups is None else checks.groups(groups, n)
        kept = w > 0
        if not kept.all():
            X, w, target = X[kept], w[kept], None if target is None else target[kept]
            groups = None if groups is None else groups[kept]
        return CheckedRows(number, X, target, w, names, groups)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Put the name of a partition in front of the message of an error."""
    try:
        yield
    except (TypeError, ValueError) as error:
        sentence = str(error)
        link = " " if sentence.startswith("has ") else ": "
        raise type(error)(f"{name}{link}{sentence}", *getattr(error, "parameters", ())) from None


def blocks_of(X: Any) -> Sequence[Any]:
    """Return the matrices side by side that X consists of."""
    return X.blocks if isinstance(X, Blocks) else (X,)


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
    for block in blocks_of(X):
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
    if kind == "labels" and several_labels(y, n) is not None:
        return as_rows(y)
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


# So many columns are merged by a compiled loop: two lists of 14 and 6 million take 0.35 s, and 17 s with
# np.unique, which sorts. Short lists would wait for the compiler.
LONG = 1_000_000


class Survey(NamedTuple):
    """What one or several partitions contain."""

    rows: tuple[int, ...]  # of each partition
    widths: tuple[int, ...] | None  # of the blocks of features; None if no partition has rows
    in_blocks: bool
    dense: tuple[bool, ...]  # whether each block is
    dtype: np.dtype
    names: tuple[str, ...] | None  # of the columns
    source: str  # a partition with these columns, for messages
    columns: tuple[np.ndarray, ...]  # of each block: the features that occur, ascending
    counts: tuple[np.ndarray, ...]  # and in how many entries
    smallest: tuple[float, ...]  # of each block: the smallest entry, or 0 if none is negative
    weight: float  # the sum of all weights
    y: np.ndarray | None  # labels or targets of all rows; None for unlabelled rows
    weights: np.ndarray  # of the same rows
    groups: np.ndarray | None = None  # of the same rows, if they have any


def survey(rows: CheckedRows, _: None) -> Survey:
    """Return what a partition contains."""
    X, n = rows.X, rows.X.shape[0]
    blocks = blocks_of(X)
    found = [_occurrences(block) for block in blocks]
    dtypes = {block.dtype for block in blocks}
    return Survey(
        rows=(n,),
        widths=tuple(block.shape[1] for block in blocks) if n else None,
        in_blocks=isinstance(X, Blocks),
        dense=tuple(not sparse.issparse(block) for block in blocks),
        dtype=np.dtype(np.float32 if dtypes == {np.dtype(np.float32)} else np.float64),
        names=rows.names,
        source=rows.name,
        columns=tuple(columns for columns, _ in found),
        counts=tuple(counts for _, counts in found),
        smallest=tuple(_smallest(block) for block in blocks),
        weight=float(rows.weights.sum()),
        y=rows.y,
        weights=np.empty(0) if rows.y is None else rows.weights,
        groups=rows.groups,
    )


def merge(a: Survey, b: Survey) -> Survey:
    """Return what two groups of partitions contain together.

    Raises
    ------
    ValueError
        If their columns or the types of their labels do not agree.
    """
    rows = a.rows + b.rows
    if a.widths is None or b.widths is None:
        return (a if b.widths is None else b)._replace(rows=rows)
    check_columns_agree(a, b)
    merged = [
        _add_counts((a.columns[k], a.counts[k]), (b.columns[k], b.counts[k])) for k in range(len(a.widths))
    ]
    return a._replace(
        rows=rows,
        dense=tuple(map(all, zip(a.dense, b.dense, strict=True))),
        dtype=np.result_type(a.dtype, b.dtype),
        columns=tuple(columns for columns, _ in merged),
        counts=tuple(counts for _, counts in merged),
        smallest=tuple(map(min, zip(a.smallest, b.smallest, strict=True))),
        weight=a.weight + b.weight,
        y=_merged_labels(a, b),
        weights=np.concatenate([a.weights, b.weights]),
        groups=_merged_groups(a, b),
    )


def orders_of(labeled: Survey, unlabeled: Survey | None) -> list[np.ndarray]:
    """Return, for each block, the features that occur in any partition: the most frequent first if sparse."""
    orders = []
    for k in range(len(labeled.columns)):
        columns, counts, dense = labeled.columns[k], labeled.counts[k], labeled.dense[k]
        if unlabeled is not None:
            columns, counts = _add_counts((columns, counts), (unlabeled.columns[k], unlabeled.counts[k]))
            dense = dense and unlabeled.dense[k]
        orders.append(columns if dense else columns[np.argsort(-counts, kind="stable")])
    return orders


def _occurrences(block: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns with entries other than 0, and how many."""
    if not sparse.issparse(block):
        counts = np.count_nonzero(block, axis=0)
        columns = np.flatnonzero(counts)
        return columns, counts[columns]
    indices = block.indices if block.data.all() else block.indices[block.data != 0]
    if 4 * len(indices) < block.shape[1]:
        return np.unique(indices.astype(np.int64), return_counts=True)
    counts = np.bincount(indices, minlength=block.shape[1])
    columns = np.flatnonzero(counts)
    return columns, counts[columns]


def _add_counts(
    a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    if len(a[0]) + len(b[0]) > LONG:
        return merge_ascending(*a, *b)
    columns, places = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    counts = np.zeros(len(columns), np.int64)
    counts[places[: len(a[0])]] += a[1]
    counts[places[len(a[0]) :]] += b[1]
    return columns, counts


def _smallest(block: Any) -> float:
    entries = block.data if sparse.issparse(block) else block
    return min(float(entries.min()), 0.0) if entries.size else 0.0


def check_columns_agree(a: Survey, b: Survey) -> None:
    """Raise an error unless two groups of partitions have the same columns."""
    if a.in_blocks != b.in_blocks or a.widths != b.widths:
        raise InputError(f"{b.source} has {_columns(b)}, but {_lower(a.source)} has {_columns(a)}.")
    if a.names is not None and b.names is not None and a.names != b.names:
        raise InputError(
            f"The columns of {_lower(b.source)} have other names than those of {_lower(a.source)}, "
            "or another order."
        )


def _columns(survey: Survey) -> str:
    assert survey.widths is not None
    return f"blocks of {survey.widths} columns" if survey.in_blocks else f"{survey.widths[0]} columns"


def _lower(source: str) -> str:
    return source[0].lower() + source[1:]


def _merged_labels(a: Survey, b: Survey) -> np.ndarray | None:
    if a.y is None or b.y is None:
        return None
    if len({one.y.dtype.kind in "UTO" for one in (a, b) if one.y is not None}) > 1:
        raise InputError(
            f"{b.source} has labels such as {b.y[:1].tolist()[0]!r}, but {_lower(a.source)} has labels "
            f"such as {a.y[:1].tolist()[0]!r}: their types differ."
        )
    return np.concatenate([a.y, b.y])


def _merged_groups(a: Survey, b: Survey) -> np.ndarray | None:
    if (a.groups is None) != (b.groups is None):
        without, other = (a, b) if a.groups is None else (b, a)
        raise InputError(f"{without.source} has no groups, but {_lower(other.source)} has some.")
    if a.groups is None or b.groups is None:
        return None
    numeric = [groups.dtype.kind in "biuf" for groups in (a.groups, b.groups)]
    # NumPy would turn numbers beside strings into strings.
    kind = None if a.groups.dtype.kind == b.groups.dtype.kind or all(numeric) else object
    return np.concatenate([a.groups.astype(kind or a.groups.dtype), b.groups.astype(kind or b.groups.dtype)])
