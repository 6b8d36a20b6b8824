"""A stream of labelled texts: its batches, its start, and the errors that end it."""

import gzip
import io
import os
import tracemalloc

import polars as pl
import pytest

from dropglm import tables
from tests.tables.rows import encoded, gathered, parquet, table


@pytest.mark.parametrize("format", ["jsonl", "csv"])
@pytest.mark.parametrize("start", range(5))
def test_rows_before_the_start_are_skipped_silently(format, start):
    rows = encoded(format, [("one", "x"), ("two", "y")])
    data, _ = table(format, [rows[0], b"\xff", rows[1], b"bad"])
    whole, messages = gathered(io.BytesIO(data), format=format)
    found, later = gathered(io.BytesIO(data), format=format, start=start)
    assert found == [row for row in whole if row[0] > start]
    assert later == messages[(start > 1) + (start > 3) :]
    if start >= 4:
        assert gathered(io.BytesIO(data), format=format, start=start, skip_bad=False) == ([], [])
    else:
        with pytest.raises(tables.TableError, match=r"row 2 \(" if start < 2 else r"row 4 \("):
            gathered(io.BytesIO(data), format=format, start=start, skip_bad=False)


@pytest.mark.parametrize("characters", [1, 4, 10**9])
def test_good_rows_are_yielded_before_an_error_is_raised(characters):
    for bad in (b"bad\n", b"bad,x,-1\n"):
        data = b"text,label,weight\n" + b"abc,x,1\n" * 3 + bad + b"def,x,1\n"
        found = []
        source = tables.Table(io.BytesIO(data), "text", "label", weight="weight", format="csv")
        batches = source.batches(characters=characters)
        with pytest.raises(tables.TableError, match=r"row 4 \(line 5\)"):
            found.extend(text for batch in batches for text in batch.texts)
        assert found == ["abc"] * 3


@pytest.mark.parametrize("characters", [1, 5, 6, 10**9])
def test_a_batch_is_limited_by_characters_and_rows(characters):
    data = b"text,label\n" + b"abcde,x\n" * 20_001
    table = tables.Table(io.BytesIO(data), "text", "label", format="csv")
    sizes = [len(batch.texts) for batch in table.batches(characters=characters)]
    full = {1: 1, 5: 1, 6: 2, 10**9: 10_000}[characters]
    assert sum(sizes) == 20_001
    assert set(sizes[:-1]) == {full}


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_rows_of_a_pipe_do_not_wait_after_a_bad_row(format):
    good, more = encoded(format, [("one", "x"), ("two", "y")])
    read, write = os.pipe()
    with open(read, "rb") as reader, open(write, "wb", buffering=0) as writer:
        batches = tables.Table(reader, "text", "label", format=format).batches(skip_bad=True)
        writer.write(table(format, [good, b"\xff"])[0])
        batch = next(batches)
        assert (list(batch.texts), [error.row for error in batch.bad]) == (["one"], [2])
        writer.write(b"bad\n" + more + b"\n" + good[:3])
        batch = next(batches)
        assert (batch.rows, [error.row for error in batch.bad]) == ([4], [3])
        writer.write(good[3:] + b"\n\n\r\n")  # nor do they wait for what comes after blank lines
        assert list(next(batches).texts) == ["one"]
        writer.close()
        assert list(batches) == []


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_compressed_tables_give_the_same_rows_and_damage_is_fatal(format):
    rows = encoded(format, [("one", "x"), ("two", "y")] * 200)
    data, _ = table(format, [b"bad", *rows[:300], b"\xff", *rows[300:]])
    packed = gzip.compress(data)
    plain = gathered(io.BytesIO(data), format=format)
    assert gathered(io.BytesIO(packed), format=f"{format}.gz") == plain
    assert len(plain[0]) == 400
    with pytest.raises(tables.TableError, match="the compressed data ends too early"):
        gathered(io.BytesIO(packed[:-20]), format=f"{format}.gz")


def test_a_batch_gives_the_position_of_its_rows():
    data = b'text,label\n\n"a\nb",x\nc,y\n'
    (batch,) = tables.Table(io.BytesIO(data), "text", "label", format="csv").batches()
    assert [batch.place(0), batch.place(1)] == ["row 1 (lines 3 to 4)", "row 2 (line 5)"]
    (batch,) = tables.Table(parquet(text=["a"], label=["x"]), "text", "label", format="parquet").batches()
    assert batch.place(0) == "row 1"


FATAL = {
    "empty": ("csv", b"", "this file is empty."),
    "empty json": ("jsonl", b"\n\n", "this file is empty."),
    "header": ("csv", b"text,label\n", "this table has a header but no rows."),
    "no column": ("csv", b"txt,label\na,x\n", "there is no column 'text'"),
    "bad header": ("csv", b'"text"x,label\na,x\n', "the header (line 1) has more text after"),
    "header with a bad byte": ("csv", b"text,label,\xff\na,x,\n", "the header (line 1) is not UTF-8"),
    "header with a NUL": (
        "csv",
        b"text,label,\0\na,x,\n",
        "the header (line 1) contains a NUL byte (line 1, character 12)",
    ),
    "array": ("jsonl", b'[\n{"text": "a", "label": 1}\n]\n', "row 1 (line 1) starts a JSON array;"),
    "no parquet": ("parquet", b"text,label\n", "this is not a Parquet file"),
    "cut parquet": ("parquet", b"PAR1 and no more", "this Parquet file is truncated."),
    "gzip": ("csv", gzip.compress(b"text,label\n"), "this is compressed with gzip"),
    "plain": ("txt", b"a\n", "plain text has one column"),
    "all bad": (
        "csv",
        b"text,label\na\nb\n",
        "none of the 2 rows can be used; row 1 (line 2) has 1 field, but",
    ),
    "one bad": ("jsonl", b"[" * 1000, "the only row cannot be used; row 1 (line 1) is longer than"),
    "all bad in parquet": (
        "parquet",
        parquet(text=[None, None], label=[None, 1]).getvalue(),
        "none of the 2 rows can be used; row 1 has no text",
    ),
}


@pytest.mark.parametrize(("format", "data", "sentence"), FATAL.values(), ids=FATAL)
@pytest.mark.parametrize("start", [0, 1])
def test_errors_about_the_whole_table_are_raised(format, data, sentence, start):
    with pytest.raises(tables.TableError) as caught:
        gathered(io.BytesIO(data), format=format, start=start)
    assert f"the open file: {sentence}" in str(caught.value)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(tables.TableError, match="there is no such file"):
        gathered(tmp_path / "t.csv", format=None)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"start": -1}, "start must be a non-negative integer, got -1."),
        ({"start": 1.5}, "start must be a non-negative integer, got 1.5."),
        ({"characters": 0}, "characters must be a positive integer, got 0."),
        ({"max_row_length": 0}, "max_row_length must be a positive integer, got 0."),
    ],
)
def test_invalid_settings(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        gathered(io.BytesIO(b"text,label\na,x\n"), **settings)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_memory_is_bounded_by_the_batch(tmp_path, suffix):
    frame = pl.DataFrame({"text": ["some words " * 20] * 1000, "label": ["x"] * 1000})
    path = tmp_path / f"t.{suffix}"
    tables.write([frame] * 100, path)  # 22 MB
    tables.Table(path).read()  # loads what is compiled
    tracemalloc.start()
    batches = tables.Table(path, "text", "label").batches(skip_bad=True, characters=1 << 20)
    assert sum(len(batch.texts) for batch in batches) == 100_000
    assert tracemalloc.get_traced_memory()[1] < 13e6  # a chunk of 2 MB, three times, and two batches
    tracemalloc.stop()
