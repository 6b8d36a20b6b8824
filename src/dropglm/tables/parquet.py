"""Frames of a Parquet file."""

import os
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

from dropglm.tables.columns import Columns
from dropglm.tables.complaint import RowError, TableError, polars
from dropglm.tables.source import chunk, everything

if TYPE_CHECKING:
    from polars import DataFrame

MAGIC = b"PAR1"


class Count:
    """The row that is being read: what ``Lines`` tells of a row, where there are no lines.

    Examples
    --------
    >>> Count("reviews.parquet").complaint("has no text")
    RowError('reviews.parquet: row 1 has no text.')
    """

    first: int | None = None  # its first line

    def __init__(self, name: str) -> None:
        self.name = name
        self.row = 1

    def waiting(self) -> bool:
        """Whether the next row has yet to be written: never, since Parquet is read when it is whole."""
        return False

    def complaint(self, what: str) -> RowError:
        """The row, and what is wrong with it."""
        return RowError.at(self.row, f"{self.name}: row {self.row} {what}.")


def rows(frames: "Iterable[DataFrame]", count: Count) -> Iterator[tuple[Any, ...]]:
    """The rows of the frames, counted."""
    for frame in frames:
        for row in frame.iter_rows():
            yield row
            count.row += 1


def frames(
    stream: IO[bytes], path: str | os.PathLike[str] | None, columns: Columns, size: int, name: str
) -> Iterator["DataFrame"]:
    """The wanted columns of up to ``size`` rows at a time; without a path, all bytes are held in memory."""
    pl = polars()
    source: Any = path
    if path is None:
        source = BytesIO(everything(stream, name))
        stream = source
    _check_ends(stream, name)
    try:
        table = pl.scan_parquet(source, **({} if path is None else {"glob": False}))
        schema = table.collect_schema()
        columns.positions(list(schema), name)
        wanted = [_expression(column, schema[column], columns, name) for column in columns.names]
        yield from table.select(wanted).collect_batches(chunk_size=size, maintain_order=True)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{name}: this Parquet file is damaged ({reason}).") from None


def _check_ends(stream: IO[bytes], name: str) -> None:
    stream.seek(0)
    start = chunk(stream, len(MAGIC), name)
    if not start:
        raise TableError(f"{name}: this file is empty.")
    if start != MAGIC:
        raise TableError(f"{name}: this is not a Parquet file; pass its --format.")
    stream.seek(-len(MAGIC), os.SEEK_END)
    if chunk(stream, len(MAGIC), name) != MAGIC:
        raise TableError(f"{name}: this Parquet file is cut short.")
    stream.seek(0)


def _expression(column: str, kind: Any, columns: Columns, name: str) -> Any:
    """The column as a string, or a label as what it is."""
    pl = polars()
    words = kind in (pl.String, pl.Categorical, pl.Enum, pl.Null)
    if column == columns.text and not words:
        raise TableError(f"{name}: column {column!r} holds {kind}, where a text must be a string.")
    if column == columns.label and not words:
        if not (kind.is_integer() or kind.is_float() or kind == pl.Boolean):
            raise TableError(f"{name}: column {column!r} holds {kind}, which is no label.")
        return pl.col(column)
    if kind.is_nested() or kind == pl.Binary:
        raise TableError(f"{name}: column {column!r} holds {kind}, which is no string.")
    return pl.col(column).cast(pl.String)
