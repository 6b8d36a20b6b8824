import inspect

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dropglm import noising_penalty
from dropglm.core.design import Design
from tests.storages import MATRICES, binary, real

EXPECTATION_NAMES = ["quadratic", "gaussian", "exact", "monte_carlo"]


@pytest.mark.parametrize("make", [real, binary])
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("expectation", EXPECTATION_NAMES)
def test_every_kind_of_matrix_gives_the_same_result(expectation, name, make, rng):
    X, beta = make(rng), rng.normal(size=6)
    settings = {
        "dropout": 0.5,
        "expectation": expectation,
        "random_state": 0,
        "n_samples": 10,
        "return_gradient": True,
    }
    value, gradient = noising_penalty(beta, X, **settings)
    other, other_gradient = noising_penalty(beta, MATRICES[name](X), **settings)
    assert other == pytest.approx(value, rel=1e-12)
    assert_allclose(other_gradient, gradient, rtol=1e-11, atol=1e-13)


def test_gradient_has_the_shape_of_coef_and_the_dtype_of_x(rng):
    X = real(rng)
    for coef in (np.ones(6), np.ones((1, 6)), [1] * 6):
        for dtype in (np.float32, np.float64):
            value, gradient = noising_penalty(coef, X.astype(dtype), dropout=0.5, return_gradient=True)
            assert isinstance(value, float)
            assert gradient.shape == np.shape(coef)
            assert gradient.dtype == dtype
    coef = np.ones((3, 6))
    _, gradient = noising_penalty(
        coef, X, dropout=0.5, family="multinomial", expectation="quadratic", return_gradient=True
    )
    assert gradient.shape == (3, 6)


def test_other_types_of_x_are_converted(rng):
    X, beta = binary(rng), rng.normal(size=6)
    value = noising_penalty(beta, X, dropout=0.5)
    for brought in (X.tolist(), X.astype(int), X.astype(bool), X.astype(">f8"), sparse.lil_array(X)):
        assert noising_penalty(beta, brought, dropout=0.5) == pytest.approx(value, rel=1e-14)


def test_no_noise_means_no_penalty(rng):
    for expectation in EXPECTATION_NAMES:
        value, gradient = noising_penalty(
            np.ones(6), real(rng), expectation=expectation, return_gradient=True
        )
        assert value == pytest.approx(0.0, abs=1e-10)
        assert_allclose(gradient, 0.0, atol=1e-10)


def test_the_intercept_is_not_noised(rng):
    """An intercept equals a feature of ones only in the predictor, not in the noise."""
    X, beta = real(rng), rng.normal(size=6)
    with_ones = np.column_stack([X, np.ones(len(X))])
    intercept = noising_penalty(beta, X, dropout=0.5, intercept=0.8)
    feature = noising_penalty(np.append(beta, 0.8), with_ones, dropout=0.5)
    assert intercept < feature


def test_the_input_is_not_modified(rng):
    X, beta, weight = real(rng), rng.normal(size=6), np.ones(7)
    copies = X.copy(), beta.copy(), weight.copy()
    for array in (X, beta, weight):
        array.flags.writeable = False
    for expectation in EXPECTATION_NAMES:
        noising_penalty(
            beta,
            X,
            dropout=0.5,
            expectation=expectation,
            sample_weight=weight,
            n_samples=5,
            return_gradient=True,
        )
    for array, copy in zip((X, beta, weight), copies, strict=True):
        assert_array_equal(array, copy)


def test_threads_give_the_same_result(rng):
    X, beta = sparse.random_array((3000, 400), density=0.2, rng=rng, format="csr"), rng.normal(size=400)
    one = noising_penalty(beta, X, dropout=0.5, return_gradient=True)
    for n_jobs in (2, -1):
        several = noising_penalty(beta, X, dropout=0.5, return_gradient=True, n_jobs=n_jobs)
        assert several[0] == pytest.approx(one[0], rel=1e-13)
        assert_allclose(several[1], one[1], rtol=1e-11, atol=1e-13)


def test_the_signature_is_the_documented_one():
    defaults = {
        "family": "logistic",
        "dropout": 0.0,
        "noise_std": 0.0,
        "expectation": "gaussian",
        "intercept": 0.0,
        "sample_weight": None,
        "n_samples": 1000,
        "random_state": None,
        "return_gradient": False,
        "n_jobs": None,
    }
    coef, X, *keywords = inspect.signature(noising_penalty).parameters.values()
    assert (coef.name, X.name) == ("coef", "X")
    assert {parameter.name: parameter.default for parameter in keywords} == defaults
    assert {parameter.kind for parameter in keywords} == {inspect.Parameter.KEYWORD_ONLY}


def test_n_jobs_is_the_number_of_threads(monkeypatch):
    used = []

    def recorded(X, *, threads):
        used.append(threads)
        return Design(X, threads=threads)

    monkeypatch.setattr("dropglm.core.settings.Design", recorded)
    for n_jobs in (None, 1, 3, -1):
        noising_penalty([1.0, 1.0], X_OK, dropout=0.5, n_jobs=n_jobs)
    assert used == [1, 1, 3, joblib.cpu_count()]


