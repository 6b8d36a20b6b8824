"""The lines of a text file, counted, so that a complaint knows its row and line."""

import select
from collections import deque
from typing import IO

from dropglm.tables.complaint import RowError, TableError
from dropglm.tables.decoding import Pieces, halved

LONGEST = 10_000_000  # characters of a row; beyond, a quote is more likely unclosed than a text that long
BLANK = ("\n", "\r\n")  # between rows they belong to none


class Lines:
    r"""An iterator over lines, each with its end; who reads a row from them says ``done``.

    Lines end with ``\n``: a ``\r`` before it is left to the reader of rows, one elsewhere belongs to a text.

    Parameters
    ----------
    stream
        Plain bytes.
    name
        The table's name in messages.
    format
        The name of the format, for hints.
    encoding
        A codec of Python; None is UTF-8, or what a byte-order mark says.
    header
        Whether the first row holds the names of the columns; it is not counted.
    longest
        Characters that a row may have.
    lenient
        Whether reading may go on after a bad row. A line with bad bytes is then a line like others, and one
        that is too long is dropped to its end.

    Attributes
    ----------
    flaw
        What is to be said of the row when it has ended, in a lenient reading of rows that span lines: the
        next row begins after its last line, not after the line that is bad.

    Examples
    --------
    >>> from io import BytesIO
    >>> lines = Lines(BytesIO(b"one\ntwo"), "reviews.jsonl", "jsonl")
    >>> next(lines)
    'one\n'
    >>> lines.done()
    >>> next(lines)
    'two'
    >>> lines.complaint("is too short")
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
        longest: int = LONGEST,
        lenient: bool = False,
    ) -> None:
        self.stream = stream
        self.name = name
        self.longest = longest
        self.row = 0 if header else 1  # the row that is being read
        self.first = 1  # its first line
        self.number = 0  # lines read
        self.room = longest  # characters left to the row
        self.flaw = ""
        self._spans = header and lenient
        self._pieces = Pieces(stream, name, format, encoding, lenient=lenient)
        self._whole: deque[str] = deque()
        self._part: list[str] = []
        self._part_size = 0
        self._cut = False  # whether the rest of a line that is too long has yet to come

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        while not self._whole:
            self._more()
        line = self._whole.popleft()
        self.number += 1
        if self.number == 1:
            line = line.removeprefix("\ufeff")
        self.room -= len(line)
        if self.room < 0:
            raise self.complaint(
                f"is longer than {self.longest:,} characters; probably a line end or a quote is missing"
            )
        if "\0" in line:
            self._flawed(
                "holds a NUL byte; it is no text, or text in another encoding (--encoding utf-16-le)"
            )
        if self._pieces.escaped and halved(line):
            self._flawed(_not_decoded(line, self._pieces.encoding or "utf-8"))
        return line

    def done(self) -> None:
        """A row ended with the last line."""
        self.row += 1
        self.skip()

    def skip(self) -> None:
        """The last line belongs to no row."""
        self.first = self.number + 1
        self.room = self.longest
        self.flaw = ""

    def waiting(self) -> bool:
        """Whether the next row has yet to be written at the other end of a pipe."""
        if self._pieces.ended or any(line not in BLANK for line in self._whole):
            return False
        try:
            return not select.select([self.stream], [], [], 0)[0]
        except (OSError, TypeError, ValueError):  # nothing that the system can wait for
            return False

    def complaint(self, what: str) -> RowError:
        """The row and its lines, and what is wrong with them."""
        return RowError.at(self.row, f"{self.name}: {self.place()} {what}.")

    def place(self) -> str:
        """The row that is being read, and its lines."""
        row = f"row {self.row}" if self.row else "the header"
        last = max(self.first, self.number)
        lines = f"line {last}" if last == self.first else f"lines {self.first} to {last}"
        return f"{row} ({lines})"

    def _flawed(self, what: str) -> None:
        if not (self._spans and self.row):
            raise self.complaint(what)
        self.flaw = what

    def _more(self) -> None:
        """Take in what has arrived."""
        if self._pieces.bad_byte:
            self.number += 1
            raise TableError(f"{self.name}: {self.place()} {self._pieces.bad_byte}.")
        if self._pieces.ended:
            raise StopIteration
        *whole, part = self._pieces.more().split("\n")
        if self._cut:
            self._cut = not whole
            del whole[:1]
            part = "" if self._cut else part
        if whole:
            whole[0] = "".join((*self._part, whole[0]))
            self._part, self._part_size = [], 0
            self._whole.extend(line + "\n" for line in whole)
        self._part.append(part)
        self._part_size += len(part)
        if self._pieces.ended or self._part_size > self.longest:
            line = "".join(self._part)
            self._part, self._part_size = [], 0
            self._cut = self._cut or not self._pieces.ended
            if line:
                self._whole.append(line)


def _not_decoded(line: str, encoding: str) -> str:
    byte = next((ord(c) - 0xDC00 for c in line if "\udc80" <= c <= "\udcff"), None)
    what = "half of a surrogate pair" if byte is None else f"the byte 0x{byte:02x}"
    return f"is not {encoding.upper()}: it holds {what}; pass its --encoding, such as cp1252"
