"""NgramHasher: hashed n-grams, and the names of their columns."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from dropglm import NgramHasher, NgramVectorizer

TEXTS = ["It's dull!", "Dull<br />film", "", "a a a b", "an extraordinarily long word", "naïve été 日本"]
texts = st.lists(st.text(st.sampled_from("ab é日<>'.\n \U0001f600"), max_size=12), min_size=1, max_size=6)


@settings(max_examples=30)  # each with an array of 2^24 numbers
@given(texts=texts, n=st.integers(1, 3), shortest=st.integers(1, 3))
def test_the_columns_that_occur_equal_those_of_a_vocabulary(texts, n, shortest):
    """With so many columns that none is shared, each n-gram has a column of its own."""
    ngrams = min(shortest, n), n
    X = NgramHasher(bits=24, ngram_range=ngrams).transform(texts).tocsc()
    X = X[:, np.flatnonzero(np.diff(X.indptr))].toarray()
    try:
        expected = NgramVectorizer(ngram_range=ngrams).fit_transform(texts).toarray()
    except ValueError:  # there is no n-gram
        expected = np.zeros((len(texts), 0))
    assert sorted(map(tuple, X.T.tolist())) == sorted(map(tuple, expected.T.tolist()))


def test_a_row_does_not_depend_on_chunks_threads_and_other_texts(monkeypatch):
    whole = NgramHasher(bits=12).transform(TEXTS * 20)
    monkeypatch.setattr("dropglm.text.ngrams.analysis.CHUNK_CHARACTERS", 30)
    assert (NgramHasher(bits=12, n_jobs=2).transform(TEXTS * 20) != whole).nnz == 0
    for i, text in enumerate(TEXTS):
        assert (NgramHasher(bits=12).transform([text]) != whole[[i]]).nnz == 0


def test_rows_are_right_for_many_texts():
    """Texts are numbered modulo 127 in the marks; words occur again after any number of texts."""
    words = [f"w{k % 131} w{k % 7} rare{k}" for k in range(600)]
    together = NgramHasher(bits=14).transform(words)
    for i, text in enumerate(words):
        assert (NgramHasher(bits=14).transform([text]) != together[[i]]).nnz == 0


def test_a_shared_column_has_one_entry_per_row():
    X = NgramHasher(bits=2).transform(TEXTS)
    assert X.shape == (6, 4)
    assert X.has_canonical_format
    assert set(X.data.tolist()) == {1.0}


def test_columns_are_named_after_the_first_n_gram():
    hasher = NgramHasher(bits=20)
    rows = list(hasher._hash_and_name(TEXTS))
    assert hasher.n_texts_ == 6
    columns, _, names, _ = hasher._describe("a a b")
    assert dict(zip(hasher.ngrams_.names(columns), names, strict=True)) == {
        n: n for n in ("a", "b", "a a", "a b")
    }
    found = np.zeros(1 << 20, bool)
    found[np.concatenate([part.indices for part in rows])] = True
    assert_array_equal(hasher.ngrams_.lengths > 0, found)
    long, *_ = hasher._describe("extraordinarily long word")
    assert "extraordinarily long" in hasher.ngrams_.names(long)


def test_names_are_those_of_the_texts_that_were_shown():
    hasher = NgramHasher(bits=20)
    assert hasher.get_feature_names_out()[7] == "ngramhasher7"
    names = hasher.partial_fit(TEXTS[:3]).partial_fit(TEXTS[3:]).get_feature_names_out()
    X = hasher.transform(TEXTS)
    expected = NgramVectorizer(ngram_range=(1, 2)).fit(TEXTS).get_feature_names_out()
    assert sorted(names[np.unique(X.indices)]) == sorted(expected)
    assert sum(not name.startswith("ngramhasher") for name in names) == len(expected)
    assert (NgramHasher(bits=20).transform(TEXTS) != X).nnz == 0
    assert hasher.n_texts_ == len(TEXTS)
    assert len(hasher.set_params(bits=4).get_feature_names_out()) == 16
    assert hasher.partial_fit(["dull"]).n_texts_ == 1
    assert not hasattr(hasher.fit(), "ngrams_")


def test_long_names_are_truncated():
    hasher = NgramHasher(ngram_range=(2, 2))
    list(hasher._hash_and_name(["extraordinarily incomprehensibilities", "한국어" * 5 + " 한국어"]))
    columns = np.flatnonzero(hasher.ngrams_.lengths)
    names = hasher.ngrams_.names(columns)
    assert "extraordinarily incomprehensibil…" in names
    assert all(name.endswith("…") for name in names)
    assert "\ufffd" not in "".join(names)
    hasher = NgramHasher(ngram_range=(1, 1))
    list(hasher._hash_and_name(["x" * 32]))
    assert hasher.ngrams_.names(np.flatnonzero(hasher.ngrams_.lengths)) == ["x" * 32]


def test_words_that_did_not_occur_are_unknown():
    hasher = NgramHasher(bits=20)
    list(hasher._hash_and_name(["a dull film"]))
    assert hasher._describe("a dull mess")[3] == ["mess"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bits": 0}, "bits must be between 1 and 30, got 0"),
        ({"bits": 2.0}, "bits must be an integer"),
        ({"ngram_range": (2, 1)}, "lower boundary larger than the upper boundary"),
        ({"lowercase": 1}, "lowercase must be True or False"),
        ({"token_pattern": "("}, "is not a regular expression"),
    ],
    ids=repr,
)
def test_invalid_settings_raise(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        NgramHasher(**settings).fit().transform(["a"])


def test_it_is_a_transformer_that_needs_no_fit():
    """Also inside a pipeline, and if data frames are the default output."""
    hasher = NgramHasher(bits=4)
    tags = get_tags(hasher)
    assert isinstance(hasher, TransformerMixin)
    assert not tags.requires_fit
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    expected = hasher.transform(TEXTS)
    assert expected.dtype == np.float32
    with config_context(transform_output="pandas"):
        for found in (
            hasher.fit_transform(TEXTS, [0] * 6),
            clone(hasher).fit(TEXTS).transform(TEXTS),
            make_pipeline(hasher).fit_transform(TEXTS),
        ):
            assert (found != expected).nnz == 0
    assert not hasattr(hasher, "set_output")
    names = hasher.get_feature_names_out()
    assert (len(names), names[-1]) == (16, "ngramhasher15")
    assert (
        len(
            make_column_transformer((hasher, "text"))
            .fit(pl.DataFrame({"text": TEXTS}))
            .get_feature_names_out()
        )
        == 16
    )


def test_fit_checks_the_settings():
    with pytest.raises(ValueError, match="bits must be between 1 and 30, got 31"):
        NgramHasher(bits=31).fit_transform(["a"])
