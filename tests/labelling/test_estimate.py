"""The interval of the accuracy, and the curve that says how many more labels help."""

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm.labelling import estimate_accuracy, labels_for_one_point

OUTCOMES = st.lists(st.booleans(), min_size=1, max_size=200)


@given(correct=OUTCOMES, confidence=st.floats(0.5, 0.999))
def test_bounds_solve_wilsons_equation(correct, confidence):
    """(share - bound)² = z² bound (1 - bound) / n, with the number n of outcomes of the same variance."""
    found = estimate_accuracy(correct, confidence=confidence)
    weights = np.arange(1, len(correct) + 1) ** 2 / np.sum(np.arange(1, len(correct) + 1) ** 2)
    assert found.accuracy == pytest.approx(weights @ np.array(correct, float), abs=1e-12)
    z, n = NormalDist().inv_cdf((1 + confidence) / 2), 1 / np.sum(weights**2)
    for bound in (found.low, found.high):
        difference = (found.accuracy - bound) ** 2
        assert difference == pytest.approx(z**2 * bound * (1 - bound) / n, abs=1e-9)
    assert 0.0 <= found.low <= found.accuracy + 1e-12
    assert found.accuracy - 1e-12 <= found.high <= 1.0
    assert found.n == len(correct)


@given(correct=OUTCOMES)
def test_exchanging_right_and_wrong_reflects_the_estimate(correct):
    found, other = estimate_accuracy(correct), estimate_accuracy([not one for one in correct])
    np.testing.assert_allclose(
        [found.accuracy, found.low, found.high],
        [1 - other.accuracy, 1 - other.high, 1 - other.low],
        atol=1e-12,
    )


def test_without_outcomes_nothing_is_known():
    found = estimate_accuracy([])
    assert np.isnan(found.accuracy)
    assert found[1:] == (0.0, 1.0, 0)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5])
def test_impossible_confidence_is_refused(confidence):
    with pytest.raises(ValueError, match="between 0 and 1"):
        estimate_accuracy([True], confidence=confidence)


@pytest.mark.parametrize("m", [10, 20, 40, 100])
@pytest.mark.parametrize(("now", "growth"), [(0.8, 0.0), (0.8, 0.04), (0.9, 0.03), (0.65, 0.08)])
def test_intervals_contain_the_present_accuracy_of_a_model_that_improves(m, now, growth):
    """Accuracy grows with the logarithm of the labels; 90 to 99 % of intervals contain the present one."""
    rng = np.random.default_rng(0)
    accuracy = now + growth * np.log(np.arange(1, m + 1) / m)
    found = [estimate_accuracy(rng.random(m) < accuracy) for _ in range(1500)]
    assert 0.9 <= np.mean([one.low <= now <= one.high for one in found]) <= 0.99


@given(c=st.floats(0.1, 1.0), b=st.floats(0.5, 5.0))
def test_a_power_law_is_continued_exactly(c, b):
    n = np.array([30, 60, 120, 240, 480])
    error = b * n**-c
    if not 0.011 < error[-1] < error[0] < 1.0:
        return
    found = labels_for_one_point(n, 1 - error)
    if found is None:
        assert b * (480 * 10.0) ** -c > error[-1] - 0.01
    else:
        goal = error[-1] - 0.01
        assert b * (480.0 + found) ** -c <= goal + 1e-9
        assert b * (480.0 + found - 1) ** -c >= goal - 1e-9


@pytest.mark.parametrize(
    ("n_labels", "accuracy"),
    [
        ([], []),
        ([10, 20, 30, 40], [0.5, 0.6, 0.7, 0.8]),
        ([5, 10, 15, 20, 25, 30], [0.4, 0.5, 0.6, 0.7, 0.75, 0.8]),
        ([20, 40, 80, 160, 320], [0.8, 0.79, 0.8, 0.78, 0.77]),
        ([20, 40, 80, 160, 320], [0.8, 0.8001, 0.8002, 0.8003, 0.8004]),
        ([20, 40, 80, 160, 320], [0.99, 0.995, 0.996, 0.997, 0.998]),
    ],
    ids=["nothing", "four points", "30 labels", "falling", "flat", "almost perfect"],
)
def test_nothing_is_said_where_nothing_is_known(n_labels, accuracy):
    assert labels_for_one_point(n_labels, accuracy) is None


def test_points_without_an_estimate_are_left_out():
    n, a = [10, 25, 50, 100, 200, 400], [0.60, 0.68, 0.74, 0.79, 0.83]
    assert labels_for_one_point(n, [float("nan"), *a]) == labels_for_one_point(n[1:], a)
