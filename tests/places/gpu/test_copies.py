"""Fits by Monte Carlo on a GPU have the copies of the CPU, and so its objective."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from dropglm import (
    Blocks,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PerBlock,
    PoissonRegressor,
)
from dropglm.cli.errors import describe
from dropglm.core.families import Logistic
from dropglm.core.noise import Dropout, Gaussian, Noise
from dropglm.core.penalties import MonteCarlo
from tests.places.gpu.data import host, on_gpu, rows
from tests.places.gpu.test_fits import assert_same_steps, both

DRAWN = {"expectation": "monte_carlo", "random_state": 0}


@pytest.mark.parametrize("noise", [Dropout(0.5), Gaussian(0.5)])
@pytest.mark.parametrize("kind", ["dense", "csr", "binary"])
def test_copies_are_those_of_the_penalty(kind, noise, monkeypatch):
    """The copies of a row follow each other, also if they were drawn in several ranges of rows."""
    from dropglm.places.gpu.design import DeviceDesign, draw

    monkeypatch.setattr("dropglm.core.penalties.monte_carlo.BLOCK", 12)
    matrix, order = on_gpu(rows(kind))
    design, penalty = DeviceDesign([matrix]), MonteCarlo(Logistic, noise, n_samples=4)
    beta = np.random.default_rng(0).normal(size=(len(order), 1))
    copies = draw(penalty, design)
    eta = DeviceDesign([matrix for _, matrix in copies.blocks]).dot(beta).reshape(-1, 4)
    on_host, expected = design.on_host(), []
    for first, last in penalty.row_ranges(on_host):
        parts = penalty.parts(on_host, first, last)
        (part,) = parts
        expected.append(np.hstack([copy @ beta[part.columns] for (copy,) in penalty.copies(parts, first)]))
    assert len(expected) > 1
    assert_allclose(eta, np.vstack(expected), atol=1e-12)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (LogisticRegression, "dense"),
        (LogisticRegression, "csr"),
        (LinearRegression, "binary"),
        (PoissonRegressor, "csr"),
    ],
)
def test_a_fit_takes_the_steps_of_the_cpu(model, kind):
    X, y = rows(kind, n=8), np.arange(8) * 7 % 5 % 2
    model = model(dropout=0.4, l2=0.2, **DRAWN)
    assert_same_steps(*both(model, X, y, sample_weight=np.linspace(0.5, 2.0, 8)))


def test_unlabelled_rows_have_copies():
    X, y = rows("csr", n=8), np.arange(8) * 7 % 5 % 2
    model = LogisticRegression(discount=0.7, **DRAWN)
    assert_same_steps(*both(model, X, y, X_unlabeled=rows("csr", n=5, seed=1)))


def test_classes_share_copies():
    X, y = rows("binary", n=6), np.arange(6) % 3
    assert_same_steps(*both(LogisticRegression(dropout=0.4, multi_class="ovr", **DRAWN), X, y))


def test_additive_noise_and_blocks():
    X, y = rows("csr", n=8), np.arange(8) * 7 % 5 % 2
    blocks = Blocks(X, rows("dense", n=8)[:, :2])
    model = LogisticRegression(dropout=PerBlock(0.5, 0.0), noise_std=PerBlock(0.0, 0.3), **DRAWN)
    assert_same_steps(*both(model, blocks, y))


def test_a_search_compares_strengths_of_noise():
    X, y = rows("binary", n=12), np.arange(12) * 7 % 5 % 2
    grid = {"dropout": (0.2, 0.6), "l2": 1.0, "l2_weights": "uniform", "cv": 2, "extend_l2": False}
    cpu, cuda = both(LogisticRegressionCV(**grid, **DRAWN), X, y)
    assert cuda.best_params_ == cpu.best_params_
    scores = [model.cv_results_["mean_test_score"] for model in (cuda, cpu)]
    assert_allclose(*scores, atol=5e-3)


def test_series_with_copies_differ_from_those_with_unlabelled_rows(monkeypatch):
    """A series of kernels is recorded if one of its kind was called before, so that all are compiled."""
    from dropglm.places.gpu.runtime import Stream

    kinds, play = [], Stream.play
    monkeypatch.setattr(
        Stream, "play", lambda self, name, kind, work: kinds.append(kind) or play(self, name, kind, work)
    )
    X, y = rows("csr", n=8), np.arange(8) * 7 % 5 % 2
    LogisticRegression(device="cuda").fit(X, y, X_unlabeled=X[:4])
    before = set(kinds)
    assert len(before) == 2  # the first stage has the labelled rows only
    LogisticRegression(device="cuda", expectation="monte_carlo").fit(X, y)
    assert kinds[-1] not in before


def test_batches_share_copies(monkeypatch):
    from dropglm.places.gpu import design as copies
    from dropglm.places.gpu import fits as on_gpu

    drawn, draw = [], copies.draw
    monkeypatch.setattr(copies, "draw", lambda *given: drawn.append(given) or draw(*given))
    monkeypatch.setattr(on_gpu, "_batch_size", lambda tasks: 2)
    X, y = rows("binary", n=6), np.arange(6) % 3
    cpu, cuda = both(LogisticRegression(multi_class="ovr", **DRAWN), X, y)
    assert len(drawn) == 1
    assert_same_steps(cpu, cuda)


class Multiplicative(Noise):
    """A noise of the user's, whose copies are dense."""

    relative, absolute = 0.25, 0.0

    def sample(self, X, rng):
        return X.toarray() * rng.normal(1.0, 0.5, size=X.shape)


def test_noise_of_the_users_own_may_return_dense_copies(monkeypatch):
    """A range of rows has copies of the features that occur in it."""
    monkeypatch.setattr("dropglm.core.penalties.monte_carlo.BLOCK", 4)
    X = sparse.csr_array(np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]]))
    more = {"X_unlabeled": np.ones((2, 3))}
    assert_same_steps(*both(LogisticRegression(dropout=Multiplicative(), **DRAWN), X, [0, 1, 0, 1], **more))


def test_too_many_copies_say_how_much_memory_they_need(monkeypatch):
    monkeypatch.setattr("dropglm.places.gpu.design.physical_memory", lambda: 500.0)
    X, y = rows("csr", n=8), np.arange(8) % 2
    settings = {"dropout": 0.0, "noise_std": 0.1, "expectation": "monte_carlo", "device": "cuda"}
    with pytest.raises(MemoryError, match=r"100 noised copies of the rows need about .* GiB") as caught:
        LogisticRegression(**settings).fit(X, y)
    sentence, code = describe(caught.value)  # as the command says it
    assert "use --expectation gaussian, or --device cpu" in sentence
    assert code == 1


def test_matrices_of_cupy_are_copied_on_the_host(real_gpu):
    from cupyx.scipy.sparse import csr_matrix

    X, y = rows("csr", n=8), np.arange(8) * 7 % 5 % 2
    cpu, cuda = (LogisticRegression(**DRAWN).fit(part, y) for part in (X, csr_matrix(X)))
    assert_allclose(host(cuda.coef_), cpu.coef_, rtol=1e-7, atol=1e-9)
