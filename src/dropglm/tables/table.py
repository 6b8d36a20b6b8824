"""A table to read, in frames or row by row."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from dropglm.errors import InputError
from dropglm.tables import parquet
from dropglm.tables.block import Block
from dropglm.tables.columns import Columns
from dropglm.tables.decoding import find_codec
from dropglm.tables.errors import EmptyTableError, RowError, TableError
from dropglm.tables.formats import check_delimiter, find_format
from dropglm.tables.frames import frames
from dropglm.tables.lines import Lines
from dropglm.tables.source import PathOrFile, check_file_exists, is_path, name_of, open_source

if TYPE_CHECKING:
    from polars import DataFrame

MIN_BLOCK = 1000  # rows to cut at once, also for smaller frames
PARQUET_BATCH = 1000  # rows to read from a Parquet file at a time: 1.3 MB of film reviews


class Table:
    """The location of a table and its format; see ``read`` for the parameters.

    Attributes
    ----------
    name : str
        Its name in messages.
    format : Format
    """

    def __init__(
        self,
        path: PathOrFile,
        format: str | None,
        encoding: str | None,
        delimiter: str | None,
        max_row_length: int,
    ) -> None:
        check_positive(max_row_length, "max_row_length")
        self.name = name_of(path, "standard input")
        if is_path(path):
            check_file_exists(path)
        self.format, self._compression = find_format(self.name, format)
        if delimiter is not None:
            check_delimiter(delimiter)
        if encoding is not None:
            find_codec(encoding)
        self._path = path
        self._encoding = encoding
        self._delimiter = delimiter or self.format.delimiter
        self._max_row_length = max_row_length

    def frames(self, columns: Columns, size: int, *, prompt: bool) -> Iterator["DataFrame"]:
        """Yield frames of up to ``size`` rows, in which texts and labels may be missing.

        A table without rows is an error. See ``frames.frames`` for ``prompt``.
        """
        with open_source(self._path, self._compression) as stream:
            if self.format.rows is None:
                found = self._parquet_frames(stream, columns, size)
            else:
                lines = self._lines(stream)
                lines.block_rows = min(max(size, MIN_BLOCK), lines.block_rows)
                rows = self.format.rows(lines, columns, self._delimiter)
                found = frames(rows, lines, columns, size, prompt=prompt)
            n_rows = 0
            for frame in found:
                n_rows += frame.height
                if frame.height:
                    yield frame
            if not n_rows:
                raise self.no_rows_error()

    @contextmanager
    def rows(
        self, columns: Columns, *, lenient: bool, block_rows: int, block_characters: int
    ) -> Iterator[tuple[Iterator[tuple[Any, ...] | RowError | Block], Lines | parquet.RowCounter]]:
        """Yield an iterator over the rows, and the counter that has the number of the current row.

        Bad rows are yielded as errors; if ``lenient``, reading continues after them. Some formats yield rows
        in blocks of at most ``block_rows`` rows and about ``block_characters`` characters of texts. Texts and
        labels may be missing, and there may be no rows.
        """
        with open_source(self._path, self._compression) as stream:
            if self.format.rows is None:
                counter = parquet.RowCounter(self.name)
                yield parquet.rows(self._parquet_frames(stream, columns, PARQUET_BATCH), counter), counter
            else:
                lines = self._lines(stream, lenient=lenient)
                lines.block_rows, lines.block_characters = block_rows, block_characters
                yield self.format.rows(lines, columns, self._delimiter), lines

    def column_names(self) -> list[str]:
        """Return the names of the columns; see ``reading.column_names``."""
        with open_source(self._path, self._compression) as stream:
            if self.format.names is None:
                return parquet.names(stream, self.name)
            return self.format.names(self._lines(stream), self._delimiter)

    def no_rows_error(self) -> TableError:
        """Return the error for a table without rows."""
        has = "a header" if self.format.header else "columns"
        return EmptyTableError(f"{self.name}: this table has {has} but no rows.")

    def _parquet_frames(self, stream: IO[bytes], columns: Columns, size: int) -> Iterator["DataFrame"]:
        path = self._path if is_path(self._path) and not self._compression else None
        return parquet.frames(stream, path, columns, size, self.name)

    def _lines(self, stream: IO[bytes], *, lenient: bool = False) -> Lines:
        return Lines(
            stream,
            self.name,
            self.format.name,
            encoding=self._encoding,
            header=self.format.header,
            max_row_length=self._max_row_length,
            lenient=lenient,
        )


def check_positive(given: int, name: str) -> None:
    """Raise an error unless the number is a positive integer."""
    if not isinstance(given, int) or given < 1:
        raise InputError(f"{name} must be a positive integer, got {given!r}.")
