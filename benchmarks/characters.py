"""What n-grams of characters cost: time and memory of a fit, the model file, and predictions.

Each fit has its own process with compiled code loaded, which is given the texts: if it read them, the fit
would use memory again that reading has freed. The peak memory is what the fit adds to the memory in use
before it, and times are processor times. The table goes into docs/text.md.

    DROPGLM_DATA=… python -m benchmarks.characters
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.markdown import ROOT, fill, table
from benchmarks.processes import in_fresh_process, memory_in_use, peak_memory, reset_peak_memory
from benchmarks.text import read
from dropglm import TextClassifier

SIZES = {"banking77": None, "imdb": 5_000}  # None means all texts
NAMES = {"banking77": "banking77, 77 classes", "imdb": "reviews of IMDB"}
CHARACTERS = {"words and characters": (3, 4), "words only": None}
THREADS, SINGLE = 2, 500  # texts that are predicted one by one
HEADER = ["texts", "model", "n-grams", "fit", "peak memory", "model file", "one text"]


def texts(name: str) -> tuple[list[str], list[Any]]:
    """Return random texts of a data set, and their labels."""
    data = read(name)
    data = data.filter(data["label"] >= 0) if name == "imdb" else data
    chosen = data[np.random.default_rng(0).permutation(len(data))[: SIZES[name]]]
    return chosen["text"].to_list(), chosen["label"].to_list()


def measure(X: list[str], y: list[Any], characters: tuple[int, int] | None) -> list[float]:
    """Return n-grams, seconds and peak memory in MiB of a fit, MB of the file and ms per prediction."""
    settings: dict[str, Any] = {"characters": characters, "n_jobs": THREADS}
    TextClassifier(**settings).fit(X[:60], np.arange(60) % 3)
    before = memory_in_use()
    reset_peak_memory()
    start = time.process_time()
    fitted = TextClassifier(**settings).fit(X, y)
    seconds, memory = time.process_time() - start, (peak_memory() - before) / 2**20
    with TemporaryDirectory() as folder:
        fitted.save(Path(folder) / "model.skops")
        size = (Path(folder) / "model.skops").stat().st_size / 1e6
    fitted.n_jobs = 1
    fitted.predict_proba(X[:10])
    start = time.process_time()
    for text in X[:SINGLE]:
        fitted.predict_proba([text])
    each = (time.process_time() - start) / SINGLE * 1e3
    ngrams = fitted.summary_.features + fitted.summary_.characters
    return [ngrams, seconds, memory, size, each]


def main() -> None:
    rows = []
    for name in SIZES:
        X, y = texts(name)
        for model, characters in CHARACTERS.items():
            ngrams, seconds, memory, size, each = in_fresh_process(measure, X, y, characters)
            cells = [
                f"{len(X):,}, {NAMES[name]}",
                model,
                f"{ngrams:,.0f}",
                f"{seconds:.1f} s",
                f"{memory:,.0f} MiB",
                f"{size:.1f} MB",
                f"{each:.2f} ms",
            ]
            rows.append(cells)
            print(*cells, sep="  ", flush=True)
    fill(ROOT / "docs" / "text.md", "characters", table(HEADER, rows))


if __name__ == "__main__":
    main()
