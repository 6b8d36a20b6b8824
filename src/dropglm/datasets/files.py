"""The Parquet file of a data set: found in a folder or in the cache, or made from the original archive.

Folders are searched in this order: the one that ``data_home`` or ``$DROPGLM_DATA`` names, then the cache
(``$DROPGLM_CACHE``, or the system's default). If neither has the file, the archive is downloaded and
converted to a file in the cache. Nothing is written to the user's folder.

Members of an archive, a zip or a compressed tar, are read in memory, without trusting it: nothing is unpacked
to disk. An archive that contains a link, a device, an absolute name or a name with '..' is rejected, even if
that member would not be read. Sizes are those of the unpacked bytes, not those in headers.
"""

import errno
import gzip
import os
import re
import shutil
import stat
import tarfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from dropglm.base.files import replacing
from dropglm.base.imports import import_extra
from dropglm.base.progress import Progress
from dropglm.datasets.dataset import Archive, ArchiveMember, DatasetError, Row, StoredTable

MEGABYTE = 1_000_000
# Members without rows: folders, notes, lists. Our archives have at most about 50.
MAX_OTHER_MEMBERS = 1000
BLOCK = 1 << 16
DAMAGE_ERRORS = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # a compression that zipfile does not support
    RecursionError,  # headers that announce headers
    UnicodeError,
    OSError,  # not gzip, or an offset before the start
)


class WrongArchiveError(Exception):
    """The archive is not the expected one; the message is a clause that gives the reason."""


def read_members(path: Path, archive: Archive) -> Iterator[ArchiveMember]:
    """Yield the members that contain rows, each with the match of its name.

    Raises
    ------
    DatasetError
        If the archive is damaged or is not the expected one.
    """
    try:
        with path.open("rb") as file:
            is_zip = file.read(2) == b"PK"
        n = 0
        for n, member in enumerate((_zip_members if is_zip else _tar_members)(path, archive), start=1):
            if n > archive.members:
                raise WrongArchiveError(f"it has more than {archive.members:,} members with rows")
            yield member
        if n < archive.members:
            raise WrongArchiveError(f"it has {n:,} of {archive.members:,} members with rows")
    except WrongArchiveError as error:
        raise DatasetError(f"The archive from {archive.address} was rejected: {error}.") from None
    except DAMAGE_ERRORS as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise DatasetError(f"The archive from {archive.address} is damaged: {reason}.") from None


def _tar_members(path: Path, archive: Archive) -> Iterator[ArchiveMember]:
    with gzip.open(path) as plain:
        stream: Any = LimitedStream(plain, archive.max_unpacked, "it unpacks")
        # Mode r| reads sequentially, without seeking, so that every byte is counted.
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for n, member in enumerate(tar):
                _check_member(member.name, n, archive)
                if member.isdir():
                    continue
                if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
                    raise WrongArchiveError(f"its member {member.name!r} is not a regular file")
                match = re.fullmatch(archive.pattern, member.name)
                content = tar.extractfile(member)
                if match and content:
                    yield match, _read_all(content, member.name, archive)


def _zip_members(path: Path, archive: Archive) -> Iterator[ArchiveMember]:
    bytes_left = archive.max_unpacked * MEGABYTE
    with zipfile.ZipFile(path) as zip_file:
        for n, member in enumerate(zip_file.infolist()):
            _check_member(member.filename, n, archive)
            if member.is_dir():
                continue
            kind = stat.S_IFMT(member.external_attr >> 16)
            encrypted = member.flag_bits & 1
            if kind not in (0, stat.S_IFREG) or encrypted:
                raise WrongArchiveError(f"its member {member.filename!r} is not a regular file")
            match = re.fullmatch(archive.pattern, member.filename)
            if match:
                with zip_file.open(member) as content:
                    data = _read_all(content, member.filename, archive)
                bytes_left -= len(data)
                if bytes_left < 0:
                    raise WrongArchiveError(f"it unpacks to more than {archive.max_unpacked:g} MB")
                yield match, data


class Readable(Protocol):
    """An object with a method ``read``."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes."""


class LimitedStream:
    """A stream that raises an error when it has returned more than a given number of megabytes."""

    def __init__(self, stream: Readable, megabytes: float, what: str) -> None:
        self.stream, self.megabytes, self.what = stream, megabytes, what
        self.bytes_left = megabytes * MEGABYTE

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        block = self.stream.read(size)
        self.bytes_left -= len(block)
        if self.bytes_left < 0:
            raise WrongArchiveError(f"{self.what} to more than {self.megabytes:g} MB")
        return block


