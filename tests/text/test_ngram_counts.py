"""Counts of parts of the texts: their sum gives the same features as all texts at once."""

import pickle
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm import NgramVectorizer

words = st.text(st.sampled_from("abé'京"), min_size=1, max_size=2)
texts = st.lists(st.lists(words, max_size=8).map(" ".join), max_size=5)
ranges = st.tuples(st.integers(1, 3), st.integers(1, 3)).map(lambda pair: tuple(sorted(pair)))


@given(
    parts=st.lists(texts, min_size=1, max_size=4),
    ngram_range=ranges,
    min_df=st.one_of(st.integers(1, 3), st.floats(0.0, 0.5)),
    max_df=st.one_of(st.integers(2, 6), st.floats(0.5, 1.0)),
    max_features=st.one_of(st.none(), st.integers(1, 5)),
    binary=st.booleans(),
    use_idf=st.booleans(),
    n_jobs=st.integers(1, 2),
)
def test_sums_of_counts_give_the_fit_on_all_texts(parts, n_jobs, **settings):
    whole = NgramVectorizer(**settings)
    everything = [text for part in parts for text in part]
    merged = NgramVectorizer(**settings)
    counts = [NgramVectorizer(settings["ngram_range"], n_jobs=n_jobs).count(part) for part in parts]
    total = reduce(add, counts)
    assert total.n_texts == len(everything)
    try:
        whole.fit(everything)
    except ValueError:
        with pytest.raises(ValueError, match="empty vocabulary"):
            merged.fit_counts(total)
        return
    merged.fit_counts(pickle.loads(pickle.dumps(total)))
    assert merged.n_texts_ == whole.n_texts_
    for name, array in whole.ngrams_._to_state().items():
        np.testing.assert_array_equal(merged.ngrams_._to_state()[name], array)
    np.testing.assert_array_equal(
        merged.transform(everything).toarray(), whole.transform(everything).toarray()
    )


def test_counts_are_the_column_sums_of_the_matrix():
    some = ["one two two", "two", "three one", "two one"]
    vectorizer = NgramVectorizer((1, 2), binary=False)
    counts, X = vectorizer.count(some), vectorizer.fit_transform(some)
    names = [" ".join(counts.words[k] for k in row if k >= 0) for row in counts.spelling]
    columns = [vectorizer.vocabulary_[name] for name in names]
    assert sorted(columns) == list(range(X.shape[1]))
    np.testing.assert_array_equal(counts.times, X.sum(axis=0).A1[columns])
    np.testing.assert_array_equal(counts.texts, (X > 0).sum(axis=0).A1[columns])


def test_counts_of_other_settings_are_refused():
    counts = NgramVectorizer((1, 2)).count(["one two"])
    with pytest.raises(ValueError, match="other settings of lowercase, ngram_range"):
        _ = counts + NgramVectorizer(lowercase=False).count(["one two"])
    with pytest.raises(ValueError, match="other settings of stop_words"):
        NgramVectorizer((1, 2), stop_words=["one"]).fit_counts(counts)
    with pytest.raises(TypeError):
        _ = counts + 1
    with pytest.raises(ValueError, match="given as vocabulary"):
        NgramVectorizer((1, 2), vocabulary=["one"]).fit_counts(counts)


@given(
    texts=st.lists(st.text("ab c", max_size=8), min_size=1, max_size=8),
    words=st.integers(1, 3),
    longer=st.integers(1, 3),
)
def test_a_pair_of_min_df_is_for_words_and_for_longer_ngrams(texts, words, longer):
    """The features are those words and those longer n-grams that each value alone selects."""
    vectorizer = NgramVectorizer(ngram_range=(1, 3))
    everything = vectorizer.count([*texts, "a b c"])

    def names(min_df):
        fitted = vectorizer.set_params(min_df=min_df).fit_counts(everything)
        return set(fitted.vocabulary_)

    try:
        expected = {name for name in names(words) if " " not in name}
        expected |= {name for name in names(longer) if " " in name}
        found = names((words, longer))
    except ValueError:  # empty vocabulary
        return
    assert found == expected
    assert set(vectorizer.fit([*texts, "a b c"]).vocabulary_) == expected
