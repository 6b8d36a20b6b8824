"""L-BFGS on parabolas and on the objectives of fits, its memory, and its line search."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dropglm.core.solvers import CURVATURE, DESCENT, LBFGS, Memory, Status, find_step
from tests.core.objective.cases import CASES, objective_of, somewhere


@dataclass
class Place:
    theta: np.ndarray
    value: float
    gradient: np.ndarray


class Parabola:
    """½ (θ - c)ᵀ H (θ - c): no GLM, and all that a solver needs."""

    def __init__(self, H, centre, constant=0.0):
        self.H, self.centre, self.constant = H, centre, constant
        self.passes = 0

    def at(self, theta):
        self.passes += 1
        gradient = self.H @ (theta - self.centre)
        value = self.constant + 0.5 * (theta - self.centre) @ gradient
        return Place(theta, value, gradient.astype(theta.dtype))

    def along(self, point, direction):
        return ParabolaRay(self, point, direction)

    def preconditioner(self, point):
        return np.diag(self.H).astype(point.theta.dtype)


class ParabolaRay:
    def __init__(self, parabola, point, direction):
        self.parabola, self.point, self.direction = parabola, point, direction

    def value_and_slope(self, step):
        place = self.arrive(step)
        return place.value, float(place.gradient @ self.direction)

    def arrive(self, step):
        moved = (self.point.theta + step * self.direction).astype(self.point.theta.dtype)
        return self.parabola.at(moved)


def parabola(rng, d=20, **options):
    root = rng.normal(size=(d, d)) * np.exp(rng.normal(size=d))
    return Parabola(root.T @ root + np.eye(d), rng.normal(size=d), **options)


def test_the_minimum_of_a_parabola_is_found(rng):
    function = parabola(rng, constant=1.0)
    theta, result = LBFGS(tol=1e-9).minimize(function, np.zeros(20))
    assert result.status is Status.CONVERGED
    assert_allclose(theta, function.centre, atol=1e-6)
    assert result.objective == pytest.approx(1.0)
    assert result.passes == function.passes


def test_a_perfect_fit_terminates(rng):
    """At a minimum of 0 no gradient is small relative to the objective."""
    function = parabola(rng)
    theta, result = LBFGS(tol=1e-4).minimize(function, np.zeros(20))
    assert result.status is Status.CONVERGED
    assert_allclose(theta, function.centre, atol=1e-6)


def test_a_start_at_the_minimum_stays_there(rng):
    function = parabola(rng, constant=1.0)
    theta, result = LBFGS().minimize(function, function.centre.copy())
    assert (result.status, result.n_iter) == (Status.CONVERGED, 0)
    assert_array_equal(theta, function.centre)


def test_a_start_within_the_tolerance_is_left_if_iterations_are_asked_for(rng):
    function = parabola(rng, constant=1.0)
    for min_iter in (0, 1):
        _, result = LBFGS(tol=1e-2, min_iter=min_iter).minimize(function, function.centre + 1e-6)
        assert (result.status, result.n_iter) == (Status.CONVERGED, min_iter)


def test_the_history_records_every_iteration(rng):
    function = parabola(rng, constant=1.0)
    theta, result = LBFGS(tol=1e-6).minimize(function, np.zeros(20))
    assert {len(column) for column in result.history} == {result.n_iter + 1}
    assert np.all(np.diff(result.history.objective) < 0)
    assert result.history.objective[-1] == result.objective == function.at(theta).value
    assert result.history.gradient_norm[-1] == result.gradient_norm <= 1e-6
    gradient = function.at(theta).gradient
    truth = np.sqrt(gradient @ (gradient / np.diag(function.H)) / (2 * result.objective))
    assert result.gradient_norm == pytest.approx(truth)


def test_a_callback_stops_the_solver(rng):
    function = parabola(rng, constant=1.0)
    _, result = LBFGS(tol=0.0, max_iter=3).minimize(function, np.zeros(20))
    assert (result.status, result.n_iter) == (Status.MAX_ITER, 3)
    seen = []

    def callback(number, point):
        seen.append((number, point.value))
        return number == 2

    _, result = LBFGS(tol=0.0).minimize(function, np.zeros(20), callback)
    assert (result.status, result.n_iter) == (Status.CALLBACK, 2)
    assert [number for number, _ in seen] == [1, 2]
    assert [value for _, value in seen] == list(result.history.objective[1:])


def test_the_status_is_stalled_where_rounding_hides_the_descent(rng):
    class Rounded(Parabola):
        def at(self, theta):
            place = super().at(theta)
            return Place(theta, round(place.value, 2), place.gradient)

    exact = parabola(rng)
    _, result = LBFGS(tol=1e-9).minimize(Rounded(exact.H, exact.centre, constant=1.0), np.zeros(20))
    assert result.status is Status.STALLED
    assert result.objective == 1.0


def test_the_preconditioner_is_recomputed_on_the_way_and_before_the_end(rng):
    seen = []

    class Watched(Parabola):
        def preconditioner(self, point):
            seen.append(self.passes)
            return super().preconditioner(point)

    exact = parabola(rng, d=40)
    _, result = LBFGS(tol=1e-9).minimize(Watched(exact.H, exact.centre, constant=1.0), np.zeros(40))
    assert result.status is Status.CONVERGED
    refreshed = sum(number <= result.n_iter for number in (5, 10, 20, 40, 80, 160))
    assert refreshed >= 3
    assert len(seen) == 1 + refreshed + (result.n_iter not in (5, 10, 20, 40, 80, 160))


def test_an_infinite_start_is_an_error():
    function = Parabola(np.eye(2), np.array([np.inf, 0.0]))
    with pytest.raises(ValueError, match="not finite at the start"), np.errstate(invalid="ignore"):
        LBFGS().minimize(function, np.zeros(2))


def test_float32_input_gives_float32_output(rng):
    function = parabola(rng, constant=1.0)
    theta, result = LBFGS(tol=1e-3).minimize(function, np.zeros(20, np.float32))
    assert theta.dtype == np.float32
    assert result.status is Status.CONVERGED


@pytest.mark.parametrize(("expectation", "family"), CASES)
def test_every_objective_is_minimised(expectation, family, rng):
    """The gradient at the solution is nearly zero."""
    objective = objective_of(expectation, family, rng)
    theta, result = LBFGS(tol=1e-9).minimize(objective, 0.0 * somewhere(objective, rng))
    assert result.status is Status.CONVERGED
    assert np.abs(objective.at(theta).gradient).max() <= 1e-6


def two_loops(pairs, g, inverse):
    """Nocedal's two-loop recursion, as in the textbook."""
    q, alphas = g.copy(), []
    for s, y in reversed(pairs):
        alphas.append(s @ q / (s @ y))
        q -= alphas[-1] * y
    s, y = pairs[-1] if pairs else (1.0, 1.0)
    z = inverse * q * ((s @ y) / (y @ (inverse * y)) if pairs else 1.0)
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        z += (alpha - y @ z / (s @ y)) * s
    return -z


