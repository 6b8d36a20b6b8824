"""Exported tables have all columns of the table, whatever its format, and dropglm train reads them."""

import polars as pl
import pytest

from dropglm import tables
from dropglm.cli.label import texts_and_labels
from dropglm.labelling import LabellingSession
from dropglm.labelling.output_files import (
    Exports,
    all_columns,
    train_model,
    write_labels,
    write_predictions,
)
from dropglm.text import load_model
from tests.cli.command import dropglm, texts

TEXTS, TRUTH = texts(60)
N = len(TEXTS)
TABLE = pl.DataFrame(
    {
        "id": [f"{n:03}" for n in range(N)],
        "review": TEXTS,
        "label": ['old, "quoted"\nlabel'] * N,
        "stars": [str(n % 5) for n in range(N)],
    }
)


@pytest.fixture
def label_some(tmp_path):
    """Return a function that labels 40 rows of a table and returns the session and the table."""
    opened = []

    def label(name, column="review", **how):
        source = tables.Table(str(tmp_path / name), column, optional_text=True, **how)
        found, *_ = texts_and_labels(source)
        session = LabellingSession(found, tmp_path / "a.labels.jsonl", classes=["good", "bad"])
        opened.append(session)
        for number in range(10, 50):
            session.answer(TRUTH[number], number)
        return session, source

    yield label
    for session in opened:
        session.close()


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "csv.gz"])
def test_labels_come_with_all_columns_and_train_reads_them(tmp_path, label_some, suffix):
    tables.write(TABLE, tmp_path / f"a.{suffix}")
    assert write_labels(*_exported(label_some(f"a.{suffix}"), tmp_path / "out.csv")) == 40
    found = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    expected = TABLE[10:50].rename({"review": "text", "label": "table_label"})
    expected = expected.with_columns(pl.Series("label", TRUTH[10:50]))
    assert found.columns[:2] == ["text", "label"]
    assert found.select(expected.columns).equals(expected)
    dropglm("train", "out.csv", "--out", "a.skops", "--quiet", cwd=tmp_path)
    assert load_model(tmp_path / "a.skops").classes_.tolist() == ["bad", "good"]


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (("0", "1"), [0, 1]),
        (("false", "true"), [False, True]),
        (("1.0", " 2"), [1, 2]),
        (("1", "b"), ["1", "b"]),
    ],
)
@pytest.mark.filterwarnings("ignore:The 10 texts without labels did not improve")
def test_an_exported_model_has_the_classes_of_train(tmp_path, names, classes):
    """Whichever way names of classes are given: with the table, or on the page."""
    labels = {number: names[TRUTH[number] == "good"] for number in range(30)}
    with LabellingSession(TEXTS, tmp_path / "a.labels.jsonl", labels=labels) as session:
        for number in range(30, 50):
            session.answer(session.answers.classes[TRUTH[number] == TRUTH[0]], number)
        write_labels(session, tmp_path / "out.csv")
        model = train_model(session)
        write_predictions(session, model, tmp_path / "p.csv")
    dropglm("train", "out.csv", "--out", "a.skops", "--quiet", cwd=tmp_path)
    trained = load_model(tmp_path / "a.skops")
    assert model.classes_.tolist() == trained.classes_.tolist() == classes
    assert model.classes_.dtype == trained.classes_.dtype
    found = pl.read_csv(tmp_path / "p.csv", infer_schema=False)
    assert set(found["predicted"]) | set(found["label"].drop_nulls()) == set(
        map(str.lower, map(str, classes))
    )


def test_predictions_have_all_rows_and_all_columns(tmp_path, label_some):
    tables.write(TABLE, tmp_path / "a.csv")
    session, table = label_some("a.csv")
    model = train_model(session)
    write_predictions(session, model, tmp_path / "p.csv", table)
    found = pl.read_csv(tmp_path / "p.csv", infer_schema=False)
    assert found.columns == ["text", "label", "predicted", "probability", "id", "table_label", "stars"]
    assert found["id"].to_list() == TABLE["id"].to_list()
    assert found["label"].to_list() == [None] * 10 + TRUTH[10:50] + [None] * 10
    assert found["predicted"].to_list() == model.predict(TEXTS).tolist()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_rows_without_text_are_exported_without_label(tmp_path, label_some, suffix):
    """They are not shown: the tenth text is that of row 12."""
    missing = pl.Series("review", [None if suffix != "csv" else "", " "])
    empty = TABLE[:2].with_columns(missing, pl.Series("id", ["x", "y"]))
    tables.write(pl.concat([empty, TABLE]), tmp_path / f"a.{suffix}")
    source = tables.Table(str(tmp_path / f"a.{suffix}"), "review", optional_text=True)
    found, _, n_without, _ = texts_and_labels(source)
    assert (found, n_without) == (TEXTS, 2)
    session, table = label_some(f"a.{suffix}")
    assert write_labels(session, tmp_path / "out.csv", table) == 40
    assert (
        pl.read_csv(tmp_path / "out.csv", infer_schema=False)["id"].to_list() == TABLE["id"][10:50].to_list()
    )
    write_predictions(session, train_model(session), tmp_path / "p.csv", table)
    found = pl.read_csv(tmp_path / "p.csv", infer_schema=False)
    assert found["id"].to_list() == ["x", "y", *TABLE["id"]]
    assert found["label"].to_list() == [None] * 12 + TRUTH[10:50] + [None] * 10
    for name in ("predicted", "probability"):
        assert found[name].is_null().to_list() == [True] * 2 + [False] * N


