"""Texts with few labels: seven data sets, each split into test, labelled and unlabelled texts.

A third of the texts, at most 3,000, are test texts. Of the others, n have labels, with at least two of each
class, and the rest are unlabelled. There are two more data sets: 20 newsgroups as its authors split it, and
synthetic texts of very many classes.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from dropglm.datasets.newsgroups import without_header
from dropglm.experiments.texts import Texts

Load = Callable[..., Any]
Rows = tuple[np.ndarray, np.ndarray]  # texts and labels

MAX_TEST = 3_000
PER_CLASS = 2  # labelled texts that every class has at least
POOL_SEED = 2  # of the texts that are drawn from a larger data set
IMDB8K, NEWS4, NEWS20 = 8_000, 7_000, 8_000  # texts drawn
TOP_LEVELS = ("comp", "rec", "sci", "talk")

# The synthetic texts. A class prefers a few words, all of which other classes use as well.
CLASSES, TEXTS_PER_CLASS, TEST_PER_CLASS = 500, 4, 4
VOCABULARY, PREFERRED, PREFERENCE, LENGTH = 5_000, 25, 0.2, 40


@lru_cache(maxsize=1)
def few_labels(name: str, labels: int, seed: int, load: Load) -> Texts:
    """Return one split of a data set; the test texts depend on the seed only."""
    texts, y = all_texts(name, load)
    order = np.random.default_rng(seed).permutation(len(y))
    n_test = min(len(y) // 3, MAX_TEST)
    test, rest = order[:n_test], order[n_test:]
    chosen = choose_labeled(y[rest], labels)
    labeled, unlabeled = rest[chosen], rest[~chosen]
    return Texts(texts[labeled], y[labeled], texts[unlabeled], texts[test], y[test])


def choose_labeled(y: np.ndarray, labels: int) -> np.ndarray:
    """Return a mask of the first rows; where a class has fewer than two, its next rows replace the last ones.

    Examples
    --------
    >>> choose_labeled(np.array(["a", "a", "a", "b", "a", "b", "a"]), 4).astype(int)
    array([1, 1, 0, 1, 0, 1, 0])
    """
    needed = np.concatenate([np.flatnonzero(y == name)[:PER_CLASS] for name in np.unique(y)])
    others = np.setdiff1d(np.arange(len(y)), needed)
    chosen = np.zeros(len(y), bool)
    chosen[needed] = True
    chosen[others[: max(labels - len(needed), 0)]] = True
    return chosen


@lru_cache(maxsize=1)
def all_texts(name: str, load: Load) -> Rows:
    """Return all texts of a data set with their labels, before the split."""
    return SETS[name](load)


def _whole(name: str) -> Callable[[Load], Rows]:
    """Return a function that loads a data set without a test set."""

    def read(load: Load) -> Rows:
        data = load(name)
        return np.asarray(data.texts, object), np.asarray(data.y)

    return read


def _imdb8k(load: Load) -> Rows:
    return _draw(_both_parts(load("imdb")), IMDB8K)


def _docstrings(load: Load) -> Rows:
    """Return all docstrings that the loader draws by default, up to a thousand per package."""
    n = len(load("docstrings", n_labeled=1, n_test=1).unlabeled) + 2
    return _both_parts(load("docstrings", n_labeled=n - 1, n_test=1))


def _news4(load: Load) -> Rows:
    texts, groups = _bodies(load)
    top = np.array([group.partition(".")[0] for group in groups])
    kept = np.isin(top, TOP_LEVELS)
    return _draw((texts[kept], top[kept]), NEWS4)


def _news20(load: Load) -> Rows:
    return _draw(_bodies(load), NEWS20)


SETS: dict[str, Callable[[Load], Rows]] = {
    "rt": _whole("rt"),
    "subj": _whole("subj"),
    "imdb2k": _whole("imdb2k"),
    "imdb8k": _imdb8k,
    "docs": _docstrings,
    "news4": _news4,
    "news20": _news20,
}


def _both_parts(data: Any) -> Rows:
    texts = [np.asarray(part, object) for part in (data.texts, data.texts_test)]
    return np.concatenate(texts), np.concatenate([data.y, data.y_test])


def _bodies(load: Load) -> Rows:
    texts, groups = _both_parts(load("20news"))
    return _without_headers(texts), groups


def _without_headers(texts: np.ndarray) -> np.ndarray:
    return np.array([without_header(text) for text in texts], object)


def _draw(rows: Rows, n: int) -> Rows:
    texts, y = rows
    drawn = np.random.default_rng(POOL_SEED).permutation(len(y))[:n]
    return texts[drawn], y[drawn]


@lru_cache(maxsize=1)
def newsgroups_by_date(load: Load) -> Texts:
    """Return 20 newsgroups without headers, split by date: 11,314 labelled and 7,532 test texts."""
    data = load("20news")
    labeled, test = (_without_headers(part) for part in (data.texts, data.texts_test))
    return Texts(labeled, data.y, labeled[:0], test, data.y_test)


@lru_cache(maxsize=1)
def many_classes(seed: int) -> Texts:
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
    return Texts(labeled, y, labeled[:0], test, y_test)
