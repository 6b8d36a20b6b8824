"""Tests of all baselines: scikit-learn's checks, storage formats, label types and error messages."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from dropglm.baselines import (
    NBSVM,
    EMNaiveBayes,
    EntropyRegularizedLogisticRegression,
    SemiSupervisedNaiveBayes,
    TransductiveSVM,
)
from tests.baselines.rows import texts
from tests.storages import MATRICES

MODELS = [
    SemiSupervisedNaiveBayes(),
    EMNaiveBayes(),
    NBSVM(tol=1e-8),
    EntropyRegularizedLogisticRegression(tol=1e-8),
    TransductiveSVM(tol=1e-10, max_iter=100_000),
]
SEMI_SUPERVISED = [model for model in MODELS if not isinstance(model, NBSVM)]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
every_semi_supervised = pytest.mark.parametrize(
    "model", SEMI_SUPERVISED, ids=lambda model: type(model).__name__
)


def expected_failures(model):
    if isinstance(model, (SemiSupervisedNaiveBayes, EMNaiveBayes)):
        # scikit-learn's own naive Bayes has no decision_function and is therefore not checked.
        return {
            "check_decision_proba_consistency": "it draws negative features although the tags exclude them"
        }
    if isinstance(model, TransductiveSVM):
        # As of scikit-learn's LinearSVC: at the default tolerance the order of the rows matters.
        kinds = ("dense", "sparse")
        return {f"check_sample_weight_equivalence_on_{kind}_data": "liblinear stops early" for kind in kinds}
    return {}


@parametrize_with_checks(
    [type(model)() for model in MODELS], expected_failed_checks=expected_failures, xfail_strict=True
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def fitted(model, form, X, y, U):
    """Fit the model to the rows in the given form, with unlabelled rows if it accepts them."""
    more = {} if isinstance(model, NBSVM) else {"X_unlabeled": form(U)}
    return clone(model).fit(form(X), y, **more)


@every_model
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("form", MATRICES)
def test_storage_does_not_matter(model, K, form, rng):
    X, y = texts(rng, K=K)
    U = texts(rng, n=30, K=K)[0]
    expected = fitted(model, np.array, X, y, U)
    found = fitted(model, MATRICES[form], X, y, U)
    assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-7)
    assert_allclose(
        found.decision_function(MATRICES[form](U)), expected.decision_function(U), rtol=1e-6, atol=1e-6
    )
    assert_array_equal(found.predict(MATRICES[form](U)), expected.predict(U))


@every_model
@pytest.mark.parametrize("K", [2, 3])
def test_shapes_and_classes(model, K, rng):
    X, y = texts(rng, K=K)
    model = fitted(model, np.array, X, y, X)
    assert list(model.classes_) == ["bad", "good", "odd"][:K]
    assert model.coef_.shape == ((1, 12) if K == 2 else (3, 12))
    assert model.decision_function(X).shape == ((60,) if K == 2 else (60, 3))
    assert model.score(X, y) > 0.8
    assert hasattr(model, "predict_proba") is not isinstance(model, (NBSVM, TransductiveSVM))
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(X)
        assert_allclose(p.sum(axis=1), 1.0)
        assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
        assert_allclose(np.exp(model.predict_log_proba(X)), p, rtol=1e-9)


@every_semi_supervised
def test_unlabelled_rows_pass_through_a_pipeline(model):
    words, y = ["good fun", "good plot", "bad plot", "bad bore"], [1, 1, 0, 0]
    more = ["good good bore", "bad fun", "fun plot", "good good fun"]
    with sklearn.config_context(enable_metadata_routing=True):
        steps = [("count", CountVectorizer(dtype=np.float64)), ("model", clone(model))]
        pipeline = Pipeline(steps, transform_input=["X_unlabeled"]).fit(words, y, X_unlabeled=more)
    count = CountVectorizer(dtype=np.float64).fit(words)
    alone = clone(model).fit(count.transform(words), y, X_unlabeled=count.transform(more))
    assert_array_equal(pipeline["model"].coef_, alone.coef_)
    assert np.abs(alone.coef_ - clone(model).fit(count.transform(words), y).coef_).max() > 1e-3


def test_metadata_that_fit_does_not_accept_is_not_requested():
    with sklearn.config_context(enable_metadata_routing=True):
        assert NBSVM().get_metadata_routing().fit.requests == {}
        for model in (SemiSupervisedNaiveBayes(), EMNaiveBayes()):
            requests = model.get_metadata_routing().fit.requests
            assert requests == {"X_unlabeled": True, "sample_weight": None}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SemiSupervisedNaiveBayes(alpha=0), "alpha must be finite and above 0"),
        (EMNaiveBayes(alpha=-1.0), "alpha must be finite and above 0"),
        (EMNaiveBayes(discount=-0.1), "discount must be finite and not negative"),
        (EMNaiveBayes(max_iter=0), "max_iter must be at least 1"),
        (EMNaiveBayes(tol=np.nan), "tol must be finite"),
        (NBSVM(C=0.0), "C must be finite and above 0"),
        (TransductiveSVM(C=0.0), "C must be finite and above 0"),
        (TransductiveSVM(discount=-1.0), "discount must be finite and not negative"),
        (NBSVM(beta=1.5), r"beta must be in \[0, 1\]"),
        (NBSVM(alpha=0.0), "alpha must be finite and above 0"),
        (EntropyRegularizedLogisticRegression(l2=0.0), "l2 must be finite and above 0"),
        (EntropyRegularizedLogisticRegression(entropy_weight=-1), "entropy_weight must be finite and not"),
    ],
)
def test_settings_out_of_range_are_refused(model, message, rng):
    X, y = texts(rng)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


@every_semi_supervised
def test_unlabelled_rows_with_other_columns_are_refused(model, rng):
    X, y = texts(rng)
    with pytest.raises(ValueError, match="X_unlabeled has 11 columns, but X has 12"):
        model.fit(X, y, X_unlabeled=X[:, :-1])
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X, np.zeros(60))


@pytest.mark.parametrize("model", [SemiSupervisedNaiveBayes(), EMNaiveBayes()], ids=repr)
def test_negative_counts_are_refused_in_labelled_and_unlabelled_rows(model, rng):
    X, y = texts(rng)
    with pytest.raises(ValueError, match="Negative values in data: X must"):
        model.fit(-X, y)
    with pytest.raises(ValueError, match="Negative values in data: X_unlabeled must"):
        model.fit(X, y, X_unlabeled=-X)


@every_semi_supervised
def test_arguments_of_fit_have_one_order(model, rng):
    X, y = texts(rng)
    U, w = texts(rng, n=30)[0], rng.uniform(0.5, 2.0, size=60)
    by_name = clone(model).fit(X=X, y=y, sample_weight=w, X_unlabeled=U).coef_
    assert_array_equal(clone(model).fit(X, y, w, U).coef_, by_name)


@every_semi_supervised
@pytest.mark.parametrize("K", [2, 3])
def test_a_weight_of_two_is_the_row_twice(model, K, rng):
    X, y = texts(rng, K=K)
    U, w = texts(rng, n=30, K=K)[0], rng.integers(0, 3, size=60)
    weighted = clone(model).fit(X, y, w, X_unlabeled=U).coef_
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w), X_unlabeled=U).coef_
    assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-6)
    assert np.abs(weighted - clone(model).fit(X, y, X_unlabeled=U).coef_).max() > 1e-3


@every_semi_supervised
def test_bad_weights_are_refused(model, rng):
    X, y = texts(rng)
    with pytest.raises(ValueError, match="sample_weight is zero in every row"):
        model.fit(X, y, np.zeros(60))
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        model.fit(X, y, np.full(60, -1.0))
    with pytest.raises(ValueError, match=r"class good ha(s|ve)"):
        model.fit(X, y, (y == "bad").astype(float))
