"""Penalties of features in several blocks, each with its own storage and noise."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from dropglm import Blocks
from dropglm.core.design import BlockDesign, Design
from dropglm.core.families import FAMILIES
from dropglm.core.noise import NO_NOISE, Dropout, Gaussian, NoiseByBlock, Together
from dropglm.core.penalties import EXPECTATIONS
from dropglm.core.penalties.monte_carlo import MonteCarlo
from tests.oracles import central_difference, enumerated, softplus
from tests.storages import binary, real

STORAGES = {
    "dense": lambda rng: Design(real(rng, d=3)),
    "csr": lambda rng: Design(sparse.csr_array(real(rng, d=4))).by_columns(),
    "binary": lambda rng: Design(sparse.csr_array(binary(rng, d=5))),
}
NOISES = {
    "dropout": Dropout(0.4),
    "additive": Gaussian(0.5),
    "both": Together((Dropout(0.3), Gaussian(0.4))),
    "none": NO_NOISE,
}
# Three noises such that every two blocks meet every two noises.
TRIPLES = [(list(NOISES)[i], list(NOISES)[j], list(NOISES)[(i + j) % 4]) for i in range(4) for j in range(4)]
PENALTIES = {
    f"{name} {family}": (expectation.penalty_class(FAMILIES[family]), FAMILIES[family])
    for name, expectation in EXPECTATIONS.items()
    for family in FAMILIES
    if expectation.penalty_class(FAMILIES[family])
}


def build(name, noise):
    penalty, family = PENALTIES[name]
    settings = {"n_samples": 5, "seed": 3} if issubclass(penalty, MonteCarlo) else {}
    return penalty(family, noise, **settings), 3 if family.several else 1


def coefficients(rng, d, K):
    beta, direction = rng.normal(scale=0.5, size=(2, d, K))
    return beta, direction, rng.normal(scale=0.3, size=K)


@pytest.mark.parametrize("noises", TRIPLES, ids=" ".join)
@pytest.mark.parametrize("name", PENALTIES)
def test_the_gradient_is_the_slope_for_every_noise_of_every_block(name, noises, rng):
    """The blocks have different storages, so every storage meets every noise."""
    design = BlockDesign([store(rng) for store in STORAGES.values()])
    penalty, K = build(name, NoiseByBlock(tuple(NOISES[noise] for noise in noises)))
    beta, direction, b = coefficients(rng, 12, K)
    weights = rng.uniform(0.5, 2.0, size=7)
    value, slopes = penalty.value_and_gradient(design, beta, b, weights)
    assert_allclose(penalty.value(design, beta, b, weights), value, rtol=1e-12, atol=1e-12)
    slope = central_difference(lambda h: penalty.value(design, beta + h * direction, b, weights), 1e-3)
    assert_allclose(np.sum(slopes.beta * direction), slope, rtol=1e-6, atol=1e-7)
    slope = central_difference(lambda h: penalty.value(design, beta, b + h, weights), 1e-3)
    assert_allclose(slopes.intercept.sum(), slope, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", [name for name in PENALTIES if "monte_carlo" not in name])  # other samples
def test_the_same_noise_in_every_block_is_that_of_one_matrix(name, rng):
    parts = [store(rng) for store in STORAGES.values()]
    joined = Design(np.hstack([part.csr_rows(0, 7).toarray() for part in parts]))
    noise = NOISES["both"]
    penalty, K = build(name, NoiseByBlock((noise,) * len(parts)))
    beta, _, b = coefficients(rng, joined.shape[1], K)
    answers = [
        build(name, its_noise)[0].value_and_gradient(design, beta, b, np.ones(7))
        for design, its_noise in [
            (joined, noise),
            (BlockDesign(parts), noise),
            (BlockDesign(parts), penalty.noise),
        ]
    ]
    for value, slopes in answers[1:]:
        assert_allclose(value, answers[0][0], rtol=1e-12)
        assert_allclose(slopes.beta, answers[0][1].beta, rtol=1e-9, atol=1e-12)
        assert_allclose(slopes.intercept, answers[0][1].intercept, rtol=1e-9, atol=1e-12)


def test_the_exact_penalty_of_two_dropout_rates_is_the_mean_over_all_masks(rng):
    """Each mask of the second block is an intercept of the first; the third block has no noise."""
    A, B, C = rng.normal(size=(7, 3)), rng.normal(size=(7, 2)), binary(rng, d=4)
    beta, b = rng.normal(size=9), 0.3
    design = BlockDesign([Design(A), Design(sparse.csr_array(B)), Design(sparse.csr_array(C))])
    penalty, _ = build("exact logistic", NoiseByBlock((Dropout(0.4), Dropout(0.2), NO_NOISE)))
    truth = 0.0
    for x, second, third in zip(A, B * beta[3:5], C @ beta[5:], strict=True):
        truth -= softplus(b + x @ beta[:3] + second.sum() + third)
        for mask in product((False, True), repeat=2):
            chance = np.where(mask, 0.8, 0.2).prod()
            shift = b + third + np.where(mask, second / 0.8, 0.0).sum()
            increase = enumerated(softplus, x[None], beta[:3], intercept=shift, dropout=0.4)[0]
            truth += chance * (increase + softplus(shift + x @ beta[:3]))
    assert_allclose(penalty.value(design, beta[:, None], np.array([b]), np.ones(7)), truth, rtol=1e-9)


def test_copies_of_blocks_have_the_stated_variance(rng):
    A, B, beta = rng.normal(size=(4, 3)), rng.normal(size=(4, 2)), rng.normal(size=5)
    noise = NoiseByBlock((Dropout(0.4), Gaussian(0.7)))
    predictors = np.array([noise.sample(Blocks(sparse.csr_array(A), B), rng) @ beta for _ in range(10_000)])
    s2 = noise.variance(BlockDesign([Design(A), Design(B)]), beta)
    assert_allclose(predictors.var(axis=0), s2, rtol=0.1)
    assert_allclose(predictors.mean(axis=0), A @ beta[:3] + B @ beta[3:], atol=0.1)