@pytest.mark.parametrize("length", [1, 3, 8])
def test_the_direction_equals_that_of_the_two_loop_recursion(length, rng):
    H = parabola(rng).H
    inverse, g = 1 / np.diag(H), rng.normal(size=20)
    memory, pairs = Memory(np.diag(H), g, length), []
    for k in range(7):
        direction, slope = memory.direction().copy(), memory.slope
        assert_allclose(direction, two_loops(pairs, g, inverse), rtol=1e-7, atol=1e-9)
        assert slope == pytest.approx(g @ direction)
        new = g + H @ (0.3 * direction)
        memory.update(0.3, new)
        pairs = [*pairs, (0.3 * direction, new - g)][-length:]
        g = new
        if k == 4:
            inverse = rng.uniform(0.5, 2.0, size=20)
            memory.change_metric(1 / inverse)
        assert memory.gg == pytest.approx(g @ (inverse * g))


def test_a_pair_of_negative_curvature_is_not_stored(rng):
    g = rng.normal(size=5)
    memory = Memory(np.ones(5), g, 3)
    direction = memory.direction().copy()
    memory.update(1.0, g - 2.0 * direction)
    assert memory.slots == []
    assert_allclose(memory.direction().copy(), -(g - 2.0 * direction))


def test_a_full_memory_loses_only_its_oldest_pair_when_a_pair_is_rejected(rng):
    H = np.diag(rng.uniform(1, 3, size=6))
    g = rng.normal(size=6)
    memory = Memory(np.ones(6), g, 3)
    for k in range(8):
        direction = memory.direction().copy()
        bend = -1.0 if k == 4 else 1.0
        g = g + bend * H @ (0.3 * direction)
        memory.update(0.3, g)
        assert len(set(memory.slots)) == len(memory.slots)
        pairs = [(memory.s[i], memory.y[i]) for i in memory.slots]
        assert_allclose(memory.direction().copy(), two_loops(pairs, g, np.ones(6)), rtol=1e-7, atol=1e-9)


