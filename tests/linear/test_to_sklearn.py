"""Linear models as scikit-learn's own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from dropglm import (
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    OnlineLogisticRegression,
    PoissonRegressor,
)
from dropglm.core.families import Logistic
from dropglm.linear import GeneralizedLinearRegressor

rng = np.random.default_rng(0)
X = rng.poisson(0.5, (60, 8)).astype(float)
NAMES = np.array(["b", "a", "c"])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(dropout=0.3),
        LogisticRegression(multi_class="ovr"),
        LogisticRegressionCV(l2=[0.1, 1.0], cv=2, naive_bayes=True),
        OnlineLogisticRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_classifier_of_scikit_learn_predicts_the_same(model, K, dtype):
    model.fit(X.astype(dtype), NAMES[np.arange(60) % K])
    theirs, rows = model.to_sklearn(), rng.normal(size=(20, 8)).astype(dtype)
    assert type(theirs).__module__.startswith("sklearn.")
    for given in (rows, sparse.csr_array(rows)):
        assert_array_equal(theirs.predict(given), model.predict(given))
        assert_allclose(theirs.predict_proba(given), model.predict_proba(given), atol=1e-6)


@pytest.mark.parametrize("K", [2, 3])
def test_several_labels_become_one_model_per_label(K):
    Y = (np.arange(60)[:, None] % np.arange(2, 2 + K) == 0).astype(int)
    model, rows = LogisticRegression(dropout=0.3).fit(X, Y), rng.normal(size=(20, 8))
    theirs = model.to_sklearn()
    assert theirs.multilabel_
    assert_array_equal(theirs.predict(rows), model.predict(rows))
    assert_allclose(theirs.predict_proba(rows), model.predict_proba(rows), atol=1e-12)
    assert_allclose(theirs.decision_function(rows), model.decision_function(rows))


@pytest.mark.parametrize("model", [LinearRegression(dropout=0.1), PoissonRegressor(l2=0.1)])
def test_a_regressor_of_scikit_learn_predicts_the_same(model):
    model.fit(X, rng.poisson(2.0, 60))
    theirs = model.to_sklearn()
    assert type(theirs).__name__ == type(model).__name__
    assert_allclose(theirs.predict(X), model.predict(X), rtol=1e-12)


def test_coefficients_are_copied_and_names_are_kept():
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = LogisticRegression().fit(frame, NAMES[np.arange(60) % 2]).sparsify()
    theirs = model.to_sklearn()
    assert_array_equal(theirs.predict(frame), model.predict(frame))
    theirs.coef_[:] = 0.0
    assert model.coef_.nnz == 8


def test_models_that_are_not_fitted_or_unknown_to_scikit_learn_are_refused():
    class Shares(GeneralizedLinearRegressor):
        family = Logistic

    with pytest.raises(NotFittedError):
        LogisticRegression().to_sklearn()
    with pytest.raises(
        ValueError, match="no regressor of the family Logistic; to_sklearn is for Linear, Pois"
    ):
        Shares(l2=1.0).fit(X, np.arange(60) % 2).to_sklearn()
