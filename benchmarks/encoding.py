"""What an encoder costs: texts per second, and the time and memory of a first and of a second fit.

A fit has 100 labels and 5,000 unlabelled texts of 30 words, which are made of the sentences of rt. The second
fit finds the embeddings in the cache. Each pair of fits has its own process with compiled code loaded. The
table goes into docs/guides/embeddings.md.

    DROPGLM_DATA=… python -m benchmarks.encoding
"""

import os
import time
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.markdown import ROOT, fill, table
from benchmarks.processes import in_fresh_process, memory_in_use, peak_memory, reset_peak_memory
from benchmarks.text import read
from dropglm import TextClassifier
from dropglm.text.encoders import is_installed, load_embedder

LABELED, UNLABELED, WORDS, SAMPLE = 100, 5_000, 30, 500
EMBEDDERS = ("use", "wordllama", "use,wordllama")
HEADER = ["encoder", "texts per second", "first fit", "second fit", "without encoder", "peak memory"]


def texts() -> tuple[list[str], list[Any], list[str]]:
    """Return texts of 30 words with labels, the labels, and texts without."""
    data = read("rt")
    data = data[np.random.default_rng(0).permutation(len(data))]
    by_label = data.partition_by("label", as_dict=True)
    found: list[tuple[str, Any]] = []
    for (label,), part in by_label.items():
        words = " ".join(part["text"].to_list()).split()
        starts = range(0, len(words) - WORDS, WORDS)
        found += [(" ".join(words[start : start + WORDS]), label) for start in starts]
    order = np.random.default_rng(1).permutation(len(found))[: LABELED + UNLABELED]
    X, y = zip(*(found[k] for k in order), strict=True)
    return list(X[:LABELED]), list(y[:LABELED]), list(X[LABELED:])


def measure(X: list[str], y: list[Any], U: list[str], embedder: str) -> list[float]:
    """Return texts per second, seconds of two fits and of one without encoder, and peak memory in MiB."""
    with TemporaryDirectory() as folder:
        os.environ["DROPGLM_CACHE"] = folder
        TextClassifier().fit(X[:40], y[:40], X_unlabeled=U[:100])
        before = memory_in_use()
        reset_peak_memory()
        encoder = load_embedder(embedder)
        start = time.perf_counter()
        encoder.encode(U[:SAMPLE])
        speed = SAMPLE / (time.perf_counter() - start)
        seconds = []
        for one in (embedder, embedder, None):
            start = time.perf_counter()
            TextClassifier(embedder=one, n_jobs=-1).fit(X, y, X_unlabeled=U)
            seconds.append(time.perf_counter() - start)
        return [speed, *seconds, (peak_memory() - before) / 2**20]


def main() -> None:
    rows, own = [], texts()
    for embedder in EMBEDDERS:
        if not all(map(is_installed, embedder.split(","))):
            print(f"{embedder} is not installed")
            continue
        speed, first, second, without, memory = in_fresh_process(measure, *own, embedder)
        times = [f"{seconds:.1f} s" for seconds in (first, second, without)]
        rows.append([f"`{embedder}`", f"{speed:,.0f}", *times, f"{memory:,.0f} MiB"])
    print(table(HEADER, rows))
    fill(ROOT / "docs" / "guides" / "embeddings.md", "encoding", table(HEADER, rows))


if __name__ == "__main__":
    main()
