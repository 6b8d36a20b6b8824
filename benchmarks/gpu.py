"""Fits on a GPU: passes over IMDB's bigrams, single fits, a search, a tuned text classifier, and rivals.

    python -m benchmarks.gpu --prepare data.npz   # anywhere, with DROPGLM_DATA: the data in one file
    python -m benchmarks.gpu data.npz             # on a machine with a GPU: writes docs/measured-gpu.md
    python -m benchmarks.gpu --quote              # quotes two lines of that page in README.md

Times of kernels are those of CUDA's events, medians of many; those of fits include everything from the call
to the model, medians of five. CPU fits have two threads.
"""

import argparse
import json
import os
import time
import zlib
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.markdown import table

PAGE = Path(__file__).parent.parent / "docs" / "measured-gpu.md"
Rows = list[tuple[str, ...]]
GRID: dict[str, Any] = {"dropout": (0.8, 0.65, 0.5, 0.35, 0.2), "l2": (10.0, 3.0, 1.0, 0.3)}


class Data(NamedTuple):
    """IMDB's training reviews as bigrams, and 20 newsgroups as texts."""

    X: sparse.csr_array
    y: np.ndarray
    texts: list[str]
    groups: np.ndarray
    test_texts: list[str]
    test_groups: np.ndarray


def prepare(path: Path) -> None:
    """Write the data into one file."""
    from benchmarks.sweep import bigrams
    from benchmarks.text import imdb, read

    X = bigrams(np.float32)
    X.sort_indices()
    steps = np.diff(X.indices, prepend=0).astype(np.int32).view(np.uint8).reshape(-1, 4).T
    news = read("20news")
    is_test = (news["split"].cast(str) == "test").to_numpy()
    texts, labels = news["text"].to_list(), news["group"].cast(str).to_numpy()
    packed = zlib.compress(json.dumps(texts).encode(), 9)
    np.savez_compressed(
        path,
        steps=np.ascontiguousarray(steps),
        indptr=X.indptr,
        shape=X.shape,
        y=imdb(2).y,
        texts=np.frombuffer(packed, np.uint8),
        labels=labels.astype("U"),
        is_test=is_test,
    )


def load(path: Path) -> Data:
    """Return the data of a file."""
    with np.load(path) as file:
        steps = np.ascontiguousarray(file["steps"].T).view(np.int32).ravel()
        indices = np.cumsum(steps, dtype=np.int64).astype(np.int32)
        X = sparse.csr_array(
            (np.ones(len(indices), np.float32), indices, file["indptr"]), tuple(file["shape"])
        )
        texts = json.loads(zlib.decompress(file["texts"].tobytes()))
        labels, is_test = file["labels"], file["is_test"]
        train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
        parts = [[texts[k] for k in train], labels[train], [texts[k] for k in test], labels[test]]
        return Data(X, file["y"], *parts)


def on_device(work: Callable[[], None], stream: Any, repeats: int = 30) -> float:
    """Return the median time of recorded work on the GPU, in ms."""
    import cupy

    name = f"{id(work)}"
    for _ in range(3):
        stream.play(name, ("benchmark",), work)
    times = []
    for _ in range(repeats):
        before, after = cupy.cuda.Event(), cupy.cuda.Event()
        before.record(stream._cupy)
        stream.play(name, ("benchmark",), work)
        after.record(stream._cupy)
        after.synchronize()
        times.append(cupy.cuda.get_elapsed_time(before, after))
    return float(np.median(times))


def seconds(work: Callable[[], Any], repeats: int = 5) -> tuple[float, Any]:
    """Return the median wall time of some calls after a first one, and what the last call returned."""
    import cupy

    found, times = work(), []
    for _ in range(repeats):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        found = work()
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), found


def bandwidth() -> float:
    """Return the bytes per second of a copy of 2 GiB on the GPU, read and written."""
    import cupy

    source = cupy.zeros(1 << 29, np.float32)
    target = cupy.empty_like(source)
    times = []
    for _ in range(10):
        before, after = cupy.cuda.Event(), cupy.cuda.Event()
        before.record()
        target[:] = source
        after.record()
        after.synchronize()
        times.append(cupy.cuda.get_elapsed_time(before, after))
    return 2 * source.nbytes / (float(np.median(times)) / 1e3)


def objective_of(data: Data, P: int) -> Any:
    """Return the objective of P problems with IMDB's bigrams, at random coefficients."""
    import cupy

    from dropglm.cuda.objective import DeviceObjective
    from dropglm.cuda.problems import Problems, RowSet
    from dropglm.cuda.row_loops import FAMILY, PENALTY
    from dropglm.cuda.upload import upload
    from dropglm.families import Logistic
    from dropglm.penalties.gaussian import GaussianLogistic

    order, (matrix,) = upload([data.X], np.dtype(np.float32), 1)
    n, d = matrix.shape
    mean = np.asarray(data.X.mean(axis=0)).reshape(-1, 1)[order.get()].astype(np.float32)
    first, ones, share = np.zeros(P, int), np.ones((n, 1)), np.ones(P)
    penalty = PENALTY[GaussianLogistic]
    labeled = RowSet(
        [(slice(0, d), matrix)], data.y[:, None], ones, ones, first, first, first, share, penalty
    )
    problems = Problems(
        *([labeled], FAMILY[Logistic], 1, np.zeros(P), np.ones((1, P)), np.zeros((1, P)), share),
        *(np.ones((d, 1), np.float32), first, mean, first, True, np.dtype(np.float32)),
    )
    theta = cupy.asarray(np.random.default_rng(0).normal(scale=0.01, size=(d + 1, P)), dtype=np.float32)
    return DeviceObjective(problems, theta)


