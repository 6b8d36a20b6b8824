"""NgramVectorizer returns the matrix and the feature names of scikit-learn's CountVectorizer."""

import os
import pickle
from itertools import pairwise
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from dropglm import NgramVectorizer
from dropglm.text.ngrams import analysis
from dropglm.text.ngrams.analysis import Tokenizer
from dropglm.text.ngrams.counting import NgramCounter, refuse_too_many
from dropglm.text.ngrams.tokens import (
    HTML_TAG,
    RUNS,
    WORDS_AND_PUNCTUATION,
    WORDS_OF_TWO_LETTERS,
    Preprocessor,
)

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


def count_vectorizer(ours):
    """Return the CountVectorizer with the same settings, which also normalises texts and removes tags."""
    settings = {name: getattr(ours, name) for name in SETTINGS}
    lower = str.lower if settings.pop("lowercase") else str

    def preprocess(text):
        text = lower(normalize("NFC", text))
        return HTML_TAG.sub(" ", text) if ours.strip_html else text

    return CountVectorizer(preprocessor=preprocess, **settings)


def assert_same(texts, **settings):
    """Check that both return the same names and matrices, or that both raise."""
    ours = NgramVectorizer(**settings)
    expected_vectorizer = count_vectorizer(ours)
    try:
        expected = expected_vectorizer.fit_transform(texts)
    except ValueError:
        with pytest.raises(ValueError, match="empty vocabulary"):
            ours.fit(texts)
        return
    expected.sort_indices()
    found = ours.fit_transform(texts)
    assert ours.get_feature_names_out().tolist() == expected_vectorizer.get_feature_names_out().tolist()
    assert ours.vocabulary_ == expected_vectorizer.vocabulary_
    others = [*texts[::2], "Any other text.", "".join(texts)]
    again = expected_vectorizer.transform(others)
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


# Few characters, so that n-grams repeat: letters, apostrophes, characters that sort before the space,
# characters whose lower case is longer or depends on their position, marks, digits of other scripts, half a
# surrogate pair.
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
def test_matrix_and_names_equal_those_of_scikit_learn(texts, n_jobs, **settings):
    assert_same(texts, n_jobs=n_jobs, **settings)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("binary", [True, False])
def test_max_features_breaks_ties_as_scikit_learn_does(rng, binary, dtype):
    """Use hundreds of words with few distinct frequencies."""
    texts = [" ".join(f"w{k}" for k in rng.integers(500, size=40)) for _ in range(60)]
    for limit in (1, 50, 300):
        assert_same(texts, ngram_range=(1, 2), max_features=limit, binary=binary, dtype=dtype, n_jobs=2)


@pytest.mark.parametrize("runs", RUNS, ids=repr)
def test_byte_loop_and_re_agree_on_every_character(runs):
    """Every seventh code point between two letters, in the loop over bytes and in Python's re."""
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
def test_imdb_gives_the_same_matrix(settings):
    import polars as pl

    texts = pl.read_parquet(Path(os.environ["DROPGLM_DATA"]) / "imdb.parquet")["text"].gather_every(40)
    assert_same(texts.to_list(), n_jobs=2, **settings)


def test_result_does_not_depend_on_chunks_and_threads(monkeypatch):
    texts = [f"text {k} has {k % 7} and {k * k % 11} <br/> Ünïcödé" for k in range(300)]
    whole = NgramVectorizer(ngram_range=(1, 3), min_df=2).fit(texts)
    expected = whole.transform(texts)
    monkeypatch.setattr(analysis, "CHUNK_CHARACTERS", 100)
    for threads in (1, 2, 3):
        vectorizer = NgramVectorizer(ngram_range=(1, 3), min_df=2, n_jobs=threads)
        X = vectorizer.fit_transform(iter(texts))
        assert vectorizer.vocabulary_ == whole.vocabulary_
        for name, array in vectorizer.ngrams_._to_state().items():
            np.testing.assert_array_equal(array, whole.ngrams_._to_state()[name])
        assert (expected != X).nnz == 0
        assert (vectorizer.transform(iter(texts)) != expected).nnz == 0


