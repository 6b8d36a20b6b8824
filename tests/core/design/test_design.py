import os
import subprocess
import sys
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dropglm.base import threads
from dropglm.core.design import Design, frequency_order
from dropglm.core.design.storage import BinaryRows, CsrRows, DenseRows
from tests.storages import DESIGNS, MATRICES, binary, real


def check_verbs(design, X, beta, rng, rtol=1e-12):
    """Every operation agrees with its definition."""
    n, d = X.shape
    eta, t = design.moments(beta)
    assert_allclose(eta, X @ beta, rtol=rtol, atol=rtol)
    assert_allclose(t, X**2 @ beta**2, rtol=rtol, atol=rtol)

    slopes = rng.normal(size=(n, 2))
    truth = X.T @ slopes[:, 0] + 2 * beta * (X.T**2 @ slopes[:, 1])
    assert_allclose(design.backward(beta, slopes), truth, rtol=rtol, atol=rtol)

    direction = rng.normal(size=d).astype(beta.dtype)
    truth = [X @ direction, X**2 @ (beta * direction), X**2 @ direction**2]
    ray = design.add_ray(beta, direction, 1.0, np.zeros((3, n)))
    assert_allclose(ray, truth, rtol=rtol, atol=rtol)
    assert_allclose(
        design.add_ray(beta, direction, 2.0, ray),
        [2 * truth[0], 3 * truth[1], 3 * truth[2]],
        rtol=rtol,
        atol=rtol,
    )
    assert_allclose(design.transposed_dot(slopes), X.T @ slopes, rtol=rtol, atol=rtol)
    centre, weights = rng.normal(size=d).astype(beta.dtype), rng.random((n, 2))
    truth = ((X - centre) ** 2).T @ weights[:, 0] + X.T**2 @ weights[:, 1]
    assert_allclose(design.spread(centre, weights), truth, rtol=rtol, atol=rtol)
    assert design.smallest == min(X.min(), 0.0)

    B = rng.normal(size=(d, 3)).astype(beta.dtype)
    assert_allclose(design.dot(B), X @ B, rtol=rtol, atol=rtol)
    assert_array_equal(design.csr_rows(1, 4).toarray(), X[1:4])
    assert design.nnz == np.count_nonzero(X)


@pytest.mark.parametrize("make", [real, binary])
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_every_storage_gives_the_results_of_numpy(name, make, columns, wide, rng, monkeypatch):
    if wide:
        monkeypatch.setattr("dropglm.core.design.design.WIDE", 0)
    X = make(rng, 5, 21) if wide else make(rng)
    brought = MATRICES[name](X)
    design = Design(brought)
    if columns:
        design.by_columns()
    check_verbs(design, X, rng.normal(size=X.shape[1]), rng)


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("K", [1, 2, 5])
def test_transposed_product_has_all_columns_at_once(name, dtype, K, rng, monkeypatch):
    monkeypatch.setattr("dropglm.core.design.design.PIECE", 40)  # pieces of 40 entries
    for make in (real, binary):
        X = make(rng, n=50, d=9).astype(dtype)
        r = np.asfortranarray(rng.normal(size=(50, K)))
        one, two = DESIGNS[name](X), DESIGNS[name](X)
        two.threads = 2
        found = one.transposed_dot(r)
        assert found.dtype == dtype
        assert found.shape == (9, K)
        assert_allclose(found, X.T @ r, rtol=np.sqrt(np.finfo(dtype).eps), atol=1e-5)
        assert_allclose(two.transposed_dot(r), found, rtol=1e-6, atol=1e-7)
        # Integers and booleans are numbers as well.
        assert_allclose(one.transposed_dot(r > 0.0), X.T @ (r > 0.0), rtol=1e-6, atol=1e-6)


