"""One value and gradient of each penalty, against the products that plain ridge regression needs.

The rival is SciPy's ``X @ w`` + ``X.T @ r`` on the same matrix in the same run, one thread each. The contestants
take turns in bursts, as a solver would call them and so that a noisy neighbour disturbs them alike; the medians of
all calls are compared.

    DROPGLM_DATA=… python -m benchmarks.sweep
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.imdb import bigrams
from dropglm import noising_penalty
from dropglm.design import Design, frequency_order, kernels
from dropglm.families import Logistic
from dropglm.noise import Dropout
from dropglm.penalties import PENALTIES

Work = Callable[[], object]


def medians(contestants: dict[str, Work], rounds: int = 7, burst: int = 5) -> dict[str, float]:
    """Median seconds of each over bursts in turn; the first call of a burst warms the caches and is not counted."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            work()
            for _ in range(burst):
                start = time.perf_counter()
                work()
                times[name].append(time.perf_counter() - start)
    return {name: float(np.median(taken)) for name, taken in times.items()}


def resident(field: str) -> int:
    """Bytes of memory in use (VmRSS) or at most in use so far (VmHWM), on Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def compare(dtype: type) -> None:
    """Print the table for one precision."""
    tiny = sparse.csr_array(np.eye(3, dtype=dtype)[:, [2, 0, 1, 2]])  # to have the compiler in memory before
    for kind in ("quadratic", "gaussian"):
        penalty = PENALTIES[kind]["logistic"](Logistic, Dropout(0.5))
        penalty.value_and_gradient(Design(tiny).by_columns(), np.ones((4, 1), dtype), np.zeros(1), np.ones(3))
    kernels.has_doubles(tiny.indptr, tiny.indices, 4)
    before = resident("VmRSS")
    X = bigrams(dtype)
    n, d = X.shape
    csr_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew

    rng = np.random.default_rng(0)
    w, r = rng.normal(scale=0.1, size=d).astype(dtype), rng.normal(size=n).astype(dtype)
    start = time.perf_counter()
    order = frequency_order(X)
    design = Design(X, order=order).by_columns()
    preparation = time.perf_counter() - start
    beta, b, weights = w[order][:, None].copy(), np.zeros(1), np.ones(n)

    def sweep(kind: str, threads: int) -> Work:
        penalty = PENALTIES[kind]["logistic"](Logistic, Dropout(0.5))

        def work() -> None:
            design.threads = threads
            penalty.value_and_gradient(design, beta, b, weights)

        return work

    taken = medians(
        {
            "scipy": lambda: (X @ w, X.T @ r),
            "quadratic, 1 thread": sweep("quadratic", 1),
            "quadratic, 2 threads": sweep("quadratic", 2),
            "gaussian, 1 thread": sweep("gaussian", 1),
            "gaussian, 2 threads": sweep("gaussian", 2),
        }
    )
    peak = resident("VmHWM") - before
    single = {
        "exact, 1 thread": sweep("exact", 1),
        "noising_penalty quadratic, from the raw matrix": lambda: noising_penalty(
            w, X, dropout=0.5, kind="quadratic", return_gradient=True
        ),
    }
    taken |= medians(single, rounds=1, burst=2)

    print(f"\nIMDB bigrams, {n:,} rows, {d:,} features, {X.nnz:,} entries, {np.dtype(dtype).name}")
    for name, seconds in taken.items():
        print(f"  {name:<48}{1e3 * seconds:9.1f} ms{seconds / taken['scipy']:9.2f} x scipy")
    for kind in ("quadratic", "gaussian"):
        gain = taken[f"{kind}, 1 thread"] / taken[f"{kind}, 2 threads"]
        print(f"  {kind}: two threads {gain:.2f} times as fast as one")
    print(f"  exact: {taken['exact, 1 thread'] / taken['quadratic, 1 thread']:.0f} times quadratic")
    print(f"  preparation, once a fit: {1e3 * preparation:.0f} ms")
    print(f"  peak memory, X included: {peak / csr_bytes:.2f} times the CSR arrays")


if __name__ == "__main__":
    with threadpool_limits(1):
        compare(np.float32)
        compare(np.float64)