def test_memory_does_not_grow_with_the_number_of_texts(monkeypatch):
    """Twice as many texts of the same words take no more memory."""
    import tracemalloc

    monkeypatch.setattr(analysis, "CHUNK_CHARACTERS", 1 << 17)

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


def test_arrays_and_columns_of_data_frames_are_accepted():
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


def test_clone_and_pickle_leave_out_the_hash_tables():
    vectorizer = NgramVectorizer(ngram_range=(1, 2)).fit(["one two three", "two three"])
    X = vectorizer.transform(["two three four"])
    copy = pickle.loads(pickle.dumps(vectorizer))
    assert (copy.transform(["two three four"]) != X).nnz == 0
    arrays = {"_letters", "_ends", "_spelling", "document_counts", "mean_values"}
    assert set(vars(vectorizer.ngrams_)) - arrays
    assert set(vectorizer.ngrams_.__getstate__()) == arrays
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    with pytest.raises(NotFittedError):
        clone(vectorizer).transform(["one"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ngram_range": (2, 1)}, "lower boundary larger than the upper boundary"),
        ({"ngram_range": 2}, "ngram_range must be a pair"),
        ({"ngram_range": (1.0, 2)}, "ngram_range must be a pair"),
        ({"min_df": -1}, "min_df must be finite"),
        ({"min_df": (1, 2, 3)}, "min_df must be one value, or a pair"),
        ({"min_df": (1, 1.5)}, "min_df must be a whole number of texts or a share"),
        ({"min_df": 1.5}, "min_df must be a whole number of texts or a share"),
        ({"max_df": "all"}, "max_df must be a number"),
        ({"min_df": 3, "max_df": 2}, "at least 3 and at most 2 of the 2 texts"),
        ({"min_df": 2, "ngram_range": (2, 2)}, "at least 2 and at most 2 of the 2 texts"),
        ({"max_features": 0}, "max_features must be at least 1"),
        ({"max_features": 1.5}, "max_features must be an integer"),
        ({"token_pattern": "("}, "is not a regular expression"),
        ({"token_pattern": None}, "is not a regular expression"),
        ({"token_pattern": "(a)(b)"}, "More than 1 capturing group"),
        ({"token_pattern": r"\w+ \w+", "ngram_range": (1, 2)}, "cannot be distinguished from an n-gram"),
        ({"token_pattern": "q"}, "none of the 2 texts has a token"),
        ({"binary": "yes"}, "binary must be True or False"),
        ({"dtype": str}, "dtype must be an integer type"),
        ({"dtype": np.float16}, "dtype must be an integer type"),
        ({"ngram_range": (1, 51)}, "1 <= a <= b <= 50"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
    ],
    ids=repr,
)
def test_bad_settings_raise_a_clear_error(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        NgramVectorizer(**settings).fit(["some text here", "some more"])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "string object received as X; put a single text into a list"),
        (None, "X must be a list"),
        ([b"\xff"], "invalid start byte"),
        (["text", None], r"Text 1 of X \(counted from 0\) is None"),
        (["text", float("nan")], r"Text 1 of X \(counted from 0\) is nan"),
        ([], "none of the 0 texts has a token"),
        (["", " "], "none of the 2 texts has a token"),
    ],
    ids=repr,
)
def test_bad_texts_raise_a_clear_error(texts, message):
    with pytest.raises((TypeError, ValueError), match=message):
        NgramVectorizer().fit(texts)


def test_long_texts_and_words_are_counted_correctly():
    assert_same(["x" * 3_000_000, "y " * 10, "z" * 70_000 + " y"], ngram_range=(1, 2))


def test_words_with_the_same_hash_are_distinguished_by_their_letters():
    tokenizer = Tokenizer(WORDS_AND_PUNCTUATION, Preprocessor())
    tokens = tokenizer.split(["one two three two", "three four"])
    same_key = tokens._replace(keys=np.full_like(tokens.keys, -1))  # a key of long words
    for binary, expected in ((False, [[0, 1, 2, 1], [2, 3]]), (True, [[0, 1, 2], [2, 3]])):
        codes, start = NgramCounter(1, 1, binary=binary).add(same_key, 0)
        assert [codes[a:b].tolist() for a, b in pairwise(start)] == expected


