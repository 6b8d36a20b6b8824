import errno
import json
import os
import signal
import stat
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropglm.labelling import journal as journal_module
from dropglm.labelling.journal import (
    HEADER,
    SOURCES,
    ClassAdded,
    ClassRemoved,
    ClassRenamed,
    Confirmed,
    Journal,
    JournalError,
    Labeled,
    LabeledTogether,
    Skipped,
    TextReference,
    Undone,
    from_record,
    to_record,
)

posix = pytest.mark.skipif(os.name != "posix", reason="folders cannot be synchronised")
names = st.text(max_size=8)
references = st.lists(
    st.builds(TextReference, st.integers(0, 10**9), st.text("0123456789abcdef", max_size=12)),
    min_size=1,
    max_size=3,
).map(tuple)
times = st.floats(0, 2e9)
entries = st.one_of(
    st.builds(Labeled, references, names, st.sampled_from(SOURCES), st.none() | names, times),
    st.builds(Skipped, references, times),
    st.builds(Confirmed, references, times),
    st.builds(
        lambda texts, name, time: LabeledTogether(texts, (name,) * len(texts), time),
        references,
        names,
        times,
    ),
    st.builds(Undone, times),
    st.builds(ClassAdded, names, st.booleans()),
    st.builds(ClassRemoved, names),
    st.builds(ClassRenamed, names, names),
)


def bytes_of(path, appended):
    path.unlink(missing_ok=True)
    with Journal(path) as journal:
        for entry in appended:
            journal.append(entry)
    return path.read_bytes()


def entries_of(path):
    with Journal(path) as journal:
        return journal.entries


@given(entries)
def test_a_record_is_its_entry(entry):
    assert from_record(json.loads(json.dumps(to_record(entry)))) == entry


@settings(max_examples=40, deadline=None)
@given(st.lists(entries, max_size=5), st.data())
def test_any_prefix_of_the_bytes_is_a_prefix_of_the_entries(tmp_path_factory, appended, data):
    """Wherever a crash cuts the file, it opens, holds a prefix, and can be extended."""
    path = tmp_path_factory.mktemp("journal") / "a.labels.jsonl"
    whole = bytes_of(path, appended)
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    with Journal(path) as journal:
        found = list(journal.entries)
        assert journal.dropped == cut - len(whole[:cut].rpartition(b"\n")[0]) - (b"\n" in whole[:cut])
        journal.append(Undone(1.0))
    assert found == appended[: len(found)]
    assert len(found) == max(whole[:cut].count(b"\n") - 1, 0)
    assert entries_of(path) == [*found, Undone(1.0)]


@settings(max_examples=20, deadline=None)
@given(st.lists(entries, min_size=2, max_size=5), st.data())
def test_a_damaged_line_is_refused_by_its_number(tmp_path_factory, appended, data):
    path = tmp_path_factory.mktemp("journal") / "a.labels.jsonl"
    lines = bytes_of(path, appended).splitlines(keepends=True)
    row = data.draw(st.integers(1, len(lines) - 2))
    lines[row] = lines[row][: len(lines[row]) // 2] + b"\n"
    damaged = b"".join(lines)
    path.write_bytes(damaged)
    with pytest.raises(JournalError, match=f"line {row + 1} is damaged"):
        Journal(path)
    assert path.read_bytes() == damaged


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b'{"entry":"nothing"}',
        b'{"entry":"class"}',
        b'{"entry":"class","name":1}',
        b'{"entry":"class","name":"a","old":"b"}',
        b'{"entry":"skip","texts":[]}',
        b'{"entry":"labels","texts":[[1,"a"]],"labels":["b","c"]}',
        b'{"entry":"skip","texts":[[-1,"a"]]}',
        b'{"entry":"label","texts":[[1,"a"]],"label":"b","source":"elsewhere"}',
        b"\xff\xfe",
    ],
)
def test_a_line_that_is_not_an_entry_is_refused(tmp_path, line):
    path = tmp_path / "a.labels.jsonl"
    path.write_bytes(HEADER + line + b"\n")
    with pytest.raises(JournalError, match="line 2"):
        Journal(path)


def test_lines_of_a_journal_are_read(tmp_path):
    path = tmp_path / "a.labels.jsonl"
    path.write_bytes(
        HEADER + b'{"entry":"class","name":"a"}\n'
        b'{"entry":"label","texts":[[1,"f"],[2,"e"]],"label":"a","source":"bulk","guess":null,"time":1.5}\n'
        b'{"entry":"undone","time":2.0}\n'
    )
    both = (TextReference(1, "f"), TextReference(2, "e"))
    assert entries_of(path) == [ClassAdded("a"), Labeled(both, "a", "bulk", None, 1.5), Undone(2.0)]


