"""Predictions with a guarantee on the command line: what is answered, what is left open, and what is said."""

import json

import numpy as np
import pytest

from dropglm import TextClassifier
from tests.cli.command import dropglm, error_of, run, texts, write_csv


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a model that has been evaluated with --guarantee, and tables."""
    folder = tmp_path_factory.mktemp("guarantees")
    for name, n, seed in (("train", 120, 0), ("held-out", 200, 1), ("new", 60, 2)):
        some, labels = texts(n, seed=seed)
        wrong = np.random.default_rng(seed).random(n) < 0.08
        other = {"good": "bad", "bad": "good"}
        labels = [other[label] if flip else label for label, flip in zip(labels, wrong, strict=True)]
        write_csv(folder / f"{name}.csv", zip(some, labels, strict=True))
    dropglm("train", "train.csv", "--no-tune", "--out", "m.skops", "-q", cwd=folder)
    dropglm("train", "train.csv", "--no-tune", "--out", "bare.skops", "-q", cwd=folder)
    done = run("evaluate", "m.skops", "held-out.csv", "--guarantee", cwd=folder)
    assert "the guarantees of m.skops now rest on 200 texts of held-out.csv." in done.stderr
    return folder


def test_open_texts_have_no_label_and_are_counted(folder):
    done = run("predict", "m.skops", "new.csv", "--max-error", "0.2", cwd=folder)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    model = TextClassifier.load(folder / "m.skops")
    rule = model.selective(0.2, 0.9)
    assert rule.is_guarantee
    assert rule.threshold is not None
    expected = rule.predict(texts(60, seed=2)[0])
    assert [row["predicted"] for row in rows] == expected.tolist()
    n_open = sum(label is None for label in expected)
    assert f"left open: {n_open} of 60 texts" in done.stderr
    assert str(rule).splitlines()[0] in done.stderr
    strict = run("predict", "m.skops", "new.csv", "--max-error", "0.001", cwd=folder)
    assert "at least 2,302 are needed" in strict.stderr
    assert "left open: 60 of 60 texts (100.0 %)" in strict.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_every_format_has_open_rows_and_sets(folder, suffix, tmp_path):
    import polars as pl

    out = tmp_path / f"out.{suffix}"
    dropglm(
        *("predict", "m.skops", "new.csv", "--max-error", "0.15", "--sets", "0.95", "--out", out), cwd=folder
    )
    readers = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}
    frame = readers[suffix](out)
    model = TextClassifier.load(folder / "m.skops")
    some = texts(60, seed=2)[0]
    assert frame["predicted"].to_list() == model.selective(0.15).predict(some).tolist()
    sets = [list(labels) for labels in model.predict_sets(some, 0.95)]
    assert frame["labels"].to_list() == ([";".join(row) for row in sets] if suffix == "csv" else sets)


def test_the_report_of_train_begins_with_what_the_model_may_be_used_for(folder):
    common = ("train", "train.csv", "--no-characters", "--out", "v.skops")
    report = dropglm(*common, cwd=folder)
    assert report.splitlines()[0].startswith("use")
    found = json.loads(dropglm(*common, "--validation", "held-out.csv", "--json", cwd=folder))
    assert (found["use"]["kind"], found["use"]["rows"]) == ("guarantee", 200)
    assert found["use"]["accuracy"] == found["validation"]["accuracy"]
    assert TextClassifier.load(folder / "v.skops").selective(0.2).is_guarantee
    plain = json.loads(dropglm(*common, "--json", cwd=folder))
    assert plain["use"]["kind"] == "estimate"
    assert plain["use"]["interval"] == plain["search"]["accuracy_interval"]


def test_related_rows_give_an_estimate(folder, tmp_path):
    some, labels = texts(80, seed=0)
    groups = [f"author {number % 20}" for number in range(80)]
    write_csv(tmp_path / "g.csv", zip(some, labels, groups, strict=True), header=("text", "label", "by"))
    common = ("train", "g.csv", "--group", "by", "--validation", "0.3", "--no-tune", "--out", "g.skops")
    assert json.loads(dropglm(*common, "--json", cwd=tmp_path))["use"]["kind"] == "estimate"


def test_evaluate_compares_the_share_of_answers_with_tf_idf(folder):
    common = ("evaluate", "bare.skops", "held-out.csv", "--baseline", "train.csv")
    report = json.loads(dropglm(*common, "--json", cwd=folder))
    ours, theirs = report["answered"].values()
    assert [one["error"] for one in ours] == [one["error"] for one in theirs] == [0.01, 0.05, 0.1]
    assert ours[0]["share"] <= ours[1]["share"] <= ours[2]["share"] <= 1.0
    out = dropglm(*common, cwd=folder)
    assert out.splitlines()[0].startswith("use")
    assert "tf-idf and logistic regression" in out


def test_texts_of_another_kind_are_noticed(folder, tmp_path):
    write_csv(tmp_path / "odd.csv", [("zwölf boxkämpfer jagen viktor quer über den deich", "good")] * 20)
    for command in ("predict", "evaluate"):
        done = run(command, folder / "m.skops", "odd.csv", cwd=tmp_path)
        assert "warning: the texts are unlike the training texts: 20 of 20 texts" in done.stderr
        done = run(command, folder / "m.skops", folder / "new.csv", cwd=tmp_path)
        assert "unlike" not in done.stderr


def test_what_cannot_be_used_is_refused_with_one_sentence(folder):
    sentence = error_of("predict", "bare.skops", "new.csv", "--max-error", "0.1", cwd=folder)
    assert "no predictions for held-out texts" in sentence
    for options in (["--max-error", "1"], ["--sets", "0"], ["--max-error", "0.1", "--confidence", "2"]):
        assert run("predict", "m.skops", "new.csv", *options, cwd=folder).exit_code == 2
    for options in (["--sets", "0.9", "--top-k", "2"], ["--sets", "0.9", "--keep", "labels"]):
        assert run("predict", "m.skops", "new.csv", *options, cwd=folder).exit_code == 2


def test_texts_that_are_trained_on_guarantee_nothing(folder):
    done = run(
        *("train", "train.csv", "--validation", "train.csv", "--no-tune", "--out", "own.skops"), cwd=folder
    )
    assert "120 of the 120 texts of --validation are also trained on" in done.stderr
    assert not TextClassifier.load(folder / "own.skops").selective(0.2).is_guarantee
