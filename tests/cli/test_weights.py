"""``--weight COLUMN``: every way of training, and all measures."""

import json

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix, log_loss

from dropglm import OnlineTextClassifier, TextClassifier, load_model
from tests.cli.command import dropglm, error_of, texts, write_csv

WEIGHT = "--weight", "w"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    X, y = texts(60)
    rng = np.random.default_rng(0)
    w = rng.integers(0, 5, 60) / 2
    write_csv(folder / "t.csv", zip(X, y, w, strict=True), ("text", "label", "w"))
    dropglm("train", "t.csv", *WEIGHT, "--no-tune", "--out", "m.skops", cwd=folder)
    flipped = [{"good": "bad", "bad": "good"}[label] if k % 7 == 0 else label for k, label in enumerate(y)]
    write_csv(folder / "flipped.csv", zip(X, flipped, w, strict=True), ("text", "label", "w"))
    return folder, X, np.array(y, object), w


def test_weights_are_those_of_the_column(folder, tmp_path):
    folder, X, y, w = folder
    expected = TextClassifier(tune=False, random_state=0).fit(X, y, w)
    np.testing.assert_array_equal(load_model(folder / "m.skops").model_.coef_, expected.model_.coef_)
    unweighted = TextClassifier(tune=False, random_state=0).fit(X, y)
    assert np.abs(expected.model_.coef_ - unweighted.model_.coef_).max() > 0.01
    out = dropglm("train", "t.csv", *WEIGHT, "--no-tune", "--out", tmp_path / "n.skops", cwd=folder)
    assert "those of the column 'w'" in out
    tuned = ("--folds", "2", "--l2", "0.1", "--json", "--out", "tuned.skops")
    found = json.loads(dropglm("train", "t.csv", *WEIGHT, *tuned, cwd=folder))
    expected = TextClassifier(cv=2, l2=0.1, random_state=0).fit(X, y, w)
    assert found["search"]["accuracy"] == expected.summary_.search["accuracy"]


def test_evaluate_agrees_with_scikit_learn(folder):
    folder, X, y, w = folder
    y = np.where(np.arange(60) % 7 == 0, np.where(y == "good", "bad", "good"), y)
    found = json.loads(dropglm("evaluate", "m.skops", "flipped.csv", *WEIGHT, "--json", cwd=folder))
    model = load_model(folder / "m.skops")
    p = model.predict_proba(X)
    predicted = model.classes_[p.argmax(axis=1)]
    assert found["accuracy"] == pytest.approx(accuracy_score(y, predicted, sample_weight=w))
    assert 0.5 < found["accuracy"] < 1.0
    assert found["log_loss"] == pytest.approx(log_loss(y, p, sample_weight=w), rel=1e-5)
    np.testing.assert_allclose(found["confusion"], confusion_matrix(y, predicted, sample_weight=w))
    report = classification_report(y, predicted, output_dict=True, sample_weight=w)
    for one in found["by_class"]:
        expected = report[one["label"]]
        assert one["precision"] == pytest.approx(expected["precision"])
        assert one["recall"] == pytest.approx(expected["recall"])
        assert one["f1"] == pytest.approx(expected["f1-score"])
        assert one["texts"] == (y == one["label"]).sum()
    assert (found["weighted"], found["texts"]) == (True, 60)
    out = " ".join(dropglm("evaluate", "m.skops", "flipped.csv", *WEIGHT, cwd=folder).split())
    assert "weights all measures are weighted by the column 'w'" in out
    assert "Confusion: sum of weights by true class" in out
    assert f"{found['confusion'][0][0]:.2f}" in out
    assert not json.loads(dropglm("evaluate", "m.skops", "t.csv", "--json", cwd=folder))["weighted"]


def test_online_learning_takes_them(folder):
    folder, X, y, w = folder
    options = ("--online", "--bits", "10", *WEIGHT, "--out", "o.skops", "--quiet")
    dropglm("train", "t.csv", *options, cwd=folder)
    expected = OnlineTextClassifier(bits=10).partial_fit(X, y, classes=["bad", "good"], sample_weight=w)
    np.testing.assert_array_equal(load_model(folder / "o.skops").model_.coef_, expected.model_.coef_)


def test_a_comparison_is_weighted(folder):
    folder, *_ = folder
    options = ("--folds", "2", "--l2", "1", "--baseline", "--json", "--out", "b.skops")
    found = [
        json.loads(dropglm("train", "t.csv", *weight, *options, cwd=folder))["baseline"]
        for weight in ((), WEIGHT)
    ]
    for method in ("model", "baseline"):
        one, other = (each[method]["log_loss"]["mean"] for each in found)
        assert one != other


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "row 3 (line 4) has no weight (column 'w' is empty)."),
        ("-1", "row 3 (line 4) has the weight '-1', which is not a finite number of at least 0."),
    ],
)
@pytest.mark.parametrize("mode", [("--no-tune",), ("--online",)])
def test_a_bad_weight_is_an_error_that_names_its_row(folder, tmp_path, mode, value, problem):
    rows = [("a film", "good", 1), ("b film", "", "?"), ("c film", "bad", value)]
    write_csv(tmp_path / "t.csv", rows, ("text", "label", "w"))
    error = error_of("train", "t.csv", *WEIGHT, *mode, "--quiet", cwd=tmp_path)
    assert error == f"dropglm: t.csv: {problem}"
    folder, *_ = folder
    error = error_of("evaluate", folder / "m.skops", "t.csv", *WEIGHT, "--quiet", cwd=tmp_path)
    assert error == f"dropglm: t.csv: {problem}"


def test_bad_weights_can_be_skipped_online(tmp_path):
    X, y = texts(20)
    rows = [*zip(X, y, [1] * 20, strict=True), ("lovely", "good", "heavy"), ("great", "good", "")]
    write_csv(tmp_path / "t.csv", rows, ("text", "label", "w"))
    options = ("--online", "--bad-rows", "skip", *WEIGHT, "--json", "--out", "m.skops")
    found = json.loads(dropglm("train", "t.csv", *options, cwd=tmp_path))
    assert (found["bad_rows"], sum(found["texts"].values())) == (2, 20)
    assert "row 21 (line 22) has the weight 'heavy'" in found["first_bad_rows"][0]


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (("--weight", "mass"), 3, "there is no column 'mass'"),
        (("--weight", "text"), 2, "'text' is the column with the texts."),
        (("--weight", "label"), 2, "'label' is the column with the labels."),
        (("--weight", "w", "--group", "w"), 2, "'w' is the column with the groups."),
        (("--weight", "text", "--online"), 2, "'text' is the column with the texts."),
    ],
)
def test_refusals_are_one_sentence(folder, options, code, sentence):
    error = dropglm("train", "t.csv", *options, "--quiet", "--out", "n.skops", cwd=folder[0], code=code)
    assert sentence in " ".join(error.replace("│", " ").split())


def test_all_weights_of_a_class_may_not_be_0(tmp_path):
    rows = [("a film", "good", 1), ("b film", "bad", 0), ("c film", "good", 1), ("d film", "bad", 0)]
    write_csv(tmp_path / "t.csv", rows, ("text", "label", "w"))
    error = error_of("train", "t.csv", *WEIGHT, "--no-tune", "--quiet", cwd=tmp_path)
    assert error.startswith("dropglm: t.csv: all rows of class bad have a sample_weight of 0")
