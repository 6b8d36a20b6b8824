"""A fit to a generated stream of rows that would not fit into memory.

    python -m benchmarks.scale [--rows 20_000_000] [--features 20_000_000] [--iterations 3] [--write]

The rows of a partition are generated from its number whenever they are read, by
``dropglm.places.partitions.fit``. A row has up to 30 features; the feature of rank r is drawn with a
probability that is proportional to 1/r, as for words. Half of the features, chosen by a hash, argue for the
second class. ``--write`` fills in the numbers of docs/dask.md.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from benchmarks.markdown import ROOT, fill, table
from benchmarks.processes import peak_memory
from dropglm import LogisticRegression
from dropglm.places.partitions import fit

PER_ROW = 30
HEADER = ("", "")


class Stream:
    """Partitions that are generated, and when each pass over them began."""

    def __init__(self, rows: int, features: int) -> None:
        self.rows = rows
        self.features = features
        self.starts: list[float] = []
        self.entries = 0

    def __call__(self, number: int) -> tuple[Any, np.ndarray]:
        """Return the rows of a partition."""
        if number == 0:
            self.starts.append(time.perf_counter())
            print(f"pass {len(self.starts)} begins")
        rng = np.random.default_rng(number)
        ranks = np.exp(rng.random((self.rows, PER_ROW)) * np.log(self.features))
        columns = np.sort(ranks.astype(np.int32), axis=1) - 1
        kept = np.ones(columns.shape, bool)
        np.not_equal(columns[:, 1:], columns[:, :-1], out=kept[:, 1:])
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        indices = columns[kept]
        for_second = (indices.astype(np.int64) * 2_654_435_761 >> 15) & 1
        score = np.add.reduceat(for_second - 0.5, indptr[:-1])
        y = (score + rng.normal(size=self.rows) > 0).astype(np.int8)
        self.entries = len(indices)
        shape = (self.rows, self.features)
        return sparse.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=shape), y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--features", type=int, default=20_000_000)
    parser.add_argument("--partition", type=int, default=250_000, help="rows of a partition")
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="replace the numbers in docs/dask.md")
    options = parser.parse_args()
    stream = Stream(options.partition, options.features)
    count = options.rows // options.partition
    model = LogisticRegression(max_iter=options.iterations, n_jobs=options.jobs)
    start = time.perf_counter()
    stream(0)
    generated = time.perf_counter() - start
    stream.starts.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        fit(model, range(count), load=stream)
        end = time.perf_counter()
    passes = np.diff([*stream.starts, end])
    peak = peak_memory()
    X, y = stream(count)  # rows that were not part of the fit
    accuracy = (model.predict(X) == y).mean()
    rows = [
        ("rows, features", f"{count * options.partition:,}, {options.features:,}"),
        ("features that occur", f"{np.count_nonzero(model.coef_):,}"),
        ("entries", f"{count * stream.entries / 1e6:,.0f} million"),
        ("partitions, threads", f"{count} of {options.partition:,} rows, {options.jobs}"),
        ("iterations, passes over the rows", f"{options.iterations}, {len(passes)}"),
        ("whole time", f"{end - start:.0f} s"),
        ("time of the first pass (the survey)", f"{passes[0]:.0f} s"),
        ("median time of the other passes", f"{np.median(passes[1:]):.0f} s"),
        ("of which to generate the rows", f"{count * generated / options.jobs:.0f} s"),
        ("peak memory", f"{peak / 2**30:.1f} GiB"),
        ("the rows as CSR in memory would take", f"{count * stream.entries * 8 / 2**30:.1f} GiB"),
        ("objective per row, at the start and at the end", _losses(model, count * options.partition)),
        ("accuracy on new rows after these iterations", f"{accuracy:.3f}"),
    ]
    block = table(HEADER, rows)
    print(block)
    print("passes:", passes.round(1))
    if options.write:
        fill(ROOT / "docs" / "dask.md", "scale", block)


def _losses(model: LogisticRegression, n: int) -> str:
    objective = model.result_.history.objective / n
    return f"{objective[0]:.4f}, {objective[-1]:.4f}"


if __name__ == "__main__":
    main()
