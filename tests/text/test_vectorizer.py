"""NgramVectorizer gives the matrix and the names of scikit-learn's CountVectorizer."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer

from dropglm import NgramVectorizer
from dropglm.text import chunks
from dropglm.text.counting import Counting
from dropglm.text.tokens import HTML_TAG, RUNS, WORDS_AND_PUNCTUATION, WORDS_OF_TWO_LETTERS, Tokenizer
from dropglm.text.vocabulary import Vocabulary

SETTINGS = (
    "ngram_range",
    "min_df",
    "max_df",
    "max_features",
    "binary",
    "lowercase",
    "token_pattern",
    "dtype",
)


def theirs(ours):
    """The CountVectorizer of the same settings."""
    settings = {name: getattr(ours, name) for name in SETTINGS}
    if not ours.strip_html:
        return CountVectorizer(**settings)
    lower = str.lower if settings.pop("lowercase") else str
    return CountVectorizer(preprocessor=lambda text: HTML_TAG.sub(" ", lower(text)), **settings)


def assert_same(texts, **settings):
    """Both give the same names and matrices, or both refuse."""
    ours = NgramVectorizer(**settings)
    rival = theirs(ours)
    try:
        expected = rival.fit_transform(texts)
    except ValueError:
        with pytest.raises(ValueError, match="The vocabulary is empty"):
            ours.fit(texts)
        return
    expected.sort_indices()
    found = ours.fit_transform(texts)
    assert ours.get_feature_names_out().tolist() == rival.get_feature_names_out().tolist()
    assert ours.vocabulary_ == rival.vocabulary_
    others = [*texts[::2], "Any other text.", "".join(texts)]
    again = rival.transform(others)
    again.sort_indices()
    for matrix, same in (
        (found, expected),
        (ours.transform(texts), expected),
        (ours.transform(others), again),
    ):
        assert matrix.shape == same.shape
        assert matrix.dtype == same.dtype
        assert matrix.has_canonical_format
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(matrix, name), getattr(same, name))
            assert getattr(matrix, name).dtype == getattr(same, name).dtype


# Few characters, so that n-grams repeat: letters, apostrophes, what sorts below the space, what lower case
# makes longer or treats by its place, marks that are no letters, digits of other scripts, half a pair.
LETTERS = "aAbé'! \n\x01\x1f<>/ςΣİßıॐ\u0301٣²_京😀\ud800\U0001f1e6\u2028"
documents = st.lists(
    st.one_of(st.text(st.sampled_from(LETTERS), max_size=20), st.text(max_size=20)), max_size=8
)
ranges = st.tuples(st.integers(1, 3), st.integers(1, 3)).map(lambda pair: tuple(sorted(pair)))
bounds = st.one_of(st.integers(1, 3), st.floats(0.0, 1.0))


@given(
    texts=documents,
    ngram_range=ranges,
    min_df=bounds,
    max_df=bounds,
    max_features=st.one_of(st.none(), st.integers(1, 6)),
    binary=st.booleans(),
    lowercase=st.booleans(),
    strip_html=st.booleans(),
    token_pattern=st.sampled_from([*RUNS, r"[a-z]+", r"a(b*)", r"\S"]),
    dtype=st.sampled_from([np.float32, np.float64, np.int64, np.int32, np.uint8]),
    n_jobs=st.integers(1, 3),
)
@example(
    texts=["a\x01 b", "a b", "a\x01", "a! b"],
    ngram_range=(1, 2),
    min_df=1,
    max_df=1.0,
    max_features=None,
    binary=True,
    lowercase=True,
    strip_html=True,
    token_pattern=WORDS_AND_PUNCTUATION,
    dtype=np.float32,
    n_jobs=2,
)
def test_matrix_and_names_are_those_of_scikit_learn(texts, n_jobs, **settings):
    assert_same(texts, n_jobs=n_jobs, **settings)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("binary", [True, False])
def test_ties_of_max_features_are_broken_as_scikit_learn_breaks_them(rng, binary, dtype):
    """Hundreds of words with few different frequencies."""
    texts = [" ".join(f"w{k}" for k in rng.integers(500, size=40)) for _ in range(60)]
    for limit in (1, 50, 300):
        assert_same(texts, ngram_range=(1, 2), max_features=limit, binary=binary, dtype=dtype, n_jobs=2)


@pytest.mark.parametrize("runs", RUNS, ids=repr)
def test_every_character_has_the_class_that_re_gives_it(runs):
    """Each code point between two letters, in the loop over bytes and in Python's re."""
    characters = [chr(code) for code in range(0, 0x110000, 7)]
    texts = ["".join(f"a{c}b " for c in characters[k : k + 1000]) for k in range(0, len(characters), 1000)]
    assert_same(texts, token_pattern=runs, lowercase=False, strip_html=False, n_jobs=2)


