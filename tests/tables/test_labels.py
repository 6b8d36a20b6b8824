"""One rule turns the labels of a table into classes, in all formats and in all ways of reading."""

import io

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm import tables
from tests.tables.rows import read_frame, read_frames, written

# Of one type each, as a column of a Parquet file is. Floats that Python and polars write alike.
INTEGERS = st.integers(-(10**15), 10**15)
FLOATS = st.integers(-1000, 1000).map(lambda number: number / 8)
STRINGS = st.sampled_from(["a", "1", "1.0", "-3.0", "01", "1.50", "true", "True", "NA", "é", "9" * 30, "x "])
COLUMNS = st.one_of(*(st.lists(kind, min_size=1) for kind in (INTEGERS, FLOATS, st.booleans(), STRINGS)))
MIXED = st.lists(INTEGERS | FLOATS | st.booleans() | STRINGS, min_size=1)


def names_of(data, format, path):
    """Return the names of the classes by each way of reading."""
    whole = read_frame(io.BytesIO(data), "text", "label", format=format)["label"].to_list()
    batches = read_frames(io.BytesIO(data), "text", "label", size=2, format=format)
    stream = tables.Table(io.BytesIO(data), "text", "label", format=format).batches(characters=3)
    path.write_bytes(data)
    parts = [part.read() for part in tables.Table(path, "text", "label", format=format).parts(50)]
    return (
        whole,
        [name for frame in batches for name in frame["label"]],
        [name for batch in stream for name in batch.labels],
        [name for part in parts for name in part.labels],
    )


@given(COLUMNS)
def test_labels_have_the_same_names_in_all_formats(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("labels") / "t"
    expected = [tables.class_name(label) for label in labels]
    for format in ("csv", "tsv", "jsonl", "parquet"):
        for found in names_of(written(["a"] * len(labels), labels, format), format, path):
            assert found == expected


@given(MIXED)
def test_labels_of_several_types_have_the_same_names_in_csv_and_json_lines(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("labels") / "t"
    expected = [tables.class_name(label) for label in labels]
    for format in ("csv", "tsv", "jsonl"):
        for found in names_of(written(["a"] * len(labels), labels, format), format, path):
            assert found == expected


@given(MIXED)
def test_the_name_of_a_class_is_its_own_name(labels):
    """So that predictions, which are classes, can be read as labels again."""
    names = [tables.class_name(label) for label in labels]
    assert tables.class_names(names) == names
    assert tables.class_names(tables.to_classes(names).tolist()) == names
    numbers = tables.to_classes(names, tables.class_type(names, fractions=True))
    assert tables.class_names(numbers.tolist()) == names


@given(INTEGERS)
def test_whole_numbers_are_the_same_class_with_and_without_a_fraction(number):
    spellings = (number, float(number), str(number), f"{number}.0")
    assert {tables.class_name(label) for label in spellings} == {str(number)}


def test_float_labels_of_32_bits_have_the_digits_that_a_csv_has(tmp_path):
    labels = pl.Series("label", [0.1, 2.0, -0.0], pl.Float32)
    pl.DataFrame([pl.Series("text", ["a", "b", "c"]), labels]).write_parquet(tmp_path / "t.parquet")
    assert read_frame(tmp_path / "t.parquet", "text", "label")["label"].to_list() == ["0.1", "2", "0"]


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (("1", "-10", "0"), int),
        (("true", "false"), bool),
        (("1", "01"), str),
        (("1", "-0"), str),
        (("1", "+1"), str),
        (("1", "1 "), str),
        (("1", "1.5"), str),
        (("1", "a"), str),
        (("nan", "inf"), str),
        (("True", "False"), str),
        (("true", "1"), str),
        (("9" * 19, "1"), str),
        (("١", "٢"), str),
        (("1_0", "2"), str),
    ],
)
def test_classes_are_numbers_or_booleans_if_all_names_are(names, kind):
    classes = tables.to_classes(names)
    assert {type(label) for label in classes.tolist()} == {kind}
    assert tables.class_names(classes.tolist()) == list(names)
    some = tables.to_classes(names[:1], kind)  # as for a part of the table
    assert some.dtype == classes.dtype
    np.testing.assert_array_equal(some, classes[:1])


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet"])
def test_missing_labels_are_null(format):
    labels = [1.0, None, float("nan"), 2.5] if format == "parquet" else ["1.0", "", " ", "2.5"]
    data = written(["a"] * len(labels), labels, format)
    frame = read_frame(io.BytesIO(data), "text", "label", format=format)
    assert frame["label"].to_list() == ["1", None, None, "2.5"]


def test_rows_of_json_lines_may_lack_labels():
    data = io.BytesIO(b'{"text": "a"}\n{"text": "b", "label": 1}\n')
    frame = read_frame(data, "text", "label", format="jsonl")
    assert frame["label"].to_list() == [None, "1"]
