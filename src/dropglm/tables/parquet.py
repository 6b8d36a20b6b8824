"""Rows of a Parquet file."""

import os
from collections.abc import Iterator
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

from dropglm.base.imports import import_extra
from dropglm.tables.errors import EmptyTableError, TableError
from dropglm.tables.lines import Block, read_all, read_chunk

if TYPE_CHECKING:
    from dropglm.tables.reader import Table

MAGIC = b"PAR1"


def import_polars() -> Any:
    """Import polars when it is needed first, so that the library works without it."""
    return import_extra("polars", "tables", "Tables need")


def blocks(stream: IO[bytes], table: "Table", path: str | None, size: int) -> Iterator[Block]:
    """Yield the requested columns of up to ``size`` rows; without a path, all bytes are kept in memory.

    Labels have their types, all other columns are strings.
    """
    pl = import_polars()
    source: Any = path
    if path is None:
        source = BytesIO(read_all(stream, table.name))
        stream = source
    _check_start_and_end(stream, table.name)
    try:
        frames = pl.scan_parquet(source, **({} if path is None else {"glob": False}))
        schema = frames.collect_schema()
        table.positions(list(schema))
        frames = frames.select([_expression(column, schema[column], table) for column in table.columns])
        row = 1
        if table.part is not None:
            frames = frames.slice(table.part.start, table.part.stop - table.part.start)
        for frame in frames.collect_batches(chunk_size=size, maintain_order=True):
            if frame.height:
                yield Block([column.to_list() for column in frame.get_columns()], row)
                row += frame.height
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{table.name}: this Parquet file is damaged ({reason}).") from None


def n_rows(path: str) -> int:
    """Return the number of rows of a file."""
    pl = import_polars()
    return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())


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


def _expression(column: str, dtype: Any, table: "Table") -> Any:
    """Return the expression that reads the column: as strings, or, for labels, with its type."""
    pl = import_polars()
    is_string = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)
    problem = ""
    if column == table.text and not is_string:
        problem = "; texts must be strings"
    elif column == table.label and not is_string:
        if dtype.is_integer() or dtype.is_float() or dtype == pl.Boolean:
            # The digits that 32 bits hold: 0.1, not 0.10000000149011612.
            return pl.col(column).cast(pl.String).cast(pl.Float64) if dtype == pl.Float32 else pl.col(column)
        problem = ", which is not valid for labels"
    elif dtype.is_nested() or dtype == pl.Binary:
        problem = ", which cannot be read as strings"
    if problem:
        raise TableError(f"{table.name}: column {column!r} has the type {dtype}{problem}.")
    return pl.col(column).cast(pl.String)
