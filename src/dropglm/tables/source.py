"""The bytes of a table: from a file, from standard input or from an open file, compressed or not."""

import bz2
import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeGuard

from dropglm.errors import InputTypeError
from dropglm.tables.errors import TableError

# A file name, "-" for standard input or output, or an open binary file.
PathOrFile: TypeAlias = str | os.PathLike[str] | IO[bytes]

# Errors of the four compression modules on damaged data; a file that ends too early is an EOFError.
DAMAGE_ERRORS = (OSError, zlib.error, lzma.LZMAError)


def _zstandard(stream: IO[bytes], mode: str) -> Any:
    if sys.version_info < (3, 14):
        raise TableError(
            "Zstandard (.zst) needs Python 3.14 or newer; decompress the file with zstd -d first, "
            "or use gzip (.gz)."
        )
    return import_module("compression.zstd").ZstdFile(stream, mode)


def _gzip(stream: IO[bytes], mode: str) -> Any:
    # Without a time stamp, so that the same table gives the same bytes. Level 6 is the default of the gzip
    # command.
    return gzip.GzipFile("", mode, 6, stream, 0)


# By suffix: opens a stream of plain bytes on a stream of compressed bytes, to read ("rb") or write ("wb").
COMPRESSIONS: dict[str, Callable[..., Any]] = {
    "gz": _gzip,
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zst": _zstandard,
}


def is_path(source: PathOrFile) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether it names a file, as opposed to a standard stream ("-") or an open file."""
    return source != "-" and isinstance(source, (str, os.PathLike))


def name_of(source: PathOrFile, standard_stream: str) -> str:
    """Return the name of the table in messages."""
    if source == "-":
        return standard_stream
    if is_path(source):
        return str(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "the open file"


def binary_stream(stream: Any, name: str) -> Any:
    """Return the bytes of ``sys.stdin`` or ``sys.stdout``, which are None if the shell closed them."""
    if stream is None:
        raise TableError(f"{name} is closed.")
    return stream.buffer


@contextmanager
def open_source(source: PathOrFile, compression: str | None) -> Iterator[IO[bytes]]:
    """Open a table and yield its decompressed bytes; a file that was open before stays open."""
    with ExitStack() as stack:
        stream: Any
        if source == "-":
            stream = binary_stream(sys.stdin, "standard input")
        elif is_path(source):
            stream = stack.enter_context(_open_file(Path(source)))
        elif hasattr(source, "read"):
            stream = source
        else:
            raise InputTypeError(f"A table must be a path, '-' or an open binary file, got {source!r}.")
        if compression is not None:
            stream = stack.enter_context(COMPRESSIONS[compression](stream, "rb"))
        yield stream


def check_file_exists(path: str | os.PathLike[str]) -> None:
    """Raise an error if there is no file, before its suffix is examined."""
    if os.path.isdir(path):
        raise TableError(f"{path}: this is a folder; name a file in it.")
    if not os.path.exists(path):
        raise TableError(f"{path}: there is no such file.")


def _open_file(path: Path) -> IO[bytes]:
    try:
        return open(path, "rb")
    except PermissionError:
        raise TableError(f"{path}: you may not read this file (permission denied).") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TableError(f"{path}: this file cannot be opened ({reason}).") from None


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


def read_all(stream: IO[bytes], name: str) -> bytes:
    """Return all bytes, for formats that have to be read from the end."""
    return b"".join(iter(lambda: read_chunk(stream, 1 << 20, name), b""))
