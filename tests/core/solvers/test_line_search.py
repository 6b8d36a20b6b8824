import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm.core.solvers.line_search import CURVATURE, DESCENT, search


class Ray:
    """A function of the step, with its derivative."""

    def __init__(self, value, slope):
        self.value, self.slope = value, slope
        self.trials = []

    def value_and_slope(self, step):
        self.trials.append(step)
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.value(step)), float(self.slope(step))


RAYS = {
    "parabola": (lambda t: (t - 3) ** 2, lambda t: 2 * (t - 3)),
    "far minimum": (lambda t: (t - 3000) ** 2, lambda t: 2 * (t - 3000)),
    "near minimum": (lambda t: (t - 1e-4) ** 2, lambda t: 2 * (t - 1e-4)),
    "wall": (lambda t: np.exp(900 * t) - 1e3 * t, lambda t: 900 * np.exp(900 * t) - 1e3),
    "quartic": (lambda t: (t - 2) ** 4, lambda t: 4 * (t - 2) ** 3),
    "wavy": (lambda t: -t / (t**2 + 2), lambda t: (t**2 - 2) / (t**2 + 2) ** 2),
    "softplus": (lambda t: np.logaddexp(0, t - 9) - 0.3 * t, lambda t: 1 / (1 + np.exp(9 - t)) - 0.3),
}


def assert_wolfe(ray, step):
    (start, slope), (value, end) = ray.value_and_slope(0.0), ray.value_and_slope(step)
    assert value <= start + DESCENT * step * slope + 1e-13 * abs(start)
    assert abs(end) <= CURVATURE * abs(slope)


@pytest.mark.parametrize("first", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("name", RAYS)
def test_the_step_satisfies_the_wolfe_conditions(name, first):
    ray = Ray(*RAYS[name])
    step = search(ray, *ray.value_and_slope(0.0), first)
    assert ray.trials[-1] == step  # where it looked last, so that arriving costs nothing more
    assert_wolfe(ray, step)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(-3, 3))
def test_convex_functions_of_any_scale(bend, minimum, tilt):
    ray = Ray(
        lambda t: bend * ((t / minimum - 1) ** 2 + np.logaddexp(0, tilt * (t / minimum - 1))),
        lambda t: bend / minimum * (2 * (t / minimum - 1) + tilt / (1 + np.exp(-tilt * (t / minimum - 1)))),
    )
    value, slope = ray.value_and_slope(0.0)
    if slope < 0:
        assert_wolfe(ray, search(ray, value, slope))


def test_there_is_no_step_uphill():
    assert search(Ray(lambda t: t, lambda t: 1.0), 0.0, 1.0) is None
    assert search(Ray(lambda t: t, lambda t: 1.0), 0.0, float("nan")) is None


def test_a_wrong_slope_is_detected():
    """The value never decreases, although the slope at the start is negative."""
    assert search(Ray(lambda t: 1.0 + t, lambda t: 1.0), 1.0, -1.0) is None


def test_a_flat_point_with_little_descent_is_not_accepted():
    """φ = -t + a t² + b t³ with φ(1) = -1e-5 and φ'(1) = 0: flat at the first try, but not low."""
    a, b = 1.99997, -0.99998
    ray = Ray(lambda t: -t + a * t**2 + b * t**3, lambda t: -1 + 2 * a * t + 3 * b * t**2)
    assert ray.value_and_slope(1.0) == pytest.approx((-1e-5, 0.0), abs=1e-12)
    step = search(ray, 0.0, -1.0)
    assert step != 1.0
    assert_wolfe(ray, step)