@settings(max_examples=30, deadline=None)
@given(st.lists(entries, max_size=4), st.booleans())
def test_line_ends_of_windows_and_a_byte_order_mark_are_accepted(tmp_path_factory, appended, has_mark):
    path = tmp_path_factory.mktemp("journal") / "a.labels.jsonl"
    whole = bytes_of(path, appended).replace(b"\n", b"\r\n")
    path.write_bytes(b"\xef\xbb\xbf" * has_mark + whole)
    with Journal(path) as journal:
        assert (journal.entries, journal.dropped) == (appended, 0)
        journal.append(Undone(1.0))
    assert entries_of(path) == [*appended, Undone(1.0)]


def test_zeros_at_the_end_are_an_incomplete_line(tmp_path):
    """After a loss of power, pages that were not written read as zeros."""
    path = tmp_path / "a.labels.jsonl"
    whole = bytes_of(path, [ClassAdded("a")])
    for zeros in (b"\0" * 40, b'{"entry":\0\0\0\0}\n'):
        path.write_bytes(whole + zeros)
        assert entries_of(path) == [ClassAdded("a")]
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "content",
    [b"text,label\na,b\n", b"hello", b"\n", b'{"dropglm": "labels", "version": 2}\n', b"PK\0\0\n", bytes(99)],
)
def test_another_file_is_refused_and_not_touched(tmp_path, content):
    path = tmp_path / "reviews.csv"
    path.write_bytes(content)
    with pytest.raises(JournalError, match=r"not a journal of labels|another version"):
        Journal(path)
    assert path.read_bytes() == content


def test_a_folder_and_a_missing_folder_are_refused(tmp_path):
    with pytest.raises(JournalError, match="this is a folder"):
        Journal(tmp_path)
    with pytest.raises(JournalError, match="does not exist"):
        Journal(tmp_path / "none" / "a.labels.jsonl")


def test_a_second_journal_on_the_file_is_refused(tmp_path):
    path = tmp_path / "a.labels.jsonl"
    with Journal(path) as journal:
        with pytest.raises(JournalError, match="another process is using this file"):
            Journal(path)
        journal.append(ClassAdded("a"))
    assert entries_of(path) == [ClassAdded("a")]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of the size of files")
