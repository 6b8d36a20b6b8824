"""Counts of parts of the texts: together they give the same features as all texts at once."""

import pickle
from functools import reduce
from operator import add
from weakref import WeakSet

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dropglm import NgramVectorizer, TextClassifier
from dropglm.text import NgramCounts
from dropglm.text.ngrams.features import column_totals
from dropglm.text.ngrams.merged_counts import from_bytes, to_bytes
from dropglm.text.training import estimator_of, ngram_weights_of, vectorizer_of

WORDS = st.one_of(
    st.sampled_from(
        ["a", "b", "ab", "abstraction", "abstractions", "the", "The", "été", "É", "京", "!", "<br />"]
    ),
    st.text(st.characters(), max_size=3),  # any code points, lone surrogates included
)
TEXTS = st.lists(WORDS, max_size=8).map(" ".join)
PARTS = st.lists(st.lists(TEXTS, max_size=4), min_size=1, max_size=6)
RANGES = st.tuples(st.integers(1, 3), st.integers(1, 3)).map(lambda pair: tuple(sorted(pair)))
BOUNDS = st.one_of(st.integers(1, 3), st.floats(0.0, 0.5))
SELECTION = {
    "ngram_range": RANGES,
    "min_df": st.one_of(BOUNDS, st.tuples(BOUNDS, BOUNDS)),
    "max_df": st.one_of(st.integers(2, 9), st.floats(0.5, 1.0)),
    "max_features": st.one_of(st.none(), st.integers(1, 9)),
    "binary": st.booleans(),
}
WEIGHTS = {
    "use_idf": st.booleans(),
    "smooth_idf": st.booleans(),
    "sublinear_tf": st.booleans(),
    "norm": st.sampled_from([None, "l1", "l2"]),
    "idf_power": st.sampled_from([1.0, 0.5]),
    "ngram_weight": st.sampled_from([1.0, 0.5]),
    "dtype": st.sampled_from([np.float32, np.float64]),
}
ANALYSIS = {
    "lowercase": st.booleans(),
    "strip_html": st.booleans(),
    "strip_accents": st.sampled_from([None, "ascii", "unicode"]),
    "stop_words": st.sampled_from([None, "english", ["a", "ab"]]),
    "token_pattern": st.sampled_from([r"[\w']+|[^\w\s]", r"(?u)\b\w\w+\b", r"\S+"]),
}
SETTINGS = st.fixed_dictionaries(SELECTION, optional=WEIGHTS | ANALYSIS)


def words_of_commas(text):
    return text.split(",")


def characters_of(text):
    return list(text)


def outcome(function):
    """Return the result of a call, or the message of its error."""
    try:
        return function()
    except ValueError as error:
        return str(error)


def assert_same_matrix(found, expected):
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def assert_fit_of_all_texts(parts, settings):
    """Counting the parts, each in a process of its own, gives what a fit on all texts gives."""
    everything = [text for part in parts for text in part]
    whole, merged = NgramVectorizer(**settings), NgramVectorizer(**settings)
    counted = [pickle.loads(pickle.dumps(NgramVectorizer(**settings).count(part))) for part in parts]
    expected = outcome(lambda: whole.fit_transform(everything))
    found = outcome(lambda: merged.fit_counts(counted))
    if isinstance(expected, str):
        assert found == expected
        return
    assert merged.n_texts_ == whole.n_texts_
    assert merged.vocabulary_ == whole.vocabulary_
    for name, array in whole.ngrams_._to_state().items():
        np.testing.assert_array_equal(merged.ngrams_._to_state()[name], array, strict=True)
    for own, other in zip(merged._tfidf, whole._tfidf, strict=True):
        np.testing.assert_array_equal(own, other, strict=True)
    assert_same_matrix(sparse.vstack([merged.transform(part) for part in parts], format="csr"), expected)


def arrays_of(counts):
    return [
        counts.trie.letters,
        counts.trie.ends,
        *(array for level in counts.trie.levels for array in level),
    ]