def test_columns_that_cannot_be_exported_are_left_out(tmp_path, label_some):
    TABLE.with_columns(pl.Series("list", [[1, 2]] * N), pl.Series("n", range(N))).write_parquet(
        tmp_path / "a.parquet"
    )
    write_labels(*_exported(label_some("a.parquet"), tmp_path / "out.csv"))
    assert pl.read_csv(tmp_path / "out.csv").columns == [
        *("text", "label", "drawn_at_random", "id", "table_label", "stars", "n")
    ]


def test_columns_with_the_same_name_are_left_out(tmp_path, label_some):
    rows = "\n".join(f"1,{text},2,3" for text in TEXTS)
    (tmp_path / "a.csv").write_text(f"x,review,x,y\n{rows}\n", encoding="utf-8")
    write_labels(*_exported(label_some("a.csv"), tmp_path / "out.csv"))
    assert pl.read_csv(tmp_path / "out.csv").columns == ["text", "label", "drawn_at_random", "y"]


def test_a_large_table_is_read_in_batches(tmp_path, label_some):
    """25,000 rows are three batches; copies of the labelled texts are in all of them."""
    n = 25_000
    large = pl.DataFrame({"text": [f"{TEXTS[k % N]} {k // N % 200}" for k in range(n)], "id": range(n)})
    tables.write(large, tmp_path / "a.csv")
    session, table = label_some("a.csv", "text")
    sizes = [frame.height for frame in all_columns(table)]
    assert (len(sizes), sum(sizes), max(sizes)) == (3, n, 10_000)
    assert write_labels(session, tmp_path / "out.csv", table) == 120
    found = pl.read_csv(tmp_path / "out.csv")
    assert found["id"].to_list() == [*range(10, 50), *range(12_010, 12_050), *range(24_010, 24_050)]


def test_a_table_that_has_changed_is_not_exported(tmp_path, label_some):
    tables.write(TABLE, tmp_path / "a.csv")
    session, table = label_some("a.csv")
    for changed in (TABLE[::-1], TABLE[:-1], pl.concat([TABLE, TABLE])):
        tables.write(changed, tmp_path / "a.csv")
        with pytest.raises(ValueError, match="table has changed"):
            write_labels(session, tmp_path / "out.csv", table)
        assert not (tmp_path / "out.csv").exists()


def test_a_file_of_an_earlier_run_is_kept(tmp_path, label_some):
    """Within a run, an export replaces the one before; one that fails changes nothing."""
    tables.write(TABLE, tmp_path / "a.csv")
    session, table = label_some("a.csv")
    path, kept = tmp_path / "a.labelled.csv", tmp_path / "a.labelled.before.csv"
    path.write_text("an older file")
    kept.write_text("one from before that")

    def export():
        exports.start("labels")
        exports.wait(60)
        return exports.state.kept, exports.state.problem

    exports = Exports(session, tmp_path / "a", table)
    tables.write(TABLE[:-1], tmp_path / "a.csv")
    assert export()[1].startswith("The table has changed since labelling began, so nothing was exported")
    assert (path.read_text(), kept.read_text()) == ("an older file", "one from before that")
    tables.write(TABLE, tmp_path / "a.csv")
    assert export() == (kept, None)
    assert export() == (None, None)
    assert kept.read_text() == "an older file"
    assert path.read_text().count("\n") > 40
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "a.csv",
        "a.labelled.before.csv",
        "a.labelled.csv",
        "a.labels.jsonl",
    ]


def _exported(opened, path):
    session, table = opened
    return session, path, table
