"""What commands read: texts, files or standard input; and the names that other programs give to options."""

import json
import tomllib

import polars as pl
import pytest
from typer.main import get_command

from dropglm.cli.app import app
from dropglm.cli.options import SPELLINGS, our_spelling
from tests.cli.command import dropglm, error_of

TRAIN = ("train", "--no-tune", "--out", "new.skops")


def predictions(*arguments, cwd, **rest):
    return [json.loads(line) for line in dropglm("predict", *arguments, cwd=cwd, **rest).splitlines()]


@pytest.fixture(scope="module")
def folder(place, tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "m.skops").write_bytes((place / "m.skops").read_bytes())
    table = pl.read_csv(place / "reviews.csv")
    table.write_csv(folder / "all.csv")
    table[:30].write_csv(folder / "part-1.csv")
    table[30:].write_ndjson(folder / "part-2.jsonl")
    (folder / "texts.txt").write_text("a lovely film\na dull film\n")
    return folder


def test_texts_files_and_standard_input_have_the_same_predictions(folder):
    of_texts = predictions("m.skops", "a lovely film", "a dull film", cwd=folder)
    assert [one["predicted"] for one in of_texts] == ["good", "bad"]
    assert predictions("m.skops", "texts.txt", cwd=folder) == of_texts
    assert predictions("m.skops", "-", cwd=folder, stdin=b"a lovely film\na dull film\n") == of_texts
    assert predictions("texts.txt", "-m", "m.skops", cwd=folder) == of_texts
    assert predictions("--model=m.skops", "texts.txt", "a dull film", cwd=folder) == [*of_texts, of_texts[1]]


def test_explanations_read_the_same(folder):
    explain = "explain", "m.skops"
    of_texts = json.loads(dropglm(*explain, "a lovely film", "a dull film", "--json", cwd=folder))["texts"]
    assert json.loads(dropglm(*explain, "texts.txt", "--json", cwd=folder))["texts"] == of_texts
    shown = dropglm(*explain, "a lovely film", cwd=folder)
    assert "what tips the prediction" in shown
    assert "N-grams that favour" not in shown


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_what_is_neither_a_file_nor_a_text_is_refused(folder, command):
    error = error_of(command, "m.skops", "missing.csv", cwd=folder)
    assert "missing.csv: there is no such file. If it is a text of a single word, pass it" in error


def test_a_text_without_blanks_between_its_words_is_a_text(folder):
    assert len(predictions("m.skops", "很不好", cwd=folder)) == 1


def test_the_most_probable_labels_are_those_with_the_highest_probabilities(folder):
    (one,) = predictions("m.skops", "a lovely film", "--top-k", "2", "--probabilities", cwd=folder)
    assert one["predicted"] == sorted(("good", "bad"), key=lambda name: -one[f"p({name})"])
    assert one["probability"] == pytest.approx(sorted((one["p(good)"], one["p(bad)"]), reverse=True))
    dropglm("predict", "m.skops", "texts.txt", "-k", "2", "-o", "top.csv", cwd=folder)
    assert pl.read_csv(folder / "top.csv")["predicted"].to_list() == ["good;bad", "bad;good"]


@pytest.mark.parametrize("given", [("part-1.csv", "part-2.jsonl"), ("part-*",)])
def test_several_tables_are_one(folder, given):
    dropglm("train", "all.csv", "--no-tune", "--out", "one.skops", cwd=folder)
    dropglm(*TRAIN, *given, cwd=folder)
    assert (folder / "new.skops").read_bytes() == (folder / "one.skops").read_bytes()
    assert "reads one table" in dropglm(*TRAIN, *given, "--online", cwd=folder, code=2).replace("\n", " ")


@pytest.mark.parametrize("dashes", [(), ("-",)])
@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet"])
def test_the_format_of_standard_input_is_found(folder, format, dashes):
    table = pl.read_csv(folder / "all.csv")
    path = folder / f"piped.{format}"
    write = {"jsonl": table.write_ndjson, "parquet": table.write_parquet}.get(format, table.write_csv)
    write(path, **({"separator": "\t"} if format == "tsv" else {}))
    dropglm("train", "all.csv", "--no-tune", "--out", "one.skops", cwd=folder)
    dropglm(*TRAIN, *dashes, cwd=folder, stdin=path.read_bytes())
    assert (folder / "new.skops").read_bytes() == (folder / "one.skops").read_bytes()
    found = json.loads(dropglm("evaluate", "one.skops", "-", "--json", cwd=folder, stdin=path.read_bytes()))
    assert found["texts"] == len(table)


