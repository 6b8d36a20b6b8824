"""Texts as matrices of n-grams, cut into rows with labels, rows without and rows to test on.

An n-gram is there or not. The vocabulary is that of the rows that a model may see, labelled or not.
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
LAST = 100  # words that are the end of a text
BEGINNING = 4  # letters
TOKENS = r"\w+"  # words without punctuation
MIN_DF = 2  # texts, where not every n-gram is kept

View = tuple[Callable[[str], str], NgramVectorizer]


class Texts(NamedTuple):
    """Texts with labels, without, and to test on."""

    labeled: Any
    y: np.ndarray
    unlabeled: Any
    test: Any
    y_test: np.ndarray


@dataclass(frozen=True)
class Split:
    """Matrices and labels."""

    X: sparse.csr_array
    y: np.ndarray
    X_unlabeled: sparse.csr_array
    X_test: sparse.csr_array
    y_test: np.ndarray

    def without_unseen(self) -> "Split":
        """The n-grams of labelled rows only, for models that would count the others."""
        seen = np.unique(self.X.indices)
        return replace(self, X=self.X[:, seen], X_test=self.X_test[:, seen])


# Fits come data set by data set, and IMDB's trigrams take a gigabyte.
@lru_cache(maxsize=1)
def imdb(n: int) -> Split:
    """IMDB's own split with 1- to n-grams in two reviews or more: 25,000 labelled rows, 50,000 unlabelled.

    In the file's order, where the reviews of a film stand together: folds that are blocks of it are about
    other films than the rest, as the test set is.
    """
    return _cut(_imdb_texts(), [(str, NgramVectorizer((1, n), min_df=MIN_DF, n_jobs=-1))])


@lru_cache(maxsize=1)
def imdb_as_published(n: int) -> Split:
    """IMDB in lower case, cut at white space only, every n-gram kept: how NB-SVM's authors seem to do it."""
    words = NgramVectorizer((1, n), token_pattern=r"\S+", strip_html=False, n_jobs=-1)
    return _cut(_imdb_texts(), [(str, words)])


@lru_cache(maxsize=1)
def imdb_wide() -> Split:
    """IMDB with 1- to 4-grams, pairs of words with one between, and 1- and 2-grams of the review's end."""
    views: list[View] = [
        (str, NgramVectorizer((1, 4), min_df=MIN_DF, n_jobs=-1)),
        (every_other_word, NgramVectorizer((2, 2), min_df=MIN_DF, n_jobs=-1)),
        (last_words, NgramVectorizer((1, 2), min_df=MIN_DF, n_jobs=-1)),
    ]
    return _cut(_imdb_texts(), views)


def every_other_word(text: str) -> str:
    """The words at even places, then those at odd ones: its bigrams are the text's pairs with one between.

    Examples
    --------
    >>> every_other_word("not a very good film")
    'not very film | a good'
    """
    words = _words(text)
    return " ".join([*words[::2], "|", *words[1::2]])


def last_words(text: str) -> str:
    """The end of a text.

    Examples
    --------
    >>> last_words("word " * 150).count("word")
    100
    """
    return " ".join(_words(text)[-LAST:])


def _words(text: str) -> list[str]:
    return WORD.findall(TAG.sub(" ", text))


def beginnings(text: str) -> str:
    """The first four letters of every word, which stand for what its forms have in common.

    Examples
    --------
    >>> beginnings("boring, and bored again")
    'bori and bore agai'
    """
    return " ".join(word[:BEGINNING] for word in re.findall(TOKENS, TAG.sub(" ", text)))


def unigrams_in_thirds(name: str, seed: int) -> Split:
    """Unigrams of a data set, shuffled and cut into labelled, unlabelled and test rows."""
    return _cut(_thirds(name, seed), [(str, NgramVectorizer())])


def more_in_thirds(name: str, seed: int) -> Split:
    """Words, their beginnings, and bigrams in two or more texts; long rows are scaled down, short ones up."""
    views: list[View] = [
        (str, NgramVectorizer(token_pattern=TOKENS)),
        (str, NgramVectorizer((2, 2), min_df=MIN_DF, token_pattern=TOKENS)),
        (beginnings, NgramVectorizer(token_pattern=TOKENS)),
    ]
    split = _cut(_thirds(name, seed), views)
    typical = np.median(np.diff(split.X.indptr))
    X, X_unlabeled, X_test = (_scaled(X, typical) for X in (split.X, split.X_unlabeled, split.X_test))
    return replace(split, X=X, X_unlabeled=X_unlabeled, X_test=X_test)


def _scaled(X: sparse.csr_array, typical: float) -> sparse.csr_array:
    """Ones become the root of typical / m in a row that has m of them: all rows are of the same length."""
    m = np.diff(X.indptr)
    entries = np.repeat(np.sqrt(typical / np.maximum(m, 1)), m).astype(np.float32)
    return sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape)


def _thirds(name: str, seed: int) -> Texts:
    texts, y = _all_texts(name)
    train, unlabeled, test = np.array_split(np.random.default_rng(seed).permutation(len(y)), 3)
    return Texts(texts[train], y[train], texts[unlabeled], texts[test], y[test])


def subset(split: Split, labeled: np.ndarray, unlabeled: np.ndarray) -> Split:
    """Some of the labelled and of the unlabelled rows."""
    return replace(split, X=split.X[labeled], y=split.y[labeled], X_unlabeled=split.X_unlabeled[unlabeled])


def _imdb_texts() -> Texts:
    data: Any = load_dataset("imdb")
    return Texts(data.texts, data.y, data.unlabeled, data.texts_test, data.y_test)


@lru_cache(maxsize=1)
def _all_texts(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All texts with labels."""
    data: Any = load_dataset(name)
    if data.texts_test is None:
        return np.asarray(data.texts, object), data.y
    texts = np.concatenate([np.asarray(part, object) for part in (data.texts, data.texts_test)])
    return texts, np.concatenate([data.y, data.y_test])


def _cut(texts: Texts, views: list[View]) -> Split:
    """Side by side the n-grams of every view, which is what a function makes of a text."""
    known, n = [*texts.labeled, *texts.unlabeled], len(texts.y)
    seen = [words.fit_transform(map(view, known)) for view, words in views]
    test = [words.transform(map(view, texts.test)) for view, words in views]
    X, X_test = (sparse.csr_array(sparse.hstack(parts, format="csr")) for parts in (seen, test))
    return Split(X[:n], texts.y, X[n:], X_test, texts.y_test)
