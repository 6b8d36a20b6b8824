"""Partitions that are read again in each pass, and fits that continue after their process died."""

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import dropglm
from dropglm import LinearRegression, LogisticRegression, PoissonRegressor
from dropglm.base.files import FileError
from dropglm.places.partitions import fit
from tests.places.partitions.cases import CLOSE, EXACT, coefficients, features, labels, target


@pytest.fixture
def data(rng):
    X = features(rng)
    return X, labels(rng, X)


def sources(X, y, size=15):
    return [lambda k=k: (X[k : k + size], y[k : k + size]) for k in range(0, len(X), size)]


@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression, PoissonRegressor])
@pytest.mark.parametrize("options", [{}, {"in_memory": True}], ids=str)
def test_the_model_is_that_of_all_rows(rng, kind, options):
    X, Z = features(rng), features(rng, 20)
    names = {LinearRegression: "linear", LogisticRegression: "logistic", PoissonRegressor: "poisson"}
    y, w = target(rng, names[kind], X), rng.random(len(X))
    expected = kind(dropout=0.3, l2=0.2, **EXACT).fit(X, y, w, X_unlabeled=Z)
    parts = [lambda k=k: (sparse.csr_array(X[k::4]), y[k::4], w[k::4]) for k in range(4)]
    model = fit(kind(dropout=0.3, l2=0.2, **EXACT), parts, [lambda: Z[:5], lambda: (Z[5:], None)], **options)
    assert_allclose(coefficients(model), coefficients(expected), **CLOSE)


def test_partitions_may_be_paths(tmp_path, data):
    X, y = data
    for k in range(3):
        np.savez(tmp_path / f"{k}.npz", X=X[k::3], y=y[k::3])

    def load(path):
        with np.load(path) as file:
            return file["X"], file["y"]

    model = dropglm.places.partitions.fit(LogisticRegression(**EXACT), sorted(tmp_path.iterdir()), load=load)
    assert_allclose(coefficients(model), coefficients(LogisticRegression(**EXACT).fit(X, y)), **CLOSE)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_as_many_partitions_as_threads_are_in_memory(data, n_jobs):
    """And the number of threads changes no bit."""
    lock, here, most = threading.Lock(), [0], [0]

    class Watched(np.ndarray):
        def __del__(self):
            here[0] -= self.base is None

    def load(part):
        with lock:
            here[0] += 1
            most[0] = max(most[0], here[0])
        X = Watched(part[0].shape)
        X[:] = part[0]
        return X, part[1]

    X, y = data
    parts = [(X[k : k + 9], y[k : k + 9]) for k in range(0, 90, 9)]
    model = fit(LogisticRegression(n_jobs=n_jobs), parts, load=load)
    assert most[0] <= n_jobs + 1  # one that is just being released
    assert_array_equal(coefficients(model), coefficients(fit(LogisticRegression(), parts, load=lambda p: p)))


def test_what_is_not_a_partition_is_named(data):
    X, y = data
    forms = r"\(X, y\), \(X, y, sample_weight\) or \(X, y, sample_weight, groups\)"
    with pytest.raises(TypeError, match=rf"^Partition 1 must be {forms}\.$"):
        fit(LogisticRegression(), [lambda: (X, y), lambda: X])
    with pytest.raises(TypeError, match=r"^Unlabelled partition 0 must be X or \(X, unlabeled_weight\)\.$"):
        fit(LogisticRegression(), [lambda: (X, y)], [lambda: (X, y, None)])
    with pytest.raises(TypeError, match="OnlineLogisticRegression cannot be fitted to partitions"):
        fit(dropglm.OnlineLogisticRegression(), [lambda: (X, y)])
    with pytest.raises(ValueError, match="There is no partition of labelled rows"):
        fit(LogisticRegression(), [])


def failing(parts, reads):
    """Partitions that cannot be read any more after so many reads."""
    left = [reads]

    def read(part):
        left[0] -= 1
        if left[0] < 0:
            raise InterruptedError
        return part()

    return [lambda part=part: read(part) for part in parts]


