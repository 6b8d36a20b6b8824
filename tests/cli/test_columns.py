"""A model remembers the columns that it was trained with, and the commands read them by default."""

import json

import pytest

from dropglm import load_model
from tests.cli.command import dropglm, error_of, texts, write_csv


@pytest.fixture(scope="module", params=["--no-tune", "--online"])
def folder(request, tmp_path_factory):
    """Return a folder with a model that was trained on columns review and stars."""
    folder = tmp_path_factory.mktemp("columns")
    some = list(zip(*texts(40), strict=True))
    write_csv(folder / "train.csv", some, ("review", "stars"))
    write_csv(folder / "usual.csv", some, ("text", "label"))
    write_csv(folder / "mixed.csv", some, ("text", "stars"))
    (folder / "lines.jsonl").write_text(json.dumps({"text": "a film", "label": "good"}) + "\n")
    (folder / "lines.txt").write_text("a lovely film\n")
    dropglm(
        "train", "train.csv", "--text", "review", "--label", "stars", request.param, "--out", "m.skops",
        cwd=folder,
    )  # fmt: skip
    return folder


def test_model_file_holds_the_columns(folder):
    model = load_model(folder / "m.skops")
    assert (model.text_column_, model.label_column_) == ("review", "stars")


def test_commands_read_the_columns_of_the_model(folder):
    assert json.loads(dropglm("evaluate", "m.skops", "train.csv", "--json", cwd=folder))["texts"] == 40
    assert len(dropglm("predict", "m.skops", "train.csv", cwd=folder).splitlines()) == 40
    assert dropglm("predict", "m.skops", "lines.txt", cwd=folder)
    assert dropglm("predict", "m.skops", cwd=folder, stdin=b"a lovely film\n")


def test_explain_shows_the_columns_of_the_model(folder):
    assert "'review' (texts), 'stars' (labels)" in dropglm("explain", "m.skops", cwd=folder)
    found = json.loads(dropglm("explain", "m.skops", "--json", cwd=folder))["columns"]
    assert found == {"text": "review", "label": "stars"}


def test_options_override_the_columns_of_the_model(folder):
    columns = "--text", "text", "--label", "label"
    result = json.loads(dropglm("evaluate", "m.skops", "usual.csv", *columns, "--json", cwd=folder))
    assert result["texts"] == 40
    result = json.loads(dropglm("evaluate", "m.skops", "mixed.csv", *columns[:2], "--json", cwd=folder))
    assert result["texts"] == 40
    out = dropglm("predict", "m.skops", "usual.csv", "--text", "text", "--keep", "text", cwd=folder)
    assert len(out.splitlines()) == 40


@pytest.mark.parametrize("table", ["usual.csv", "lines.jsonl"])
@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_missing_column_is_explained(folder, command, table):
    quiet = ["--quiet"] if command == "evaluate" else []
    error = error_of(command, "m.skops", table, *quiet, cwd=folder)
    assert error.startswith(f"dropglm: {table}: ")
    assert "no column 'review'" in error or "has no 'review'" in error
    assert error.endswith("the model was trained with this column, so name the column to use with --text.")


def test_missing_label_column_is_explained(folder):
    error = error_of("evaluate", "m.skops", "usual.csv", "--text", "text", "--quiet", cwd=folder)
    assert "no column 'stars'" in error
    assert error.endswith("so name the column to use with --label.")


def test_missing_column_of_an_option_is_not_blamed_on_the_model(folder):
    error = error_of("evaluate", "m.skops", "train.csv", "--text", "words", "--quiet", cwd=folder)
    assert "no column 'words'" in error
    assert "trained" not in error


def test_online_learning_continues_with_the_columns_of_the_model(folder):
    dropglm("train", "train.csv", "--online", "--start-from", "m.skops", "--out", "n.skops", cwd=folder)
    model = load_model(folder / "n.skops")
    assert (model.text_column_, model.label_column_) == ("review", "stars")


def test_models_without_columns_read_text_and_label(folder):
    model = load_model(folder / "m.skops")
    model.text_column_ = model.label_column_ = None  # as after a fit in Python
    model.save(folder / "old.skops")
    old = load_model(folder / "old.skops")
    assert (old.text_column_, old.label_column_) == (None, None)
    assert old.predict(["a lovely film"]) == model.predict(["a lovely film"])
    assert json.loads(dropglm("evaluate", "old.skops", "usual.csv", "--json", cwd=folder))["texts"] == 40
    assert "no column 'text'" in error_of("predict", "old.skops", "train.csv", cwd=folder)


@pytest.mark.parametrize("online", [(), ("--online",)])
def test_train_names_the_option_for_a_missing_column(tmp_path, online):
    (tmp_path / "t.csv").write_text("foo,label\na,1\nb,2\n")
    error = error_of("train", "t.csv", *online, cwd=tmp_path)
    assert "there is no column 'text'" in error
    assert error.endswith("name the column to use with --text.")
