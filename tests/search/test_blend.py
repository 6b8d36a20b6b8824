"""Blends of a model's predictors with those of naive Bayes, fitted to held-out rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import logsumexp

from dropglm.search.blend import (
    BLOCK,
    HALF,
    PRIOR_ALONE,
    PRIORS,
    PRIORS_BESIDE_OTHERS,
    SHARE,
    Blend,
    BlendedRows,
    BlendFitter,
    Combination,
    FoldRows,
    losses_of,
)


def fit_blend(eta, nu, y, weights, **how):
    return BlendFitter(nu, y, weights).fit(eta, **how)


@st.composite
def predictors(draw):
    """Return η, ν, y and weights; η and ν know the classes well, badly, or the wrong way round."""
    K, n = draw(st.integers(2, 4)), draw(st.integers(2, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.integers(K, size=n)
    scales = draw(st.tuples(*[st.sampled_from([-3.0, 0.0, 0.1, 1.0, 3.0])] * 2))
    eta, nu = (scale * np.eye(K)[y] + rng.normal(size=(n, K)) for scale in scales)
    if K == 2:
        eta, nu = (part[:, [1]] - part[:, [0]] for part in (eta, nu))
    return eta, nu, y, rng.choice([0.5, 1.0, 2.0], size=n)


def all_classes(eta):
    return np.column_stack([np.zeros(len(eta)), eta]) if eta.shape[1] == 1 else eta


def objective(t, c, eta, nu, y, weights, *, calibrate, other_features):
    """The documented objective."""
    total = all_classes(t * eta + c * nu)
    value = weights @ (logsumexp(total, axis=1) - total[np.arange(len(y)), y])
    if other_features:
        return value + calibrate * 0.5 * (t - 1.0) ** 2 + 15.0 * (spread_of(nu) * c) ** 2
    return value + calibrate * 5.0 * (t - 0.5) ** 2 + 5.0 * (spread_of(nu) * c - 0.5) ** 2


def spread_of(nu):
    parts = all_classes(nu)
    return np.sqrt(np.mean((parts - parts.mean(axis=1)[:, None]) ** 2))


@settings(max_examples=40)
@given(predictors(), st.booleans(), st.booleans())
def test_a_blend_is_the_minimum_over_factors_that_are_not_small(case, calibrate, other_features):
    eta, nu, y, weights = case
    how = {"calibrate": calibrate, "other_features": other_features}
    priors = PRIORS_BESIDE_OTHERS if other_features else PRIORS
    found = fit_blend(eta, nu, y, weights, calibrate=calibrate, priors=priors)
    spread, bound = spread_of(nu), priors.naive_bayes.smallest

    def value(z):
        t, c = np.array([HALF.smallest, bound]) + np.exp(z)  # a minimum at the bound lies at minus infinity
        return objective(t if calibrate else 1.0, c / spread, eta, nu, y, weights, **how)

    assert found.scale >= HALF.smallest if calibrate else found.scale == 1.0
    assert found.naive_bayes * spread >= bound * (1.0 - 1e-12)
    best = minimize(value, [-1.0, -1.0], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9}).fun
    ours = objective(*found, eta, nu, y, weights, **how)
    assert ours <= best + 1e-4 * (1.0 + best)  # the search without derivatives may stop early


@settings(max_examples=50)
@given(predictors())
def test_without_naive_bayes_the_scale_alone_is_fitted(case):
    eta, _, y, weights = case

    def loss(t):
        total = all_classes(t * eta)
        return weights @ (logsumexp(total, axis=1) - total[np.arange(len(y)), y]) + 0.5 * (t - 1.0) ** 2

    found = fit_blend(eta, None, y, weights, calibrate=True)
    assert found.naive_bayes == 0.0
    others = np.linspace(PRIOR_ALONE.smallest, 2.0 * found.scale + 1.0, 30)
    assert loss(found.scale) <= min(map(loss, others)) + 1e-4
    assert fit_blend(eta, None, y, weights, calibrate=False) == Blend(1.0, 0.0)


@settings(max_examples=50)
@given(predictors(), st.sampled_from([0.01, 0.5, 3.0, 100.0]))
def test_scaling_the_predictors_of_naive_bayes_divides_their_factor(case, factor):
    eta, nu, y, weights = case
    before = fit_blend(eta, nu, y, weights, calibrate=True)
    after = fit_blend(eta, factor * nu, y, weights, calibrate=True)
    assert_allclose(factor * after.naive_bayes, before.naive_bayes, rtol=1e-3, atol=1e-4)
    assert_allclose(after.scale, before.scale, rtol=1e-3, atol=1e-4)


@settings(max_examples=50)
@given(predictors())
def test_weights_count_rows(case):
    eta, nu, y, _ = case
    twice = (np.repeat(part, 2, axis=0) for part in (eta, nu, y))
    repeated = fit_blend(*twice, np.ones(2 * len(y)), calibrate=True)
    assert_allclose(
        repeated, fit_blend(eta, nu, y, np.full(len(y), 2.0), calibrate=True), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("K", [2, 5])
def test_predictors_that_are_too_small_by_a_factor_are_restored(K, rng):
    n = 20_000
    truth = 2.0 * rng.normal(size=(n, K))
    p = np.exp(truth) / np.exp(truth).sum(axis=1, keepdims=True)
    y = (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    eta = truth if K > 2 else truth[:, [1]] - truth[:, [0]]
    found = fit_blend(eta / 4.0, None, y, np.ones(n), calibrate=True)
    assert found.scale == pytest.approx(4.0, rel=0.05)
    # Noise gets as little weight as possible.
    noise = rng.normal(size=eta.shape)
    found = fit_blend(eta / 4.0, noise, y, np.ones(n), calibrate=True)
    assert found.scale == pytest.approx(4.0, rel=0.05)
    assert found.naive_bayes == pytest.approx(HALF.smallest / spread_of(noise), rel=0.01)


@pytest.mark.parametrize("K", [1, 4])
def test_many_rows_are_as_good_as_few_with_larger_weights(K, rng):
    n, copies = 50, 500
    eta, nu, y = rng.normal(size=(n, K)), rng.normal(size=(n, K)), rng.integers(max(2, K), size=n)
    many = np.tile(eta, (copies, 1)), np.tile(nu, (copies, 1)), np.tile(y, copies)
    assert n * copies > 2 * BLOCK
    once = fit_blend(eta, nu, y, np.ones(n), calibrate=True)
    assert_allclose(fit_blend(*many, np.full(n * copies, 1.0 / copies), calibrate=True), once, rtol=1e-6)


def loss_with_numpy(t, c, eta, nu, y, weights):
    """Value, gradient and Hessian of the loss, by softmax: means and covariances of η and ν."""
    eta, nu = all_classes(eta), all_classes(nu)
    total, rows = t * eta + c * nu, np.arange(len(y))
    value = weights @ (logsumexp(total, axis=1) - total[rows, y])
    p = np.exp(total - logsumexp(total, axis=1)[:, None])
    parts = np.stack([part - part[rows, y][:, None] for part in (eta, nu)])
    means = np.einsum("ik,aik->ia", p, parts)
    squares = np.einsum("ik,aik,bik->iab", p, parts, parts)
    covariances = squares - means[:, :, None] * means[:, None, :]
    return value, weights @ means, np.einsum("i,iab->ab", weights, covariances)


@settings(max_examples=100)
@given(predictors(), st.sampled_from([0.2, 1.0, 30.0]), st.sampled_from([0.0, 0.5, 2.0]))
def test_the_loss_and_its_derivatives_are_those_of_softmax(case, t, c):
    eta, nu, y, weights = case
    s = spread_of(nu)
    value, gradient, hessian = loss_with_numpy(t, c, eta, nu, y, weights)
    scale = np.array([1.0, 1.0 / s])  # the factors are t and s c
    size = t * weights.sum()
    found = BlendedRows(eta, nu, y, weights, calibrate=True, spread=s).loss([t, s * c])
    assert_allclose(found.value, value, rtol=1e-12, atol=1e-12 * size)
    assert_allclose(found.gradient, gradient * scale, rtol=1e-12, atol=1e-12 * size)
    assert_allclose(found.hessian, hessian * np.outer(scale, scale), rtol=1e-12, atol=1e-11 * size)


@settings(max_examples=30)
@given(predictors())
def test_factors_that_are_not_part_of_a_blend_have_no_derivatives(case):
    eta, nu, y, weights = case
    both = BlendedRows(eta, nu, y, weights, calibrate=True).loss([1.0, 0.5])
    second = BlendedRows(eta, nu, y, weights, calibrate=False).loss([0.5])
    assert second == (both.value, both.gradient[1:], [both.hessian[1][1:]])
    both = BlendedRows(eta, nu, y, weights, calibrate=True).loss([2.0, 0.0])
    first = BlendedRows(eta, None, y, weights, calibrate=True).loss([2.0])
    assert_allclose(
        [first.value, first.gradient[0], first.hessian[0][0]],
        [both.value, both.gradient[0], both.hessian[0][0]],
        rtol=1e-15,
    )
    assert np.shape(first.hessian) == (1, 1)


@settings(max_examples=30)
@given(predictors())
def test_the_derivatives_are_finite_differences(case):
    rows = BlendedRows(*case, calibrate=True)
    x, h = np.array([0.7, 0.4]), 1e-5
    here = rows.loss(x)
    for k, move in enumerate(h * np.eye(2)):
        above, below = rows.loss(x + move), rows.loss(x - move)
        assert_allclose((above.value - below.value) / (2 * h), here.gradient[k], rtol=1e-5, atol=1e-5)
        differences = np.subtract(above.gradient, below.gradient) / (2 * h)
        assert_allclose(differences, here.hessian[k], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("K", [2, 3, 7])
@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_losses_are_minus_log_probabilities(K, size, rng):
    n = 2 * BLOCK + 3
    eta, y = size * rng.normal(size=(n, K)), rng.integers(K, size=n)
    expected = logsumexp(eta, axis=1) - eta[np.arange(n), y]
    assert_allclose(losses_of(eta, y), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(losses_of(np.asfortranarray(eta), y.astype(np.int32)), expected, rtol=1e-12, atol=1e-12)
    if K == 2:
        assert_allclose(losses_of(eta[:, [1]] - eta[:, [0]], y), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("K", [1, 3])
def test_a_predictor_that_is_not_a_number_has_no_loss(K, rng):
    eta, y = rng.normal(size=(6, K)), np.array([0, 1] * 3)
    eta[2, 0] = np.nan
    assert_allclose(np.isnan(losses_of(eta, y)), np.arange(6) == 2)


def test_blends_of_the_same_rows_share_naive_bayes(rng):
    y, weights = rng.integers(3, size=200), rng.random(200)
    nu, etas = rng.normal(size=(200, 3)), rng.normal(size=(4, 200, 3))
    shared = BlendFitter(nu, y, weights)
    for eta in etas:
        for calibrate in (False, True):
            expected = fit_blend(eta, nu, y, weights, calibrate=calibrate)
            assert shared.fit(eta, calibrate=calibrate) == expected


def test_a_blend_is_linear():
    eta, nu = np.array([[1.0], [-2.0]]), np.array([[3.0], [4.0]])
    assert_allclose(Blend(2.0, 0.5)(eta, nu), [[3.5], [-2.0]])
    assert_allclose(Blend(2.0, 0.0)(eta, None), [[2.0], [-4.0]])
    assert Blend() == (1.0, 0.0)


@pytest.mark.parametrize("size", [0.0, 1e-14])
@pytest.mark.parametrize("calibrate", [False, True])
def test_naive_bayes_that_says_nothing_has_factor_zero(size, calibrate, rng):
    """Its factor would be the prior mean divided by the spread, which is nothing but rounding."""
    y = rng.integers(2, size=40)
    eta = 2.0 * y[:, None] - 1.0 + rng.normal(size=(40, 1))
    alone = fit_blend(eta, None, y, np.ones(40), calibrate=calibrate)
    assert fit_blend(eta, size * rng.normal(size=(40, 1)), y, np.ones(40), calibrate=calibrate) == alone


def some_folds(n, seed):
    """Return the rows of several folds: each row once, or also in a second draw."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 5)) if n > 4 else 2
    draws = [rng.permutation(n) for _ in range(rng.integers(1, 3))]
    return [rows for draw in draws for rows in np.array_split(draw, count)]


