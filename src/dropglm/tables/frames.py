"""Polars frames from rows, with checks for missing values and types for labels."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from dropglm.extras import import_extra
from dropglm.tables.block import Block
from dropglm.tables.columns import UNLABELED_HINT, Columns
from dropglm.tables.decoding import has_lone_surrogate
from dropglm.tables.errors import RowError, TableError
from dropglm.tables.lines import Lines

if TYPE_CHECKING:
    from polars import DataFrame, Series

# Any integer of up to 18 digits fits into 64 bits.
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def import_polars() -> Any:
    """Import polars when the first table is read, so that the library works without it."""
    return import_extra("polars", "tables", "Tables need")


def frames(
    rows: Iterable[tuple[Any, ...] | RowError | Block],
    lines: Lines,
    columns: Columns,
    size: int,
    *,
    prompt: bool,
) -> Iterator["DataFrame"]:
    """Yield frames of up to ``size`` rows; the first bad row is raised.

    With ``prompt``, a frame has fewer rows if a pipe has no more of them at the moment.
    """
    pending: list[tuple[Any, ...]] = []
    start = 1
    for row in rows:
        if isinstance(row, RowError):
            raise row
        if isinstance(row, Block):
            pending += row.tuples()
        else:
            pending.append(row)
        while len(pending) >= size or (pending and prompt and lines.would_block()):
            yield _frame(pending[:size], columns, lines.name, start)
            start += len(pending[:size])
            del pending[:size]
    if pending:
        yield _frame(pending, columns, lines.name, start)


def _frame(rows: Sequence[tuple[Any, ...]], columns: Columns, name: str, start: int) -> "DataFrame":
    pl = import_polars()
    values = dict(zip(columns.names, zip(*rows, strict=True), strict=True))
    dtypes = {
        column: _label_dtype(entries) if column == columns.label else pl.String
        for column, entries in values.items()
    }
    try:
        return pl.DataFrame(
            [pl.Series(column, entries, dtypes[column]) for column, entries in values.items()]
        )
    except UnicodeEncodeError:
        row = next(
            row for row, entries in zip(count(start), rows, strict=False) if _any_lone_surrogate(entries)
        )
        raise TableError(
            f"{name}: row {row} contains half of a surrogate pair, which is not a character."
        ) from None


def _label_dtype(labels: Sequence[Any]) -> Any:
    """Return the type of a column of labels; integers among floats become floats."""
    pl = import_polars()
    types = {type(label) for label in labels} - {type(None)}
    if not types:
        return pl.Null
    if types == {int, float}:
        return pl.Float64
    return {str: pl.String, bool: pl.Boolean, int: pl.Int64, float: pl.Float64}[types.pop()]


def _any_lone_surrogate(entries: Iterable[Any]) -> bool:
    return any(isinstance(entry, str) and has_lone_surrogate(entry) for entry in entries)


def check_complete(
    frame: "DataFrame",
    columns: Columns,
    name: str,
    start: int = 1,
    place: Callable[[int], str] = "row {}".format,
) -> None:
    """Raise an error if a text or a label is missing; the frame's first row is row ``start`` of the table.

    ``place`` returns the place of a row in the table, for the message about a missing label.
    """
    missing = frame[columns.text].is_null()
    if missing.any() and not columns.optional_text:
        raise TableError(f"{name}: row {start + _first(missing)} has no text (null in {columns.text!r}).")
    if columns.label is not None:
        missing = _missing_labels(frame[columns.label])
        if missing.any():
            count = int(missing.sum())
            more = f" ({count:,} rows have none)" if count > 1 else ""
            where = place(start + _first(missing))
            raise TableError(f"{name}: {where} has no label{more}; {UNLABELED_HINT}.")


def _first(flags: "Series") -> int:
    return int(flags.arg_true()[0])


def _missing_labels(labels: "Series") -> "Series":
    """Return whether each label is null, NaN or blank."""
    pl = import_polars()
    missing = labels.is_null()
    if labels.dtype == pl.String:
        return missing | (labels.str.strip_chars() == "").fill_null(False)
    return missing | labels.is_nan().fill_null(False) if labels.dtype.is_float() else missing


def infer_type(labels: "Series") -> "Series":
    """Convert labels of a CSV to numbers or booleans, if that preserves how each one is written.

    ``1`` and ``0`` become integers, ``1.5`` and ``2.0`` floats, ``true`` and ``false`` booleans; ``01`` and
    ``1`` stay two strings. Pass the whole column: the type of one batch may be wrong for the next.

    Parameters
    ----------
    labels : polars.Series
        Labels as strings; a series of another type is returned as it is.

    Returns
    -------
    polars.Series

    Examples
    --------
    >>> import polars
    >>> infer_type(polars.Series(["1", "0"])).to_list()
    [1, 0]
    >>> infer_type(polars.Series(["1", "01"])).to_list()
    ['1', '01']
    """
    pl = import_polars()
    if labels.dtype != pl.String or labels.null_count() == len(labels):
        return labels
    kind = common_type(labels.unique().drop_nulls().to_list())
    if kind is bool:
        return labels == "true"
    return labels if kind is str else labels.cast({int: pl.Int64, float: pl.Float64}[kind])


def common_type(labels: Iterable[str]) -> type:
    """Return the type that preserves how each label is written: int, bool, float, or else str.

    Examples
    --------
    >>> common_type(["1", "0"]), common_type(["1", "01"]), common_type(["true", "false"])
    (<class 'int'>, <class 'str'>, <class 'bool'>)
    """
    labels = list(labels)
    if all(INTEGER.fullmatch(label) for label in labels):
        return int
    if set(labels) <= {"true", "false"}:
        return bool
    return float if all(_is_float(label) for label in labels) else str


def _is_float(value: str) -> bool:
    try:
        return any(digit in value for digit in "0123456789") and repr(float(value)) == value
    except ValueError:
        return False