@pytest.mark.parametrize(
    "settings",
    [{}, {"multi_class": "ovr"}, {"l2_weights": "naive_bayes_unlabeled"}, {"expectation": "quadratic"}],
    ids=str,
)
def test_a_fit_continues_where_it_was_stopped(rng, tmp_path, settings):
    """With the same iterations as one that was not stopped, wherever that was."""
    X, Z = features(rng), features(rng, 30)
    y = labels(rng, X, 3)
    parts, others = sources(X, y, 30), [lambda: Z]
    model = LogisticRegression(tol=1e-6, **settings)
    expected = fit(model, parts, others)
    coef, iterations = coefficients(expected), expected.n_iter_
    folder = tmp_path / "checkpoint"
    for reads in (8, 14, 14):
        with pytest.raises(InterruptedError):
            fit(model, failing(parts, reads), others, checkpoint=folder)
    assert_allclose(coefficients(fit(model, parts, others, checkpoint=folder)), coef, **CLOSE)
    assert_array_equal(model.n_iter_, iterations)
    assert not folder.exists()


def test_a_checkpoint_of_another_fit_is_refused(tmp_path, data):
    X, y = data
    folder = tmp_path / "checkpoint"
    with pytest.raises(InterruptedError):
        fit(LogisticRegression(), failing(sources(X, y), 40), checkpoint=folder)
    for model, rows in ((LogisticRegression(l2=2.0), X), (LogisticRegression(), X[:, :5])):
        with pytest.raises(FileError, match=r"belongs to a fit with other settings or other data; remove it"):
            fit(model, sources(rows, y), checkpoint=folder)
    (file,) = folder.iterdir()
    file.write_bytes(b"nothing")
    with pytest.raises(FileError, match=r"is not a checkpoint of dropglm; choose another path\.$"):
        fit(LogisticRegression(), sources(X, y), checkpoint=folder)


def test_a_checkpoint_that_cannot_be_written_is_refused_before_rows_are_read(tmp_path):
    file = tmp_path / "file"
    file.touch()
    for path, reason in (
        (file, "is not a folder"),
        (file / "inside", r"cannot be created \(Not a directory\)"),
    ):
        for model in (LogisticRegression(), LinearRegression()):
            with pytest.raises(FileError, match=f"^The checkpoint {path} {reason}; choose another path.$"):
                fit(model, failing([None], 0), checkpoint=path)


PROGRAM = textwrap.dedent("""
    import os, signal, sys
    import numpy as np
    from dropglm import LogisticRegression
    from dropglm.places.partitions import fit

    reads, last = 0, int(sys.argv[2])

    def load(seed):
        global reads
        reads += 1
        if reads == last:
            os.kill(os.getpid(), signal.SIGKILL)
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(50, 6))
        return X, (X[:, 0] - X[:, 1] + rng.normal(size=50) > 0).astype(int)

    model = fit(LogisticRegression(tol=1e-8), range(4), load=load, checkpoint=sys.argv[1])
    print(reads, *model.coef_[0])
""")


def test_a_killed_process_is_continued_by_the_next(tmp_path):
    def run(folder, last):
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / folder), str(last)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == (-9 if last > 0 else 0), done.stderr
        return list(map(float, done.stdout.split()))

    reads, *expected = run("a", -1)
    run("b", int(0.8 * reads))
    fewer, *coef = run("b", -1)
    assert_allclose(coef, expected, **CLOSE)
    assert fewer < 0.7 * reads


def test_what_cannot_be_read_is_named():
    with pytest.raises(TypeError, match=r"^Partition 0 is a str, not a function; pass load=, which reads"):
        fit(LogisticRegression(), ["a.npz"])

    def load(path):
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone") as caught:
        fit(LogisticRegression(), ["a.npz"], load=load)
    assert caught.value.__notes__ == ["Partition 0 could not be read."]


@pytest.mark.parametrize(
    ("model", "partitions", "settings", "message"),
    [
        (LogisticRegression, [], {}, r"model is the class LogisticRegression; pass an estimator"),
        (LogisticRegression(), None, {}, "partitions must be a sequence, got NoneType"),
        (LogisticRegression(), [1], {"load": 5}, "load must be a function, got 5"),
        (LogisticRegression(), [], {"unlabeled_partitions": 3}, "unlabeled_partitions must be a sequence"),
    ],
)
def test_wrong_arguments_are_one_sentence(model, partitions, settings, message):
    with pytest.raises(TypeError, match=message):
        fit(model, partitions, **settings)