@settings(max_examples=50)
@given(predictors(), st.integers(0, 2**32 - 1), st.booleans())
def test_factors_of_a_fold_are_those_of_the_rows_that_it_does_not_hold_out(case, seed, calibrate):
    tests = some_folds(len(case[2]), seed)
    rows = np.concatenate(tests)
    eta, nu, y, weights = (part[rows] for part in case)
    folds = FoldRows.of(tests, weights)
    found = BlendFitter(nu, y, weights).cross_fit(eta, folds, calibrate=calibrate)
    assert found.blend == fit_blend(eta, nu, y, weights, calibrate=calibrate)
    expected, start = [], 0
    for own, test in zip(found.by_fold, tests, strict=True):
        kept = [k for k in range(len(rows)) if rows[k] not in test]
        fitter = BlendFitter(nu[kept], y[kept], weights[kept], spread=spread_of(nu))
        assert_allclose(own, fitter.fit(eta[kept], calibrate=calibrate), rtol=1e-4, atol=1e-4)
        part = slice(start, start + len(test))
        start = part.stop
        expected.append(own.scale * eta[part] + own.naive_bayes * nu[part])
    assert_allclose(found(eta, nu), np.concatenate(expected), rtol=1e-12)


@settings(max_examples=50)
@given(predictors(), st.integers(0, 2**32 - 1), st.booleans())
def test_factors_of_a_fold_do_not_depend_on_the_labels_of_its_rows(case, seed, adds_nu):
    """Also not where another fold holds out one of these rows again."""
    K = max(2, case[0].shape[1])
    tests = some_folds(len(case[2]), seed)
    rows = np.concatenate(tests)
    eta, nu, _, weights = (part[rows] for part in case)
    folds = FoldRows.of(tests, weights)
    labels = case[2]
    for fold, test in enumerate(tests):
        changed = labels.copy()
        changed[test] = (labels[test] + 1) % K
        before, after = (
            BlendFitter(nu if adds_nu else None, y[rows], weights).cross_fit(eta, folds, calibrate=True)
            for y in (labels, changed)
        )
        assert before.by_fold[fold] == after.by_fold[fold]


