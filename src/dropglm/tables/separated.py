"""Rows of CSV and TSV files.

Compiled loops cut most rows (see ``cutting``). The header, bad rows, unusual ones, small files and files that
are not in UTF-8 are read with Python's csv module, which gives the row and line of every error, rejects
malformed rows that other parsers accept, and returns rows as they arrive.
"""

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dropglm.tables.block import Block
from dropglm.tables.columns import Columns
from dropglm.tables.errors import EmptyTableError, RowError, TableError
from dropglm.tables.lines import Lines, rows_and_errors

# Bytes: to read this much with the csv module takes 0.01 s, less than to load the compiled loops. If Numba is
# not imported yet, that takes 0.9 s (50,000 texts, 27 MB: 1.5 s instead of 0.9), and 3 s more after an
# installation.
SMALL, SMALL_BEFORE_NUMBA = 1 << 20, 32 << 20

# Parts of the csv module's messages, and our messages.
REASONS = {
    "expected after": "has more text after a closing quote; write a quote inside quotes twice, "
    "and close each quote that is opened",
    "unexpected end": "opens a quote that is never closed",
    "new-line character": "contains a carriage return outside quotes; lines must end with \\n or \\r\\n",
}


def rows(lines: Lines, columns: Columns, delimiter: str) -> Iterator[tuple[Any, ...] | RowError | Block]:
    r"""Yield the requested fields of the rows: many rows at once where possible, else one by one as strings.

    Examples
    --------
    >>> from io import BytesIO
    >>> lines = Lines(BytesIO(b'label,text\n007,"a\nb, c"\n'), "reviews.csv", "csv", header=True)
    >>> list(rows(lines, Columns("text", "label"), ","))
    [('a\nb, c', '007')]
    """
    # The csv module limits fields to 131,072 characters, in all of the process; ``Lines`` has its own limit.
    csv.field_size_limit(max(csv.field_size_limit(), lines.max_row_length))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    with _csv_errors_as_row_errors(lines):
        header = _read_header(reader, lines)
    positions = _positions(header, lines, columns, delimiter)
    lines.end_row()

    def read_carefully() -> Iterator[tuple[Any, ...] | RowError]:
        return rows_and_errors(lambda: _good_rows(reader, lines, header, positions, delimiter), lines)

    small = SMALL if "numba" in sys.modules else SMALL_BEFORE_NUMBA
    for row in read_carefully():
        yield row
        if lines.bytes_read > small and can_cut(lines, delimiter) and not lines.skipping:
            lines.end_row()
            break
    else:
        return
    from dropglm.tables.cutting import Cutter  # imports Numba

    cutter = Cutter(lines, len(header), positions, delimiter)
    while not cutter.ended:
        yield from cutter.blocks()
        for row in () if cutter.ended else read_carefully():
            yield row
            if not lines.skipping:
                lines.end_row()
                break


def header(lines: Lines, delimiter: str) -> list[str]:
    r"""Return the names of the columns.

    Examples
    --------
    >>> from io import BytesIO
    >>> header(Lines(BytesIO(b"id,text\n1,good\n"), "reviews.csv", "csv", header=True), ",")
    ['id', 'text']
    """
    with _csv_errors_as_row_errors(lines):
        return _read_header(csv.reader(lines, delimiter=delimiter, strict=True), lines)


def can_cut(lines: Lines, delimiter: str) -> bool:
    """Return whether the encoding and the delimiter suit the compiled loops."""
    return lines.is_utf8 and delimiter.isascii()


def _good_rows(
    reader: Iterator[list[str]], lines: Lines, header: list[str], positions: list[int], delimiter: str
) -> Iterator[tuple[Any, ...]]:
    """Yield rows up to the first bad one, which is raised; the csv module then starts with a new row."""
    with _csv_errors_as_row_errors(lines):
        for fields in reader:
            if lines.problem:
                raise lines.error(lines.problem)
            if not fields:
                lines.skip()
                continue
            if len(fields) != len(header):
                raise _wrong_length(fields, header, lines, delimiter)
            yield tuple([fields[i] for i in positions])
            lines.end_row()


@contextmanager
def _csv_errors_as_row_errors(lines: Lines) -> Iterator[None]:
    try:
        yield
    except csv.Error as error:
        reason = next((ours for theirs, ours in REASONS.items() if theirs in str(error)), None)
        raise lines.error(reason or f"is malformed ({error})") from None


def _read_header(reader: Iterator[list[str]], lines: Lines) -> list[str]:
    for fields in reader:
        if any(field.strip() for field in fields):
            return fields
        lines.skip()
    raise EmptyTableError(f"{lines.name}: this file is empty.")


def _positions(header: list[str], lines: Lines, columns: Columns, delimiter: str) -> list[int]:
    others = [other for other in "\t;|," if other != delimiter and other in header[0]]
    if len(header) == 1 and others and header[0] not in columns.names:
        hint = "format to 'tsv'" if others[0] == "\t" else f"delimiter to {others[0]!r}"
        raise TableError(
            f"{lines.name}: the header {header[0]!r} is a single column with the delimiter {delimiter!r}; "
            f"set {hint}."
        )
    return columns.positions(header, lines.name)


def _wrong_length(fields: list[str], header: list[str], lines: Lines, delimiter: str) -> RowError:
    count = f"{len(fields)} field{'s' if len(fields) != 1 else ''}"
    hint = (
        f"put quotes around texts that contain {delimiter!r}"
        if len(fields) > len(header)
        else "the row is truncated, or a quote in it or before it is not closed"
    )
    return lines.error(f"has {count}, but the header has {len(header)}; {hint}")
