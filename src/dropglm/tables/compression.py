"""Compressed files, by their suffix."""

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import IO, Any

from dropglm.tables.complaint import TableError

# What the four modules raise on damaged data; a file that ends too early is an EOFError.
DAMAGED = (OSError, zlib.error, lzma.LZMAError)


def _zstandard(stream: IO[bytes], mode: str) -> Any:
    if sys.version_info < (3, 14):
        raise TableError(
            "Zstandard (.zst) needs Python 3.14 or newer; decompress the file with zstd -d first, "
            "or use gzip (.gz)."
        )
    return import_module("compression.zstd").ZstdFile(stream, mode)


def _gzip(stream: IO[bytes], mode: str) -> Any:
    # No time stamp: the same table gives the same bytes. Level 6 is that of the command gzip.
    return gzip.GzipFile("", mode, 6, stream, 0)


# The stream of plain bytes over a stream of compressed ones, for reading ("rb") or writing ("wb").
COMPRESSIONS: dict[str, Callable[..., Any]] = {
    "gz": _gzip,
    "bz2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zst": _zstandard,
}
