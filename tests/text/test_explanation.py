"""TextClassifier and OnlineTextClassifier: explanations of a text."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from dropglm import OnlineTextClassifier, TextClassifier
from dropglm.text.explanation import Contribution, Explanation
from tests.text.synthetic import WORDS, random_text

KINDS = {
    "two classes": TextClassifier(tune=False),
    "one against the rest": TextClassifier(tune=False),
    "multinomial": TextClassifier(tune=False, expectation="quadratic"),
    "characters, two classes": TextClassifier(cv=2, l2=0.1),
    "characters": TextClassifier(cv=2, l2=0.1),
    "online, two classes": OnlineTextClassifier(bits=10),
    "online": OnlineTextClassifier(bits=10),
    "online, most columns shared by several n-grams": OnlineTextClassifier(bits=3),
}


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    return fit(request.param)


def fit(kind):
    rng = np.random.default_rng(0)
    labels = ["good", "bad"] if "two" in kind else ["good", "bad", "odd"]
    texts = [f"{random_text(label, rng)} !" for label in labels * 20]
    return clone(KINDS[kind]).fit(texts, labels * 20)


any_text = st.lists(
    st.sampled_from([*" ".join(WORDS.values()).split(), "a", "film", "the", "!", ",", "new"])
).map(" ".join)


def predictors_of(model, text):
    """Return the predictor of each class; for two classes, that of the first is 0."""
    scores = np.ravel(model.decision_function([text]))
    return np.array([0.0, scores[0]]) if len(scores) == 1 else scores


@given(text=any_text)
@settings(max_examples=30, deadline=None)
def test_contributions_and_base_add_up_to_the_difference_of_the_predictors(model, text):
    why = model.explain(text)
    classes, probabilities = model.classes_.tolist(), model.predict_proba([text])[0]
    first, second = classes.index(why.label), classes.index(why.against)
    scores = predictors_of(model, text)
    assert why.label == model.predict([text])[0]
    assert (why.probabilities[why.label], why.probabilities[why.against]) == tuple(
        np.sort(probabilities)[:-3:-1].tolist()
    )
    assert why.difference == pytest.approx(scores[first] - scores[second], abs=1e-5)
    total = why.base_difference + sum(entry.weight for entry in why.contributions)
    assert total == pytest.approx(why.difference, abs=1e-5)
    if model.model_.multi_class_ == "multinomial" or len(classes) == 2:
        assert why.difference == pytest.approx(np.log(probabilities[first] / probabilities[second]), abs=1e-4)


@given(text=any_text)
@settings(max_examples=30, deadline=None)
def test_contributions_to_each_class_add_up_to_its_predictor(model, text):
    why = model.explain(text)
    total = np.array(why.base) + sum(np.array(entry.weights) for entry in why.contributions)
    scores = np.ravel(model.decision_function([text]))
    if len(scores) == 1:
        scores = np.array([-scores[0], scores[0]])
    centre = scores.mean() if model.model_.multi_class_ == "multinomial" else 0.0
    np.testing.assert_allclose(total, scores - centre, atol=1e-5)
    for entry in why.contributions:
        by_class = dict(zip(why.probabilities, entry.weights, strict=True))
        against = by_class[why.against] if len(by_class) > 2 else 0.0  # the only other class adds nothing
        assert entry.weight == pytest.approx(by_class[why.label] - against, abs=1e-6)


@given(text=any_text, k=st.integers(0, 12))
@settings(max_examples=30, deadline=None)
def test_each_row_of_the_outline_is_the_sum_of_those_one_level_deeper(model, text, k):
    rows = model.explain(text).outline(k)
    for depth in range(2) if k else range(1):
        above = [number for number, row in enumerate(rows) if row.depth == depth]
        for number, end in zip(above, [*above[1:], len(rows)], strict=True):
            parts = [row.weight for row in rows[number:end] if row.depth == depth + 1]
            if parts:
                assert sum(parts) == pytest.approx(rows[number].weight, abs=1e-5)
    assert len(rows) <= 3 + 3 + 2 * (k + 1) + 4


@given(text=any_text)
@settings(max_examples=30, deadline=None)
def test_every_contribution_is_on_one_side_or_has_punctuation(model, text):
    why = model.explain(text)
    assert all(entry.weight > 0 for entry in why.supporting)
    assert all(entry.weight < 0 for entry in why.opposing)
    groups = [why.supporting, why.opposing, why.punctuation]
    zeros = [entry for entry in why.contributions if entry.weight == 0 and entry not in why.punctuation]
    assert sorted(sum(groups, zeros)) == sorted(why.contributions)
    for entries in (why.contributions, *groups):
        sizes = [abs(entry.weight) for entry in entries]
        assert sizes == sorted(sizes, reverse=True)
    assert {entry.ngram for entry in why.punctuation} & {"!", ","} == {
        entry.ngram for entry in why.contributions
    } & {"!", ","}


def test_multinomial_weights_are_centred_and_one_against_the_rest_weights_are_not():
    for name, multinomial in (("one against the rest", False), ("multinomial", True)):
        model = fit(name)
        coef = model.model_.coef_ - model.model_.coef_.mean(axis=0) * multinomial
        columns = model.vectorizer_.vocabulary_
        for entry in model.explain("a lovely film").contributions:
            expected = entry.value * coef[:, columns[entry.ngram]]
            np.testing.assert_allclose(entry.weights, expected, atol=1e-6)


def test_unknown_words_are_listed_in_their_order(fitted):
    assert fitted.explain("a lovely unheard words, UNHEARD").unknown == ["unheard", "words", ","]


def test_a_text_without_features_has_only_the_intercept(fitted):
    why = fitted.explain("")
    assert why.contributions == []
    assert why.difference == why.base_difference == abs(fitted.model_.intercept_[0])
    assert [row.name for row in why.outline()] == [
        f"log odds of {why.label} against {why.against}",
        "intercept",
    ]


def test_an_explanation_in_print_names_the_classes_and_what_is_not_shown():
    weights = [0.5, -0.4, *[0.01] * 12, -0.1]
    names = ["lovely", "dull", *(f"word{k}" for k in range(12)), "! !"]
    entries = [
        Contribution(name, weight, 1.0, [weight, 0.0, 0.0])
        for name, weight in zip(names, weights, strict=True)
    ]
    unknown = [f"new{k}" for k in range(22)]
    probabilities = {"good": 0.6, "bad": 0.1, "odd": 0.2, "x": 0.06, "y": 0.04}
    why = Explanation("good", 0.6, "odd", probabilities, 0.22, 0.1, [0.1, 0.0, 0.0], entries, unknown)
    assert str(why).splitlines() == [
        "probabilities: good 0.60, odd 0.20, bad 0.10, 2 others 0.10",
        "predictor of good minus that of odd: +0.22, the sum of",
        "  for good, largest first     +0.62",
        "    lovely                    +0.50",
        *(f"    word{k}                     +0.01" for k in range(9)),
        "    3 others                  +0.03",
        "  for odd, largest first      -0.40",
        "    dull                      -0.40",
        "  punctuation, largest first  -0.10",
        "    ! !                       -0.10",
        "  intercept                   +0.10",
        f"unknown: {', '.join(unknown[:20])} and 2 more",
    ]


def test_an_explanation_can_be_written_as_json(fitted):
    why = fitted.explain("a lovely film, truly")
    content = json.loads(json.dumps(why.to_dict()))
    assert content["against"] == why.against
    assert content["difference"] == why.difference
    assert content["probabilities"] == why.probabilities
    assert [Contribution(**entry) for entry in content["contributions"]] == why.contributions


def test_an_explanation_in_a_notebook_shows_probabilities_and_contributions(fitted):
    why = fitted.explain("a lovely film, truly")
    html = why._repr_html_()
    assert f"<strong>good</strong> {why.probability:.2f}, bad {1 - why.probability:.2f}" in html
    shown = [re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?</td>", html)]
    assert list(zip(shown[::2], shown[1::2], strict=True)) == [
        (row.name, f"{row.weight:+.2f}") for row in why.outline()
    ]
    assert "Unknown words: ,, truly" in html


def test_an_explanation_in_a_notebook_escapes_texts_and_labels():
    evil = "<script>alert('x')</script>"
    contribution = Contribution(evil, 1.0, 1.0, [-1.0, 1.0])
    why = Explanation(evil, 0.9, "b", {evil: 0.9, "b": 0.1}, 1.0, 0.0, [0.0, 0.0], [contribution], [evil])
    html = why._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 5
