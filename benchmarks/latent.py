"""Singular vectors of IMDB's n-grams: LatentFeatures against scikit-learn's TruncatedSVD and SciPy's svds.

The first 100 singular vectors of tf-idf features, of 2,000 to 50,000 reviews, from words and from words and
bigrams that occur in at least two of them. Each run has its own process. Peak memory does not include X. The
gaps are between the singular values that were found and the exact ones, relative to the latter: their mean
and the largest. The exact ones come from ``singular_vectors`` with 60 steps. Of the settings of a rival, the
one with the least processor time counts. svds, which is exact, is left out for 50,000 reviews, and so is
float64 there.

    DROPGLM_DATA=… python -m benchmarks.latent [NUMBER_OF_REVIEWS …]
"""

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.processes import in_fresh_process, memory_in_use, peak_memory, reset_peak_memory
from benchmarks.text import CACHE, WORDS, read
from dropglm import LatentFeatures, NgramVectorizer
from dropglm.core.latent import singular_vectors

SIZES = (2_000, 10_000, 50_000)
K = 100
HEADER = ("", "time", "processor time", "times ours", "peak memory", "mean gap", "largest gap")


def features(reviews: int, n: int) -> sparse.csr_array:
    """Return tf-idf features of random reviews, from a file after the first time."""
    path = CACHE / f"latent_{reviews}_{WORDS[n]}.npz"
    if not path.exists():
        texts = read("imdb")["text"].to_list()
        chosen = [texts[row] for row in np.random.default_rng(0).permutation(len(texts))[:reviews]]
        tfidf = NgramVectorizer(
            (1, n), 2, binary=False, sublinear_tf=True, use_idf=True, norm="l2", ngram_weight=0.5, n_jobs=2
        )
        CACHE.mkdir(exist_ok=True)
        sparse.save_npz(path, tfidf.fit_transform(chosen), compressed=False)
    return sparse.csr_array(sparse.load_npz(path))


def ours(X: Any, threads: int) -> np.ndarray:
    latent = LatentFeatures(K, n_jobs=threads)
    latent.fit_transform(X)
    return latent.singular_values_


def without_vectors(X: Any, threads: int) -> np.ndarray:
    return singular_vectors(X, K, threads=threads).singular_values


def truncated_svd(X: Any, n_iter: int) -> np.ndarray:
    from sklearn.decomposition import TruncatedSVD

    svd = TruncatedSVD(K, n_iter=n_iter, random_state=0)
    svd.fit_transform(X)
    return np.sort(svd.singular_values_)[::-1]


def svds(X: Any) -> np.ndarray:
    from scipy.sparse.linalg import svds

    return np.sort(svds(X, K, rng=0)[1])[::-1]


OURS = "LatentFeatures, 1 thread"
CANDIDATES: dict[str, Callable[[Any], np.ndarray]] = {
    OURS: partial(ours, threads=1),
    "LatentFeatures, 2 threads": partial(ours, threads=2),
    "singular_vectors, 1 thread, vectors not stored": partial(without_vectors, threads=1),
    "TruncatedSVD(n_iter=2)": partial(truncated_svd, n_iter=2),
    "TruncatedSVD()": partial(truncated_svd, n_iter=5),
    "svds": svds,
}


def settings(reviews: int) -> Iterator[tuple[str, str, int]]:
    """Yield a candidate, a type and a number of BLAS threads for each run."""
    for name in CANDIDATES:
        rival = name.startswith(("TruncatedSVD", "svds"))
        if name == "svds" and reviews > 10_000:
            continue
        for dtype in ("float32", "float64") if rival and reviews <= 10_000 else ("float32",):
            for blas in (1, 2) if rival else (1,):
                yield name, dtype, blas


def one(reviews: int, n: int, name: str, dtype: str, blas: int) -> tuple[float, float, int, np.ndarray]:
    """Return the seconds and the processor seconds of a run, its peak memory and the singular values."""
    X = features(reviews, n).astype(dtype)
    CANDIDATES[name](X[:1000, :3000])  # loads or compiles everything
    CANDIDATES[name](X[:1000, :900])
    loaded = memory_in_use()
    reset_peak_memory()
    with threadpool_limits(blas):
        start, processor = time.perf_counter(), time.process_time()
        values = CANDIDATES[name](X)
        taken = time.perf_counter() - start, time.process_time() - processor
    return *taken, peak_memory() - loaded, values


def measure(reviews: int, n: int) -> tuple[str, list[tuple[str, ...]]]:
    """Return a title and the rows of the table; of the settings of a rival, the fastest counts."""
    X = features(reviews, n)
    exact = singular_vectors(X.astype(np.float64), K, steps=60, threads=2).singular_values
    runs: dict[str, Any] = {}
    for name, dtype, blas in settings(reviews):
        run = in_fresh_process(one, reviews, n, name, dtype, blas)
        if name not in runs or run[1] < runs[name][1][1]:
            runs[name] = f"{name}, {dtype}, {blas} BLAS threads" if "thread" not in name else name, run
    rows: list[tuple[str, ...]] = []
    for label, (wall, processor, peak, values) in runs.values():
        gaps = 1 - values / exact
        rows.append(
            (
                label,
                f"{wall:.2f} s",
                f"{processor:.2f} s",
                f"**{processor / runs[OURS][1][1]:.2f}**",
                f"{peak / 2**20:.0f} MiB",
                f"{gaps.mean():.1e}",
                f"{gaps.max():.1e}",
            )
        )
    return f"{reviews:,} reviews, {WORDS[n]}, {X.shape[1]:,} columns, {X.nnz:,} non-zeros", rows


if __name__ == "__main__":
    for reviews in [int(number) for number in sys.argv[1:]] or SIZES:
        for n in (1, 2):
            title, rows = measure(reviews, n)
            print(f"\n{title}")
            for row in (HEADER, *rows):
                print(f"  {row[0]:<55}" + "".join(f"{cell:<17}" for cell in row[1:]), flush=True)