def assert_same_counts(found, expected):
    assert (found.n_texts, found.shortest, found.settings) == (
        expected.n_texts,
        expected.shortest,
        expected.settings,
    )
    for own, other in zip(arrays_of(found), arrays_of(expected), strict=True):
        np.testing.assert_array_equal(own, other, strict=True)


@given(parts=PARTS, settings=SETTINGS)
def test_counts_of_parts_give_the_fit_on_all_texts(parts, settings):
    assert_fit_of_all_texts(parts, settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"analyzer": "char", "ngram_range": (1, 3)},
        {"analyzer": "char_wb", "ngram_range": (2, 3)},
        {"analyzer": characters_of},
        {"tokenizer": words_of_commas, "token_pattern": None},
        {"tokenizer": words_of_commas, "token_pattern": None, "ngram_range": (1, 2)},  # tokens with spaces
        {"preprocessor": str.upper, "ngram_range": (1, 2)},
        {"vocabulary": {"two one": 1, "one": 0, "no such": 2, "three": 3}, "ngram_range": (1, 2)},
        {"vocabulary": ["two one", "one", "two"], "ngram_range": (2, 2), "use_idf": True},
        {"vocabulary": ["no", "such"]},
        {"binary": False, "dtype": np.int64},
        {"n_jobs": 2, "ngram_range": (1, 3)},
    ],
    ids=" ".join,  # functions have another address in each process
)
@pytest.mark.parametrize(
    "parts", [[["one, two one", "two"], [], ["", " "], ["three two one,two"]], [[]]], ids=len
)
def test_every_way_to_split_texts_can_be_counted_in_parts(parts, settings):
    if "vocabulary" in settings and parts == [[]]:
        return  # a fit of given features to no texts
    assert_fit_of_all_texts(parts, settings)


@given(
    parts=PARTS,
    ngram_range=RANGES,
    order=st.randoms(use_true_random=False),
    n_jobs=st.integers(1, 2),
)
def test_sums_of_counts_do_not_depend_on_their_order(parts, ngram_range, order, n_jobs):
    """Nor on brackets: the arrays are those of all texts counted at once."""
    everything = [text for part in parts for text in part]
    expected = NgramVectorizer(ngram_range).count(everything)
    counts = [NgramVectorizer(ngram_range, n_jobs=n_jobs).count(part) for part in parts]
    assert_same_counts(NgramCounts.sum(iter(counts)), expected)
    order.shuffle(counts)
    assert_same_counts(reduce(add, counts), expected)
    assert_same_counts(sum(counts), expected)
    assert_same_counts(NgramCounts.sum(counts), expected)
    assert_same_counts(pickle.loads(pickle.dumps(expected)), expected)


def test_a_text_classifier_can_be_fitted_to_parts(corpus):
    """Its vocabulary and weights are those of all texts, labelled or not."""
    texts, y, more = corpus
    whole = TextClassifier(tune=False).fit(texts, y, X_unlabeled=more)
    classifier = TextClassifier(tune=False)
    (ngram_weight,) = ngram_weights_of(classifier, np.unique(y, return_counts=True)[1])
    vectorizer = vectorizer_of(classifier, ngram_weight)
    labeled, unlabeled = (texts[:30], texts[30:]), (more[:7], [], more[7:])
    vectorizer.fit_counts(vectorizer.count(part) for part in (*unlabeled, *labeled))
    X, X_unlabeled = (
        sparse.vstack([vectorizer.transform(part) for part in parts], format="csr")
        for parts in (labeled, unlabeled)
    )
    assert_same_matrix(X, whole.vectorizer_.transform(texts))
    model = estimator_of(classifier, np.unique(y, return_counts=True)[1]).fit(X, y, X_unlabeled=X_unlabeled)
    np.testing.assert_array_equal(model.coef_, whole.model_.coef_)
    totals, different = zip(*map(column_totals, (X, X_unlabeled)), strict=True)
    vectorizer.ngrams_._record_totals(sum(totals), any(different))
    np.testing.assert_allclose(
        vectorizer.ngrams_.mean_values, whole.vectorizer_.ngrams_.mean_values, rtol=1e-6
    )


