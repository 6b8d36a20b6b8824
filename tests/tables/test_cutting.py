"""Rows cut in compiled code are those that the parser with the csv module reads, whatever the bytes."""

import io
import sys
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dropglm import tables
from tests.tables.rows import SlowFile, gathered, read_frame, read_frames

SEPARATED = sys.modules["dropglm.tables.separated"]

# Pieces of files, from which every kind of good and bad row can be put together.
PIECES = [
    b"text", b"x", b"y", b" ", b",", b",", b",x\n", b",y\r\n", b'"', b'"', b'""', b"\n", b"\r\n", b"\r",
    b"\t", "é".encode(), "語".encode(), "😀".encode(), b"\xef\xbb\xbf", b"\xff", b"\xe9", b"\xc0\x80",
    b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f", b"\0", b"a" * 61,
    b'"a, ""b""\n c",x\n', b"a,x\n",
    "é".encode() * 40,
]  # fmt: skip
FILES = st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join)
HEADERS = st.sampled_from([b"text,label\n", b"label,id,text\r\n", b'\xef\xbb\xbf"text","label"\n', b""])


@pytest.fixture(autouse=True, scope="module")
def cut_from_the_first_row():
    """Cut the rows also of small files."""
    with patch.object(SEPARATED, "SMALL", -1):
        yield


def by_both(read):
    """Return what is read with compiled loops and without them: the rows, or the message of the error."""

    def outcome():
        try:
            return read()
        except tables.TableError as error:
            return str(error)

    with patch.object(SEPARATED, "can_cut", lambda lines, delimiter: False):
        carefully = outcome()
    return outcome(), carefully


@given(HEADERS, FILES, st.sampled_from([1, 3, 7, 1 << 20]), st.booleans(), st.sampled_from([16, 500]))
@example(b"text,label\n", b"a" * 40, 1 << 20, False, 16)
@example(b"text,label\n", b"a,x\r", 1 << 20, True, 500)
@example(b"text,label\n", b"a,x\r\r\nb,y", 1 << 20, True, 500)
@example(b"text,label\n", b'a,x\n"b', 1 << 20, True, 500)
@example(b"text,label\n", b"a,\n,x\n", 1 << 20, True, 500)
def test_streams_agree(header, rows, step, lenient, max_row_length):
    """Rows, their numbers and lines, and the messages about bad rows are the same."""

    def read():
        file = SlowFile(header + rows, step)
        return gathered(file, max_row_length=max_row_length, skip_bad=lenient)

    cut, carefully = by_both(read)
    assert cut == carefully


@given(HEADERS, FILES, st.sampled_from([1, 5, 1 << 20]), st.integers(0, 6), st.integers(1, 20))
def test_streams_agree_after_any_row(header, rows, step, start, characters):
    def read():
        return gathered(SlowFile(header + rows, step), start=start, characters=characters)

    cut, carefully = by_both(read)
    assert cut == carefully


@given(HEADERS, FILES, st.sampled_from([",", "\t", "é"]), st.sampled_from([1, 1 << 20]))
def test_frames_agree(header, rows, delimiter, step):
    data = (header + rows).replace(b",", delimiter.encode())

    def read():
        file = SlowFile(data, step)
        return read_frame(file, "text", "label", format="csv", delimiter=delimiter).rows()

    cut, carefully = by_both(read)
    assert cut == carefully


@pytest.mark.parametrize("small", [-1, 1 << 20])
@pytest.mark.parametrize("size", [7, 1000, 10_000])
def test_rows_agree_across_reads(size, small, rng, monkeypatch):
    """A file of several megabytes, whose rows are cut at arbitrary places by the reads."""
    monkeypatch.setattr(SEPARATED, "SMALL", small)
    words = ["plain", 'a "quoted" word', "two\nlines", "a, comma", "naïve", "", "語" * 30]
    texts = [" ".join(rng.choice(words, size=rng.integers(1, 60))) for _ in range(12_000)]
    quoted = ('"' + text.replace('"', '""') + '"' for text in texts)
    data = ("label,text\n" + "".join(f"{k % 3},{text}\n" for k, text in enumerate(quoted))).encode()
    assert len(data) > 4 << 20
    with patch.object(SEPARATED, "_well_formed", side_effect=SEPARATED._well_formed) as cuts:
        frames = list(read_frames(io.BytesIO(data), "text", "label", format="csv", size=size))
    assert cuts.call_count > 3
    assert [text for frame in frames for text in frame["text"]] == texts
    assert max(frame.height for frame in frames) <= size


@given(st.binary(max_size=80), st.integers(0, 70))
def test_malformed_utf8_is_found_where_python_finds_it(data, spaces):
    data = b" " * spaces + data
    good, malformed = SEPARATED._well_formed(data, final=False)
    try:
        data.decode()
        expected, short = len(data), False
    except UnicodeDecodeError as error:
        expected, short = error.start, error.reason == "unexpected end of data"
    nul = data.find(b"\0")
    if 0 <= nul < expected:
        expected, short = nul, False
    assert (good, malformed) == (data[:expected], expected < len(data) and not short)
