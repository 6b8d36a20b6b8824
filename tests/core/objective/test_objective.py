import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dropglm import noising_penalty
from dropglm.core.design import Design
from dropglm.core.families import FAMILIES
from dropglm.core.objective import Labels, Objective, WeightedRows, semi_supervised
from tests.core.objective.cases import CASES, NOISE, objective_of, penalty_of, somewhere, targets
from tests.oracles import central_difference
from tests.storages import DESIGNS, real

every_case = pytest.mark.parametrize(("expectation", "family"), CASES)
# A row that occurs twice, or in another block, has different noised copies.
unsampled_case = pytest.mark.parametrize(
    ("expectation", "family"),
    [(expectation, family) for expectation, family in CASES if expectation != "monte_carlo"],
)
penalised_case = pytest.mark.parametrize(
    ("expectation", "family"),
    [(expectation, family) for expectation, family in CASES if expectation not in ("monte_carlo", "none")],
)


@every_case
@pytest.mark.parametrize("store", DESIGNS.values(), ids=DESIGNS)
def test_the_gradient_is_the_slope_of_the_value(expectation, family, store, rng):
    objective = objective_of(expectation, family, rng, store=store)
    theta, direction = somewhere(objective, rng), somewhere(objective, rng)
    slope = central_difference(lambda h: objective.at(theta + h * direction).value, 1e-3)
    assert_allclose(objective.at(theta).gradient @ direction, slope, rtol=1e-7)


@every_case
def test_a_line_equals_the_objective_along_it(expectation, family, rng):
    objective = objective_of(expectation, family, rng)
    theta, direction = somewhere(objective, rng), somewhere(objective, rng)
    line = objective.along(objective.at(theta), direction)
    for step in (0.0, 0.7, -0.4, 1.3):
        value, slope = line.value_and_slope(step)
        there = objective.at(theta + step * direction)
        assert_allclose([value, slope], [there.value, there.gradient @ direction], rtol=1e-9)
    for step in (1.3, 0.2):  # looked at last, and not looked at
        arrived, there = line.arrive(step), objective.at(theta + step * direction)
        assert_allclose(arrived.theta, there.theta, rtol=1e-14)
        assert_allclose(arrived.value, there.value, rtol=1e-12)
        assert_allclose(arrived.gradient, there.gradient, rtol=1e-9, atol=1e-11)


@every_case
def test_consecutive_lines_agree_with_evaluations(expectation, family, rng):
    """A line that starts where another one ended gives the same values as a new one."""
    objective = objective_of(expectation, family, rng)
    point = objective.at(somewhere(objective, rng))
    for _ in range(3):
        point = objective.along(point, somewhere(objective, rng, 0.1)).arrive(0.5)
    fresh = objective.at(point.theta)
    assert_allclose(point.value, fresh.value, rtol=1e-12)
    assert_allclose(point.gradient, fresh.gradient, rtol=1e-9, atol=1e-11)


@penalised_case
def test_the_value_is_loss_penalty_discounted_penalty_and_ridge(expectation, family, rng):
    X, X_unlabeled = 0.5 * real(rng, n=9), 0.5 * real(rng, n=5)
    y, w, v = targets(family, 9, rng), rng.uniform(0.5, 2, 9), rng.uniform(0.5, 2, 5)
    K, alpha = y.shape[1], 0.3
    labeled, unlabeled = WeightedRows(Design(X), w, Labels(y, w)), WeightedRows(Design(X_unlabeled), v)
    ridge = rng.uniform(0.1, 1.0, size=(6, K))
    objective = Objective.of_rows(
        semi_supervised(labeled, unlabeled, alpha), FAMILIES[family], penalty_of(expectation, family), ridge
    )
    beta, b = 0.3 * rng.normal(size=(6, K)), 0.2 * rng.normal(size=K)

    eta = X @ beta + b
    if family == "linear":
        losses = 0.5 * (y - eta)[:, 0] ** 2
    elif family == "poisson":
        losses = (np.exp(eta) - y * eta + np.where(y > 0, y * np.log(np.maximum(y, 1)), 0) - y)[:, 0]
    elif family == "logistic":
        losses = -np.log(np.where(y == 1, 1 / (1 + np.exp(-eta)), 1 / (1 + np.exp(eta))))[:, 0]
    else:
        p = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
        losses = -np.log((p * y).sum(axis=1))

    def R(rows, weights):
        coef = beta.T if K > 1 else beta[:, 0]
        settings = {"dropout": 0.4, "noise_std": 0.3, "family": family, "expectation": expectation}
        return noising_penalty(coef, rows, intercept=b, sample_weight=weights, **settings)

    n, m = w.sum(), v.sum()
    penalty = n / (n + alpha * m) * (R(X, w) + alpha * R(X_unlabeled, v))
    truth = w @ losses + penalty + 0.5 * (ridge * beta**2).sum()
    assert_allclose(objective.at(objective.join(beta, b)).value, truth, rtol=1e-12)


@every_case
def test_the_loss_is_zero_for_a_perfect_fit_and_never_negative(expectation, family, rng):
    objective = objective_of(expectation, family, rng)
    for scale in (0.0, 0.3, 2.0):
        assert objective.at(somewhere(objective, rng, scale)).value >= 0.0


