"""Files that are written as a whole or not at all, and the error for files that cannot be used."""

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dropglm.base.errors import InputError

STANDARD_STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr")  # by number


class FileError(InputError):
    """A file that cannot be used; the message says why in a sentence."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a stream to a new file, which replaces the old one only if all of it was written.

    At the end, the new file survives a power cut. After an error it is the old one that is there, unless
    everything succeeded but synchronising the folder.

    Symbolic links are followed, the permissions of the old file are kept, and what is not a regular file (a
    pipe, a device) is written to directly; so are the names of open files, such as ``/dev/stdout``.
    """
    with naming_file(path):
        number = descriptor(path)
        if number is not None:
            with open(os.dup(number), "wb") as stream:
                yield stream
            return
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as stream:
                yield stream
            return
        final = Path(os.path.realpath(path))
        # In the same folder, since a file can be renamed within one disk only.
        part = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
        try:
            with open(part, "xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            if final.exists():
                shutil.copymode(final, part)
            os.replace(part, final)
            synchronise_folder(final.parent)
        finally:
            part.unlink(missing_ok=True)


def append(path: str | os.PathLike[str], content: bytes) -> None:
    """Add bytes to the end of a file, and make sure that they survive a power cut."""
    with naming_file(path), open(path, "ab") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def naming_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in errors of the system, where a write that fails, as on a full disk, does not."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


def synchronise_folder(folder: Path) -> None:
    """Make sure that the names in a folder survive a power cut, where a system can synchronise folders."""
    try:
        opened = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows cannot open any folder
        return
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # as on some network drives
            error.filename = os.fspath(folder)
            raise
    finally:
        os.close(opened)


def descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the number of the open file that a path refers to, or None for all other paths.

    Examples
    --------
    >>> [descriptor(path) for path in ("/dev/stdout", "/dev/fd/3", "/proc/self/fd/2", "stdout", "-")]
    [1, 3, 2, None, None]
    """
    name = os.fspath(path)
    if name in STANDARD_STREAMS:
        return STANDARD_STREAMS.index(name)
    found = re.fullmatch(r"(?:/dev|/proc/self)/fd/(\d{1,9})", name)
    return int(found[1]) if found else None


def file_identity(path: str | os.PathLike[str]) -> tuple[int, int] | str | None:
    """Return what all names of one file have in common, or None for a device, where nothing can be lost.

    Symbolic links, hard links and spellings that the file system takes for the same all lead to one file.

    Examples
    --------
    >>> file_identity("new.csv") == file_identity("./new.csv"), file_identity("new.csv") == file_identity("x")
    (True, False)
    >>> file_identity(os.devnull) is None
    True
    """
    number = descriptor(path)
    try:
        found = os.stat(path) if number is None else os.fstat(number)
    except OSError:  # a file that does not exist yet, if it is not an error that is reported elsewhere
        return os.path.normcase(os.path.realpath(path))
    if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
        return found.st_dev, found.st_ino
    # Standard input and output may well be one terminal or one socket.
    return None if stat.S_ISCHR(found.st_mode) else os.fspath(path)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the ``OSError`` that ``replacing`` is going to raise, without touching the file."""
    number = descriptor(path)
    if number is not None:
        os.fstat(number)
        return
    if os.path.isdir(path):
        raise _error(errno.EISDIR, path)
    final = Path(os.path.realpath(path))
    if os.path.exists(path) and not os.path.isfile(path):
        if not os.access(path, os.W_OK):
            raise _error(errno.EACCES, path)
    elif not final.parent.is_dir():
        raise _error(errno.ENOENT, final.parent)
    elif not os.access(final.parent, os.W_OK):
        raise _error(errno.EACCES, final.parent)


def _error(number: int, path: str | os.PathLike[str]) -> OSError:
    return OSError(number, os.strerror(number), os.fspath(path))


def user_cache() -> Path:
    """Return the folder for files of this user that can be made again."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache"
    return Path(base) / "dropglm"
