"""TextClassifier: the n-grams with the strongest influence on each class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dropglm.estimators import LogisticRegression
from dropglm.text.top_ngrams import top_ngrams
from dropglm.text.words import only_words

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
