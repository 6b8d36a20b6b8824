"""Descriptions of data sets: their terms, their file, their archive."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# A member of an archive: the match of its name, and its bytes.
Member = tuple[re.Match[str], bytes]
Columns = dict[str, list[Any]]


class DatasetError(OSError):
    """A data set is not available: not found, not downloaded, damaged, or there is no space for it.

    It is an ``OSError`` because the cause is outside the program. Wrong arguments raise a ``ValueError`` or a
    ``TypeError``, and a missing package raises an ``ImportError``.
    """


@dataclass(frozen=True)
class Archive:
    """The original archive of a data set, and limits on what is read from it.

    Attributes
    ----------
    address : str
        URL.
    checksum : str
        ``md5:…`` or ``sha256:…``, as published by somebody else.
    megabytes : float
        Size of the download.
    pattern : str
        Regular expression for the names of the members that contain rows; other members are not read.
    members : int
        Number of members that contain rows.
    max_unpacked : float
        Megabytes that the archive may unpack to; about twice the actual size, like ``max_member``.
    max_member : float
        Megabytes that one member may unpack to.
    parse : callable
        Returns the columns of the table, given those members in any order.
    """

    address: str
    checksum: str
    megabytes: float
    pattern: str
    members: int
    max_unpacked: float
    max_member: float
    parse: Callable[[Iterable[Member]], Columns]


@dataclass(frozen=True)
class StoredTable:
    """A Parquet file, and the archive from which it can be made.

    Attributes
    ----------
    file : str
        Its name, in ``$DROPGLM_DATA`` or in the cache.
    rows : int
        Number of rows.
    columns : mapping of str to str
        The type of each column, by its name in polars.
    archive : Archive or None, default=None
        None if no checksum is published; the file is then not downloaded.
    """

    file: str
    rows: int
    columns: Mapping[str, str]
    archive: Archive | None = None


@dataclass(frozen=True)
class Entry:
    """One data set: what the list of data sets shows, and how it is built.

    Attributes
    ----------
    summary : str
        One line.
    rows : int or None
        Number of rows, with and without labels; None if an option sets it.
    classes : tuple of str
        Names of the classes.
    terms : str
        Licence or terms of use.
    citation : str
        The publication to cite.
    note : str
        What to know before using it.
    build : callable
        Returns the fields of ``Dataset`` that contain data, given the table or, without a table, the options.
    table : StoredTable or None, default=None
        None if the data set is generated.
    """

    summary: str
    rows: int | None
    classes: tuple[str, ...]
    terms: str
    citation: str
    note: str
    build: Callable[..., dict[str, Any]]
    table: StoredTable | None = None
