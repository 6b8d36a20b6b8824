"""Online learning, compared with scikit-learn's SGDClassifier, River and Vowpal Wabbit.

SGDClassifier and River make one pass over rows in memory: IMDB's 25,000 labelled reviews as unigrams and
bigrams. Vowpal Wabbit is compared from file to model. It reads its own format, with texts tokenised and in
lower case; dropglm reads a CSV file of the raw texts. Both hash unigrams and bigrams to 2^20 columns and
learn with AdaGrad on the logistic loss: once from the reviews, and once from a file that repeats them ten
times, to measure the cost of a longer stream.

    DROPGLM_DATA=… python -m benchmarks.streaming
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.text import imdb, read
from dropglm import OnlineLogisticRegression
from dropglm.core.online import RULES
from dropglm.text.ngrams.tokens import HTML_TAG, WORDS_AND_PUNCTUATION

Rows = list[tuple[str, ...]]
ROUNDS = 25
RIVER_ROWS = 1000  # River needs some milliseconds per row
TIMES = 10
PARSED = ("", "one pass", "rows per second", "speed relative to SGDClassifier", "progressive accuracy")
FILES = (
    "",
    "25,000 rows",
    "250,000 rows",
    "rows per second beyond the first 25,000",
    "peak memory",
    "log loss",
)


def parsed() -> Rows:
    """Return the fastest of alternating passes over rows in memory."""
    from sklearn.linear_model import SGDClassifier

    split = imdb(2)
    order = np.random.default_rng(0).permutation(len(split.y))
    X, y = sparse.csr_array(split.X[order]), split.y[order]
    classes = np.unique(y)
    # Rows are in random order already; to shuffle them once more would make SGDClassifier slower.
    # The rows are in float32; in float64 it is slower as well.
    models: dict[str, Callable[[], Any]] = {
        "SGDClassifier(loss='log_loss')": partial(SGDClassifier, loss="log_loss", shuffle=False)
    }
    for rule in sorted(RULES):
        models[f"OnlineLogisticRegression({rule!r})"] = partial(OnlineLogisticRegression, rule)
    best = dict.fromkeys(models, np.inf)
    accuracy: dict[str, str] = {}
    with threadpool_limits(1):
        for _ in range(ROUNDS):
            for name, make in models.items():
                start = time.perf_counter()
                model = make().partial_fit(X, y, classes)
                best[name] = min(best[name], time.perf_counter() - start)
                if isinstance(model, OnlineLogisticRegression):
                    accuracy[name] = f"{100 * model.progressive_accuracy_:.2f}"
    theirs = next(iter(best.values()))
    rows = [
        (
            f"`{name}`",
            f"{1e3 * taken:.0f} ms",
            f"{len(y) / taken:,.0f}",
            f"**{theirs / taken:.2f}**",
            accuracy.get(name, ""),
        )
        for name, taken in best.items()
    ]
    per_row, right = river(X, y)
    return [
        *rows,
        (
            "River, LogisticRegression(AdaGrad)",
            f"{1e3 * per_row * len(y):,.0f} ms",
            f"{1 / per_row:,.0f}",
            f"**{theirs / (per_row * len(y)):.4f}**",
            f"{100 * right:.2f} ({RIVER_ROWS:,} rows)",
        ),
    ]


def river(X: sparse.csr_array, y: np.ndarray) -> tuple[float, float]:
    """Return the seconds per row and the accuracy of River's predict_one and learn_one on dictionaries."""
    from river import linear_model, optim

    model = linear_model.LogisticRegression(optim.AdaGrad())
    rows = [dict.fromkeys(X.indices[X.indptr[i] : X.indptr[i + 1]].tolist(), 1.0) for i in range(RIVER_ROWS)]
    labels = (y[:RIVER_ROWS] == y.max()).tolist()
    right, start = 0, time.perf_counter()
    for row, label in zip(rows, labels, strict=True):
        right += model.predict_one(row) == label
        model.learn_one(row, label)
    return (time.perf_counter() - start) / RIVER_ROWS, right / RIVER_ROWS


def write_files(folder: Path) -> None:
    """Write the shuffled reviews, once and ten times, as CSV for dropglm and as tokens for Vowpal Wabbit."""
    import polars as pl

    train = read("imdb").filter(pl.col("split") == "train").sample(fraction=1, shuffle=True, seed=0)
    train = train.select("text", "label")
    word = re.compile(WORDS_AND_PUNCTUATION)
    lines = [
        f"{1 if label else -1} | "
        + " ".join(word.findall(HTML_TAG.sub(" ", text.lower()))).replace(":", "COLON").replace("|", "BAR")
        for text, label in train.iter_rows()
    ]
    for times in (1, TIMES):
        pl.concat([train] * times).write_csv(folder / f"{times}.csv")
        (folder / f"{times}.vw").write_text("".join(f"{line}\n" for line in lines) * times, encoding="utf-8")


MEASURED = """
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
finally:
    status = open("/proc/self/status").read()
    open("peak", "w").write(status.split("VmHWM:")[1].split()[0])
"""


def run(module: str, arguments: list[str], folder: Path) -> tuple[float, float, str]:
    """Return the seconds that the process took, its peak memory in MiB, and its output."""
    command = [sys.executable, "-c", MEASURED, module, *arguments]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    taken = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return taken, int((folder / "peak").read_text()) / 1024, done.stdout + done.stderr


def files() -> Rows:
    """Return the fastest of three alternating runs of each command."""
    commands = {
        "`dropglm train --online --classes 0,1`": (
            "dropglm",
            lambda n: ["train", "--online", f"{n}.csv", "--classes", "0,1", "--json", "--quiet"],
        ),
        "Vowpal Wabbit, `--loss_function logistic --ngram 2 -b 20`": (
            "vowpalwabbit",
            lambda n: f"-d {n}.vw --loss_function logistic --ngram 2 -b 20 -f model.vw".split(),
        ),
    }
    seconds: dict[str, dict[int, float]] = {name: {1: np.inf, TIMES: np.inf} for name in commands}
    memory: dict[str, dict[int, float]] = {name: {} for name in commands}
    loss: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_files(folder)
        for _ in range(3):
            for name, (module, arguments) in commands.items():
                for times in (1, TIMES):
                    taken, peak, output = run(module, arguments(times), folder)
                    seconds[name][times] = min(seconds[name][times], taken)
                    memory[name][times] = peak
                    if times == 1:
                        found = re.search(r'(?:progressive_log_loss": |average loss = )([\d.]+)', output)
                        loss[name] = f"{float(found[1]):.3f}" if found else "?"
    speed = {name: 25_000 * (TIMES - 1) / (taken[TIMES] - taken[1]) for name, taken in seconds.items()}
    rows: Rows = [
        (
            name,
            f"{taken[1]:.1f} s",
            f"{taken[TIMES]:.1f} s",
            f"{speed[name]:,.0f}",
            f"{memory[name][1]:.0f} and {memory[name][TIMES]:.0f} MiB",
            loss[name],
        )
        for name, taken in seconds.items()
    ]
    ours, theirs = seconds.values()
    ratios = [f"**{theirs[times] / ours[times]:.2f}**" for times in (1, TIMES)]
    mine, others = speed.values()
    return [*rows, ("dropglm's speed relative to Vowpal Wabbit", *ratios, f"**{mine / others:.2f}**", "", "")]


if __name__ == "__main__":
    for row in (PARSED, *parsed(), FILES, *files()):
        print("  " + "".join(f"{cell:<42}" for cell in row))
