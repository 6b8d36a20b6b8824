"""NgramHasher: n-grams by their hashes, and the names that stay with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dropglm import NgramHasher, NgramVectorizer

TEXTS = ["It's dull!", "Dull<br />film", "", "a a a b", "an extraordinarily long word", "naïve été 日本"]
texts = st.lists(st.text(st.sampled_from("ab é日<>'.\n \U0001f600"), max_size=12), min_size=1, max_size=6)


@given(texts=texts, n=st.integers(1, 3), shortest=st.integers(1, 3))
def test_rows_have_as_many_columns_as_a_vocabulary_has(texts, n, shortest):
    """With so many columns that none is shared, equal n-grams are equal columns, and different ones not."""
    ngrams = min(shortest, n), n
    X = NgramHasher(bits=24, ngram_range=ngrams).transform(texts).tocsc()
    X = X[:, np.flatnonzero(np.diff(X.indptr))].toarray()
    try:
        expected = NgramVectorizer(ngram_range=ngrams).fit_transform(texts).toarray()
    except ValueError:  # no n-gram at all
        expected = np.zeros((len(texts), 0))
    assert sorted(map(tuple, X.T.tolist())) == sorted(map(tuple, expected.T.tolist()))


def test_chunks_threads_and_company_do_not_matter(monkeypatch):
    whole = NgramHasher(bits=12).transform(TEXTS * 20)
    monkeypatch.setattr("dropglm.text.base.CHUNK_CHARACTERS", 30)
    assert (NgramHasher(bits=12, n_jobs=2).transform(TEXTS * 20) != whole).nnz == 0
    for i, text in enumerate(TEXTS):
        assert (NgramHasher(bits=12).transform([text]) != whole[[i]]).nnz == 0


def test_marks_of_many_texts_are_not_mixed_up():
    """They are counted modulo 127; a word comes back after any number of texts."""
    words = [f"w{k % 131} w{k % 7} rare{k}" for k in range(600)]
    together = NgramHasher(bits=14).transform(words)
    for i, text in enumerate(words):
        assert (NgramHasher(bits=14).transform([text]) != together[[i]]).nnz == 0


def test_few_columns_are_shared_and_each_stands_once_in_a_row():
    X = NgramHasher(bits=2).transform(TEXTS)
    assert X.shape == (6, 4)
    assert X.has_canonical_format
    assert set(X.data.tolist()) == {1.0}


def test_columns_are_called_by_the_first_n_gram_that_came():
    hasher = NgramHasher(bits=20)
    rows = list(hasher.note(TEXTS))
    assert hasher.n_texts_ == 6
    columns, names, _ = hasher._describe("a a b")
    assert dict(zip(hasher.ngrams_.names(columns), names, strict=True)) == {
        n: n for n in ("a", "b", "a a", "a b")
    }
    found = np.zeros(1 << 20, bool)
    found[np.concatenate([part.indices for part in rows])] = True
    assert_array_equal(hasher.ngrams_.lengths > 0, found)
    long, _, _ = hasher._describe("extraordinarily long word")
    assert "extraordinarily long" in hasher.ngrams_.names(long)


def test_names_that_are_too_long_are_cut():
    hasher = NgramHasher(ngram_range=(2, 2))
    list(hasher.note(["extraordinarily incomprehensibilities", "日本語" * 5 + " 日本語"]))
    columns = np.flatnonzero(hasher.ngrams_.lengths)
    names = hasher.ngrams_.names(columns)
    assert "extraordinarily incomprehensibil…" in names
    assert all(name.endswith("…") for name in names)
    assert "\ufffd" not in "".join(names)
    hasher = NgramHasher(ngram_range=(1, 1))
    list(hasher.note(["x" * 32]))
    assert hasher.ngrams_.names(np.flatnonzero(hasher.ngrams_.lengths)) == ["x" * 32]


def test_words_never_seen_are_told_apart():
    hasher = NgramHasher(bits=20)
    list(hasher.note(["a dull film"]))
    assert hasher._describe("a dull mess")[2] == ["mess"]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"bits": 0}, "bits must be from 1 to 30, got 0"),
        ({"bits": 2.0}, "bits must be a whole number"),
        ({"ngram_range": (2, 1)}, "ngram_range must be a pair"),
        ({"lowercase": 1}, "lowercase must be True or False"),
        ({"token_pattern": "("}, "is not a regular expression"),
    ],
    ids=repr,
)
def test_a_bad_setting_gets_a_sentence(settings, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        NgramHasher(**settings).fit().transform(["a"])