def test_squares_of_float32_coefficients_are_summed_in_float64():
    """β² of 1e20 is beyond float32; σ = 1e-20 brings s² back to 1."""
    X = np.zeros((1, 1), dtype=np.float32)
    for expectation in ("gaussian", "exact"):
        value, _ = noising_penalty([1e20], X, noise_std=1e-20, expectation=expectation, return_gradient=True)
        assert value == pytest.approx(0.112912, abs=1e-6)
    two = noising_penalty([[0.0], [1e20]], X, family="multinomial", expectation="quadratic", noise_std=1e-20)
    assert two == pytest.approx(0.125, rel=1e-6)


X_OK = np.array([[1.0, 2.0], [3.0, 0.0]])


def _falling(X):
    X.indptr[1] = X.nnz + 1
    return X


def _broken(X, index):
    X.indices[0] = index
    return X


BAD = {
    "nan in X": (dict(X=[[np.nan, 1.0]]), ValueError, "X contains NaN"),
    "infinity in X": (dict(X=[[np.inf, 1.0]]), ValueError, "X contains infinity"),
    "nan in sparse X": (dict(X=sparse.csr_array([[np.nan, 1.0]])), ValueError, "X contains NaN"),
    "nan in coef": (dict(coef=[np.nan, 1.0]), ValueError, "coef contains NaN"),
    "infinite intercept": (dict(intercept=np.inf), ValueError, "intercept contains infinity"),
    "nan in sample_weight": (dict(sample_weight=[1.0, np.nan]), ValueError, "sample_weight contains NaN"),
    "coef too large for float32": (
        dict(X=X_OK.astype(np.float32), coef=[1e300, 1.0]),
        ValueError,
        "coef contains 1e\\+300, which is too large for X's dtype float32",
    ),
    "X of one dimension": (
        dict(X=[1.0, 2.0]),
        ValueError,
        "X has the wrong shape: Expected 2D array, got 1D array instead",
    ),
    "X without rows": (dict(X=np.empty((0, 2))), ValueError, "0 sample"),
    "X without columns": (dict(X=np.empty((2, 0))), ValueError, "0 feature"),
    "words in X": (dict(X=[["a", "b"]]), ValueError, "could not convert string"),
    "sparse X with a column beyond the last": (
        dict(X=_broken(sparse.csr_array(X_OK), 7)),
        ValueError,
        "X is not a valid sparse matrix: .*indices",
    ),
    "sparse X with a negative column": (
        dict(X=_broken(sparse.csc_array(X_OK), -1)),
        ValueError,
        "X is not a valid sparse matrix: .*indices",
    ),
    "sparse X whose indptr falls": (
        dict(X=_falling(sparse.csr_array(X_OK))),
        ValueError,
        "X is not a valid sparse matrix: indptr must not decrease",
    ),
    "coef too long": (dict(coef=[1.0] * 3), ValueError, r"coef has shape \(3,\), but X has 2 columns"),
    "coef a number": (dict(coef=1.0), ValueError, r"coef has shape \(1,\), but X has 2 columns"),
    "coef of three dimensions": (dict(coef=np.ones((1, 1, 2))), ValueError, "coef has shape"),
    "two rows of coef": (dict(coef=np.ones((2, 2))), ValueError, "needs coef of shape \\(2,\\)"),
    "one row of coef for the multinomial": (
        dict(family="multinomial", expectation="quadratic"),
        ValueError,
        r"needs coef of shape \(K, 2\) with K >= 2, got \(2,\)",
    ),
    "intercepts too many": (dict(intercept=[1.0, 2.0, 3.0]), ValueError, "intercept has shape"),
    "weights too many": (
        dict(sample_weight=[1.0] * 3),
        ValueError,
        "sample_weight has shape .* X has 2 rows",
    ),
    "negative weight": (
        dict(sample_weight=[1.0, -1.0]),
        ValueError,
        "must not be negative, but that of row 1 is",
    ),
    "unknown family": (dict(family="logstic"), ValueError, "did you mean 'logistic'"),
    "unknown expectation": (dict(expectation="Quadratc"), ValueError, "did you mean 'quadratic'"),
    "hopeless expectation": (
        dict(expectation="zzz"),
        ValueError,
        "expectation 'zzz' is unknown; known: 'exact'",
    ),
    "a family that is no name": (dict(family=3), TypeError, "family must be a name, got 3"),
    "dropout of 1": (dict(dropout=1.0), ValueError, r"dropout must be in \[0, 1\), got 1.0"),
    "negative dropout": (dict(dropout=-0.1), ValueError, r"dropout must be in \[0, 1\)"),
    "dropout nan": (dict(dropout=np.nan), ValueError, r"dropout must be in \[0, 1\), got nan"),
    "dropout a word": (dict(dropout="half"), TypeError, "dropout must be a number, got 'half'"),
    "negative noise_std": (dict(noise_std=-1.0), ValueError, "noise_std must be finite and not negative"),
    "infinite noise_std": (dict(noise_std=np.inf), ValueError, "noise_std must be finite"),
    "no samples": (dict(n_samples=0), ValueError, "n_samples must be at least 1, got 0"),
    "half a sample": (dict(n_samples=0.5), TypeError, "n_samples must be an integer, got 0.5"),
    "no threads": (dict(n_jobs=0), ValueError, "n_jobs must not be 0"),
    "threads in words": (dict(n_jobs="two"), TypeError, "n_jobs must be an integer, got 'two'"),
    "a negative seed": (dict(random_state=-1), ValueError, "random_state must be an int .* got -1"),
    "a seed in words": (dict(random_state="a"), ValueError, "random_state must be an int .* got 'a'"),
    "empty coef": (dict(coef=[]), ValueError, "coef has the wrong shape: .*0 sample"),
    "words in coef": (dict(coef=["a", "b"]), ValueError, "coef is not a numeric array: could not convert"),
    "ragged X": (dict(X=[[1.0], [1.0, 2.0]]), ValueError, "X is not a numeric array: setting an array"),
    "complex X": (dict(X=[[1j, 2.0]]), TypeError, "X is not a numeric array.*omplex"),
    "a number beyond all floats": (dict(X=[[10**400, 1]]), ValueError, "X is not a numeric array: int too"),
    "dates": (dict(X=np.array([["2020-01-01", "2021-01-01"]], "M8[D]")), TypeError, "X contains dates"),
    "masked X": (dict(X=np.ma.masked_equal(X_OK, 0.0)), TypeError, "X is a masked array"),
    "X is nothing": (dict(X=None), ValueError, "X has the wrong shape"),
    "a penalty that the family lacks": (
        dict(family="multinomial", expectation="exact", coef=np.ones((3, 2))),
        ValueError,
        "is not available for the multinomial family; use one of 'monte_carlo', 'quadratic'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_an_error_with_one_sentence(case):
    change, error, message = BAD[case]
    settings = {"coef": [1.0, 1.0], "X": X_OK, "dropout": 0.5, **change}
    with pytest.raises(error, match=message) as caught:
        noising_penalty(**settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("expectation", EXPECTATION_NAMES)
def test_overflow_of_the_poisson_penalty_is_an_error(expectation):
    settings = {"family": "poisson", "dropout": 0.5, "noise_std": 3.0, "expectation": expectation}
    with pytest.raises(ValueError, match=f"The {expectation} penalty of the poisson family overflows"):
        noising_penalty([800.0], [[1.0]], return_gradient=True, **settings)


@pytest.mark.parametrize("expectation", ["quadratic", "gaussian", "exact"])
def test_overflow_of_the_gradient_alone_is_an_error(expectation):
    """The value is about 4e41, and its derivative exceeds float32."""
    settings = {"family": "poisson", "dropout": 0.1, "intercept": 10.0, "expectation": expectation}
    X = np.array([[8.0]], dtype=np.float32)
    assert np.isfinite(noising_penalty([10.0], X, **settings))
    with pytest.raises(ValueError, match="its value or its gradient exceeds the range of float32"):
        noising_penalty([10.0], X, return_gradient=True, **settings)


def test_a_row_of_weight_zero_may_contain_anything():
    settings = {"family": "poisson", "dropout": 0.5, "sample_weight": [1.0, 0.0]}
    alone = noising_penalty([3.0], [[1.0]], family="poisson", dropout=0.5)
    for X in ([[1.0], [300.0]], sparse.csr_array([[1.0], [300.0]])):
        assert noising_penalty([3.0], X, **settings) == pytest.approx(alone)


def test_float32_features_are_multiplied_in_float64():
    """x² of 1e20 or 1e-23 is beyond float32."""
    for x in (1e20, 1e-23):
        for coef, settings in (
            ([1.0], {"family": "linear"}),
            ([[0.0], [1e-30]], {"family": "multinomial", "expectation": "quadratic"}),
        ):
            X = np.array([[x]], dtype=np.float32)
            curvature = 1.0 if len(coef) == 1 else 0.25
            found = noising_penalty(coef, X, dropout=0.5, **settings)
            truth = 0.5 * curvature * (float(X[0, 0]) * float(np.float32(np.max(coef)))) ** 2
            assert found == pytest.approx(truth, rel=1e-9, abs=0.0)


@pytest.mark.parametrize("expectation", ["quadratic", "gaussian", "exact"])
def test_the_poisson_penalty_is_correct_near_overflow(expectation):
    """R grows by e^700 with the intercept."""
    settings = {"family": "poisson", "dropout": 0.5, "expectation": expectation}
    small, large = (noising_penalty([0.3], [[1.0]], intercept=b, **settings) for b in (0.0, 700.0))
    assert large / np.exp(700.0) == pytest.approx(small)