@given(
    X=arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, max_side=9),
        elements=st.sampled_from([0.0, 0.0, 1.0, 1.0, -2.5, 1e-8, 1e3]),
    ),
    name=st.sampled_from(sorted(DESIGNS)),
    ones=st.booleans(),
)
def test_any_matrix_gives_the_results_of_numpy(X, name, ones):
    X = (X != 0).astype(float) if ones else X
    rng = np.random.default_rng(0)
    beta, slopes = rng.normal(size=X.shape[1]), rng.normal(size=(len(X), 2))
    design = DESIGNS[name](X)
    eta, t = design.moments(beta)
    assert_allclose(eta, X @ beta, rtol=1e-10, atol=1e-7)
    assert_allclose(t, X**2 @ beta**2, rtol=1e-12)
    truth = X.T @ slopes[:, 0] + 2 * beta * (X.T**2 @ slopes[:, 1])
    assert_allclose(design.backward(beta, slopes), truth, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("name", DESIGNS)
def test_float32_is_kept_and_summed_in_float64(name, rng):
    X = real(rng).astype(np.float32)
    design = DESIGNS[name](X)
    beta = rng.normal(size=X.shape[1]).astype(np.float32)
    assert design.dtype == np.float32
    assert design.backward(beta, np.ones((len(X), 2))).dtype == np.float32
    check_verbs(design, X, beta, rng, rtol=2e-6)
    many = Design(np.full((1, 100_001), 0.1, np.float32))
    assert_allclose(many.moments(np.ones(100_001, np.float32))[0], 100_001 * np.float64(np.float32(0.1)))


def test_the_smallest_storage_is_chosen(rng):
    assert isinstance(Design(real(rng)).rows, DenseRows)
    assert isinstance(Design(sparse.csr_array(real(rng))).rows, CsrRows)
    assert isinstance(Design(sparse.csr_array(binary(rng))).rows, BinaryRows)
    assert isinstance(Design(sparse.csr_array(binary(rng))).by_columns().columns, BinaryRows)


def test_arrays_are_shared_and_never_modified(rng):
    X = sparse.csr_array(real(rng))
    before = X.copy()
    design = Design(X)
    assert np.shares_memory(design.rows.values, X.data)
    assert np.shares_memory(design.rows.indices, X.indices)
    with pytest.raises(ValueError, match="read-only"):
        design.rows.values[0] = 1.0
    for name in ("unsorted", "doubled entries", "stored zeros"):
        brought = MATRICES[name](real(rng))
        data, indices = brought.data.copy(), brought.indices.copy()
        Design(brought).by_columns()
        assert_array_equal(brought.data, data)
        assert_array_equal(brought.indices, indices)
    assert_array_equal(X.toarray(), before.toarray())


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_read_only_memory_maps_are_read_in_place(form, rng, tmp_path):
    X = real(rng)
    parts = {"dense": {"values": X}, "sparse": vars(sparse.csr_array(X))}[form]
    mapped = {}
    for name in ("values", "data", "indices", "indptr"):
        if name in parts:
            np.save(tmp_path / f"{name}.npy", parts[name])
            mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    brought = mapped.get("values")
    if form == "sparse":
        brought = sparse.csr_array((mapped["data"], mapped["indices"], mapped["indptr"]), shape=X.shape)
    design = Design(brought)
    assert np.shares_memory(design.rows.values, mapped["values" if form == "dense" else "data"])
    check_verbs(design, X, rng.normal(size=X.shape[1]), rng)


@pytest.mark.parametrize("make", [real, binary])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_reordering_drops_features_that_never_occur_and_changes_nothing_else(form, make, rng):
    X = make(rng)
    order = frequency_order(form(X))
    counts = np.count_nonzero(X, axis=0)
    assert set(order) == set(np.flatnonzero(counts))
    # Dense rows are not copied to change the order of their features.
    assert np.all(np.diff(counts[order]) <= 0 if sparse.issparse(form(X)) else np.diff(order) > 0)
    design = Design(form(X), order=order).by_columns()
    beta = rng.normal(size=X.shape[1])
    assert_allclose(design.moments(beta[order])[0], X @ beta, atol=1e-12)
    slopes = rng.normal(size=(len(X), 2))
    truth = Design(X).backward(beta, slopes)
    assert_allclose(design.backward(beta[order], slopes), truth[order], atol=1e-12)


def test_the_order_counts_all_matrices():
    few, many = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]])
    assert_array_equal(frequency_order(few, many), [0, 1])
    assert_array_equal(frequency_order(sparse.csr_array(few), many), [1, 0])


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("shape", [(60, 30), (20, 90)])
def test_results_do_not_depend_on_threads(name, shape, rng, monkeypatch):
    monkeypatch.setattr("dropglm.core.design.design.PIECE", 40)  # pieces of 40 entries
    monkeypatch.setattr("dropglm.core.design.design.WIDE", 0)
    X = real(rng, *shape)
    one, several = DESIGNS[name](X), DESIGNS[name](X)
    several.threads = 3
    beta, slopes = rng.normal(size=shape[1]), rng.normal(size=(shape[0], 2))
    check_verbs(several, X, beta, rng)
    assert_array_equal(one.moments(beta), several.moments(beta))
    assert_array_equal(one.backward(beta, slopes), several.backward(beta, slopes))
    assert_array_equal(one.spread(beta, slopes**2), several.spread(beta, slopes**2))
    assert_array_equal(one.transposed_dot(slopes), several.transposed_dot(slopes))
    rays = [design.add_ray(beta, beta[::-1].copy(), 0.5, np.zeros((3, len(X)))) for design in (one, several)]
    assert_array_equal(*rays)


@pytest.mark.parametrize("make", [real, binary])
def test_threads_transpose_and_order_alike(make, rng):
    X = sparse.csr_array(make(rng, 70, 40))
    order = frequency_order(X)
    assert_array_equal(frequency_order(X, threads=3), order)
    one, several = (Design(X, order=order, threads=threads).by_columns().columns for threads in (1, 3))
    for a, b in zip(one, several, strict=True):
        assert_array_equal(a, b)


def test_more_than_65536_rows_need_wider_indices(rng):
    n = 70_000
    X = sparse.random_array((n, 5), density=0.3, rng=rng, format="csr")
    for rows, width in ((65_536, np.uint16), (n, np.uint32)):
        part = X[:rows]
        design = Design(part).by_columns()
        assert design.columns.indices.dtype == width
        beta, slopes = rng.normal(size=5), rng.normal(size=(rows, 2))
        truth = part.T @ slopes[:, 0] + 2 * beta * (part.power(2).T @ slopes[:, 1])
        assert_allclose(design.backward(beta, slopes), truth, rtol=1e-10)


