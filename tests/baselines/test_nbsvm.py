"""NB-SVM against its formulas, minimised by SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.naive_bayes import MultinomialNB

from dropglm.baselines import NBSVM
from tests.baselines.rows import texts


def by_hand(X, own, C, beta, alpha, fit_intercept):
    """Weights and intercept if every word occurs; liblinear penalises the intercept as well."""
    x, sign = (X > 0).astype(float), np.where(own, 1.0, -1.0)
    p, q = alpha + x[own].sum(axis=0), alpha + x[~own].sum(axis=0)
    r = np.log((p / p.sum()) / (q / q.sum()))
    Z = np.column_stack([x * r, np.full(len(x), float(fit_intercept))])

    def objective(v):
        slack = np.maximum(0.0, 1.0 - sign * (Z @ v))
        return 0.5 * v @ v + C * slack @ slack, v - 2.0 * C * Z.T @ (sign * slack)

    v = minimize(objective, np.zeros(Z.shape[1]), jac=True, method="L-BFGS-B", tol=1e-14).x
    w = v[:-1]
    return r * ((1.0 - beta) * np.abs(w).mean() + beta * w), v[-1]


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("C", "beta", "alpha"), [(1.0, 0.25, 1.0), (0.1, 1.0, 0.5), (3.0, 0.0, 2.0)])
def test_it_equals_its_formulas(C, beta, alpha, fit_intercept, K, rng):
    X, y = texts(rng, K=K)
    X = X[:, :-1]
    settings = {"C": C, "beta": beta, "alpha": alpha, "fit_intercept": fit_intercept}
    model = NBSVM(**settings, tol=1e-10).fit(X, y)
    for row, name in enumerate(model.classes_[1:] if K == 2 else model.classes_):
        coef, intercept = by_hand(X, y == name, **settings)
        assert_allclose(model.coef_[row], coef, atol=1e-5)
        assert_allclose(model.intercept_[row], intercept, atol=1e-5)


def test_with_beta_zero_and_no_intercept_it_equals_naive_bayes(rng):
    """Both classes have equally many rows, so that the prior does not matter."""
    X, y = texts(rng)
    X = (X[:, :-1] > 0).astype(float)
    model, bayes = NBSVM(beta=0.0, fit_intercept=False).fit(X, y), MultinomialNB().fit(X, y)
    ratio = np.diff(bayes.feature_log_prob_, axis=0)
    assert_allclose(model.coef_ / model.coef_[0, 0], ratio / ratio[0, 0], rtol=1e-9)
    assert_array_equal(model.predict(X), bayes.predict(X))


def test_the_count_of_a_word_does_not_matter(rng):
    X, y = texts(rng)
    often, once = NBSVM().fit(X, y), NBSVM().fit(X > 0, y)
    assert_array_equal(often.coef_, once.coef_)
    assert_array_equal(often.decision_function(X), once.decision_function(7.0 * X))


def test_words_that_never_occur_do_not_change_the_fit(rng):
    X, y = texts(rng)
    model = NBSVM(tol=1e-10).fit(X[:, :-1], y)
    padded = NBSVM(tol=1e-10).fit(np.hstack([X, np.zeros((60, 20))]), y)
    assert_allclose(padded.coef_[:, :11], model.coef_, atol=1e-7)
    assert not padded.coef_[:, 11:].any()
