"""Rows of CSV and TSV files.

A compiled loop cuts most rows. The header, bad rows, unusual ones, small files and files that are not in
UTF-8 are read with Python's csv module, which gives the row and line of every error, rejects malformed rows
that other parsers accept, and returns rows as they arrive. What is not beyond doubt is left to it, so there
is only one dialect.

For 131 MB of reviews with line ends in quoted fields, the compiled loop takes 0.08 s of processor time, NumPy
0.20 s, the csv module 0.49 s and batches of polars 0.11 s. But polars accepts rows that the csv module
refuses (short rows, text after a closing quote, stray quotes), so it would need the same scan before it.
"""

import csv
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from dropglm.tables.errors import EmptyTableError, RowError, TableError
from dropglm.tables.lines import CHUNK_SIZE, Lines, RawBatch, rows_and_errors

# Bytes: to read this much with the csv module takes 0.01 s, less than to load the compiled loop. If Numba is
# not imported yet, that takes 0.9 s (50,000 texts, 27 MB: 1.5 s instead of 0.9), and 3 s more after an
# installation.
SMALL, SMALL_BEFORE_NUMBA = 1 << 20, 32 << 20
MAX_INCOMPLETE = 1 << 22  # bytes of a row that has not ended; in a longer one a closing quote may be missing

# Parts of the csv module's messages, and our messages.
REASONS = {
    "expected after": "has more text after a closing quote; write a quote inside quotes twice, "
    "and close each quote that is opened",
    "unexpected end": "opens a quote that is never closed",
    "new-line character": "contains a carriage return outside quotes; lines must end with \\n or \\r\\n",
}


def rows(lines: Lines) -> Iterator[tuple[Any, ...] | RowError | RawBatch]:
    r"""Yield the requested fields of the rows: many rows at once where possible, else one by one as strings.

    Examples
    --------
    >>> from io import BytesIO
    >>> from dropglm.tables import Table
    >>> data = BytesIO(b'label,text\n007,"a\nb, c"\n')
    >>> list(rows(Lines(data, Table("reviews.csv", "text", "label"))))
    [('a\nb, c', '007')]
    """
    delimiter = lines.table.separator
    # The csv module limits fields to 131,072 characters, in all of the process; ``Lines`` has its own limit.
    csv.field_size_limit(max(csv.field_size_limit(), lines.table.max_row_length))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    with _csv_errors_as_row_errors(lines):
        header = _read_header(reader, lines)
    positions = _positions(header, lines)
    lines.end_row()
    small = SMALL if "numba" in sys.modules else SMALL_BEFORE_NUMBA
    while True:
        for row in rows_and_errors(lambda: _good_rows(reader, lines, header, positions), lines):
            yield row
            if lines.bytes_read > small and can_cut(lines, delimiter) and not lines.reads_again:
                lines.end_row()
                break
        else:
            return
        if (yield from _blocks(lines, ord(delimiter), len(header), positions)):
            return


def names(lines: Lines) -> list[str]:
    r"""Return the names of the columns.

    Examples
    --------
    >>> from io import BytesIO
    >>> from dropglm.tables import Table
    >>> names(Lines(BytesIO(b"id,text\n1,good\n"), Table("reviews.csv")))
    ['id', 'text']
    """
    with _csv_errors_as_row_errors(lines):
        return _read_header(csv.reader(lines, delimiter=lines.table.separator, strict=True), lines)


def can_cut(lines: Lines, delimiter: str) -> bool:
    """Return whether the encoding and the delimiter suit the compiled loop."""
    return lines.is_utf8 and delimiter.isascii()


def _blocks(
    lines: Lines, delimiter: int, n_fields: int, positions: list[int]
) -> Generator[RawBatch, None, bool]:
    """Yield blocks up to a row that ``lines`` has to read, or the end; return whether it is the end."""
    data, ended, wait = lines.take_unread(), False, False
    while True:
        parts, size = [data], len(data)
        while not ended and (wait or (size < CHUNK_SIZE and not lines.stream_would_block())):
            parts.append(lines.read_bytes())
            size, ended, wait = size + len(parts[-1]), not parts[-1], False
        data = b"".join(parts)
        del parts
        if not data:
            return True
        block, size, doubtful = _cut(data, lines, delimiter, n_fields, positions, final=ended)
        data, wait = data[size:], block is None
        if block is not None:
            yield block
            del block  # before more is read
        elif doubtful or len(data) > MAX_INCOMPLETE or (ended and data):
            lines.put_back(data)
            return False


