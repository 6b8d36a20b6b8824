"""Tables that are written and read again are the same, for any characters."""

import csv
import gzip
import io
import json

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dropglm import tables
from tests.tables.rows import SlowFile, read_frame, read_frames

# Any character but NUL, which is not allowed in a table, and lone surrogates, which are not characters.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
ODD = st.sampled_from(['"', ",", "\n", "\r", "\r\n", "\t", ";", "'", " ", "\ufeff", "\u2028", "\x85", "\x1c"])
TEXTS = st.lists(ODD | st.text(CHARACTERS, max_size=5), max_size=6).map("".join)
LABELS = st.text(CHARACTERS, min_size=1).map(tables.class_name).filter(bool)
ROWS = st.lists(st.tuples(TEXTS, LABELS), min_size=1, max_size=8)
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"]


def as_csv(rows, delimiter=",", end="\r\n"):
    file = io.StringIO(newline="")
    # Quote all fields: up to Python 3.12 the module does not quote a lone carriage return.
    csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(
        [("text", "label"), *rows]
    )
    return file.getvalue()


def frame_of(rows):
    return pl.DataFrame(rows, schema={"text": pl.String, "label": pl.String}, orient="row")


def read(data, format, **settings):
    """Return the rows, after checking that batches have the same ones as the whole table."""
    pieces = list(read_frames(io.BytesIO(data), "text", "label", size=2, format=format, **settings))
    frame = pl.concat(pieces)
    whole = read_frame(io.BytesIO(data), "text", "label", format=format, **settings)
    assert whole.equals(frame)
    assert max(piece.height for piece in pieces) <= 2
    return frame.rows()


@given(ROWS, st.sampled_from(["\r\n", "\n"]), st.sampled_from(ENCODINGS))
@example([("", "a")], "\n", "utf-8")
@example([("a", "b"), ('"', "\ufeff")], "\n", "utf-16")
def test_a_csv_from_pythons_csv_module_is_read_unchanged(rows, end, encoding):
    data = as_csv(rows, end=end).encode(encoding)
    assert read(data, "csv", encoding=encoding) == rows


@given(ROWS, st.sampled_from(",;|\t"))
def test_other_delimiters_give_the_same_rows(rows, delimiter):
    assert read(as_csv(rows, delimiter).encode(), "csv", delimiter=delimiter) == rows


@given(ROWS, st.sampled_from(["csv", "tsv", "jsonl", "csv.gz", "jsonl.bz2", "tsv.xz"]))
def test_written_tables_are_read_unchanged(rows, format):
    file = io.BytesIO()
    halves = [frame_of(rows[: len(rows) // 2]), frame_of(rows[len(rows) // 2 :])]
    tables.write((half for half in halves if half.height), file, format=format)
    assert read(file.getvalue(), format) == rows


@given(ROWS, st.booleans())
def test_json_lines_are_read_unchanged(rows, escaped):
    lines = [json.dumps({"text": text, "label": label}, ensure_ascii=escaped) for text, label in rows]
    assert read("\n".join(lines).encode(), "jsonl") == rows


@given(ROWS, st.integers(1, 4))
def test_parquet_is_read_unchanged(rows, size):
    file = io.BytesIO()
    frame_of(rows).write_parquet(file, row_group_size=3)
    frames = list(read_frames(io.BytesIO(file.getvalue()), "text", "label", size=size, format="parquet"))
    assert pl.concat(frames).rows() == rows


@given(st.lists(st.text(CHARACTERS, max_size=3), min_size=1), st.integers(1, 7))
def test_chunk_boundaries_do_not_matter(texts, step):
    """Chunks from a pipe may end inside a row and inside a character."""

    rows = [(text, "a") for text in texts]
    for encoding in ("utf-8", "utf-16-le", "gb18030"):
        data = as_csv(rows).encode(encoding)
        assert (
            read_frame(SlowFile(data, step), "text", "label", format="csv", encoding=encoding).rows() == rows
        )


def test_long_files_are_read_in_chunks(tmp_path):
    """Two megabytes with characters of four bytes: some chunks end inside a character."""
    rows = [("😀é\n" * (i % 50), str(i)) for i in range(20_000)]
    path = tmp_path / "long.csv.gz"
    path.write_bytes(gzip.compress(as_csv(rows).encode()))
    frame = read_frame(path, "text", "label")
    assert frame["text"].to_list() == [text for text, _ in rows]
    assert frame["label"].to_list() == [label for _, label in rows]


@pytest.mark.parametrize(
    "suffix", ["csv", "tsv", "jsonl", "ndjson", "parquet", "CSV", "csv.gz", "jsonl.xz", "tsv.bz2"]
)
def test_the_suffix_determines_the_format(tmp_path, suffix):
    frame = pl.DataFrame({"text": ["007", "a,\tb"], "label": ["1", "0"], "id": ["x", None]})
    path = tmp_path / f"reviews.of.2013.{suffix}"
    tables.write(frame, path)
    found = read_frame(path, "text", "label", keep=["id"])
    if "csv" in suffix.lower() or "tsv" in suffix:
        frame = frame.with_columns(pl.col("id").fill_null(""))
    assert found.equals(frame)


def test_kept_columns_are_read_as_strings():
    data = b'{"text": "a", "id": 7, "tags": ["x"]}\n\n{"text": "b", "id": null}\n'
    found = read_frame(io.BytesIO(data), "text", keep=["id", "tags"], format="jsonl")
    assert found.rows() == [("a", "7", '["x"]'), ("b", None, None)]


def test_line_ends_and_blank_lines_do_not_matter():
    rows = [("a", "x"), ("b", "y")]
    for data in (
        b"text,label\na,x\nb,y",
        b"text,label\r\na,x\r\nb,y\r\n",
        b"\n \ntext,label\n\na,x\n\nb,y\n\n",
        b"\xef\xbb\xbftext,label\na,x\nb,y\n",
        "text,label\na,x\nb,y\n".encode("utf-16"),
        "text,label\na,x\nb,y\n".encode("utf-32"),
    ):
        assert read_frame(io.BytesIO(data), "text", "label", format="csv").rows() == rows


def test_categories_are_read_as_strings(tmp_path):
    frame = pl.DataFrame({"text": ["a", "b"], "label": ["x", "y"], "n": [1, 2]})
    frame.cast({"text": pl.Categorical, "label": pl.Enum(["x", "y"])}).write_parquet(tmp_path / "t.parquet")
    found = read_frame(tmp_path / "t.parquet", "text", "label", keep=["n"])
    assert found.equals(frame.cast({"n": pl.String}))
