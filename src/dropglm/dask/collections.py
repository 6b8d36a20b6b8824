"""Dask collections and tables of files as partitions, and functions applied to collections."""

import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import repeat
from operator import add
from typing import Any, TypeAlias

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed
from distributed import Client, Future

from dropglm.base.errors import InputError, InputTypeError
from dropglm.places.partitions import Engine, Rows
from dropglm.tables import (
    EmptyTableError,
    Table,
    TableError,
    all_names,
    class_type,
    group_labels,
    has_lists,
    no_labels,
    row_weights,
    to_classes,
)
from dropglm.text.partitioned import Embedded


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask collection, or a list of partitions."""
    if isinstance(X, (list, tuple)) and len(X):
        return all(isinstance(part, (Delayed, Future)) for part in X)
    return is_dask_collection(X)


def partitions_of(
    client: Client, X: Any, y: Any, weights: Any, embeddings: Any = None, *, labeled: bool, groups: Any = None
) -> list[Future]:
    """Return futures of ``Rows``, one per partition of X.

    Parameters
    ----------
    client : distributed.Client
    X : Dask array, data frame or bag, or list of delayed objects or futures
    y, weights : of the same kind and with the same partitions, or None
    embeddings : of the same kind and with the same partitions, or None
        Embeddings, if X are texts.
    labeled : bool
        Whether these are labelled rows; unlabelled ones have no y.
    groups : of the same kind and with the same partitions, or None
        Labels of rows that are held out together.
    """
    name = "X" if labeled else "X_unlabeled"
    sizes = X.chunks[0] if isinstance(X, da.Array) else None
    parts = _parts(X, name, sizes)
    targets = repeat(None) if y is None else _matching(y, "y", parts, sizes)
    w = "sample_weight" if labeled else "unlabeled_weight"
    row_weights = repeat(None) if weights is None else _matching(weights, w, parts, sizes)
    row_groups = repeat(None) if groups is None else _matching(groups, "groups", parts, sizes)
    if embeddings is not None:
        others = _matching(embeddings, "embeddings" if labeled else "embeddings_unlabeled", parts, sizes)
        parts = [delayed(Embedded, pure=True)(*both) for both in zip(parts, others, strict=True)]
    make = delayed(Rows, pure=True)
    rows = [
        make(number, *columns, labeled, of_groups)
        for number, (*columns, of_groups) in enumerate(
            zip(parts, targets, row_weights, row_groups, strict=False)
        )
    ]
    return client.compute(rows)


def gather(client: Client, collection: Any, name: str) -> np.ndarray:
    """Return all rows of a collection of labels, weights or predictions."""
    parts = client.gather(client.compute(_parts(collection, name)))
    return np.concatenate([part if hasattr(part, "shape") else np.array(list(part)) for part in parts])


def _parts(collection: Any, name: str, sizes: Any = None) -> list[Any]:
    """Return delayed partitions of a collection, each with all of its columns."""
    if isinstance(collection, da.Array):
        if collection.ndim == 2 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        own = collection.chunks[0]
        if sizes is not None and own != sizes and not _unknown((*own, *sizes)):
            if sum(own) != sum(sizes):
                raise InputError(f"{name} has {sum(own)} rows, but X has {sum(sizes)}.")
            collection = collection.rechunk((sizes, *collection.chunks[1:]))
        return list(collection.to_delayed(optimize_graph=True).ravel())
    if isinstance(collection, (list, tuple)) and is_collection(collection):
        return list(collection)
    if is_dask_collection(collection) and hasattr(collection, "to_delayed"):
        return list(collection.to_delayed())
    raise InputTypeError(
        f"{name} must be a Dask array, data frame or bag, or a list of delayed objects or futures, got "
        f"{_kind(collection)}; the estimators of dropglm itself take data in memory."
    )


def _kind(collection: Any) -> str:
    """Return what a collection is that cannot be used."""
    if not isinstance(collection, (list, tuple)):
        return type(collection).__name__
    others = (type(part).__name__ for part in collection if not isinstance(part, (Delayed, Future)))
    return f"a list with an item of type {next(others)}" if collection else "an empty list"


def _matching(collection: Any, name: str, parts: Sequence[Any], sizes: Any) -> list[Any]:
    """Return the partitions of a second collection, which must be as many as those of X."""
    others = _parts(collection, name, sizes)
    if len(others) != len(parts):
        raise InputError(f"{name} has {len(others)} partitions, but X has {len(parts)}.")
    return others


def _unknown(sizes: Sequence[float]) -> bool:
    return any(np.isnan(size) for size in sizes)


def map_partitions(
    collection: Any, work: Callable[..., np.ndarray], columns: int | None, dtype: Any, embeddings: Any = None
) -> Any:
    """Return what ``work`` makes of each partition, as a Dask array, or as a list if a list was given.

    Parameters
    ----------
    collection : Dask collection or list of partitions
    work : callable
        From a partition, and its embeddings if there are any, to an array with as many rows.
    columns : int or None
        Number of columns of the result; None if it is a vector.
    dtype : dtype
        Type of the result.
    embeddings : Dask collection or list of partitions, optional
        With the same partitions.
    """
    # The function, which may hold a large model, is one task that the others share.
    shared, call = delayed(work, pure=True), delayed(_call, pure=True)
    parts = _parts(collection, "X")
    others = [] if embeddings is None else [_matching(embeddings, "embeddings", parts, None)]
    parts = [call(shared, *both) for both in zip(parts, *others, strict=True)]
    if isinstance(collection, (list, tuple)):
        return parts
    sizes = collection.chunks[0] if isinstance(collection, da.Array) else [np.nan] * len(parts)
    shapes = [(size,) if columns is None else (size, columns) for size in sizes]
    arrays = [da.from_delayed(part, shape, dtype) for part, shape in zip(parts, shapes, strict=True)]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


def _call(work: Callable[..., np.ndarray], *parts: Any) -> np.ndarray:
    return work(*parts)


# Bytes of a part: large enough for tasks to take seconds, small enough for their texts and counts to fit
# into memory several times.
LARGEST, SMALLEST = 64 << 20, 1 << 20


def table_partitions(engine: Engine, files: Sequence[Table]) -> tuple[list[Any], int]:
    """Return partitions of the rows of files, as ``Rows`` with a list of texts that an engine keeps.

    The second value is the number of rows whose label is missing.

    Parameters
    ----------
    engine : Engine
    files : sequence of Table
        With paths that are the same on all workers, and the same columns; without labels the rows are
        unlabelled. If there is a further column that is kept, it has the groups.
    """
    total = sum(os.path.getsize(file.name) for file in files)
    size = min(LARGEST, max(SMALLEST, total // (2 * (engine.slots or 1))))
    parts: list[Table] = engine.total(_same, engine.keep(cut_file, list(files), size), None, add)
    kept = engine.keep(read_rows, [[k, part] for k, part in enumerate(parts)], None)
    if files[0].label is None:
        return kept, 0
    names, n_missing, several = engine.total(names_of, kept, None, add_names)
    if not names and n_missing:
        raise no_labels(files[0])
    return engine.keep(with_classes, kept, (class_type(names), several)), n_missing


def cut_file(file: Table, size: int) -> list[Table]:
    """Return the parts of a file."""
    check_visible(file)
    return file.parts(size)


def read_rows(numbered: list[Any], _: None) -> Rows:
    """Return the rows of a part, with the names of their classes; a file without rows gives none."""
    number, part = numbered
    check_visible(part)
    texts, labels, weights, groups = [], [], None, None
    with suppress(EmptyTableError):
        read = part.read()
        texts, labels = read.texts, read.labels
        weights, groups = row_weights(part, read), group_labels(part, read)
    return Rows(number, texts, labels, weights, labeled=part.label is not None, groups=groups)


FoundNames: TypeAlias = tuple[frozenset[str], int, bool]


def names_of(rows: Rows, _: None) -> FoundNames:
    """Return the names of the classes in a partition, the number of rows without one, and whether a row may
    have several.
    """
    return frozenset(all_names(rows.y)), rows.y.count(None), has_lists(rows.y)


def add_names(a: FoundNames, b: FoundNames) -> FoundNames:
    """Return what two groups of partitions have."""
    return a[0] | b[0], a[1] + b[1], a[2] or b[2]


def with_classes(rows: Rows, found: tuple[type, bool]) -> Rows:
    """Return a partition with classes of the type that those of all partitions have, or tuples of these."""
    kind, several = found
    return rows._replace(y=to_classes(rows.y, kind, several=several))


def check_visible(file: Table) -> None:
    """Raise an error if this process, which may be on another machine than the user, cannot see a file."""
    if not os.path.exists(str(file.path)):
        raise TableError(
            f"{file.path}: a Dask worker on {socket.gethostname()} cannot see this file; files need the same "
            "path on all machines."
        )


def _same(found: Any, _: None) -> Any:
    return found