def test_a_full_disk_stores_nothing_of_the_answer(tmp_path):
    """The limit cuts the line in the middle, as a full disk does; then there is room again."""
    import resource

    path = tmp_path / "a.labels.jsonl"
    with Journal(path) as journal:
        journal.append(ClassAdded("a"))
        size = path.stat().st_size
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, limits[1]))
        try:
            with pytest.raises(JournalError, match="was not stored"):
                journal.append(ClassAdded("b"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert path.stat().st_size == size
        assert journal.entries == [ClassAdded("a")]
        journal.append(ClassAdded("c"))
    assert entries_of(path) == [ClassAdded("a"), ClassAdded("c")]


@pytest.mark.parametrize("broken", [("fsync",), ("fsync", "ftruncate")])
def test_what_could_not_be_synchronised_is_removed(tmp_path, monkeypatch, broken):
    """If even removing fails, it is done before the next write."""
    path = tmp_path / "a.labels.jsonl"

    def fail(*_):
        raise OSError(5, "Input/output error")

    with Journal(path) as journal:
        with monkeypatch.context() as patch:
            for name in broken:
                patch.setattr(journal_module.os, name, fail)
            with pytest.raises(JournalError, match="Input/output error; the answer was not stored"):
                journal.append(ClassAdded("lost"))
        assert journal.entries == []
        journal.append(ClassAdded("b"))
    assert entries_of(path) == [ClassAdded("b")]


def test_a_file_that_is_removed_replaced_or_edited_is_noticed(tmp_path):
    """Otherwise answers would be acknowledged that nobody can find again."""
    path = tmp_path / "a.labels.jsonl"
    with Journal(path) as journal:
        path.write_bytes(path.read_bytes() + b"more")
        with pytest.raises(JournalError, match="another program changed the file"):
            journal.append(Undone())
        os.replace(path, tmp_path / "b.labels.jsonl")
        with pytest.raises(JournalError, match="does not exist"):
            journal.append(Undone())
        path.write_bytes(HEADER)
        with pytest.raises(JournalError, match="was replaced"):
            journal.append(Undone())
    with pytest.raises(JournalError, match="is closed"):
        journal.append(Undone())


WRITER = """
import sys
from dropglm.labelling.journal import ClassAdded
from dropglm.labelling.journal import Journal

with Journal(sys.argv[1]) as journal:
    for number in range(100_000):
        journal.append(ClassAdded(str(number)))
        print(number, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_process_loses_no_acknowledged_answer(tmp_path):
    path = tmp_path / "a.labels.jsonl"
    for kill_after in (1, 37, 150):
        path.unlink(missing_ok=True)
        writer = subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE)
        for _ in range(kill_after):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        acknowledged = kill_after + len(writer.stdout.read().splitlines())
        writer.wait()
        writer.stdout.close()
        found = [entry.name for entry in entries_of(path)]
        assert found == list(map(str, range(len(found))))
        assert len(found) >= acknowledged


@pytest.fixture
def synchronised(monkeypatch):
    """What is synchronised: "folder", or the bytes of a file at that moment."""
    seen, fsync = [], os.fsync

    def record(file):
        is_folder = stat.S_ISDIR(os.fstat(file).st_mode)
        seen.append("folder" if is_folder else os.pread(file, 10_000, 0))
        fsync(file)

    monkeypatch.setattr(journal_module.os, "fsync", record)
    return seen


@posix
def test_the_name_of_a_new_journal_is_safe_before_its_first_line(tmp_path, synchronised):
    """Also if another process has created the file and was killed."""
    (tmp_path / "b.labels.jsonl").touch()
    for name in ("a.labels.jsonl", "b.labels.jsonl"):
        synchronised.clear()
        Journal(tmp_path / name).close()
        assert synchronised == ["folder", b"", HEADER]


@posix
def test_what_a_killed_process_has_written_is_safe_before_it_is_shown(tmp_path, synchronised):
    path = tmp_path / "a.labels.jsonl"
    content = bytes_of(path, [ClassAdded("a")])
    synchronised.clear()
    assert entries_of(path) == [ClassAdded("a")]
    assert synchronised == [content]


@posix
def test_a_folder_that_cannot_be_synchronised_is_an_error(tmp_path, monkeypatch):
    """Otherwise all answers could be gone after a power cut, with the name of their file."""
    path = tmp_path / "a.labels.jsonl"

    def fail(file):
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(journal_module.os, "fsync", fail)
        with pytest.raises(JournalError, match="Input/output error"):
            Journal(path)
    assert entries_of(path) == []


@posix
def test_several_entries_are_stored_as_a_whole_or_not_at_all(tmp_path, synchronised):
    """A power cut may keep any part of what is not safe yet; zeros stand for the others."""
    path, other = tmp_path / "a.labels.jsonl", tmp_path / "b.labels.jsonl"
    before = bytes_of(path, [ClassAdded("a")])
    several = [ClassAdded("b"), ClassAdded("c"), ClassAdded("d")]
    with Journal(path) as journal:
        synchronised.clear()
        journal.append(*several)
    marked, written, stored = synchronised
    assert len(marked) == len(before) + 1
    assert stored == path.read_bytes()
    for start in range(len(marked), len(written)):
        for stop in (start, start + 20, len(written)):
            other.write_bytes(written[:start] + bytes(min(stop, len(written)) - start) + written[stop:])
            assert entries_of(other) == [ClassAdded("a")]
            assert other.read_bytes() == before
    assert entries_of(path) == [ClassAdded("a"), *several]


@pytest.mark.parametrize("start", [1, 20, len(HEADER)])
def test_a_first_line_with_zeros_is_an_empty_journal(tmp_path, start):
    path = tmp_path / "a.labels.jsonl"
    path.write_bytes(bytes(start) + HEADER[start:])
    assert entries_of(path) == []
    assert path.read_bytes() == HEADER


def test_a_journal_is_closed_once_even_if_that_is_an_error(tmp_path, monkeypatch):
    """A second call would close another file, which has got the number of this one."""
    journal, closed, close = Journal(tmp_path / "a.labels.jsonl"), [], os.close

    def fail(file):
        closed.append(file)
        close(file)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(journal_module.os, "close", fail)
    with pytest.raises(OSError, match="Input/output error"):
        journal.close()
    journal.close()
    assert len(closed) == 1
