"""The linear estimators on Dask: the models of rows in memory, from any collection."""

import pickle
import time
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dropglm
from dropglm.dask import LinearRegression, LogisticRegression, PoissonRegressor
from dropglm.dask.engine import DaskEngine
from dropglm.places.partitions import SerialEngine, fit_partitions
from dropglm.places.partitions.contents import Rows
from dropglm.places.partitions.round_trips import RoundTrips
from dropglm.places.partitions.rows import group_partitions
from tests.places.partitions.cases import (
    CLOSE,
    EXACT,
    coefficients,
    counts,
    cuts_of,
    features,
    labels,
    partitions,
)


@pytest.fixture(scope="module")
def client():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    X = features(rng)
    return X, labels(rng, X), features(rng, 40)


def delayed_parts(X, count, form=np.asarray):
    cuts = cuts_of(len(X), count)
    return [delayed(form(X[a:b])) for a, b in pairwise(cuts)]


def test_there_must_be_a_client(data):
    """The first test, before the module has a client."""
    with pytest.raises(ValueError, match="There is no Dask client; create one first"):
        LogisticRegression().fit(delayed_parts(data[0], 1), delayed_parts(data[1], 1))


@pytest.mark.parametrize("count", [1, 3, 17])
def test_coefficients_are_those_of_the_rows_in_memory(client, data, count):
    X, y, Z = data
    settings = {"dropout": 0.4, "l2": 0.5, **EXACT}
    expected = dropglm.LogisticRegression(**settings).fit(X, y, X_unlabeled=Z)
    sparse_parts = [delayed_parts(matrix, count, sparse.csr_array) for matrix in (X, Z)]
    fitted = LogisticRegression(**settings).fit(
        sparse_parts[0], delayed_parts(y, count), X_unlabeled=sparse_parts[1]
    )
    assert_allclose(coefficients(fitted), coefficients(expected), **CLOSE)
    assert isinstance(fitted.coef_, np.ndarray)


@pytest.mark.parametrize("kind", [LinearRegression, PoissonRegressor])
def test_regressions(client, data, rng, kind):
    X = data[0]
    y = counts(rng, X)
    settings = {"dropout": 0.2, "l2": 0.1, **EXACT}
    expected = kind.local(**settings).fit(X, y)
    arrays = da.from_array(X, chunks=(20, 4)), da.from_array(y, chunks=33)
    fitted = kind(**settings).fit(*arrays, sample_weight=da.ones(len(y), chunks=10))
    assert_allclose(coefficients(fitted), coefficients(expected), **CLOSE)
    assert_allclose(fitted.predict(arrays[0]).compute(), expected.predict(X), rtol=1e-5)


def test_every_collection_gives_the_same_model(client, data):
    """Arrays with sparse blocks or unknown chunks, data frames, delayed objects and futures."""
    X, y, _ = data
    dense = da.from_array(X, chunks=(30, 9)), da.from_array(y, chunks=30)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcdefghi")).assign(y=y), npartitions=3)
    kept = da.from_array(np.arange(len(X)), chunks=30) >= 0
    collections = {
        "sparse": (dense[0].map_blocks(sparse.csr_array), dense[1]),
        "unknown": (dense[0][kept], dense[1][kept]),
        "frame": (frame.drop(columns="y"), frame["y"]),
        "futures": [client.scatter([part[a : a + 30] for a in (0, 30, 60)]) for part in data[:2]],
    }
    expected = coefficients(LogisticRegression(**EXACT).fit(*dense))
    for name, (features_of, labels_of) in collections.items():
        fitted = LogisticRegression(**EXACT).fit(features_of, labels_of)
        assert_allclose(coefficients(fitted), expected, **CLOSE, err_msg=name)
        assert hasattr(fitted, "feature_names_in_") == (name == "frame")


def test_a_repeated_fit_and_the_serial_engine_give_the_same_bits(client, data):
    X, y, Z = data
    parts = partitions(X, y, cuts=cuts_of(len(X), 17))
    others = partitions(Z, cuts=cuts_of(len(Z), 4), labeled=False)

    def on(engine):
        return coefficients(fit_partitions(dropglm.LogisticRegression(), engine, [*parts], [*others]))

    serial = SerialEngine()
    serial.slots = 2
    first = on(DaskEngine(client))
    assert_array_equal(first, on(DaskEngine(client)))
    assert_array_equal(first, on(serial))


def test_groups_depend_only_on_the_number_of_slots():
    """Every partition is in one group, in order, however many there are of each kind."""
    for labeled, unlabeled, slots in [(17, 4, 2), (3, 9, 4), (1, 0, 8), (2, 2, None)]:
        a, b = [("a", k) for k in range(labeled)], [("b", k) for k in range(unlabeled)]
        groups = group_partitions(a, b, slots)
        joined = [part for group in groups for part in group]
        assert ([p for p in joined if p[0] == "a"], [p for p in joined if p[0] == "b"]) == (a, b)
        assert len(groups) <= (slots or max(labeled, unlabeled))


def test_a_fitted_model_needs_no_client(client, data):
    X, y, _ = data
    model = LogisticRegression().fit(delayed_parts(X, 3), delayed_parts(y, 3))
    local = model.to_local()
    assert type(local) is dropglm.LogisticRegression
    assert_array_equal(local.predict_proba(X), model.predict_proba(X))
    lazily = [part.compute() for part in model.predict_proba(delayed_parts(X, 3))]
    assert_array_equal(np.vstack(lazily), local.predict_proba(X))
    assert pickle.loads(pickle.dumps(model)).client is None
    assert clone(LogisticRegression(client=client)).client is client


