"""Rows become frames, and frames are looked through for what is missing."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from dropglm.tables.columns import UNLABELED, Columns
from dropglm.tables.complaint import RowError, TableError, polars
from dropglm.tables.decoding import halved
from dropglm.tables.lines import Lines

if TYPE_CHECKING:
    from polars import DataFrame, Series

# Up to 18 digits fit 64 bits whatever they are.
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


def frames(
    rows: Iterable[tuple[Any, ...] | RowError], lines: Lines, columns: Columns, size: int, *, prompt: bool
) -> Iterator["DataFrame"]:
    """Frames of up to ``size`` rows; of fewer, if ``prompt`` and a pipe has no more rows for now.

    The first bad row is raised.
    """
    gathered: list[tuple[Any, ...]] = []
    start = 1
    for row in rows:
        if isinstance(row, RowError):
            raise row
        gathered.append(row)
        if len(gathered) >= size or (prompt and lines.waiting()):
            yield _frame(gathered, columns, lines.name, start)
            start += len(gathered)
            gathered = []
    if gathered:
        yield _frame(gathered, columns, lines.name, start)


def _frame(rows: Sequence[tuple[Any, ...]], columns: Columns, name: str, start: int) -> "DataFrame":
    pl = polars()
    values = dict(zip(columns.names, zip(*rows, strict=True), strict=True))
    kinds = {
        column: _kind(entries) if column == columns.label else pl.String for column, entries in values.items()
    }
    try:
        return pl.DataFrame([pl.Series(column, entries, kinds[column]) for column, entries in values.items()])
    except UnicodeEncodeError:
        row = next(row for row, entries in zip(count(start), rows, strict=False) if _any_halved(entries))
        raise TableError(
            f"{name}: row {row} holds half of a surrogate pair, which is no character."
        ) from None


def _kind(labels: Sequence[Any]) -> Any:
    """The type of a column of labels; JSON's 1 among floats is a float."""
    pl = polars()
    kinds = {type(label) for label in labels} - {type(None)}
    if kinds == {int, float}:
        return pl.Float64
    return (
        {str: pl.String, bool: pl.Boolean, int: pl.Int64, float: pl.Float64}[kinds.pop()]
        if kinds
        else pl.Null
    )


def _any_halved(entries: Iterable[Any]) -> bool:
    return any(isinstance(entry, str) and halved(entry) for entry in entries)


def complete(frame: "DataFrame", columns: Columns, name: str, start: int = 1) -> "DataFrame":
    """The frame, if no text and no label is missing; its first row is row ``start`` of the table."""
    missing = frame[columns.text].is_null()
    if missing.any():
        raise TableError(f"{name}: row {start + _first(missing)} has no text (null in {columns.text!r}).")
    if columns.label is not None:
        missing = _no_label(frame[columns.label])
        if missing.any():
            count = int(missing.sum())
            more = f" ({count:,} rows have none)" if count > 1 else ""
            raise TableError(f"{name}: row {start + _first(missing)} has no label{more}; {UNLABELED}.")
    return frame


def _first(flags: "Series") -> int:
    return int(flags.arg_true()[0])


def _no_label(labels: "Series") -> "Series":
    """Whether each label is null, NaN or nothing but blanks."""
    pl = polars()
    missing = labels.is_null()
    if labels.dtype == pl.String:
        return missing | (labels.str.strip_chars() == "").fill_null(False)
    return missing | labels.is_nan().fill_null(False) if labels.dtype.is_float() else missing


def typed(labels: "Series") -> "Series":
    """Labels of a CSV as numbers or booleans, if each would be written back with the same characters.

    So ``01`` and ``1`` stay two strings, ``1`` and ``0`` become integers, ``1.5`` and ``2.0`` floats,
    ``true`` and ``false`` booleans. It takes the whole column: the type of a batch may not hold in the next.

    Examples
    --------
    >>> import polars
    >>> typed(polars.Series(["1", "0"])).to_list()
    [1, 0]
    >>> typed(polars.Series(["1", "01"])).to_list()
    ['1', '01']
    """
    pl = polars()
    if labels.dtype != pl.String or labels.null_count() == len(labels):
        return labels
    values = labels.unique().drop_nulls().to_list()
    if all(WHOLE.fullmatch(value) for value in values):
        return labels.cast(pl.Int64)
    if set(values) <= {"true", "false"}:
        return labels == "true"
    if all(_is_float(value) for value in values):
        return labels.cast(pl.Float64)
    return labels


def _is_float(value: str) -> bool:
    try:
        return any(digit in value for digit in "0123456789") and repr(float(value)) == value
    except ValueError:
        return False
