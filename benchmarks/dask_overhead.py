"""What Dask costs: bare rounds, and fits to IMDB's bigrams by two processes beside the local fit.

    DROPGLM_DATA=… python -m benchmarks.dask_overhead [--write] [--dask-ml PYTHON] [--spark PYTHON]

All rows are measured in one run on one machine. The workers are two processes with one thread each. They hold
the partitions before the time starts, as the local fit holds its matrix. The data ten times over are built by
the workers. ``--write`` replaces the table in docs/dask.md. dask-ml and Spark are run by the Python of an
environment of their own, if given: dask-ml does not import with current versions of Dask.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, Future, LocalCluster, wait
from scipy import sparse

from benchmarks.markdown import ROOT, fill, table
from benchmarks.text import CACHE, imdb
from dropglm import LogisticRegression
from dropglm.dask import LogisticRegression as DaskLogisticRegression
from dropglm.dask.engine import DaskEngine
from dropglm.places.partitions.round_trips import answer
from dropglm.places.partitions.sums import add_lists

WORKERS, PARTITIONS = 2, 4
SIZES = (742_000, 10_000)
BARE_ROUNDS, REPEATS, PATIENCE = 30, 3, 300
HEADER = ("", "time", "relative to the local fit", "target")


@contextmanager
def two_workers() -> Iterator[Client]:
    cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        yield client


# Bare rounds


def bare_round(client: Client, size: int) -> float:
    """Return the median time of a round as one would write it: scatter, four tasks, one sum."""
    beta, times = np.ones(size, np.float32), []
    for _ in range(BARE_ROUNDS):
        start = time.perf_counter()
        shared = client.scatter(beta, broadcast=True, hash=False)
        shares = [client.submit(_share, shared, k, pure=False) for k in range(PARTITIONS)]
        client.submit(_sum, shares, pure=False).result()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def engine_round(client: Client, size: int) -> float:
    """Return the median time of a round of our engine that computes nothing."""
    engine, beta, times = DaskEngine(client), np.ones(size, np.float32), []
    parts = engine.keep(_first, list(range(WORKERS)), None)
    for _ in range(BARE_ROUNDS):
        start = time.perf_counter()
        engine.total(_second, parts, beta, np.add)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _share(beta: np.ndarray, k: int) -> np.ndarray:
    return beta + np.float32(k)


def _sum(shares: list[np.ndarray]) -> np.ndarray:
    return np.sum(shares, axis=0)


def _first(part: Any, message: Any) -> Any:
    return part


def _second(part: Any, message: Any) -> Any:
    return message + np.float32(part)


# Fits


class TimedEngine(DaskEngine):
    """An engine that notes how long each round takes, and how long its longest task computes."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.rounds: list[tuple[float, float]] = []
        self.kill_at: int | None = None  # the round before which a worker is killed

    def total(self, work: Any, parts: Any, message: Any, add: Any) -> Any:
        """Return the sum, and note the times of a round."""
        if work is not answer:
            return super().total(work, parts, message, add)
        start = time.perf_counter()
        if len(self.rounds) == self.kill_at:
            os.kill(next(iter(self.client.run(os.getpid).values())), signal.SIGKILL)
        longest, result = super().total(_timed_answer, parts, message, _add_timed)
        self.rounds.append((time.perf_counter() - start, longest))
        return result


def _timed_answer(group: Any, requests: Any) -> Any:
    start = time.perf_counter()
    result = answer(group, requests)
    return time.perf_counter() - start, result


def _add_timed(a: Any, b: Any) -> Any:
    return max(a[0], b[0]), add_lists(a[1], b[1])


class TimedLogisticRegression(DaskLogisticRegression):
    """A model that keeps its engine."""

    kill_at: int | None = None

    def _engine(self, client: Client) -> DaskEngine:
        self.engine_ = TimedEngine(client)
        self.engine_.kill_at = self.kill_at
        return self.engine_


