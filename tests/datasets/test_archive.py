"""Malicious archives are rejected in one sentence, and nothing is written to disk."""

import gzip
import io
import os
import re
import stat
import struct
import tarfile
import zipfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dropglm.datasets import DATASETS, DatasetError
from dropglm.datasets.files import MAX_OTHER_MEMBERS, read_members
from tests.datasets.archives import small, tarred, with_header, zipped
from tests.datasets.test_corpora import RT

POS, NEG = sorted(RT, reverse=True)


@pytest.fixture
def read(tmp_path):
    """Return a function that reads an archive in the layout of rt."""

    def read(content, **limits):
        path = tmp_path / "archive"
        path.write_bytes(content)
        archive = small("rt", "http://here", content, 4, 2, **limits).table.archive
        try:
            return {match[0]: data for match, data in read_members(path, archive)}
        finally:
            assert os.listdir(tmp_path) == ["archive"]

    return read


def rejected(error):
    return check_message(str(error.value))


def check_message(message):
    assert re.fullmatch(r"The archive from http://here (was rejected|is damaged): [^\n]+\.", message), message
    return message


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_only_matching_members_are_read(read, pack):
    assert read(pack(RT | {"sentence_polarity/rt-polarity.posx": b"", "else/where": b""})) == RT


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "C:/evil", "..\\evil"])
def test_a_name_outside_the_archive_is_rejected_even_if_not_read(read, pack, name):
    with pytest.raises(DatasetError) as error:
        read(pack(RT | {name: b"evil"}))
    assert "points outside the archive" in rejected(error)


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_a_tar_member_that_is_not_a_regular_file_is_rejected(read, kind):
    def change(member):
        member.type, member.linkname, member.size = kind, "/etc/passwd", 0

    with pytest.raises(DatasetError) as error:
        read(with_header(change))
    assert "is not a regular file" in rejected(error)


def test_a_sparse_member_is_rejected(read):
    def change(member):
        member.pax_headers = {"GNU.sparse.map": "0,1", "GNU.sparse.size": "100000000000"}

    with pytest.raises(DatasetError) as error:
        read(with_header(change, format=tarfile.PAX_FORMAT))
    rejected(error)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR])
def test_a_zip_member_that_is_not_a_regular_file_is_rejected(read, kind):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo(POS)
        link.external_attr = (kind | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DatasetError) as error:
        read(out.getvalue())
    assert "is not a regular file" in rejected(error)


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_bomb_is_rejected_by_its_unpacked_size(read, pack):
    bomb = pack(RT | {POS: bytes(3_000_000)})
    assert len(bomb) < 50_000
    with pytest.raises(DatasetError) as error:
        read(bomb, max_unpacked=100)
    assert "rt-polarity.pos' unpacks to more than 2 MB" in rejected(error)
    with pytest.raises(DatasetError) as error:
        read(bomb, max_unpacked=1, max_member=100)
    assert "it unpacks to more than 1 MB" in rejected(error)


def test_a_bomb_in_a_member_that_is_not_read_is_also_rejected(read):
    with pytest.raises(DatasetError) as error:
        read(tarred({"sentence_polarity/other": bytes(4_000_000)} | RT))
    assert "it unpacks to more than 3 MB" in rejected(error)


def test_a_zip_that_declares_a_wrong_size_is_rejected(read):
    """Its directory declares one byte, but it unpacks to three million."""
    bomb = bytearray(zipped({POS: bytes(3_000_000), NEG: b"x"}))
    at = 0
    while (at := bomb.find(b"PK\x01\x02", at)) >= 0:
        if bomb[at + 46 :].startswith(POS.encode()):
            struct.pack_into("<L", bomb, at + 24, 1)
        at += 4
    with pytest.raises(DatasetError) as error:
        read(bytes(bomb))
    rejected(error)


def test_a_tar_that_declares_a_wrong_size_is_rejected(read):
    """Its header declares a terabyte, but there is no data."""
    member = tarfile.TarInfo(POS)
    member.size = 1 << 40
    with pytest.raises(DatasetError) as error:
        read(gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + bytes(1024)))
    rejected(error)


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_too_many_members_are_rejected(read, pack):
    with pytest.raises(DatasetError) as error:
        read(pack(RT | {f"sentence_polarity/{k}": b"" for k in range(MAX_OTHER_MEMBERS + 10)}))
    assert "more than 1,002 members" in rejected(error)


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_missing_members_are_counted(read, pack):
    with pytest.raises(DatasetError) as error:
        read(pack({POS: RT[POS]}))
    assert "it has 1 of 2 members with rows" in rejected(error)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_duplicate_member_is_rejected(read):
    out = io.BytesIO(zipped(RT))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr(POS, b"another")
    with pytest.raises(DatasetError) as error:
        read(out.getvalue())
    assert "more than 2 members" in rejected(error)


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.9])
def test_a_truncated_archive_is_damaged(read, pack, keep):
    content = pack(RT)
    with pytest.raises(DatasetError) as error:
        read(content[: int(keep * len(content))])
    rejected(error)


@pytest.mark.parametrize("pack", [zipped, tarred])
@example(changes={27513: 2})  # an error of the zip reader without a message
@given(changes=st.dictionaries(st.integers(0, 10**6), st.integers(0, 255), min_size=1, max_size=30))
def test_changed_bytes_in_an_archive_are_reported_or_harmless(tmp_path_factory, pack, changes):
    """The checksums of a zip cover names and contents, those of a tar only names."""
    content = bytearray(pack(RT))
    for at, value in changes.items():
        content[at % len(content)] = value
    path = tmp_path_factory.mktemp("changed") / "archive"
    path.write_bytes(content)
    archive = small("rt", "http://here", b"", 4, 2).table.archive
    try:
        found = {match[0]: data for match, data in read_members(path, archive)}
    except DatasetError as error:
        check_message(str(error))
    else:
        assert found.keys() == RT.keys()
        assert found == RT or pack is tarred


def test_headers_that_announce_headers_are_rejected(read):
    """Ten thousand long names, each announced by another."""
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 5
    block = header.tobuf(tarfile.GNU_FORMAT) + b"long\0".ljust(512, b"\0")
    with pytest.raises(DatasetError) as error:
        read(gzip.compress(block * 10_000), max_unpacked=100)
    rejected(error)


@pytest.mark.parametrize("name", [name for name, entry in DATASETS.items() if entry.table])
def test_every_archive_has_a_checksum_of_the_right_length(name):
    archive = DATASETS[name].table.archive
    if archive is not None:
        kind, _, digest = archive.checksum.partition(":")
        assert len(digest) == {"md5": 32, "sha256": 64}[kind]
        assert archive.address.startswith("https://")
