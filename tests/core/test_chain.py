"""The objective of chains against enumeration of all sequences of tags and all masks, and differences."""

from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp

from dropglm.core.chain import (
    UNKNOWN,
    ChainObjective,
    Chains,
    Dropout,
    Scores,
    best_tags,
    log_partition,
    marginals,
)
from dropglm.core.design.storage import BinaryRows, CsrRows
from dropglm.core.solvers import LBFGS, Status

K, D = 3, 5
NOISES = [Dropout(), Dropout(feature=1.0), Dropout(transition=0.5), Dropout(feature=0.25, transition=1.5)]


def chains_of(X, lengths, tags, free=None, known=None, penalty=None, *, binary=False):
    """Return chains of a dense matrix of the features of all tokens."""
    X, ones = sparse.csr_array(X), np.ones(len(lengths))
    arrays = X.indptr.astype(np.int64), X.indices.astype(np.uint32)
    rows = BinaryRows(*arrays) if binary else CsrRows(*arrays, X.data)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    weights = [ones if w is None else np.asarray(w, float) for w in (free, known, penalty)]
    return Chains(rows, starts, np.asarray(tags, np.int32), *weights)


def scores_of(has_pair, allowed=None):
    """Return the scores of the pairs of a feature and a tag that are marked, in a matrix (D, K)."""
    starts = np.concatenate([[0], np.cumsum(has_pair.sum(axis=1))]).astype(np.int64)
    allowed = np.ones((K + 2, K)) if allowed is None else allowed
    return Scores(starts, np.nonzero(has_pair)[1].astype(np.uint32), allowed)


def dense(theta, has_pair):
    """Return W, T, start and end."""
    P = has_pair.sum()
    W = np.zeros(has_pair.shape)
    W[has_pair] = theta[:P]
    rest = theta[P:].reshape(K + 2, K)
    return W, rest[:K], rest[K], rest[K + 1]


def score(eta, T, start, end, y):
    return eta[np.arange(len(y)), y].sum() + sum(T[a, b] for a, b in pairwise(y)) + start[y[0]] + end[y[-1]]


def sequences(tags):
    """Return all sequences that agree with the known tags."""
    return list(product(*(range(K) if k == UNKNOWN else [k] for k in tags)))


def enumerated_A(eta, T, start, end, tags):
    return logsumexp([score(eta, T, start, end, y) for y in sequences(tags)])


def enumerated_penalty(X, W, T, start, end, noise):
    """Return R by the definition: variances under the marginals, from all sequences."""
    eta, n = X @ W, len(X)
    found = sequences([UNKNOWN] * n)
    p = np.exp([score(eta, T, start, end, y) for y in found])
    p /= p.sum()
    total = 0.0
    for t in range(n):
        for j in range(X.shape[1]):
            w = np.array([W[j, y[t]] for y in found])
            total += 0.5 * noise.feature * X[t, j] ** 2 * (p @ w**2 - (p @ w) ** 2)
        if t:
            w = np.array([T[y[t - 1], y[t]] for y in found])
            total += 0.5 * noise.transition * (p @ w**2 - (p @ w) ** 2)
    return total


def enumerated_value(X, lengths, tags, weights, parts, noise, l2, theta):
    value, first = 0.5 * l2 * theta @ theta, 0
    for i, size in enumerate(lengths):
        rows, y = X[first : first + size], tags[first : first + size]
        free, known, penalty = (w[i] for w in weights)
        value += free * enumerated_A(rows @ parts[0], *parts[1:], [UNKNOWN] * size)
        value -= known * enumerated_A(rows @ parts[0], *parts[1:], y)
        value += penalty * enumerated_penalty(rows, *parts, noise)
        first += size
    return value


