"""The formats of tables, by name and by suffix."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any

from dropglm.registry import quoted
from dropglm.tables import jsonl, plain, separated
from dropglm.tables.columns import Columns
from dropglm.tables.complaint import RowError, TableError, nearest
from dropglm.tables.compression import COMPRESSIONS
from dropglm.tables.lines import Lines

if TYPE_CHECKING:
    from polars import DataFrame


@dataclass(frozen=True)
class Format:
    """How a table is read and written.

    Attributes
    ----------
    name
        Its name in ``FORMATS``.
    rows
        The reader of rows, in which a bad row is its complaint; None is Parquet, which is read in frames.
    write
        Writes a frame to a binary stream, with the header or without.
    header
        Whether the names of the columns are a row of their own.
    delimiter
        What parts the fields.
    """

    name: str
    rows: Callable[[Lines, Columns, str], Iterator[tuple[Any, ...] | RowError]] | None
    write: Callable[["DataFrame", IO[bytes], bool], object]
    header: bool = False
    delimiter: str = ","


FORMATS = {
    "csv": Format(
        "csv",
        separated.rows,
        lambda frame, stream, header: frame.write_csv(stream, include_header=header),
        header=True,
    ),
    "tsv": Format(
        "tsv",
        separated.rows,
        lambda frame, stream, header: frame.write_csv(stream, include_header=header, separator="\t"),
        header=True,
        delimiter="\t",
    ),
    "jsonl": Format("jsonl", jsonl.rows, lambda frame, stream, header: frame.write_ndjson(stream)),
    "parquet": Format("parquet", None, lambda frame, stream, header: frame.write_parquet(stream)),
    "txt": Format("txt", plain.rows, plain.write),
}
SAME = {"ndjson": "jsonl"}


def format_of(name: str, given: str | None, option: str = "--format") -> tuple[Format, str | None]:
    """The format and the compression of a table, from what is given or else from the suffixes of its name.

    Examples
    --------
    >>> format, compression = format_of("reviews.ndjson.gz", None)
    >>> format.name, compression
    ('jsonl', 'gz')
    >>> format_of("reviews", "json")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dropglm.tables.complaint.TableError: Format 'json' is unknown (did you mean 'jsonl'?); known: 'csv', ...
    """
    if given is not None and not isinstance(given, str):
        raise TypeError(f"format must be a name, got {given!r}; known: {quoted(FORMATS)}.")
    suffixes = given.lower().lstrip(".").split(".") if given else _suffixes(name)
    *rest, last = suffixes or [""]
    compression = last if last in COMPRESSIONS else None
    if compression:
        last = rest.pop() if rest else ""
    format = FORMATS.get(SAME.get(last, last))
    if format is None or (given and rest):
        if given:
            raise TableError(
                f"Format {given!r} is unknown{nearest(given, FORMATS)}; known: {quoted(FORMATS)}."
            )
        raise TableError(f"{name}: the suffix tells no format; pass {option}, one of {quoted(FORMATS)}.")
    return format, compression


def _suffixes(name: str | os.PathLike[str]) -> list[str]:
    return [suffix.lstrip(".").lower() for suffix in PurePath(name).suffixes]
