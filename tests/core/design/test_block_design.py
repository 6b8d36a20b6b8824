import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal

from dropglm.core.design import BlockDesign, Design
from dropglm.core.noise import Dropout, Gaussian, Together
from tests.storages import DESIGNS, binary, real

NOISE = Together((Dropout(0.3), Gaussian(0.7)))


@st.composite
def splits(draw):
    """A matrix, and a design of its columns in several blocks."""
    elements = st.sampled_from([0.0, 0.0, 1.0, 1.0, -2.5, 1e-3, 30.0])
    X = draw(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=elements))
    cuts = sorted(draw(st.sets(st.integers(1, X.shape[1] - 1)))) if X.shape[1] > 1 else []
    parts = np.split(X, cuts, axis=1)
    stores = [DESIGNS[draw(st.sampled_from(sorted(DESIGNS)))] for _ in parts]
    return X, BlockDesign([store(part.copy()) for store, part in zip(stores, parts, strict=True)])


@given(case=splits(), threads=st.integers(1, 2))
def test_any_split_of_the_columns_gives_the_results_of_one_matrix(case, threads):
    X, blocks = case
    blocks.threads = threads
    whole, rng = Design(X), np.random.default_rng(0)
    n, d = X.shape
    beta, direction, centre = rng.normal(size=(3, d))
    slopes, weights, B = rng.normal(size=(n, 2)), rng.random((n, 2)), rng.normal(size=(d, 3))
    assert (blocks.shape, blocks.dtype, blocks.smallest) == (whole.shape, whole.dtype, whole.smallest)
    for one, other in [
        (NOISE.moments(blocks, beta), NOISE.moments(whole, beta)),
        (NOISE.ray(blocks, beta, direction), NOISE.ray(whole, beta, direction)),
        (NOISE.pull_back(blocks, beta, slopes), NOISE.pull_back(whole, beta, slopes)),
        (NOISE.spread(blocks, centre, weights), NOISE.spread(whole, centre, weights)),
        (blocks.dot(B), X @ B),
        (blocks.transposed_dot(slopes), X.T @ slopes),
    ]:
        assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_the_ray_gives_the_moments_of_every_step(rng):
    design = BlockDesign([DESIGNS["csr"](real(rng)), DESIGNS["dense"](binary(rng))])
    beta, direction = rng.normal(size=(2, 12))
    (eta, s2), (u, c, q) = NOISE.moments(design, beta), NOISE.ray(design, beta, direction)
    for step in (0.3, -1.0):
        moved = NOISE.moments(design, beta + step * direction)
        assert_allclose(moved, [eta + step * u, s2 + step * (2 * c + step * q)], atol=1e-12)


def test_blocks_keep_their_numbers_when_others_are_left_out(rng):
    parts = [DESIGNS["csr"](real(rng)), DESIGNS["dense"](binary(rng)), DESIGNS["dense"](real(rng))]
    rest = BlockDesign(parts).without({0})
    assert [(number, columns) for number, columns, _ in rest.blocks] == [(1, slice(0, 6)), (2, slice(6, 12))]
    assert rest.blocks[1].design is parts[2]
    rest.threads = 2
    assert [part.threads for part in parts] == [1, 2, 2]


@pytest.mark.parametrize("count", [1, 3])
def test_sums_over_rows_have_one_share_per_thread(count, rng):
    design = BlockDesign([DESIGNS["csr"](real(rng)), DESIGNS["dense"](binary(rng))])
    design.threads = count

    def add(first, last, out):
        out += np.arange(first, last).sum()

    assert_array_equal(design.sum_over_rows(add, 2, pieces=[(0, 2), (2, 3), (3, 7)]), [21.0, 21.0])
    assert_array_equal(design.sum_over_rows(add, 2), [21.0, 21.0])
