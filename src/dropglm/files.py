"""Files that are written as a whole or not at all, and complaints about files."""

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
    """A stream to a new file, which takes the place of the old one at the end; if it gets that far.

    A link stays a link, the rights of the old file are kept, and what is no file (a pipe, a device) is
    written to as it is.
    """
    final = Path(os.path.realpath(path))
    if final.exists() and not final.is_file():
        with open(final, "wb") as stream:
            yield stream
        return
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
