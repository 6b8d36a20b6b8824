"""TextClassifier with n-grams of characters: predictions, explanations, top features and model files."""

from collections import Counter

import numpy as np
import pytest
from benchmarks.edited_models import rewrite
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer

from dropglm import OnlineTextClassifier, TextClassifier, load_model
from dropglm.base.model_files import ModelFileError
from dropglm.exports import model_card
from dropglm.text import characters
from tests.text.synthetic import random_text

ENDINGS = ["", "s", "ly", "!", "<br>"]


def texts_of(n, K=2, seed=0):
    """Texts whose words have various endings, with labels of which some are wrong."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["good", "bad", "odd"][:K], n)
    words = [random_text(label, rng).split() for label in y]
    texts = [" ".join(f"{word}{rng.choice(ENDINGS)}" for word in text) for text in words]
    return texts, np.where(rng.random(n) < 0.1, "bad", y)


NEW, _ = texts_of(40, 3, seed=1)
NEW += ["", "lovelyish", "zzz", "<b>dullness</b> no"]


@pytest.fixture(scope="module", params=[2, 3], ids="{} classes".format)
def model(request):
    fitted = TextClassifier(cv=2, l2=0.1).fit(*texts_of(120, request.param))
    assert fitted.summary_.characters == len(fitted._fitted.characters.vectorizer.ngrams_) > 0
    return fitted


def test_predictors_of_words_and_characters_are_added(model):
    """Those of characters are computed from counts of scikit-learn's char_wb."""
    head = model._fitted.characters
    names = head.vectorizer.get_feature_names_out()
    counts = CountVectorizer(analyzer="char_wb", ngram_range=(3, 4), vocabulary=names).transform(NEW)
    values = counts.toarray().astype(float)
    values[values > 0] = 1 + np.log(values[values > 0])
    values *= head.vectorizer.idf_
    values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-300)
    words = model.model_.decision_function(model.vectorizer_.transform(NEW))
    expected = words.reshape(len(NEW), -1) + values @ head.coef.T
    assert_allclose(model.decision_function(NEW).reshape(len(NEW), -1), expected, atol=1e-5)


def test_a_file_holds_the_characters(model, tmp_path):
    model.save(tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    assert str(again.summary_) == str(model.summary_)
    assert f"{model.summary_.characters:,} of characters" in str(again.summary_)
    assert again.top_features() == model.top_features()
    assert [str(again.explain(text)) for text in NEW] == [str(model.explain(text)) for text in NEW]
    again.save(tmp_path / "again.skops")
    assert_array_equal(load_model(tmp_path / "again.skops").predict_proba(NEW), model.predict_proba(NEW))
    assert again.characters == (3, 4)


def test_coefficients_that_do_not_match_are_refused(model, tmp_path):
    model.save(tmp_path / "m.skops")
    head = model._fitted.characters
    rewrite(tmp_path / "m.skops", lambda state: state["characters"].update(coef=head.coef[:, 1:]))
    with pytest.raises(ModelFileError, match="coefficients of characters do not match their n-grams"):
        load_model(tmp_path / "m.skops")


def ngrams_of(word):
    return [f" {word} "[k : k + n] for n in (3, 4) for k in range(len(word) + 3 - n)]


def test_the_weight_of_a_word_includes_what_its_characters_typically_add(model):
    head, words = model._fitted.characters, model.vectorizer_
    number = {name: j for j, name in enumerate(head.vectorizer.get_feature_names_out())}
    typical, own = head.vectorizer.ngrams_.mean_values, words.ngrams_.mean_values
    expected = {}
    for word, j in words.vocabulary_.items():
        weights = model.model_.coef_[:, j] * own[j]
        for ngram, count in Counter(ngrams_of(word)).items():
            if " " not in word and ngram in number:
                weights = weights + count * head.coef[:, number[ngram]] * typical[number[ngram]]
        expected[word] = np.append(-weights, weights) if len(weights) == 1 else weights - weights.mean()
    top = model.top_features(10_000)
    for k, label in enumerate(model.classes_):
        found = dict(top[label])
        assert found.keys() == {word for word, weights in expected.items() if weights[k] > 0}
        assert_allclose(list(found.values()), [expected[word][k] for word in found], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("text", NEW)
def test_contributions_add_up(model, text):
    why = model.explain(text)
    total = why.base_difference + sum(entry.weight for entry in why.contributions)
    assert total == pytest.approx(why.difference, abs=1e-5)


def test_words_that_only_their_characters_are_known_of_are_not_unknown(model):
    why = model.explain("lovelyish zzz")
    assert why.unknown == ["zzz"]
    (entry,) = why.contributions
    assert (entry.ngram, entry.value) == ("lovelyish", 0.0)


def test_online_learning_cannot_continue(model):
    with pytest.raises(ValueError, match=r"n-grams of characters, .* train it with characters=None\."):
        OnlineTextClassifier().start_from(model)


def test_a_card_mentions_characters(model):
    card = model_card(model)
    assert f"- n-grams of 3 to 4 characters within words, {model.summary_.characters:,}" in card
    assert "n-grams of a text, and of n-grams of characters within words, trained with dropglm" in card
    assert f"- n-grams of 1 to 2 tokens, {model.summary_.features:,}\n" in card
    without = model_card(TextClassifier(cv=2, l2=0.1, characters=None).fit(*texts_of(60)))
    assert "characters within words" not in without


@pytest.mark.parametrize(
    "settings",
    [{"characters": None}, {"calibrate": False}, {"analyzer": "char"}, {"tune": False, "l2": 0.1}],
    ids=str,
)
def test_models_without_characters(settings):
    model = TextClassifier(**{"cv": 2, "l2": 0.1} | settings).fit(*texts_of(60))
    assert model._fitted.characters is None
    assert model.summary_.characters == 0
    assert "of characters" not in str(model.summary_)


def test_texts_that_are_too_long_have_no_characters(monkeypatch):
    monkeypatch.setattr(characters, "MOST_CHARACTERS", 1000)
    assert TextClassifier(cv=2, l2=0.1).fit(*texts_of(60)).summary_.characters == 0
