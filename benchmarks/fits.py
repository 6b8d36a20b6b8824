"""Fits on IMDB's unigrams and bigrams, compared with other libraries.

dropglm fits dropout with an L2 penalty (gaussian, dropout = 0.5, l2 = 1), once to a relative objective gap of
1e-4 (tol = 1e-2) and once at its default tolerance. The others fit plain L2 logistic regression at C = 0.1,
at their default tolerances. All of them get the same rows in the precision that suits them, and two threads
if they can use them. The fits alternate, and the fastest of each counts.

    DROPGLM_DATA=… python -m benchmarks.fits
"""

import cProfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression as Theirs
from threadpoolctl import threadpool_limits

from benchmarks.processes import memory_in_use, peak_memory, reset_peak_memory
from benchmarks.text import WORDS, imdb
from dropglm import LogisticRegression, LogisticRegressionCV
from dropglm.experiments.texts import Split

Rows = Sequence[tuple[str, ...]]
Table = tuple[tuple[str, ...], Rows]  # header and rows
ours = partial(LogisticRegression, dropout=0.5, l2=1.0, n_jobs=2)
GAP = 1e-2  # the tolerance that leaves a relative objective gap of about 1e-4


class Skglm:
    """skglm's L-BFGS, without an intercept; its loss is a mean over rows and its labels are ±1."""

    def fit(self, X: Any, y: np.ndarray) -> "Skglm":
        """Fit with C = 0.1."""
        from skglm.datafits import Logistic
        from skglm.penalties import L2
        from skglm.solvers import LBFGS

        columns, signs = sparse.csc_matrix(X), 2.0 * y - 1.0
        self.coef = LBFGS().solve(columns, signs, Logistic(), L2(10.0 / X.shape[0]))[0]
        return self

    def score(self, X: Any, y: np.ndarray) -> float:
        """Return the accuracy."""
        return float(np.mean((X @ self.coef > 0) == y))


class Snapml:
    """snapml's default solver, which accepts csr_matrix only; its regularizer is 1/C."""

    def fit(self, X: Any, y: np.ndarray) -> "Snapml":
        """Fit with C = 0.1."""
        from snapml import LogisticRegression as Theirs

        self.model = Theirs(regularizer=10.0, n_jobs=2, fit_intercept=True).fit(sparse.csr_matrix(X), y)
        return self

    def score(self, X: Any, y: np.ndarray) -> float:
        """Return the accuracy."""
        return float(np.mean(self.model.predict(sparse.csr_matrix(X)) == y))


OTHERS: dict[str, tuple[Callable[[], Any], type]] = {
    "scikit-learn lbfgs": (lambda: Theirs(C=0.1), np.float64),
    "scikit-learn lbfgs, float32": (lambda: Theirs(C=0.1), np.float32),
    "scikit-learn liblinear": (lambda: Theirs(C=0.1, solver="liblinear"), np.float64),
    "scikit-learn newton-cg": (lambda: Theirs(C=0.1, solver="newton-cg"), np.float64),
    "snapml": (Snapml, np.float32),
    "skglm lbfgs": (Skglm, np.float64),
}


def fastest_fits(models: Mapping[str, tuple[Callable[[], Any], Any, np.ndarray]], rounds: int = 3) -> Any:
    """Return the seconds of the fastest of alternating fits, and the fitted model, by name."""
    best: dict[str, tuple[float, Any]] = {}
    for _ in range(rounds):
        for name, (make, X, y) in models.items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # others stop at their default number of iterations
                model = make().fit(X, y)
            taken = time.perf_counter() - start
            if name not in best or taken < best[name][0]:
                best[name] = taken, model
    return best


