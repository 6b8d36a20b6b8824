"""Data sets by name: what there is, where it lies, and its rows."""

import inspect
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dropglm.datasets import files, parquet
from dropglm.datasets.catalogue import DATASETS
from dropglm.datasets.dataset import Dataset
from dropglm.datasets.entry import Entry
from dropglm.registry import lookup, quoted


def load_dataset(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    verbose: bool | None = None,
    **options: Any,
) -> Dataset:
    """A data set by its name.

    It is looked for in ``data_home`` or ``$DROPGLM_DATA``, then in the user's cache, and then downloaded from
    where its authors or NLTK keep it, checked, and kept in the cache. ``docstrings`` and ``simulation`` need
    no file.

    Parameters
    ----------
    name : str
        A key of ``DATASETS``: 20news, athr, bbcrypt, docstrings, imdb, imdb2k, rt, simulation, subj, xgraph.
    data_home : path or None
        A folder with Parquet files; None is the one that ``$DROPGLM_DATA`` names, if it names one.
    download : bool
        Whether what is not on this machine may be downloaded.
    verbose : bool or None
        Whether a bar shows the download and the parsing; None does where there is a terminal.
    **options
        For ``simulation``: ``n_rows``, ``random_state``. For ``docstrings``: ``n_labeled``, ``n_test``,
        ``n_per_class`` (at most, before the split), ``random_state``. Others have none.

    Returns
    -------
    Dataset
        Rows are in the order of the file, which is by class in all but ``docstrings`` and ``simulation``:
        shuffle them before taking a part.

    Raises
    ------
    DatasetError
        Where it cannot be had; an ``OSError``.

    Examples
    --------
    >>> data = load_dataset("simulation", n_rows=75, random_state=0)
    >>> data
    Dataset('simulation', 75 rows, classes '0' and '1')
    >>> data.X.shape
    (75, 1050)
    """
    entry = lookup(DATASETS, name, "name")
    _check_options(name, entry, options)
    if entry.table is None:
        parts = entry.parts(**options)
    else:
        path = files.fetch(entry.table, data_home, download=download, shown=_shown(verbose))
        parts = entry.parts(parquet.read(path, entry.table))
    parts.setdefault("class_names", entry.classes)
    return Dataset(
        name=name,
        description=f"{entry.summary[0].upper()}{entry.summary[1:]}. {entry.note}",
        citation=entry.citation,
        terms=entry.terms,
        **parts,
    )


def where(name: str, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """The file that holds a data set now; None if there is none, or if it needs none."""
    entry = lookup(DATASETS, name, "name")
    return None if entry.table is None else files.where(entry.table, data_home)


def fetch(name: str, data_home: str | os.PathLike[str] | None = None, *, verbose: bool | None = None) -> Path:
    """The file that holds a data set, downloaded if it is not there yet."""
    entry = lookup(DATASETS, name, "name")
    if entry.table is None:
        raise ValueError(f"name {name!r} needs no file; load_dataset({name!r}) makes it.")
    return files.fetch(entry.table, data_home, download=True, shown=_shown(verbose))


@dataclass(frozen=True)
class Listing:
    """A line of the list of data sets; ``megabytes`` is what there is to download, None if nothing is."""

    name: str
    summary: str
    rows: int | None
    megabytes: float | None
    terms: str
    path: Path | None


def listing(data_home: str | os.PathLike[str] | None = None) -> list[Listing]:
    """All data sets, with where each lies now.

    Examples
    --------
    >>> [line.megabytes for line in listing() if line.name == "imdb"]
    [84.1]
    """
    return [
        Listing(
            name,
            entry.summary,
            entry.rows,
            entry.table.archive.megabytes if entry.table and entry.table.archive else None,
            entry.terms,
            where(name, data_home),
        )
        for name, entry in DATASETS.items()
    ]


def _shown(verbose: bool | None) -> bool:
    return sys.stderr.isatty() if verbose is None else bool(verbose)


def _check_options(name: str, entry: Entry, options: dict[str, Any]) -> None:
    known = [] if entry.table is not None else list(inspect.signature(entry.parts).parameters)
    unknown = [option for option in options if option not in known]
    if unknown:
        has = f"it has {quoted(known)}" if known else "it has none"
        raise TypeError(f"{unknown[0]!r} is no option of the data set {name!r}; {has}.")
