"""The search on Dask is that of rows in memory."""

import pickle

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import dropglm
from dropglm.dask import LogisticRegressionCV
from tests.places.partitions.test_search import EXACT, assert_same_search, data


@pytest.fixture(scope="module")
def client():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        yield client


def test_the_search_is_that_of_rows_in_memory(client):
    """With sparse blocks, weights and unlabelled rows; folds cross the borders of partitions."""
    X, y, w, Z = data(3)
    settings = {"dropout": (0.5, 0.3), "l2": (1.0, 0.3), "discount": 0.1, "naive_bayes": True, **EXACT}
    expected = dropglm.LogisticRegressionCV(**settings).fit(X, y, w, Z)
    collections = [
        da.from_array(X, chunks=(100, -1)).map_blocks(sparse.csr_array),
        da.from_array(y, chunks=100),
        da.from_array(w, chunks=100),
        da.from_array(Z, chunks=(40, -1)).map_blocks(sparse.csr_array),
    ]
    found = LogisticRegressionCV(**settings).fit(*collections)
    assert_same_search(found, expected)
    again = LogisticRegressionCV(**settings).fit(*collections)
    assert_array_equal(again.coef_, found.coef_)

    local = found.to_local()
    assert type(local) is dropglm.LogisticRegressionCV
    assert_allclose(local.predict_proba(X), expected.predict_proba(X), atol=1e-6)
    assert_array_equal(found.predict(collections[0]).compute(), local.predict(X))
    assert_allclose(found.predict_log_proba(collections[0]).compute(), local.predict_log_proba(X))
    assert_array_equal(pickle.loads(pickle.dumps(found)).coef_, found.coef_)
    score = expected.score(X, y, w)
    assert found.score(X, y, w) == pytest.approx(score, abs=1e-6)
    assert found.score(*collections[:3]) == pytest.approx(score, abs=1e-6)


def test_dense_blocks_of_unknown_sizes(client):
    X, y, _, _ = data(2)
    settings = {"dropout": 0.5, "l2": (1.0, 0.1), "cv": 3, "one_standard_error": True, **EXACT}
    expected = dropglm.LogisticRegressionCV(**settings).fit(X, y)
    rows = da.from_array(X, chunks=(150, -1))
    known = rows[:, 0] >= 0  # all rows, but Dask does not know it
    found = LogisticRegressionCV(**settings, client=client).fit(
        rows[known], da.from_array(y, chunks=150)[known]
    )
    assert np.isnan(rows[known].chunks[0]).all()
    assert_same_search(found, expected)


def test_splits_and_scores_of_users_are_those_of_memory(client):
    X, y, _, _ = data(2)
    splits = [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]
    settings = {"cv": splits, "scoring": "roc_auc", "dropout": 0.3, "l2": (1.0, 0.1), "tol": 1e-9}
    expected = dropglm.LogisticRegressionCV(**settings).fit(X, y)
    model = LogisticRegressionCV(**settings, client=client)
    collections = da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150)
    model.fit(*collections)
    assert model.best_params_ == expected.best_params_
    assert_allclose(model.best_scores_, expected.best_scores_, rtol=1e-9)
    assert_allclose(model.score(*collections), expected.score(X, y), rtol=1e-9)


def test_groups_cross_the_borders_of_partitions(client):
    X, y, w, _ = data(3)
    groups = np.arange(len(y)) % 50
    settings = {"dropout": 0.5, "l2": (1.0, 0.3), "cv": 4, **EXACT}
    expected = dropglm.LogisticRegressionCV(**settings).fit(X, y, w, groups=groups)
    rows = da.from_array(X, chunks=(100, -1))
    others = [da.from_array(one, chunks=100) for one in (y, w)]
    for given in (da.from_array(groups, chunks=100), da.from_array(groups.astype(str), chunks=60)):
        found = LogisticRegressionCV(**settings, client=client).fit(rows, *others, groups=given)
        assert_same_search(found, expected)
    with pytest.raises(ValueError, match="groups has 10 rows, but X has 420"):
        LogisticRegressionCV(**settings, client=client).fit(rows, *others, groups=da.ones(10, chunks=5))
