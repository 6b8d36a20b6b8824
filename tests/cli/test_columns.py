"""Several columns on the command line: train, predict, evaluate and explain read those of the model file."""

import json

import numpy as np
import pytest

from tests.cli.command import dropglm, error_of

COLUMNS = ["--text", "title,body", "--numeric", "price,day", "--categorical", "country", "--label", "stars"]
HEADER = "title,body,price,day,country,stars"


def rows(n, seed):
    """Return the lines of a CSV file."""
    draw = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        good = draw.random() < 0.5
        title = draw.choice(["lovely", "great", "film"] if good else ["dull", "long", "film"])
        price = "" if draw.random() < 0.1 else round(float(draw.lognormal(2.0 + good)), 2)
        day, country = f"2026-01-{draw.integers(1, 28):02d}", draw.choice(["de", "fr", ""])
        lines.append(f"{title} thing,a story {draw.integers(9)},{price},{day},{country},{int(good)}")
    return lines


def write(path, lines, header=HEADER):
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    table, model = write(folder / "train.csv", rows(80, 0)), folder / "model.skops"
    options = "--out", model, "--embedder", "none", "--validation", "0.2"
    out = dropglm("train", table, *COLUMNS, *options, cwd=folder)
    assert "price, day (date), country (2 categories); missing:" in " ".join(out.split())
    write(folder / "test.csv", rows(30, 1))
    return folder


def test_the_model_file_knows_its_columns(trained):
    assert "accuracy" in dropglm("evaluate", "model.skops", "test.csv", cwd=trained)
    out = dropglm("predict", "model.skops", "test.csv", "--keep", "title", "--keep", "price", cwd=trained)
    found = [json.loads(line) for line in out.splitlines()]
    assert [one["title"] for one in found] == [line.split(",")[0] for line in rows(30, 1)]
    assert found[0].keys() == {"predicted", "probability", "title", "price"}
    assert "body: " in dropglm("explain", "model.skops", "--top", 40, cwd=trained)


def test_rows_are_json_objects(trained):
    row = json.dumps({"title": "lovely film", "price": 9, "country": "at", "day": None})
    out = dropglm("predict", "model.skops", row, cwd=trained)
    assert json.loads(out)["predicted"] == 1
    assert dropglm("predict", "model.skops", cwd=trained, stdin=row) == out
    why = json.loads(dropglm("explain", "model.skops", row, "--json", cwd=trained))
    names = {entry["ngram"] for entry in why["texts"][0]["contributions"]}
    assert {"title: lovely", "price: 9", "country: at (unknown)", "day: missing"} <= names


def test_all_formats_give_the_same_file(trained):
    import polars as pl

    pl.read_csv(trained / "train.csv", try_parse_dates=True).write_parquet(trained / "train.parquet")
    for kind in ("csv", "parquet"):
        options = "--no-tune", "--quiet", "--out", f"{kind}.skops"
        dropglm("train", f"train.{kind}", *COLUMNS, *options, cwd=trained)
    assert (trained / "csv.skops").read_bytes() == (trained / "parquet.skops").read_bytes()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("a,b,abc,2026-01-01,de,1", "row 2 (line 3) has 'abc' in column 'price', which is neither a number"),
        ("a,b,2026-01-01,2026-01-01,de,1", "has numbers and dates"),
    ],
)
def test_bad_values_name_the_row_or_the_column(tmp_path, line, sentence):
    write(tmp_path / "train.csv", [rows(1, 0)[0], line, *rows(20, 1)])
    assert sentence in error_of("train", "train.csv", *COLUMNS, "--no-tune", cwd=tmp_path)


def test_what_does_not_work_says_so(trained):
    write(trained / "other.csv", ["a,b"], header="title,body")
    assert "there is no column" in error_of("predict", "model.skops", "other.csv", cwd=trained)
    assert "must be a JSON object" in error_of("predict", "model.skops", "some text", cwd=trained)
    assert "the JSON format takes texts" in error_of("export", "model.skops", "m.json", cwd=trained)
    for command in (
        ("predict", "model.skops", "train.csv", "--text", "body"),
        ("train", "train.csv", *COLUMNS, "--online"),
        ("train", "train.csv", "--text", "title,body", "--label", "stars", "--online"),
        ("train", "train.csv", *COLUMNS, "--baseline"),
    ):
        assert "Error" in dropglm(*command, cwd=trained, code=2)
