"""Texts split into labelled, unlabelled and test texts, and their n-gram matrices.

Splits are those of IMDB's authors, thirds of a data set, and few labels: a third of the texts, at most 3,000,
are test texts; of the others, n have labels, with at least two of each class, and the rest are unlabelled.
There are two more data sets: 20 newsgroups as its authors split it, and synthetic texts of very many classes.

Features are binary: an n-gram is present or absent. The vocabulary comes from all rows that a model may see,
labelled or not.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import normalize

from dropglm.baselines import SentimentVectors
from dropglm.baselines.nbsvm import presence
from dropglm.datasets import DATASETS, load_dataset
from dropglm.datasets.corpora import without_header
from dropglm.text import NgramVectorizer
from dropglm.text.ngrams.tokens import WORDS_AND_PUNCTUATION

WORD, TAG = re.compile(WORDS_AND_PUNCTUATION), re.compile(r"<[^>]*>")
LAST_WORDS = 100  # words that count as the end of a text
PREFIX = 4  # letters
TOKENS = r"\w+"  # words without punctuation
MIN_DF = 2  # texts, where rare n-grams are dropped

MAX_TEST = 3_000
PER_CLASS = 2  # labelled texts that every class has at least
POOL_SEED = 2  # of the texts that are drawn from a larger data set
TOP_LEVELS = ("comp", "rec", "sci", "talk")

# The synthetic texts. A class prefers a few words, all of which other classes use as well.
CLASSES, TEXTS_PER_CLASS, TEST_PER_CLASS = 500, 4, 4
VOCABULARY, PREFERRED, PREFERENCE, LENGTH = 5_000, 25, 0.2, 40

Load = Callable[..., Any]
TextsAndLabels = tuple[np.ndarray, np.ndarray]  # texts and labels
View = tuple[Callable[[str], str], NgramVectorizer]  # how a text is rewritten, and how it is vectorised then


class Split(NamedTuple):
    """Labelled, unlabelled and test rows, which are texts or a matrix of their features, and the labels."""

    X: Any
    y: np.ndarray
    X_unlabeled: Any
    X_test: Any
    y_test: np.ndarray

    def without_unseen(self) -> "Split":
        """Keep only the n-grams of labelled rows, for models that do not use unlabelled rows."""
        seen = np.unique(self.X.indices)
        return self._replace(X=self.X[:, seen], X_test=self.X_test[:, seen])

    def fit(self, model: Any, *, unlabeled: bool) -> Any:
        """Fit a model to the labelled rows, and to the unlabelled ones if it uses them."""
        more = {"X_unlabeled": self.X_unlabeled} if unlabeled else {}
        return model.fit(self.X, self.y, **more)


# Fits are ordered by data set, so only one is kept.
@lru_cache(maxsize=1)
def all_texts(name: str, load: Load) -> TextsAndLabels:
    """Return the texts of a data set with their labels, before the split: a part in ``PARTS``, or all."""
    return PARTS[name](load) if name in PARTS else _whole(name, load)


def _whole(name: str, load: Load) -> TextsAndLabels:
    """Return all labelled texts, those of an official test set among them."""
    data = load(name)
    if data.texts_test is None:
        return np.asarray(data.texts, object), np.asarray(data.y)
    return _joined(data)


def _joined(data: Any) -> TextsAndLabels:
    texts = [np.asarray(part, object) for part in (data.texts, data.texts_test)]
    return np.concatenate(texts), np.concatenate([data.y, data.y_test])


def _docstrings(load: Load) -> TextsAndLabels:
    """Return all docstrings that the loader draws by default, up to a thousand per package."""
    n = len(load("docstrings", n_labeled=1, n_test=1).unlabeled) + 2
    return _joined(load("docstrings", n_labeled=n - 1, n_test=1))


def _newsgroups(load: Load) -> TextsAndLabels:
    texts, groups = _whole("20news", load)
    return _without_headers(texts), groups


def _top_levels(load: Load) -> TextsAndLabels:
    texts, groups = _newsgroups(load)
    top = np.array([group.partition(".")[0] for group in groups])
    kept = np.isin(top, TOP_LEVELS)
    return texts[kept], top[kept]


def _without_headers(texts: np.ndarray) -> np.ndarray:
    return np.array([without_header(text) for text in texts], object)


def _draw(n: int, rows: TextsAndLabels) -> TextsAndLabels:
    texts, y = rows
    drawn = np.random.default_rng(POOL_SEED).permutation(len(y))[:n]
    return texts[drawn], y[drawn]


PARTS: dict[str, Callable[[Load], TextsAndLabels]] = {
    "imdb8k": lambda load: _draw(8_000, _whole("imdb", load)),
    "docs": _docstrings,
    "news4": lambda load: _draw(7_000, _top_levels(load)),
    "news20": lambda load: _draw(8_000, _newsgroups(load)),
}


def count_classes(name: str) -> int:
    """Return the number of classes of a data set or of a part, without loading it.

    Examples
    --------
    >>> [count_classes(name) for name in ("rt", "news4", "news20")]
    [2, 4, 20]
    """
    whole = {"imdb8k": "imdb", "docs": "docstrings", "news20": "20news"}
    return len(TOP_LEVELS if name == "news4" else DATASETS[whole.get(name, name)].classes)


def hold_out(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of a third of n texts, at most 3,000, and those of the others, in random order."""
    order = np.random.default_rng(seed).permutation(n)
    n_test = min(n // 3, MAX_TEST)
    return order[:n_test], order[n_test:]


@lru_cache(maxsize=1)
def few_labels(name: str, labels: int, seed: int, load: Load, per_class: bool = False) -> Split:
    """Return one split of a data set with that many labels, in all or per class.

    The test texts depend on the seed only.
    """
    texts, y = all_texts(name, load)
    test, rest = hold_out(len(y), seed)
    chosen = choose_per_class(y[rest], labels) if per_class else choose_labeled(y[rest], labels)
    labeled, unlabeled = rest[chosen], rest[~chosen]
    return Split(texts[labeled], y[labeled], texts[unlabeled], texts[test], y[test])


def choose_labeled(y: np.ndarray, labels: int) -> np.ndarray:
    """Return a mask of the first rows; where a class has fewer than two, its next rows replace the last ones.

    Examples
    --------
    >>> choose_labeled(np.array(["a", "a", "a", "b", "a", "b", "a"]), 4).astype(int)
    array([1, 1, 0, 1, 0, 1, 0])
    """
    chosen = choose_per_class(y, PER_CLASS)
    others, needed = np.flatnonzero(~chosen), np.count_nonzero(chosen)
    chosen[others[: max(labels - needed, 0)]] = True
    return chosen


def choose_per_class(y: np.ndarray, labels: int) -> np.ndarray:
    """Return a mask of the first rows of each class.

    Examples
    --------
    >>> choose_per_class(np.array(["a", "a", "a", "b", "a", "b", "a"]), 2).astype(int)
    array([1, 1, 0, 1, 0, 1, 0])
    """
    chosen = np.zeros(len(y), bool)
    for name in np.unique(y):
        chosen[np.flatnonzero(y == name)[:labels]] = True
    return chosen


@lru_cache(maxsize=1)
def newsgroups_by_date(load: Load) -> Split:
    """Return 20 newsgroups without headers, split by date: 11,314 labelled and 7,532 test texts."""
    data = load("20news")
    labeled, test = (_without_headers(part) for part in (data.texts, data.texts_test))
    return Split(labeled, data.y, labeled[:0], test, data.y_test)


@lru_cache(maxsize=1)
def many_classes(seed: int) -> Split:
    """Return synthetic texts of 500 classes, with four labelled and four test texts each.

    Every word is drawn from the class's own 25 words with probability 0.2, else from all words, whose
    frequencies fall as 1/rank. The words of a class are drawn from all but the 100 most frequent ones.
    """
    rng = np.random.default_rng(seed)
    words = np.array([f"w{k}" for k in range(VOCABULARY)])
    frequencies = 1.0 / np.arange(1, VOCABULARY + 1)
    frequencies /= frequencies.sum()
    per_class = TEXTS_PER_CLASS + TEST_PER_CLASS
    texts = np.empty((CLASSES, per_class), object)
    for c in range(CLASSES):
        own = rng.choice(np.arange(100, VOCABULARY), PREFERRED, replace=False)
        for k in range(per_class):
            length = rng.integers(LENGTH // 2, 2 * LENGTH)
            common = rng.choice(VOCABULARY, length, p=frequencies)
            drawn = np.where(rng.random(length) < PREFERENCE, rng.choice(own, length), common)
            texts[c, k] = " ".join(words[drawn])
    names = np.array([f"class {c}" for c in range(CLASSES)])
    labeled, test = texts[:, :TEXTS_PER_CLASS].ravel(), texts[:, TEXTS_PER_CLASS:].ravel()
    y, y_test = np.repeat(names, TEXTS_PER_CLASS), np.repeat(names, TEST_PER_CLASS)
    return Split(labeled, y, labeled[:0], test, y_test)


# Fits are ordered by data set, and IMDB's trigrams take a gigabyte, so only one matrix is kept.
@lru_cache(maxsize=1)
def imdb(n: int, load: Load = load_dataset) -> Split:
    """Return IMDB's own split with the 1- to n-grams that occur in two or more reviews.

    There are 25,000 labelled and 50,000 unlabelled rows, in the order of the file, where reviews of the same
    film are next to each other. Folds that are contiguous blocks therefore contain other films than the rest,
    as the test set does.
    """
    return vectorize(official_split(load("imdb")), [(str, NgramVectorizer((1, n), min_df=MIN_DF, n_jobs=-1))])


@lru_cache(maxsize=1)
def _word_counts(load: Load) -> Split:
    words = NgramVectorizer(min_df=MIN_DF, binary=False, n_jobs=-1)
    return vectorize(official_split(load("imdb")), [(str, words)])


@lru_cache(maxsize=2)
def _learnt(model: SentimentVectors, load: Load, *, unlabeled: bool) -> SentimentVectors:
    return _word_counts(load).fit(clone(model), unlabeled=unlabeled)


def imdb_vectors(
    model: SentimentVectors, load: Load = load_dataset, *, unlabeled: bool, words: bool
) -> Split:
    """Return IMDB with the features that word vectors give, and those of the presence of the same words.

    The vectors are learnt from the labelled reviews, or from all that are not in the test set. The words have
    length 1 as well.
    """
    counts, vectors = _word_counts(load), _learnt(model, load, unlabeled=unlabeled)
    features: list[Any] = []
    for X in (counts.X, counts.X_test):
        own = [
            sparse.csr_array(vectors.transform(X)),
            *([normalize(presence(X)[:, vectors.words_])] if words else []),
        ]
        features.append(sparse.csr_array(sparse.hstack(own, format="csr")))
    return Split(features[0], counts.y, features[0][:0], features[1], counts.y_test)


@lru_cache(maxsize=1)
def imdb_as_published(n: int, load: Load = load_dataset) -> Split:
    """Return IMDB in lower case, split at white space, with all n-grams, as NB-SVM's authors seem to do."""
    words = NgramVectorizer((1, n), token_pattern=r"\S+", strip_html=False, n_jobs=-1)
    return vectorize(official_split(load("imdb")), [(str, words)])


@lru_cache(maxsize=1)
def imdb_wide(load: Load = load_dataset) -> Split:
    """Return IMDB with 1- to 4-grams, bigrams that skip a word, and 1- and 2-grams of the review's end."""
    views: list[View] = [
        (str, NgramVectorizer((1, 4), min_df=MIN_DF, n_jobs=-1)),
        (every_other_word, NgramVectorizer((2, 2), min_df=MIN_DF, n_jobs=-1)),
        (last_words, NgramVectorizer((1, 2), min_df=MIN_DF, n_jobs=-1)),
    ]
    return vectorize(official_split(load("imdb")), views)


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
    return vectorize(split_in_thirds(name, seed, load), [(str, NgramVectorizer())])


def more_in_thirds(name: str, seed: int, load: Load = load_dataset) -> Split:
    """Return words, their prefixes, and bigrams in two or more texts; all rows have the same norm."""
    views: list[View] = [
        (str, NgramVectorizer(token_pattern=TOKENS)),
        (str, NgramVectorizer((2, 2), min_df=MIN_DF, token_pattern=TOKENS)),
        (prefixes, NgramVectorizer(token_pattern=TOKENS)),
    ]
    split = vectorize(split_in_thirds(name, seed, load), views)
    median = np.median(np.diff(split.X.indptr))
    X, X_unlabeled, X_test = (_normalise(X, median) for X in (split.X, split.X_unlabeled, split.X_test))
    return split._replace(X=X, X_unlabeled=X_unlabeled, X_test=X_test)


def _normalise(X: sparse.csr_array, squared_norm: float) -> sparse.csr_array:
    """Give a row with m ones the entries √(squared_norm / m), so that all rows have the same norm."""
    m = np.diff(X.indptr)
    entries = np.repeat(np.sqrt(squared_norm / np.maximum(m, 1)), m).astype(np.float32)
    return sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape)


def split_in_thirds(name: str, seed: int, load: Load = load_dataset) -> Split:
    """Shuffle the texts of a data set and split them into labelled, unlabelled and test texts."""
    texts, y = all_texts(name, load)
    train, unlabeled, test = np.array_split(np.random.default_rng(seed).permutation(len(y)), 3)
    return Split(texts[train], y[train], texts[unlabeled], texts[test], y[test])


def official_split(data: Any) -> Split:
    """Return the texts of a data set that has all three parts."""
    return Split(data.texts, data.y, data.unlabeled, data.texts_test, data.y_test)


def vectorize(texts: Split, views: list[View]) -> Split:
    """Return the n-grams of all views side by side."""
    training, n = [*texts.X, *texts.X_unlabeled], len(texts.y)
    seen = [words.fit_transform(map(view, training)) for view, words in views]
    test = [words.transform(map(view, texts.X_test)) for view, words in views]
    X, X_test = (sparse.csr_array(sparse.hstack(parts, format="csr")) for parts in (seen, test))
    return Split(X[:n], texts.y, X[n:], X_test, texts.y_test)
