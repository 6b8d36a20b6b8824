"""Decode bytes to text chunk by chunk; bad bytes are reported with their position or escaped."""

import codecs
import encodings.aliases
from typing import IO

from dropglm.tables.errors import TableError, suggestion
from dropglm.tables.source import read_chunk

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


class DecodedChunks:
    r"""The text of a binary stream, chunk by chunk.

    Parameters
    ----------
    stream : binary file
        Decompressed bytes.
    name : str
        Name of the table in messages.
    format : str
        Name of the format, for hints.
    encoding : str or None
        A codec of Python; None is UTF-8, or what a byte-order mark says.
    lenient : bool, default=False
        Whether to escape bad bytes as lone surrogates, U+DC80 to U+DCFF, so that only their lines are lost.
        Some codecs cannot do that; for these, as without ``lenient``, the text ends before the first bad one.

    Attributes
    ----------
    ended : bool
        Whether everything has been read.
    bad_byte : str or None
        The message about the bad byte at which the text ended, if there was one.
    escaped : bool
        Whether bad bytes have been escaped.
    sample : bytes
        The first bytes of the stream.
    bytes_read : int
        Number of bytes read from the stream, without those that were put back.

    Examples
    --------
    >>> from io import BytesIO
    >>> DecodedChunks(BytesIO(b"one\ntw\xf6"), "reviews.csv", "csv", None, lenient=True).next_chunk()
    'one\ntw\udcf6'
    """

    def __init__(
        self, stream: IO[bytes], name: str, format: str, encoding: str | None, *, lenient: bool = False
    ) -> None:
        self.stream = stream
        self.name = name
        self.format = format
        self.encoding = encoding
        self.lenient = lenient
        self.ended = False
        self.bad_byte: str | None = None
        self.escaped = False
        self.sample = b""
        self.bytes_read = 0
        self._put_back = memoryview(b"")
        self._decoder: codecs.IncrementalDecoder | None = None

    def next_chunk(self) -> str:
        """Return the text that has arrived; at the end, an empty string, and ``ended`` is set."""
        data = self._next_bytes()
        if self._decoder is None:
            self._decoder = self._make_decoder(data)
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(data, not data)
        except UnicodeDecodeError as error:
            self._decoder.setstate(state)
            escaped = self._escape(self._decoder, data) if self.lenient else None
            if escaped is None:
                self._decoder.setstate(state)
                return self._text_before(self._decoder, data, error)
            text = escaped
        except UnicodeError as error:
            raise TableError(f"{self.name}: this cannot be read as {self.encoding} ({error}).") from None
        self.ended = not data
        return text

    def read_bytes(self, size: int = CHUNK_SIZE) -> bytes:
        """Return bytes that have arrived, for a reader that decodes them itself; none at the end."""
        data = read_chunk(self.stream, size, self.name)
        if len(self.sample) < SAMPLE_SIZE:
            self.sample += data[: SAMPLE_SIZE - len(self.sample)]
        self.bytes_read += len(data)
        return data

    def put_back(self, data: bytes) -> None:
        """Take back the last bytes that were read, so that ``next_chunk`` decodes them again."""
        self.bytes_read -= len(data) - len(self._put_back)
        self._put_back = memoryview(data)

    def take_unread(self, text: str) -> bytes:
        """Return what was read after the last line that was used, given its text as far as it was decoded."""
        pending = b"" if self._decoder is None else self._decoder.getstate()[0]
        unread = b"".join((text.encode("utf-8", "surrogateescape"), pending, self._put_back))
        self.bytes_read += len(self._put_back)
        self._put_back = memoryview(b"")
        self.ended, self.bad_byte = False, None
        if self._decoder is not None:
            self._decoder.reset()
        return unread

    def _next_bytes(self) -> bytes:
        if not self._put_back:
            return self.read_bytes()
        # A little at a time: usually only one row is needed.
        data, self._put_back = bytes(self._put_back[:PUT_BACK_SIZE]), self._put_back[PUT_BACK_SIZE:]
        self.bytes_read += len(data)
        return data

    def _text_before(self, decoder: codecs.IncrementalDecoder, data: bytes, error: UnicodeDecodeError) -> str:
        """Return the text before the bad byte, so that its rows are counted before the error is raised."""
        after = len(error.object) - error.start
        encoding, number = error.encoding.upper(), f"byte {self.bytes_read - after:,} of the file"
        if not data and encoding.startswith(WIDE):
            self.bad_byte = (
                f"ends in the middle of a character of {encoding}, at {number}, so the file is incomplete "
                "or damaged; copy or export it again"
            )
        else:  # in UTF-8, too: the last letter of a file in Latin-1 may look like the start of a character
            self.bad_byte = (
                f"is not {encoding}: {number} is 0x{error.object[error.start]:02x}; {ENCODING_HINT}"
            )
        text = decoder.decode(data[: len(data) - after]) if after < len(data) else ""
        decoder.reset()
        self.put_back(b"".join((error.object[error.start :], self._put_back)))
        return text

    def _escape(self, decoder: codecs.IncrementalDecoder, data: bytes) -> str | None:
        """Return the text with escaped bad bytes, or None if the codec misses line ends after a bad byte."""
        # In UTF-16, for example, a bad byte shifts all characters after it by one byte.
        if not "\n\n".encode(self.encoding or "utf-8").endswith(b"\n\n"):
            return None
        decoder.errors = "surrogateescape"
        try:
            text = decoder.decode(data, not data)
        except UnicodeError:  # bytes below 0x80 cannot be escaped
            return None
        finally:
            decoder.errors = "strict"
        self.escaped = True
        return text

    def _make_decoder(self, start: bytes) -> codecs.IncrementalDecoder:
        for signature, hint in SIGNATURES.items():
            if start.startswith(signature):
                raise TableError(f"{self.name}: this {hint.format(format=self.format)}.")
        if self.encoding is None:
            marks = (name for mark, name in BYTE_ORDER_MARKS.items() if start.startswith(mark))
            self.encoding = next(marks, "utf-8")
        return find_codec(self.encoding).incrementaldecoder()
