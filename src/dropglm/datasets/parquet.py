"""Tables as Parquet files."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from dropglm.datasets.entry import Columns, Table
from dropglm.datasets.errors import DatasetError


def needed(module: str) -> Any:
    """The module, which not everyone has."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            f"This data set needs {module}, which pip install 'dropglm[data]' installs."
        ) from None


def frame(columns: Columns, table: Table) -> Any:
    """The columns as a polars frame with the table's types."""
    pl = needed("polars")
    return pl.DataFrame(columns, schema=schema(table))


def schema(table: Table) -> dict[str, Any]:
    """The table's types, as polars has them."""
    pl = needed("polars")
    lists = {"List(Int32)": pl.List(pl.Int32)}
    return {name: lists.get(kind) or getattr(pl, kind) for name, kind in table.columns.items()}


def write(columns: Columns, table: Table, path: Path) -> None:
    """Write the columns, so that they stay written."""
    frame(columns, table).write_parquet(path, compression="zstd")
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def read(path: Path, table: Table) -> Any:
    """The rows as a polars frame; one sentence if they are not those of the table."""
    pl = needed("polars")
    try:
        rows = pl.read_parquet(path)
        missing = [name for name in table.columns if name not in rows.columns]
        if not missing:
            rows = rows.select(list(table.columns)).cast(schema(table))
    except MemoryError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise complaint(path, f"cannot be read ({reason})") from None
    if missing:
        raise complaint(path, f"has no column {missing[0]!r}")
    if len(rows) != table.rows:
        raise complaint(path, f"has {len(rows):,} rows instead of {table.rows:,}")
    empty = [name for name in table.columns if rows[name].null_count()]
    if empty:
        raise complaint(path, f"has missing values in column {empty[0]!r}")
    return rows


def complaint(path: Path, what: str) -> DatasetError:
    """One sentence about a file, and what to do."""
    return DatasetError(f"{path} {what}; delete it and fetch it again.")