def _cut(
    data: bytes, lines: Lines, delimiter: int, n_fields: int, positions: list[int], *, final: bool
) -> tuple[RawBatch | None, int, bool]:
    """Return the rows that are beyond doubt, their size, and whether ``lines`` has to read the next one."""
    import numpy as np

    from dropglm.base.encoded_texts import SPARE, EncodedTexts
    from dropglm.tables.cut_kernels import DOUBTFUL, cut_records  # imports Numba

    slots = np.full(n_fields, -1)
    slots[positions] = range(len(positions))
    good, malformed = _well_formed(data, final=final)
    loaded = np.empty(len(good) + SPARE, np.uint8)
    loaded[: len(good)] = np.frombuffer(good, np.uint8)
    letters = np.empty(len(good) + 2 * SPARE, np.uint8)
    begins, ends = np.empty((2, len(positions), good.count(b"\n") + 1), np.int64)
    spans = np.empty((begins.shape[1], 2), np.int64)
    limits = len(good), final and not malformed, delimiter, slots, lines.table.max_row_length
    reason, n, size, n_lines, n_bytes = cut_records(loaded, *limits, letters, begins, ends, spans)
    block = None
    if n:
        found = letters[: n_bytes + SPARE]
        columns = [EncodedTexts(found, *pair) for pair in zip(begins[:, :n], ends[:, :n], strict=True)]
        block = RawBatch(columns, lines.row, spans[:n] + (lines.n_lines + 1))
    lines.advance(n, n_lines)
    return block, size, malformed or reason == DOUBTFUL


def _well_formed(data: bytes, *, final: bool) -> tuple[bytes, bool]:
    """Return the bytes before NUL and malformed UTF-8, and whether there are any, if not a cut character."""
    good = data.partition(b"\0")[0]
    try:
        good.decode()
    except UnicodeDecodeError as error:
        cut_short = error.reason == "unexpected end of data" and len(good) == len(data) and not final
        return good[: error.start], not cut_short
    return good, len(good) < len(data)


def record_ends(data: Any, delimiter: str | None) -> Iterator[int]:
    r"""Yield where the records of a file end, given its bytes, be they well-formed or not.

    As in Python's csv module, a quote opens a field only at its beginning. Without a delimiter, records are
    lines.

    Examples
    --------
    >>> list(record_ends(b'1,"a\n""b"" c"\n2,5" wide\n', ","))
    [14, 24]
    """
    record = b"\n"
    if delimiter is not None:
        separator = re.escape(delimiter.encode())
        field = rb'(?:"[^"]*+(?:""[^"]*+)*+"?)?[^%s\n]*+' % separator
        record = rb"%s(?:%s%s)*+\n" % (field, separator, field)
    for found in re.finditer(record, data):
        yield found.end()


@contextmanager
def _csv_errors_as_row_errors(lines: Lines) -> Iterator[None]:
    try:
        yield
    except csv.Error as error:
        reason = next((ours for theirs, ours in REASONS.items() if theirs in str(error)), None)
        raise lines.error(reason or f"is malformed ({error})") from None


def _good_rows(
    reader: Iterator[list[str]], lines: Lines, header: list[str], positions: list[int]
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
                raise _wrong_length(fields, header, lines)
            yield tuple([fields[i] for i in positions])
            lines.end_row()


def _read_header(reader: Iterator[list[str]], lines: Lines) -> list[str]:
    for fields in reader:
        if any(field.strip() for field in fields):
            return fields
        lines.skip()
    raise EmptyTableError(f"{lines.name}: this file is empty.")


def _positions(header: list[str], lines: Lines) -> list[int]:
    table = lines.table
    others = [other for other in "\t;|," if other != table.separator and other in header[0]]
    if len(header) == 1 and others and header[0] not in table.columns:
        hint = "format to 'tsv'" if others[0] == "\t" else f"delimiter to {others[0]!r}"
        raise TableError(
            f"{lines.name}: the header {header[0]!r} is a single column with the delimiter "
            f"{table.separator!r}; set {hint}."
        )
    return table.positions(header)


def _wrong_length(fields: list[str], header: list[str], lines: Lines) -> RowError:
    count = f"{len(fields)} field{'s' if len(fields) != 1 else ''}"
    hint = (
        f"put quotes around texts that contain {lines.table.separator!r}"
        if len(fields) > len(header)
        else "the row is truncated, or a quote in it or before it is not closed"
    )
    return lines.error(f"has {count}, but the header has {len(header)}; {hint}")
