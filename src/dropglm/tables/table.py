"""A table that is there to be read, in frames or row by row."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from dropglm.tables import parquet
from dropglm.tables.columns import Columns
from dropglm.tables.complaint import RowError, TableError
from dropglm.tables.decoding import codec
from dropglm.tables.formats import format_of
from dropglm.tables.frames import frames
from dropglm.tables.lines import Lines
from dropglm.tables.source import Place, is_path, name_of, opened, refuse_no_file

if TYPE_CHECKING:
    from polars import DataFrame

PARQUET_ROWS = 1000  # that are taken from a Parquet file at a time: 1.3 MB of film reviews


class Table:
    """Where a table is and how it is written; see ``read`` for the parameters.

    Attributes
    ----------
    name
        What it is called in messages.
    kind
        Its format.
    """

    def __init__(
        self, path: Place, format: str | None, encoding: str | None, delimiter: str | None, longest: int
    ) -> None:
        above_zero(longest, "longest")
        self.name = name_of(path, "standard input")
        if is_path(path):
            refuse_no_file(path)
        self.kind, self._compression = format_of(self.name, format)
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n\0'):
            raise TableError(
                f"The delimiter must be one character other than a quote or line end, got {delimiter!r}."
            )
        if encoding is not None:
            codec(encoding)
        self._path = path
        self._encoding = encoding
        self._delimiter = delimiter or self.kind.delimiter
        self._longest = longest

    def frames(self, columns: Columns, size: int, *, prompt: bool) -> Iterator["DataFrame"]:
        """Frames that may lack texts and labels, at least one row in all."""
        with opened(self._path, self._compression) as stream:
            if self.kind.rows is None:
                found = self._parquet(stream, columns, size)
            else:
                lines = self._lines(stream)
                rows = self.kind.rows(lines, columns, self._delimiter)
                found = frames(rows, lines, columns, size, prompt=prompt)
            height = 0
            for frame in found:
                height += frame.height
                if frame.height:
                    yield frame
            if not height:
                raise self.without_rows()

    @contextmanager
    def rows(
        self, columns: Columns, *, lenient: bool
    ) -> Iterator[tuple[Iterator[tuple[Any, ...] | RowError], Lines | parquet.Count]]:
        """The rows, a bad one as its complaint, and what knows the number of the row that came last.

        They may lack texts and labels, and there may be none. Lenient reading goes on after a bad one.
        """
        with opened(self._path, self._compression) as stream:
            if self.kind.rows is None:
                count = parquet.Count(self.name)
                yield parquet.rows(self._parquet(stream, columns, PARQUET_ROWS), count), count
            else:
                lines = self._lines(stream, lenient=lenient)
                yield self.kind.rows(lines, columns, self._delimiter), lines

    def without_rows(self) -> TableError:
        """The complaint about a table that has none."""
        has = "a header" if self.kind.header else "columns"
        return TableError(f"{self.name}: this table has {has} but no rows.")

    def _parquet(self, stream: IO[bytes], columns: Columns, size: int) -> Iterator["DataFrame"]:
        file = self._path if is_path(self._path) and not self._compression else None
        return parquet.frames(stream, file, columns, size, self.name)

    def _lines(self, stream: IO[bytes], *, lenient: bool = False) -> Lines:
        return Lines(
            stream,
            self.name,
            self.kind.name,
            encoding=self._encoding,
            header=self.kind.header,
            longest=self._longest,
            lenient=lenient,
        )


def above_zero(given: int, name: str) -> None:
    """Refuse what is no whole number above 0."""
    if not isinstance(given, int) or given < 1:
        raise ValueError(f"{name} must be a whole number above 0, got {given!r}.")