def test_names_of_other_programs_lead_to_ours_and_hide_none_of_them(folder):
    commands = get_command(app).commands
    options = {
        name.lstrip("-") for command in commands.values() for one in command.params for name in one.opts
    }
    assert not (options | set(commands)) & set(SPELLINGS)
    assert set(SPELLINGS.values()) <= options | set(commands)
    assert our_spelling("max_features") == "max-features"
    for option in ("--threads", "--n_jobs", "--jobs", "-j"):
        assert len(predictions("m.skops", "texts.txt", option, "1", cwd=folder)) == 2
    assert (
        dropglm("inspect", "m.skops", cwd=folder)
        == dropglm("show", "m.skops", cwd=folder)
        == dropglm("explain", "m.skops", cwd=folder)
    )


def test_the_help_has_the_common_options_and_says_how_to_see_all(tmp_path):
    short = dropglm("help", "train", cwd=tmp_path)
    assert short == dropglm("train", "--help", cwd=tmp_path)
    assert "--unlabeled" in short
    assert "--max-df" not in short
    assert "dropglm train --help-all" in short
    assert "--max-df" in dropglm("train", "--help-all", cwd=tmp_path)


def test_a_dry_run_writes_the_configuration_that_trains_the_same_model(folder):
    options = ("part-1.csv", "part-2.jsonl", "--no-tune", "--ngrams", "1,1", "--l2", "0.3")
    before = sorted(folder.iterdir())
    config = dropglm("train", *options, "--out", "dry.skops", "--dry-run", cwd=folder)
    assert sorted(folder.iterdir()) == before
    assert config.startswith("# 80 texts with labels, 0 without\n# labels: ")
    assert tomllib.loads(config)["l2"] == [0.3]
    (folder / "train.toml").write_text(config)
    dropglm("train", *options, "--out", "one.skops", cwd=folder)
    dropglm("train", "--config", "train.toml", "--out", "new.skops", cwd=folder)
    assert (folder / "new.skops").read_bytes() == (folder / "one.skops").read_bytes()
    (folder / "train.toml").write_text("tables = 'all.csv'\nl2 = 0.3\nngram-range = '1'\nno-tune = true\n")
    dropglm("train", "--config", "train.toml", "--out", "new.skops", cwd=folder)
    assert (folder / "new.skops").read_bytes() == (folder / "one.skops").read_bytes()
    (folder / "train.toml").write_text("ngram = 3\n")
    error = dropglm("train", "all.csv", "--config", "train.toml", cwd=folder, code=2)
    assert "did you mean 'ngrams'" in " ".join(error.replace("│", " ").split())


def test_a_report_can_be_a_file(folder):
    out = dropglm("evaluate", "m.skops", "all.csv", "--json", "-o", "report.json", cwd=folder)
    assert json.loads((folder / "report.json").read_text()) == json.loads(out)


def test_exports_have_the_formats_of_their_names(folder):
    dropglm("export", "m.skops", "m.json", "-o", "m.pkl", cwd=folder)
    assert json.loads((folder / "m.json").read_text())
    assert (folder / "m.pkl").stat().st_size
    error = dropglm("export", "m.skops", "m.txt", cwd=folder, code=2)
    assert "must end in one of .onnx" in " ".join(error.replace("│", " ").split())


def test_options_of_other_programs_mean_ours_or_are_answered_with_ours(folder):
    """What an option names, or asks for, is what is done; otherwise the error names our option."""
    report = dropglm("evaluate", "m.skops", "all.csv", cwd=folder)
    asked = ("--data", "all.csv", "--report", "--confusion-matrix", "--errors")
    assert dropglm("evaluate", "m.skops", *asked, cwd=folder) == report
    given = [dropglm("explain", "m.skops", option, "good", cwd=folder) for option in ("--class", "--label")]
    assert given[0] == given[1]
    assert "--l2 0.1" in dropglm("train", "all.csv", "-C", "10", cwd=folder, code=2)
    assert "--max-error" in dropglm("predict", "m.skops", "x y", "--threshold", "1", cwd=folder, code=2)


@pytest.mark.parametrize(
    "piped",
    [
        b"text,label\na lovely film,bad\n",
        b'{"text": "a lovely film", "n": 1}\n',
        b"n\ttext\n1\ta lovely film\n",
    ],
)
def test_a_table_through_standard_input_is_read_as_one(folder, piped):
    expected = predictions("m.skops", "a lovely film", cwd=folder)
    assert predictions("m.skops", "-", cwd=folder, stdin=piped) == expected
    lines = b"so, text\n{text}\n"
    assert predictions("m.skops", cwd=folder, stdin=lines) == predictions(
        "m.skops", "so, text", "{ text }", cwd=folder
    )