def passes(data: Data) -> Rows:
    """Measure the passes over the rows for 1, 8 and 64 problems."""
    from dropglm.cuda.groups import Group
    from dropglm.cuda.runtime import Stream

    nnz, speed = data.X.nnz, bandwidth()
    rows: Rows = []
    for P in (1, 8, 64):
        objective = objective_of(data, P)
        with Stream() as stream:
            group = Group(P, stream)
            for name, loaded, work in _works(objective, objective.states[0].blocks[0][1], group):
                taken = on_device(work, stream)
                per_second = nnz * loaded / (taken / 1e3)
                speeds = (
                    (f"{per_second / 1e12:.1f} TB/s", f"{per_second / speed:.0%}") if loaded else ("", "")
                )
                rows.append((name, str(P), f"{taken:.3f} ms", *speeds))
    rows.append(("copy of 2 GiB", "", "", f"{speed / 1e12:.1f} TB/s", "100%"))
    return rows


def _works(objective: Any, matrix: Any, group: Any) -> list[tuple[str, int, Callable[[], None]]]:
    """Return names of passes, the bytes that an entry loads if nothing is cached, and the passes."""
    from dropglm.cuda.groups import DeviceArray

    state, beta, rho = objective.states[0], objective.beta_of[0], objective.relative[0]
    eta, t = map(DeviceArray, state.here.array)
    matrix.moments(group, beta, eta, t)

    def forward() -> None:
        matrix.moments(group, beta, eta, t)

    def along() -> None:
        matrix.ray(group, objective.ends_of[0], rho, state.ray, add=False)

    def back() -> None:
        matrix.backward(group, beta, objective.twice[0], state.slopes, objective.by_features_of[0], add=False)

    def rows() -> None:
        objective.evaluate(group)

    def sweep() -> None:
        forward()
        rows()
        back()

    P = objective.P
    return [
        ("η and t", 4 + 4 * P, forward),
        ("along a ray", 4 + 8 * P, along),
        ("gradient", 4 + 8 * P, back),
        ("rows alone", 0, rows),
        ("**sweep: value and gradient**", 0, sweep),
    ]


def fits(data: Data) -> Rows:
    """Measure single fits, from the GPU's memory and from the host's, beside the CPU."""
    import cupyx

    from dropglm import LogisticRegression

    X = cupyx.scipy.sparse.csr_matrix(
        tuple(map(__import__("cupy").asarray, (data.X.data, data.X.indices, data.X.indptr))),
        shape=data.X.shape,
    )
    cpu_time, cpu = seconds(lambda: LogisticRegression(n_jobs=2).fit(data.X, data.y), 2)
    rows: Rows = [("two cores of the CPU", f"{cpu_time * 1e3:.0f} ms", f"{cpu.result_.n_iter}", "", "")]
    cases = {
        "GPU, X in its memory": lambda: LogisticRegression().fit(X, data.y),
        "GPU, X in the host's memory": lambda: LogisticRegression(device="cuda").fit(data.X, data.y),
    }
    expected = cpu.predict_proba(data.X)[:, 1]
    for name, work in cases.items():
        taken, model = seconds(work)
        gap = model.result_.objective / cpu.result_.objective - 1.0
        coef = model.coef_ if isinstance(model.coef_, np.ndarray) else model.coef_.get()
        again = work()
        same = np.array_equal(coef, again.coef_ if isinstance(again.coef_, np.ndarray) else again.coef_.get())
        p = LogisticRegression.predict_proba(model, data.X)[:, 1]
        rows.append(
            (name, f"**{taken * 1e3:.0f} ms**", f"{model.result_.n_iter}", f"{gap:+.1e}",
             f"{np.abs(p - expected).max():.1e}{', the same bits again' if same else ''}")
        )  # fmt: skip
    return rows


def search(data: Data) -> Rows:
    """Measure a search of 60 points with 5 folds and the final fit, beside the CPU."""
    from dropglm import LogisticRegressionCV

    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=data.X.shape[1])
    rows: Rows = []
    for name, device in {"GPU": "cuda", "16 cores": "cpu"}.items():
        model = LogisticRegressionCV(
            **GRID,
            l2_weights=["uniform", "naive_bayes", weights],
            scoring="accuracy",
            extend_l2=False,
            device=device,
            n_jobs=16,
        )
        taken, _ = seconds(partial(model.fit, data.X, data.y), 3 if name == "GPU" else 1)
        chosen = f"dropout {model.dropout_}, l2 {model.l2_}, {model.best_index_}"
        rows.append((name, f"**{taken:.2f} s**", chosen, f"{model.best_score_:.4f}"))
    return rows


