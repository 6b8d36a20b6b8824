"""What is known about a data set before any of it is read: its terms, its file, its archive."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# A member of an archive: how its name matched, and its bytes.
Member = tuple[re.Match[str], bytes]
Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Archive:
    """The original archive, and how much of it can be right.

    Attributes
    ----------
    address : str
    checksum : str
        ``md5:…`` or ``sha256:…``, as somebody other than us published it.
    megabytes : float
        What is to be downloaded.
    pattern : str
        The names of the members that hold rows, as a regular expression; others are not read.
    members : int
        The number of those.
    unpacked : float
        Megabytes that the whole archive may unpack to. About twice what it does, as is:
    largest : float
        Megabytes that one of its members may unpack to.
    parse : function
        The columns of the table from those members, which come in any order.
    """

    address: str
    checksum: str
    megabytes: float
    pattern: str
    members: int
    unpacked: float
    largest: float
    parse: Callable[[Iterable[Member]], Columns]


@dataclass(frozen=True)
class Table:
    """A Parquet file, and how its rows are made from the original archive.

    Attributes
    ----------
    file : str
        Its name, in ``$DROPGLM_DATA`` or in the cache.
    rows : int
    columns : mapping of str to str
        The type of each column, by its name in polars.
    archive : Archive or None
        None where no checksum is published, so that the file cannot be made.
    """

    file: str
    rows: int
    columns: Mapping[str, str]
    archive: Archive | None = None


@dataclass(frozen=True)
class Entry:
    """One data set: what a list of them shows, and how its parts come about.

    Attributes
    ----------
    summary : str
        One line.
    rows : int or None
        All rows, with and without labels; None where that is up to the user.
    classes : tuple of str
    terms, citation, note : str
        Licence or terms; whom to cite; what to know before using it.
    parts : function
        The fields of ``Dataset`` that hold data, from the table, or from options where there is no table.
    table : Table or None
    """

    summary: str
    rows: int | None
    classes: tuple[str, ...]
    terms: str
    citation: str
    note: str
    parts: Callable[..., dict[str, Any]]
    table: Table | None = None
