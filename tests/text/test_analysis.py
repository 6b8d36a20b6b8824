"""Stop words, accents, characters and functions of the user: n-grams as in scikit-learn."""

import pickle
import re
from functools import partial
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer, strip_accents_unicode

from dropglm import NgramVectorizer
from dropglm.text.ngrams import analysis
from dropglm.text.ngrams.tokens import RUNS, WORDS_OF_TWO_LETTERS, strip_unicode

LETTERS = "aAbBéÉçñ'!  \n\tςΣİß\u0301\u0308٣_京😀ﬁ＜"
texts_of_few_letters = st.lists(
    st.one_of(st.text(st.sampled_from(LETTERS), max_size=25), st.text(max_size=20)), min_size=1, max_size=6
)
ranges = st.tuples(st.integers(1, 4), st.integers(1, 4)).map(lambda pair: tuple(sorted(pair)))
LIKE_SCIKIT_LEARN = {"strip_html": False, "binary": False, "dtype": np.int64}


def reverse(text):
    return text[::-1]


def split_at_e(text):
    return text.split("e")


def pairs(text):
    return [text[k : k + 2] for k in range(0, len(text), 2)]


def assert_same(texts, others, **settings):
    """Check that the names and both matrices are those of CountVectorizer, or that both find no n-gram.

    Only ours normalises texts, unless functions of the user take its place.
    """
    own = "preprocessor" in settings or callable(settings.get("analyzer"))
    form = str if own else partial(normalize, "NFC")
    ours, theirs = NgramVectorizer(**LIKE_SCIKIT_LEARN, **settings), CountVectorizer(**settings)
    try:
        expected = theirs.fit_transform(map(form, texts))
    except ValueError:
        with pytest.raises(ValueError, match="empty vocabulary"):
            ours.fit(texts)
        return
    found = ours.fit_transform(texts)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    np.testing.assert_array_equal(
        ours.transform(others).toarray(), theirs.transform(map(form, others)).toarray()
    )
    assert ours.build_analyzer()(others[0]) == theirs.build_analyzer()(form(others[0]))


@given(
    texts=texts_of_few_letters,
    ngram_range=ranges,
    lowercase=st.booleans(),
    strip_accents=st.sampled_from([None, "ascii", "unicode", reverse]),
    stop_words=st.sampled_from([None, ["a", "b", "e", "京", "abba"], ["aa", "éa"]]),
    token_pattern=st.sampled_from([*RUNS, r"\S+"]),
)
@pytest.mark.filterwarnings("ignore:Your stop_words may be inconsistent")
def test_words_without_accents_and_stop_words_are_those_of_scikit_learn(texts, **settings):
    assert_same(texts, ["Abba, éa aa B!", *texts[::-1]], **settings)


@given(
    texts=texts_of_few_letters,
    ngram_range=ranges,
    analyzer=st.sampled_from(["char", "char_wb"]),
    lowercase=st.booleans(),
    strip_accents=st.sampled_from([None, "ascii", "unicode"]),
)
def test_ngrams_of_characters_are_those_of_scikit_learn(texts, **settings):
    assert_same(texts, ["Abba,  éa aa B!", *texts[::-1]], **settings)


@given(
    texts=texts_of_few_letters,
    settings=st.sampled_from(
        [
            {"preprocessor": reverse, "token_pattern": WORDS_OF_TWO_LETTERS, "ngram_range": (1, 2)},
            {"tokenizer": str.split, "token_pattern": None, "ngram_range": (1, 3)},
            {"tokenizer": split_at_e, "token_pattern": None, "stop_words": ["a"]},
            {"analyzer": pairs},
        ]
    ),
)
@pytest.mark.filterwarnings("ignore:Your stop_words may be inconsistent")
def test_functions_of_the_user_are_applied_as_in_scikit_learn(texts, settings):
    assert_same(texts, ["Abba, éa aa B!", *texts[::-1]], **settings)


def test_english_stop_words_are_dropped_in_chunks_and_on_threads(monkeypatch):
    monkeypatch.setattr(analysis, "CHUNK_CHARACTERS", 100)
    texts = [f"this is the {k % 7}th text of the {k % 5} and it is dull" for k in range(300)]
    settings = {"stop_words": "english", "ngram_range": (1, 2), "token_pattern": WORDS_OF_TWO_LETTERS}
    expected = CountVectorizer(**settings).fit_transform(texts)
    for threads in (1, 3):
        found = NgramVectorizer(n_jobs=threads, **LIKE_SCIKIT_LEARN, **settings).fit_transform(texts)
        np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_texts_are_decoded_and_read_from_files(tmp_path):
    texts = ["Très bon", "pas très bon"]
    expected = NgramVectorizer().fit_transform(texts).toarray()
    paths = [tmp_path / f"{k}.txt" for k in range(2)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="latin-1")
    encoded = NgramVectorizer(encoding="latin-1")
    np.testing.assert_array_equal(
        encoded.fit_transform([t.encode("latin-1") for t in texts]).toarray(), expected
    )
    encoded.set_params(input="filename")
    np.testing.assert_array_equal(encoded.fit_transform(paths).toarray(), expected)
    encoded.set_params(input="file", vocabulary=encoded.get_feature_names_out().tolist())
    with paths[0].open("rb") as one, paths[1].open(encoding="latin-1") as two:
        np.testing.assert_array_equal(encoded.fit_transform([one, two]).toarray(), expected)
    ignoring = NgramVectorizer(encoding="ascii", decode_error="ignore").fit([texts[0].encode()])
    assert ignoring.get_feature_names_out().tolist() == ["bon", "trs"]


