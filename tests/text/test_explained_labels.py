"""Explanations of one of several labels per text, and of a class that is asked for."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropglm import TextClassifier
from dropglm.cli.explanation_page import explanation_page
from dropglm.plots import NgramWeightsDisplay
from tests.text.synthetic import WORDS, texts_with_labels

TEXTS, LABELS = texts_with_labels(120)


def embed(texts):
    return np.array([[len(text), text.count("e"), text.count("o")] for text in texts], float)


KINDS = {
    "fixed": lambda: TextClassifier(tune=False).fit(TEXTS, LABELS),
    "tuned, with characters": lambda: TextClassifier(cv=2, l2=0.1).fit(TEXTS, LABELS),
    "embeddings": lambda: TextClassifier(tune=False, embedder=embed).fit(TEXTS, LABELS),
}


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    return KINDS[request.param]()


words = st.sampled_from([*" ".join(WORDS.values()).split(), "a", "film", "the", "!", "new"])
any_text = st.lists(words, max_size=12).map(" ".join)


def total(why):
    embedding = 0.0 if why.embedding is None else why.embedding.weight
    return why.base_difference + embedding + sum(entry.weight for entry in why.contributions)


@given(text=any_text)
@settings(max_examples=30, deadline=None)
def test_contributions_to_a_label_add_up_to_its_log_odds(model, text):
    eta, p = model.decision_function([text])[0], model.predict_proba([text])[0]
    for k, label in enumerate(model.classes_.tolist()):
        why = model.explain(text, label=label)
        assert (why.label, why.against, why.probability) == (label, None, p[k])
        assert p[k] == pytest.approx(1.0 / (1.0 + np.exp(-why.difference)), abs=1e-6)
        assert why.difference == pytest.approx(eta[k], abs=1e-6)
        assert total(why) == pytest.approx(eta[k], abs=1e-4)
        assert (why.probability > why.threshold) == (label in why.labels)
        for entry in why.contributions:
            assert entry.weight == entry.weights[k]
        parts = [row.weight for row in why.outline(2) if row.depth == 1]
        assert sum(parts) == pytest.approx(eta[k], abs=1e-4)


@given(text=any_text)
@settings(max_examples=30, deadline=None)
def test_the_most_probable_label_is_explained_and_all_given_ones_are_listed(model, text):
    why = model.explain(text)
    assert why.probability == max(why.probabilities.values())
    assert tuple(why.labels) == model.predict([text])[0]
    thresholds = model.model_.thresholds_
    number = model.classes_.tolist().index(why.label)
    assert why.threshold == (0.5 if thresholds is None else thresholds[number])


def test_labels_with_their_probabilities_are_printed(model):
    text = "lovely fun film with dull boring cold cast"
    why = model.explain(text)
    first, *_ = str(why).splitlines()
    ranked = sorted(why.labels, key=lambda label: -why.probabilities[label])
    assert first == "labels: " + ", ".join(f"{label} {why.probabilities[label]:.2f}" for label in ranked)
    assert f"log odds of {why.label}, given above " in str(why)
    assert f"for {why.label}, largest first" in str(why)
    assert all(f"<strong>{label}</strong>" in why._repr_html_() for label in ranked)
    content = json.loads(json.dumps(why.to_dict(3)))
    assert (content["labels"], content["threshold"]) == (list(why.labels), why.threshold)


def test_a_text_may_have_none_of_the_labels():
    why = KINDS["fixed"]().explain("the")
    assert why.labels == []
    assert str(why).startswith("labels: none\n")


def test_pages_and_figures_show_both_sides_of_a_label():
    model, text = KINDS["fixed"](), "a lovely, great film of the story, dull and boring"
    why = model.explain(text, label="good")
    display = NgramWeightsDisplay.from_explanation(why)
    legend = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert legend == ["for good", "against it"]
    page = explanation_page(model._fitted_model(), "m", model.top_features(3), {text: why}, 5)
    assert f"Labels: {why.given()}. Probabilities: " in page
    assert ">against good</mark>" in page


@pytest.mark.parametrize("K", [2, 3])
@given(text=any_text)
@settings(max_examples=20, deadline=None)
def test_any_class_is_compared_with_the_most_probable_other_one(K, text):
    model = one_label_per_text(K)
    p, eta = model.predict_proba([text])[0], np.ravel(model.decision_function([text]))
    eta = np.array([0.0, eta[0]]) if K == 2 else eta
    classes = model.classes_.tolist()
    for k, label in enumerate(classes):
        why = model.explain(text, label=label)
        other = classes.index(why.against)
        assert (why.label, why.probability) == (label, p[k])
        assert p[other] == max(np.delete(p, k))
        assert why.difference == pytest.approx(eta[k] - eta[other], abs=1e-6)
        assert total(why) == pytest.approx(why.difference, abs=1e-5)
        assert "labels" not in why.to_dict()
    best = classes[int(p.argmax())]
    assert str(model.explain(text)) == str(model.explain(text, label=best))


FITTED = {}


def one_label_per_text(K):
    if K not in FITTED:
        FITTED[K] = TextClassifier(tune=False).fit(TEXTS, [len(labels) % K for labels in LABELS])
    return FITTED[K]


def test_an_unknown_label_gets_a_sentence():
    with pytest.raises(ValueError, match="label 'god' is unknown; did you mean 'good'"):
        KINDS["fixed"]().explain("a", label="god")
    with pytest.raises(ValueError, match="label '7' is unknown; known: '0', '1', '2'"):
        one_label_per_text(3).explain("a", label=7)