@pytest.mark.skipif("DROPGLM_DATA" not in os.environ, reason="DROPGLM_DATA is not set")
@pytest.mark.parametrize(
    "settings",
    [
        {"ngram_range": (1, 2), "min_df": 2},
        {"ngram_range": (1, 3), "min_df": 3, "max_df": 0.4, "binary": False},
        {"ngram_range": (2, 2), "max_features": 10_000, "token_pattern": WORDS_OF_TWO_LETTERS},
    ],
    ids=repr,
)
def test_imdb_is_the_same_too(settings):
    import polars as pl

    texts = pl.read_parquet(Path(os.environ["DROPGLM_DATA"]) / "imdb.parquet")["text"].gather_every(40)
    assert_same(texts.to_list(), n_jobs=2, **settings)


def test_chunks_and_threads_do_not_matter(monkeypatch):
    texts = [f"text {k} has {k % 7} and {k * k % 11} <br/> Ünïcödé" for k in range(300)]
    whole = NgramVectorizer(ngram_range=(1, 3), min_df=2).fit(texts)
    expected = whole.transform(texts)
    monkeypatch.setattr(chunks, "CHUNK", 100)
    for threads in (1, 2, 3):
        vectorizer = NgramVectorizer(ngram_range=(1, 3), min_df=2, n_jobs=threads)
        X = vectorizer.fit_transform(iter(texts))
        assert vectorizer.vocabulary_ == whole.vocabulary_
        for name in ("letters", "ends", "spelling", "texts"):
            np.testing.assert_array_equal(getattr(vectorizer.ngrams_, name), getattr(whole.ngrams_, name))
        assert (expected != X).nnz == 0
        assert (vectorizer.transform(iter(texts)) != expected).nnz == 0


def test_memory_follows_the_chunk_and_not_the_corpus(monkeypatch):
    """Twice as many texts over the same words take no more memory."""
    import tracemalloc

    monkeypatch.setattr(chunks, "CHUNK", 1 << 17)

    def peak(n):
        tracemalloc.start()
        NgramVectorizer(ngram_range=(1, 2)).fit(
            " ".join("abcdefgh"[k % 8] for k in range(500)) for _ in range(n)
        )
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    peak(10)
    assert peak(2000) < 1.1 * peak(1000)


def test_tables_and_other_columns_will_do():
    import pandas as pd
    import polars as pl

    texts = ["one two", "two three", "three"]
    expected = NgramVectorizer().fit_transform(texts)
    for column in (
        tuple(texts),
        np.array(texts),
        np.array(texts, object),
        pd.Series(texts),
        pl.Series(texts),
    ):
        assert (NgramVectorizer().fit_transform(column) != expected).nnz == 0


