"""Fits on IMDB's bigrams: with unlabelled rows, in a search, by number of rows; their profile and memory.

dropglm fits dropout with an L2 penalty (gaussian, dropout = 0.5, l2 = 1). For a comparison with other
libraries see ``same_gap``.

    DROPGLM_DATA=… python -m benchmarks.fits
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks import thread_time
from benchmarks.processes import memory_in_use, peak_memory, reset_peak_memory
from benchmarks.text import WORDS, imdb
from dropglm import LogisticRegression, LogisticRegressionCV
from dropglm.experiments.texts import Split

Rows = Sequence[tuple[str, ...]]
Table = tuple[tuple[str, ...], Rows]  # header and rows
ours = partial(LogisticRegression, dropout=0.5, l2=1.0, n_jobs=2)
GAP = 1e-2  # the tolerance that leaves a relative objective gap of about 1e-4


def fastest_fits(models: Mapping[str, tuple[Callable[[], Any], Any, np.ndarray]], rounds: int = 3) -> Any:
    """Return the seconds of the fastest of alternating fits, and the fitted model, by name."""
    best: dict[str, tuple[float, Any]] = {}
    for _ in range(rounds):
        for name, (make, X, y) in models.items():
            start = time.perf_counter()
            model = make().fit(X, y)
            taken = time.perf_counter() - start
            if name not in best or taken < best[name][0]:
                best[name] = taken, model
    return best


def with_unlabelled_rows(split: Split) -> Table:
    """Measure how much 50,000 unlabelled rows add to the time."""
    alone: list[float] = []
    both: list[float] = []
    cases: list[tuple[list[float], dict[str, Any]]] = [
        (alone, {}),
        (both, {"X_unlabeled": split.X_unlabeled}),
    ]
    for _ in range(3):
        for times, rows in cases:
            start = time.perf_counter()
            model = ours(tol=GAP, discount=0.1).fit(split.X, split.y, **rows)
            times.append(time.perf_counter() - start)
    accuracy = 100 * model.score(split.X_test, split.y_test)
    ratio = f"**{min(both) / min(alone):.2f}** times the labelled fit"
    row = ("25,000 labelled and 50,000 unlabelled rows", f"{min(both):.2f} s", ratio, f"{accuracy:.2f}")
    return ("", "time", "ratio", "test accuracy"), [row]


def cross_validation(split: Split) -> Table:
    """Compare a grid of 5 × 4 × 3 points with 5 folds to a single fit, before and after it."""
    X, y = split.X, split.y
    models = {"default": (ours, X, y), "rough": (partial(ours, tol=GAP), X, y)}
    before = fastest_fits(models, 2)
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    model = LogisticRegressionCV(
        dropout=(0.8, 0.65, 0.5, 0.35, 0.2),
        l2=(10.0, 3.0, 1.0, 0.3),
        l2_weights=["uniform", "naive_bayes", rng.uniform(0.5, 2.0, size=X.shape[1])],
        scoring="accuracy",
        extend_l2=False,
        n_jobs=2,
    ).fit(X, y)
    taken = time.perf_counter() - start
    after = fastest_fits(models, 2)
    one, rough = (min(before[name][0], after[name][0]) for name in models)
    accuracy = 100 * model.score(split.X_test, split.y_test)
    rows = [
        ("one fit at the default tolerance", f"{one:.2f} s", "**1**", ""),
        ("one fit to a gap of 1e-4", f"{rough:.2f} s", f"{rough / one:.2f}", ""),
        (
            "60 grid points × 5 folds, and the final fit",
            f"{taken:.1f} s",
            f"**{taken / one:.0f}**",
            f"{accuracy:.2f}",
        ),
    ]
    return ("", "time", "relative to one fit at the default tolerance", "test accuracy"), rows


def by_number_of_rows(split: Split) -> Table:
    """Measure the time against the number of rows."""
    rng = np.random.default_rng(0)
    order = rng.permutation(split.X.shape[0])
    models = {
        f"{n:,} rows": (partial(ours, tol=GAP), split.X[order[:n]], split.y[order[:n]])
        for n in (6_000, 12_000, 25_000)
    }
    best = fastest_fits(models)
    rows = [
        (name, f"{taken:.2f} s", f"{1e6 * taken / models[name][1].shape[0]:.0f} µs")
        for name, (taken, _) in best.items()
    ]
    return ("", "time", "time per row"), rows


def memory(n: int) -> Table:
    """Measure the peak memory, including X, relative to its CSR arrays; call it in a fresh process."""
    tiny = sparse.csr_array(np.eye(4, dtype=np.float32)[:, [2, 0, 1, 2]])
    LogisticRegression(n_jobs=2).fit(tiny, [0, 1, 0, 1])  # compile, or load compiled code
    split = imdb(n)
    X, y = split.X, split.y
    del split
    csr = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    loaded = memory_in_use()
    reset_peak_memory()
    ours().fit(X, y)
    # X counts towards the peak, what was loaded before does not.
    peak = peak_memory() - loaded + csr
    row = (
        f"IMDB {WORDS[n]}, float32",
        f"{csr / 2**20:.0f} MiB",
        f"**{peak / csr:.2f}** times the CSR arrays",
    )
    return ("", "CSR arrays", "peak memory"), [row]


def profile(split: Split) -> Table:
    """Profile a fit on one thread and on two."""
    columns = {}
    for threads in (1, 2):
        fit = partial(ours(tol=GAP, n_jobs=threads).fit, split.X, split.y)
        fit()
        columns[threads] = thread_time.profile(fit, threads)
    one, two = columns.values()
    rows = [("time", f"{one.seconds:.2f} s", f"{two.seconds:.2f} s")]
    rows += [
        (kind, f"{100 * share:.0f} %", f"{100 * two.shares[kind]:.0f} %")
        for kind, share in one.shares.items()
    ]
    of_two = {loop.name: loop for loop in two.loops}
    rows += [
        (
            f"`{loop.name}`, {loop.calls} calls",
            f"{100 * loop.share:.0f} %",
            f"{100 * of_two[loop.name].share:.0f} %",
        )
        for loop in one.loops
        if loop.share >= 0.01 and loop.name in of_two
    ]
    return ("share of the threads' time", "1 thread", "2 threads"), rows


def measure() -> Iterator[tuple[str, Table]]:
    """Yield all tables except that of the memory, by title."""
    split = imdb(2)
    ours(tol=0.5).fit(split.X[:100], split.y[12_450:12_550])  # compile, or load compiled code
    with threadpool_limits(1):
        yield "A search", cross_validation(split)
        yield "With unlabelled rows", with_unlabelled_rows(split)
        yield "By number of rows", by_number_of_rows(split)
        yield "Profile of a fit to a gap of 1e-4", profile(split)


def tables() -> list[tuple[str, Table]]:
    """Return the tables of ``measure``, and print each when it is there."""
    found = []
    for title, (header, rows) in measure():
        print(title)
        for row in (header, *rows):
            print("  " + "".join(f"{cell:<50}" for cell in row), flush=True)
        found.append((title, (header, rows)))
    return found


if __name__ == "__main__":
    tables()
    print(memory(2))