def test_pieces_cover_everything_once(rng):
    for n in (1, 2, 5, 1000):
        cost = np.concatenate([[0], np.cumsum(rng.integers(0, 50, size=n))])
        pieces = threads.even_pieces(cost, piece=60)
        assert pieces[0][0] == 0
        assert pieces[-1][1] == n
        assert all(a[1] == b[0] for a, b in pairwise(pieces))
    assert [len(threads.even_pieces(np.arange(n + 1), piece=10)) for n in (10, 11, 50, 77)] == [1, 4, 4, 8]


@pytest.mark.parametrize("d", [3, 5000])
def test_sums_over_pieces_do_not_depend_on_threads(d, rng):
    terms = rng.normal(size=(40, d)) * 10.0 ** rng.integers(-8, 9, (40, 1))  # their order matters
    pieces = list(pairwise(range(0, 41, 2)))

    def add(first, last, out):
        out += terms[first:last].sum(axis=0)

    sums = [
        Design(np.ones((40, 1)), threads=threads).sum_over_rows(add, d, pieces=pieces)
        for threads in (1, 2, 3, 7)
    ]
    assert_allclose(sums[0], terms.sum(axis=0), rtol=0, atol=1e-6)
    for other in sums[1:]:
        assert_array_equal(sums[0], other)


def test_threads_share_the_spare_memory_of_a_ray(rng, monkeypatch):
    """Several fits use the same design; each ray needs memory of its own."""
    monkeypatch.setattr("dropglm.core.design.design.WIDE", 0)
    X = sparse.csr_array(real(rng, 20, 90))
    design = Design(X).by_columns()
    directions = rng.normal(size=(200, 90))
    beta = rng.normal(size=90)

    def ray(direction):
        return design.add_ray(beta, direction, 0.5, np.zeros((3, 20)))

    rays = threads.each(ray, directions, threads=4)
    assert_allclose(np.array(rays)[:, 0], directions @ X.T)
    assert len(design._spare) <= 4


def test_threads_do_not_share_a_sum():
    """Two threads that share a gradient of one entry would lose updates."""
    n = 1 << 21
    design = Design(np.ones((n, 1), np.float32), threads=2)
    assert len(design.pieces) >= 4
    slopes = np.tile([1.0, 0.0], (n, 1))
    assert design.backward(np.ones(1, np.float32), slopes)[0] == n


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_are_in_the_order_of_the_items(workers):
    def slow_at_first(item):
        time.sleep(0.01 if item < 3 else 0.0)
        return item * item

    assert threads.each(slow_at_first, range(20), workers) == [item * item for item in range(20)]
    assert threads.each(slow_at_first, [], workers) == []


@pytest.mark.parametrize("where", ["the caller's thread", "another thread"])
def test_an_exception_in_a_thread_reaches_the_caller(where):
    caller = threading.current_thread()

    def fail(item):
        time.sleep(0.01)  # so that both threads get work
        if (threading.current_thread() is caller) == (where == "the caller's thread"):
            raise ArithmeticError("lost")

    with pytest.raises(ArithmeticError, match="lost"):
        threads.each(fail, range(6), threads=2)


def test_an_exception_stops_the_other_lanes_at_their_next_item():
    done = []

    def work(item):
        if item == "bad":
            raise KeyboardInterrupt
        time.sleep(0.02)
        done.append(item)

    with pytest.raises(KeyboardInterrupt):
        threads.on_threads(work, [["bad"], list(range(50))])
    assert len(done) <= 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_threads_work_in_a_forked_process():
    # A child process that inherits a pool without threads would wait forever.
    code = """
import os, sys
from dropglm.base.threads import each
each(lambda x: x, range(4), 2)
child = os.fork()
if child == 0:
    os._exit(0 if each(lambda x: x + 1, range(4), 2) == [1, 2, 3, 4] else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_kernels_run_without_the_compiler():
    code = """
import numpy as np
from scipy import sparse
from dropglm.core.design import Design
X = np.array([[1.0, 2.0], [0.0, 3.0], [1.0, 0.0]])
for matrix in (X, sparse.csr_array(X), sparse.csr_array(np.sign(X))):
    design, dense = Design(matrix).by_columns(), matrix if matrix is X else matrix.toarray()
    assert np.allclose(design.moments(np.array([1.0, -2.0]))[1], dense**2 @ [1.0, 4.0])
    gradient = design.backward(np.array([1.0, -2.0]), np.ones((3, 2)))
    assert np.allclose(gradient, dense.sum(0) + 2 * np.array([1.0, -2.0]) * (dense**2).sum(0))
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=60)


def test_nested_loops_finish():
    """With one pool for all levels, the inner loops would wait for workers that the outer loops occupy."""
    found = threads.each(lambda a: sum(threads.each(lambda b: a * b, range(4), 4)), range(4), 4)
    assert found == [0, 6, 12, 18]
