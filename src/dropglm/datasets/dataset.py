"""A data set as users get it, and its description: its terms, its file, its archive."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

# A member of an archive: the match of its name, and its bytes.
ArchiveMember = tuple[re.Match[str], bytes]
Row = tuple[Any, ...]


class DatasetError(OSError):
    """A data set is not available: not found, not downloaded, damaged, or there is no space for it.

    It is an ``OSError`` because the cause is outside the program. Wrong arguments raise a ``ValueError`` or a
    ``TypeError``, and a missing package raises an ``ImportError``.
    """


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set, with the same fields for every data set; a field that does not apply is None.

    Texts are NumPy arrays of strings (with dtype object), so that they can be indexed with an array of row
    numbers. In data sets for ``SequenceTagger``, texts are lists of tokens and labels lists of tags.

    Attributes
    ----------
    name : str
        The name that was passed to ``load_dataset``.
    y : ndarray of shape (n,)
        Labels of the training rows: indices into ``class_names``, or the class names themselves if
        the file has names (``20news``, ``docstrings``, ``banking77`` and others).
    class_names : tuple of str
        Names of the classes.
    texts : ndarray of shape (n,) or None
        Training texts; None if the data set consists of features.
    X : ndarray or CSR array of shape (n, d), or None
        Training features; None if the data set consists of texts.
    unlabeled : ndarray or None
        Texts without labels.
    texts_test : ndarray of shape (m,) or None
        Texts of the official test set, if the data set has one.
    X_test : ndarray or CSR array of shape (m, d), or None
        Features of the official test set.
    y_test : ndarray of shape (m,) or None
        Labels of the official test set.
    texts_validation : ndarray or None
        Texts of the official validation set, to choose settings with.
    y_validation : ndarray or None
        Labels of the official validation set.
    groups : ndarray of shape (n,) or None
        Groups of the training rows: the official folds of ``imdb2k``, the groups of ``simulation``.
    description : str
        The content of the data set and the order of its rows.
    citation : str
        The publication to cite.
    terms : str
        Licence or terms of use.

    See Also
    --------
    load_dataset : Load a data set by name.

    Examples
    --------
    >>> data = Dataset("two", np.array([0, 1]), ("bad", "good"), texts=np.array(["awful", "fine"], object))
    >>> data
    Dataset('two', 2 texts, classes 'bad' and 'good')
    >>> data.class_names[data.y[1]]
    'good'
    """

    name: str
    y: np.ndarray
    class_names: tuple[str, ...]
    texts: np.ndarray | None = None
    X: Any = None
    unlabeled: np.ndarray | None = None
    texts_test: np.ndarray | None = None
    X_test: Any = None
    y_test: np.ndarray | None = None
    texts_validation: np.ndarray | None = None
    y_validation: np.ndarray | None = None
    groups: np.ndarray | None = None
    description: str = ""
    citation: str = ""
    terms: str = ""

    def __repr__(self) -> str:
        parts = [f"{len(self.y):,} texts" if self.texts is not None else f"{len(self.y):,} rows"]
        if self.unlabeled is not None:
            parts.append(f"{len(self.unlabeled):,} unlabelled")
        if self.y_test is not None:
            parts.append(f"{len(self.y_test):,} test")
        few = len(self.class_names) <= 5
        names = [repr(name) for name in self.class_names]
        parts.append(
            f"classes {', '.join(names[:-1])} and {names[-1]}" if few else f"{len(self.class_names)} classes"
        )
        return f"Dataset({self.name!r}, {', '.join(parts)})"


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
    rows : callable
        Returns the rows of a member, tuples in the order of the table's columns, given the match of its name
        and its bytes.
    order : callable
        Returns the key by which the rows of the table are sorted, given a row, so that their order does not
        depend on that of the members.
    """

    address: str
    checksum: str
    megabytes: float
    pattern: str
    members: int
    max_unpacked: float
    max_member: float
    rows: Callable[[re.Match[str], bytes], Iterable[Row]]
    order: Callable[[Row], Any]


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
    origin : str, default=""
        Without an archive: what the file can be made from.
    """

    file: str
    rows: int
    columns: Mapping[str, str]
    archive: Archive | None = None
    origin: str = ""


@dataclass(frozen=True)
class DatasetEntry:
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
