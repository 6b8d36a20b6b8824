"""The compiled form of families and row penalties equals the form for arrays."""

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose

from dropglm.core import families
from dropglm.core.noise import Dropout
from dropglm.core.penalties import EXPECTATIONS, POINTWISE_PENALTIES

ETA = np.array([-30.0, -3.0, -0.5, 0.0, 1e-9, 0.7, 4.0, 25.0])


@pytest.mark.parametrize("family", families.POINTWISE_FAMILIES, ids=lambda family: family.__name__)
def test_a_family_at_a_single_number_equals_the_family(family):
    at = njit(families.POINTWISE_FAMILIES[family].py_func)
    found = np.array([at(eta) for eta in ETA]).T
    expected = [family.log_partition(ETA), family.mean(ETA), family.variance(ETA), family.third_cumulant(ETA)]
    assert_allclose(found, expected, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("expectation", ["gaussian", "quadratic"])
@pytest.mark.parametrize("family", families.POINTWISE_FAMILIES, ids=lambda family: family.__name__)
def test_a_penalty_at_a_single_row_equals_the_penalty(family, expectation):
    penalty = EXPECTATIONS[expectation].penalty_class(family)(family, Dropout(0.5))
    at = njit(POINTWISE_PENALTIES[type(penalty)].py_func)
    s2 = np.linspace(0.0, 3.0, len(ETA))
    A2, A3 = family.variance(ETA), family.third_cumulant(ETA)
    found = np.array([at(*row) for row in zip(ETA, s2, A2, A3, strict=True)]).T
    assert_allclose(found, penalty.rows(ETA, s2), rtol=1e-11, atol=1e-15)
