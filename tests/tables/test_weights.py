"""Weights of rows are numbers of at least 0 in all formats; in rows without a label they do not matter."""

import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm import tables
from tests.tables.rows import parquet

FORMATS = ["csv", "tsv", "jsonl", "parquet"]
NUMBERS = st.floats(0.0, 1e300) | st.integers(0, 10**9).map(float)


def source(format, **columns):
    """Return a table of these columns; None is an empty cell."""
    file = io.BytesIO()
    if format == "parquet":
        file = parquet(**columns)
    else:
        tables.write(columns, file, format=format)
    return tables.Table(io.BytesIO(file.getvalue()), "text", "label", weight="weight", format=format)


@pytest.mark.parametrize("format", FORMATS)
@given(st.lists(st.tuples(NUMBERS, st.sampled_from(["a", None])), min_size=1, max_size=9))
def test_weights_are_numbers_and_those_of_rows_without_a_label_are_ignored(format, rows):
    weights = [weight if label else None for weight, label in rows]
    labels = [label for _, label in rows]
    table = source(format, text=["x"] * len(rows), label=labels, weight=weights)
    read = table.read()
    assert tables.row_weights(table, read) == [weight or 0.0 for weight in weights]
    with_label, without = read.by_label()
    assert tables.row_weights(table, with_label) == [weight for weight, label in rows if label]
    assert without.labels == [None] * (len(rows) - len(with_label.labels))


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "has no weight (column 'weight' is empty)"),
        (" ", "has no weight (column 'weight' is empty)"),
        ("-1", "has the weight '-1', which is not a finite number of at least 0"),
        ("inf", "has the weight 'inf', which is not"),
        ("nan", "has the weight 'nan', which is not"),
        ("1,5", "has the weight '1,5', which is not"),
        ("many", "has the weight 'many', which is not"),
    ],
)
def test_a_row_with_a_label_and_a_bad_weight_is_bad(format, value, problem):
    table = source(format, text=list("xyz"), label=["a", None, "a"], weight=["1", "?", value])
    place = "row 3" if format == "parquet" else f"row 3 (line {3 + (format == 'csv')})"
    with pytest.raises(tables.TableError) as caught:
        table.read()
    assert str(caught.value).startswith(f"the open file: {place} {problem}")
    table = source(format, text=list("xyz"), label=["a", None, "a"], weight=["1", "?", value])
    (batch,) = table.batches(skip_bad=True)
    assert (list(batch.texts), [error.row for error in batch.bad]) == (["x", "y"], [3])


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.5])
def test_numbers_of_a_parquet_file_are_checked(value):
    with pytest.raises(tables.TableError, match=r"row 2 has the weight .*, which is not a finite number"):
        source("parquet", text=["x", "y"], label=["a", "b"], weight=[1.0, value]).read()


def test_a_row_may_lack_both_its_text_and_its_weight():
    table = source("jsonl", text=["x", None], label=["a", "b"], weight=[1.0, None])
    (batch,) = table.batches(skip_bad=True)
    (error,) = batch.bad
    assert "row 2 (line 2) has no text" in str(error)
