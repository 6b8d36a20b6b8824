"""The lines of a text file, decoded and counted, so that a complaint knows its row and line."""

import codecs
import encodings.aliases
import select
from collections import deque
from typing import IO

from dropglm.tables.complaint import TableError, nearest
from dropglm.tables.source import chunk

CHUNK = 1 << 20
LONGEST = 10_000_000  # characters of a row; beyond, a quote is more likely unclosed than a text that long

NO_TEXT = ("idna", "punycode", "undefined")  # codecs of strings, but not of texts

# UTF-32 comes first: its mark starts with that of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

# What a file that is not text starts with, and what to do about it; enough bytes that no header does.
STRANGERS = {
    b"PAR1\x15": "is a Parquet file; pass --format parquet",
    b"\x1f\x8b": "is compressed with gzip; pass --format {format}.gz",
    b"BZh91AY&SY": "is compressed with bzip2; pass --format {format}.bz2",
    b"\xfd7zXZ\x00": "is compressed with xz; pass --format {format}.xz",
    b"\x28\xb5\x2f\xfd": "is compressed with Zstandard; pass --format {format}.zst",
    b"PK\x03\x04": "is a zip archive or a workbook; unpack it, or save it as CSV",
}


def codec(encoding: str) -> codecs.CodecInfo:
    """Python's codec of that name.

    Examples
    --------
    >>> codec("latin-1").name
    'iso8859-1'
    >>> codec("utf-9")
    Traceback (most recent call last):
    dropglm.tables.complaint.TableError: Encoding 'utf-9' is unknown (did you mean 'utf-8'?).
    """
    try:
        info = codecs.lookup(encoding)
        if info._is_text_encoding and info.name not in NO_TEXT:
            return info
    except (LookupError, ValueError):
        pass
    known = [name.replace("_", "-") for pair in encodings.aliases.aliases.items() for name in pair]
    hint = (
        nearest(encoding.replace("_", "-"), known) or "; 'utf-8', 'utf-16', 'latin-1' and 'cp1252' are some"
    )
    raise TableError(f"Encoding {encoding!r} is unknown{hint}.")


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
    TableError('reviews.jsonl: row 2 (line 2) is too short.')
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
    ) -> None:
        self.stream = stream
        self.name = name
        self.format = format
        self.encoding = encoding
        self.longest = longest
        self.row = 0 if header else 1  # the row that is being read
        self.first = 1  # its first line
        self.number = 0  # lines read
        self.room = longest  # characters left to the row
        self.ended = False
        self._bytes = 0
        self._bad_byte: str | None = None
        self._whole: deque[str] = deque()
        self._part: list[str] = []
        self._part_size = 0
        self._decoder: codecs.IncrementalDecoder | None = None

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
            raise self.complaint(
                "holds a NUL byte; it is no text, or text in another encoding (--encoding utf-16-le)"
            )
        return line

    def done(self) -> None:
        """A row ended with the last line."""
        self.row += 1
        self.skip()

    def skip(self) -> None:
        """The last line belongs to no row."""
        self.first = self.number + 1
        self.room = self.longest

    def waiting(self) -> bool:
        """Whether the next line has yet to be written at the other end of a pipe."""
        if self._whole or self.ended:
            return False
        try:
            return not select.select([self.stream], [], [], 0)[0]
        except (OSError, TypeError, ValueError):  # nothing that the system can wait for
            return False

    def complaint(self, what: str) -> TableError:
        """The row and its lines, and what is wrong with them."""
        row = f"row {self.row}" if self.row else "the header"
        last = max(self.first, self.number)
        lines = f"line {last}" if last == self.first else f"lines {self.first} to {last}"
        return TableError(f"{self.name}: {row} ({lines}) {what}.")

    def _more(self) -> None:
        """Take in what has arrived."""
        if self._bad_byte:
            self.number += 1
            raise self.complaint(self._bad_byte)
        if self.ended:
            raise StopIteration
        *whole, part = self._text().split("\n")
        if whole:
            whole[0] = "".join((*self._part, whole[0]))
            self._part, self._part_size = [], 0
            self._whole.extend(line + "\n" for line in whole)
        self._part.append(part)
        self._part_size += len(part)
        if self.ended or self._part_size > self.longest:
            line = "".join(self._part)
            self._part, self._part_size = [], 0
            if line:
                self._whole.append(line)

    def _text(self) -> str:
        data = chunk(self.stream, CHUNK, self.name)
        if self._decoder is None:
            self._decoder = self._make_decoder(data)
        self._bytes += len(data)
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(data, not data)
        except UnicodeDecodeError as error:
            # The rows before the bad byte come first, so that the complaint counts them.
            after = len(error.object) - error.start
            self._bad_byte = (
                f"is not {error.encoding.upper()}: byte {self._bytes - after:,} of the file "
                f"is 0x{error.object[error.start]:02x}; pass its --encoding, such as cp1252"
            )
            self._decoder.setstate(state)
            return self._decoder.decode(data[: len(data) - after]) if after < len(data) else ""
        except UnicodeError as error:
            raise TableError(f"{self.name}: this cannot be read as {self.encoding} ({error}).") from None
        self.ended = not data
        return text

    def _make_decoder(self, start: bytes) -> codecs.IncrementalDecoder:
        for magic, hint in STRANGERS.items():
            if start.startswith(magic):
                raise TableError(f"{self.name}: this {hint.format(format=self.format)}.")
        if self.encoding is None:
            self.encoding = next((name for mark, name in MARKS.items() if start.startswith(mark)), "utf-8")
        return codec(self.encoding).incrementaldecoder()