@settings(max_examples=30)
@given(predictors(), st.sampled_from([0.0, 0.5, 3.0]), st.sampled_from([0.0, 2.0]))
def test_an_offset_is_added_to_all_predictors(case, t, c):
    """The loss of o + t η + c ν is that of η' + c ν with η' = o + t η and the factor 1."""
    eta, nu, y, weights = case
    offset = np.linspace(-1.0, 2.0, eta.shape[1])
    found = BlendedRows(eta, nu, y, weights, offset, calibrate=True).loss([t, c])
    value, gradient, _ = loss_with_numpy(1.0, c, offset + t * eta, nu, y, weights)
    assert_allclose(found.value, value, rtol=1e-11, atol=1e-11)
    assert_allclose(found.gradient[1], gradient[1], rtol=1e-10, atol=1e-10)
    rows, h = BlendedRows(eta, nu, y, weights, offset, calibrate=True), 1e-5
    slope = (rows.loss([t + h, c]).value - rows.loss([t - h, c]).value) / (2 * h)
    assert_allclose(found.gradient[0], slope, rtol=1e-5, atol=1e-5)


def log_shares(y, weights, K):
    o = np.log([weights[y == k].sum() / weights.sum() for k in range(K)])
    return o[1:] - o[:1] if K == 2 else o