def test_tasks_use_one_thread_each(client, data):
    """Workers times threads of tasks never exceed the threads that Dask was given."""
    X, y, _ = data
    rows = client.submit(Rows, 0, sparse.csr_array(X), y)

    class Watching(DaskEngine):
        designs = ()

        def total(self, work, parts, message, add):
            if work.__name__ == "answer":
                self.designs = [part.design for group in self.client.gather(parts) for part in group]
            return super().total(work, parts, message, add)

    engine = Watching(client)
    fit_partitions(dropglm.LogisticRegression(n_jobs=2), engine, [rows])
    assert [design.threads for design in engine.designs] == [1]


def test_what_is_not_partitioned_is_refused(client, data):
    X, y, _ = data
    with pytest.raises(TypeError, match=r"X must be a Dask array, .* the estimators of dropglm itself take"):
        LogisticRegression().fit(X, y)
    with pytest.raises(TypeError, match=r"^y must be .*, got a list with an item of type ndarray;"):
        LogisticRegression().fit(delayed_parts(X, 2), [*delayed_parts(y, 1), y])
    with pytest.raises(TypeError, match=r"^X must be .*, got an empty list;"):
        LogisticRegression().fit([], [])
    with pytest.raises(ValueError, match="y has 2 partitions, but X has 3"):
        LogisticRegression().fit(delayed_parts(X, 3), delayed_parts(y, 2))
    with pytest.raises(ValueError, match="y has 89 rows, but X has 90"):
        LogisticRegression().fit(da.from_array(X), da.from_array(y[1:]))
    with pytest.raises(ValueError, match="No partition has a labelled row"):
        LogisticRegression().fit(da.from_array(X[:0]), da.from_array(y[:0]))


@pytest.mark.parametrize("model", [LogisticRegression(), LinearRegression()], ids=["classes", "numbers"])
def test_only_prepared_rows_stay_on_the_workers(client, data, monkeypatch, model):
    X, y = data[:2]
    tasks, ask, kept = client.cluster.scheduler.tasks, RoundTrips.ask, []
    others = set(tasks)  # of other tests

    def in_memory():
        own = [key for key, task in tasks.items() if key not in others and task.state == "memory"]
        return {str(key).split("-")[0] for key in own}

    def look(rounds, *requests):
        answers, deadline = ask(rounds, *requests), time.monotonic() + 10.0
        # The scheduler releases what nobody needs a little later.
        while kept and in_memory() != {"prepare"} and time.monotonic() < deadline:
            time.sleep(0.01)
        kept.append(in_memory())
        return answers

    monkeypatch.setattr(RoundTrips, "ask", look)
    model.set_params(client=client).fit(delayed_parts(X, 3), delayed_parts(y, 3))
    assert kept[-1] == {"prepare"}


def test_empty_partitions_are_predicted(client, data):
    X, y = data[:2]
    model = LogisticRegression(client=client).fit(delayed_parts(X, 3), delayed_parts(y, 3))
    rows = da.from_array(X, chunks=(20, X.shape[1]))[da.from_array(np.arange(len(X)) >= 25, chunks=20)]
    assert_array_equal(model.predict(rows).compute(), model.predict(X[25:]))
    assert_allclose(model.predict_proba(rows).compute(), model.predict_proba(X[25:]))


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        ("tcp://x", TypeError, r"client must be a dask\.distributed\.Client, got 'tcp://x'\."),
        (None, ValueError, r"The Dask client is closed; create another one"),
    ],
    ids=["address", "closed"],
)
def test_a_wrong_client_is_one_sentence(client, data, wrong, error, sentence):
    if wrong is None:
        wrong = Client(client.cluster, set_as_default=False)
        wrong.close()
    with pytest.raises(error, match=sentence):
        LogisticRegression(client=wrong).fit(delayed_parts(data[0], 1), delayed_parts(data[1], 1))


def test_continuous_targets_are_not_classes(client, data):
    X = data[0]
    with pytest.raises(ValueError, match=r"^Partition 0: row \d+ of y is .*, but a classifier needs labels"):
        LogisticRegression(client=client).fit(delayed_parts(X, 1), delayed_parts(X[:, 0] + 0.5, 1))


def test_models_are_fitted_before_they_predict(data):
    with pytest.raises(NotFittedError):
        LogisticRegression().predict(data[0])


@pytest.mark.parametrize("kind", [LogisticRegression, LinearRegression])
@pytest.mark.parametrize("form", ["delayed", "array", "memory"])
def test_the_score_is_that_of_the_local_model(client, data, kind, form):
    X, y = data[0], data[1]
    w = np.linspace(0.0, 2.0, len(y))
    model = kind(client=client).fit(delayed_parts(X, 3), delayed_parts(y, 3))
    make = {
        "delayed": lambda part: delayed_parts(part, 2),
        "array": lambda part: da.from_array(part, chunks=(50, *part.shape[1:])),
        "memory": np.asarray,
    }[form]
    local = model.to_local()
    assert model.score(make(X), make(y)) == pytest.approx(local.score(X, y))
    assert model.score(make(X), make(y), make(w)) == pytest.approx(local.score(X, y, w))
