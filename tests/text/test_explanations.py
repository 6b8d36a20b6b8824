"""TextClassifier: explanations, and the n-grams with the largest weights."""

import numpy as np
import pytest

from dropglm import TextClassifier
from dropglm.text.explanation import Contribution, Explanation
from tests.text.synthetic import WORDS, random_text


@pytest.mark.parametrize("expectation", ["gaussian", "quadratic"])  # one against the rest, and multinomial
def test_contributions_and_base_add_up_to_the_predictor(rng, expectation):
    y = np.array(list(WORDS) * 20)
    texts = [random_text(label, rng) for label in y]
    model = TextClassifier(tune=False, expectation=expectation).fit(texts, y)
    explained = model.explain(texts[0] + " unheard words, UNHEARD")
    total = np.array(explained.base) + np.sum([entry.weights for entry in explained.contributions], axis=0)
    scores = model.decision_function([texts[0]])[0]
    np.testing.assert_allclose(total - total.mean(), scores - scores.mean(), rtol=1e-4, atol=1e-5)
    assert explained.unknown == ["unheard", "words", ","]
    assert explained.label == model.predict([texts[0]])[0]
    np.testing.assert_allclose(
        list(explained.probabilities.values()), model.predict_proba([texts[0]])[0], rtol=1e-5
    )
    for label, features in model.top_features(3).items():
        assert len(features) == 3
        assert {feature.ngram for feature in features} & set(WORDS[label].split())


def test_contributions_add_up_for_two_classes(fitted, corpus):
    text = corpus[0][0]
    explained = fitted.explain(text)
    total = explained.base[1] + sum(entry.weights[1] for entry in explained.contributions)
    assert total == pytest.approx(fitted.decision_function([text])[0], rel=1e-4)
    sizes = [abs(entry.weight) for entry in explained.contributions]
    assert sizes == sorted(sizes, reverse=True)
    assert all(entry.weight >= 0 for entry in explained.contributions)
    assert fitted.explain("").contributions == []


def test_multinomial_weights_are_centred_and_one_against_the_rest_weights_are_not(rng):
    y = np.array(list(WORDS) * 20)
    texts = [random_text(label, rng) for label in y]
    for expectation, multinomial in (("gaussian", False), ("quadratic", True)):
        model = TextClassifier((1, 1), tune=False, expectation=expectation).fit(texts, y)
        coef = model.model_.coef_ - model.model_.coef_.mean(axis=0) * multinomial
        columns = model.vectorizer_.vocabulary_
        for entry in model.explain(texts[0]).contributions:
            np.testing.assert_allclose(entry.weights, coef[:, columns[entry.ngram]], atol=1e-6)
            k = np.argmax(np.abs(entry.weights))
            assert (entry.label, entry.weight) == (model.classes_[k], entry.weights[k])


def test_top_features_are_ranked_by_weight_times_standard_deviation(fitted):
    words = fitted.vectorizer_
    share = words.ngrams_.document_counts / words.n_texts_
    spread = dict(zip(words.get_feature_names_out(), np.sqrt(share * (1 - share)), strict=True))
    for entries in fitted.top_features(20).values():
        effects = [entry.weight * spread[entry.ngram] for entry in entries]
        assert effects == sorted(effects, reverse=True)


def test_top_features_have_positive_weights(fitted):
    everything = fitted.top_features(10_000)
    assert all(entry.weight > 0 for entries in everything.values() for entry in entries)
    assert sum(map(len, everything.values())) <= fitted.summary_.features
    with pytest.raises(ValueError, match="k must be at least 1"):
        fitted.top_features(0)


def test_explanation_in_a_notebook_shows_label_probability_and_contributions(fitted):
    explained = fitted.explain("a lovely film, truly")
    html = explained._repr_html_()
    assert f"<strong>good</strong>, probability {explained.probability:.2f}" in html
    assert html.count("<tr>") == len(explained.contributions) + 1
    for entry in explained.contributions:
        assert f"<td>{entry.ngram}</td>" in html
        assert f"{entry.weight:+.2f}</td>" in html
    assert "Unknown words: ,, truly" in html
    assert "<table>" not in fitted.explain("")._repr_html_()


def test_explanation_in_a_notebook_escapes_texts_and_labels():
    evil = "<script>alert('x')</script>"
    contribution = Contribution(evil, evil, 1.0, [-1.0, 1.0])
    html = Explanation(evil, 0.9, {evil: 0.9, "b": 0.1}, [0.0, 0.0], [contribution], [evil])._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 4
