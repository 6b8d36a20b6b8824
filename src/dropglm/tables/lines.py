"""The text of a file, decoded in chunks, and its lines, counted so that an error can name its row and lines.

Bad bytes are reported with their position or escaped.
"""

import codecs
import encodings.aliases
import lzma
import select
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from dropglm.base.errors import InputTypeError
from dropglm.tables.errors import RowError, TableError, row_place, suggestion

if TYPE_CHECKING:
    import numpy as np

    from dropglm.tables.reader import Table

CHUNK_SIZE = 1 << 20
PUT_BACK_SIZE = 1 << 14  # bytes to decode at a time if they were read before
SAMPLE_SIZE = 1000  # bytes at the start of a file from which an encoding is guessed

WIDE = ("UTF-16", "UTF-32")
NOT_FOR_TEXT = ("idna", "punycode", "undefined")  # codecs of strings that no file of texts uses

# UTF-32 comes first: its byte-order mark starts with that of UTF-16.
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

# First bytes of files that are not plain text, and what to do about them; long enough not to match a header.
SIGNATURES = {
    b"PAR1\x15": "is a Parquet file; set format to 'parquet'",
    b"\x1f\x8b": "is compressed with gzip; set format to '{format}.gz'",
    b"BZh91AY&SY": "is compressed with bzip2; set format to '{format}.bz2'",
    b"\xfd7zXZ\x00": "is compressed with xz; set format to '{format}.xz'",
    b"\x28\xb5\x2f\xfd": "is compressed with Zstandard; set format to '{format}.zst'",
    b"PK\x03\x04": "is a zip archive or a workbook; unpack it, or save it as CSV",
}
ENCODING_HINT = "set encoding to that of the file, for example 'cp1252'"


# Errors of the four compression modules on damaged data; a file that ends too early is an EOFError.
DAMAGE_ERRORS = (OSError, zlib.error, lzma.LZMAError)


class RawBatch(NamedTuple):
    """Consecutive rows that were read at once.

    Attributes
    ----------
    columns : list of sequences
        The requested columns, in their order; a sequence of strings may be ``EncodedTexts``.
    first_row : int
        Number of the first row in the table.
    lines : ndarray of shape (n, 2) or None
        The first and the last line of each row; None for Parquet, which has no lines.
    """

    columns: Sequence[Sequence[Any]]
    first_row: int
    lines: "np.ndarray | None" = None


def read_chunk(stream: IO[bytes], size: int, name: str) -> bytes:
    """Return up to ``size`` bytes as soon as any are available; no bytes mean the end of the stream."""
    read = getattr(stream, "read1", stream.read)
    try:
        data = read(size)
    except EOFError:
        raise TableError(f"{name}: the compressed data ends too early; the file is truncated.") from None
    except DAMAGE_ERRORS as error:
        raise TableError(f"{name}: this file cannot be read ({error}).") from None
    if isinstance(data, str):
        raise InputTypeError(f"{name} is open in text mode; open it in binary mode, with mode 'rb'.")
    return bytes(data or b"")


def find_codec(encoding: str) -> codecs.CodecInfo:
    """Return Python's codec for an encoding.

    Examples
    --------
    >>> find_codec("latin-1").name
    'iso8859-1'
    >>> find_codec("utf-9")
    Traceback (most recent call last):
    dropglm.tables.errors.TableError: encoding 'utf-9' is unknown (did you mean 'utf-8'?).
    """
    try:
        info = codecs.lookup(encoding)
        if info._is_text_encoding and info.name not in NOT_FOR_TEXT:
            return info
    except (LookupError, ValueError):
        pass
    known = [name.replace("_", "-") for pair in encodings.aliases.aliases.items() for name in pair]
    hint = suggestion(encoding.replace("_", "-"), known)
    examples = "; for example 'utf-8', 'utf-16', 'latin-1' or 'cp1252'"
    raise TableError(f"encoding {encoding!r} is unknown{hint or examples}.")


