"""Read members of a zip or a compressed tar in memory, without trusting the archive.

Nothing is written to disk. An archive that contains a link, a device, an absolute name or a name with '..' is
rejected, even if that member would not be read. Sizes are those of the unpacked bytes, not those in headers.
"""

import gzip
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from dropglm.datasets.dataset import Archive, DatasetError, Member

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


def read_members(path: Path, archive: Archive) -> Iterator[Member]:
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


def _tar_members(path: Path, archive: Archive) -> Iterator[Member]:
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


def _zip_members(path: Path, archive: Archive) -> Iterator[Member]:
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
