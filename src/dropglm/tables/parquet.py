"""Frames and rows of a Parquet file."""

import os
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

from dropglm.tables.columns import Columns
from dropglm.tables.errors import EmptyTableError, RowError, TableError
from dropglm.tables.frames import import_polars
from dropglm.tables.labels import class_name
from dropglm.tables.source import read_all, read_chunk

if TYPE_CHECKING:
    from polars import DataFrame

MAGIC = b"PAR1"


class RowCounter:
    """The number of the row that is being read; it replaces ``Lines`` where there are no lines.

    Examples
    --------
    >>> RowCounter("reviews.parquet").error("has no text")
    RowError('reviews.parquet: row 1 has no text.')
    """

    first_line: int | None = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.row = 1

    def would_block(self) -> bool:
        """Return False: a Parquet file is complete before its first row is read."""
        return False

    def error(self, problem: str) -> RowError:
        """Return an error about the row that is being read."""
        return RowError.at(self.row, f"{self.name}: row {self.row} {problem}.")


def rows(frames: "Iterable[DataFrame]", counter: RowCounter) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the frames and count them."""
    for frame in frames:
        for row in frame.iter_rows():
            yield row
            counter.row += 1


def frames(
    stream: IO[bytes],
    path: str | os.PathLike[str] | None,
    columns: Columns,
    size: int,
    name: str,
    rows: tuple[int, int] | None = None,
) -> Iterator["DataFrame"]:
    """Yield the requested columns of up to ``size`` rows; without a path, all bytes are kept in memory.

    ``rows`` are the first row to read and the end, if not all of them.
    """
    pl = import_polars()
    source: Any = path
    if path is None:
        source = BytesIO(read_all(stream, name))
        stream = source
    _check_start_and_end(stream, name)
    try:
        table = pl.scan_parquet(source, **({} if path is None else {"glob": False}))
        schema = table.collect_schema()
        columns.positions(list(schema), name)
        requested = [_expression(column, schema[column], columns, name) for column in columns.names]
        table = table.select(requested)
        if rows is not None:
            table = table.slice(rows[0], rows[1] - rows[0])
        for frame in table.collect_batches(chunk_size=size, maintain_order=True):
            if columns.label is not None:
                names = pl.Series(columns.label, map(class_name, frame[columns.label]), pl.String)
                frame = frame.with_columns(names)
            yield frame
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{name}: this Parquet file is damaged ({reason}).") from None


def names(stream: IO[bytes], name: str) -> list[str]:
    """Return the names of the columns that can be read as strings: not those of lists, records and bytes."""
    pl = import_polars()
    source = stream if stream.seekable() else BytesIO(read_all(stream, name))
    _check_start_and_end(source, name)
    schema = pl.read_parquet_schema(source)
    return [column for column, dtype in schema.items() if not dtype.is_nested() and dtype != pl.Binary]


def _check_start_and_end(stream: IO[bytes], name: str) -> None:
    stream.seek(0)
    start = read_chunk(stream, len(MAGIC), name)
    if not start:
        raise EmptyTableError(f"{name}: this file is empty.")
    if start != MAGIC:
        raise TableError(f"{name}: this is not a Parquet file; set format to its actual format.")
    stream.seek(-len(MAGIC), os.SEEK_END)
    if read_chunk(stream, len(MAGIC), name) != MAGIC:
        raise TableError(f"{name}: this Parquet file is truncated.")
    stream.seek(0)


def _expression(column: str, dtype: Any, columns: Columns, name: str) -> Any:
    """Return the expression that reads the column: as strings, or, for labels, with its type."""
    pl = import_polars()
    is_string = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)
    if column == columns.text and not is_string:
        raise TableError(f"{name}: column {column!r} has the type {dtype}; texts must be strings.")
    if column == columns.label and not is_string:
        if not (dtype.is_integer() or dtype.is_float() or dtype == pl.Boolean):
            raise TableError(
                f"{name}: column {column!r} has the type {dtype}, which is not valid for labels."
            )
        # The digits that 32 bits hold: 0.1, not 0.10000000149011612.
        return pl.col(column).cast(pl.String).cast(pl.Float64) if dtype == pl.Float32 else pl.col(column)
    if dtype.is_nested() or dtype == pl.Binary:
        raise TableError(f"{name}: column {column!r} has the type {dtype}, which cannot be read as strings.")
    return pl.col(column).cast(pl.String)
