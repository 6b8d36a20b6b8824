"""The lines of a text file, counted, so that an error can name its row and its lines."""

import select
from collections import deque
from collections.abc import Callable, Iterator
from typing import IO, Any

from dropglm.tables.decoding import (
    ENCODING_HINT,
    DecodedChunks,
    find_codec,
    guess_wide_encoding,
    has_lone_surrogate,
)
from dropglm.tables.errors import RowError, TableError

# Characters of a row; a longer one is more likely to have an unclosed quote than a text of that length.
MAX_ROW_LENGTH = 10_000_000
MAX_BLOCK_ROWS = 10_000  # rows to cut at once
BLANK = ("\n", "\r\n")  # blank lines between rows


class Lines:
    r"""An iterator over lines, each with its line end; the reader calls ``end_row`` after each row.

    Lines end with ``\n``. A ``\r`` before it is left to the reader of rows; one elsewhere is part of a text.

    Parameters
    ----------
    stream : binary file
        Decompressed bytes.
    name : str
        Name of the table in messages.
    format : str
        Name of the format, for hints.
    encoding : str or None, default=None
        A codec of Python; None is UTF-8, or what a byte-order mark says.
    header : bool, default=False
        Whether the first row contains the names of the columns; it is not counted.
    max_row_length : int, default=10_000_000
        Maximum number of characters per row.
    lenient : bool, default=False
        Whether reading may continue after a bad row. A line with bad bytes is then returned like any other,
        and a line that is too long is skipped to its end.

    Attributes
    ----------
    row : int
        Number of the row that is being read.
    first_line : int
        Number of its first line.
    n_lines : int
        Number of lines read.
    problem : str
        What is wrong with the row, to be raised at its end. It is set in a lenient reading of rows that may
        span lines: the next row starts after the last line of the bad row, not after its bad line.
    more_rows : bool
        Whether more rows have been read from the file by other means than this iterator.
    block_rows, block_characters : int
        How many rows to cut at once at most, and after how many characters of texts to stop.

    Examples
    --------
    >>> from io import BytesIO
    >>> lines = Lines(BytesIO(b"one\ntwo"), "reviews.jsonl", "jsonl")
    >>> next(lines)
    'one\n'
    >>> lines.end_row()
    >>> next(lines)
    'two'
    >>> lines.error("is too short")
    RowError('reviews.jsonl: row 2 (line 2) is too short.')
    """

    def __init__(
        self,
        stream: IO[bytes],
        name: str,
        format: str,
        *,
        encoding: str | None = None,
        header: bool = False,
        max_row_length: int = MAX_ROW_LENGTH,
        lenient: bool = False,
    ) -> None:
        self.stream = stream
        self.name = name
        self.max_row_length = max_row_length
        self.row = 0 if header else 1
        self.first_line = 1
        self.n_lines = 0
        self.problem = ""
        self.more_rows = False
        self.block_rows = MAX_BLOCK_ROWS
        self.block_characters = MAX_ROW_LENGTH
        self._characters_left = max_row_length
        self._rows_span_lines = header
        self._lenient = lenient
        self._chunks = DecodedChunks(stream, name, format, encoding, lenient=lenient)
        self._complete: deque[str] = deque()  # lines to return
        self._partial: list[str] = []  # the parts of a line whose end has not been read
        self._partial_length = 0
        self._skipping = False  # whether the rest of a line that is too long has yet to be read

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        while not self._complete:
            self._read_more()
        line = self._complete.popleft()
        self.n_lines += 1
        if self.n_lines == 1:
            line = line.removeprefix("\ufeff")
        self._characters_left -= len(line)
        if self._characters_left < 0:
            raise self.error(
                f"is longer than {self.max_row_length:,} characters; "
                "a line end or a closing quote is probably missing"
            )
        if "\0" in line:
            self._raise_or_note(self._nul_problem(line))
        if self._chunks.escaped and has_lone_surrogate(line):
            self._raise_or_note(_undecoded_problem(line, self._chunks.encoding or "utf-8"))
        return line

    def end_row(self) -> None:
        """Count a row, which ended with the last line."""
        self.row += 1
        self.skip()

    def skip(self) -> None:
        """Start the row after the last line, which does not belong to any row."""
        self.first_line = self.n_lines + 1
        self._characters_left = self.max_row_length
        self.problem = ""

    def advance(self, n_rows: int, n_lines: int) -> None:
        """Count rows that were read by other means than this iterator, and their lines."""
        self.row += n_rows
        self.n_lines += n_lines
        self.skip()

    @property
    def is_utf8(self) -> bool:
        """Whether the file, of which something must have been read, is in UTF-8."""
        return find_codec(self._chunks.encoding or "utf-8").name == "utf-8"

    @property
    def bytes_read(self) -> int:
        """Number of bytes read from the file, without those that were put back."""
        return self._chunks.bytes_read

    def read_bytes(self, size: int) -> bytes:
        """Return bytes after those that were taken or read so before; none at the end of the file."""
        return self._chunks.read_bytes(size)

    def take_unread(self) -> bytes:
        """Return the bytes that were read after the last line, which the iterator will not return."""
        text = "".join((*self._complete, *self._partial))
        self._complete.clear()
        self._partial, self._partial_length, self._skipping = [], 0, False
        return self._chunks.take_unread(text)

    def put_back(self, data: bytes) -> None:
        """Let the iterator continue with these bytes, the last ones that were taken or read."""
        self._chunks.put_back(data)

    @property
    def skipping(self) -> bool:
        """Whether the rest of a line that is too long has yet to be read."""
        return self._skipping

    def would_block(self) -> bool:
        """Return whether the next row has not arrived in the pipe yet."""
        if self.more_rows or self._chunks.ended or any(line not in BLANK for line in self._complete):
            return False
        return self.stream_would_block()

    def stream_would_block(self) -> bool:
        """Return whether the pipe is empty at the moment."""
        try:
            return not select.select([self.stream], [], [], 0)[0]
        except (OSError, TypeError, ValueError):  # not a stream that select can wait for
            return False

    def error(self, problem: str) -> RowError:
        """Return an error about the row that is being read."""
        return RowError.at(self.row, f"{self.name}: {self.position()} {problem}.")

    def position(self) -> str:
        """Return the number of the row that is being read and the numbers of its lines."""
        row = f"row {self.row}" if self.row else "the header"
        last = max(self.first_line, self.n_lines)
        lines = f"line {last}" if last == self.first_line else f"lines {self.first_line} to {last}"
        return f"{row} ({lines})"

    def _raise_or_note(self, problem: str) -> None:
        if not (self._rows_span_lines and self._lenient and self.row):
            raise self.error(problem)
        self.problem = problem

    def _nul_problem(self, line: str) -> str:
        encoding = guess_wide_encoding(self._chunks.sample)
        if encoding is not None:
            utf = encoding[:6].upper()
            return f"contains NUL bytes because the file looks like {utf}; set encoding to {encoding!r}"
        return f"contains a NUL byte (line {self.n_lines}, character {line.index(chr(0)) + 1}); remove it"

    def _read_more(self) -> None:
        """Read a chunk and split it into lines."""
        if self._chunks.bad_byte:
            self.n_lines += 1
            raise TableError(f"{self.name}: {self.position()} {self._chunks.bad_byte}.")
        if self._chunks.ended:
            raise StopIteration
        *complete, partial = self._chunks.next_chunk().split("\n")
        if self._skipping:
            self._skipping = not complete
            del complete[:1]
            partial = "" if self._skipping else partial
        if complete:
            complete[0] = "".join((*self._partial, complete[0]))
            self._partial, self._partial_length = [], 0
            self._complete.extend(line + "\n" for line in complete)
        self._partial.append(partial)
        self._partial_length += len(partial)
        if self._chunks.ended or self._partial_length > self.max_row_length:
            line = "".join(self._partial)
            self._partial, self._partial_length = [], 0
            self._skipping = self._skipping or not self._chunks.ended
            if line:
                self._complete.append(line)