def test_counts_are_the_column_sums_of_the_matrix():
    some = ["one two two", "two", "three one", "two one"]
    vectorizer = NgramVectorizer((1, 2), binary=False)
    counts, X = vectorizer.count(some), vectorizer.fit_transform(some)
    columns = [vectorizer.vocabulary_[name] for name in counts.names()]
    assert sorted(columns) == list(range(X.shape[1]))
    assert len(counts) == X.shape[1]
    np.testing.assert_array_equal(counts.times, X.sum(axis=0).A1[columns])
    np.testing.assert_array_equal(counts.texts, (X > 0).sum(axis=0).A1[columns])


def test_names_have_at_least_the_shortest_length():
    assert NgramVectorizer((2, 3)).count(["one two three"]).names() == [
        "one two",
        "two three",
        "one two three",
    ]


def test_parts_of_a_generator_are_not_kept():
    vectorizer, alive, most = NgramVectorizer(), WeakSet(), 0

    def parts():
        nonlocal most
        for k in range(64):
            part = vectorizer.count([f"word{k}"])
            alive.add(part)
            most = max(most, len(alive))
            yield part

    assert len(vectorizer.fit_counts(parts()).vocabulary_) == 64
    assert most <= 3


def test_pickled_counts_are_small(rng):
    words = [f"word{k}" for k in range(3000)]
    some = [" ".join(rng.choice(words, size=40)) for _ in range(2000)]
    counts = NgramVectorizer((1, 2)).count(some)
    assert len(pickle.dumps(counts)) < 6 * len(counts)


def test_counts_are_read_from_buffers_that_cannot_be_written():
    """As Dask sends them."""
    counts, buffers = NgramVectorizer((1, 2)).count(["one two", "two"]), []
    pickled = pickle.dumps(counts, protocol=5, buffer_callback=buffers.append)
    restored = pickle.loads(pickled, buffers=[bytes(buffer) for buffer in buffers])
    assert_same_counts(restored, counts)
    assert all(array.flags.writeable for array in arrays_of(restored))


def test_counts_of_other_settings_are_refused():
    counts = NgramVectorizer((1, 2)).count(["one two"])
    with pytest.raises(ValueError, match="other settings of lowercase, ngram_range"):
        _ = counts + NgramVectorizer(lowercase=False).count(["one two"])
    with pytest.raises(ValueError, match="other settings of stop_words"):
        NgramVectorizer((1, 2), stop_words=["one"]).fit_counts(counts)
    with pytest.raises(ValueError, match="other settings of preprocessor"):
        NgramVectorizer((1, 2), preprocessor=str.upper).fit_counts(counts)


def test_functions_are_compared_by_their_names():
    """A copy of a function that another process has received is not equal to the function."""

    def numbered(k):
        return NgramVectorizer(preprocessor=lambda text: f"{text} {k}")

    counts = pickle.loads(pickle.dumps(numbered(1).count(["one"])))
    assert numbered(1).fit_counts(counts).vocabulary_ == {"1": 0, "one": 1}


def test_only_counts_can_be_added():
    counts = NgramVectorizer().count(["one two"])
    with pytest.raises(TypeError):
        _ = counts + 1
    for other in (["one two"], [counts, 1]):
        with pytest.raises(TypeError, match="Only what count returned can be added"):
            NgramVectorizer().fit_counts(other)
    with pytest.raises(ValueError, match="no counts to add"):
        NgramVectorizer().fit_counts([])


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


NUMBERS = st.one_of(st.integers(0, 300), st.integers(0, 2**63 - 1), st.sampled_from([2**7, 2**14, 2**56]))


@given(numbers=st.lists(NUMBERS))
def test_numbers_are_read_back(numbers):
    array = np.array(numbers, np.int64)
    np.testing.assert_array_equal(from_bytes(to_bytes(array)), array, strict=True)


@given(numbers=st.lists(NUMBERS))
def test_each_number_takes_a_byte_per_seven_bits(numbers):
    lengths = [max(1, -(-number.bit_length() // 7)) for number in numbers]
    assert len(to_bytes(np.array(numbers, np.int64))) == sum(lengths)
