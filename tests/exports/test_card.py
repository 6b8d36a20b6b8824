"""Model cards of models of several labels."""

import pytest

from dropglm import TextClassifier
from dropglm.exports import model_card
from tests.text.synthetic import texts_with_labels

TEXTS, LABELS = texts_with_labels(90)


@pytest.mark.parametrize("settings", [{"tune": False}, {"cv": 2, "l2": 0.1}], ids=["fixed", "tuned"])
def test_a_card_has_the_labels_their_thresholds_and_the_f1(settings):
    model = TextClassifier(**settings).fit(TEXTS, LABELS)
    card, summary = model_card(model, "m"), model.summary_
    assert "Gives a text any number of 3 labels: bad, good, odd." in card
    assert "| label | texts | share |" in card
    good = summary.texts["good"]
    assert f"| good | {good} | {good / 90:.1%} |\n" in card
    assert f"| **all** | 90 |  |\n\nTexts have any number of labels; {LABELS.count([])} have none." in card
    thresholds = model.model_.thresholds_
    if thresholds is None:
        assert "labels whose probability is above 0.5" in card
    else:
        pairs = zip(model.classes_, thresholds, strict=True)
        assert "their threshold: " + ", ".join(f"{label} {t:.2f}" for label, t in pairs) in card
        assert f"- micro F1: {summary.several_labels['micro_f1']:.4f} on held-out texts" in card
    assert "class" not in card.partition("## Training data")[2].replace("class frequencies", "")


def test_a_card_of_classes_is_as_before():
    model = TextClassifier(tune=False).fit(TEXTS, [bool(labels) for labels in LABELS])
    card = model_card(model)
    assert "Assigns a text to one of 2 classes: False, True." in card
    assert "| class | texts | share |" in card
    assert "label whose" not in card
