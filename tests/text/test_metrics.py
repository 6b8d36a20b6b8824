"""Accuracy, log loss, confusion matrix and calibration follow their definitions."""

import numpy as np
import pytest

from dropglm.text.metrics import compute_metrics


class FixedModel:
    """A model whose texts are the probabilities to predict."""

    def __init__(self, classes):
        self.classes_ = np.array(classes)

    def predict_proba(self, texts):
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


def test_confusion_has_true_classes_as_rows():
    found = compute_metrics(FixedModel([0, 1]), ["1 0"] * 3 + ["0 1"], np.array([1, 1, 1, 1]))
    assert found.confusion == [[0, 0], [3, 1]]
    assert found.mistakes(5) == [(1, 0, 3)]


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
    with pytest.raises(ValueError, match="row 2 has the label 'Us', which is not a class of the model"):
        compute_metrics(FixedModel(["US", "us"]), ["1 0", "0 1"], np.array(["US", "Us"]))