def test_it_is_cloned_and_pickled_without_its_tables():
    vectorizer = NgramVectorizer(ngram_range=(1, 2)).fit(["one two three", "two three"])
    X = vectorizer.transform(["two three four"])
    copy = pickle.loads(pickle.dumps(vectorizer))
    assert (copy.transform(["two three four"]) != X).nnz == 0
    assert set(vars(vectorizer.ngrams_)) - {"letters", "ends", "spelling", "texts"}
    assert set(vectorizer.ngrams_.__getstate__()) == {"letters", "ends", "spelling", "texts"}
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    with pytest.raises(NotFittedError):
        clone(vectorizer).transform(["one"])


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"ngram_range": (2, 1)}, "ngram_range must be a pair"),
        ({"ngram_range": 2}, "ngram_range must be a pair"),
        ({"ngram_range": (1.0, 2)}, "ngram_range must be a pair"),
        ({"min_df": -1}, "min_df must be finite"),
        ({"min_df": 1.5}, "min_df is a share"),
        ({"max_df": "all"}, "max_df must be a number"),
        ({"min_df": 3, "max_df": 2}, "at least 3 and at most 2 of the 2 texts"),
        ({"min_df": 2, "ngram_range": (2, 2)}, "at least 2 and at most 2 of the 2 texts"),
        ({"max_features": 0}, "max_features must be above 0"),
        ({"max_features": 1.5}, "max_features must be a whole number"),
        ({"token_pattern": "("}, "is no regular expression"),
        ({"token_pattern": None}, "is no regular expression"),
        ({"token_pattern": "(a)(b)"}, "has 2 groups"),
        ({"token_pattern": r"\w+ \w+", "ngram_range": (1, 2)}, "could not be told from an n-gram"),
        ({"token_pattern": "q"}, "none of the 2 texts has a token"),
        ({"binary": "yes"}, "binary must be True or False"),
        ({"dtype": str}, "dtype must be an integer type"),
        ({"dtype": np.float16}, "dtype must be an integer type"),
        ({"ngram_range": (1, 51)}, "1 <= a <= b <= 50"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
    ],
    ids=repr,
)
def test_a_bad_setting_gets_a_sentence(settings, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        NgramVectorizer(**settings).fit(["some text here", "some more"])


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        ("one text", "texts must be a list"),
        (None, "texts must be a list"),
        ([b"bytes"], r"Text 0 \(counted from 0\) is b'bytes', not a string"),
        (["text", None], r"Text 1 \(counted from 0\) is None"),
        (["text", float("nan")], r"Text 1 \(counted from 0\) is nan"),
        ([], "none of the 0 texts has a token"),
        (["", " "], "none of the 2 texts has a token"),
    ],
    ids=repr,
)
def test_a_bad_text_gets_a_sentence(texts, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        NgramVectorizer().fit(texts)


def test_long_texts_and_long_words():
    assert_same(["x" * 3_000_000, "y " * 10, "z" * 70_000 + " y"], ngram_range=(1, 2))


def test_words_of_one_hash_are_told_apart_by_their_letters():
    tokenizer = Tokenizer(WORDS_AND_PUNCTUATION, lowercase=True, strip_html=True, threads=1)
    tokens = tokenizer.cut(["one two three two", "three four"])
    alike = tokens._replace(keys=np.full_like(tokens.keys, -1))  # that of a long word
    numbers, new = Counting(1, 2).add(alike)
    rows = [numbers[0, a : a + n] for a, n in zip(tokens.first, tokens.counts, strict=True)]
    assert len(set(rows[0].tolist()) | set(rows[1].tolist())) == 4
    assert rows[0][1] == rows[0][3]
    assert rows[0][2] == rows[1][0]
    assert new[0, tokens.first[0] : tokens.first[0] + 4].tolist() == [True, True, True, False]


def test_too_many_ngrams_are_refused_before_numbers_overflow():
    counting = Counting(2, 1)
    counting.pairs[0][0].size[0] = 2**30
    with pytest.raises(ValueError, match="more different n-grams than can be numbered"):
        counting._refuse_too_many()


VALID = {
    "letters": np.frombuffer(b"abc", np.uint8),
    "ends": np.array([0, 1, 3]),
    "spelling": np.array([[0, -1], [0, 1], [1, -1]], np.int32),
    "texts": np.array([3, 1, 2], np.int32),
}


def test_a_vocabulary_whose_arrays_fit_is_taken():
    assert Vocabulary(**VALID).check().names() == ["a", "a bc", "bc"]


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("letters", np.frombuffer(b"abc", np.int8)),
        ("letters", np.frombuffer(b"abc", np.uint8).reshape(1, 3)),
        ("letters", np.frombuffer(b"abcd", np.uint8)),
        ("ends", np.array([0, 1, 3], np.int32)),
        ("ends", np.array([1, 1, 3])),
        ("ends", np.array([0, 4, 3])),
        ("ends", np.array([0, 2**63 - 1, -2, 3])),  # whose differences overflow
        ("texts", np.zeros(2, np.int32)),
        ("texts", np.zeros(3)),
        ("spelling", np.zeros((0, 2), np.int32)),
        ("spelling", np.array([[0, -1], [-1, -1]], np.int32)),
        ("spelling", np.array([[0, -1, 1]], np.int32)),
        ("spelling", np.array([[0, 2]], np.int32)),
        ("spelling", np.array([[0, -2]], np.int32)),
        ("spelling", np.zeros((1, 51), np.int32)),
        ("spelling", np.zeros((1, 2), np.int64)),
    ],
)
def test_a_vocabulary_whose_arrays_do_not_fit_is_refused(name, array):
    arrays = VALID | {name: array}
    if name == "spelling":  # else its length would do
        arrays["texts"] = np.ones(len(array), np.int32)
    with pytest.raises(ValueError, match="do not fit each other"):
        Vocabulary(**arrays).check()


def test_many_threads_for_few_texts_change_nothing():
    texts = ["one two", "", "two three two"]
    expected = NgramVectorizer(ngram_range=(1, 2)).fit_transform(texts)
    assert (NgramVectorizer(ngram_range=(1, 2), n_jobs=50).fit_transform(texts) != expected).nnz == 0


def test_texts_are_counted_for_every_feature():
    texts = ["one two two", "two", "three one", "two one"]
    for settings in ({}, {"max_features": 3}, {"binary": False, "max_features": 3}, {"min_df": 2}):
        vectorizer = NgramVectorizer((1, 2), n_jobs=2, **settings)
        X = vectorizer.fit_transform(texts)
        np.testing.assert_array_equal(vectorizer.ngrams_.texts, (X > 0).sum(axis=0).A1)