def newsgroups(data: Data) -> Rows:
    """Measure a tuned text classifier on 20 newsgroups."""
    from dropglm import TextClassifier
    from dropglm.text.training import count_ngrams
    from dropglm.text.tuning import NGRAM_WEIGHTS

    rows: Rows = []
    for name, device in {"GPU": "cuda", "16 cores": "cpu"}.items():
        model = TextClassifier(n_jobs=16, random_state=0, device=device)
        repeats = 3 if name == "GPU" else 1
        counting, _ = seconds(partial(count_ngrams, model, data.texts, NGRAM_WEIGHTS[0]), repeats)
        whole, _ = seconds(partial(model.fit, data.texts, data.groups), repeats)
        right = 100 * np.mean(model.predict(data.test_texts) == data.test_groups)
        rows.append(
            (name, f"{whole:.2f} s", f"{counting:.2f} s", f"**{whole - counting:.2f} s**", f"{right:.2f}")
        )
    return rows


def quote() -> None:
    """Write two lines of the page into README.md: the time of a fit, and of a search."""
    cells = [[cell.strip(" *") for cell in line.split("|")] for line in PAGE.read_text().splitlines()]
    rows = [row for row in cells if len(row) > 3]
    fit = {row[1]: row[2] for row in rows}
    search = {row[1]: row[2] for row in rows if row[3].startswith("dropout")}
    gpu = PAGE.read_text().split("on one ")[1].split(" with ")[0]
    line = (
        f"On one {gpu}, a fit to IMDB's bigrams takes {fit['GPU, X in its memory']} with X on the GPU (two "
        f"cores: {fit['two cores of the CPU']}), and a search of 60 settings with 5 folds {search['GPU']} "
        f"(16 cores: {search['16 cores']})."
    )
    readme = PAGE.parent.parent / "README.md"
    before, rest = readme.read_text().split("<!-- gpu: start -->")
    readme.write_text(
        f"{before}<!-- gpu: start -->{line}<!-- gpu: stop -->{rest.split('<!-- gpu: stop -->')[1]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument(
        "--quote", action="store_true", help="quote the page in README.md instead of measuring"
    )
    parser.add_argument("--prepare", action="store_true", help="write the data instead of measuring")
    parser.add_argument("--out", type=Path, default=PAGE)
    parser.add_argument(
        "--sections",
        nargs="*",
        default=["passes", "profile", "kernels", "fits", "search", "newsgroups", "rivals"],
    )
    arguments = parser.parse_args()
    if arguments.quote:
        quote()
        return
    if arguments.data is None:
        parser.error("name the file of the data")
    if arguments.prepare:
        prepare(arguments.data)
        return
    import cupy

    from benchmarks.gpu_profile import HEADER, profile
    from benchmarks.gpu_rivals import raw_kernels, rivals

    data = load(arguments.data)
    gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    works: dict[str, tuple[str, tuple[str, ...], Callable[[Data], Rows]]] = {
        "passes": (
            "One pass over IMDB's bigrams",
            ("pass", "problems", "time", "bytes loaded per second", "of a copy's"),
            passes,
        ),
        "profile": (
            "The same passes under Nsight Compute, which lowers the clock",
            HEADER,
            lambda data: profile(arguments.data),
        ),
        "kernels": (
            "Numba and raw kernels",
            ("", "time on the GPU", "time of a call in Python"),
            raw_kernels,
        ),
        "fits": (
            "One fit to IMDB's bigrams, at the default tolerance",
            (
                "",
                "time",
                "iterations",
                "objective, relative to the CPU's",
                "largest difference of a probability",
            ),
            fits,
        ),
        "search": (
            "60 points of a grid, 5 folds, and the final fit",
            ("", "time", "chosen", "accuracy of held-out rows"),
            search,
        ),
        "newsgroups": (
            "A tuned text classifier: 20 newsgroups",
            ("", "whole fit", "counting n-grams", "without counting", "test accuracy"),
            newsgroups,
        ),
        "rivals": ("Others", ("", "time", "objective, relative to ours"), rivals),
    }
    parts = [
        "# Measured on a GPU\n",
        f"`make bench-gpu` wrote this page on {date.today():%Y-%m-%d}, on one {gpu} with {os.cpu_count()} "
        f"CPU cores and CuPy {cupy.__version__}. IMDB: {data.X.shape[0]:,} rows, {data.X.shape[1]:,} binary "
        f"features, {data.X.nnz:,} entries, float32.\n",
        "Bytes loaded count every coefficient or slope of every entry; those that come from a cache make the "
        "rate exceed that of a copy.\n",
    ]
    for name in arguments.sections:
        title, header, measure = works[name]
        start = time.perf_counter()
        rows = measure(data)
        print(title, f"({time.perf_counter() - start:.0f} s)", *rows, sep="\n  ", flush=True)
        parts += [f"## {title}\n", table(header, rows) + "\n"]
        arguments.out.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
