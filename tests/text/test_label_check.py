"""Confident mistakes and suspicious labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_predict

from dropglm import TextClassifier
from dropglm.text.metrics import confident_mistakes, suspicious_labels
from tests.text.synthetic import random_text


@st.composite
def predictions(draw):
    K, n = draw(st.integers(2, 4)), draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return [f"text {k}" for k in range(n)], rng.integers(K, size=n), rng.dirichlet(np.ones(K), size=n)


@given(predictions(), st.integers(0, 5))
def test_mistakes_are_the_wrong_predictions_in_order_of_confidence(case, k):
    X, y, p = case
    found = confident_mistakes(X, y, p, np.arange(p.shape[1]))
    assert {one.row for one in found} == set(np.flatnonzero(p.argmax(axis=1) != y))
    assert [one.probability for one in found] == sorted((one.probability for one in found), reverse=True)
    for one in found:
        assert (one.text, one.label, one.predicted) == (X[one.row], y[one.row], p[one.row].argmax())
        assert (one.probability, one.label_probability) == (p[one.row].max(), p[one.row, y[one.row]])
    assert confident_mistakes(X, y, p, np.arange(p.shape[1]), k) == found[:k]


@given(predictions())
def test_suspicious_labels_are_the_least_probable_for_their_class_as_many_as_disagree_confidently(case):
    X, y, p = case
    K = p.shape[1]
    usual = [p[y == k, k].mean() if (y == k).any() else np.inf for k in range(K)]
    mistakes = confident_mistakes(X, y, p, np.arange(K))
    confident = [one for one in mistakes if one.probability >= usual[one.predicted]]
    better_than_the_largest_class = (p.argmax(axis=1) == y).mean() > np.bincount(y).max() / len(y)
    expected = sorted(mistakes, key=lambda one: one.label_probability / usual[one.label])[: len(confident)]
    found = suspicious_labels(X, y, p, np.arange(K), k=None)
    assert found == (expected if better_than_the_largest_class else [])
    assert suspicious_labels(X, y, p, np.arange(K), k=2) == found[:2]


def test_exchanged_labels_are_found(rng):
    truth = np.array(["good", "bad", "odd"] * 40)
    texts = [" ".join(random_text(label, rng) for _ in range(3)) for label in truth]
    y = truth.copy()
    flipped = rng.choice(len(y), 6, replace=False)
    y[flipped] = [{"good": "bad", "bad": "odd", "odd": "good"}[label] for label in truth[flipped]]
    model = TextClassifier(tune=False, l2=1.0)
    p = cross_val_predict(model, texts, y, cv=5, method="predict_proba")
    found = suspicious_labels(texts, y, p, np.unique(y))
    assert {one.row for one in found} <= set(flipped.tolist())
    assert len(found) > len(flipped) / 2
    worst = confident_mistakes(texts, y, p, np.unique(y))
    assert {one.row for one in worst} == set(flipped.tolist())
    assert [one.predicted for one in found] == truth[[one.row for one in found]].tolist()


def test_texts_without_a_prediction_are_left_out():
    p = np.array([[0.9, 0.1], [np.nan, np.nan], [0.2, 0.8]])
    assert [one.row for one in confident_mistakes("abc", [1, 1, 0], p, [0, 1])] == [0, 2]
    p, y = np.vstack([p, np.eye(2).repeat(3, axis=0)]), [1, 1, 1, 0, 0, 0, 1, 1, 1]
    assert [one.row for one in suspicious_labels("abcdefghi", y, p, [0, 1])] == []
    p[0] = 1.0, 0.0
    assert [one.row for one in suspicious_labels("abcdefghi", y, p, [0, 1])] == [0]


def test_arrays_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"probabilities must have shape \(2, 2\) and y must have 2 labels"):
        suspicious_labels(["a", "b"], [0, 1], [[0.5, 0.5]], [0, 1])


def test_labels_that_are_not_classes_are_mistakes_but_not_suspicious():
    X, p = ["a", "b"], [[0.9, 0.1], [0.2, 0.8]]
    (found,) = confident_mistakes(X, ["new", "two"], p, ["one", "two"])
    assert (found.row, found.label, found.predicted, found.label_probability) == (0, "new", "one", 0.0)
    with pytest.raises(ValueError, match="row 1 has the label 'new', which is not a class of the model; its"):
        suspicious_labels(X, ["new", "two"], p, ["one", "two"])