def _read_all(content: Readable, name: str, archive: Archive) -> bytes:
    stream = LimitedStream(content, archive.max_member, f"its member {name!r} unpacks")
    return b"".join(iter(lambda: stream.read(BLOCK), b""))


def _check_member(name: str, n: int, archive: Archive) -> None:
    """Reject a name that points outside the archive, and too many members."""
    if n >= archive.members + MAX_OTHER_MEMBERS:
        raise WrongArchiveError(f"it has more than {archive.members + MAX_OTHER_MEMBERS:,} members")
    # A colon follows a drive letter on Windows; no member of our archives has one.
    if name.startswith("/") or ".." in name.split("/") or "\\" in name or ":" in name:
        raise WrongArchiveError(f"its member {name!r} points outside the archive")


TIMEOUT = 30.0  # seconds without a byte
DAY = 86_400.0  # seconds
# pooch's default is 1 kB, flushed each time: 84 MB from the same machine take 1.0 s, with this size 0.2 s.
CHUNK = 1 << 16


def find_file(table: StoredTable, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the file of the table, or None if there is none."""
    home = user_folder(data_home)
    if home is not None and (home / table.file).is_file():
        return home / table.file
    try:
        path = download_folder() / table.file
    except ImportError:  # without pooch there is no cache
        return None
    return path if path.is_file() else None


def find_or_download(
    table: StoredTable, data_home: str | os.PathLike[str] | None = None, *, download: bool, shown: bool
) -> Path:
    """Return the file of the table; download it if there is none."""
    found = find_file(table, data_home)
    if found is not None:
        return found
    by_hand = f"put {table.file} into a folder and set $DROPGLM_DATA to that folder"
    if table.archive is None:
        *others, last = table.columns
        raise DatasetError(
            f"{table.file} was not found, and cannot be downloaded because no checksum of the original is "
            f"published; make a Parquet file of {table.rows:,} rows with the columns {', '.join(others)} and "
            f"{last} from {table.origin}, then {by_hand}."
        )
    if not download:
        raise DatasetError(f"{table.file} was not found; allow the download, or {by_hand}.")
    _import("polars")  # if it is missing, fail before the download
    cache = download_folder()
    with _os_errors_as_dataset_errors(table, cache):
        cache.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(cache, table)
        # If the process is killed, the folder or an unfinished file stays, but nothing reads it, and a later
        # fetch removes it.
        with TemporaryDirectory(prefix=f".{table.file}-", dir=cache) as scratch:
            rows = _parse(_download(table.archive, Path(scratch), shown), table.archive, table.rows, shown)
        write_parquet(rows, table, cache / table.file)
    return cache / table.file


def user_folder(data_home: str | os.PathLike[str] | None) -> Path | None:
    """Return the user's folder of Parquet files, or None if none is set."""
    folder = data_home if data_home is not None else os.environ.get("DROPGLM_DATA") or None
    if folder is None:
        return None
    if not Path(folder).is_dir():
        name = "data_home" if data_home is not None else "$DROPGLM_DATA"
        raise DatasetError(f"{name} is {str(folder)!r}, which is not a folder.")
    return Path(folder)


def download_folder() -> Path:
    """Return the folder for downloads."""
    return Path(os.environ.get("DROPGLM_CACHE") or _import("pooch").os_cache("dropglm"))


def read_parquet(path: Path, table: StoredTable) -> Any:
    """Read the rows as a polars frame; a file with other columns or rows is an error."""
    pl = _import("polars")
    try:
        frame = pl.read_parquet(path)
        missing = [name for name in table.columns if name not in frame.columns]
        if not missing:
            frame = frame.select(list(table.columns)).cast(_schema(table))
    except MemoryError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise _file_error(path, f"cannot be read ({reason})") from None
    if missing:
        raise _file_error(path, f"has no column {missing[0]!r}")
    if len(frame) != table.rows:
        raise _file_error(path, f"has {len(frame):,} rows instead of {table.rows:,}")
    incomplete = [name for name in table.columns if frame[name].null_count()]
    if incomplete:
        raise _file_error(path, f"has missing values in column {incomplete[0]!r}")
    return frame


def write_parquet(rows: Sequence[Row], table: StoredTable, path: Path) -> None:
    """Write the rows to a file, which is complete or does not exist."""
    frame = _import("polars").DataFrame(rows, schema=_schema(table), orient="row")
    with replacing(path) as stream:
        frame.write_parquet(stream, compression="zstd")


def _schema(table: StoredTable) -> dict[str, Any]:
    pl = _import("polars")
    lists = {"List(Int32)": pl.List(pl.Int32)}
    return {name: lists.get(dtype) or getattr(pl, dtype) for name, dtype in table.columns.items()}


def _file_error(path: Path, problem: str) -> DatasetError:
    return DatasetError(f"{path} {problem}; delete it and fetch it again.")


def _import(module: str) -> Any:
    return import_extra(module, "data", "This data set needs")


def _remove_leftovers(cache: Path, table: StoredTable) -> None:
    """Remove what killed processes left; if it is younger than a day, it may belong to a running process."""
    for leftover in (*cache.glob(f".{table.file}-*"), *cache.glob(f".{table.file}.*.part")):
        with suppress(FileNotFoundError):  # another process removed it
            if time.time() - leftover.stat().st_mtime > DAY:
                shutil.rmtree(leftover, ignore_errors=True)
                leftover.unlink(missing_ok=True)


def _download(archive: Archive, folder: Path, shown: bool) -> Path:
    """Download the archive into the folder and verify its checksum."""
    pooch, requests = _import("pooch"), _import("requests")
    log = pooch.get_logger()
    level = log.level
    log.setLevel("WARNING")  # the progress bar shows the rest
    responses: list[Any] = []
    try:
        steps = max(1, round(archive.megabytes))
        with Progress("MB downloaded", steps, shown=shown) as progress:
            downloader = pooch.HTTPDownloader(
                progressbar=DownloadProgress(progress, steps, archive),
                chunk_size=CHUNK,
                timeout=TIMEOUT,
                hooks={"response": lambda response, **_: responses.append(response)},
            )
            path = pooch.retrieve(archive.address, archive.checksum, "archive", folder, downloader=downloader)
            return Path(path)
    except requests.RequestException as error:
        response = getattr(error, "response", None)
        reason = "no connection" if response is None else f"the server answers {response.status_code}"
        raise DatasetError(
            f"{archive.address} could not be downloaded ({reason}); try again later, or set $DROPGLM_DATA to "
            "a folder with the Parquet file."
        ) from None
    except ValueError:  # pooch raises it for a wrong checksum
        kind = archive.checksum.partition(":")[0]
        raise DatasetError(
            f"The download from {archive.address} is not the expected archive (its {kind} checksum differs) "
            "and was deleted; try again later."
        ) from None
    finally:
        log.setLevel(level)
        for response in responses:  # pooch leaves it open if the download fails
            response.close()


class DownloadProgress:
    """A progress bar for pooch with one step per megabyte; it stops downloads that are far too large."""

    def __init__(self, progress: Progress, steps: int, archive: Archive) -> None:
        self.progress, self.steps, self.archive = progress, steps, archive
        self.total = self.n_bytes = 0

    def update(self, n: int) -> None:
        """Count about n more bytes; pooch counts whole chunks."""
        self.n_bytes += n
        # Twice the size, and the last chunks: a server that never stops sending would fill the disk.
        if self.n_bytes > 2 * self.archive.megabytes * MEGABYTE + 2 * CHUNK:
            raise DatasetError(
                f"{self.archive.address} sends more data than expected; the download was stopped."
            )
        while self.progress.done < min(self.steps, self.n_bytes // MEGABYTE):
            self.progress.advance()

    def reset(self) -> None:
        """Reset the count; pooch calls this at the end and then counts all bytes again."""
        self.n_bytes = 0

    def close(self) -> None:
        """Complete the bar, whose last step is a part of a megabyte."""
        while self.progress.done < self.steps:
            self.progress.advance()


def _parse(path: Path, archive: Archive, n_rows: int, shown: bool) -> list[Row]:
    """Return the rows from the archive, and check their number."""
    rows: list[Row] = []
    with Progress("members read", archive.members, shown=shown) as progress:
        for match, content in read_members(path, archive):
            try:
                rows += archive.rows(match, content)
            except ValueError:
                raise DatasetError(f"The archive from {archive.address} has members without text.") from None
            progress.advance()
    if len(rows) != n_rows:
        raise DatasetError(
            f"The archive from {archive.address} has {len(rows):,} rows instead of {n_rows:,}."
        )
    return sorted(rows, key=archive.order)


@contextmanager
def _os_errors_as_dataset_errors(table: StoredTable, cache: Path) -> Iterator[None]:
    try:
        yield
    except DatasetError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            problem = f"There is no space for {table.file} in {cache}"
        else:
            problem = f"{table.file} cannot be written to {cache} ({error.strerror or error})"
        raise DatasetError(f"{problem}; set $DROPGLM_CACHE to another folder.") from None