def test_too_many_ngrams_raise_before_numbers_overflow():
    refuse_too_many(2**30 - 1, n_texts=5)
    with pytest.raises(ValueError, match="The first 5 texts contain more distinct n-grams than can be num"):
        refuse_too_many(2**30, n_texts=5)


def test_more_threads_than_texts_give_the_same_matrix():
    texts = ["one two", "", "two three two"]
    expected = NgramVectorizer(ngram_range=(1, 2)).fit_transform(texts)
    assert (NgramVectorizer(ngram_range=(1, 2), n_jobs=50).fit_transform(texts) != expected).nnz == 0


def test_document_counts_are_those_of_the_matrix():
    texts = ["one two two", "two", "three one", "two one"]
    for settings in ({}, {"max_features": 3}, {"binary": False, "max_features": 3}, {"min_df": 2}):
        vectorizer = NgramVectorizer((1, 2), n_jobs=2, **settings)
        X = vectorizer.fit_transform(texts)
        np.testing.assert_array_equal(vectorizer.ngrams_.document_counts, (X > 0).sum(axis=0).A1)


def test_it_is_a_transformer_and_treats_set_output_as_count_vectorizer_does():
    vectorizer, texts = NgramVectorizer(), ["one two", "two three"]
    assert isinstance(vectorizer, TransformerMixin)
    tags = get_tags(vectorizer)
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert tags.transformer_tags.preserves_dtype == []
    assert hasattr(vectorizer, "set_output") == hasattr(CountVectorizer(), "set_output")
    with config_context(transform_output="pandas"):
        assert (vectorizer.fit_transform(texts) != CountVectorizer().fit_transform(texts)).nnz == 0
    pipeline = make_pipeline(NgramVectorizer(dtype=np.float64), TfidfTransformer())
    assert pipeline.fit_transform(texts).shape == (2, 3)
    assert pipeline.get_feature_names_out().tolist() == ["one", "three", "two"]


def test_texts_are_the_first_positional_argument_X():
    texts = ["one two", "two three"]
    vectorizer = NgramVectorizer().fit(X=texts)
    assert (vectorizer.transform(X=texts) != NgramVectorizer().fit_transform(X=texts)).nnz == 0


def test_verbose_shows_progress_on_standard_error(capsys):
    NgramVectorizer().fit(["one two"])
    assert capsys.readouterr() == ("", "")
    NgramVectorizer(verbose=1).fit(text for text in ["one two", "three"])
    output, progress = capsys.readouterr()
    assert output == ""
    assert "2 texts" in progress


def test_public_attributes_are_the_documented_ones():
    vectorizer = NgramVectorizer(use_idf=True).fit(["one two"])
    documented = {"fit", "fit_transform", "transform", "get_feature_names_out", "tokenize"}
    documented |= {"vocabulary_", "ngrams_", "n_texts_", "idf_", "fixed_vocabulary_"}
    documented |= {"count", "fit_counts", "inverse_transform", "decode", "get_stop_words"}
    documented |= {"build_analyzer", "build_preprocessor", "build_tokenizer", "to_sklearn"}
    of_scikit_learn = {"get_params", "set_params", "get_metadata_routing"}
    public = {name for name in dir(vectorizer) if not name.startswith("_")} - set(vectorizer.get_params())
    assert public - of_scikit_learn == documented
    assert {name for name in dir(vectorizer.ngrams_) if not name.startswith("_")} == {
        "document_counts",
        "mean_values",
        "names",
    }


def test_data_frame_instead_of_a_column_raises_a_clear_error():
    import pandas as pd

    with pytest.raises(TypeError, match="X must be a single column of strings, got a whole data frame"):
        NgramVectorizer().fit(pd.DataFrame({"text": ["one two"]}))
