"""Passes over IMDB's bigrams on a GPU: times by CUDA's events, medians of many."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.gpu_data import Data
from benchmarks.markdown import Rows


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

    from dropglm.core.families import Logistic
    from dropglm.core.penalties.closed_forms import GaussianLogistic
    from dropglm.places.gpu.design import upload
    from dropglm.places.gpu.objective import DeviceObjective, Problems, RowSet
    from dropglm.places.gpu.row_loops import FAMILY, PENALTY

    order, (matrix,) = upload([data.X], np.dtype(np.float32), 1)
    n, d = matrix.shape
    mean = np.asarray(data.X.mean(axis=0)).reshape(-1, 1)[order.get()].astype(np.float32)
    places, ones, share = np.zeros((3, P), int), np.ones((n, 1)), np.ones(P)
    penalty = PENALTY[GaussianLogistic]
    labeled = RowSet([(slice(0, d), matrix)], data.y[:, None], ones, ones, places, share, penalty)
    problems = Problems(
        *([labeled], FAMILY[Logistic], 1, np.zeros(P), np.ones((1, P)), np.zeros((1, P)), share),
        *(np.ones((d, 1), np.float32), mean, places[:2], True, np.dtype(np.float32)),
    )
    theta = cupy.asarray(np.random.default_rng(0).normal(scale=0.01, size=(d + 1, P)), dtype=np.float32)
    return DeviceObjective(problems, theta)


def passes(data: Data) -> Rows:
    """Measure the passes over the rows for 1, 8 and 64 problems."""
    from dropglm.places.gpu.runtime import Group, Stream

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
    state, beta, rho = objective.states[0], objective.beta_of[0], objective.relative[0]

    def along() -> None:
        matrix.ray(group, objective.ends_of[0], rho, state.ray, add=False)

    def back() -> None:
        matrix.backward(group, beta, objective.twice[0], state.slopes, objective.by_features_of[0], add=False)

    def rows() -> None:
        objective.evaluate(group)

    def sweep() -> None:
        along()
        rows()
        back()

    P = objective.P
    return [
        ("along a ray", 4 + 8 * P, along),
        ("gradient", 4 + 8 * P, back),
        ("rows alone", 0, rows),
        ("**sweep: value and gradient**", 0, sweep),
    ]
