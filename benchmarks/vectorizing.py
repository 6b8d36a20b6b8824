"""IMDB's reviews as bigrams: NgramVectorizer against scikit-learn's CountVectorizer and TfidfVectorizer.

Each comparison uses the same settings and the same texts in memory for both: n-grams of one and two tokens
that occur in at least two texts, binary, float32, for all 100,000 reviews; and what a user of tf-idf gets by
default, all n-grams of one and two words, float64, idf and rows of length 1, for the 25,000 labelled training
reviews. Each run has its own process, and the runs alternate. Peak memory does not include the texts.

    DROPGLM_DATA=… python -m benchmarks.vectorizing
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.processes import in_fresh_process, memory_in_use, peak_memory, reset_peak_memory
from benchmarks.text import read, vectorizer
from dropglm import NgramVectorizer
from dropglm.text.ngrams.tokens import WORDS_OF_TWO_LETTERS

Rows = list[tuple[str, ...]]
ROUNDS = 2
TRANSFORMED = 25_000  # texts


def _tfidf() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2))


_OURS = partial(NgramVectorizer, (1, 2), 2)
_OUR_TFIDF = partial(
    NgramVectorizer,
    (1, 2),
    binary=False,
    use_idf=True,
    norm="l2",
    token_pattern=WORDS_OF_TWO_LETTERS,
    strip_html=False,
    dtype=np.float64,
)


class Case(NamedTuple):
    """Vectorizers with the same result, of which the first is scikit-learn's."""

    title: str
    texts: int
    vectorizers: dict[str, Callable[[], Any]]

    @property
    def theirs(self) -> str:
        """The name of scikit-learn's class."""
        return next(iter(self.vectorizers))

    @property
    def header(self) -> tuple[str, ...]:
        """The header of the table."""
        transform = f"transform {TRANSFORMED:,} texts"
        return "", "fit_transform", "speed-up", transform, "peak memory", f"relative to {self.theirs}"


THEIRS = "CountVectorizer"
CASES = (
    Case(
        "Bigrams",
        100_000,
        {
            THEIRS: partial(vectorizer, 2),
            "NgramVectorizer, 1 thread": _OURS,
            "NgramVectorizer, 2 threads": partial(_OURS, n_jobs=2),
        },
    ),
    Case(
        "Tf-idf",
        25_000,
        {
            "TfidfVectorizer": _tfidf,
            "NgramVectorizer, 1 thread": _OUR_TFIDF,
            "NgramVectorizer, 2 threads": partial(_OUR_TFIDF, n_jobs=2),
        },
    ),
)
HEADER = CASES[0].header


def one(case: int, name: str) -> tuple[float, float, float, tuple[int, int], int]:
    """Return the seconds of fit_transform and transform, the peak memory, and the size of the matrix."""
    texts = read("imdb")["text"].head(CASES[case].texts).to_list()
    new = CASES[case].vectorizers[name]
    made = new()
    if name != CASES[case].theirs:
        new().fit_transform(["load or compile", "the kernels first"] * 2)
        new().fit(["the kernels first"] * 2).transform(["kernels"])
    loaded = memory_in_use()
    reset_peak_memory()
    start = time.perf_counter()
    X = made.fit_transform(texts)
    fitted = time.perf_counter() - start
    peak = peak_memory() - loaded
    shape, nnz = X.shape, X.nnz
    del X
    start = time.perf_counter()
    made.transform(texts[:TRANSFORMED])
    return fitted, time.perf_counter() - start, peak, shape, nnz


def measure(case: int = 0) -> tuple[str, Rows]:
    """Return a title, and one row per vectorizer: the fastest of its runs."""
    title, texts, vectorizers = CASES[case]
    runs: dict[str, list[Any]] = {name: [] for name in vectorizers}
    for _ in range(ROUNDS):
        for name, done in runs.items():
            done.append(in_fresh_process(one, case, name))
    best = {name: [min(column) for column in zip(*done, strict=True)] for name, done in runs.items()}
    fitted, _, peak, shape, nnz = best[CASES[case].theirs]
    rows: Rows = [
        (
            name,
            f"{row[0]:.1f} s",
            f"**{fitted / row[0]:.1f}**",
            f"{row[1]:.1f} s",
            f"{row[2] / 2**30:.2f} GiB",
            f"**{row[2] / peak:.2f}**",
        )
        for name, row in best.items()
    ]
    return f"{title} of {texts:,} reviews, {shape[0]:,} × {shape[1]:,}, {nnz:,} non-zeros", rows


if __name__ == "__main__":
    for number, case in enumerate(CASES):
        title, rows = measure(number)
        print(title)
        for row in (case.header, *rows):
            print("  " + "".join(f"{cell:<28}" for cell in row))