@unsampled_case
def test_a_weight_of_two_equals_a_repeated_row_also_without_labels(expectation, family, rng):
    X, X_unlabeled, y = 0.4 * real(rng), 0.4 * real(rng, n=5), targets(family, 7, rng)
    ridge = np.ones((6, y.shape[1]))

    def objective(rows, unlabeled_rows, w, v):
        blocks = semi_supervised(
            WeightedRows(Design(X[rows]), w, Labels(y[rows], w)),
            WeightedRows(Design(X_unlabeled[unlabeled_rows]), v),
            0.5,
        )
        return Objective.of_rows(blocks, FAMILIES[family], penalty_of(expectation, family), ridge)

    weighted = objective(
        np.arange(7), np.arange(5), np.array([2.0, 1, 1, 1, 3, 1, 1]), np.array([1.0, 2, 1, 1, 1])
    )
    repeated = objective([0, 0, 1, 2, 3, 4, 4, 4, 5, 6], [0, 1, 1, 2, 3, 4], np.ones(10), np.ones(6))
    theta = somewhere(weighted, rng)
    one, other = weighted.at(theta), repeated.at(theta)
    assert_allclose(one.value, other.value, rtol=1e-12)
    assert_allclose(one.gradient, other.gradient, rtol=1e-10, atol=1e-12)
    assert_allclose(weighted.preconditioner(one), repeated.preconditioner(other), rtol=1e-12)


@unsampled_case
def test_the_objective_is_a_sum_over_blocks(expectation, family, rng):
    X, y, w = 0.4 * real(rng, n=8), targets(family, 8, rng), rng.uniform(1, 2, 8)
    ridge = np.ones((6, y.shape[1]))

    def objective(*cuts):
        blocks = [WeightedRows(Design(X[rows]), w[rows], Labels(y[rows], w[rows])) for rows in cuts]
        return Objective.of_rows(blocks, FAMILIES[family], penalty_of(expectation, family), ridge)

    whole, cut = objective(slice(None)), objective(slice(0, 3), slice(3, 8))
    theta = somewhere(whole, rng)
    assert_allclose(whole.at(theta).value, cut.at(theta).value, rtol=1e-12)
    assert_allclose(whole.at(theta).gradient, cut.at(theta).gradient, rtol=1e-10, atol=1e-12)


@unsampled_case
def test_the_preconditioner_is_the_hessians_diagonal_at_zero(expectation, family, rng):
    """At β = 0 and b = 0 only the second-order term of the noise remains."""
    objective = objective_of(expectation, family, rng)
    theta = np.zeros(objective.l2.size + objective.l2.shape[1])
    found = objective.preconditioner(objective.at(theta))
    for j, unit in enumerate(np.eye(len(theta))):
        bend = central_difference(lambda h: objective.at(theta + h * unit).gradient[j], 1e-3)
        assert_allclose(found[j], bend, rtol=1e-6)


def test_a_discount_of_zero_leaves_the_unlabelled_rows_out(rng):
    w = np.ones(3)
    labeled = WeightedRows(Design(np.eye(3)), w, Labels(np.eye(3)[:, :1], w))
    unlabeled = WeightedRows(Design(np.eye(3)), w)
    assert semi_supervised(labeled, unlabeled, 0.0) == [labeled]
    assert semi_supervised(labeled, None, 0.7) == [labeled]
    shares = [block.penalty_weights for block in semi_supervised(labeled, unlabeled, 0.5)]
    assert_allclose(shares, [np.full(3, 2 / 3), np.full(3, 1 / 3)])


def test_a_fixed_intercept_has_no_gradient(rng):
    objective = objective_of("gaussian", "logistic", rng, fit_intercept=False)
    assert objective.at(somewhere(objective, rng)).gradient[-1] == 0.0


def test_threads_do_not_change_the_result(rng):
    one, two = (
        objective_of("gaussian", "logistic", np.random.default_rng(5), threads=k, store=_columns)
        for k in (1, 2)
    )
    theta, direction = somewhere(one, rng), somewhere(one, rng)
    ends = [objective.along(objective.at(theta), direction).arrive(0.5) for objective in (one, two)]
    assert ends[0].value == ends[1].value
    assert_array_equal(ends[0].gradient, ends[1].gradient)


def _columns(X):
    return Design(sparse.csr_array(X)).by_columns()


def test_passes_over_the_rows_are_counted(rng):
    """A step needs one pass for its direction and one for its gradient, on each of two blocks."""
    objective = objective_of("gaussian", "logistic", rng)
    point = objective.at(somewhere(objective, rng))
    before = objective.passes
    line = objective.along(point, somewhere(objective, rng))
    for step in np.linspace(0.1, 2.0, 20):
        line.value_and_slope(step)
    line.arrive(2.0)
    assert objective.passes - before == 2 * 2


def test_the_variance_is_not_negative_where_all_coefficients_vanish():
    """s² - 2s² + s² is 0 but for rounding, which has either sign."""
    rng = np.random.default_rng(3)
    X, y, w = rng.normal(size=(300, 6)), np.ones((300, 1)), np.ones(300)
    objective = Objective.of_rows(
        [WeightedRows(Design(X), w, Labels(y, w))],
        FAMILIES["logistic"],
        penalty_of("gaussian", "logistic"),
        np.ones((6, 1)),
    )
    point = objective.at(somewhere(objective, rng))
    end = objective.along(point, -point.theta).arrive(1.0)
    assert end.term_values[0].s2.min() >= 0.0


def test_noise_of_strength_zero_gives_no_penalty(rng):
    assert NOISE.parts
    plain = objective_of("none", "logistic", rng, discount=0.0)
    assert len(plain.terms) == 1
