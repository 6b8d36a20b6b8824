"""Word vectors for sentiment against their formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from dropglm.base.errors import InputError
from dropglm.baselines import SentimentVectors
from dropglm.baselines.sentiment_vectors import negative_log_posterior
from tests.baselines.rows import texts

K = 2


@pytest.fixture
def problem(rng):
    counts, by_class = rng.poisson(0.7, (9, 7)).astype(np.float32), rng.random((2, 7))
    return counts, by_class, rng.normal(size=(7 + 9) * K + 7 + K + 1)


def test_the_objective_is_that_of_the_formula(problem):
    counts, by_class, theta = problem
    phi, theta_k, b = theta[:14].reshape(7, K), theta[14:32].reshape(9, K), theta[32:39]
    psi, a = theta[39:41], theta[41]
    scores = theta_k @ phi.T + b
    log_p = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    p = 1.0 / (1.0 + np.exp(-(phi @ psi + a)))
    expected = -(counts * log_p).sum() - by_class[1] @ np.log(p) - by_class[0] @ np.log(1.0 - p)
    expected += 0.1 * (theta_k**2).sum() + 0.01 * (phi**2).sum()
    value, _ = negative_log_posterior(theta, sparse.csr_array(counts), by_class, K, 0.1, 0.01, 2.0)
    assert_allclose(value, expected / 2.0, rtol=1e-5)


def test_the_gradient_is_the_slope_of_the_objective(problem, rng):
    counts, by_class, theta = problem
    direction = rng.normal(size=len(theta))

    def at(step):
        return negative_log_posterior(
            theta + step * direction, sparse.csr_array(counts), by_class, K, 0.1, 0.01, 1.0
        )

    slope = (at(1e-2)[0] - at(-1e-2)[0]) / 2e-2
    assert_allclose(at(0.0)[1] @ direction, slope, rtol=1e-2)


def test_texts_of_the_same_class_are_close(rng):
    X, y = texts(rng, n=80)
    for more in (None, X):
        vectors = SentimentVectors(3, n_stop=0, random_state=0).fit(X, y, X_unlabeled=more)
        features = vectors.transform(sparse.csr_array(X))
        assert_allclose(np.linalg.norm(features, axis=1), 1.0)
        same = (y[:, None] == y).astype(float)
        assert np.corrcoef((features @ features.T).ravel(), same.ravel())[0, 1] > 0.5


def test_the_most_frequent_words_are_left_out(rng):
    X, y = texts(rng)
    order = np.argsort(-X.sum(axis=0))
    vectors = SentimentVectors(2, n_words=4, n_stop=2, random_state=0).fit(X, y)
    assert set(vectors.words_) == set(order[2:6])
    assert not vectors.transform(np.eye(12)[order[:1]]).any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"n_components": 0}, "n_components must be at least 1"), ({"l2_words": -1.0}, "l2_words must be fin")],
)
def test_bad_settings_are_refused(settings, message, rng):
    X, y = texts(rng)
    with pytest.raises(InputError, match=message):
        SentimentVectors(**settings).fit(X, y)
    with pytest.raises(InputError, match="two classes, got 3"):
        SentimentVectors().fit(*texts(rng, K=3))
