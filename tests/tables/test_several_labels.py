"""Several labels per row, and probabilities of labels, from every format, whole, in batches and in parts."""

import io
import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropglm.dask.collections import add_names, names_of, read_rows, with_classes
from dropglm.tables import Table, TableError, class_type, has_lists, joined_names, label_names, to_classes

NAMES = st.sampled_from(["a", "b", "c d", "7", "é"])
ROWS = st.lists(st.none() | st.lists(NAMES, unique=True, max_size=4), min_size=1, max_size=12)


def files(rows, folder, separator):
    """Return tables of the same rows, one per format."""
    texts = [f"text {k}" for k in range(len(rows))]
    frame = pl.DataFrame({"text": texts, "tags": rows}, {"text": pl.String, "tags": pl.List(pl.String)})
    cells = [None if row is None else joined_names(row, separator) for row in rows]
    for name, one in (("csv", ","), ("tsv", "\t")):
        frame.with_columns(tags=pl.Series(cells, dtype=pl.String)).write_csv(
            folder / f"t.{name}", separator=one
        )
    frame.write_ndjson(folder / "t.jsonl")
    frame.write_parquet(folder / "t.parquet")
    return [
        Table(folder / f"t.{name}", "text", "tags", lists=True, label_separator=separator)
        for name in ("csv", "tsv", "jsonl", "parquet")
    ]


@given(ROWS, st.sampled_from([";", "|", "::"]), st.integers(1, 5), st.integers(20, 200))
@settings(max_examples=30, deadline=None)
def test_all_formats_and_doors_agree(tmp_path_factory, rows, separator, max_rows, size):
    expected = [None if row is None else tuple(row) for row in rows]
    for table in files(rows, tmp_path_factory.mktemp("tables"), separator):
        assert table.read().labels == expected
        assert [row for batch in table.batches(max_rows=max_rows) for row in batch.labels] == expected
        parts = [read_rows([k, part], None) for k, part in enumerate(table.parts(size))]
        names, missing, several = names_of(parts[0], None)
        for part in parts[1:]:
            names, missing, several = add_names((names, missing, several), names_of(part, None))
        assert (missing, several) == (expected.count(None), has_lists(expected))
        found = [row for part in parts for row in with_classes(part, (class_type(names), several)).y.tolist()]
        assert found == to_classes(expected).tolist()


@given(st.lists(st.text(st.characters(blacklist_characters=";", blacklist_categories=["Cs"]))))
def test_names_that_are_joined_are_read_again(given_names):
    names = label_names(given_names) if all(name.strip() for name in given_names) else ()
    names = tuple(name.strip() for name in names)
    assert label_names(joined_names(names, ";"), ";") == tuple(dict.fromkeys(label_names(list(names))))


def test_types_are_those_of_all_labels():
    assert to_classes([("2", "1"), None, ()]).tolist() == [(2, 1), None, ()]
    assert to_classes([("true",), ("false", "true")]).tolist() == [(True,), (False, True)]
    assert to_classes([("1", "x"), "1"]).tolist() == [("1", "x"), ("1",)]


def read(rows, **how):
    data = "\n".join(map(json.dumps, rows)).encode()
    return Table(io.BytesIO(data), "text", "tags", format="jsonl", **how).read()


@pytest.mark.parametrize(
    ("tags", "lists", "problem"),
    [
        (["a"], False, "has a list as its label, which must be a string"),
        (["a", ["b"]], True, "has a list among its labels, which must be a string"),
        (["a", None], True, "has a list with an empty label; leave it out"),
        (["a", " "], True, "has a list with an empty label; leave it out"),
        (["\ud83d"], True, "contains half of a surrogate pair"),
        ({"a": 1}, True, "has an object as its label"),
    ],
)
def test_bad_lists_name_their_row(tags, lists, problem):
    with pytest.raises(TableError, match="row 2 .line 2. " + problem):
        read([{"text": "x", "tags": "a"}, {"text": "y", "tags": tags}], lists=lists)


def test_lists_of_other_types_are_refused_in_parquet():
    file = io.BytesIO()
    pl.DataFrame({"text": ["x"], "tags": [[["a"]]]}).write_parquet(file)
    file = io.BytesIO(file.getvalue())
    with pytest.raises(TableError, match="has the type List"):
        Table(file, "text", "tags", lists=True, format="parquet").read()


@given(st.lists(st.none() | st.integers(0, 100), min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_probabilities_are_the_same_from_all_formats(tmp_path_factory, percent):
    folder = tmp_path_factory.mktemp("tables")
    p = [None if one is None else one / 100 for one in percent]
    q = [None if one is None else 1 - one for one in p]
    frame = pl.DataFrame({"text": ["x"] * len(p), "p": p, "q": q}, {"text": str, "p": float, "q": float})
    frame.write_csv(folder / "t.csv")
    frame.write_ndjson(folder / "t.jsonl")
    frame.write_parquet(folder / "t.parquet")
    expected = [None if one is None else (one, other) for one, other in zip(p, q, strict=True)]
    for name in ("csv", "jsonl", "parquet"):
        labelled, without = Table(folder / f"t.{name}", probabilities=("p", "q")).read().by_label()
        assert labelled.labels == [row for row in expected if row is not None]
        assert len(without.texts) == p.count(None)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("0.5,", "has '' in column 'q', which is not a number from 0 to 1"),
        ("x,1", "has 'x' in column 'p', which is not a number from 0 to 1"),
        ("-0.5,1.5", "has '1.5' in column 'q', which is not a number from 0 to 1"),
        ("nan,1", "has 'nan' in column 'p'"),
        ("0.7,0.7", "has probabilities of the classes whose sum is 1.4, not 1"),
    ],
)
def test_bad_probabilities_name_their_row(row, problem):
    table = Table(io.BytesIO(f"text,p,q\na,0,1\nb,{row}\n".encode()), probabilities=("p", "q"), format="csv")
    with pytest.raises(TableError, match="row 2 .line 3. " + problem):
        table.read()
