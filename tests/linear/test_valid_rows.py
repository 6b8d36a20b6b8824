"""Rows that pass the quick survey are those that the complete checks return."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dropglm import OnlineLogisticRegression
from dropglm.base import checks
from dropglm.core.design import Design
from dropglm.linear.online_logistic import rows_if_valid

VALUES = st.sampled_from([1.0, 1.0, 1.0, 2.0, -0.5, 0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324])


@st.composite
def matrices(draw):
    """Draw CSR matrices of which many are not sorted, not finite or not valid."""
    n, d = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    counts = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    size = sum(counts)
    indices = draw(st.lists(st.integers(0 if draw(st.booleans()) else -1, d), min_size=size, max_size=size))
    if draw(st.booleans()):
        bounds = np.cumsum([0, *counts])
        indices = [j for a, b in pairwise(bounds) for j in sorted(indices[a:b])]
    values = draw(st.lists(VALUES if draw(st.booleans()) else st.just(1.0), min_size=size, max_size=size))
    X = sparse.csr_array((n, d), dtype=draw(st.sampled_from([np.float32, np.float64])))
    with np.errstate(under="ignore"):
        X.data = np.array(values, X.dtype)
    X.indices, X.indptr = np.array(indices, np.int32), np.cumsum([0, *counts]).astype(np.int32)
    return X


@given(matrices())
def test_sound_rows_are_those_of_the_complete_checks(X):
    rows = rows_if_valid(X)
    try:
        with np.errstate(invalid="ignore"):
            expected = Design(checks.features(X)).rows
    except ValueError:
        assert rows is None
        return
    if rows is not None:
        assert type(rows) is type(expected)
        for array, other in zip(rows, expected, strict=True):
            np.testing.assert_array_equal(array, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [1, -2.5])
def test_usual_matrices_are_sound(rng, dtype, factor):
    X = sparse.csr_array((rng.random((30, 200)) < 0.4).astype(dtype) * dtype(factor))
    assert rows_if_valid(X) is not None
    assert rows_if_valid(sparse.csr_matrix(X)) is not None
    assert rows_if_valid(X.toarray()) is None
    assert rows_if_valid(X.tocsc()) is None


def test_what_is_not_sound_is_corrected_or_refused(rng):
    X = sparse.csr_array((rng.random((20, 9)) < 0.5).astype(float))
    y = rng.integers(0, 2, 20)
    expected = OnlineLogisticRegression().partial_fit(X, y, [0, 1]).coef_
    halves = X.copy()
    halves.data, halves.indices = np.repeat(X.data / 2, 2), np.repeat(X.indices, 2)
    halves.indptr = 2 * X.indptr
    assert rows_if_valid(halves) is None
    np.testing.assert_array_equal(OnlineLogisticRegression().partial_fit(halves, y, [0, 1]).coef_, expected)
    X.data[3] = np.inf
    with pytest.raises(ValueError, match="X contains infinity"):
        OnlineLogisticRegression().partial_fit(X, y, [0, 1])
