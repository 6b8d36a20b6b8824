"""The transductive SVM against all labels of the unlabelled rows."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import LinearSVC

from dropglm.baselines import TransductiveSVM


def two_clusters(rng, n=10, distance=2.0):
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 3)) * [0.5, 0.5, 1.0] + distance * (y[:, None] - 0.5) * [1.0, 1.0, 0.0]
    return X, y


def objective(svm, X, y, weights):
    slack = np.maximum(0.0, 1.0 - np.where(y, 1.0, -1.0) * svm.decision_function(X))
    return 0.5 * (svm.coef_**2).sum() + 0.5 * svm.intercept_[0] ** 2 + svm.C * weights @ slack**2


@pytest.mark.parametrize("discount", [1.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_it_finds_the_best_labels_of_all(discount, seed):
    X, y = two_clusters(np.random.default_rng(seed), distance=3.0)
    labeled, unlabeled = np.array([0, 1]), np.arange(2, 10)
    model = TransductiveSVM(discount=discount, tol=1e-10, max_iter=100_000)
    model.fit(X[labeled], y[labeled], X_unlabeled=X[unlabeled])
    rows, weights = np.vstack([X[labeled], X[unlabeled]]), np.repeat([1.0, discount], [2, 8])
    lowest = np.inf
    for chosen in combinations(range(8), 4):  # as large a share as of the labelled rows
        labels = np.concatenate([y[labeled], np.isin(np.arange(8), chosen)])
        svm = LinearSVC(tol=1e-10, max_iter=100_000).fit(rows, labels, weights)
        lowest = min(lowest, objective(svm, rows, labels, weights))
    own = np.concatenate([y[labeled], model.predict(X[unlabeled])])
    assert_allclose(objective(model, rows, own, weights), lowest, rtol=1e-6)


def test_unlabelled_rows_move_the_boundary_to_where_there_are_few(rng):
    X, y = two_clusters(rng, 200)
    X = np.column_stack([X, rng.normal(size=200)])
    labeled = np.array([0, 1, 2, 3])
    alone = TransductiveSVM().fit(X[labeled], y[labeled])
    more = TransductiveSVM().fit(X[labeled], y[labeled], X_unlabeled=X[4:])
    assert more.score(X, y) > alone.score(X, y)


def test_without_unlabelled_rows_it_is_a_linear_svm(rng):
    X, y = two_clusters(rng, 60, 1.0)
    svm = LinearSVC(C=0.3, tol=1e-10, max_iter=100_000).fit(X, y)
    for more in ({}, {"X_unlabeled": X[:5]}):
        model = TransductiveSVM(0.3, 0.0 if more else 1.0, tol=1e-10, max_iter=100_000).fit(X, y, **more)
        assert_allclose(model.coef_, svm.coef_, rtol=1e-5)
        assert_allclose(model.intercept_, svm.intercept_, atol=1e-6)