def combined_objective(factors, models, y, weights, o):
    """The log loss of o + Σ t_v (η_v - o) and the priors: of two models ½ each, of one 1."""
    total = all_classes(o + sum(t * (eta - o) for t, eta in zip(factors, models, strict=True)))
    value = weights @ (logsumexp(total, axis=1) - total[np.arange(len(y)), y])
    return value + 0.5 * SHARE.strength * sum((t - 1.0 / len(factors)) ** 2 for t in factors)


@settings(max_examples=60)
@given(predictors(), st.integers(1, 2))
def test_a_combination_is_the_minimum_of_the_documented_objective(case, count):
    """Its slopes are 0, or positive at the bound, by central differences."""
    *models, y, weights = case
    models, K = models[:count], max(2, models[0].shape[1])
    y = np.concatenate([np.arange(K), y])  # a text of every class
    models = [np.vstack([np.zeros((K, own.shape[1])), own]) for own in models]
    weights = np.concatenate([np.ones(K), weights])
    folds = FoldRows.of(np.array_split(np.arange(len(y)), 2), weights)
    found, o, h = (
        Combination.of(models, y, weights, folds, np.bincount(y, weights)),
        log_shares(y, weights, K),
        1e-5,
    )
    assert_allclose(found.offset, o)
    assert len(found.factors) == count
    for k, t in enumerate(found.factors):
        assert t >= 0.0
        moved = np.array(found.factors) + h * np.array([[1.0], [-1.0]]) * (np.arange(count) == k)
        above, below = (combined_objective(factors, models, y, weights, o) for factors in moved)
        slope = (above - below) / (2 * h)
        size = weights.sum() * (1.0 + np.abs(models[k]).max())
        assert slope > -1e-3 * size
        assert slope < 1e-3 * size or t == 0.0


