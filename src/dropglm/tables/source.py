"""A table's bytes: from a file, from standard input or from an open file, compressed or not."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeGuard

from dropglm.tables.complaint import TableError
from dropglm.tables.compression import COMPRESSIONS, DAMAGED

Place: TypeAlias = str | os.PathLike[str] | IO[bytes]


def is_path(place: Place) -> TypeGuard[str | os.PathLike[str]]:
    """Whether it is a file yet to be opened, not standard input or output or a file that is open already."""
    return place != "-" and isinstance(place, (str, os.PathLike))


def name_of(place: Place, standard: str) -> str:
    """What the table is called in messages."""
    if place == "-":
        return standard
    if is_path(place):
        return str(place)
    name = getattr(place, "name", None)
    return name if isinstance(name, str) else "the open file"


def standard(stream: Any, name: str) -> Any:
    """The bytes of standard input or output, which are None where the shell has closed them."""
    if stream is None:
        raise TableError(f"{name}: it is closed.")
    return stream.buffer


@contextmanager
def opened(place: Place, compression: str | None) -> Iterator[IO[bytes]]:
    """The plain bytes, from the first on; what was open before stays open."""
    with ExitStack() as stack:
        stream: Any
        if place == "-":
            stream = standard(sys.stdin, "standard input")
        elif is_path(place):
            stream = stack.enter_context(_file(Path(place)))
        elif hasattr(place, "read"):
            stream = place
        else:
            raise TypeError(f"A table must be a path, '-' or an open binary file, got {place!r}.")
        if compression is not None:
            stream = stack.enter_context(COMPRESSIONS[compression](stream, "rb"))
        yield stream


def refuse_no_file(path: str | os.PathLike[str]) -> None:
    """Say it where there is nothing to open, before its suffix is looked at."""
    if os.path.isdir(path):
        raise TableError(f"{path}: this is a folder; name a file in it.")
    if not os.path.exists(path):
        raise TableError(f"{path}: there is no such file.")


def _file(path: Path) -> IO[bytes]:
    try:
        return open(path, "rb")
    except PermissionError:
        raise TableError(f"{path}: you may not read this file (permission denied).") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TableError(f"{path}: this file cannot be opened ({reason}).") from None


def chunk(stream: IO[bytes], size: int, name: str) -> bytes:
    """At most ``size`` bytes, as soon as there are any; none at the end."""
    read = getattr(stream, "read1", stream.read)
    try:
        data = read(size)
    except EOFError:
        raise TableError(f"{name}: the compressed data ends too early; the file is cut short.") from None
    except DAMAGED as error:
        raise TableError(f"{name}: this file cannot be read ({error}).") from None
    if isinstance(data, str):
        raise TypeError(f"{name} is open as text; open it as bytes, with mode 'rb'.")
    return bytes(data or b"")


def everything(stream: IO[bytes], name: str) -> bytes:
    """All bytes, for formats that start to read at the end."""
    return b"".join(iter(lambda: chunk(stream, 1 << 20, name), b""))
