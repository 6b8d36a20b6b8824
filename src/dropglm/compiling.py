"""Compile the functions that defaults reach, so that nobody who fits, predicts or labels waits for it.

Every job uses a part of the package on small data of the types that it meets in earnest: with and without
values, few and many rows, few and many features. What a job needs and is not on disk yet is compiled, for a
baseline processor, and written to the folder of the package. The package is built in this way
(``hatch_build.py``), and ``dropglm compile`` does it again after another version of Numba was installed.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from dropglm.base.errors import InputError
from dropglm.base.progress import Progress, plural
from dropglm.base.threads import core_count

# Shapes of sparse matrices. Numbers of more than 65,536 rows need 32 bits. From 131,072 features on, and four
# times as many features as rows, passes go over columns.
SMALL, LONG, WIDE, LARGE = (40, 60), (65_540, 60), (40, 131_072), (65_540, 262_160)


def texts(n: int) -> list[str]:
    """Return n texts of some 30 words, so many different ones that latent features pay, not all in ASCII."""
    numbers = [[(k * k + 31 * j * k + 7 * j) % 997 for j in range(k % 30 + 15)] for k in range(n)]
    return [" ".join(f"wörd{number}" for number in row) for row in numbers]


def matrices(*shapes: tuple[int, int]) -> Iterator[Any]:
    """Yield a matrix of each kind that loops are compiled for: dense, and sparse ones of these shapes."""
    import numpy as np
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        yield rng.normal(size=(40, 4)).astype(dtype)
        for shape, ones, index in product(shapes, (False, True), (np.int32, np.int64)):
            n, d = shape
            numbers = np.arange(3 * max(n, d))
            values = np.ones(len(numbers)) if ones else rng.uniform(0.5, 1.0, len(numbers))
            X = csr_array((values, (numbers % n, numbers // 3 % d)), shape, dtype)
            X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
            if shape == SMALL or index is np.int32:
                yield X
            if shape == SMALL:  # columns of a row not in order
                yield csr_array((X.data, X.indices[::-1].copy(), X.indptr), shape)


def rough(estimator: Any, **settings: Any) -> Any:
    """Return an estimator that stops after the first iterations."""
    return estimator(l2=1.0, max_iter=6, **settings)


def labels(n: int, classes: int) -> list[int]:
    """Return n labels of so many classes."""
    return [k % classes for k in range(n)]


def fit_matrices() -> None:
    """Fit logistic regressions, with and without dropout and unlabelled rows, and predict."""
    from dropglm import LogisticRegression

    for X in matrices(SMALL, LONG, WIDE, LARGE):
        y = labels(X.shape[0], 2)
        for model in (rough(LogisticRegression), rough(LogisticRegression, dropout=0.5)):
            model.fit(X, y).predict_proba(X[:5])
        model.set_params(discount=0.1).fit(X, y, X_unlabeled=X[::2])


def fit_other_models() -> None:
    """Fit logistic regressions of three classes, linear and Poisson regressions, and latent features."""
    from dropglm import LatentFeatures, LinearRegression, LogisticRegression, PoissonRegressor

    for X in matrices(SMALL, LONG):
        y = labels(X.shape[0], 3)
        for estimator in (LogisticRegression, LinearRegression, PoissonRegressor):
            rough(estimator, dropout=0.5).fit(X, y).predict(X[:5])
        LatentFeatures(2).fit_transform(X)


def search_matrices() -> None:
    """Choose the settings of logistic regressions by cross-validation."""
    from dropglm import LogisticRegressionCV

    for X in matrices(SMALL, LONG):
        few: Any = {"dropout": [0.5], "l2": [1.0], "extend_l2": False} if X.shape == LONG else {}
        for classes in (2,) if few else (2, 3):
            model = LogisticRegressionCV(cv=2, **few)
            model.fit(X, labels(X.shape[0], classes), X_unlabeled=X[::2]).predict_proba(X[:5])


def fit_texts() -> None:
    """Tune text classifiers with and without unlabelled texts; predict and explain as a loaded model does."""
    from dropglm import NgramVectorizer, TextClassifier

    for analyzer in ("char", "char_wb"):
        NgramVectorizer((3, 4), analyzer=analyzer).fit(texts(3)).transform(texts(2))
    for classes in (2, 3):
        for unlabelled in (None, texts(4000)):
            model = TextClassifier(n_jobs=2).fit(texts(60), labels(60, classes), X_unlabeled=unlabelled)
        saved = model._current_model()
        loaded = type(saved).from_state(saved.to_state())
        loaded.predict_proba(texts(3))
        loaded.explain(texts(1)[0])


def fit_tables() -> None:
    """Tune classifiers of tables with and without unlabelled rows."""
    from dropglm import TableClassifier

    def table(n: int) -> dict[str, list[Any]]:
        return {
            "text": texts(n),
            "title": texts(n),
            "number": list(range(n)),
            "category": [str(k % 3) for k in range(n)],
        }

    for classes in (2, 3):
        for unlabelled in (None, table(400)):
            model = TableClassifier(n_jobs=2, text=["text", "title"])
            model.fit(table(60), labels(60, classes), X_unlabeled=unlabelled).predict_proba(table(3))


def learn_online() -> None:
    """Learn from matrices and from texts, row by row."""
    from dropglm import OnlineLogisticRegression, OnlineTextClassifier

    for X in matrices(SMALL):
        for classes in (2, 3):
            model = OnlineLogisticRegression().fit(X, labels(X.shape[0], classes))
            model.partial_fit(X, labels(X.shape[0], classes)).predict_proba(X[:5])
    model = OnlineTextClassifier().partial_fit(texts(60), labels(60, 2), classes=[0, 1])
    model.predict_proba(texts(3))


def use_other_settings() -> None:
    """Compute exact penalties, and learn by the other rules."""
    import numpy as np

    from dropglm import OnlineLogisticRegression, noising_penalty
    from dropglm.core.online import RULES

    for X in matrices(SMALL):
        for family in ("logistic", "poisson"):
            settings: Any = {
                "family": family,
                "dropout": 0.5,
                "expectation": "exact",
                "return_gradient": True,
            }
            noising_penalty(np.full(X.shape[1], 0.1, X.dtype), X, **settings)
        for rule in RULES:
            OnlineLogisticRegression(rule).fit(X, labels(X.shape[0], 2))


def tag_sentences() -> None:
    """Fit taggers to names and to numbers, with and without unlabelled sentences; predict."""
    from dropglm import SequenceTagger

    words = [text.split() for text in texts(20)]
    tags = [[word[-1] for word in sentence] for sentence in words]
    values = [[{word: 0.5} for word in sentence] for sentence in words]
    for sentences in (words, values):
        model = SequenceTagger(max_iter=6, n_jobs=2).fit(sentences, tags, X_unlabeled=sentences)
        model.predict(sentences)
        model.predict_marginals(sentences)


def label_texts() -> None:
    """Fit models to the first labels of a pool of texts, choose more, and look for suspicious labels."""
    from dropglm.labelling.pool import TextPool, choose_texts, look_for_suspicious

    pool = TextPool(texts(200))
    for classes in (2, 3):
        model: Any = None
        for n in (classes, 3 * classes, 60):
            known = {number: str(number % classes) for number in range(n)}
            model = pool.fit(known, model)
        model.words_of_classes(5)
        choose_texts(model.probabilities, pool.latent, list(known), size=3)
        look_for_suspicious(pool, known)


def read_table() -> None:
    """Read a table that is large enough for the compiled loop."""
    from dropglm.tables import Table, cut_kernels  # with Numba, tables of 1 MB are large

    assert cut_kernels
    with TemporaryDirectory() as folder:
        path = Path(folder, "texts.csv")
        path.write_text("text,label\n" + "".join(f"{text},1\n" for text in texts(6000)), encoding="utf-8")
        for _ in Table(str(path), "text", "label").batches():
            pass


def help_with_loop() -> None:
    """Look for a loop to help with, as the threads do that share one."""
    import numpy as np

    from dropglm.core.maths.shared_loops import SIZE, _help

    _help(np.zeros(SIZE, np.int64))


def fit_partitions() -> None:
    """Fit to rows in partitions, as Dask does."""
    from dropglm import LogisticRegressionCV
    from dropglm.places import partitions

    for X in matrices(SMALL):
        parts = [(part, labels(part.shape[0], 2)) for part in (X[:20], X[20:])]
        partitions.fit(LogisticRegressionCV(cv=2), parts, [X], load=lambda part: part)


def fit_on_gpu() -> None:
    """Fit and search on the GPU, if there is one."""
    from dropglm import LogisticRegression, LogisticRegressionCV
    from dropglm.places.gpu.runtime import numba_cuda

    try:
        numba_cuda()
    except (ImportError, InputError):
        return
    for X, classes, more in product(matrices(SMALL, LARGE), (2, 3), (False, True)):
        y, unlabeled = labels(X.shape[0], classes), X[::2] if more else None
        for settings in ({}, {"dropout": 0.5}):
            rough(LogisticRegression, device="cuda", **settings).fit(X, y, X_unlabeled=unlabeled)
        LogisticRegressionCV(cv=2, device="cuda").fit(X, y, X_unlabeled=unlabeled)


# The longest first, so that all cores have something to do until the end.
JOBS: dict[str, Callable[[], None]] = {
    job.__name__: job
    for job in (
        fit_texts,
        fit_tables,
        fit_matrices,
        search_matrices,
        learn_online,
        use_other_settings,
        fit_partitions,
        fit_other_models,
        label_texts,
        tag_sentences,
        read_table,
        help_with_loop,
        fit_on_gpu,
    )
}


# Not by PYTHONPATH: if the folder is installed as editable, pip removes it from the path of a build.
PROGRAM = """
import sys, warnings
sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")  # of fits that do not converge
from dropglm.compiling import JOBS
JOBS[sys.argv[2]]()
"""


def compile_all(*, shown: bool) -> Path:
    """Run every job in a process of its own, as many at a time as there are cores; return the folder."""
    from dropglm.core.maths.kernel_files import PACKAGE, SHIPPED, is_complete, mark_complete, writable_folder

    folder = writable_folder()
    for place in (SHIPPED, folder):
        if place is not None and is_complete(place):
            return place
    if folder is None:
        raise InputError("No folder for compiled functions is writable; set NUMBA_CACHE_DIR to one that is.")
    waiting = list(JOBS)
    running: dict[str, tuple[Any, Any]] = {}
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}

    def new() -> str:
        files = {path.name: path.stat().st_mtime_ns for path in folder.glob("[!.]*")}
        return plural(len(files.items() - before.items()), "function")

    with Progress("groups of functions compiled", len(JOBS), shown=shown) as progress, ExitStack() as stack:
        while waiting or running:
            while waiting and len(running) < core_count():
                errors = stack.enter_context(TemporaryFile("w+"))
                job = waiting.pop(0)
                command = [sys.executable, "-P", "-c", PROGRAM, str(PACKAGE.parent), job]
                process = subprocess.Popen(command, env=baseline_environment(), stderr=errors)
                stack.enter_context(process)
                stack.callback(process.kill)  # before it is waited for, if this process is interrupted
                running[job] = process, errors
            time.sleep(0.1)
            ended = [job for job, (process, _) in running.items() if process.poll() is not None]
            for job in ended:
                process, errors = running.pop(job)
                if process.returncode:
                    errors.seek(0)
                    raise RuntimeError(f"Compiling failed in {job}.\n{errors.read()}")
            progress.advance(len(ended), new())
    mark_complete(folder)
    return folder


def baseline_environment() -> dict[str, str]:
    """Return the environment of a process that compiles for the baseline processor."""
    from dropglm.core.maths.kernel_files import BASELINE

    return os.environ | ({} if BASELINE is None else {"NUMBA_CPU_NAME": BASELINE, "NUMBA_CPU_FEATURES": ""})
