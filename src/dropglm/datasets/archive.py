"""Members of a zip or a compressed tar, read in memory and never trusted.

Nothing is written to disk. A link, a device, an absolute name or one with '..' makes the archive a wrong one,
also where that member would not be read. Sizes are those of the bytes that come out, not those that a header
declares.
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

from dropglm.datasets.entry import Archive, Member
from dropglm.datasets.errors import DatasetError

MEGABYTE = 1_000_000
# Members that hold no rows: folders, notes, lists. The largest number among our archives is about 50.
OTHERS = 1000
BLOCK = 1 << 16
DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # a compression that zipfile does not know
    RecursionError,  # headers that announce headers
    UnicodeError,
    OSError,  # not gzip, or an offset before the start
)


class WrongArchiveError(Exception):
    """An archive that is not what it should be; the reason in a few words."""


def members(path: Path, archive: Archive) -> Iterator[Member]:
    """The members that hold rows, each with the match of its name; one sentence if anything is not right."""
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == b"PK"
        n = 0
        for n, member in enumerate((zip_members if zipped else tar_members)(path, archive), start=1):
            if n > archive.members:
                raise WrongArchiveError(f"it has more than {archive.members:,} members with rows")
            yield member
        if n < archive.members:
            raise WrongArchiveError(f"it has {n:,} of {archive.members:,} members with rows")
    except WrongArchiveError as error:
        raise DatasetError(f"The archive from {archive.address} was refused: {error}.") from None
    except DAMAGE as error:
        reason = str(error).rstrip(".")
        raise DatasetError(f"The archive from {archive.address} is damaged: {reason}.") from None


def tar_members(path: Path, archive: Archive) -> Iterator[Member]:
    """The members with rows of a tar that gzip compressed."""
    with gzip.open(path) as plain:
        stream: Any = Bounded(plain, archive.unpacked, "it unpacks")
        # r| reads on and on: nothing seeks, and every byte is counted.
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for n, member in enumerate(tar):
                check(member.name, n, archive)
                if member.isdir():
                    continue
                if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
                    raise WrongArchiveError(f"{member.name!r} in it is not a plain file")
                match = re.fullmatch(archive.pattern, member.name)
                content = tar.extractfile(member)
                if match and content:
                    yield match, whole(content, member.name, archive)


def zip_members(path: Path, archive: Archive) -> Iterator[Member]:
    """The members with rows of a zip."""
    left = archive.unpacked * MEGABYTE
    with zipfile.ZipFile(path) as zipped:
        for n, member in enumerate(zipped.infolist()):
            check(member.filename, n, archive)
            if member.is_dir():
                continue
            kind = stat.S_IFMT(member.external_attr >> 16)
            encrypted = member.flag_bits & 1
            if kind not in (0, stat.S_IFREG) or encrypted:
                raise WrongArchiveError(f"{member.filename!r} in it is not a plain file")
            match = re.fullmatch(archive.pattern, member.filename)
            if match:
                with zipped.open(member) as content:
                    data = whole(content, member.filename, archive)
                left -= len(data)
                if left < 0:
                    raise WrongArchiveError(f"it unpacks to more than {archive.unpacked:g} MB")
                yield match, data


class Readable(Protocol):
    """Anything that gives bytes."""

    def read(self, size: int, /) -> bytes:
        """At most that many bytes."""


class Bounded:
    """A stream that complains when more comes out of it than can be right."""

    def __init__(self, stream: Readable, megabytes: float, what: str) -> None:
        self.stream, self.megabytes, self.what = stream, megabytes, what
        self.left = megabytes * MEGABYTE

    def read(self, size: int) -> bytes:
        """The next bytes."""
        block = self.stream.read(size)
        self.left -= len(block)
        if self.left < 0:
            raise WrongArchiveError(f"{self.what} to more than {self.megabytes:g} MB")
        return block


def whole(content: Readable, name: str, archive: Archive) -> bytes:
    """All bytes of a member."""
    stream = Bounded(content, archive.largest, f"{name!r} in it unpacks")
    return b"".join(iter(lambda: stream.read(BLOCK), b""))


def check(name: str, n: int, archive: Archive) -> None:
    """Refuse a member whose name leads elsewhere, and one too many."""
    if n >= archive.members + OTHERS:
        raise WrongArchiveError(f"it has more than {archive.members + OTHERS:,} members")
    # A colon is a drive on Windows; no member of ours has one.
    if name.startswith("/") or ".." in name.split("/") or "\\" in name or ":" in name:
        raise WrongArchiveError(f"{name!r} in it leads out of the archive")
