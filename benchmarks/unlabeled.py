"""Time and memory of a text classifier with many unlabelled texts: reviews of IMDB, everything included.

Each fit has its own process with compiled code loaded, and starts from the texts. The peak memory is what the
fit adds to the memory in use before it. The same fit without unlabelled texts, and the vectorizer alone, show
where the time goes. The table goes into docs/text.md.

    DROPGLM_DATA=… python -m benchmarks.unlabeled
"""

import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks.markdown import ROOT, fill, table
from benchmarks.processes import in_fresh_process, memory_in_use, peak_memory, reset_peak_memory
from benchmarks.text import read
from dropglm import NgramVectorizer, TextClassifier

SIZES = ((100, 10_000), (1_000, 50_000))
THREADS = 2
HEADER = ["labelled", "unlabelled", "job", "seconds", "processor time", "peak memory"]


def texts(labeled: int, unlabeled: int) -> tuple[list[str], list[int], list[str]]:
    """Return random reviews with labels, their labels, and random reviews without."""
    reviews, rng = read("imdb"), np.random.default_rng(0)
    known = [reviews.filter(reviews["label"] >= 0), reviews.filter(reviews["label"] < 0)]
    rows = [rng.permutation(len(part))[:n] for part, n in zip(known, (labeled, unlabeled), strict=True)]
    first, second = (part[chosen] for part, chosen in zip(known, rows, strict=True))
    return first["text"].to_list(), first["label"].to_list(), second["text"].to_list()


def with_unlabeled(X: list[str], y: list[int], more: list[str]) -> Any:
    return TextClassifier(n_jobs=THREADS).fit(X, y, X_unlabeled=more)


def labeled_only(X: list[str], y: list[int], more: list[str]) -> Any:
    return TextClassifier(n_jobs=THREADS).fit(X, y)


def vectorizer_only(X: list[str], y: list[int], more: list[str]) -> Any:
    names = NgramVectorizer().get_params().keys()
    settings = {name: value for name, value in TextClassifier().get_params().items() if name in names}
    return NgramVectorizer(**settings | {"ngram_weight": 0.5, "n_jobs": THREADS}).fit_transform([*X, *more])


JOBS = {
    "with unlabelled texts": with_unlabeled,
    "labelled texts only": labeled_only,
    "vectorizer, all texts": vectorizer_only,
}


def measure(name: str, labeled: int, unlabeled: int) -> list[float]:
    """Return seconds, processor time and peak memory in MiB of a job in this process."""
    X, y, more = texts(labeled, unlabeled)
    JOBS[name](X[:60], y[:60], more[:300])
    before = memory_in_use()
    reset_peak_memory()
    start, processor = time.perf_counter(), time.process_time()
    JOBS[name](X, y, more)
    return [time.perf_counter() - start, time.process_time() - processor, (peak_memory() - before) / 2**20]


def main() -> None:
    rows = []
    for labeled, unlabeled in SIZES:
        for name in JOBS:
            wall, processor, memory = in_fresh_process(partial(measure, name, labeled, unlabeled))
            cells = [
                f"{labeled:,}",
                f"{unlabeled:,}",
                name,
                f"{wall:.1f}",
                f"{processor:.1f}",
                f"{memory:,.0f} MiB",
            ]
            rows.append(cells)
            print(*cells, sep="  ", flush=True)
    fill(ROOT / "docs" / "text.md", "unlabeled", table(HEADER, rows))


if __name__ == "__main__":
    main()
