"""Pipes, standard input and output, and files that are written completely or not at all."""

import gzip
import io
import json
import os
import stat
import subprocess
import sys
import tracemalloc

import numpy as np
import polars as pl
import pytest

from dropglm import tables
from tests.tables.rows import read_frame, read_frames

FRAME = pl.DataFrame({"text": ["a", "b"], "label": ["x", "y"]})


@pytest.fixture
def pipe():
    read, write = os.pipe()
    with open(read, "rb") as reader, open(write, "wb", buffering=0) as writer:
        yield reader, writer


@pytest.mark.parametrize(
    ("format", "header", "row"),
    [("jsonl", "", '{{"text": "{}"}}\n'), ("csv", "id,text\n", '1,"{}"\n'), ("tsv", "text\n", "{}\n")],
)
def test_rows_from_a_pipe_are_yielded_while_it_is_open(pipe, format, header, row):
    reader, writer = pipe
    frames = read_frames(reader, "text", format=format)
    writer.write((header + row.format("a") + row.format("b")).encode())
    assert next(frames)["text"].to_list() == ["a", "b"]
    writer.write((row.format("c") + row.format("late")[:3]).encode())  # and the start of another row
    assert next(frames)["text"].to_list() == ["c"]
    writer.write(row.format("late")[3:].encode())
    assert next(frames)["text"].to_list() == ["late"]
    writer.close()
    assert list(frames) == []


def test_rows_are_counted_across_batches(pipe):
    reader, writer = pipe
    frames = read_frames(reader, "text", "label", format="csv")
    writer.write(b"text,label\na,x\nb,y\n")
    assert next(frames).height == 2
    writer.write(b"c,x\nd\n")
    assert next(frames)["text"].to_list() == ["c"]
    with pytest.raises(tables.TableError, match=r"row 4 \(line 5\) has 1 field"):
        next(frames)


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "csv.gz"])
def test_standard_input_and_output(format):
    """A process copies a table from standard input to standard output."""
    file = io.BytesIO()
    tables.write(FRAME, file, format=format)
    code = f"""
import polars
from dropglm import tables
read = tables.Table("-", "text", "label", format={format!r}).read()
tables.write(polars.DataFrame({{"text": read.texts, "label": read.labels}}), "-", format={format!r})
"""
    command = [sys.executable, "-W", "error", "-c", code]
    run = subprocess.run(command, input=file.getvalue(), capture_output=True, check=True)
    assert read_frame(io.BytesIO(run.stdout), "text", "label", format=format).equals(FRAME)


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "txt"])
def test_values_by_column_are_written_as_a_frame_is(format):
    odd = ['"a", \\b\n', "\t\x1f é ☃ 😀", "", None]
    values = {
        "text": odd,
        "n": [1, -2, None, 0],
        "x": [0.1, 1e300, None, -2.5],
        "b": [True, False, None, True],
    }
    files = io.BytesIO(), io.BytesIO()
    for file, frame in zip(files, (values, pl.DataFrame(values)), strict=True):
        tables.write(frame, file, format=format)
    assert files[0].getvalue() == files[1].getvalue()
    if format == "jsonl":
        assert [json.loads(line) for line in files[0].getvalue().splitlines()] == pl.DataFrame(
            values
        ).to_dicts()


def test_numbers_of_json_have_the_digits_of_their_type_and_are_finite():
    file = io.BytesIO()
    tables.write({"x": np.array([0.1, np.nan, np.inf], np.float32), "n": np.arange(3)}, file, format="jsonl")
    assert file.getvalue().split() == [b'{"x":0.1,"n":0}', b'{"x":null,"n":1}', b'{"x":null,"n":2}']


def test_a_column_without_values_has_strings(tmp_path):
    tables.write([{"a": [None]}, {"a": ["b"]}], tmp_path / "t.parquet")
    assert pl.read_parquet(tmp_path / "t.parquet").equals(pl.DataFrame({"a": [None, "b"]}))


def test_errors_name_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"text\n")))
    with pytest.raises(
        tables.TableError, match="standard input: cannot determine the format from the name; set format"
    ):
        read_frame("-", "text")
    with pytest.raises(tables.TableError, match="standard input: this table has a header but no rows"):
        read_frame("-", "text", format="csv")


