"""Polars frames from rows, with checks for missing values."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from dropglm.extras import import_extra
from dropglm.tables.block import Block
from dropglm.tables.columns import UNLABELED_HINT, Columns
from dropglm.tables.decoding import has_lone_surrogate
from dropglm.tables.errors import RowError, TableError
from dropglm.tables.labels import class_name
from dropglm.tables.lines import Lines

if TYPE_CHECKING:
    from polars import DataFrame, Series


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
    if columns.label is not None:
        values[columns.label] = tuple(map(class_name, values[columns.label]))
    try:
        return pl.DataFrame(values, dict.fromkeys(values, pl.String))
    except UnicodeEncodeError:
        row = next(
            row for row, entries in zip(count(start), rows, strict=False) if _any_lone_surrogate(entries)
        )
        raise TableError(
            f"{name}: row {row} contains half of a surrogate pair, which is not a character."
        ) from None


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
    if columns.label is not None and not columns.optional_label:
        missing = frame[columns.label].is_null()
        if missing.any():
            count = int(missing.sum())
            more = f" ({count:,} rows have none)" if count > 1 else ""
            where = place(start + _first(missing))
            raise TableError(f"{name}: {where} has no label{more}; {UNLABELED_HINT}.")


def _first(flags: "Series") -> int:
    return int(flags.arg_true()[0])
