import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from dropglm import LinearRegression, LogisticRegression, LogisticRegressionCV, PoissonRegressor
from dropglm.core.solvers import Status
from tests.linear.test_fits import words

ESTIMATORS = [LogisticRegression(), LinearRegression(dropout=0.5), PoissonRegressor(dropout=0.2)]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_unlabelled_rows_change_the_model_unless_the_discount_is_zero(model, rng):
    X, y = words(rng)
    U = words(rng, n=200)[0]
    plain = model.set_params(discount=0.1).fit(X, y).coef_
    assert np.abs(model.fit(X, y, X_unlabeled=U).coef_ - plain).max() > 1e-3
    assert_allclose(model.set_params(discount=0.0).fit(X, y, X_unlabeled=U).coef_, plain, rtol=1e-9)
    model.set_params(discount=0.1)


def test_unlabelled_rows_do_not_matter_without_noise(rng):
    X, y = words(rng)
    model = LogisticRegression(dropout=0.0)
    assert_allclose(model.fit(X, y).coef_, model.fit(X, y, X_unlabeled=X[:20]).coef_, rtol=1e-9)


def test_passing_the_labelled_rows_as_unlabelled_changes_nothing(rng):
    """n/(n+αn) (R + αR) = R."""
    X, y = words(rng)
    model = LogisticRegression(tol=1e-8, discount=0.7)
    assert_allclose(model.fit(X, y).coef_, model.fit(X, y, X_unlabeled=X).coef_, atol=1e-6)


def test_a_feature_that_occurs_only_in_unlabelled_rows_gets_a_coefficient(rng):
    X, y = words(rng)
    U = X.copy()
    U[:, -1] = X[:, 0]
    model = LogisticRegression().fit(X, y, X_unlabeled=sparse.csr_array(U))
    assert model.coef_[0, -1] != 0.0


def test_unlabelled_rows_may_differ_from_x_in_storage_and_precision(rng):
    X, y = words(rng)
    U = words(rng, n=30)[0]
    expected = LogisticRegression().fit(X, y, X_unlabeled=U).coef_
    for form in (sparse.csr_array(U), sparse.csc_array(U, dtype=np.float32), U.astype(int)):
        assert_allclose(
            LogisticRegression().fit(X, y, X_unlabeled=form).coef_, expected, rtol=1e-5, atol=1e-8
        )


@pytest.mark.usefixtures("routing")
def test_a_pipeline_transforms_unlabelled_rows_like_x():
    texts, y = ["good fun", "good plot", "bad plot", "bad bore"] * 5, [1, 1, 0, 0] * 5
    more = ["good good bore", "bad fun", "fun plot"]
    pipeline = Pipeline(
        [("count", CountVectorizer(dtype=np.float64)), ("model", LogisticRegression())],
        transform_input=["X_unlabeled"],
    ).fit(texts, y, X_unlabeled=more)
    count = CountVectorizer(dtype=np.float64).fit(texts)
    alone = LogisticRegression().fit(count.transform(texts), y, X_unlabeled=count.transform(more))
    assert_array_equal(pipeline["model"].coef_, alone.coef_)


@pytest.mark.usefixtures("routing")
def test_cross_validation_and_searches_pass_on_unlabelled_rows(rng):
    X, y = words(rng)
    U = words(rng, n=200)[0]
    model = LogisticRegression(l2=0.1)
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    found = cross_validate(model, X, y, cv=folds, params={"X_unlabeled": U}, return_estimator=True)
    for fitted, (train, _) in zip(found["estimator"], folds, strict=True):
        alone = LogisticRegression(l2=0.1).fit(X[train], y[train], X_unlabeled=U)
        assert_array_equal(fitted.coef_, alone.coef_)

    pipeline = Pipeline(
        [("same", FunctionTransformer()), ("model", LogisticRegression())], transform_input=["X_unlabeled"]
    )
    search = GridSearchCV(pipeline, {"model__l2": [0.1, 1.0]}, cv=folds).fit(X, y, X_unlabeled=U)
    best = search.best_estimator_["model"]
    assert_array_equal(best.coef_, LogisticRegression(l2=best.l2).fit(X, y, X_unlabeled=U).coef_)


@pytest.mark.usefixtures("routing")
def test_a_pipeline_passes_unlabelled_rows_to_the_cv_estimator(rng):
    X, y = words(rng)
    U = words(rng, n=30)[0]
    settings = {"dropout": 0.5, "l2": (1.0, 0.1), "cv": 2}
    pipeline = Pipeline(
        [("same", FunctionTransformer()), ("model", LogisticRegressionCV(**settings))],
        transform_input=["X_unlabeled"],
    ).fit(X, y, X_unlabeled=U)
    assert_array_equal(
        pipeline["model"].coef_, LogisticRegressionCV(**settings).fit(X, y, X_unlabeled=U).coef_
    )


def test_a_classifier_starts_from_its_labelled_fit(rng):
    """The passes of the labelled fit are counted, and few labels among many rows do not lead to one class."""
    X, y = words(rng, n=20)
    U = words(rng, n=400)[0]
    model = LogisticRegression(l2=0.01, dropout=0.3, discount=1.0).fit(X, y, X_unlabeled=U)
    assert model.result_.passes > 4 * model.result_.n_iter + 3
    assert 0.2 < model.predict(U).mean() < 0.8


def test_poisson_regression_converges_with_very_large_unlabelled_rows(rng):
    X, y = words(rng)
    model = PoissonRegressor(dropout=0.1).fit(X, y, X_unlabeled=30.0 * np.ones((1, 12)))
    assert model.result_.status is Status.CONVERGED
    assert np.isfinite(model.predict(X)).all()
