"""TextClassifier: the n-grams with the strongest influence on each class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dropglm import NgramVectorizer, TextClassifier
from dropglm.linear import LogisticRegression
from dropglm.text.explanation import only_words, top_ngrams
from dropglm.text.ngrams.features import Vocabulary

NAMES = np.array([f"word{j}" if j % 3 else f"word{j} ." for j in range(40)], dtype=object)


def model_of(coef, multi_class="ovr"):
    model = LogisticRegression()
    model.coef_, model.multi_class_ = coef, multi_class
    model.classes_, model.n_features_in_ = np.arange(max(2, len(coef))), coef.shape[1]
    return model


@given(
    coef=arrays(
        float, st.tuples(st.integers(1, 4).filter(lambda k: k != 2), st.just(40)), elements=st.floats(-2, 2)
    ),
    scale=arrays(float, 40, elements=st.floats(0.1, 3)),
    k=st.integers(1, 45),
)
def test_words_come_first_and_both_parts_are_ranked_by_coefficient_times_scale(coef, scale, k):
    typical = np.linspace(0.5, 2.0, 40)
    top = top_ngrams(lambda columns: NAMES[columns].tolist(), model_of(coef), typical, scale, k)
    rows = {0: -coef[0], 1: coef[0]} if len(coef) == 1 else dict(enumerate(coef))
    for label, row in rows.items():
        ranked = sorted(
            (j for j in range(40) if row[j] > 0),
            key=lambda j, row=row: (not only_words(NAMES[j]), -row[j] * scale[j], j),
        )
        assert [entry.ngram for entry in top[label]] == NAMES[ranked[:k]].tolist()
        assert [entry.weight for entry in top[label]] == (row * typical)[ranked[:k]].tolist()


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


@pytest.mark.parametrize(
    "ngram", ["don't", "3", "mp3 player", "naïve", "日本", "\N{GRINNING FACE}", "हि", "a | !"]
)
def test_letters_digits_marks_and_emoji_make_words(ngram):
    assert only_words(ngram)


@pytest.mark.parametrize(
    "ngram", ["", ".", "> _", "( a", "$ 50", "it ,", "'", "…", "\N{ZERO WIDTH JOINER}", "! | ?"]
)
def test_tokens_without_them_make_punctuation(ngram):
    assert not only_words(ngram)


class TfidfTextClassifier(TextClassifier):
    """A classifier on features of different sizes."""

    def _settings_shared_with(self, estimator):
        weighted = {"use_idf": True, "norm": "l2"} if estimator is NgramVectorizer else {}
        return super()._settings_shared_with(estimator) | weighted


def test_the_weight_of_an_ngram_is_its_mean_contribution_in_the_texts_that_contain_it(corpus):
    texts, y, more = corpus
    model = TfidfTextClassifier(tune=False).fit(texts, y, X_unlabeled=more)
    X = model.vectorizer_.transform([*texts, *more])
    column, coef = model.vectorizer_.vocabulary_, model.model_.coef_[0]
    effects = {}
    for label, sign in (("bad", -1.0), ("good", 1.0)):
        for entry in model.top_features(1000)[label]:
            values = X[:, [column[entry.ngram]]].toarray()
            mean = values[values > 0].mean()
            assert entry.weight == pytest.approx(sign * coef[column[entry.ngram]] * mean, rel=1e-5)
            share = (values > 0).mean()
            effects.setdefault(label, []).append(entry.weight * np.sqrt(share * (1.0 - share)))
        np.testing.assert_allclose(effects[label], sorted(effects[label], reverse=True))
    state = model.vectorizer_.ngrams_._to_state()
    np.testing.assert_array_equal(
        Vocabulary._from_state(state).mean_values, model.vectorizer_.ngrams_.mean_values
    )
    with pytest.raises(ValueError, match="inconsistent"):
        Vocabulary._from_state(state | {"values": state["values"][1:]})


def test_contributions_are_values_times_coefficients(corpus):
    texts, y, _ = corpus
    model = TfidfTextClassifier(tune=False).fit(texts, y)
    text = "a lovely lovely film"
    row = model.vectorizer_.transform([text]).toarray()[0]
    why = model.explain(text)
    assert len(why.contributions) == (row != 0).sum()
    for entry in why.contributions:
        j = model.vectorizer_.vocabulary_[entry.ngram]
        assert entry.value == row[j]
        assert entry.weights[1] == pytest.approx(row[j] * model.model_.coef_[0, j])
    total = why.base_difference + sum(entry.weight for entry in why.contributions)
    assert total == pytest.approx(why.difference, rel=1e-5)
    assert why.difference == pytest.approx(abs(model.decision_function([text])[0]), rel=1e-5)
