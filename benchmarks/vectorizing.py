"""The bigrams of IMDB's 100,000 reviews: NgramVectorizer against scikit-learn's CountVectorizer.

The same settings (n-grams of one and two tokens in at least two texts, present or absent, float32), the same
texts in memory, a process of its own for each, in turns. Peak memory is what comes on top of the texts.

    DROPGLM_DATA=… python -m benchmarks.vectorizing
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.processes import in_fresh_process
from benchmarks.sweep import resident
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
    """Seconds of fit_transform and of transform, bytes on top of the texts, and the matrix's size."""
    texts = read("imdb")["text"].to_list()
    made = VECTORIZERS[name]()
    if name != THEIRS:
        VECTORIZERS[name]().fit_transform(["compiles, or loads", "what was compiled"] * 2)
        VECTORIZERS[name]().fit(["what was compiled"] * 2).transform(["compiled"])
    loaded = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    start = time.perf_counter()
    X = made.fit_transform(texts)
    fitted = time.perf_counter() - start
    peak = resident("VmHWM") - loaded
    shape, nnz = X.shape, X.nnz
    del X
    start = time.perf_counter()
    made.transform(texts[:25_000])
    return fitted, time.perf_counter() - start, peak, shape, nnz


def measure() -> tuple[str, Rows]:
    """A title, and a row for each vectorizer: the fastest of its runs."""
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
    return f"Bigrams of 100,000 reviews, {shape[0]:,} × {shape[1]:,}, {nnz:,} ones", rows


HEADER = ("", "fit_transform", "times as fast", "transform 25,000", "peak memory", "of CountVectorizer's")

if __name__ == "__main__":
    title, rows = measure()
    print(title)
    for row in (HEADER, *rows):
        print("  " + "".join(f"{cell:<28}" for cell in row))
