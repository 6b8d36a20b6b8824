"""Accuracy, log loss, precision, recall, confusion and calibration follow their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, f1_score, log_loss, precision_recall_fscore_support

from dropglm.text import metrics
from dropglm.text.metrics import (
    ClassMetrics,
    calibration_error,
    compute_metrics,
    metrics_from_probabilities,
)


class FixedModel:
    """A model whose texts are the probabilities to predict."""

    def __init__(self, classes):
        self.classes_, self.multilabel_ = np.array(classes), False

    def predict_proba(self, texts, embeddings=None):
        return np.array([[float(p) for p in text.split()] for text in texts], np.float32)


def test_metrics_follow_their_definitions():
    texts = ["0.95 0.05", "0.4 0.6", "0.25 0.75", "1 0", "0.65 0.35"]
    found = compute_metrics(
        FixedModel(["bad", "good"]), texts, np.array(["bad", "bad", "good", "bad", "good"])
    )
    assert found.accuracy == 3 / 5
    assert found.standard_error == pytest.approx(np.sqrt(0.6 * 0.4 / 5))
    assert found.log_loss == pytest.approx(-np.mean(np.log([0.95, 0.4, 0.75, 1.0, 0.35])), rel=1e-6)
    assert found.confusion == [[2, 1], [1, 1]]  # rows are the truth
    assert [(bin["from"], bin["texts"]) for bin in found.calibration] == [(0.6, 2), (0.7, 1), (0.9, 2)]
    assert found.calibration[-1]["to"] == 1.0
    # 0.6 and 0.65 both wrong; 0.75 right; 0.95 and 1.0 right
    assert found.calibration_error == pytest.approx((2 * 0.625 + 0.25 + 2 * 0.025) / 5, rel=1e-6)
    assert "accuracy 0.6000" in found.line()


def test_log_loss_and_confusion_are_those_of_scikit_learn(rng):
    p, y = rng.dirichlet(np.ones(4), 50), rng.integers(4, size=50)
    p[0] = np.eye(4)[(y[0] + 1) % 4]  # the truth has probability 0
    found = metrics_from_probabilities(y, p, range(4))
    assert found.log_loss == pytest.approx(log_loss(y, p, labels=range(4)), rel=1e-14)
    assert found.confusion == confusion_matrix(y, p.argmax(axis=1), labels=range(4)).tolist()


def test_confusion_has_true_classes_as_rows():
    found = compute_metrics(FixedModel([0, 1]), ["1 0"] * 3 + ["0 1"], np.array([1, 1, 1, 1]))
    assert found.confusion == [[0, 0], [3, 1]]
    assert found.frequent_mistakes[:5] == [(1, 0, 3)]


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        ([0, 1], ["0", "1"]),
        (["0", "1"], [0, 1]),
        ([False, True], ["false", "true"]),
        ([False, True], ["False", "True"]),
        (["False", "True"], [False, True]),
        (["US", "us"], ["US", "us"]),
    ],
)
def test_labels_of_another_type_match_by_spelling(classes, labels):
    found = compute_metrics(FixedModel(classes), ["1 0", "0 1"], np.array(labels))
    assert found.accuracy == 1.0


def test_labels_that_differ_in_case_do_not_match():
    found = compute_metrics(FixedModel(["US", "us"]), ["1 0", "0 1"], np.array(["US", "Us"]))
    assert (found.accuracy, found.unknown_labels) == (0.5, 1)


def test_without_any_label_that_is_a_class_there_is_an_error():
    expected = "row 1 has the label 7, which is not a class of the model, nor is any other label; its classes"
    with pytest.raises(ValueError, match=expected):
        metrics_from_probabilities([7, 8], [[1, 0], [0, 1]], ["a", "b"])


@st.composite
def predictions(draw):
    """Return labels and probabilities of two to five classes; not every class need occur."""
    K, n = draw(st.integers(2, 5)), draw(st.integers(1, 30))
    y = np.array(draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return y, rng.dirichlet(np.full(K, 0.5), size=n)


@given(predictions())
def test_precision_recall_and_f1_equal_those_of_scikit_learn(case):
    y, p = case
    K, predicted = p.shape[1], p.argmax(axis=1)
    found = metrics_from_probabilities(y, p, np.arange(K))
    expected = precision_recall_fscore_support(y, predicted, labels=range(K), zero_division=np.nan)
    for name, column in zip(("precision", "recall"), expected, strict=False):
        ours = [getattr(one, name) for one in found.by_class]
        np.testing.assert_allclose([np.nan if value is None else value for value in ours], column)
    assert [one.texts for one in found.by_class] == expected[3].tolist()
    assert found.macro_f1 == pytest.approx(f1_score(y, predicted, average="macro", zero_division=0.0))


@given(predictions(), st.data())
def test_labels_that_are_not_classes_count_as_wrong(case, data):
    """Log loss, confusion and calibration are those of the other texts."""
    y, p = case
    classes, n = np.arange(p.shape[1]), len(y)
    unknown = np.array(data.draw(st.lists(st.sampled_from([0, 0, 10, 20]), min_size=n, max_size=n)))
    unknown[data.draw(st.integers(0, n - 1))] = 0
    given, known, predicted = y + unknown, unknown == 0, p.argmax(axis=1)
    found = metrics_from_probabilities(given, p, classes)
    assert (found.texts, found.unknown_labels) == (n, n - known.sum())
    assert found.accuracy == pytest.approx(np.mean(predicted == given))
    labels = [one.label for one in found.by_class]
    assert set(labels) == {*classes.tolist(), *given[~known].tolist()}
    expected = precision_recall_fscore_support(given, predicted, labels=labels, zero_division=np.nan)
    for name, column in zip(("precision", "recall"), expected, strict=False):
        ours = [getattr(one, name) for one in found.by_class]
        np.testing.assert_allclose([np.nan if value is None else value for value in ours], column)
    assert [one.texts for one in found.by_class] == expected[3].tolist()
    assert found.macro_f1 == pytest.approx(f1_score(given, predicted, average="macro", zero_division=0.0))
    others = metrics_from_probabilities(y[known], p[known], classes)
    for name in ("log_loss", "calibration_error", "confusion", "calibration"):
        assert getattr(found, name) == getattr(others, name)
    assert calibration_error(given, p, classes) == calibration_error(y[known], p[known], classes)


@given(predictions())
def test_calibration_error_follows_its_definition(case):
    y, p = case
    top, correct = p.max(axis=1), p.argmax(axis=1) == y
    total = 0.0
    for k in range(15):
        inside = (top >= k / 15) & ((top < (k + 1) / 15) | (k == 14))
        total += abs(np.sum(top[inside]) - np.sum(correct[inside])) / len(y)
    assert calibration_error(y, p, np.arange(p.shape[1])) == pytest.approx(total, abs=1e-12)


def test_undefined_precision_and_recall_are_none():
    found = metrics_from_probabilities(["a", "a"], [[0.7, 0.3, 0], [0.6, 0.4, 0]], ["a", "b", "c"])
    assert found.by_class[1] == ClassMetrics("b", None, None, None, 0)
    assert found.macro_f1 == 1.0


def test_many_classes_have_mistakes_but_no_confusion(monkeypatch):
    """The confusion would have one entry per pair of classes: 5,000 classes took 1 GB."""
    y, classes = ["a", "a", "b", "b", "c"], ["a", "b", "c"]
    p = np.eye(3)[[0, 1, 0, 0, 2]] * 0.8 + 0.1
    few = metrics_from_probabilities(y, p, classes)
    monkeypatch.setattr(metrics, "MOST_CONFUSED", 2)
    many = metrics_from_probabilities(y, p, classes)
    assert few.confusion == [[1, 1, 0], [2, 0, 0], [0, 0, 1]]
    assert few.frequent_mistakes[:2] == many.frequent_mistakes[:2] == [("b", "a", 2), ("a", "b", 1)]
    assert (many.confusion, many.by_class) == ([], few.by_class)
