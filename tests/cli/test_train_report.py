"""What ``dropglm train`` tells: suspicious labels, and a comparison with a baseline."""

import csv
import json
import re

import numpy as np
import polars as pl
import pytest

from dropglm import TextClassifier
from dropglm.text import suspicious_labels
from tests.cli.command import dropglm, error_of, run, texts, write_csv

WRONG = (3, 10)  # rows of wrong.csv with wrong labels, counted from 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    some, labels = texts(40)
    labels = list(labels)
    for row in WRONG:
        labels[row - 1] = {"good": "bad", "bad": "good"}[labels[row - 1]]
    write_csv(folder / "wrong.csv", zip(some, labels, strict=True))
    return folder


@pytest.fixture
def out_of_fold(monkeypatch):
    """Let every model have predicted the true classes of the texts out of fold."""
    words = {"good": ("lovely", "great", "fun", "moving", "warm"), "bad": ("dull", "boring", "long", "weak")}
    fit = TextClassifier.fit

    def fit_and_remember(self, X, y, **settings):
        score = [
            sum(w in words["good"] for w in x.split()) - sum(w in words["bad"] for w in x.split()) for x in X
        ]
        p = 1.0 / (1.0 + np.exp(-3.0 * np.array(score)))
        self.predicted = np.column_stack([1.0 - p, p])
        return fit(self, X, y, **settings)

    monkeypatch.setattr(TextClassifier, "fit", fit_and_remember)
    monkeypatch.setattr(
        TextClassifier, "cv_probabilities_", property(lambda self: self.predicted), raising=False
    )


TRAIN = "train", "wrong.csv", "--l2", "1", "--dropout", "0.5", "--folds", "2", "--out", "m.skops"


@pytest.mark.usefixtures("out_of_fold")
@pytest.mark.parametrize("held_out", [(), ("--validation", "0.2")], ids=["all", "some"])
def test_suspicious_labels_are_listed_with_their_rows(folder, held_out):
    result = json.loads(dropglm(*TRAIN, *held_out, "--json", "--quiet", cwd=folder))["suspicious_labels"]
    assert result["found"] == len(result["listed"]) > 0
    some, _ = texts(40)
    for one in result["listed"]:
        assert one["row"] in WRONG
        assert one["text"] == some[one["row"] - 1]
        assert {one["label"], one["predicted"]} == {"good", "bad"}


@pytest.mark.usefixtures("out_of_fold")
def test_suspicious_labels_are_printed_and_written(folder):
    out = dropglm(*TRAIN, "--suspicious", "1", "--suspicious-out", "labels.csv", cwd=folder)
    assert "Labels that may be wrong, by models trained on the other folds: 1 of 2" in " ".join(out.split())
    table = pl.read_csv(folder / "labels.csv")
    assert table.columns == ["row", "text", "label", "predicted", "probability", "label_probability"]
    assert sorted(table["row"].to_list()) == list(WRONG)
    out = dropglm(*TRAIN, "--suspicious", "0", cwd=folder)
    assert "may be wrong" not in out


@pytest.mark.usefixtures("out_of_fold")
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_table_without_suspicious_labels_has_its_columns(folder, suffix):
    write_csv(folder / "right.csv", zip(*texts(40), strict=True))
    dropglm("train", "right.csv", *TRAIN[2:], "--suspicious-out", f"none.{suffix}", cwd=folder)
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet}.get(suffix)
    if read is None:
        assert (folder / "none.jsonl").read_text() == ""
    else:
        table = read(folder / f"none.{suffix}")
        assert (table.height, table.columns[:3]) == (0, ["row", "text", "label"])


def test_suspicious_labels_are_those_of_the_cross_validation(folder):
    """Also if every setting is given: texts are held out to blend the model with naive Bayes."""
    fixed = "--l2-weights", "uniform", "--discount", "0.1", "--min-df", "1"
    shown = "--suspicious", "40", "--suspicious-out", "found.csv", "--json", "--quiet"
    result = json.loads(dropglm(*TRAIN, *fixed, *shown, cwd=folder))["suspicious_labels"]
    with open(folder / "wrong.csv", newline="") as file:
        some, labels = zip(*[(row["text"], row["label"]) for row in csv.DictReader(file)], strict=True)
    settings = {"l2": 1.0, "dropout": 0.5, "l2_weights": "uniform", "discount": 0.1, "cv": 2}
    model = TextClassifier(**settings, min_df=1).fit(some, labels)
    assert model.cv_probabilities_.shape == (40, 2)
    expected = suspicious_labels(some, labels, model.cv_probabilities_, model.classes_, k=None)
    assert len(expected) > 0
    assert [one["row"] for one in result["listed"]] == [one.row + 1 for one in expected]
    for one, other in zip(result["listed"], expected, strict=True):
        assert one["label_probability"] == pytest.approx(other.label_probability, rel=1e-5)
    assert set(WRONG) & {one["row"] for one in result["listed"]}
    assert pl.read_csv(folder / "found.csv")["row"].to_list() == [one.row + 1 for one in expected]


