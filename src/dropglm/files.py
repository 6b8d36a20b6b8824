"""Files that are written as a whole or not at all, and the error for files that cannot be used."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


class FileError(ValueError):
    """A file that cannot be used; the message says why in a sentence."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a stream to a new file, which replaces the old one only if all of it was written.

    Symbolic links are followed, the permissions of the old file are kept, and what is not a regular file (a
    pipe, a device) is written to directly.
    """
    try:
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
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        # A write that fails, as on a full disk, does not name its file.
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the ``OSError`` that ``replacing`` is going to raise, without touching the file."""
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
