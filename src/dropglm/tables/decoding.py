"""Bytes become text, a piece at a time, and bad bytes are told by their place or kept apart."""

import codecs
import encodings.aliases
from typing import IO

from dropglm.tables.complaint import TableError, nearest
from dropglm.tables.source import chunk

CHUNK = 1 << 20

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


def halved(text: str) -> bool:
    r"""Whether half of a surrogate pair is in it, which is no character.

    Examples
    --------
    >>> halved("\ud83d"), halved("\U0001f600")
    (True, False)
    """
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


class Pieces:
    r"""The text of a stream, as it arrives.

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
    lenient
        Whether bad bytes are let through as halves of surrogate pairs, U+DC80 to U+DCFF, so that only their
        lines are lost. Not all codecs can: for the others, as without it, the text ends before the first one.

    Attributes
    ----------
    ended
        Whether all has been read.
    bad_byte
        What is to be said of the byte at which the text ended, if it was a bad one.
    escaped
        Whether bad bytes have been let through.

    Examples
    --------
    >>> from io import BytesIO
    >>> Pieces(BytesIO(b"one\ntw\xf6"), "reviews.csv", "csv", None, lenient=True).more()
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
        self._bytes = 0
        self._decoder: codecs.IncrementalDecoder | None = None

    def more(self) -> str:
        """What has arrived; nothing, and ``ended`` is set, at the end."""
        data = chunk(self.stream, CHUNK, self.name)
        if self._decoder is None:
            self._decoder = self._make_decoder(data)
        self._bytes += len(data)
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(data, not data)
        except UnicodeDecodeError as error:
            self._decoder.setstate(state)
            escaped = self._escape(self._decoder, data) if self.lenient else None
            if escaped is None:
                self._decoder.setstate(state)
                return self._before(self._decoder, data, error)
            text = escaped
        except UnicodeError as error:
            raise TableError(f"{self.name}: this cannot be read as {self.encoding} ({error}).") from None
        self.ended = not data
        return text

    def _before(self, decoder: codecs.IncrementalDecoder, data: bytes, error: UnicodeDecodeError) -> str:
        """The text before the bad byte: its rows come first, so that the complaint counts them."""
        after = len(error.object) - error.start
        self.bad_byte = (
            f"is not {error.encoding.upper()}: byte {self._bytes - after:,} of the file "
            f"is 0x{error.object[error.start]:02x}; pass its --encoding, such as cp1252"
        )
        return decoder.decode(data[: len(data) - after]) if after < len(data) else ""

    def _escape(self, decoder: codecs.IncrementalDecoder, data: bytes) -> str | None:
        """The text with its bad bytes in it, or None if the codec does not find line ends after them."""
        # A bad byte puts UTF-16 out of step: it reads on from the middle of a character.
        if not "\n\n".encode(self.encoding or "utf-8").endswith(b"\n\n"):
            return None
        decoder.errors = "surrogateescape"
        try:
            text = decoder.decode(data, not data)
        except UnicodeError:  # a byte below 0x80 has no escape
            return None
        finally:
            decoder.errors = "strict"
        self.escaped = True
        return text

    def _make_decoder(self, start: bytes) -> codecs.IncrementalDecoder:
        for magic, hint in STRANGERS.items():
            if start.startswith(magic):
                raise TableError(f"{self.name}: this {hint.format(format=self.format)}.")
        if self.encoding is None:
            self.encoding = next((name for mark, name in MARKS.items() if start.startswith(mark)), "utf-8")
        return codec(self.encoding).incrementaldecoder()