def test_suspicious_labels_need_texts_to_hold_out(tmp_path):
    write_csv(tmp_path / "two.csv", [("lovely film", "good"), ("dull film", "bad")])
    command = "train", "two.csv", "--min-df", "1", "--suspicious-out", "none.csv", "--quiet", "--out", "m"
    done = run(*command, cwd=tmp_path)
    assert done.exit_code == 0
    assert done.stderr == "dropglm: warning: none.csv was not written, since no settings were tuned.\n"


def test_suspicious_labels_need_tuning(folder):
    done = run(*TRAIN, "--no-tune", "--suspicious", "3", cwd=folder)
    assert done.exit_code == 2
    assert "--suspicious" in done.stderr
    result = json.loads(dropglm(*TRAIN, "--no-tune", "--json", "--quiet", cwd=folder))
    assert result["suspicious_labels"] is None


@pytest.mark.parametrize("out", ["wrong.csv", "labels.xyz", "missing/labels.csv"])
def test_table_of_suspicious_labels_is_checked_before_any_work(folder, out):
    done = run(*TRAIN, "--suspicious-out", out, cwd=folder)
    assert done.exit_code == 2
    assert "--suspicious-out" in done.stderr
    assert "--out-format" not in done.stderr


def test_model_is_compared_with_the_baseline(folder):
    result = json.loads(dropglm(*TRAIN, "--no-tune", "--baseline", "--json", "--quiet", cwd=folder))
    found = result["baseline"]
    assert (found["folds"], found["texts"]) == (2, 40)
    for score in ("accuracy", "log_loss"):
        means = [found[name][score]["mean"] for name in ("model", "baseline", "difference")]
        assert means[0] - means[1] == pytest.approx(means[2])
    out = dropglm(*TRAIN, "--no-tune", "--baseline", cwd=folder)
    for expected in ("Comparison over 2 folds", "tf-idf and logistic regression", "difference"):
        assert expected in out
    assert f"{found['baseline']['accuracy']['mean']:.4f} ± " in out


def test_baseline_needs_three_texts_of_each_class(folder):
    write_csv(folder / "few.csv", [*zip(*texts(10), strict=True), ("odd film", "odd"), ("odd cast", "odd")])
    error = error_of("train", "few.csv", "--baseline", "--out", "few.skops", "--quiet", cwd=folder)
    assert error == (
        "dropglm: few.csv: class odd has only 2 texts; a comparison with the baseline needs at least 3 texts "
        "of each class."
    )
    assert not (folder / "few.skops").exists()


def test_a_log_says_how_long_the_stages_took(place):
    command = "train", "reviews.csv", "--no-tune", "--out", "log.skops"
    lines = run(*command, cwd=place).stderr.splitlines()
    (line,) = lines
    assert re.fullmatch(r"Took \d+\.\d s(: (.+ \d+\.\d s(, )?)+)?\.", line)
    assert run(*command, "--quiet", cwd=place).stderr == ""


def test_held_out_texts_have_measures_by_class(folder, tmp_path):
    report = json.loads(dropglm(*TRAIN, "--json", cwd=folder))
    assert report["held_out"]["accuracy"] == pytest.approx(report["search"]["accuracy"])
    assert [one["label"] for one in report["held_out"]["by_class"]] == ["bad", "good"]
    assert "on held-out texts" not in dropglm(*TRAIN, cwd=folder)
    some = [(f"{word} {number % 7} film", word) for word in ("good", "bad", "odd") for number in range(8)]
    write_csv(tmp_path / "three.csv", some)
    assert "Classes, on held-out texts" in dropglm("train", "three.csv", "--folds", "2", cwd=tmp_path)
