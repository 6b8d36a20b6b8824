"""Time until the first result, measured in fresh processes.

python -m benchmarks.cold_start
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.processes import run

Rows = list[tuple[str, ...]]
HEADER = ("whole process", "fastest", "median", "relative to the import")
FIRST = ("inside a process", "time")
ROUNDS = 7
IMPORT = "import sklearn.linear_model"

FIRST_CALL = """
import time
import numpy as np
from scipy import sparse
from dropglm import noising_penalty
X = sparse.random_array((1000, 500), density=0.02, rng=np.random.default_rng(0), format="csr")
start = time.perf_counter()
noising_penalty(np.ones(500), X, dropout=0.5, expectation={expectation!r}, return_gradient=True)
print(time.perf_counter() - start)
"""

FIRST_FIT = """
import time
import numpy as np
from scipy import sparse
from dropglm import LogisticRegression
X = sparse.random_array((1000, 500), density=0.02, rng=np.random.default_rng(0), format="csr")
start = time.perf_counter()
LogisticRegression(dropout=0.5, l2=1.0).fit(X, np.arange(1000) % 2)
print(time.perf_counter() - start)
"""

FIRST_TEXTS = """
import time
from dropglm import TextClassifier
texts = ["a fine film", "a dull film"] * 10
start = time.perf_counter()
TextClassifier({settings}).fit(texts, [1, 0] * 10).predict(texts)
print(time.perf_counter() - start)
"""

FIRST_RESULTS = {
    "first gaussian penalty with gradient": FIRST_CALL.format(expectation="gaussian"),
    "first exact penalty with gradient": FIRST_CALL.format(expectation="exact"),
    "first fit of a LogisticRegression": FIRST_FIT,
    "first fit and prediction of a TextClassifier with fixed settings": FIRST_TEXTS.format(
        settings="tune=False"
    ),
    "first fit and prediction of a TextClassifier, tuned": FIRST_TEXTS.format(settings=""),
}


def seconds(code: str, cache: str, runs: int) -> float:
    """Return the median of the number that the code prints, over processes with Numba's cache in a folder."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", code]
    return float(
        np.median([float(subprocess.check_output(command, env=environment, text=True)) for _ in range(runs)])
    )


def dropglm() -> list[str]:
    """Return the command, as it was installed beside Python if it was."""
    script = Path(sys.executable).parent / "dropglm"
    return [str(script)] if script.exists() else [sys.executable, "-m", "dropglm"]


def commands(folder: Path) -> dict[str, tuple[list[str], str]]:
    """Return command lines and their standard input, by title; trains the model that they read."""
    texts = ["a fine film", "a dull film", "fine music", "dull music"] * 5
    lines = [f"{text},{'bad' if 'dull' in text else 'good'}\n" for text in texts]
    (folder / "texts.csv").write_text("text,label\n" + "".join(lines))
    train = [*dropglm(), "train", "texts.csv", "--quiet", "--no-tune", "--out", "model.skops"]
    run(train, folder)
    return {
        f'`python -c "{IMPORT}"`': ([sys.executable, "-c", IMPORT], ""),
        "`dropglm predict model.skops` of one text": (
            [*dropglm(), "predict", "model.skops"],
            "a fine text\n",
        ),
        '`dropglm explain model.skops "a fine text"`': (
            [*dropglm(), "explain", "model.skops", "a fine text"],
            "",
        ),
        "`dropglm train texts.csv --no-tune`, 20 texts": (train, ""),
        "`dropglm --help`": ([*dropglm(), "--help"], ""),
    }


def processes() -> Rows:
    """Return the fastest and the median of alternating runs of commands, compiled code cached."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        cached = {"NUMBA_CACHE_DIR": str(folder / "cache")}
        lines = commands(folder)
        times: dict[str, list[float]] = {title: [] for title in lines}
        for number in range(ROUNDS + 1):
            for title, (command, text) in lines.items():
                taken = run(command, folder, cached, text=text).seconds
                if number:  # the first run compiles
                    times[title].append(taken)
            print(", ".join(f"{taken[-1]:.2f} s" for taken in times.values() if taken), flush=True)
    scikit_learn = min(next(iter(times.values())))
    return [
        (title, f"{min(taken):.2f} s", f"{np.median(taken):.2f} s", f"**{min(taken) / scikit_learn:.2f}**")
        for title, taken in times.items()
    ]


def first_results() -> Iterator[tuple[str, ...]]:
    """Yield rows of (task, time)."""
    for what, code in FIRST_RESULTS.items():
        with tempfile.TemporaryDirectory() as cache:
            for when, runs in (("including compilation", 1), ("compiled code cached", 5)):
                yield f"{what}, {when}", f"{seconds(code, cache, runs):.2f} s"


if __name__ == "__main__":
    for row in (HEADER, *processes(), FIRST, *first_results()):
        print("".join(f"{cell:<70}" if k == 0 else f"{cell:>12}" for k, cell in enumerate(row)), flush=True)
