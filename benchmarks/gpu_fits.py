"""Fits on a GPU and on the CPU: everything from the call to the model, medians of several."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.gpu_data import Data
from benchmarks.markdown import Rows

GRID: dict[str, Any] = {"dropout": (0.8, 0.65, 0.5, 0.35, 0.2), "l2": (10.0, 3.0, 1.0, 0.3)}
# Rows of the fits by Monte Carlo, of which a CPU draws 100 copies in every evaluation.
SAMPLED = 1000


def seconds(work: Callable[[], Any], repeats: int, warm_ups: int = 1) -> tuple[float, Any]:
    """Return the median wall time of some calls after the first ones, and what the last call returned."""
    import cupy

    for _ in range(warm_ups):
        work()
    times = []
    for _ in range(repeats):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        found = work()
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    return float(np.median(times)), found


def fits(data: Data) -> Rows:
    """Measure single fits, from the GPU's memory and from the host's, beside the CPU."""
    import cupy
    from cupyx.scipy.sparse import csr_matrix

    from dropglm import LogisticRegression

    parts = tuple(map(cupy.asarray, (data.X.data, data.X.indices, data.X.indptr)))
    X = csr_matrix(parts, shape=data.X.shape)
    cpu_time, cpu = seconds(lambda: LogisticRegression(n_jobs=2).fit(data.X, data.y), 2)
    rows: Rows = [("two cores of the CPU", f"{cpu_time * 1e3:.0f} ms", f"{cpu.result_.n_iter}", "", "")]
    cases = {
        "GPU, X in its memory": lambda: LogisticRegression().fit(X, data.y),
        "GPU, X in the host's memory": lambda: LogisticRegression(device="cuda").fit(data.X, data.y),
    }
    expected = cpu.predict_proba(data.X)[:, 1]
    for name, work in cases.items():
        taken, model = seconds(work, 15, warm_ups=3)
        gap = model.result_.objective / cpu.result_.objective - 1.0
        coef = model.coef_ if isinstance(model.coef_, np.ndarray) else model.coef_.get()
        again = work()
        same = np.array_equal(coef, again.coef_ if isinstance(again.coef_, np.ndarray) else again.coef_.get())
        p = model.predict_proba(data.X)[:, 1]
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
    from dropglm.text.training import NGRAM_WEIGHTS, vectorizer_of

    rows: Rows = []
    for name, device in {"GPU": "cuda", "16 cores": "cpu"}.items():
        model = TextClassifier(n_jobs=16, random_state=0, device=device)
        repeats = 3 if name == "GPU" else 1
        counting, _ = seconds(
            partial(vectorizer_of(model, NGRAM_WEIGHTS[0])._fit_counts, data.texts), repeats
        )
        whole, _ = seconds(partial(model.fit, data.texts, data.groups), repeats)
        right = 100 * np.mean(model.predict(data.test_texts) == data.test_groups)
        rows.append(
            (name, f"{whole:.2f} s", f"{counting:.2f} s", f"**{whole - counting:.2f} s**", f"{right:.2f}")
        )
    return rows


def models(data: Data) -> Rows:
    """Measure a multinomial model and a fit by Monte Carlo, beside the CPU."""
    from dropglm import LogisticRegression, NgramVectorizer

    news = NgramVectorizer(n_jobs=16).fit_transform(data.texts).astype(np.float32)
    chosen = np.random.default_rng(0).permutation(len(data.y))[:SAMPLED]
    cases: dict[str, tuple[dict[str, Any], Any, np.ndarray]] = {
        "multinomial, 20 newsgroups, no noise": ({"dropout": 0.0}, news, data.groups),
        f"Monte Carlo, {SAMPLED:,} rows of IMDB": (
            {"expectation": "monte_carlo", "random_state": 0},
            data.X[chosen],
            data.y[chosen],
        ),
    }
    rows: Rows = []
    for name, (settings, X, y) in cases.items():
        LogisticRegression(**settings, n_jobs=16, max_iter=1).fit(X, y)  # compiles
        fit_on_gpu, fit_on_cpu = (
            partial(LogisticRegression(**settings, device=device, n_jobs=16).fit, X, y)
            for device in ("cuda", "cpu")
        )
        (on_gpu, gpu), (on_cpu, cpu) = seconds(fit_on_gpu, 3), seconds(fit_on_cpu, 1, warm_ups=0)
        gap = gpu.result_.objective / cpu.result_.objective - 1.0
        iterations = f"{gpu.result_.n_iter} / {cpu.result_.n_iter}"
        rows.append((name, f"**{on_gpu:.2f} s**", f"{on_cpu:.1f} s", iterations, f"{gap:+.1e}"))
    return rows
