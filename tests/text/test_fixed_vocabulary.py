"""A vocabulary given by the user: the columns and the matrix of scikit-learn."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from dropglm import NgramVectorizer
from dropglm.text.ngrams import analysis
from dropglm.text.ngrams.tokens import WORDS_OF_TWO_LETTERS

TEXTS = ["aa bb cc bb aa", "bb aa", "", "cc aa bb dd", "aa aa"]
WORDS = ["aa", "bb", "cc", "dd", "ee"]
ngrams = st.lists(st.sampled_from([*WORDS, "", "x"]), min_size=1, max_size=4).map(" ".join)
ranges = st.tuples(st.integers(1, 3), st.integers(1, 3)).map(lambda pair: tuple(sorted(pair)))
LIKE_SCIKIT_LEARN = {"strip_html": False, "binary": False, "token_pattern": WORDS_OF_TWO_LETTERS}


@given(
    names=st.lists(ngrams, min_size=1, max_size=8, unique=True),
    ngram_range=ranges,
    use_idf=st.booleans(),
    norm=st.sampled_from(["l2", None]),
    mapped=st.booleans(),
    fitted_at_once=st.booleans(),
)
def test_matrix_is_that_of_scikit_learn_in_the_given_order(names, mapped, fitted_at_once, **settings):
    vocabulary = {name: column for column, name in enumerate(names)} if mapped else names
    theirs = TfidfVectorizer(vocabulary=vocabulary, **settings)
    expected = theirs.fit_transform(TEXTS).toarray()
    ours = NgramVectorizer(vocabulary=vocabulary, dtype=np.float64, **LIKE_SCIKIT_LEARN, **settings)
    found = ours.fit_transform(TEXTS) if fitted_at_once else ours.fit(TEXTS).transform(TEXTS)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12)
    assert ours.get_feature_names_out().tolist() == names
    assert ours.vocabulary_ == theirs.vocabulary_
    assert ours.n_texts_ == len(TEXTS)
    np.testing.assert_array_equal(ours.ngrams_.document_counts, (expected > 0).sum(axis=0))


def test_chunks_and_threads_do_not_change_the_counts(monkeypatch):
    texts = TEXTS * 20
    expected = NgramVectorizer(vocabulary=["bb aa", "dd"], ngram_range=(1, 2)).fit(texts)
    monkeypatch.setattr(analysis, "CHUNK_CHARACTERS", 30)
    found = NgramVectorizer(vocabulary=["bb aa", "dd"], ngram_range=(1, 2), n_jobs=3).fit(iter(texts))
    np.testing.assert_array_equal(found.ngrams_.document_counts, expected.ngrams_.document_counts)
    assert found.n_texts_ == len(texts)
    assert NgramVectorizer(vocabulary=["aa"]).fit_transform([]).shape == (0, 1)


def test_a_given_vocabulary_needs_no_fit_unless_document_frequencies_are_used():
    for vocabulary in (["bb", "aa"], {"aa": 1, "bb": 0}, iter(["bb", "aa"])):
        vectorizer = NgramVectorizer(vocabulary=vocabulary, binary=False)
        np.testing.assert_array_equal(vectorizer.transform(TEXTS[:2]).toarray(), [[2, 2], [1, 1]])
        assert vectorizer.fixed_vocabulary_
    assert NgramVectorizer(vocabulary={"bb", "aa"}).get_feature_names_out().tolist() == ["aa", "bb"]
    weighted = NgramVectorizer(vocabulary=["aa", "bb"], use_idf=True)
    assert weighted.get_feature_names_out().tolist() == ["aa", "bb"]
    with pytest.raises(NotFittedError):
        weighted.transform(TEXTS)
    with pytest.raises(NotFittedError):
        _ = NgramVectorizer(vocabulary=["aa", "bb"], use_idf=True).idf_


def test_document_frequencies_can_be_set():
    fitted = NgramVectorizer(use_idf=True, norm="l2").fit(TEXTS)
    copy = NgramVectorizer(use_idf=True, norm="l2", vocabulary=fitted.vocabulary_)
    copy.idf_ = fitted.idf_
    np.testing.assert_array_equal(copy.transform(TEXTS).toarray(), fitted.transform(TEXTS).toarray())
    assert (pickle.loads(pickle.dumps(copy)).transform(TEXTS) != copy.transform(TEXTS)).nnz == 0
    with pytest.raises(ValueError, match=r"idf_ has shape \(2,\), but the vocabulary has 4 n-grams"):
        copy.idf_ = [1.0, 2.0]
    with pytest.raises(ValueError, match="cannot be set if use_idf is False"):
        NgramVectorizer(vocabulary=["aa"]).idf_ = [1.0]


def test_characters_and_single_tokens_may_contain_spaces():
    for settings in ({"analyzer": "char", "ngram_range": (2, 3)}, {"token_pattern": r"bb \w+"}):
        expected = CountVectorizer(vocabulary=["bb aa", "b a", "aa"], **settings).fit_transform(TEXTS)
        found = NgramVectorizer(vocabulary=["bb aa", "b a", "aa"], binary=False, **settings)
        np.testing.assert_array_equal(found.fit_transform(TEXTS).toarray(), expected.toarray())


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ([], "empty vocabulary"),
        ({}, "empty vocabulary"),
        (["aa", "bb", "aa"], "Duplicate term in vocabulary: 'aa'"),
        ({"aa": 0, "bb": 0}, "repeated indices"),
        ({"aa": 0, "bb": 2}, "of size 2 doesn't contain index 1"),
        ("aa", "vocabulary must be a mapping or an iterable of strings"),
        (3, "vocabulary must be a mapping or an iterable of strings"),
        ([1, 2], "vocabulary must contain strings, got 1"),
    ],
    ids=repr,
)
def test_bad_vocabularies_raise_a_clear_error(vocabulary, message):
    with pytest.raises((TypeError, ValueError), match=message):
        NgramVectorizer(vocabulary=vocabulary).fit(TEXTS)


def test_upper_case_that_never_matches_is_warned_of():
    with pytest.warns(UserWarning, match="Upper case characters found"):
        NgramVectorizer(vocabulary=["Aa"]).fit(TEXTS)
    NgramVectorizer(vocabulary=["Aa"], lowercase=False).fit(TEXTS)
