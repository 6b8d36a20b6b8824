"""The formats of tables, by name and by suffix."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any

from dropglm.errors import InputTypeError
from dropglm.registry import quoted
from dropglm.tables import jsonl, separated
from dropglm.tables.errors import EmptyTableError, RowError, TableError, suggestion
from dropglm.tables.lines import Block, Lines
from dropglm.tables.source import COMPRESSIONS

if TYPE_CHECKING:
    from polars import DataFrame


@dataclass(frozen=True)
class Format:
    """How a table is read and written.

    Attributes
    ----------
    name : str
        Its name in ``FORMATS``.
    rows : callable or None
        Reads rows, some of them in blocks, and yields an error in place of each bad one; None for Parquet,
        which is read with polars.
    write : callable
        Writes a frame to a binary stream, with or without the header.
    names : callable or None
        Reads the names of the columns; None where ``rows`` is None.
    header : bool, default=False
        Whether the names of the columns are a row of their own.
    delimiter : str, default=","
        Default field delimiter.
    """

    name: str
    rows: Callable[[Lines], Iterator[tuple[Any, ...] | RowError | Block]] | None
    write: Callable[["DataFrame", IO[bytes], bool], object]
    names: Callable[[Lines], list[str]] | None = None
    header: bool = False
    delimiter: str = ","


def plain_rows(lines: Lines) -> Iterator[tuple[Any, ...]]:
    r"""Yield each line of plain text as a text; a blank line is an empty text, so that line numbers match.

    Examples
    --------
    >>> from io import BytesIO
    >>> from dropglm.tables import Table
    >>> list(plain_rows(Lines(BytesIO(b"one\n\ntwo"), Table("reviews.txt"))))
    [('one',), ('',), ('two',)]
    """
    others = lines.table.columns[1:]
    if others:
        raise TableError(f"{lines.name}: plain text has one column, the texts; there is no {others[0]!r}.")
    for line in lines:
        yield (line.rstrip("\r\n"),)
        lines.end_row()
    if lines.row == 1:
        raise EmptyTableError(f"{lines.name}: this file is empty.")


def write_plain(frame: "DataFrame", stream: IO[bytes], header: bool) -> None:
    """Write the first column, one line per row; line ends inside a value become spaces."""
    for value in frame.to_series(0):
        stream.write(f"{' '.join(str(value).splitlines())}\n".encode())


FORMATS = {
    "csv": Format(
        "csv",
        separated.rows,
        lambda frame, stream, header: frame.write_csv(stream, include_header=header),
        separated.names,
        header=True,
    ),
    "tsv": Format(
        "tsv",
        separated.rows,
        lambda frame, stream, header: frame.write_csv(stream, include_header=header, separator="\t"),
        separated.names,
        header=True,
        delimiter="\t",
    ),
    "jsonl": Format(
        "jsonl", jsonl.rows, lambda frame, stream, header: frame.write_ndjson(stream), jsonl.names
    ),
    "parquet": Format("parquet", None, lambda frame, stream, header: frame.write_parquet(stream)),
    "txt": Format("txt", plain_rows, write_plain, lambda lines: []),
}
SYNONYMS = {"ndjson": "jsonl"}


def find_format(name: str, format: str | None) -> tuple[Format, str | None]:
    """Return the format and the compression of a table.

    Parameters
    ----------
    name : str
        Name of the file, whose suffixes determine the format if ``format`` is None.
    format : str or None
        A name in ``FORMATS``, with the compression if there is one: ``"csv.gz"``.

    Returns
    -------
    format : Format
    compression : str or None
        A key of ``COMPRESSIONS``.

    Examples
    --------
    >>> format, compression = find_format("reviews.ndjson.gz", None)
    >>> format.name, compression
    ('jsonl', 'gz')
    >>> find_format("reviews", "json")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dropglm.tables.errors.TableError: format 'json' is unknown (did you mean 'jsonl'?); known: 'csv', ...
    """
    if format is not None and not isinstance(format, str):
        raise InputTypeError(f"format must be a name, got {format!r}; known: {quoted(FORMATS)}.")
    *rest, last = (format.lower().lstrip(".").split(".") if format else _suffixes(name)) or [""]
    compression = last if last in COMPRESSIONS else None
    if compression:
        last = rest.pop() if rest else ""
    found = FORMATS.get(SYNONYMS.get(last, last))
    if found is None or (format and rest):
        if format:
            hint = suggestion(format, FORMATS)
            raise TableError(f"format {format!r} is unknown{hint}; known: {quoted(FORMATS)}.")
        raise TableError(
            f"{name}: cannot determine the format from the name; set format to one of {quoted(FORMATS)}."
        )
    return found, compression


def check_delimiter(delimiter: str) -> None:
    """Raise an error unless the delimiter is one character that can separate fields."""
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise TableError(
            f"delimiter must be one character other than a quote or a line end, got {delimiter!r}."
        )


def _suffixes(name: str | os.PathLike[str]) -> list[str]:
    return [suffix.lstrip(".").lower() for suffix in PurePath(name).suffixes]