@st.composite
def cases(draw, noises=NOISES):
    """Draw sentences with known, partly known and unknown tags, weights, pairs and coefficients."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    tokens = sum(lengths)
    binary = draw(st.booleans())
    X = rng.random((tokens, D)) < 0.6
    X = X.astype(float) if binary else X * rng.normal(size=(tokens, D))
    share = draw(st.sampled_from([0.0, 0.5, 1.0]))
    tags = np.where(rng.random(tokens) < share, UNKNOWN, rng.integers(K, size=tokens))
    n = len(lengths)
    weights = rng.uniform(-1.0, 2.0, n), rng.uniform(0.0, 2.0, n), rng.uniform(0.0, 2.0, n)
    has_pair = rng.random((D, K)) < draw(st.sampled_from([0.5, 1.0]))
    theta = draw(st.sampled_from([0.1, 1.0, 3.0])) * rng.normal(size=has_pair.sum() + K * (K + 2))
    return X, lengths, tags, weights, has_pair, theta, draw(st.sampled_from(noises)), binary


def objective_of(case, l2=0.5, **settings):
    X, lengths, tags, weights, has_pair, _, noise, binary = case
    chains = chains_of(X, lengths, tags, *weights, binary=binary)
    return ChainObjective(chains, scores_of(has_pair), noise, l2, **settings)


@settings(deadline=None, max_examples=60)
@given(cases())
def test_value_is_that_of_all_sequences(case):
    X, lengths, tags, weights, has_pair, theta, noise, _ = case
    expected = enumerated_value(X, lengths, tags, weights, dense(theta, has_pair), noise, 0.5, theta)
    assert_allclose(objective_of(case).at(theta).value, expected, rtol=1e-9, atol=1e-9)


def central_difference(f, x, h=1e-5):
    steps = h * np.eye(len(x))
    return np.array([(f(x + e) - f(x - e)) / (2 * h) for e in steps])


@settings(deadline=None, max_examples=60)
@given(cases())
def test_gradient_is_the_slope_of_the_value(case):
    objective, theta = objective_of(case), case[5]
    slopes = central_difference(lambda at: objective.at(at).value, theta)
    assert_allclose(objective.at(theta).gradient, slopes, rtol=1e-6, atol=1e-6)


@settings(deadline=None, max_examples=20)
@given(cases([Dropout(feature=1.0)]))
def test_gradient_with_fixed_marginals_is_the_slope_of_the_value(case):
    chains, theta = objective_of(case).chains, case[5]
    at_other_coefficients = marginals(chains, scores_of(case[4]), 0.5 * theta)
    objective = objective_of(case, marginals=at_other_coefficients)
    slopes = central_difference(lambda at: objective.at(at).value, theta)
    assert_allclose(objective.at(theta).gradient, slopes, rtol=1e-6, atol=1e-6)


@settings(deadline=None, max_examples=20)
@given(cases())
def test_value_with_fixed_marginals_is_the_same_at_these_coefficients(case):
    if case[6].transition:
        return  # only the marginals of tokens can be fixed
    objective, theta = objective_of(case), case[5]
    mu = marginals(objective.chains, objective.scores, theta)
    assert_allclose(objective_of(case, marginals=mu).at(theta).value, objective.at(theta).value, rtol=1e-12)


@settings(deadline=None, max_examples=30)
@given(cases())
def test_marginals_partitions_and_best_tags_are_those_of_all_sequences(case):
    X, lengths, _, _, has_pair, theta, _, _ = case
    chains, scores, (W, *rest) = objective_of(case).chains, scores_of(has_pair), dense(theta, has_pair)
    mu, A, best = (find(chains, scores, theta) for find in (marginals, log_partition, best_tags))
    first = 0
    for i, size in enumerate(lengths):
        eta, found = X[first : first + size] @ W, sequences([UNKNOWN] * size)
        values = np.array([score(eta, *rest, y) for y in found])
        p = np.exp(values - logsumexp(values))
        expected = [[p[[y[t] == k for y in found]].sum() for k in range(K)] for t in range(size)]
        assert_allclose(mu[first : first + size], expected, rtol=1e-9, atol=1e-12)
        assert_allclose(A[i], logsumexp(values), rtol=1e-12)
        assert_allclose(score(eta, *rest, tuple(best[first : first + size])), values.max(), rtol=1e-12)
        first += size


def test_penalty_is_the_expectation_over_all_masks_to_second_order():
    """The gap between E A(s̃) - A(s), over all masks, and R vanishes faster than R for small coefficients."""
    rng = np.random.default_rng(0)
    delta, size = 0.5, 3
    X = np.ones((size, 2))
    direction = rng.normal(size=2 * K + K * (K + 2))
    gaps = []
    for length in (0.1, 0.01):
        theta = direction.copy()
        theta[: 2 * K] *= length
        P, rest = 2 * K, theta[2 * K :].reshape(K + 2, K)
        W, parts = theta[:P].reshape(2, K), (rest[:K], rest[K], rest[K + 1])
        free = [UNKNOWN] * size
        exact = np.mean(
            [
                enumerated_A((np.reshape(mask, X.shape) * X / (1 - delta)) @ W, *parts, free)
                for mask in product([0, 1], repeat=X.size)
            ]
        ) - enumerated_A(X @ W, *parts, free)
        penalty = chains_of(X, [size], free, [0.0], [0.0], [1.0])
        R = (
            ChainObjective(
                penalty,
                Scores(np.array([0, 3, 6]), np.tile(np.arange(3, dtype=np.uint32), 2), np.ones((K + 2, K))),
                Dropout(delta / (1 - delta)),
            )
            .at(theta)
            .value
        )
        gaps.append(abs(exact - R) / R)
    assert gaps[1] < 0.2 * gaps[0] < 0.02


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_result_does_not_depend_on_the_number_of_threads(noise):
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 30, 300)
    X = (rng.random((lengths.sum(), D)) < 0.4) * 1.0
    tags = rng.integers(-1, K, lengths.sum())
    has_pair = np.ones((D, K), bool)
    theta = rng.normal(size=D * K + K * (K + 2))
    make = partial(ChainObjective, chains_of(X, lengths, tags), scores_of(has_pair), noise, 1.0)
    one, many = make(threads=1), make(threads=3)
    first, second = one.at(theta), many.at(theta)
    assert first.value == second.value
    assert_array_equal(first.gradient, second.gradient)
    assert_array_equal(one.preconditioner(first), many.preconditioner(second))
    for find in (marginals, best_tags):
        assert_array_equal(*(find(one.chains, one.scores, theta, threads) for threads in (1, 3)))


def test_the_minimum_is_that_of_another_solver():
    rng = np.random.default_rng(2)
    lengths = rng.integers(1, 12, 40)
    X = rng.random((lengths.sum(), D)) * (rng.random((lengths.sum(), D)) < 0.5)
    objective = ChainObjective(
        chains_of(X, lengths, rng.integers(-1, K, lengths.sum())),
        scores_of(rng.random((D, K)) < 0.8),
        Dropout(0.5, 0.5),
        1.0,
    )

    def plain(theta):
        point = objective.at(theta)
        return point.value, point.gradient

    start = np.zeros(objective.scores.size)
    theta, result = LBFGS(tol=1e-8, curvature=0.9).minimize(objective, start)
    other = minimize(plain, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 1e-15})
    assert result.status == Status.CONVERGED
    assert_allclose(result.objective, other.fun, rtol=1e-10)
    assert_allclose(theta, other.x, atol=1e-4)


def test_coefficients_that_are_not_allowed_stay_zero():
    rng = np.random.default_rng(3)
    allowed = (rng.random((K + 2, K)) < 0.6).astype(float)
    X = rng.random((20, D))
    objective = ChainObjective(
        chains_of(X, [10, 10], rng.integers(0, K, 20)), scores_of(np.ones((D, K), bool), allowed), l2=1.0
    )
    theta, _ = LBFGS().minimize(objective, np.zeros(objective.scores.size))
    assert_array_equal(theta[D * K :].reshape(K + 2, K) != 0.0, allowed > 0)


def test_curvature_is_the_diagonal_of_the_hessian_for_sentences_of_one_token():
    rng = np.random.default_rng(4)
    X = rng.random((30, D))
    objective = ChainObjective(
        chains_of(X, [1] * 30, rng.integers(0, K, 30)), scores_of(np.ones((D, K), bool)), l2=0.5
    )
    theta = rng.normal(size=objective.scores.size)
    h = 1e-5
    expected = [
        (objective.at(theta + h * e).gradient @ e - objective.at(theta - h * e).gradient @ e) / (2 * h)
        for e in np.eye(len(theta))
    ]
    assert_allclose(objective.curvature(objective.at(theta)), expected, rtol=1e-5)
