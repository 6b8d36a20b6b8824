"""N-grams of characters, which compiled loops find, are those of scikit-learn."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from dropglm import NgramVectorizer
from dropglm.text.ngrams import analysis, features
from dropglm.text.ngrams.tokens import Preprocessor, TokenBuffers

# One to four bytes per character, every kind of white space, and tags
LETTERS = "abcé'!ßд京😀\ud800 \t\n\x1c\x85\xa0\u2003\u3000"
parts = st.one_of(
    st.text(st.sampled_from(LETTERS), max_size=12),
    st.text(max_size=8),
    st.sampled_from(["<br />", "a<b>c", " ", "   ", "unbelievably", "<"]),
)
many_texts = st.lists(st.lists(parts, max_size=5).map("".join), min_size=1, max_size=6)
ranges = st.tuples(st.integers(1, 10), st.integers(1, 10)).map(lambda pair: tuple(sorted(pair)))
analyzers = st.sampled_from(["char", "char_wb"])
COUNTS = {"binary": False, "dtype": np.int64}


@given(texts=many_texts, ngram_range=ranges, analyzer=analyzers, strip_html=st.booleans())
@example(texts=["", " ", "a", " a  b\n"], ngram_range=(1, 1), analyzer="char_wb", strip_html=True)
@example(texts=["a\n", "a \n", "ab"], ngram_range=(1, 3), analyzer="char", strip_html=True)
def test_tokens_are_what_the_analyzer_returns(texts, **settings):
    """Those of each text, each as often, and with a key that depends on nothing but its letters."""
    vectorizer = NgramVectorizer(**settings)
    analyze, tokens = vectorizer.build_analyzer(), vectorizer._tokenizer().split(texts)
    whole, names = tokens.letters.tobytes(), {}
    for i, text in enumerate(texts):
        places = range(tokens.first[i], tokens.first[i] + tokens.counts[i])
        found = [whole[tokens.start[p] : tokens.stop[p]].decode("utf-8", "surrogatepass") for p in places]
        assert Counter(found) == Counter(analyze(text))
        for p, ngram in zip(places, found, strict=True):
            assert names.setdefault(tokens.keys[p], ngram) == ngram


@given(texts=many_texts, ngram_range=ranges, analyzer=analyzers, sublinear_tf=st.booleans())
def test_weights_are_those_of_scikit_learn(texts, **settings):
    theirs = TfidfVectorizer(preprocessor=Preprocessor(), **settings)
    ours = NgramVectorizer(use_idf=True, norm="l2", binary=False, dtype=np.float64, **settings)
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:
        with pytest.raises(ValueError, match="empty vocabulary"):
            ours.fit(texts)
        return
    np.testing.assert_allclose(ours.fit_transform(texts).toarray(), expected.toarray())
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    for text in texts:
        found, row = ours.transform([text]), theirs.transform([text])
        np.testing.assert_allclose(found.toarray(), row.toarray())


@given(texts=many_texts, ngram_range=ranges, first=st.integers(0, 6))
def test_counts_of_parts_are_those_of_all_texts(texts, ngram_range, first):
    def new():
        return NgramVectorizer(ngram_range, analyzer="char_wb")

    texts = ["a", *texts]
    counts = (new().count(part) for part in (texts[:first], texts[first:]))
    found, expected = new().fit_counts(counts), new().fit(texts)
    assert found.vocabulary_ == expected.vocabulary_
    np.testing.assert_array_equal(found.ngrams_.document_counts, expected.ngrams_.document_counts)


@pytest.mark.parametrize("analyzer", ["char", "char_wb"])
def test_any_number_of_threads_gives_the_same_matrix(analyzer, monkeypatch):
    monkeypatch.setattr(analysis, "CHUNK_CHARACTERS", 2000)
    monkeypatch.setattr(features, "BYTES_PER_PIECE", 300)
    texts = [f"the {k % 7}th  naïve text, {'京都 ' * (k % 5)}and {k} more" for k in range(400)]
    settings = {"analyzer": analyzer, "ngram_range": (2, 5), "min_df": 2}
    expected = CountVectorizer(**settings).fit_transform(texts)
    for threads in (1, 2, 3):
        vectorizer = NgramVectorizer(n_jobs=threads, **COUNTS, **settings)
        for found in (vectorizer.fit_transform(texts), vectorizer.transform(texts)):
            assert (found != expected).nnz == 0


def test_functions_of_the_user_come_before_the_compiled_loop():
    """Also if they make a text longer, which needs more room than the text that was given."""
    texts = ["Ab", "B a", ""]
    for settings in (
        {"preprocessor": lambda text: f"{text} é" * 9},
        {"strip_accents": lambda text: text * 9},
    ):
        settings |= {"analyzer": "char_wb", "ngram_range": (2, 3)}
        ours = NgramVectorizer(strip_html=False, **COUNTS, **settings)
        expected = CountVectorizer(**settings).fit_transform(texts)
        np.testing.assert_array_equal(ours.fit_transform(texts).toarray(), expected.toarray())


def test_long_words_have_room_for_all_their_ngrams():
    """Distinct n-grams of a word have many more bytes than the word."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcdé"), 500)) for _ in range(20)]
    settings = {"analyzer": "char_wb", "ngram_range": (1, 50)}
    expected = CountVectorizer(**settings).fit(texts)
    assert NgramVectorizer(**settings).fit(texts).vocabulary_ == expected.vocabulary_


def test_buffers_are_used_again():
    tokenizer, room = NgramVectorizer((1, 2), analyzer="char_wb")._tokenizer(), TokenBuffers()
    tokenizer.split(["a long text"], room)
    before = room.words
    tokens = tokenizer.split(["b"], room)
    assert room.words is before
    assert tokens.counts.tolist() == [5]


@pytest.mark.parametrize("name", ["", "ab"])
def test_loaded_features_list_no_ngrams_that_are_longer_than_all_of_the_vocabulary(name):
    """An empty n-gram, which no text has, is possible in a damaged file."""
    given = features.Vocabulary._from_names([name], 1)
    state = given._with_counts(np.ones(1))._to_state()
    settings = {"analyzer": "char_wb", "ngram_range": (2, 50)}
    loaded = features.NgramFeatures._from_state(settings, state, 1)
    assert loaded.ngram_range[1] == max(1, len(name))
    found = loaded.transform(["ab", "", "xabx ab", "é"])
    assert found.toarray().ravel().tolist() == ([0, 0, 0, 0] if name == "" else [1, 0, 1, 0])
