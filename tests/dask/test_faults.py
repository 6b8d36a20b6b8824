"""What a fit on Dask does when workers die, when the scheduler goes away, and when data is wrong."""

import os
import signal
import threading
import time

import dask
import numpy as np
import pytest
from dask import delayed
from distributed import Client, Event, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dropglm.dask import LogisticRegression, TextClassifier
from dropglm.dask.engine import DaskEngine
from dropglm.places.partitions.contents import survey
from dropglm.places.partitions.round_trips import answer
from dropglm.text.partitioned import gram_share
from tests.dask.test_text import many_words
from tests.places.partitions.cases import coefficients, features, labels

SIZE = 30


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    X = features(rng, 6 * SIZE)
    return X, labels(rng, X)


def pieces(X, form=sparse.csr_array):
    return [form(X[start : start + SIZE]) for start in range(0, len(X), SIZE)]


def parts(data):
    X, y = data
    return [delayed(piece) for piece in pieces(X)], [delayed(piece) for piece in pieces(y, np.asarray)]


class Once(DaskEngine):
    """An engine that does something in the middle of one of its rounds."""

    def __init__(self, client, action, work, number):
        super().__init__(client)
        self.action, self.work, self.left = action, work, number
        self.now = None

    def total(self, work, *others):
        self.now = work
        return super().total(work, *others)

    def _results(self, futures):
        self.left -= self.now is self.work
        if self.left == 0:
            self.left = -1
            self.action()
        return super()._results(futures)


def model_with(monkeypatch, client, action, work, number):
    """A model whose fit does something during the given round of that work."""
    monkeypatch.setattr(
        LogisticRegression, "_engine", lambda self, client: Once(client, action, work, number)
    )
    return LogisticRegression(client=client)


def kill_one(client, holding=""):
    """Kill a worker, one that holds the result of such a task."""
    held = client.has_what().items()
    worker = next(at for at, keys in held if not holding or any(str(k).startswith(holding) for k in keys))
    os.kill(client.run(os.getpid)[worker], signal.SIGKILL)


@pytest.fixture(scope="module")
def expected(cluster, data):
    with Client(cluster) as client:
        return coefficients(LogisticRegression(client=client).fit(*parts(data)))


@pytest.mark.parametrize(
    ("work", "number"),
    [pytest.param(survey, 1, marks=pytest.mark.slow), (answer, 4)],
    ids=["survey", "iteration"],
)
def test_a_worker_that_is_killed_changes_nothing(monkeypatch, client, data, expected, work, number):
    killed = []
    model = model_with(monkeypatch, client, lambda: killed.append(kill_one(client)), work, number)
    assert_array_equal(coefficients(model.fit(*parts(data))), expected)
    assert killed


@pytest.fixture(scope="module")
def tuned(cluster):
    """A text classifier with default settings and unlabelled texts, and its texts."""
    (texts, y), (more, _) = many_words(60), many_words(200, seed=1)
    given = cut_into(texts, 4), cut_into(y, 4), cut_into(more, 3)
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=120)  # another test may have killed one
        model = TextClassifier(client=client).fit(given[0], given[1], X_unlabeled=given[2])
    assert model.summary_.unlabeled_effect["rounds"] > 0
    return given, model


@pytest.mark.parametrize(
    ("work", "number"),
    [(gram_share, 3), (answer, 10)],
    ids=["latent features", "search"],
)
@pytest.mark.slow
def test_a_worker_that_is_killed_does_not_change_a_tuned_text_classifier(
    monkeypatch, client, tuned, work, number
):
    (texts, y, more), expected = tuned
    killed = []
    engine = Once(client, lambda: killed.append(kill_one(client)), work, number)
    monkeypatch.setattr(TextClassifier, "_engine", lambda self, client: engine)
    model = TextClassifier(client=client).fit(texts, y, X_unlabeled=more)
    assert killed
    assert model.search_.best_params_ == expected.search_.best_params_
    assert_array_equal(model.model_.coef_, expected.model_.coef_)


