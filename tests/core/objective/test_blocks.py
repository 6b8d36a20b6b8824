"""Objectives of features in two blocks, one sparse and one dense, with different noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from dropglm.core.design import BlockDesign, Design
from dropglm.core.noise import Dropout, Gaussian, NoiseByBlock, Together
from tests.core.objective.cases import CASES, objective_of, somewhere
from tests.oracles import central_difference

NOISES = (Dropout(0.4), Together((Dropout(0.2), Gaussian(0.3))))
FIRST = slice(0, 2)

# The exact kernels are compiled for each pair of storages, which takes long; tests/core/penalties has them.
every_case = pytest.mark.parametrize(
    ("expectation", "family"), [case for case in CASES if case[0] != "exact" or case[1] == "linear"]
)


def store(X):
    return BlockDesign([Design(sparse.csr_array(X[:, FIRST])).by_columns(), Design(X[:, 2:].copy())])


def blocks(expectation, family, rng, **settings):
    return objective_of(expectation, family, rng, store=store, noise=NoiseByBlock(NOISES), **settings)


@every_case
def test_the_gradient_is_the_slope_of_the_value(expectation, family, rng):
    objective = blocks(expectation, family, rng)
    theta, direction = somewhere(objective, rng), somewhere(objective, rng)
    slope = central_difference(lambda h: objective.at(theta + h * direction).value, 1e-3)
    assert_allclose(objective.at(theta).gradient @ direction, slope, rtol=1e-7)


@every_case
def test_consecutive_lines_agree_with_evaluations(expectation, family, rng):
    objective = blocks(expectation, family, rng, threads=2)
    point = objective.at(somewhere(objective, rng))
    for _ in range(3):
        direction = somewhere(objective, rng, 0.1)
        line = objective.along(point, direction)
        value, slope = line.value_and_slope(0.7)
        there = objective.at(point.theta + 0.7 * direction)
        assert_allclose([value, slope], [there.value, there.gradient @ direction], rtol=1e-9)
        point = line.arrive(0.5)
    fresh = objective.at(point.theta)
    assert_allclose(point.value, fresh.value, rtol=1e-12)
    assert_allclose(point.gradient, fresh.gradient, rtol=1e-9, atol=1e-11)


@every_case
def test_the_preconditioner_of_a_block_is_that_of_its_noise_in_one_matrix(expectation, family):
    """The Fisher information of a feature depends on the other features only through the predictors."""

    def preconditioner(**settings):
        rng = np.random.default_rng(0)  # the same rows and coefficients for all
        objective = objective_of(expectation, family, rng, **settings)
        theta = somewhere(objective, rng)
        return objective.preconditioner(objective.at(theta))[: objective.l2.size].reshape(objective.l2.shape)

    found = preconditioner(store=store, noise=NoiseByBlock(NOISES))
    assert_allclose(found[FIRST], preconditioner(noise=NOISES[0])[FIRST], rtol=1e-12)
    assert_allclose(found[2:], preconditioner(noise=NOISES[1])[2:], rtol=1e-12)
