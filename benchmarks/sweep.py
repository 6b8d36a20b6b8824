"""One value and gradient of each penalty, compared with the products that plain ridge regression needs.

The reference is SciPy's ``X @ w`` + ``X.T @ r`` on the same matrix in the same run, on one thread. The
candidates alternate in bursts of calls, as a solver would make them, so that other load on the machine
affects all of them equally. Such load can only add time; therefore the fastest calls are compared.

    DROPGLM_DATA=… python -m benchmarks.sweep
"""

import time
from collections.abc import Callable, Mapping

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.processes import memory_in_use, peak_memory, reset_peak_memory
from benchmarks.text import imdb
from dropglm import noising_penalty
from dropglm.core.design import Design, frequency_order
from dropglm.core.design.prepare import canonical
from dropglm.core.families import Logistic
from dropglm.core.noise import Dropout
from dropglm.core.penalties import EXPECTATIONS, Penalty
from dropglm.core.settings import penalty_from

Work = Callable[[], object]

# Precision, and whether the features are counts instead of 0 and 1.
CASES = ((np.float32, False), (np.float64, False), (np.float32, True), (np.float64, True))


def fastest(candidates: Mapping[str, Work], rounds: int = 10, burst: int = 5) -> dict[str, float]:
    """Return the seconds of the fastest call of each candidate, over alternating bursts."""
    best = dict.fromkeys(candidates, np.inf)
    for _ in range(rounds):
        for name, work in candidates.items():
            for _ in range(burst):
                start = time.perf_counter()
                work()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def bigrams(dtype: type) -> sparse.csr_array:
    """Return IMDB's training reviews, with the n-grams that occur in them."""
    X = imdb(2).X
    return sparse.csr_array(X[:, np.unique(X.indices)], dtype=dtype)


def logistic(expectation: str) -> Penalty:
    return penalty_from(EXPECTATIONS[expectation], Logistic, Dropout(0.5))


def compile_for(dtype: type) -> None:
    """Load the compiler and the kernels before memory is measured."""
    tiny = sparse.csr_array(np.eye(3, dtype=dtype)[:, [2, 0, 1, 2]])
    for values in (1, 2):
        design = Design(values * tiny, order=frequency_order(tiny)).by_columns()
        for expectation in ("quadratic", "gaussian"):
            logistic(expectation).value_and_gradient(design, np.ones((4, 1), dtype), np.zeros(1), np.ones(3))
    canonical(sparse.csr_array((tiny.data, tiny.indices, tiny.indptr)))


def measure(dtype: type, *, counts: bool = False) -> list[tuple[str, str]]:
    """Return rows of (task, result) for one precision; the features are binary unless ``merged_counts``."""
    compile_for(dtype)
    X = bigrams(dtype)
    n, d = X.shape
    rng = np.random.default_rng(0)
    if counts:
        X.data = (1 + rng.poisson(0.5, size=X.nnz)).astype(dtype)
    csr_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    before = memory_in_use() - csr_bytes  # X counts towards the peak, what was loaded before does not
    reset_peak_memory()

    w, r = rng.normal(scale=0.1, size=d).astype(dtype), rng.normal(size=n).astype(dtype)
    start = time.perf_counter()
    order = frequency_order(X)
    design = Design(X, order=order).by_columns()
    preparation = time.perf_counter() - start
    beta, b, weights = w[order][:, None].copy(), np.zeros(1), np.ones(n)

    def sweep(expectation: str, threads: int) -> Work:
        penalty = logistic(expectation)

        def work() -> None:
            design.threads = threads
            penalty.value_and_gradient(design, beta, b, weights)

        return work

    taken = fastest(
        {
            "scipy": lambda: (X @ w, X.T @ r),
            **{
                f"{expectation} {k}": sweep(expectation, k)
                for expectation in ("quadratic", "gaussian")
                for k in (1, 2)
            },
        }
    )
    peak = peak_memory() - before
    rows = [("SciPy `X @ w` + `X.T @ r`, 1 thread", f"{1e3 * taken['scipy']:.1f} ms")]
    for expectation in ("quadratic", "gaussian"):
        one, two = taken[f"{expectation} 1"], taken[f"{expectation} 2"]
        rows += [
            (f"{expectation}, 1 thread", f"{1e3 * one:.1f} ms, **{one / taken['scipy']:.2f}** times SciPy"),
            (
                f"{expectation}, 2 threads",
                f"{1e3 * two:.1f} ms, **{one / two:.2f}** times as fast as 1 thread",
            ),
        ]
    if not counts:
        taken |= fastest({"exact": sweep("exact", 1)}, rounds=1, burst=1)
        ratio = taken["exact"] / taken["quadratic 1"]
        rows.append(
            ("exact, 1 thread", f"{taken['exact']:.2f} s, **{ratio:.0f}** times the quadratic penalty")
        )
    single = {
        "call": lambda: noising_penalty(w, X, dropout=0.5, expectation="quadratic", return_gradient=True)
    }
    taken |= fastest(single, rounds=1, burst=3)
    call = f"{1e3 * taken['call']:.0f} ms, {taken['call'] / taken['scipy']:.1f} times SciPy"
    rows += [
        ("`noising_penalty`, quadratic, one call on the raw matrix, including all checks", call),
        ("preparation for a fit (feature order, column storage)", f"{1e3 * preparation:.0f} ms"),
        ("peak memory including X, relative to X's CSR arrays", f"**{peak / csr_bytes:.2f}**"),
    ]
    return rows


def titled_measure(dtype: type, counts: bool) -> tuple[str, list[tuple[str, str]]]:
    """Return a title and the rows of ``measure``."""
    with threadpool_limits(1):
        rows = measure(dtype, counts=counts)
    X = bigrams(dtype)
    values = "counts" if counts else "binary"
    return f"{X.shape[0]:,} × {X.shape[1]:,}, {X.nnz:,} non-zeros, {values}, {np.dtype(dtype).name}", rows


if __name__ == "__main__":
    for case in CASES:
        title, rows = titled_measure(*case)
        print(f"\n{title}")
        for what, result in rows:
            print(f"  {what:<75}{result}")