@settings(max_examples=30)
@given(predictors(), st.integers(0, 2**32 - 1))
def test_held_out_predictors_of_a_combination_do_not_depend_on_their_labels(case, seed):
    """Each fold has factors from the other rows; the shares of the classes are those of all rows."""
    first, second, y, weights = case
    K = max(2, first.shape[1])
    y = np.concatenate([np.arange(K), y])[: len(y)]
    if len(np.unique(y)) < K:
        return
    tests = np.array_split(np.random.default_rng(seed).permutation(len(y)), 2)
    rows = np.concatenate(tests)
    models, y, weights = [first[rows], second[rows]], y[rows], weights[rows]
    folds, o = FoldRows.of(tests, weights), log_shares(y, weights, K)
    found = Combination.of(models, y, weights, folds, np.bincount(y, weights))
    start = 0
    for test in tests:
        own = slice(start, start + len(test))
        start = own.stop
        others = np.ones(len(y), np.bool_)
        others[own] = False

        def value(z, others=others):
            factors = [model[others] for model in models]
            return combined_objective(np.abs(z), factors, y[others], weights[others], o)

        best = minimize(value, [0.5, 0.5], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10})
        t = np.abs(best.x)
        expected = o + t[0] * (models[0][own] - o) + t[1] * (models[1][own] - o)
        assert_allclose(found.eta[own], expected, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("K", [2, 3, 6])
def test_a_combination_with_factors_zero_predicts_the_shares_of_the_classes(K, rng):
    y = np.concatenate([np.arange(K), rng.integers(K, size=500), np.zeros(200, int)])
    o = log_shares(y, np.ones(len(y)), K)
    intercepts = rng.normal(size=(2, 1 if K == 2 else K))
    total = all_classes(Combination((0.0, 0.0), o, np.empty((0, K))).intercept(intercepts)[None])
    shares = np.bincount(y) / len(y)
    assert_allclose(np.exp(total - logsumexp(total))[0], shares)


@pytest.mark.parametrize("K", [2, 3, 6])
@pytest.mark.parametrize("count", [1, 2])
def test_a_combination_of_linear_models_is_a_linear_model(K, count, rng):
    """o + Σ t_v (X_v β_v + b_v - o) = Σ X_v (t_v β_v) + intercept."""
    k = 1 if K == 2 else K
    X, beta, b = rng.normal(size=(count, 20, 7)), rng.normal(size=(count, 7, k)), rng.normal(size=(count, k))
    y = np.concatenate([np.arange(K), rng.integers(K, size=20 - K)])
    models = [X[v] @ beta[v] + b[v] for v in range(count)]
    folds = FoldRows.of([np.arange(10), np.arange(10, 20)], np.ones(20))
    found = Combination.of(models, y, np.ones(20), folds, np.bincount(y))
    t, o = found.factors, found.offset
    expected = o + sum(t[v] * (models[v] - o) for v in range(count))
    linear = sum(X[v] @ (t[v] * beta[v]) for v in range(count)) + found.intercept(b)
    assert_allclose(linear, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("K", [2, 4])
def test_a_class_that_is_never_held_out_has_a_share(K, rng):
    """The shares are those of all labelled rows."""
    y = rng.integers(K - 1, size=40)
    totals = np.append(np.bincount(y, minlength=K - 1), 1)
    eta = rng.normal(size=(40, 1 if K == 2 else K))
    folds = FoldRows.of([np.arange(20), np.arange(20, 40)], np.ones(40))
    found = Combination.of([eta], y, np.ones(40), folds, totals)
    shares = np.log(totals / 41.0)
    assert_allclose(found.offset, shares[1:] - shares[:1] if K == 2 else shares)
    assert np.isfinite(found.eta).all()


@pytest.mark.parametrize("K", [2, 4])
def test_two_equal_models_share_one_factor(K, rng):
    n = 5000
    y = rng.integers(K, size=n)
    eta = 2.0 * np.eye(K)[y] + rng.normal(size=(n, K))
    eta = eta[:, [1]] - eta[:, [0]] if K == 2 else eta
    folds = FoldRows.of(np.array_split(np.arange(n), 5), np.ones(n))
    one = Combination.of([eta], y, np.ones(n), folds, np.bincount(y))
    both = Combination.of([eta, eta.copy()], y, np.ones(n), folds, np.bincount(y))
    assert both.factors[0] == pytest.approx(both.factors[1], rel=1e-6)
    assert sum(both.factors) == pytest.approx(one.factors[0], rel=0.05)
    assert_allclose(both.eta, one.eta, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("K", [2, 4])
def test_models_of_noise_are_shrunk_towards_the_shares(K, rng):
    n = 4000
    y = rng.choice(K, size=n, p=np.arange(1, K + 1) / np.arange(1, K + 1).sum())
    noise = 2.0 * rng.normal(size=(n, 1 if K == 2 else K))
    folds = FoldRows.of(np.array_split(rng.permutation(n), 5), np.ones(n))
    found = Combination.of([noise], y, np.ones(n), folds, np.bincount(y))
    assert found.factors[0] < 0.05
    # A good model beside it has all of the weight.
    good = 3.0 * np.eye(K)[y] + rng.normal(size=(n, K))
    good = good[:, [1]] - good[:, [0]] if K == 2 else good
    both = Combination.of([noise, good], y, np.ones(n), folds, np.bincount(y))
    assert both.factors[0] < 0.05
    assert both.factors[1] > 0.9
    assert losses_of(both.eta, y).mean() < losses_of(found.eta, y).mean() - 0.3
