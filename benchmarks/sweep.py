"""One value and gradient of each penalty, against the products that plain ridge regression needs.

The rival is SciPy's ``X @ w`` + ``X.T @ r`` on the same matrix in the same run, one thread each. The
contestants take turns in bursts, as a solver would call them and so that a noisy neighbour disturbs them
alike; since a neighbour can only add time, the fastest call of each is compared.

    DROPGLM_DATA=… python -m benchmarks.sweep
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.text import imdb
from dropglm import noising_penalty
from dropglm.design import Design, frequency_order, kernels
from dropglm.families import Logistic
from dropglm.noise import Dropout
from dropglm.penalties import PENALTIES, Penalty

Work = Callable[[], object]

# Precision, and whether the features are counts rather than ones.
CASES = ((np.float32, False), (np.float64, False), (np.float32, True), (np.float64, True))


def fastest(contestants: Mapping[str, Work], rounds: int = 10, burst: int = 5) -> dict[str, float]:
    """Seconds of the fastest call of each, over bursts in turn."""
    best = dict.fromkeys(contestants, np.inf)
    for _ in range(rounds):
        for name, work in contestants.items():
            for _ in range(burst):
                start = time.perf_counter()
                work()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def resident(field: str) -> int:
    """Bytes of memory in use (VmRSS) or at most in use so far (VmHWM), on Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def bigrams(dtype: type) -> sparse.csr_array:
    """IMDB's training reviews, over the n-grams that occur in them."""
    X = imdb(2).X
    return sparse.csr_array(X[:, np.unique(X.indices)], dtype=dtype)


def logistic(expectation: str) -> Penalty:
    return PENALTIES[expectation]["logistic"](Logistic, Dropout(0.5))


def compile_for(dtype: type) -> None:
    """Have the compiler and the kernels in memory before memory is measured."""
    tiny = sparse.csr_array(np.eye(3, dtype=dtype)[:, [2, 0, 1, 2]])
    for values in (1, 2):
        design = Design(values * tiny, order=frequency_order(tiny)).by_columns()
        for expectation in ("quadratic", "gaussian"):
            logistic(expectation).value_and_gradient(design, np.ones((4, 1), dtype), np.zeros(1), np.ones(3))
    kernels.has_doubles(tiny.indptr, tiny.indices, 4)


def measure(dtype: type, *, counts: bool = False) -> list[tuple[str, str]]:
    """Rows of (what, result) for one precision; the features are all ones unless ``counts``."""
    compile_for(dtype)
    X = bigrams(dtype)
    n, d = X.shape
    rng = np.random.default_rng(0)
    if counts:
        X.data = (1 + rng.poisson(0.5, size=X.nnz)).astype(dtype)
    csr_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    before = resident("VmRSS") - csr_bytes  # what loading left behind is not ours, X is
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew

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
    peak = resident("VmHWM") - before
    rows = [("SciPy `X @ w` + `X.T @ r`, 1 thread", f"{1e3 * taken['scipy']:.1f} ms")]
    for expectation in ("quadratic", "gaussian"):
        one, two = taken[f"{expectation} 1"], taken[f"{expectation} 2"]
        rows += [
            (f"{expectation}, 1 thread", f"{1e3 * one:.1f} ms, **{one / taken['scipy']:.2f}** of SciPy's"),
            (
                f"{expectation}, 2 threads",
                f"{1e3 * two:.1f} ms, **{one / two:.2f}** times as fast as 1 thread",
            ),
        ]
    if not counts:
        taken |= fastest({"exact": sweep("exact", 1)}, rounds=1, burst=1)
        ratio = taken["exact"] / taken["quadratic 1"]
        rows.append(("exact, 1 thread", f"{taken['exact']:.2f} s, **{ratio:.0f}** times quadratic"))
    single = {
        "call": lambda: noising_penalty(w, X, dropout=0.5, expectation="quadratic", return_gradient=True)
    }
    taken |= fastest(single, rounds=1, burst=3)
    call = f"{1e3 * taken['call']:.0f} ms, {taken['call'] / taken['scipy']:.1f} times SciPy's"
    rows += [
        ("`noising_penalty`, quadratic, one call on the raw matrix with all checks", call),
        ("preparation before a fit (order of the features, columns)", f"{1e3 * preparation:.0f} ms"),
        ("peak memory with X itself, over X's CSR arrays", f"**{peak / csr_bytes:.2f}**"),
    ]
    return rows


def titled_measure(dtype: type, counts: bool) -> tuple[str, list[tuple[str, str]]]:
    """The rows, under what they are about."""
    with threadpool_limits(1):
        rows = measure(dtype, counts=counts)
    X = bigrams(dtype)
    values = "counts" if counts else "ones"
    return f"{X.shape[0]:,} × {X.shape[1]:,}, {X.nnz:,} non-zero {values}, {np.dtype(dtype).name}", rows


if __name__ == "__main__":
    for case in CASES:
        title, rows = titled_measure(*case)
        print(f"\n{title}")
        for what, result in rows:
            print(f"  {what:<75}{result}")