def test_documents_may_be_objects_if_functions_of_the_user_read_them():
    documents = [{"text": "one two"}, {"text": "two three"}]
    expected = NgramVectorizer().fit_transform(["one two", "two three"]).toarray()
    by_preprocessor = NgramVectorizer(preprocessor=lambda document: document["text"])
    by_analyzer = NgramVectorizer(analyzer=lambda document: document["text"].split())
    for vectorizer in (by_preprocessor, by_analyzer):
        np.testing.assert_array_equal(vectorizer.fit_transform(documents).toarray(), expected)


class Shouting(NgramVectorizer):
    def build_preprocessor(self):
        return str.upper


class Commas(NgramVectorizer):
    def build_tokenizer(self):
        return partial(str.split, sep=",")


class Halves(NgramVectorizer):
    def build_analyzer(self):
        return lambda text: [text[: len(text) // 2], text[len(text) // 2 :]]


def str_without_addresses(value):
    """Return a name for a test, the same in every process: functions are represented by addresses."""
    return re.sub(r" at 0x\w+", "", repr(value))


@pytest.mark.parametrize(
    ("kind", "names"),
    [(Shouting, ["A", "B", "C,D"]), (Commas, ["a b c", "d"]), (Halves, ["a b", " c,d"])],
)
def test_subclasses_may_override_what_is_built(kind, names):
    vectorizer = kind(token_pattern=r"\S+").fit(["a b c,d"])
    assert sorted(vectorizer.get_feature_names_out()) == sorted(names)
    assert not hasattr(vectorizer, "set_output")


def test_analyzers_can_be_pickled():
    settings = {"stop_words": "english", "strip_accents": "unicode", "ngram_range": (1, 2)}
    analyze = NgramVectorizer(**settings).build_analyzer()
    text = "The naïve <b>view</b>"
    assert analyze(text) == ["naive", "view", "naive view"]
    assert pickle.loads(pickle.dumps(analyze))(text) == analyze(text)
    assert NgramVectorizer(**settings).tokenize(text) == ["naive", "view"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stop_words": "klingon"}, "stop_words 'klingon' is unknown; known: 'english'"),
        ({"stop_words": [1]}, "stop_words must be 'english' or a list of strings, got 1"),
        ({"stop_words": 1}, "stop_words must be 'english' or a list of strings, got 1"),
        ({"strip_accents": "latin"}, "strip_accents 'latin' is unknown"),
        ({"analyzer": "words"}, "analyzer 'words' is unknown; did you mean 'word'"),
        ({"analyzer": None}, "analyzer must be a name"),
        ({"analyzer": "char", "ngram_range": (0, 2)}, "1 <= a <= b <= 50, got"),
        ({"input": "path"}, "input 'path' is unknown"),
        ({"preprocessor": "lower"}, "preprocessor must be a function or None"),
        ({"tokenizer": str.split, "token_pattern": None, "ngram_range": 2}, "ngram_range must be a pair"),
        ({"tokenizer": lambda text: [text]}, None),
        ({"tokenizer": lambda text: [text], "ngram_range": (1, 2)}, "cannot be distinguished from an n-gram"),
        ({"analyzer": lambda text: [1, 2]}, "must return lists of strings, got 1"),
        ({"stop_words": ["some", "text", "more"]}, "empty vocabulary"),
    ],
    ids=str_without_addresses,
)
def test_bad_settings_raise_a_clear_error(settings, message):
    vectorizer = NgramVectorizer(**settings)
    if message is None:
        vectorizer.fit(["some text"])
        return
    with pytest.raises((TypeError, ValueError), match=message):
        vectorizer.fit(["some text", "some more"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"tokenizer": str.split, "token_pattern": r"\w+"},
            "'token_pattern' will not be used since 'tokenizer'",
        ),
        ({"analyzer": "char", "stop_words": "english"}, "'stop_words' will not be used since 'analyzer'"),
        ({"analyzer": str.split, "ngram_range": (1, 2)}, "'ngram_range' will not be used since 'analyzer'"),
        ({"stop_words": ["Some"]}, r"Tokenizing the stop words generated tokens \['some'\]"),
    ],
    ids=str_without_addresses,
)
def test_settings_without_effect_are_warned_of(settings, message):
    with pytest.warns(UserWarning, match=message) as caught:
        NgramVectorizer(**settings).fit(["some text"])
    assert caught[0].filename == __file__


def test_inverse_transform_lists_the_ngrams_of_each_row():
    texts = ["two one two", "", "three"]
    ours, theirs = NgramVectorizer(use_idf=True, norm="l2"), TfidfVectorizer()
    X = ours.fit_transform(texts)
    expected = theirs.inverse_transform(theirs.fit_transform(texts))
    for rows in (X, X.toarray(), X.tocsc(), X.astype(np.float64)):
        found = ours.inverse_transform(rows)
        assert [ngrams.tolist() for ngrams in found] == [sorted(ngrams.tolist()) for ngrams in expected]
    with pytest.raises(ValueError, match="X has 2 columns, but the vocabulary has 3 n-grams"):
        ours.inverse_transform(X[:, :2])


@given(st.text(st.sampled_from("aé\u0301\u0308\u0323ẽﬁ＜京\u0625 \ud800"), max_size=30))
def test_accents_are_stripped_in_parts_as_in_whole_texts(text):
    assert strip_unicode(text) == strip_accents_unicode(text)
