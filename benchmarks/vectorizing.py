"""Texts as n-grams: NgramVectorizer against scikit-learn's CountVectorizer and TfidfVectorizer.

Each comparison uses the same settings and the same texts in memory for both: n-grams of one and two tokens
that occur in at least two texts, binary, float32, for all 100,000 reviews of IMDB; what a user of tf-idf gets
by default, all n-grams of one and two words, float64, idf and rows of length 1, for the 25,000 labelled
training reviews; and tf-idf of three and four characters within words that occur in at least two texts, for
reviews and for short texts. Each run has its own process, and the runs alternate. Peak memory does not
include the texts.

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
TRANSFORMED = 25_000  # texts at most
REPEATED_FOR = 1.0  # seconds; short calls are repeated


def _tfidf() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2))


_CHARACTERS: Any = {
    "ngram_range": (3, 4),
    "min_df": 2,
    "analyzer": "char_wb",
    "sublinear_tf": True,
    "dtype": np.float32,
}


def _characters() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(**_CHARACTERS)


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
_OUR_CHARACTERS = partial(
    NgramVectorizer, **_CHARACTERS, binary=False, use_idf=True, norm="l2", strip_html=False
)


class Case(NamedTuple):
    """Vectorizers with the same result, of which the first is scikit-learn's."""

    title: str
    texts: int
    vectorizers: dict[str, Callable[[], Any]]
    data: str = "imdb"
    kind: str = "reviews"

    @property
    def theirs(self) -> str:
        """The name of scikit-learn's class."""
        return next(iter(self.vectorizers))

    @property
    def header(self) -> tuple[str, ...]:
        """The header of the table."""
        transform = f"transform {min(self.texts, TRANSFORMED):,} texts"
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
    *(
        Case(
            "Characters",
            texts,
            {
                "TfidfVectorizer": _characters,
                "NgramVectorizer, 1 thread": _OUR_CHARACTERS,
                "NgramVectorizer, 2 threads": partial(_OUR_CHARACTERS, n_jobs=2),
            },
            data,
            kind,
        )
        for texts, data, kind in (
            (10_000, "imdb", "reviews"),
            (13_072, "banking77", "questions of bank customers"),
            (19_897, "emotion6", "short messages"),
        )
    ),
)
HEADER = CASES[0].header


def one(case: int, name: str) -> tuple[float, float, float, tuple[int, int], int]:
    """Return the seconds of fit_transform and transform, the peak memory, and the size of the matrix."""
    texts = read(CASES[case].data)["text"].head(CASES[case].texts).to_list()
    new = CASES[case].vectorizers[name]
    made = new()
    if name != CASES[case].theirs:
        new().fit_transform(["load or compile", "the kernels first"] * 2)
        new().fit(["the kernels first"] * 2).transform(["kernels"])
    loaded = memory_in_use()
    reset_peak_memory()
    fitted, X = fastest(lambda: made.fit_transform(texts))
    peak = peak_memory() - loaded
    shape, nnz = X.shape, X.nnz
    del X
    transformed, _ = fastest(lambda: made.transform(texts[:TRANSFORMED]))
    return fitted, transformed, peak, shape, nnz


def fastest(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of the fastest call within a second, at least of one, and its last result."""
    best, end, result = np.inf, time.perf_counter() + REPEATED_FOR, None
    while best == np.inf or time.perf_counter() < end:
        del result
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return best, result


def measure(case: int = 0) -> tuple[str, Rows]:
    """Return a title, and one row per vectorizer: the fastest of its runs."""
    title, texts, vectorizers, _, kind = CASES[case]
    runs: dict[str, list[Any]] = {name: [] for name in vectorizers}
    for _ in range(ROUNDS):
        for name, done in runs.items():
            done.append(in_fresh_process(one, case, name))
    best = {name: [min(column) for column in zip(*done, strict=True)] for name, done in runs.items()}
    fitted, _, peak, shape, nnz = best[CASES[case].theirs]
    rows: Rows = [
        (
            name,
            f"{row[0]:.3g} s",
            f"**{fitted / row[0]:.1f}**",
            f"{row[1]:.3g} s",
            f"{row[2] / 2**30:.2f} GiB",
            f"**{row[2] / peak:.2f}**",
        )
        for name, row in best.items()
    ]
    return f"{title} of {texts:,} {kind}, {shape[0]:,} × {shape[1]:,}, {nnz:,} non-zeros", rows


if __name__ == "__main__":
    for number, case in enumerate(CASES):
        title, rows = measure(number)
        print(title)
        for row in (case.header, *rows):
            print("  " + "".join(f"{cell:<28}" for cell in row))
