"""Tables in pieces that can be read independently of each other, on other machines as well.

A Parquet file is cut by rows, and a text file where a row begins, which a scan of its bytes finds. Compressed
text files and those in wide encodings are one piece.
"""

import glob
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from typing import Any, NamedTuple

from dropglm.tables import parquet
from dropglm.tables.columns import Columns
from dropglm.tables.decoding import SAMPLE_SIZE, find_codec, guess_wide_encoding
from dropglm.tables.errors import EmptyTableError, TableError
from dropglm.tables.formats import find_format
from dropglm.tables.frames import check_complete, import_polars
from dropglm.tables.lines import MAX_ROW_LENGTH
from dropglm.tables.reading import BATCH_SIZE
from dropglm.tables.table import Table

# In these, the bytes of delimiters, quotes and line ends mean nothing else.
ONE_BYTE_CODECS = ("utf-8", "ascii", "iso8859", "cp125")
CHUNK = 1 << 22  # bytes to scan at a time


@dataclass(frozen=True)
class TableFile:
    """A file, and how it is written; see ``tables.read``."""

    path: str
    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None

    def table(self, source: Any = None) -> Table:
        """Return the table in the file, or in some of its bytes."""
        found, compression = find_format(self.path, self.format)
        name = found.name if compression is None else f"{found.name}.{compression}"
        return Table(source or self.path, name, self.encoding, self.delimiter, MAX_ROW_LENGTH)


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a file: those in some of its bytes, or, in Parquet, those of some numbers."""

    file: TableFile
    start: int = 0
    stop: int | None = None  # None means all of the file
    header: int = 0  # bytes of the header, which belongs to every piece

    @property
    def name(self) -> str:
        """The piece as messages call it."""
        if self.stop is None:
            return self.file.path
        unit = "rows" if self.file.table().format.rows is None else "bytes"
        return f"{self.file.path} ({unit} {self.start + 1:,} to {self.stop:,})"


class LabelledTexts(NamedTuple):
    """The texts of a piece, and the names of their classes, if it has labels."""

    texts: list[str]
    labels: list[str]


def find_files(patterns: Iterable[str]) -> list[str]:
    """Return the absolute paths of files: those that are named, match a pattern or are in a folder.

    Files in folders whose names begin with a dot or an underscore are left out, such as ``_SUCCESS``.

    Raises
    ------
    TableError
        If there is no file for one of the patterns.
    """
    return [os.path.abspath(path) for pattern in patterns for path in _matching(pattern)]


def _matching(pattern: str) -> list[str]:
    if os.path.isdir(pattern):
        names = sorted(name for name in os.listdir(pattern) if not name.startswith((".", "_")))
        found = [path for name in names if os.path.isfile(path := os.path.join(pattern, name))]
        if not found:
            raise TableError(f"{pattern}: this folder has no files.")
        return found
    if os.path.exists(pattern):
        return [pattern]
    if not glob.has_magic(pattern):
        raise TableError(f"{pattern}: there is no such file.")
    found = sorted(path for path in glob.glob(pattern) if os.path.isfile(path))
    if not found:
        raise TableError(f"{pattern}: no file matches this pattern.")
    return found


def cut(file: TableFile, size: int) -> list[Piece]:
    """Return the pieces of a file, each of about ``size`` bytes."""
    table, length = file.table(), os.path.getsize(file.path)
    _, compression = find_format(file.path, file.format)
    if length <= size or compression is not None:
        return [Piece(file)]
    if table.format.rows is None:
        pl = import_polars()
        rows = pl.scan_parquet(file.path, glob=False).select(pl.len()).collect().item()
        count = min(rows, -(-length // size))
        ends = [rows * k // count for k in range(count + 1)] if count else []
        return [Piece(file, *ends) for ends in pairwise(ends)] or [Piece(file)]
    delimiter = file.delimiter or table.format.delimiter
    if not (_is_one_byte(file) and delimiter.isascii()):
        return [Piece(file)]
    header, separator = 0, None  # rows are lines
    if table.format.header:
        found, separator = _header_length(file.path, delimiter), delimiter
        if found is None:
            return [Piece(file)]
        header = found
    with open(file.path, "rb") as stream:
        chunks = iter(lambda: stream.read(CHUNK), b"")
        starts = [start for start in _row_starts(chunks, size, separator) if header < start < length]
    return [Piece(file, *ends, header) for ends in pairwise([header, *starts, length])]


def _is_one_byte(file: TableFile) -> bool:
    """Return whether characters such as line ends are single bytes, which occur in no other character."""
    if file.encoding is not None and not find_codec(file.encoding).name.startswith(ONE_BYTE_CODECS):
        return False
    with open(file.path, "rb") as stream:
        sample = stream.read(SAMPLE_SIZE)
    return not sample.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")) and not (
        file.encoding is None and b"\0" in sample and guess_wide_encoding(sample)
    )


def _header_length(path: str, delimiter: str) -> int | None:
    """Return the number of bytes up to the first row; None if they are not among the first ones."""
    with open(path, "rb") as stream:
        data = stream.read(CHUNK)
    before = 0
    for start in _row_starts([data], 1, delimiter):
        if data[before:start].strip(b" \t\r\n\xef\xbb\xbf"):  # not a blank line
            return start
        before = start
    return None


def _row_starts(chunks: Iterable[bytes], size: int, delimiter: str | None) -> Iterator[int]:
    """Yield where rows begin, in the bytes of a file from its beginning: one in every ``size`` bytes.

    ``delimiter`` is None if rows are lines.
    """
    import numpy as np

    from dropglm.tables.cut_kernels import row_starts  # imports Numba

    code, state, place, target = -1 if delimiter is None else ord(delimiter), 0, 0, size
    for data in chunks:
        found = np.empty(len(data) // size + 1, np.int64)
        count, state, target = row_starts(
            np.frombuffer(data, np.uint8), place, target, size, code, state, found
        )
        yield from found[:count].tolist()
        place += len(data)


class _Bytes(BytesIO):
    """Some bytes of a file, with a name for messages."""

    name = ""


def read_piece(piece: Piece, text: str, label: str | None) -> LabelledTexts:
    """Return the texts and labels of a piece; a file without rows gives none."""
    columns, read = Columns(text, label), LabelledTexts([], [])
    with suppress(EmptyTableError):
        for frame in _frames(piece, columns):
            check_complete(frame, columns, piece.name, len(read.texts) + 1)
            read.texts.extend(frame[text])
            read.labels.extend([] if label is None else frame[label])
    return read


def _frames(piece: Piece, columns: Columns) -> Iterator[Any]:
    file, start, stop = piece.file, piece.start, piece.stop
    if stop is None:
        yield from file.table().frames(columns, BATCH_SIZE, prompt=False)
    elif file.table().format.rows is None:
        with open(file.path, "rb") as stream:
            yield from parquet.frames(stream, file.path, columns, BATCH_SIZE, piece.name, (start, stop))
    else:
        with open(file.path, "rb") as stream:
            header = stream.read(piece.header)
            stream.seek(start)
            some = _Bytes(header + stream.read(stop - start))
        some.name = piece.name
        yield from file.table(some).frames(columns, BATCH_SIZE, prompt=False)
