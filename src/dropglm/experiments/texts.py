"""Texts as n-gram matrices, split into labelled, unlabelled and test rows.

Features are binary: an n-gram is present or absent. The vocabulary comes from all rows that a model may see,
labelled or not.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.datasets import load_dataset
from dropglm.text import NgramVectorizer
from dropglm.text.tokens import WORDS_AND_PUNCTUATION

WORD, TAG = re.compile(WORDS_AND_PUNCTUATION), re.compile(r"<[^>]*>")
LAST_WORDS = 100  # words that count as the end of a text
PREFIX = 4  # letters
TOKENS = r"\w+"  # words without punctuation
MIN_DF = 2  # texts, where rare n-grams are dropped

Load = Callable[[str], Any]
View = tuple[Callable[[str], str], NgramVectorizer]  # how a text is rewritten, and how it is vectorised then


class Texts(NamedTuple):
    """Labelled, unlabelled and test texts."""

    labeled: Any
    y: np.ndarray
    unlabeled: Any
    test: Any
    y_test: np.ndarray


@dataclass(frozen=True)
class Split:
    """Matrices of labelled, unlabelled and test rows, and the labels."""

    X: sparse.csr_array
    y: np.ndarray
    X_unlabeled: sparse.csr_array
    X_test: sparse.csr_array
    y_test: np.ndarray

    def without_unseen(self) -> "Split":
        """Keep only the n-grams of labelled rows, for models that do not use unlabelled rows."""
        seen = np.unique(self.X.indices)
        return replace(self, X=self.X[:, seen], X_test=self.X_test[:, seen])


# Fits are ordered by data set, and IMDB's trigrams take a gigabyte, so only one matrix is kept.
@lru_cache(maxsize=1)
def imdb(n: int, load: Load = load_dataset) -> Split:
    """Return IMDB's own split with the 1- to n-grams that occur in two or more reviews.

    There are 25,000 labelled and 50,000 unlabelled rows, in the order of the file, where reviews of the same
    film are next to each other. Folds that are contiguous blocks therefore contain other films than the rest,
    as the test set does.
    """
    return _vectorize(_imdb_texts(load), [(str, NgramVectorizer((1, n), min_df=MIN_DF, n_jobs=-1))])


@lru_cache(maxsize=1)
def imdb_as_published(n: int, load: Load = load_dataset) -> Split:
    """Return IMDB in lower case, split at white space, with all n-grams, as NB-SVM's authors seem to do."""
    words = NgramVectorizer((1, n), token_pattern=r"\S+", strip_html=False, n_jobs=-1)
    return _vectorize(_imdb_texts(load), [(str, words)])


@lru_cache(maxsize=1)
def imdb_wide(load: Load = load_dataset) -> Split:
    """Return IMDB with 1- to 4-grams, bigrams that skip a word, and 1- and 2-grams of the review's end."""
    views: list[View] = [
        (str, NgramVectorizer((1, 4), min_df=MIN_DF, n_jobs=-1)),
        (every_other_word, NgramVectorizer((2, 2), min_df=MIN_DF, n_jobs=-1)),
        (last_words, NgramVectorizer((1, 2), min_df=MIN_DF, n_jobs=-1)),
    ]
    return _vectorize(_imdb_texts(load), views)


def every_other_word(text: str) -> str:
    """Return the words at even positions, then those at odd ones; its bigrams skip one word of the text.

    Examples
    --------
    >>> every_other_word("not a very good film")
    'not very film | a good'
    """
    words = _words(text)
    return " ".join([*words[::2], "|", *words[1::2]])


def last_words(text: str) -> str:
    """Return the last 100 words of a text.

    Examples
    --------
    >>> last_words("word " * 150).count("word")
    100
    """
    return " ".join(_words(text)[-LAST_WORDS:])


def _words(text: str) -> list[str]:
    return WORD.findall(TAG.sub(" ", text))


def prefixes(text: str) -> str:
    """Return the first four letters of every word, a crude form of stemming.

    Examples
    --------
    >>> prefixes("boring, and bored again")
    'bori and bore agai'
    """
    return " ".join(word[:PREFIX] for word in re.findall(TOKENS, TAG.sub(" ", text)))


def unigrams_in_thirds(name: str, seed: int, load: Load = load_dataset) -> Split:
    """Return the unigrams of a data set, shuffled and split into labelled, unlabelled and test rows."""
    return _vectorize(split_in_thirds(name, seed, load), [(str, NgramVectorizer())])


def more_in_thirds(name: str, seed: int, load: Load = load_dataset) -> Split:
    """Return words, their prefixes, and bigrams in two or more texts; all rows have the same norm."""
    views: list[View] = [
        (str, NgramVectorizer(token_pattern=TOKENS)),
        (str, NgramVectorizer((2, 2), min_df=MIN_DF, token_pattern=TOKENS)),
        (prefixes, NgramVectorizer(token_pattern=TOKENS)),
    ]
    split = _vectorize(split_in_thirds(name, seed, load), views)
    median = np.median(np.diff(split.X.indptr))
    X, X_unlabeled, X_test = (_normalise(X, median) for X in (split.X, split.X_unlabeled, split.X_test))
    return replace(split, X=X, X_unlabeled=X_unlabeled, X_test=X_test)


def _normalise(X: sparse.csr_array, squared_norm: float) -> sparse.csr_array:
    """Give a row with m ones the entries √(squared_norm / m), so that all rows have the same norm."""
    m = np.diff(X.indptr)
    entries = np.repeat(np.sqrt(squared_norm / np.maximum(m, 1)), m).astype(np.float32)
    return sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape)


def split_in_thirds(name: str, seed: int, load: Load = load_dataset) -> Texts:
    """Shuffle the texts of a data set and split them into labelled, unlabelled and test texts."""
    texts, y = _all_labeled_texts(name, load)
    train, unlabeled, test = np.array_split(np.random.default_rng(seed).permutation(len(y)), 3)
    return Texts(texts[train], y[train], texts[unlabeled], texts[test], y[test])


def subset(split: Split, labeled: np.ndarray, unlabeled: np.ndarray) -> Split:
    """Select some of the labelled and of the unlabelled rows."""
    return replace(split, X=split.X[labeled], y=split.y[labeled], X_unlabeled=split.X_unlabeled[unlabeled])


def _imdb_texts(load: Load) -> Texts:
    data = load("imdb")
    return Texts(data.texts, data.y, data.unlabeled, data.texts_test, data.y_test)


@lru_cache(maxsize=1)
def _all_labeled_texts(name: str, load: Load) -> tuple[np.ndarray, np.ndarray]:
    data = load(name)
    if data.texts_test is None:
        return np.asarray(data.texts, object), data.y
    texts = np.concatenate([np.asarray(part, object) for part in (data.texts, data.texts_test)])
    return texts, np.concatenate([data.y, data.y_test])


def _vectorize(texts: Texts, views: list[View]) -> Split:
    """Return the n-grams of all views side by side."""
    training, n = [*texts.labeled, *texts.unlabeled], len(texts.y)
    seen = [words.fit_transform(map(view, training)) for view, words in views]
    test = [words.transform(map(view, texts.test)) for view, words in views]
    X, X_test = (sparse.csr_array(sparse.hstack(parts, format="csr")) for parts in (seen, test))
    return Split(X[:n], texts.y, X[n:], X_test, texts.y_test)
