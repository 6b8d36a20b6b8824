"""Tables as partitions: files are cut into parts, and workers read these."""

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from operator import add, or_
from typing import Any

from dropglm.places.partitions import Engine, Rows
from dropglm.tables import EmptyTableError, Table, TableError, class_type, to_classes

# Bytes of a part: large enough for tasks to take seconds, small enough for their texts and counts to fit
# into memory several times.
LARGEST, SMALLEST = 64 << 20, 1 << 20


def table_partitions(engine: Engine, files: Sequence[Table]) -> list[Any]:
    """Return partitions of the rows of files, as ``Rows`` with a list of texts that an engine keeps.

    Parameters
    ----------
    engine : Engine
    files : sequence of Table
        With paths that are the same on all workers, and the same columns; without labels the rows are
        unlabelled.
    """
    total = sum(os.path.getsize(file.name) for file in files)
    size = min(LARGEST, max(SMALLEST, total // (2 * (engine.slots or 1))))
    parts: list[Table] = engine.total(_same, engine.keep(cut_file, list(files), size), None, add)
    kept = engine.keep(read_rows, [[k, part] for k, part in enumerate(parts)], None)
    if files[0].label is None:
        return kept
    return engine.keep(with_classes, kept, class_type(engine.total(names_of, kept, None, or_)))


def cut_file(file: Table, size: int) -> list[Table]:
    """Return the parts of a file."""
    check_visible(file)
    return file.parts(size)


def read_rows(numbered: list[Any], _: None) -> Rows:
    """Return the rows of a part, with the names of their classes; a file without rows gives none."""
    number, part = numbered
    check_visible(part)
    texts, labels = [], []
    with suppress(EmptyTableError):
        read = part.read()
        texts, labels = read.texts, read.labels
    return Rows(number, texts, labels, labeled=part.label is not None)


def names_of(rows: Rows, _: None) -> frozenset[str]:
    """Return the names of the classes in a partition."""
    return frozenset(rows.y)


def with_classes(rows: Rows, kind: type) -> Rows:
    """Return a partition with classes of the type that those of all partitions have."""
    return rows._replace(y=to_classes(rows.y, kind))


def check_visible(file: Table) -> None:
    """Raise an error if this process, which may be on another machine than the user, cannot see a file."""
    if not os.path.exists(str(file.path)):
        raise TableError(
            f"{file.path}: a Dask worker on {socket.gethostname()} cannot see this file; files need the same "
            "path on all machines."
        )


def _same(found: Any, _: None) -> Any:
    return found
