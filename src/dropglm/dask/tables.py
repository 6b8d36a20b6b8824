"""Tables as partitions: files are cut into pieces, and workers read these."""

import os
import socket
from collections.abc import Sequence
from operator import add, or_
from typing import Any

from dropglm.partitions import Engine, Rows
from dropglm.tables import class_type, to_classes
from dropglm.tables.errors import TableError
from dropglm.tables.pieces import Piece, TableFile, cut, read_piece

# Bytes of a piece: large enough for tasks to take seconds, small enough for their texts and counts to fit
# into memory several times.
LARGEST, SMALLEST = 64 << 20, 1 << 20


def table_partitions(engine: Engine, files: Sequence[TableFile], text: str, label: str | None) -> list[Any]:
    """Return partitions of the rows of files, as ``Rows`` with a list of texts that an engine keeps.

    Parameters
    ----------
    engine : Engine
    files : sequence of TableFile
        With paths that are the same on all workers.
    text, label : str
        The columns; without a label the rows are unlabelled.
    """
    total = sum(os.path.getsize(file.path) for file in files)
    size = min(LARGEST, max(SMALLEST, total // (2 * (engine.slots or 1))))
    pieces: list[Piece] = engine.total(_same, engine.keep(cut_file, list(files), size), None, add)
    parts = engine.keep(read_rows, [[k, piece] for k, piece in enumerate(pieces)], (text, label))
    if label is None:
        return parts
    return engine.keep(with_classes, parts, class_type(engine.total(names_of, parts, None, or_)))


def cut_file(file: TableFile, size: int) -> list[Piece]:
    """Return the pieces of a file."""
    check_visible(file.path)
    return cut(file, size)


def read_rows(numbered: list[Any], columns: tuple[str, str | None]) -> Rows:
    """Return the rows of a piece, with the names of their classes."""
    number, piece = numbered
    check_visible(piece.file.path)
    read = read_piece(piece, *columns)
    return Rows(number, read.texts, read.labels, labeled=columns[1] is not None)


def names_of(rows: Rows, _: None) -> frozenset[str]:
    """Return the names of the classes in a partition."""
    return frozenset(rows.y)


def with_classes(rows: Rows, kind: type) -> Rows:
    """Return a partition with classes of the type that those of all partitions have."""
    return rows._replace(y=to_classes(rows.y, kind))


def check_visible(path: str) -> None:
    """Raise an error if this process, which may be on another machine than the user, cannot see a file."""
    if not os.path.exists(path):
        raise TableError(
            f"{path}: a Dask worker on {socket.gethostname()} cannot see this file; files need the same path "
            "on all machines."
        )


def _same(found: Any, _: None) -> Any:
    return found
