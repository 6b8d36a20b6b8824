"""Rows in partitions, and fits that are compared with those of the same rows in memory."""

from itertools import pairwise

import numpy as np
from scipy import sparse

from dropglm import Blocks, LinearRegression, LogisticRegression, PoissonRegressor
from dropglm.places.partitions import Rows, SerialEngine, fit_partitions
from dropglm.places.partitions.sums import Sums

N, D = 90, 9
CLOSE = {"rtol": 0.0, "atol": 1e-6}
EXACT = {"tol": 1e-9, "max_iter": 1000}


def features(rng, n=N, d=D):
    """Counts, most of them 0; the last feature never occurs."""
    X = rng.poisson(0.5, size=(n, d)).astype(float)
    X[:, -1] = 0.0
    return X


def labels(rng, X, K=2):
    """Classes 0 to K-1 that depend on the first features."""
    eta = X[:, :K] @ np.eye(K) + rng.normal(size=(len(X), K))
    return eta.argmax(axis=1)


def counts(rng, X):
    return rng.poisson(np.exp(0.3 * X[:, 0] - 0.2 * X[:, 1]))


def cuts_of(n, count):
    """Borders of partitions of about the same size."""
    return [n * k // count for k in range(count + 1)]


def partitions(X, y=None, weights=None, *, cuts, form=sparse.csr_array, labeled=True):
    """Rows between the cuts, as partitions."""
    return [
        Rows(
            number,
            form(X[start:stop]),
            None if y is None else y[start:stop],
            None if weights is None else weights[start:stop],
            labeled,
        )
        for number, (start, stop) in enumerate(pairwise(cuts))
    ]


def two_blocks(X):
    return Blocks(sparse.csr_array(X[:, :5]), X[:, 5:])


def fit_parts(model, labeled, unlabeled=(), engine=None):
    """Fit a model to partitions."""
    return fit_partitions(model, engine or SerialEngine(), [*labeled], [*unlabeled])


def coefficients(model):
    return np.hstack([np.atleast_2d(model.coef_), np.reshape(model.intercept_, (-1, 1))])


MODELS = {"logistic": LogisticRegression, "linear": LinearRegression, "poisson": PoissonRegressor}


def target(rng, kind, X):
    if kind == "logistic":
        return labels(rng, X)
    return counts(rng, X) if kind == "poisson" else X[:, 0] - X[:, 1] + rng.normal(size=len(X))


def no_features(numbers):
    """Sums without numbers of features."""
    return Sums(np.asarray(numbers, np.float64), np.empty((0, 0)), None, 0)
