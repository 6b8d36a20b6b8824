"""Data sets by name: load them, list them, find and fetch their files."""

import inspect
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.progress import is_terminal
from dropglm.base.registry import lookup, quoted
from dropglm.datasets import files
from dropglm.datasets.corpora import ATHR, BBCRYPT, IMDB, IMDB2K, NEWSGROUPS, RT, SUBJ, XGRAPH
from dropglm.datasets.dataset import Dataset, DatasetEntry
from dropglm.datasets.docstrings import DOCSTRINGS
from dropglm.datasets.sentences import CONLL2000, CONLL2002_ESP, CONLL2002_NED
from dropglm.datasets.short_texts import BANKING77, CHNSENTI_ZH, EMOTION6, TWEETSENT_FR
from dropglm.datasets.simulation import SIMULATION

DATASETS: dict[str, DatasetEntry] = {
    "20news": NEWSGROUPS,
    "athr": ATHR,
    "banking77": BANKING77,
    "bbcrypt": BBCRYPT,
    "chnsenti_zh": CHNSENTI_ZH,
    "conll2000": CONLL2000,
    "conll2002_esp": CONLL2002_ESP,
    "conll2002_ned": CONLL2002_NED,
    "docstrings": DOCSTRINGS,
    "emotion6": EMOTION6,
    "imdb": IMDB,
    "imdb2k": IMDB2K,
    "rt": RT,
    "simulation": SIMULATION,
    "subj": SUBJ,
    "tweetsent_fr": TWEETSENT_FR,
    "xgraph": XGRAPH,
}


def load_dataset(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    verbose: bool | None = None,
    **options: Any,
) -> Dataset:
    """Load one of the paper's data sets, its simulation, docstrings of installed packages, or further texts.

    The file is searched for in ``data_home`` or ``$DROPGLM_DATA``, then in the user's cache. Otherwise the
    original archive is downloaded, verified, and stored in the cache as a Parquet file. ``athr``,
    ``banking77``, ``chnsenti_zh``, ``emotion6`` and ``tweetsent_fr`` cannot be downloaded, since no checksums
    of them are published. ``docstrings`` and ``simulation`` need no file.

    Parameters
    ----------
    name : str
        Name of the data set:

        - ``20news``: messages of 20 newsgroups
        - ``athr``: two newsgroups on religion, as binary features
        - ``banking77``: questions of bank customers, of 77 intents
        - ``bbcrypt``: newsgroups on baseball and cryptography
        - ``chnsenti_zh``: Chinese hotel reviews, positive or negative
        - ``docstrings``: docstrings of installed packages; the label is the package
        - ``emotion6``: English tweets of six emotions
        - ``imdb``: IMDB reviews, half of them without labels
        - ``imdb2k``: 2,000 film reviews with ten official folds
        - ``rt``: sentences of film reviews, positive or negative
        - ``simulation``: the paper's simulation of rare but useful features
        - ``subj``: sentences of film reviews, subjective or objective
        - ``tweetsent_fr``: French tweets, negative, neutral or positive
        - ``xgraph``: newsgroups on the X Window System and computer graphics
    data_home : path-like or None, default=None
        Folder with Parquet files; None uses ``$DROPGLM_DATA`` if it is set.
    download : bool, default=True
        Whether to download a data set that is not on this machine.
    verbose : bool or None, default=None
        Whether to show progress bars for the download and the conversion; None shows them if standard error
        is a terminal.
    **options
        ``simulation`` has ``n_rows`` (int, default=75) and ``random_state`` (default=0). ``docstrings`` has
        ``n_labeled`` (int, default=300), ``n_test`` (int, default=1000), ``n_per_class`` (int, default=1000;
        maximum per class before the split) and ``random_state`` (default=0). Other data sets have no options.

    Returns
    -------
    Dataset
        Texts or features, labels, and where the data set has them a test set, unlabelled texts and groups.
        Rows are in the order of the file, which is by class for the paper's data sets: shuffle them before
        taking a part.

    Raises
    ------
    DatasetError
        If the data set is not available: not found, not downloaded, or damaged. It is an ``OSError``.
    ImportError
        If polars, or pooch for a download, is not installed.

    See Also
    --------
    Dataset : The fields of a data set.

    Examples
    --------
    >>> from dropglm import load_dataset
    >>> data = load_dataset("simulation", n_rows=75, random_state=0)
    >>> data
    Dataset('simulation', 75 rows, classes '0' and '1')
    >>> data.X.shape
    (75, 1050)
    """
    entry = lookup(DATASETS, name, "data set")
    _check_options(name, entry, options)
    if entry.table is None:
        fields = entry.build(**options)
    else:
        path = files.find_or_download(entry.table, data_home, download=download, shown=_shown(verbose))
        fields = entry.build(files.read_parquet(path, entry.table))
    fields.setdefault("class_names", entry.classes)
    return Dataset(
        name=name,
        description=f"{entry.summary[0].upper()}{entry.summary[1:]}. {entry.note}",
        citation=entry.citation,
        terms=entry.terms,
        **fields,
    )


