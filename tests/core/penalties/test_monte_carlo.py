import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dropglm import noising_penalty
from dropglm.core.design import Design
from dropglm.core.families import Logistic
from dropglm.core.noise import Gaussian
from dropglm.core.penalties.monte_carlo import MonteCarlo
from tests.storages import real


def sampled(beta, X, **settings):
    return noising_penalty(beta, X, expectation="monte_carlo", **settings)


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
@pytest.mark.parametrize("noises", [{"dropout": 0.5}, {"noise_std": 0.8}, {"dropout": 0.3, "noise_std": 0.5}])
def test_monte_carlo_agrees_with_the_exact_penalty_within_four_standard_errors(family, noises, rng):
    X, beta = real(rng), rng.normal(scale=0.5, size=6)
    exact, gradient = noising_penalty(
        beta, X, family=family, expectation="exact", return_gradient=True, **noises
    )
    draws = [
        sampled(beta, X, family=family, n_samples=200, random_state=seed, return_gradient=True, **noises)
        for seed in range(30)
    ]
    for truth, found in ((exact, [d[0] for d in draws]), (gradient, [d[1] for d in draws])):
        found = np.array(found)
        error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
        assert np.all(np.abs(found.mean(axis=0) - truth) <= 4 * error + 1e-12)


def test_the_same_seed_gives_the_same_function(rng):
    X, beta = real(rng), rng.normal(size=6)
    first = sampled(beta, X, dropout=0.5, random_state=1, return_gradient=True)
    again = sampled(beta, X, dropout=0.5, random_state=1, return_gradient=True)
    other = sampled(beta, X, dropout=0.5, random_state=2)
    assert first[0] == again[0] != other
    assert_array_equal(first[1], again[1])


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_monte_carlo_is_never_negative_even_with_few_copies(family, rng):
    X = real(rng)
    for seed in range(20):
        beta = rng.normal(size=6)
        assert sampled(beta, X, family=family, dropout=0.5, n_samples=1, random_state=seed) >= 0.0


def test_copies_do_not_depend_on_storage_block_or_threads(rng, monkeypatch):
    X, beta = real(rng, n=50), rng.normal(size=6)
    settings = {"dropout": 0.5, "noise_std": 0.2, "n_samples": 20, "random_state": 0}
    monkeypatch.setattr("dropglm.core.penalties.monte_carlo.BLOCK", 60)
    dense = sampled(beta, X, **settings)
    assert_allclose(sampled(beta, sparse.csr_array(X), **settings), dense, rtol=1e-13)
    assert_allclose(sampled(beta, sparse.csc_array(X), n_jobs=2, **settings), dense, rtol=1e-13)


def test_the_cost_of_sparse_rows_depends_on_their_entries_only(rng):
    X = sparse.random_array((20, 2_000_000), density=1e-5, rng=rng, format="csr")
    beta = rng.normal(size=X.shape[1])
    exact = noising_penalty(beta, X, dropout=0.5, expectation="exact")
    found, gradient = sampled(beta, X, dropout=0.5, n_samples=300, random_state=0, return_gradient=True)
    assert found == pytest.approx(exact, rel=0.1)
    assert gradient.shape == beta.shape


def test_every_block_has_its_own_copies(rng, monkeypatch):
    """Ten copies of a row, two per block, have ten different penalties, which change with the seed."""
    monkeypatch.setattr("dropglm.core.penalties.monte_carlo.BLOCK", 12)
    X, beta = np.tile(rng.normal(size=6), (10, 1)), rng.normal(size=6)

    def shares(seed):
        settings = {"dropout": 0.5, "n_samples": 3, "random_state": seed}
        # a weight of 0 would empty the row and so change the blocks
        return [sampled(beta, X, sample_weight=row + 1e-15, **settings) for row in np.eye(10)]

    one, other = shares(1), shares(2)
    for values in (one, other):  # with 3 copies of 6 features two rows may share all masks, but not many do
        assert len({round(value, 9) for value in values}) >= 9
    assert not {round(value, 9) for value in one} & {round(value, 9) for value in other}
    assert sum(one) == pytest.approx(sampled(beta, X, dropout=0.5, n_samples=3, random_state=1))


def test_a_copy_is_no_larger_than_a_block(rng, monkeypatch):
    monkeypatch.setattr("dropglm.core.penalties.monte_carlo.BLOCK", 60)
    sizes = []

    class Recorded(Gaussian):
        def sample(self, X, rng):
            copy = super().sample(X, rng)
            sizes.append(copy.size)
            return copy

    penalty = MonteCarlo(Logistic, Recorded(0.5), n_samples=2)
    penalty.value(Design(real(rng, n=50)), np.ones((6, 1)), np.zeros(1), np.ones(50))
    assert max(sizes) <= 60
    assert sum(sizes) == 2 * 50 * 6


def test_the_copies_differ_without_a_seed(rng):
    X, beta = real(rng), rng.normal(size=6)
    assert sampled(beta, X, dropout=0.5, n_samples=5) != sampled(beta, X, dropout=0.5, n_samples=5)


def test_a_generator_is_accepted_as_seed(rng):
    X, beta = real(rng), rng.normal(size=6)
    values = [sampled(beta, X, dropout=0.5, random_state=np.random.default_rng(0)) for _ in range(2)]
    assert values[0] == values[1]