def part(kind: str, k: int, times: int) -> Any:
    """Return a partition of IMDB, repeated, on a worker."""
    split = imdb(2)
    X, y, Z = split.X, split.y, split.X_unlabeled
    source = {"X": X, "y": y, "Z": Z}[kind]
    n = source.shape[0]
    rows = source[n * k // PARTITIONS : n * (k + 1) // PARTITIONS]
    return np.tile(rows, times) if kind == "y" else sparse.vstack([rows] * times, format="csr")


def partitions_on(client: Client, times: int) -> dict[str, list[Future]]:
    found = {
        kind: [client.submit(part, kind, k, times, pure=False) for k in range(PARTITIONS)] for kind in "XyZ"
    }
    wait([future for futures in found.values() for future in futures])
    return found


def fits_of(client: Client, times: int) -> tuple[float, float, TimedEngine, float]:
    """Return the times of the local and the distributed fit, the engine, and how much coefficients differ."""
    split = imdb(2)
    X, y, Z = split.X, split.y, split.X_unlabeled
    if times > 1:
        X, Z = (sparse.vstack([matrix] * times, format="csr") for matrix in (X, Z))
        y = np.tile(y, times)
    # The first fit of all compiles. Long fits are not repeated, and end at a larger tolerance.
    repeats, tol = (REPEATS, 1e-4) if times == 1 else (1, 1e-3)
    local, here = fastest(lambda: LogisticRegression(n_jobs=2, tol=tol).fit(X, y, X_unlabeled=Z), repeats)
    X = Z = None
    parts = partitions_on(client, times)
    distributed, there = fastest(
        lambda: TimedLogisticRegression(n_jobs=2, tol=tol, client=client).fit(
            parts["X"], parts["y"], X_unlabeled=parts["Z"]
        ),
        repeats,
    )
    difference = float(np.abs(there.coef_ - here.coef_).max() / np.abs(here.coef_).max())
    print(
        f"iterations: local {here.n_iter_}, distributed {there.n_iter_}, rounds {len(there.engine_.rounds)}"
    )
    return local, distributed, there.engine_, difference


def killed(client: Client) -> tuple[float, list[float]]:
    """Return the time of a fit with a worker killed before round 40, and of the rounds from there on."""
    parts = partitions_on(client, 1)
    model = TimedLogisticRegression(n_jobs=2, client=client)
    model.kill_at = 40
    start = time.perf_counter()
    model.fit(parts["X"], parts["y"], X_unlabeled=parts["Z"])
    taken = time.perf_counter() - start
    return taken, [wall for wall, _ in model.engine_.rounds[40:43]]


def fastest(fit: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    best, model = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        fitted = fit()
        seconds = time.perf_counter() - start
        if seconds < best:
            best, model = seconds, fitted
    return best, model


# Others, each in an environment of its own


def rival(name: str, python: str) -> dict[str, Any]:
    """Return what a rival prints: its time, or how it fails."""
    split = imdb(2)
    X, y = split.X, split.y
    path = CACHE / "imdb_labelled.npz"
    np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
    script = Path(__file__).with_name(f"{name}_job.py")
    try:
        done = subprocess.run(
            [python, str(script), str(path)], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return {"name": name, "error": f"not finished after {PATIENCE} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"name": name, "error": done.stderr.strip().splitlines()[-1]}


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the table in docs/dask.md")
    parser.add_argument("--times", type=int, nargs="*", default=[1, 10])
    parser.add_argument("--dask-ml", metavar="PYTHON")
    parser.add_argument("--spark", metavar="PYTHON")
    options = parser.parse_args()
    rows = []
    with two_workers() as client:
        rounds = {}
        for size in SIZES if options.times else ():
            rounds[size] = engine_round(client, size)
            rows.append(
                (f"bare round, 4 tasks, {size:,} numbers", milliseconds(bare_round(client, size)), "", "")
            )
            rows.append((f"round of our engine, {size:,} numbers", milliseconds(rounds[size]), "", ""))
        for times in options.times:
            local, distributed, engine, difference = fits_of(client, times)
            data = "IMDB, bigrams, 50,000 unlabelled" + (
                f", {times} times over, tol = 1e-3" if times > 1 else ""
            )
            bar = "2.0" if times == 1 else "1.2"
            rows.append((f"local fit, two threads: {data}", f"{local:.2f} s", "1", ""))
            rows.append(
                ("the same on two workers", f"{distributed:.2f} s", f"{distributed / local:.2f}", bar)
            )
            walls, tasks = np.array(engine.rounds).T
            beyond = statistics.median(walls - tasks) - rounds[SIZES[0]]
            rows.append(
                (
                    f"… per round ({len(walls)} rounds): whole, of which the longest task",
                    f"{milliseconds(statistics.median(walls))}, {milliseconds(statistics.median(tasks))}",
                    "",
                    "",
                )
            )
            rows.append(("… per round beyond task and bare round", milliseconds(beyond), "", "20 ms"))
            if times == 1:
                taken, after = killed(client)
                rows.append(
                    (
                        "the same, one worker killed before round 40",
                        f"{taken:.2f} s; rounds 40 to 42: {', '.join(f'{wall:.1f} s' for wall in after)}",
                        f"{taken / local:.2f}",
                        "",
                    )
                )
            print(f"outside rounds: {distributed - walls.sum():.2f} s; difference {difference:.1e}")
    if rows:
        write("overhead", table(HEADER, rows), options.write)
    rivals = [("dask_ml", options.dask_ml), ("spark", options.spark)]
    found = [rival(name, python) for name, python in rivals if python]
    if found:
        lines = [(one["name"], one.get("time", one.get("error", ""))) for one in found]
        write("rivals", table(("", "time"), lines), options.write)


def write(name: str, block: str, into_page: bool) -> None:
    """Print a block, and write it into docs/dask.md if asked to."""
    print(block)
    if into_page:
        fill(ROOT / "docs" / "dask.md", name, block)


if __name__ == "__main__":
    main()