def where(name: str, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the file of a data set, or None if it is not on this machine or the data set needs no file.

    Parameters
    ----------
    name : str
        Name of the data set; see ``listing``.
    data_home : str or path-like, default=None
        Folder with data sets; None means ``$DROPGLM_DATA``, then the user's cache.

    Returns
    -------
    Path or None
        The file.

    See Also
    --------
    fetch : Download the file if it is missing.

    Examples
    --------
    >>> from dropglm.datasets import where
    >>> where("simulation") is None  # needs no file
    True
    """
    entry = lookup(DATASETS, name, "data set")
    return None if entry.table is None else files.find_file(entry.table, data_home)


def fetch(name: str, data_home: str | os.PathLike[str] | None = None, *, verbose: bool | None = None) -> Path:
    """Return the file of a data set; download it if it is not on this machine.

    Parameters
    ----------
    name : str
        Name of the data set; see ``listing``.
    data_home : str or path-like, default=None
        Folder with data sets; None means ``$DROPGLM_DATA``, then the user's cache.
    verbose : bool, default=None
        Whether to show progress; None means in a terminal only.

    Returns
    -------
    Path
        The file.

    See Also
    --------
    where : Look for the file without downloading it.

    Examples
    --------
    >>> from dropglm.datasets import fetch
    >>> fetch("imdb")  # doctest: +SKIP
    PosixPath('/home/you/.cache/dropglm/imdb.parquet')
    """
    entry = lookup(DATASETS, name, "data set")
    if entry.table is None:
        raise InputError(f"name {name!r} needs no file; load_dataset({name!r}) generates the data set.")
    return files.find_or_download(entry.table, data_home, download=True, shown=_shown(verbose))


@dataclass(frozen=True)
class Listing:
    """One line of the list of data sets.

    Attributes
    ----------
    name, summary, terms : str
        Name, content, and licence or terms of use.
    rows : int or None
        Number of rows; None if an option sets it.
    megabytes : float or None
        Size of the download; None if there is none.
    path : Path or None
        The file, if it is on this machine.

    See Also
    --------
    listing : Returns all of them.

    Examples
    --------
    >>> from dropglm.datasets import listing
    >>> [line.rows for line in listing() if line.name == "imdb"]
    [100000]
    """

    name: str
    summary: str
    rows: int | None
    megabytes: float | None
    terms: str
    path: Path | None


def listing(data_home: str | os.PathLike[str] | None = None) -> list[Listing]:
    """Return all data sets, each with its file if that is on this machine.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder with data sets; None means ``$DROPGLM_DATA``, then the user's cache.

    Returns
    -------
    list of Listing
        One per data set.

    See Also
    --------
    load_dataset : Load a data set by name.

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
    return is_terminal() if verbose is None else bool(verbose)


def _check_options(name: str, entry: DatasetEntry, options: dict[str, Any]) -> None:
    known = [] if entry.table is not None else list(inspect.signature(entry.build).parameters)
    unknown = [option for option in options if option not in known]
    if unknown:
        has = f"it has {quoted(known)}" if known else "it has none"
        raise InputTypeError(f"{unknown[0]!r} is not an option of the data set {name!r}; {has}.")