def _undecoded_problem(line: str, encoding: str) -> str:
    byte = next((ord(c) - 0xDC00 for c in line if "\udc80" <= c <= "\udcff"), None)
    what = "half of a surrogate pair" if byte is None else f"the byte 0x{byte:02x}"
    return f"is not {encoding.upper()}: it contains {what}; {ENCODING_HINT}"


def rows_and_errors(
    read_rows: Callable[[], Iterator[tuple[Any, ...]]], lines: Lines
) -> Iterator[tuple[Any, ...] | RowError]:
    r"""Yield the good rows, and an error in place of each bad row.

    Parameters
    ----------
    read_rows : callable
        Returns an iterator over the rows from the next line on, which raises a ``RowError`` at the first bad
        row. A generator ends when it raises, so this is called again after each bad row.
    lines : Lines
        The lines from which it reads.

    Yields
    ------
    tuple or RowError

    Examples
    --------
    >>> from io import BytesIO
    >>> lines = Lines(BytesIO(b"1\nI\n3\n"), "numbers.txt", "txt", lenient=True)
    >>> def numbers():
    ...     for line in lines:
    ...         if not line.strip().isdigit():
    ...             raise lines.error("is not a number")
    ...         yield (int(line),)
    ...         lines.end_row()
    >>> list(rows_and_errors(numbers, lines))
    [(1,), RowError('numbers.txt: row 2 (line 2) is not a number.'), (3,)]
    """
    while True:
        try:
            yield from read_rows()
            return
        except RowError as error:
            # The traceback and the context refer to the line, which would stay in memory with the error.
            bad = error.with_traceback(None)
            bad.__context__ = None
        yield bad
        lines.end_row()
