"""N-gram matrices of texts, compared with scikit-learn's."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from dropglm.experiments import texts
from tests.experiments.toys import GOOD, ToyDataset


def review(rng, name, length):
    """Return a text with tags, capitals and punctuation whose first and last two words are unique."""
    words = [f"{rng.choice(['Plain', 'word', 'thing', 'longer'])}{k}" for k in rng.integers(6, size=length)]
    words[length // 2] = "Well,<br />I'm"
    return f"{name}a {name}b {' '.join(words)} {name}y {name}z"


@pytest.fixture
def corpus(rng):
    """Short and long reviews; test texts have words that occur nowhere else."""
    data = SimpleNamespace(
        texts=[review(rng, f"l{k}", int(m)) for k, m in enumerate(rng.integers(3, 30, size=24))],
        y=np.arange(24) % 2,
        unlabeled=[review(rng, f"u{k}", int(m)) for k, m in enumerate(rng.integers(20, 60, size=18))],
        texts_test=[f"Unheard {text} unheard" for text in (review(rng, f"t{k}", 9) for k in range(12))],
        y_test=np.arange(12) % 2,
    )
    for k in (3, 5):
        data.texts[k] = f"first{k} second{k} opening words " + review(rng, f"long{k}", 130)
    data.load = lambda name: data
    return data


def tokens(text):
    return re.findall(r"[\w']+|[^\w\s]", re.sub(r"<[^>]*>", " ", text.lower()))


def grams(words, shortest, longest):
    """Return all n-grams with a number of words in that range."""
    return [
        " ".join(words[k : k + n]) for n in range(shortest, longest + 1) for k in range(len(words) - n + 1)
    ]


def matrices(parts, *views):
    """Return binary matrices by scikit-learn, fitted to the first two parts."""
    counters = [CountVectorizer(analyzer=found, min_df=least, binary=True) for found, least in views]
    for counter in counters:
        counter.fit([*parts[0], *parts[1]])
    names = [set(counter.vocabulary_) for counter in counters]
    return names, [
        np.hstack([counter.transform(part).toarray() for counter in counters]).astype(float) for part in parts
    ]


def assert_same_matrices(split, parts):
    for found, truth in zip((split.X, split.X_unlabeled, split.X_test), parts, strict=True):
        assert_allclose(found.toarray(), truth, rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2])
def test_imdb_has_the_n_grams_of_two_or_more_training_reviews(corpus, n):
    parts = corpus.texts, corpus.unlabeled, corpus.texts_test
    (names,), truth = matrices(parts, (lambda text: grams(tokens(text), 1, n), 2))
    assert_same_matrices(texts.imdb(n, corpus.load), truth)
    assert not {"unheard", "l0a"} & names  # in test texts only, and in one review
    assert "opening" in names


@pytest.mark.parametrize("n", [1, 2])
def test_imdb_as_published_keeps_tags_and_punctuation_in_words(corpus, n):
    parts = corpus.texts, corpus.unlabeled, corpus.texts_test
    (names,), truth = matrices(parts, (lambda text: grams(text.lower().split(), 1, n), 1))
    assert_same_matrices(texts.imdb_as_published(n, corpus.load), truth)
    assert {"well,<br", "/>i'm", "l0a"} <= names
    assert "unheard" not in names


def test_imdb_wide_has_four_grams_skip_bigrams_and_the_last_hundred_words(corpus):
    def pairs(text):
        words = tokens(text)
        return [f"{a} {b}" for a, b in zip(words, words[2:], strict=False)]

    parts = corpus.texts, corpus.unlabeled, corpus.texts_test
    (words, _, last), truth = matrices(
        parts,
        (lambda text: grams(tokens(text), 1, 4), 2),
        (pairs, 2),
        (lambda text: grams(tokens(text)[-100:], 1, 2), 2),
    )
    assert_same_matrices(texts.imdb_wide(corpus.load), truth)
    assert "opening words" in words
    assert "opening words" not in last


def test_thirds_are_a_partition_of_the_texts(load):
    parts = texts.split_in_thirds("rt", 3, load)
    assert [len(part) for part in (parts.X, parts.X_unlabeled, parts.X_test)] == [34, 33, 33]
    everything = [*ToyDataset().texts, *ToyDataset().texts_test]
    assert sorted([*parts.X, *parts.X_unlabeled, *parts.X_test]) == sorted(everything)
    for found, y in ((parts.X, parts.y), (parts.X_test, parts.y_test)):
        assert_array_equal([any(word in GOOD for word in text[:-1].split()) for text in found], y == 1)
    assert list(texts.split_in_thirds("rt", 3, load).X) == list(parts.X)
    assert list(texts.split_in_thirds("rt", 4, load).X) != list(parts.X)


def test_thirds_have_a_column_for_every_training_word(corpus):
    cut = texts.split_in_thirds("rt", 3, corpus.load)
    parts = cut.X, cut.X_unlabeled, cut.X_test
    (names,), truth = matrices(parts, (tokens, 1))
    split = texts.unigrams_in_thirds("rt", 3, corpus.load)
    assert_same_matrices(split, truth)
    assert_array_equal(split.y, cut.y)
    assert_array_equal(split.y_test, cut.y_test)
    assert {word for text in cut.X_test for word in tokens(text)} - names


def test_more_features_are_words_bigrams_and_prefixes_in_rows_of_equal_norm(corpus):
    """The squared norm of every row is the median number of features of the labelled rows."""
    cut = texts.split_in_thirds("rt", 3, corpus.load)
    parts = cut.X, cut.X_unlabeled, cut.X_test

    def words(text):
        return re.findall(r"\w+", " ".join(tokens(text)))  # without punctuation

    _, truth = matrices(
        parts,
        (words, 1),
        (lambda text: grams(words(text), 2, 2), 2),
        (lambda text: [word[:4] for word in words(text)], 1),
    )
    counts = [part.sum(axis=1) for part in truth]
    typical = np.median(counts[0])
    assert typical not in (counts[0].mean(), np.median(counts[1]), np.median(np.concatenate(counts[:2])))
    scaled = [part * np.sqrt(typical / m)[:, None] for part, m in zip(truth, counts, strict=True)]
    assert_same_matrices(texts.more_in_thirds("rt", 3, corpus.load), scaled)


def test_words_without_labelled_rows_can_be_dropped():
    X = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 1]]))
    split = texts.Split(X, np.array([0, 1]), X, sparse.csr_array(np.array([[0, 1, 1]])), np.array([1]))
    seen = split.without_unseen()
    assert seen.X.toarray().tolist() == [[1, 1], [0, 1]]
    assert seen.X_test.toarray().tolist() == [[0, 1]]


def test_prefixes_leave_out_tags_and_punctuation():
    assert texts.prefixes("Boring<br />films!") == "Bori film"