def test_closed_standard_streams_are_reported(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(tables.TableError, match="standard input is closed"):
        read_frame("-", "text", format="csv")
    with pytest.raises(tables.TableError, match="standard output is closed"):
        tables.write(FRAME, "-")


def test_a_stream_may_accept_only_a_part_of_each_write():
    class Narrow(io.BytesIO):
        def write(self, data):
            return super().write(data[:3])

    file = Narrow()
    tables.write(FRAME, file, format="csv")
    assert file.getvalue() == b"text,label\na,x\nb,y\n"


def test_the_default_on_standard_output_is_json_lines(monkeypatch):
    file = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", file)
    tables.write(FRAME, "-")
    assert file.buffer.getvalue() == b'{"text":"a","label":"x"}\n{"text":"b","label":"y"}\n'


def test_each_frame_is_flushed_at_once(pipe):
    """Each frame is in the pipe before the next one is requested."""
    reader, writer = pipe

    def frames():
        yield FRAME
        assert reader.read1() == b"text,label\na,x\nb,y\n"
        yield FRAME
        assert reader.read1() == b"a,x\nb,y\n"

    tables.write(frames(), writer, format="csv")


def test_a_closed_reader_gives_a_broken_pipe(pipe):
    reader, writer = pipe
    reader.close()
    with pytest.raises(BrokenPipeError):
        tables.write(FRAME, writer, format="csv")


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    path.chmod(0o640)

    def frames():
        yield FRAME
        assert path.read_text() == "old"
        raise KeyError("in between")

    with pytest.raises(KeyError):
        tables.write(frames(), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.csv"]
    tables.write([FRAME, FRAME], path)
    assert path.read_text() == "text,label\na,x\nb,y\na,x\nb,y\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["t.csv"]


def test_a_table_may_replace_the_one_it_is_read_from(tmp_path):
    tables.write(FRAME, tmp_path / "t.csv")
    tables.write(read_frames(tmp_path / "t.csv", "label", size=1), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "label\nx\ny\n"


def test_links_and_devices_are_not_replaced(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "t.csv")
    tables.write(FRAME, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert read_frame(tmp_path / "t.csv", "text", "label").equals(FRAME)
    tables.write(FRAME, os.devnull, format="csv")
    assert not os.path.isfile(os.devnull)


def test_the_same_table_gives_the_same_compressed_bytes(tmp_path):
    first, second = tmp_path / "a.csv.gz", tmp_path / "b.csv.gz"
    tables.write(FRAME, first)
    tables.write(FRAME, second)
    assert first.read_bytes() == second.read_bytes()
    assert gzip.decompress(first.read_bytes()) == b"text,label\na,x\nb,y\n"


def test_a_table_that_cannot_be_written_is_reported_in_one_sentence(tmp_path):
    nested = pl.DataFrame({"a": [[1]]})
    for frame, path, sentence in (
        (FRAME, tmp_path / "none" / "t.csv", "the folder does not exist."),
        (FRAME, tmp_path, "cannot determine the format from the name"),
        (
            nested,
            tmp_path / "t.csv",
            "the table cannot be written as csv (CSV format does not support nested data).",
        ),
    ):
        with pytest.raises(tables.TableError) as caught:
            tables.write(frame, path)
        assert f"{path}: {sentence}" in str(caught.value)
    with pytest.raises(tables.TableError, match="this is a folder; name a file in it"):
        tables.write(FRAME, tmp_path, format="csv")
    for name in ("t.parquet", "t.csv"):
        with pytest.raises(tables.TableError, match="there are no frames to write"):
            tables.write([], tmp_path / name)
        with pytest.raises(tables.TableError, match="the frames have different columns"):
            tables.write([FRAME, FRAME.rename({"text": "other"})], tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_reported_in_one_sentence():
    with pytest.raises(
        tables.TableError, match=r"/dev/full: this file cannot be written \(No space left on device\)\."
    ):
        tables.write(FRAME, "/dev/full", format="csv")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "csv.gz"])
def test_memory_is_bounded_by_the_batch(tmp_path, suffix):
    frame = pl.DataFrame({"text": ["some words " * 20] * 1000})
    path = tmp_path / f"t.{suffix}"
    tables.write([frame] * 100, path)  # 22 MB
    tracemalloc.start()
    assert sum(frame.height for frame in read_frames(path, "text", size=1000)) == 100_000
    # A chunk of 1 MB as bytes, as text, as an array and as the rows of a block, and the batch.
    assert tracemalloc.get_traced_memory()[1] < 8e6
    tracemalloc.stop()
