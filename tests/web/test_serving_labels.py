"""The service with several labels per text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropglm import TextClassifier
from dropglm.web.serving import TextService
from tests.text.synthetic import texts_with_labels
from tests.web.client import ask
from tests.web.test_serving import ANY_TEXT, ODD, served

TEXTS, LISTS = texts_with_labels(90)


@pytest.fixture(scope="module")
def several():
    return TextClassifier(cv=2, l2=0.1).fit(TEXTS, LISTS)


@pytest.fixture(scope="module")
def several_address(several):
    with served(several) as address:
        yield address


any_texts = st.lists(st.one_of(ANY_TEXT, st.sampled_from(TEXTS + ODD)), max_size=5)


@settings(max_examples=20, deadline=None)
@given(any_texts)
def test_labels_and_probabilities_are_those_of_the_model(several, several_address, texts):
    found = ask(several_address, "/predict", {"texts": texts}).json["predictions"]
    assert [tuple(one["labels"]) for one in found] == (several.predict(texts).tolist() if texts else [])
    p = np.array([list(one["probabilities"].values()) for one in found])
    np.testing.assert_allclose(p, several.predict_proba(texts) if texts else np.empty(0), rtol=1e-6)
    assert all(one.keys() == {"labels", "probabilities"} for one in found)


@settings(max_examples=20, deadline=None)
@given(st.one_of(ANY_TEXT, st.sampled_from(TEXTS + ODD)), st.sampled_from(["good", "bad", "odd", None]))
def test_explanations_of_a_label_add_up(several, several_address, text, label):
    request = {"texts": [text], "top": 3} | ({} if label is None else {"label": label})
    (why,) = ask(several_address, "/explain", request).json["explanations"]
    expected = several.explain(text, label=label)
    assert (why["label"], why["labels"]) == (expected.label, expected.labels)
    parts = [entry["weight"] for entry in why["contributions"]]
    total = why["base_difference"] + sum(parts) + why["others"]["weight"]
    assert total == pytest.approx(why["difference"], abs=1e-5)
    p = why["probabilities"][why["label"]]
    assert (p > why["threshold"]) == (why["label"] in why["labels"])


def test_the_service_says_that_there_are_several_labels(several, several_address):
    health = ask(several_address, "/health").json
    assert (health["multilabel"], health["classes"]) == (True, ["bad", "good", "odd"])
    one = TextClassifier(tune=False).fit(TEXTS, [bool(labels) for labels in LISTS])
    assert "multilabel" not in TextService(one, "m").health()


def test_an_unknown_label_is_refused(several_address):
    answer = ask(several_address, "/explain", {"texts": ["a"], "label": "god"})
    assert answer.status == 422
    assert "did you mean 'good'" in answer.json["error"]


def test_labels_of_an_indicator_matrix_are_numbers():
    Y = np.array([[label in labels for label in ("bad", "good")] for labels in LISTS], int)
    model = TextClassifier(tune=False).fit(TEXTS, Y)
    found = TextService(model, "m").predict({"texts": TEXTS})["predictions"]
    assert [one["labels"] for one in found] == [np.flatnonzero(row).tolist() for row in model.predict(TEXTS)]
    assert found[0]["probabilities"].keys() == {"0", "1"}