def against_others(split: Split) -> Table:
    """Compare time, accuracy and the gap to the minimum with those of other libraries."""
    double = sparse.csr_array(split.X, dtype=np.float64)
    matrix: dict[type, Any] = {np.float32: split.X, np.float64: double}
    models = {name: (make, matrix[dtype], split.y) for name, (make, dtype) in OTHERS.items()}
    names = {"dropglm, gap 1e-4": GAP, "dropglm, default": 1e-4}
    for name, tol in names.items():
        models[name] = partial(ours, tol=tol), split.X, split.y
    best = fastest_fits(models)
    lowest = ours(tol=1e-7, max_iter=1000).fit(split.X, split.y).result_.objective
    rough, _ = best["dropglm, gap 1e-4"]
    rows = []
    for name, (taken, model) in best.items():
        accuracy = f"{100 * model.score(split.X_test, split.y_test):.2f}"
        gap = ""
        if name in names:
            gap = f"{model.result_.objective / lowest - 1:.0e} after {model.result_.n_iter} iterations"
        rows.append((name, f"{taken:.2f} s", f"**{rough / taken:.2f}**", accuracy, gap))
    return ("", "time", "dropglm's time / this time", "test accuracy", "objective gap"), rows


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
    """Compare a grid of 5 × 4 × 3 points with 5 folds to a single fit."""
    start = time.perf_counter()
    ours().fit(split.X, split.y)
    one = time.perf_counter() - start
    start = time.perf_counter()
    ours(tol=GAP).fit(split.X, split.y)
    rough = time.perf_counter() - start
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    model = LogisticRegressionCV(
        dropout=(0.8, 0.65, 0.5, 0.35, 0.2),
        l2=(10.0, 3.0, 1.0, 0.3),
        l2_weights=["uniform", "naive_bayes", rng.uniform(0.5, 2.0, size=split.X.shape[1])],
        scoring="accuracy",
        extend_l2=False,
        n_jobs=2,
    ).fit(split.X, split.y)
    taken = time.perf_counter() - start
    ratio = (
        f"**{taken / one:.0f}** times a fit at the default tolerance, "
        f"{taken / rough:.0f} times a fit to a gap of 1e-4"
    )
    accuracy = 100 * model.score(split.X_test, split.y_test)
    row = ("60 grid points × 5 folds, and the final fit", f"{taken:.0f} s", ratio, f"{accuracy:.2f}")
    return ("", "time", "ratio", "test accuracy"), [row]


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


PARTS = {
    "checking X": ("checks.py", "features"),
    "feature order and column storage": ("features.py", "__init__"),
    "pass for the search direction": ("design.py", "add_ray"),
    "pass for the gradient": ("design.py", "backward"),
    "row functions in the line search": ("row_term.py", "value_and_slope"),
    "L-BFGS: direction": ("memory.py", "direction"),
    "L-BFGS: update": ("memory.py", "update"),
    "other sums over coefficients": ("coefficients.py", "products_along"),
    "preconditioner": ("objective.py", "preconditioner"),
}


def profile(split: Split) -> Table:
    """Profile a fit on one thread."""
    profiler = cProfile.Profile()
    profiler.enable()
    ours(tol=GAP, n_jobs=1).fit(split.X, split.y)
    profiler.disable()
    entries = profiler.getstats()
    total = sum(entry.inlinetime for entry in entries)
    found = {
        (Path(entry.code.co_filename).name, entry.code.co_name): (entry.callcount, entry.totaltime)
        for entry in entries
        if isinstance(entry.code, CodeType) and "dropglm" in entry.code.co_filename
    }
    rows: list[tuple[str, ...]] = [("whole fit on one thread, profiled", f"{total:.2f} s", "", "")]
    for name, key in PARTS.items():
        calls, cumulative = found.get(key, (0, 0.0))
        rows.append((name, f"{1e3 * cumulative:.0f} ms", f"{100 * cumulative / total:.0f} %", str(calls)))
    return ("", "time", "share", "calls"), rows


def measure(n: int) -> dict[str, Table]:
    """Return all tables for 1- to n-grams except that of the memory, by title."""
    split = imdb(n)
    ours(tol=0.5).fit(split.X[:100], split.y[12_450:12_550])  # compile, or load compiled code
    title = f"IMDB {WORDS[n]}, 25,000 × {split.X.shape[1]:,}, {split.X.nnz:,} non-zeros"
    with threadpool_limits(2):
        tables = {f"{title}: compared with other libraries": against_others(split)}
    with threadpool_limits(1):
        tables[f"{title}: with unlabelled rows"] = with_unlabelled_rows(split)
        tables[f"{title}: by number of rows"] = by_number_of_rows(split)
        tables[f"{title}: profile"] = profile(split)
        if n == 2:
            tables[f"{title}: cross-validation"] = cross_validation(split)
    return tables


if __name__ == "__main__":
    for n in (1, 2):
        for title, (header, rows) in measure(n).items():
            print(f"\n{title}")
            for row in (header, *rows):
                print("  " + "".join(f"{cell:<40}" for cell in row))
    print(memory(2))
