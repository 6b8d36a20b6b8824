"""Tables of predictions, to a file or to standard output."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from dropglm.files import replacing
from dropglm.tables.complaint import TableError, polars
from dropglm.tables.compression import COMPRESSIONS
from dropglm.tables.formats import Format, format_of
from dropglm.tables.source import Place, is_path, name_of, standard

if TYPE_CHECKING:
    from polars import DataFrame


def write(frames: "DataFrame | Iterable[DataFrame]", path: Place, *, format: str | None = None) -> None:
    """Write frames one after the other, as they come; a file is there only when it is whole.

    Parameters
    ----------
    frames
        One frame, or several with the same columns. Parquet holds them all until the last one is there.
    path
        A file, ``"-"`` for standard output, or an open binary file. What is at the path stays until the new
        file is written to its end. Each frame reaches a stream at once; a reader that has left a pipe is a
        ``BrokenPipeError``.
    format
        A name in ``FORMATS``, with the compression if there is one (``"csv.gz"``); None asks the suffix, and
        is JSON Lines on standard output.

    Examples
    --------
    >>> from io import BytesIO
    >>> import polars
    >>> file = BytesIO()
    >>> write(polars.DataFrame({"label": ["pos", "neg"], "probability": [0.5, 1.0]}), file, format="csv")
    >>> print(file.getvalue().decode())
    label,probability
    pos,0.5
    neg,1.0
    <BLANKLINE>
    """
    name = name_of(path, "standard output")
    kind, compression = format_of(name, "jsonl" if path == "-" and format is None else format, "--out-format")
    pieces: Any = [frames] if isinstance(frames, polars().DataFrame) else frames
    if kind.rows is None:
        pieces = _together(pieces, name)
    header: list[str] | None = None
    with _complaints(name), _target(path, name) as plain, ExitStack() as stack:
        stream = stack.enter_context(COMPRESSIONS[compression](plain, "wb")) if compression else plain
        for frame in pieces:
            if frame.columns != (header or frame.columns):
                raise TableError(
                    f"{name}: frames of one table have the columns {header} and {frame.columns}."
                )
            data = _bytes(kind, frame, header is None, name)
            while data:  # standard output without a buffer (PYTHONUNBUFFERED) may take a part at a time
                data = data[int(stream.write(data)) :]
            stream.flush()
            header = frame.columns
        if header is None:
            raise TableError(f"{name}: there are no frames to write.")


def _together(frames: "Iterable[DataFrame]", name: str) -> "list[DataFrame]":
    """All frames as one; polars has no way to add to a Parquet file."""
    pl = polars()
    frames = list(frames)
    try:
        return [pl.concat(frames, how="vertical_relaxed")] if frames else []
    except pl.exceptions.PolarsError:
        raise TableError(f"{name}: frames of one table have different columns.") from None


def _bytes(kind: Format, frame: "DataFrame", with_header: bool, name: str) -> memoryview:
    pl = polars()
    buffer = BytesIO()
    try:
        kind.write(frame, buffer, with_header)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{name}: the table cannot be written as {kind.name} ({reason}).") from None
    return buffer.getbuffer()


@contextmanager
def _target(path: Place, name: str) -> Iterator[Any]:
    """The stream to write to; a file takes its name when all is written."""
    if path == "-":
        yield standard(sys.stdout, "standard output")
        return
    if not is_path(path):
        yield path
        return
    if os.path.isdir(path):
        raise TableError(f"{name}: this is a folder; name a file in it.")
    with replacing(path) as stream:
        yield stream


@contextmanager
def _complaints(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except FileNotFoundError:
        raise TableError(f"{name}: there is no such folder to write to.") from None
    except PermissionError:
        raise TableError(f"{name}: you may not write here (permission denied).") from None
    except OSError as error:
        raise TableError(f"{name}: this file cannot be written ({error.strerror or error}).") from None
