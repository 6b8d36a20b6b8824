"""What ``dropglm evaluate`` reports."""

import json

import numpy as np
import pytest
from sklearn.metrics import classification_report

from dropglm import TextClassifier
from tests.cli.command import dropglm, error_of, texts, write_csv


def test_evaluate_measures_accuracy_log_loss_confusion_and_calibration(place):
    result = json.loads(dropglm("evaluate", "m.skops", "test.csv", "--json", cwd=place))
    model = TextClassifier.load(place / "m.skops")
    some, labels = texts(40, seed=1)
    p = model.predict_proba(some)
    truth = np.searchsorted(model.classes_, labels)
    assert result["accuracy"] == np.mean(p.argmax(axis=1) == truth)
    assert result["log_loss"] == pytest.approx(-np.mean(np.log(p[np.arange(40), truth])), rel=1e-5)
    assert np.sum(result["confusion"]) == 40
    assert np.trace(result["confusion"]) == pytest.approx(40 * result["accuracy"])
    assert sum(bin["texts"] for bin in result["calibration"]) == 40
    out = dropglm("evaluate", "m.skops", "test.csv", cwd=place)
    assert f"{result['accuracy']:.4f}" in out
    assert "Confusion" in out


def test_labels_that_are_not_classes_of_the_model_count_as_wrong(place):
    known = list(zip(*texts(40, seed=1), strict=True))
    write_csv(place / "odd.csv", [("a film", "odd"), *known, ("lovely great fun", "odd"), ("dull", "new")])
    report = json.loads(dropglm("evaluate", "m.skops", "odd.csv", "--json", "--mistakes", "99", cwd=place))
    expected = json.loads(dropglm("evaluate", "m.skops", "test.csv", "--json", cwd=place))
    assert (report["texts"], report["unknown_labels"], expected["unknown_labels"]) == (43, 3, 0)
    assert report["accuracy"] == pytest.approx(expected["accuracy"] * 40 / 43)
    for same in ("log_loss", "calibration_error", "confusion", "calibration", "classes"):
        assert report[same] == expected[same]
    odd = {"label": "odd", "precision": None, "recall": 0.0, "f1": 0.0, "texts": 2}
    assert report["by_class"][2:] == [odd, odd | {"label": "new", "texts": 1}]
    listed = {one["row"]: one for one in report["confident_mistakes"]}
    assert (listed[42]["label"], listed[42]["label_probability"]) == ("odd", 0.0)
    out = " ".join(dropglm("evaluate", "m.skops", "odd.csv", cwd=place).split())
    assert "unknown labels 3 labels are not classes of the model, such as 'odd': counted as wrong" in out
    write_csv(place / "none.csv", [("a film", "odd"), ("b film", "new")])
    sentence = error_of("evaluate", "m.skops", "none.csv", "--quiet", cwd=place)
    assert "none.csv: row 1 has the label 'odd', which is not a class of the model, nor is any" in sentence


def test_a_table_for_validation_may_have_labels_that_are_not_classes(place):
    write_csv(place / "held.csv", [("a lovely film", "good"), ("b film", "odd")])
    common = ("train", "reviews.csv", "--validation", "held.csv", "--no-tune", "--out", "v.skops")
    report = json.loads(dropglm(*common, "--json", cwd=place))["validation"]
    assert (report["accuracy"], report["unknown_labels"]) == (0.5, 1)
    out = " ".join(dropglm(*common, cwd=place).split())
    assert "on 2 texts; 1 label is not a class of the model, such as 'odd': counted as wrong" in out


def test_evaluate_reports_precision_recall_and_f1_of_each_class(place):
    result = json.loads(dropglm("evaluate", "m.skops", "test.csv", "--json", cwd=place))
    some, labels = texts(40, seed=1)
    predicted = TextClassifier.load(place / "m.skops").predict(some)
    expected = classification_report(labels, predicted, output_dict=True)
    for one in result["by_class"]:
        found = (one["precision"], one["recall"], one["f1"], one["texts"])
        assert found == pytest.approx(tuple(expected[one["label"]].values()))
    assert result["macro_f1"] == pytest.approx(expected["macro avg"]["f1-score"])
    out = dropglm("evaluate", "m.skops", "test.csv", cwd=place)
    assert f"{result['by_class'][0]['recall']:.3f}" in out
    assert "Classes" in out


@pytest.fixture
def mislabelled(place):
    """Return a table whose rows 3 and 4 have wrong labels."""
    some = ["lovely great fun", "dull boring long", "lovely great fun warm moving", "dull"]
    write_csv(place / "wrong.csv", zip(some, ["good", "bad", "bad", "good"], strict=True))
    return "wrong.csv"


def test_evaluate_lists_the_most_confident_mistakes(place, mislabelled):
    result = json.loads(dropglm("evaluate", "m.skops", mislabelled, "--json", cwd=place))
    first, second = result["confident_mistakes"]
    assert (first["row"], first["label"], first["predicted"]) == (3, "bad", "good")
    assert (second["row"], second["label"], second["predicted"]) == (4, "good", "bad")
    assert first["probability"] > second["probability"]
    assert first["text"] == "lovely great fun warm moving"
    out = dropglm("evaluate", "m.skops", mislabelled, "--mistakes", "1", cwd=place)
    assert "Most confident mistakes" in out
    assert "moving" in out
    assert f"{second['probability']:.2f} │" not in out
    assert "mistakes" not in dropglm("evaluate", "m.skops", mislabelled, "--mistakes", "0", cwd=place)


def test_evaluate_shows_the_beginning_of_long_texts(place):
    write_csv(place / "long.csv", [("lovely great fun\n" * 50, "bad"), ("dull", "bad")])
    out = dropglm("evaluate", "m.skops", "long.csv", cwd=place)
    assert "…" in out
    assert out.count("lovely") < 10


def test_evaluate_of_many_classes_lists_the_worst(tmp_path):
    rows = [(f"word{k} word{k} film", f"class {k:02}") for k in range(25)] * 4
    write_csv(tmp_path / "many.csv", rows)
    dropglm("train", "many.csv", "--no-tune", "--out", "many.skops", cwd=tmp_path)
    write_csv(tmp_path / "one.csv", [("word3 film", "class 07"), *rows[:20]])
    out = dropglm("evaluate", "many.skops", "one.csv", cwd=tmp_path)
    assert "Classes: the 20 with the lowest F1" in out
    assert "Most frequent mistakes" in out
    assert "class 24" not in out
