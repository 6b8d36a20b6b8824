"""From a table to the file that holds it: a folder of the user's, the cache, or the original archive.

In that order: the folder that ``data_home`` or ``$DROPGLM_DATA`` names, the cache (``$DROPGLM_CACHE``, or
where the system keeps such things), and the archive, which becomes a file in the cache. Nothing is ever
written to the user's folder.
"""

import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dropglm.datasets import parquet
from dropglm.datasets.archive import MEGABYTE, members
from dropglm.datasets.entry import Archive, Columns, Table
from dropglm.datasets.errors import DatasetError
from dropglm.progress import Progress

TIMEOUT = 30.0  # seconds without a byte
DAY = 86_400.0  # seconds
# pooch's own is 1 kB, each flushed: 84 MB from this machine to itself take 1.0 s so, and 0.2 s with this.
CHUNK = 1 << 16


def where(table: Table, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """The file that holds the table now, if there is one."""
    home = folder(data_home)
    if home is not None and (home / table.file).is_file():
        return home / table.file
    try:
        path = cache() / table.file
    except ImportError:  # without pooch there is no cache to find
        return None
    return path if path.is_file() else None


def fetch(
    table: Table, data_home: str | os.PathLike[str] | None = None, *, download: bool, shown: bool
) -> Path:
    """The file that holds the table, downloaded if there is none yet."""
    found = where(table, data_home)
    if found is not None:
        return found
    by_hand = f"put {table.file} into a folder and name that in $DROPGLM_DATA"
    if table.archive is None:
        raise DatasetError(
            f"{table.file} was not found, and is not downloaded, since no checksum of its original is "
            f"published; {by_hand}."
        )
    if not download:
        raise DatasetError(f"{table.file} was not found; allow its download, or {by_hand}.")
    parquet.needed("polars")  # before the download, not after it
    place = cache()
    with one_sentence(table, place):
        place.mkdir(parents=True, exist_ok=True)
        clear(place, table)
        # All that is unfinished lies in a folder of its own, which goes whatever happens. If the process is
        # killed the folder stays, and is never looked into; the next fetch clears it away.
        with TemporaryDirectory(prefix=f".{table.file}-", dir=place) as scratch:
            original = downloaded(table.archive, Path(scratch), shown)
            columns = parsed(original, table.archive, table.rows, shown)
            original.unlink()
            unfinished = Path(scratch) / table.file
            parquet.write(columns, table, unfinished)
            unfinished.replace(place / table.file)
    return place / table.file


def clear(place: Path, table: Table) -> None:
    """Remove what killed processes left behind; what is younger than a day may be another's work."""
    for left in place.glob(f".{table.file}-*"):
        with suppress(FileNotFoundError):  # another cleared it
            if time.time() - left.stat().st_mtime > DAY:
                shutil.rmtree(left, ignore_errors=True)


def folder(data_home: str | os.PathLike[str] | None) -> Path | None:
    """The user's folder of Parquet files, if there is one."""
    named = data_home if data_home is not None else os.environ.get("DROPGLM_DATA") or None
    if named is None:
        return None
    if not Path(named).is_dir():
        name = "data_home" if data_home is not None else "$DROPGLM_DATA"
        raise DatasetError(f"{name} is {str(named)!r}, which is not a folder.")
    return Path(named)


def cache() -> Path:
    """Where downloads go."""
    named = os.environ.get("DROPGLM_CACHE")
    return Path(named or parquet.needed("pooch").os_cache("dropglm"))


def downloaded(archive: Archive, place: Path, shown: bool) -> Path:
    """The archive, whose checksum is right, in that folder."""
    pooch, requests = parquet.needed("pooch"), parquet.needed("requests")
    log = pooch.get_logger()
    level = log.level
    log.setLevel("WARNING")  # the bar says it
    responses: list[Any] = []
    try:
        with Progress("MB downloaded", max(1, round(archive.megabytes)), shown=shown) as progress:
            get = pooch.HTTPDownloader(
                progressbar=Megabytes(progress, archive),
                chunk_size=CHUNK,
                timeout=TIMEOUT,
                hooks={"response": lambda response, **_: responses.append(response)},
            )
            return Path(pooch.retrieve(archive.address, archive.checksum, "archive", place, downloader=get))
    except requests.RequestException as error:
        answer = getattr(error, "response", None)
        reason = "no connection" if answer is None else f"the server answers {answer.status_code}"
        raise DatasetError(
            f"{archive.address} could not be downloaded ({reason}); try again later, or name a folder with "
            "the Parquet file in $DROPGLM_DATA."
        ) from None
    except ValueError:  # pooch's word for it
        kind = archive.checksum.partition(":")[0]
        raise DatasetError(
            f"What came from {archive.address} is not the archive that was expected (another {kind}), and "
            f"was thrown away; try again later."
        ) from None
    finally:
        log.setLevel(level)
        for response in responses:  # pooch leaves it open if the download breaks off
            response.close()


class Megabytes:
    """What pooch takes for a progress bar: one step a megabyte, and no more of them than can be right."""

    def __init__(self, progress: Progress, archive: Archive) -> None:
        self.progress, self.archive = progress, archive
        self.total = self.seen = 0

    def update(self, n: int) -> None:
        """The next n bytes are there, or nearly so: pooch counts whole chunks."""
        self.seen += n
        # Twice, and room for the last chunk: a server that sends without end would fill the disk.
        if self.seen > 2 * self.archive.megabytes * MEGABYTE + 2 * CHUNK:
            raise DatasetError(f"{self.archive.address} sends more than it should, and was cut off.")
        while self.progress.done < min(self.progress.total or 0, self.seen // MEGABYTE):
            self.progress.advance()

    def reset(self) -> None:
        """The end, when pooch counts all again."""
        self.seen = 0

    def close(self) -> None:
        """The end: the last step is a part of a megabyte."""
        while self.progress.done < (self.progress.total or 0):
            self.progress.advance()


def parsed(path: Path, archive: Archive, expected: int, shown: bool) -> Columns:
    """The columns from an archive that lies there, as many rows as expected."""
    with Progress("parts read", archive.members, shown=shown) as progress:
        try:
            columns = archive.parse(counted(members(path, archive), progress))
        except ValueError:  # no rows, or no text
            raise DatasetError(f"The archive from {archive.address} has members without text.") from None
    rows = len(next(iter(columns.values())))
    if rows != expected:
        raise DatasetError(f"The archive from {archive.address} has {rows:,} rows instead of {expected:,}.")
    return columns


def counted(items: Iterator[Any], progress: Progress) -> Iterator[Any]:
    """The items, each a step."""
    for item in items:
        yield item
        progress.advance()


@contextmanager
def one_sentence(table: Table, place: Path) -> Iterator[None]:
    """The system's complaints about the cache, in our words."""
    try:
        yield
    except DatasetError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DatasetError(
                f"There is no room for {table.file} in {place}; name another folder in $DROPGLM_CACHE."
            ) from None
        reason = error.strerror or str(error)
        raise DatasetError(
            f"{table.file} cannot be written to {place} ({reason}); name another folder in $DROPGLM_CACHE."
        ) from None
