"""Singular vectors against dense decompositions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.linalg import subspace_angles

from dropglm.core.latent import orthonormalize, singular_vectors


def decaying(rng, n, d, rank=40, rate=0.8):
    """A matrix whose singular values fall geometrically from 1."""
    U, V = (np.linalg.qr(rng.normal(size=(size, rank)))[0] for size in (n, d))
    return (U * rate ** np.arange(rank)) @ V.T


def sparse_rows(rng, n, d, dtype=np.float64):
    """Sparse rows with a few directions that are more frequent than noise."""
    topics = rng.random((5, d)) < 0.05
    mixture = np.eye(5)[rng.integers(5, size=n)] @ topics
    return sparse.csr_array((rng.random((n, d)) < 0.01 + 0.3 * mixture).astype(dtype))


@given(st.integers(1, 25), st.integers(1, 25), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_small_matrices_are_decomposed_exactly(n, d, k, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    found = singular_vectors(sparse.csr_array(X), k)
    expected = np.linalg.svd(X, compute_uv=False)
    rank = np.count_nonzero(expected > 1e-6 * expected[0])
    V = found.vectors()
    assert len(found.singular_values) == min(k, rank)
    assert_allclose(found.singular_values, expected[: min(k, rank)], atol=1e-7)
    assert_allclose(V.T @ V, np.eye(min(k, rank)), atol=1e-7)
    assert_allclose(found.coordinates, X @ V, atol=1e-9)
    assert_allclose(np.linalg.norm(found.coordinates, axis=0), found.singular_values)


@pytest.mark.parametrize("shape", [(300, 500), (500, 300)], ids=["wide", "tall"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_random_start_finds_the_first_vectors(shape, form, dtype, rng):
    X = decaying(rng, *shape).astype(dtype)
    found = singular_vectors(form(X), 10)
    assert_allclose(found.singular_values, 0.8 ** np.arange(10), rtol=1e-5)
    V = np.linalg.svd(X.astype(float))[2][:10].T
    assert subspace_angles(V, found.vectors().astype(float)).max() < 1e-3
    assert_allclose(found.coordinates, X @ found.vectors(), atol=1e-5)


@pytest.mark.parametrize("shape", [(300, 500), (500, 300)], ids=["wide", "tall"])
def test_more_steps_are_more_exact(shape, rng):
    X = rng.normal(size=shape)  # singular values that hardly fall
    exact = np.linalg.svd(X, compute_uv=False)[:20]
    gaps = [
        np.linalg.norm(exact - singular_vectors(X, 20, steps=steps).singular_values)
        for steps in (2, 4, 8, 16)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 5 * gaps[2] > 25 * gaps[3]


@pytest.mark.parametrize("shape", [(700, 900), (9000, 400)], ids=["wide", "tall"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_threads_do_not_matter(shape, form, rng):
    X = form(sparse_rows(rng, *shape, np.float32).toarray())
    one, three = (singular_vectors(X, 40, threads=threads) for threads in (1, 3))
    again = singular_vectors(X, 40)
    for other in (three, again):
        assert_array_equal(one.singular_values, other.singular_values)
        assert_array_equal(one.coordinates, other.coordinates)
        assert_array_equal(one.vectors(), other.vectors())


def test_the_order_of_rows_and_the_seed_hardly_matter(rng):
    X, order = decaying(rng, 300, 400), rng.permutation(300)
    found = singular_vectors(X, 8)
    for other in (singular_vectors(X[order], 8), singular_vectors(X, 8, seed=1)):
        assert_allclose(other.vectors(), found.vectors(), atol=1e-5)


@pytest.mark.parametrize("shape", [(300, 500), (500, 300)], ids=["wide", "tall"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_low_rank_gives_fewer_vectors(shape, dtype, rng):
    X = decaying(rng, *shape, rank=6).astype(dtype)
    X[5], X[:, 7] = 0.0, 0.0
    found = singular_vectors(sparse.csr_array(X), 20)
    V = found.vectors()
    assert V.shape == (shape[1], 6)
    assert_allclose(found.coordinates @ V.T, X, atol=1e-6)
    assert_allclose(V[7], 0.0, atol=1e-6)
    assert_allclose(found.coordinates[5], 0.0, atol=1e-6)


@pytest.mark.parametrize("size", [127, 128, 143, 144, 145])
def test_spaces_that_almost_are_the_whole_space(size, rng):
    X = rng.normal(size=(size, 200))
    found = singular_vectors(X, 5)
    assert_allclose(found.singular_values, np.linalg.svd(X, compute_uv=False)[:5], rtol=1e-4)


@pytest.mark.parametrize("n", [3, 300])
def test_entries_whose_squares_overflow_are_refused(n):
    with pytest.raises(ValueError, match="their squares overflow"):
        singular_vectors(np.full((n, 400), 1e200), 2)


def test_one_row_and_nothing():
    found = singular_vectors(sparse.csr_array([[0.0, -3.0, 4.0]]), 2)
    assert_allclose(found.singular_values, [5.0])
    assert_allclose(found.vectors(), [[0.0], [-0.6], [0.8]])
    for n in (4, 400):
        assert singular_vectors(sparse.csr_array((n, 300)), 2).vectors().shape == (300, 0)


@pytest.mark.parametrize("shape", [(300, 500), (500, 300)], ids=["wide", "tall"])
def test_fold_back_is_the_product_with_the_vectors(shape, rng):
    found = singular_vectors(sparse_rows(rng, *shape), 12)
    beta = rng.normal(size=(12, 3))
    assert_allclose(found.fold_back(beta), found.vectors() @ beta, atol=1e-10)


def test_the_basis_of_many_slices_is_orthonormal(rng):
    """Also if the columns are nearly dependent."""
    W = rng.normal(size=(9000, 6))
    W[:, 3:] = W[:, :3] + 1e-9 * W[:, 3:]
    Q = W.copy()
    R = orthonormalize(Q, threads=2)
    assert_allclose(Q.T @ Q, np.eye(6), atol=1e-12)
    assert_allclose(Q @ R, W, atol=1e-12)
