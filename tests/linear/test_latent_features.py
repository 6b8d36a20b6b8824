"""LatentFeatures as a transformer of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dropglm import LatentFeatures
from tests.storages import MATRICES, real


@parametrize_with_checks([LatentFeatures(), LatentFeatures(n_components=2, n_iter=1, n_jobs=2)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("form", MATRICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_form_of_a_matrix_gives_the_same_features(form, dtype, rng):
    X = real(rng).astype(dtype)
    given = MATRICES[form](X).astype(dtype)
    latent = LatentFeatures(3).fit(given)
    expected = X @ np.linalg.svd(X.astype(float))[2][:3].T
    tolerance = 1e-5 if dtype == np.float32 else 1e-10
    found = latent.transform(given)
    assert found.dtype == dtype
    assert_allclose(np.abs(found), np.abs(expected), atol=tolerance)
    assert_allclose(LatentFeatures(3).fit_transform(given), found, atol=tolerance)


def test_unlabelled_rows_count_like_others(rng):
    X = real(rng, n=30, d=12)
    together = LatentFeatures(4).fit(X)
    apart = LatentFeatures(4)
    assert_allclose(apart.fit_transform(X[:9], X_unlabeled=X[9:]), together.transform(X[:9]), atol=1e-10)
    assert_allclose(apart.components_, together.components_, atol=1e-10)
    mixed = LatentFeatures(4).fit(sparse.csr_array(X[:9]), X_unlabeled=X[9:])
    assert_allclose(mixed.components_, together.components_, atol=1e-10)


def test_the_result_is_that_of_truncated_svd(rng):
    X = sparse.random_array((60, 90), density=0.2, rng=rng, format="csr")
    theirs = TruncatedSVD(7, algorithm="arpack").fit(X)
    ours = LatentFeatures(7).fit(X)
    assert_allclose(ours.singular_values_, theirs.singular_values_)
    assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-8)


def test_the_shares_of_all_components_add_up_to_one(rng):
    latent = LatentFeatures().fit(real(rng))
    assert latent.n_components_ == 5  # one column is empty
    assert_allclose(latent.explained_share_.sum(), 1.0)


def test_coefficients_fold_back(rng):
    X, coef = real(rng, n=20), rng.normal(size=(3, 2))
    latent = LatentFeatures(3).fit(X)
    assert_allclose(latent.transform(X) @ coef, X @ (latent.components_.T @ coef))


def test_names_and_data_frames(rng):
    latent = LatentFeatures(2).set_output(transform="pandas")
    frame = latent.fit_transform(real(rng))
    assert list(frame.columns) == ["latentfeatures0", "latentfeatures1"]
    assert_array_equal(latent.get_feature_names_out(), frame.columns)


def test_unlabelled_rows_pass_through_a_pipeline(rng):
    X = real(rng, n=30, d=12)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = Pipeline(
            [("double", FunctionTransformer(lambda X: 2 * X)), ("latent", LatentFeatures(3))],
            transform_input=["X_unlabeled"],
        )
        found = pipeline.fit_transform(X[:10], X_unlabeled=X[10:])
    expected = LatentFeatures(3).fit(2 * X).transform(2 * X[:10])
    assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components must be at least 1, got 0."),
        ({"n_components": 2.5}, "n_components must be an integer, got 2.5."),
        ({"n_iter": 0}, "n_iter must be at least 1, got 0."),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_wrong_settings_are_named(settings, message, rng):
    with pytest.raises((TypeError, ValueError), match=message):
        LatentFeatures(**settings).fit(real(rng))


def test_unlabelled_rows_must_have_the_same_features(rng):
    with pytest.raises(ValueError, match="X_unlabeled has 5 columns, but X has 6"):
        LatentFeatures().fit(real(rng), X_unlabeled=real(rng, d=5))


def test_names_of_unlabelled_features_must_be_those_of_x(rng):
    X = pd.DataFrame(rng.random((20, 3)), columns=["a", "b", "c"])
    LatentFeatures(2).fit(X, X_unlabeled=X.to_numpy())
    with pytest.raises(ValueError, match="The feature names of X_unlabeled differ"):
        LatentFeatures(2).fit(X, X_unlabeled=X[["c", "b", "a"]])
