"""The bigrams of IMDB's 100,000 reviews: NgramVectorizer against scikit-learn's CountVectorizer.

Both use the same settings (n-grams of one and two tokens that occur in at least two texts, binary, float32)
and the same texts in memory. Each run has its own process, and the runs alternate. Peak memory does not
include the texts.

    DROPGLM_DATA=… python -m benchmarks.vectorizing
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.processes import in_fresh_process, memory_in_use, peak_memory, reset_peak_memory
from benchmarks.text import read, vectorizer
from dropglm import NgramVectorizer

Rows = list[tuple[str, ...]]
ROUNDS = 2

THEIRS = "CountVectorizer"
VECTORIZERS: dict[str, Callable[[], Any]] = {
    THEIRS: partial(vectorizer, 2),
    "NgramVectorizer, 1 thread": partial(NgramVectorizer, (1, 2), 2),
    "NgramVectorizer, 2 threads": partial(NgramVectorizer, (1, 2), 2, n_jobs=2),
}


def one(name: str) -> tuple[float, float, float, tuple[int, int], int]:
    """Return the seconds of fit_transform and transform, the peak memory, and the size of the matrix."""
    texts = read("imdb")["text"].to_list()
    made = VECTORIZERS[name]()
    if name != THEIRS:
        VECTORIZERS[name]().fit_transform(["load or compile", "the kernels first"] * 2)
        VECTORIZERS[name]().fit(["the kernels first"] * 2).transform(["kernels"])
    loaded = memory_in_use()
    reset_peak_memory()
    start = time.perf_counter()
    X = made.fit_transform(texts)
    fitted = time.perf_counter() - start
    peak = peak_memory() - loaded
    shape, nnz = X.shape, X.nnz
    del X
    start = time.perf_counter()
    made.transform(texts[:25_000])
    return fitted, time.perf_counter() - start, peak, shape, nnz


def measure() -> tuple[str, Rows]:
    """Return a title, and one row per vectorizer: the fastest of its runs."""
    runs: dict[str, list[Any]] = {name: [] for name in VECTORIZERS}
    for _ in range(ROUNDS):
        for name, done in runs.items():
            done.append(in_fresh_process(one, name))
    best = {name: [min(column) for column in zip(*done, strict=True)] for name, done in runs.items()}
    fitted, _, peak, shape, nnz = best[THEIRS]
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
    return f"Bigrams of 100,000 reviews, {shape[0]:,} × {shape[1]:,}, {nnz:,} non-zeros", rows


HEADER = (
    "",
    "fit_transform",
    "speed-up",
    "transform 25,000 texts",
    "peak memory",
    "relative to CountVectorizer",
)

if __name__ == "__main__":
    title, rows = measure()
    print(title)
    for row in (HEADER, *rows):
        print("  " + "".join(f"{cell:<28}" for cell in row))