def cut_into(rows, count):
    return [delayed(rows[len(rows) * k // count : len(rows) * (k + 1) // count]) for k in range(count)]


def test_a_fit_whose_client_died_is_continued(monkeypatch, client, data, expected, tmp_path):
    def fail():
        raise MemoryError

    folder = tmp_path / "checkpoint"
    with pytest.raises(MemoryError):
        model_with(monkeypatch, client, fail, answer, 5).fit(*parts(data), checkpoint=folder)
    assert folder.exists()
    monkeypatch.undo()
    model = LogisticRegression(client=client).fit(*parts(data), checkpoint=folder)
    assert_allclose(coefficients(model), expected, rtol=1e-9)
    assert not folder.exists()


def test_scattered_data_that_is_lost_is_an_error(monkeypatch, client, data):
    X, y = (client.scatter(piece) for piece in (pieces(data[0]), pieces(data[1], np.asarray)))
    with pytest.raises(
        RuntimeError, match=r"^Data that was scattered to a worker was lost with that worker;"
    ):
        model_with(monkeypatch, client, lambda: kill_one(client, "prepare"), answer, 4).fit(X, y)


def not_finite(X, y):
    bad = pieces(X)[2].tolil()
    bad[7, 3] = np.nan
    X, y = parts((X, y))
    return [*X[:2], delayed(bad.tocsr()), *X[3:]], y


def narrow(X, y):
    X, y = parts((X, y))
    return [*X[:5], X[5][:, :4]], y


def short(X, y):
    X, y = parts((X, y))
    return X, [*y[:5], y[5][:4]]


def other_type(X, y):
    X, y = parts((X, y))
    return X, [*y[:5], delayed(np.array(["a"] * SIZE))]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (not_finite, r"^Partition 2: row 7 of X contains NaN or infinity\.$"),
        (narrow, r"^Partition 5 has 4 columns, but partition 0 has 9 columns\.$"),
        (short, r"^Partition 5 has y of shape \(4,\), but 30 rows\.$"),
        (
            other_type,
            r"^Partition 5 has labels such as 'a', but partition 0 has labels such as 0: their types diff",
        ),
    ],
)
def test_wrong_data_is_one_sentence(client, data, change, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegression(client=client).fit(*change(*data))


def test_an_error_of_the_users_own_code_names_the_partition(client, data):
    X, y = parts(data)
    with pytest.raises(FileNotFoundError) as caught:
        LogisticRegression(client=client).fit([*X[:4], delayed(np.load)("missing.npy"), X[5]], y)
    assert "partition 4" in caught.value.__notes__[0]


def test_ctrl_c_does_not_wait_for_tasks_and_leaves_none(client, data):
    """A task that has begun cannot be stopped; it ends after the fit."""

    def slow(part):
        Event("begun").set()
        if not Event("interrupted").wait(60):
            Event("waited for").set()
        return part

    def interrupt():
        Event("begun", client).wait()
        signal.raise_signal(signal.SIGINT)

    X, y = parts(data)
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt) as caught:
        LogisticRegression(client=client).fit([delayed(slow)(part) for part in X], y)
    assert not Event("waited for", client).is_set()
    Event("interrupted", client).set()
    for _ in range(50):
        left = client.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks])
        if not any(key.startswith(("check_rows", "survey", "merge", "prepare", "answer")) for key in left):
            break
        time.sleep(0.1)
    else:
        raise AssertionError(left)
    del caught


async def do_not_restart(exit_code):
    pass


def test_no_worker_is_an_error_after_the_stated_time(monkeypatch, data):
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    )
    with dask.config.set({"dropglm.patience": "1 s"}), cluster, Client(cluster) as client:
        cluster.workers[0]._on_worker_exit = do_not_restart
        start = []

        def kill_all():
            start.append(time.monotonic())
            kill_one(client)

        with pytest.raises(RuntimeError, match="Dask has had no worker for 1 seconds"):
            model_with(monkeypatch, client, kill_all, answer, 5).fit(*parts(data))
        assert time.monotonic() - start[0] < 15.0
        monkeypatch.undo()
        with pytest.raises(RuntimeError, match="Dask has had no worker for 1 seconds"):
            LogisticRegression(client=client).fit(*parts(data))


def test_a_scheduler_that_goes_away_is_an_error(monkeypatch, data):
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")
    with cluster, Client(cluster, set_as_default=False) as client:
        model = model_with(monkeypatch, client, cluster.close, answer, 5)
        with pytest.raises(RuntimeError, match="The connection to Dask's scheduler was lost"):
            model.fit(*parts(data))