def has_lone_surrogate(text: str) -> bool:
    r"""Return whether the text contains half of a surrogate pair, which is not a character.

    Examples
    --------
    >>> has_lone_surrogate("\ud83d"), has_lone_surrogate("\U0001f600")
    (True, False)
    """
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def guess_wide_encoding(sample: bytes) -> str | None:
    r"""Return the UTF-16 or UTF-32 encoding in which the bytes are mostly ASCII characters, or None.

    Examples
    --------
    >>> guess_wide_encoding("text,label\n".encode("utf-16-le"))
    'utf-16-le'
    >>> guess_wide_encoding(b"te\0xt,label\n") is None
    True
    """
    for encoding in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"):
        text = sample[: len(sample) // 4 * 4].decode(encoding, errors="replace")
        if sum("\0" < character < "\x80" for character in text) > len(text) / 2:
            return encoding
    return None


# Characters of a row; a longer one is more likely to have an unclosed quote than a text of that length.
MAX_ROW_LENGTH = 10_000_000
BLANK = ("\n", "\r\n")  # blank lines between rows


class Lines:
    r"""An iterator over lines, each with its line end; the reader calls ``end_row`` after each row.

    Lines end with ``\n``. A ``\r`` before it is left to the reader of rows; one elsewhere is part of a text.

    Parameters
    ----------
    stream : binary file
        Decompressed bytes.
    table : Table
        Where they come from, and how they are read.
    lenient : bool, default=False
        Whether reading may continue after a bad row. Bad bytes are then escaped as lone surrogates, U+DC80 to
        U+DCFF, so that only their lines are lost, and a line that is too long is skipped to its end. Some
        codecs cannot escape bytes; for these, as without ``lenient``, the text ends before the first bad one.

    Attributes
    ----------
    name : str
        Name of the table in messages.
    encoding : str or None
        A codec of Python; None before anything has been read if the first bytes decide.
    row : int
        Number of the row that is being read; 0 for a header, which is not counted.
    first_line : int
        Number of its first line.
    n_lines : int
        Number of lines read.
    problem : str
        What is wrong with the row, to be raised at its end. It is set in a lenient reading of rows that may
        span lines: the next row starts after the last line of the bad row, not after its bad line.
    bytes_read : int
        Number of bytes read from the stream, without those that were put back.

    Examples
    --------
    >>> from io import BytesIO
    >>> from dropglm.tables import Table
    >>> lines = Lines(BytesIO(b"one\ntwo"), Table("reviews.jsonl"))
    >>> next(lines)
    'one\n'
    >>> lines.end_row()
    >>> next(lines)
    'two'
    >>> lines.error("is too short")
    RowError('reviews.jsonl: row 2 (line 2) is too short.')
    >>> next(Lines(BytesIO(b"one\ntw\xf6"), Table("reviews.txt")))
    'one\n'
    """

    def __init__(self, stream: IO[bytes], table: "Table", *, lenient: bool = False) -> None:
        self.stream, self.table, self.lenient = stream, table, lenient
        self.name, self.encoding = table.name, table.encoding
        self.row = 0 if table.found_format.header else 1
        self.first_line, self.n_lines = 1, 0
        self.problem = ""
        self.bytes_read = 0
        self._characters_left = table.max_row_length
        self._decoder: Any = None
        self._sample = b""  # the first bytes
        self._put_back = memoryview(b"")  # bytes to decode again
        self._ended = False  # whether everything has been read
        self._bad_byte = ""  # the message about the bad byte at which the text ended
        self._escaped = False  # whether bad bytes have been escaped
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
                f"is longer than {self.table.max_row_length:,} characters; "
                "a line end or a closing quote is probably missing"
            )
        if "\0" in line:
            self._raise_or_note(self._nul_problem(line))
        if self._escaped and has_lone_surrogate(line):
            byte = next((ord(c) - 0xDC00 for c in line if "\udc80" <= c <= "\udcff"), None)
            what = "half of a surrogate pair" if byte is None else f"the byte 0x{byte:02x}"
            encoding = (self.encoding or "utf-8").upper()
            self._raise_or_note(f"is not {encoding}: it contains {what}; {ENCODING_HINT}")
        return line

    def end_row(self) -> None:
        """Count a row, which ended with the last line."""
        self.row += 1
        self.skip()

    def skip(self) -> None:
        """Start the row after the last line, which does not belong to any row."""
        self.first_line = self.n_lines + 1
        self._characters_left = self.table.max_row_length
        self.problem = ""

    def advance(self, n_rows: int, n_lines: int) -> None:
        """Count rows that were read by other means than this iterator, and their lines."""
        self.row += n_rows
        self.n_lines += n_lines
        self.skip()

    @property
    def is_utf8(self) -> bool:
        """Whether the file, of which something must have been read, is in UTF-8."""
        return find_codec(self.encoding or "utf-8").name == "utf-8"

    def read_bytes(self) -> bytes:
        """Return bytes that have arrived, for a reader that decodes them itself; none at the end."""
        data = read_chunk(self.stream, CHUNK_SIZE, self.name)
        if len(self._sample) < SAMPLE_SIZE:
            self._sample += data[: SAMPLE_SIZE - len(self._sample)]
        self.bytes_read += len(data)
        return data

    def take_unread(self) -> bytes:
        """Return the bytes that were read after the last line, which the iterator will not return."""
        text = "".join((*self._complete, *self._partial))
        pending = b"" if self._decoder is None else self._decoder.getstate()[0]
        unread = b"".join((text.encode("utf-8", "surrogateescape"), pending, self._put_back))
        self._complete.clear()
        self._partial, self._partial_length, self._skipping = [], 0, False
        self.bytes_read += len(self._put_back)
        self._put_back = memoryview(b"")
        self._ended, self._bad_byte = False, ""
        if self._decoder is not None:
            self._decoder.reset()
        return unread

    def put_back(self, data: bytes) -> None:
        """Let the iterator continue with these bytes, the last ones that were taken or read."""
        self.bytes_read -= len(data) - len(self._put_back)
        self._put_back = memoryview(data)

    @property
    def reads_again(self) -> bool:
        """Whether bytes that were put back, or the rest of a line that is too long, have yet to be read."""
        return self._skipping or len(self._put_back) > 0

    def would_block(self) -> bool:
        """Return whether the next row has not arrived in the pipe yet."""
        if self._ended or any(line not in BLANK for line in self._complete):
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
        return row_place(self.row, (self.first_line, max(self.first_line, self.n_lines)))

    def _raise_or_note(self, problem: str) -> None:
        rows_span_lines = self.table.found_format.header
        if not (rows_span_lines and self.lenient and self.row):
            raise self.error(problem)
        self.problem = problem

    def _nul_problem(self, line: str) -> str:
        encoding = guess_wide_encoding(self._sample)
        if encoding is not None:
            utf = encoding[:6].upper()
            return f"contains NUL bytes because the file looks like {utf}; set encoding to {encoding!r}"
        return f"contains a NUL byte (line {self.n_lines}, character {line.index(chr(0)) + 1}); remove it"

    def _read_more(self) -> None:
        """Read a chunk and split it into lines."""
        if self._bad_byte:
            self.n_lines += 1
            raise TableError(f"{self.name}: {self.position()} {self._bad_byte}.")
        if self._ended:
            raise StopIteration
        *complete, partial = self._next_chunk().split("\n")
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
        if self._ended or self._partial_length > self.table.max_row_length:
            line = "".join(self._partial)
            self._partial, self._partial_length = [], 0
            self._skipping = self._skipping or not self._ended
            if line:
                self._complete.append(line)

    def _next_chunk(self) -> str:
        """Return the text that has arrived; an empty string at the end."""
        if self._put_back:  # a little at a time: usually only one row is needed
            data, self._put_back = bytes(self._put_back[:PUT_BACK_SIZE]), self._put_back[PUT_BACK_SIZE:]
            self.bytes_read += len(data)
        else:
            data = self.read_bytes()
        if self._decoder is None:
            self._decoder = self._make_decoder(data)
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(data, not data)
        except UnicodeDecodeError as error:
            self._decoder.setstate(state)
            escaped = self._escape(data) if self.lenient else None
            if escaped is None:
                self._decoder.setstate(state)
                return self._text_before(data, error)
            text = escaped
        except UnicodeError as error:
            raise TableError(f"{self.name}: this cannot be read as {self.encoding} ({error}).") from None
        self._ended = not data
        return text

    def _text_before(self, data: bytes, error: UnicodeDecodeError) -> str:
        """Return the text before the bad byte, so that its rows are counted before the error is raised."""
        after = len(error.object) - error.start
        encoding, number = error.encoding.upper(), f"byte {self.bytes_read - after:,} of the file"
        if not data and encoding.startswith(WIDE):
            self._bad_byte = (
                f"ends in the middle of a character of {encoding}, at {number}, so the file is incomplete "
                "or damaged; copy or export it again"
            )
        else:  # in UTF-8, too: the last letter of a file in Latin-1 may look like the start of a character
            self._bad_byte = (
                f"is not {encoding}: {number} is 0x{error.object[error.start]:02x}; {ENCODING_HINT}"
            )
        text = self._decoder.decode(data[: len(data) - after]) if after < len(data) else ""
        self._decoder.reset()
        self.put_back(b"".join((error.object[error.start :], self._put_back)))
        return str(text)

    def _escape(self, data: bytes) -> str | None:
        """Return the text with escaped bad bytes, or None if the codec misses line ends after a bad byte."""
        # In UTF-16, for example, a bad byte shifts all characters after it by one byte.
        if not "\n\n".encode(self.encoding or "utf-8").endswith(b"\n\n"):
            return None
        self._decoder.errors = "surrogateescape"
        try:
            text = self._decoder.decode(data, not data)
        except UnicodeError:  # bytes below 0x80 cannot be escaped
            return None
        finally:
            self._decoder.errors = "strict"
        self._escaped = True
        return str(text)

    def _make_decoder(self, start: bytes) -> codecs.IncrementalDecoder:
        for signature, hint in SIGNATURES.items():
            if start.startswith(signature):
                raise TableError(f"{self.name}: this {hint.format(format=self.table.found_format.name)}.")
        if self.encoding is None:
            marks = (name for mark, name in BYTE_ORDER_MARKS.items() if start.startswith(mark))
            self.encoding = next(marks, "utf-8")
        return find_codec(self.encoding).incrementaldecoder()


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
    >>> from dropglm.tables import Table
    >>> lines = Lines(BytesIO(b"1\nI\n3\n"), Table("numbers.txt"), lenient=True)
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
