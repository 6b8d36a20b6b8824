"""Write tables to a file or to standard output."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from dropglm.files import replacing
from dropglm.tables.errors import TableError
from dropglm.tables.formats import Format, find_format
from dropglm.tables.parquet import import_polars
from dropglm.tables.source import COMPRESSIONS, PathOrFile, binary_stream, is_path, name_of

if TYPE_CHECKING:
    from polars import DataFrame


def write(frames: "DataFrame | Iterable[DataFrame]", path: PathOrFile, *, format: str | None = None) -> None:
    """Write one or more frames as a table; a file appears only when it is complete.

    Parameters
    ----------
    frames : polars.DataFrame or iterable of polars.DataFrame
        One frame, or several with the same columns, which are written one by one. For Parquet they are
        collected first.
    path : path or binary file
        A file, ``"-"`` for standard output, or an open binary file. An existing file stays until the new one
        is complete. Each frame is flushed to a stream at once; if the reader of a pipe has left, a
        ``BrokenPipeError`` is raised.
    format : str or None, default=None
        A name in ``FORMATS``, with the compression if there is one (``"csv.gz"``); None uses the suffix, and
        JSON Lines for standard output.

    Raises
    ------
    TableError
        If the table cannot be written.

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
    found, compression = find_format(name, "jsonl" if path == "-" and format is None else format)
    pieces: Any = [frames] if isinstance(frames, import_polars().DataFrame) else frames
    if found.rows is None:
        pieces = _concatenated(pieces, name)
    header: list[str] | None = None
    with _os_errors_as_table_errors(name), _open_target(path, name) as target, ExitStack() as stack:
        stream = stack.enter_context(COMPRESSIONS[compression](target, "wb")) if compression else target
        for frame in pieces:
            if frame.columns != (header or frame.columns):
                raise TableError(f"{name}: the frames have different columns, {header} and {frame.columns}.")
            data = _encoded(found, frame, header is None, name)
            while data:  # unbuffered standard output (PYTHONUNBUFFERED) may write only a part of the data
                data = data[int(stream.write(data)) :]
            stream.flush()
            header = frame.columns
        if header is None:
            raise TableError(f"{name}: there are no frames to write.")


def _concatenated(frames: "Iterable[DataFrame]", name: str) -> "list[DataFrame]":
    """Return all frames as one, because polars cannot append to a Parquet file."""
    pl = import_polars()
    frames = list(frames)
    try:
        return [pl.concat(frames, how="vertical_relaxed")] if frames else []
    except pl.exceptions.PolarsError:
        raise TableError(f"{name}: the frames have different columns.") from None


def _encoded(format: Format, frame: "DataFrame", with_header: bool, name: str) -> memoryview:
    pl = import_polars()
    buffer = BytesIO()
    try:
        format.write(frame, buffer, with_header)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{name}: the table cannot be written as {format.name} ({reason}).") from None
    return buffer.getbuffer()


@contextmanager
def _open_target(path: PathOrFile, name: str) -> Iterator[Any]:
    """Open the stream to write to; a file is renamed to its name when it is complete."""
    if path == "-":
        yield binary_stream(sys.stdout, "standard output")
        return
    if not is_path(path):
        yield path
        return
    if os.path.isdir(path):
        raise TableError(f"{name}: this is a folder; name a file in it.")
    with replacing(path) as stream:
        yield stream


@contextmanager
def _os_errors_as_table_errors(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except FileNotFoundError:
        raise TableError(f"{name}: the folder does not exist.") from None
    except PermissionError:
        raise TableError(f"{name}: you may not write here (permission denied).") from None
    except OSError as error:
        raise TableError(f"{name}: this file cannot be written ({error.strerror or error}).") from None