def test_long_vectors_are_processed_in_pieces(rng, monkeypatch):
    monkeypatch.setattr("dropglm.core.maths.vectors.PIECE", 100)
    H, g = rng.uniform(1, 5, size=5000), rng.normal(size=5000)
    ends = []
    for threads in (1, 2):
        memory, gradient, pairs = Memory(H, g, 4, threads), g, []
        for _ in range(6):
            direction = memory.direction().copy()
            new = gradient + (H + 1) * 0.5 * direction
            memory.update(0.5, new)
            pairs = [*pairs, (0.5 * direction, new - gradient)][-4:]
            gradient = new
        ends.append(memory.direction().copy())
        assert_allclose(ends[-1], two_loops(pairs, gradient, 1 / H), rtol=1e-6, atol=1e-12)
    assert_array_equal(*ends)


class Kept:
    """The last state, and an error after so many iterations."""

    def __init__(self, stop=None):
        self.stop, self.state = stop, None

    def load(self):
        return self.state

    def save(self, state):
        self.state = state
        if len(state["seen"]) - 1 == self.stop:
            raise InterruptedError


@pytest.mark.parametrize("stop", [1, 5, 11])
def test_a_run_that_was_stopped_is_continued(rng, stop):
    """After any iteration, also one that computed the preconditioner anew or replaced a pair."""
    function, start = parabola(rng, constant=1.0), np.zeros(20)
    solver = LBFGS(tol=1e-9, memory=4)
    expected, result = solver.minimize(function, start)
    kept = Kept(stop)
    with pytest.raises(InterruptedError):
        solver.minimize(function, start, store=kept)
    kept.stop = None
    theta, continued = solver.minimize(function, start, store=kept)
    assert_allclose(theta, expected, rtol=1e-10, atol=1e-12)
    assert (continued.n_iter, continued.status) == (result.n_iter, result.status)
    assert_allclose(continued.history.objective, result.history.objective)
    assert continued.passes == result.passes + 1


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
    step = find_step(ray, *ray.value_and_slope(0.0), first)
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
        assert_wolfe(ray, find_step(ray, value, slope))


def test_there_is_no_step_uphill():
    assert find_step(Ray(lambda t: t, lambda t: 1.0), 0.0, 1.0) is None
    assert find_step(Ray(lambda t: t, lambda t: 1.0), 0.0, float("nan")) is None


def test_a_wrong_slope_is_detected():
    """The value never decreases, although the slope at the start is negative."""
    assert find_step(Ray(lambda t: 1.0 + t, lambda t: 1.0), 1.0, -1.0) is None


def test_a_flat_point_with_little_descent_is_not_accepted():
    """φ = -t + a t² + b t³ with φ(1) = -1e-5 and φ'(1) = 0: flat at the first try, but not low."""
    a, b = 1.99997, -0.99998
    ray = Ray(lambda t: -t + a * t**2 + b * t**3, lambda t: -1 + 2 * a * t + 3 * b * t**2)
    assert ray.value_and_slope(1.0) == pytest.approx((-1e-5, 0.0), abs=1e-12)
    step = find_step(ray, 0.0, -1.0)
    assert step != 1.0
    assert_wolfe(ray, step)
