"""The vocabulary of IMDB's 25,000 training reviews, words and bigrams, from counts of parts of the texts.

For each number of parts: the time to count all of them one after another, what pickled counts of all parts
take, the time to write, to read and to add them, and that to select the features. ``fit`` on all texts is the
comparison; each vocabulary is compared with its own. Times are processor times of one thread, and each row
has a process of its own.

    DROPGLM_DATA=… python -m benchmarks.counting [NUMBER_OF_PARTS …]
"""

import pickle
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from benchmarks.processes import in_fresh_process
from benchmarks.text import read
from dropglm import NgramVectorizer
from dropglm.text import NgramCounts

REVIEWS = 25_000
PARTS = (1, 10, 100)
HEADER = ("parts", "fit", "count", "pickled", "write", "read", "add", "select")


def new() -> NgramVectorizer:
    """Return the vectorizer that learns the vocabulary."""
    return NgramVectorizer((1, 2), 2)


def timed(work: Callable[[], Any]) -> tuple[Any, str]:
    """Return the result of a call and its processor time."""
    start = time.process_time()
    result = work()
    return result, f"{time.process_time() - start:.2f} s"


def one(parts: int) -> tuple[str, ...]:
    """Return the row of so many parts."""
    texts = read("imdb")["text"].head(REVIEWS).to_list()
    few = ["load or compile", "the kernels first"] * 2
    new().fit_counts(pickle.loads(pickle.dumps([new().count(few)] * 2)))
    whole, fitting = timed(lambda: new().fit(texts))
    pieces = [texts[a:b] for a, b in pairwise(REVIEWS * k // parts for k in range(parts + 1))]
    counts, counting = timed(lambda: [new().count(piece) for piece in pieces])
    pickled, writing = timed(lambda: [pickle.dumps(part) for part in counts])
    counts, reading = timed(lambda: [pickle.loads(part) for part in pickled])
    total, adding = timed(lambda: NgramCounts.sum(counts))
    fitted, selecting = timed(lambda: new().fit_counts(total))
    if fitted.vocabulary_ != whole.vocabulary_:
        sys.exit(f"The vocabulary of {parts} parts is not that of all texts.")
    size = f"{sum(map(len, pickled)) / 2**20:.1f} MiB"
    return str(parts), fitting, counting, size, writing, reading, adding, selecting


if __name__ == "__main__":
    chosen = [int(argument) for argument in sys.argv[1:]] or PARTS
    for row in (HEADER, *(in_fresh_process(one, parts) for parts in chosen)):
        print("".join(f"{cell:<10}" for cell in row))
