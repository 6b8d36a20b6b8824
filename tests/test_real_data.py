"""Real data from ``$DROPGLM_DATA``; without it these tests skip."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from dropglm import noising_penalty

FOLDER = os.environ.get("DROPGLM_DATA")
pytestmark = pytest.mark.skipif(FOLDER is None, reason="DROPGLM_DATA is not set")


COEF = 0.15 * np.sin(np.arange(1, 22_179))


@pytest.fixture(scope="module")
def athr():
    """The paper's AthR task as its authors published it: 1,427 documents, 22,178 binary unigrams."""
    documents = pl.read_parquet(Path(FOLDER) / "athr.parquet")
    lengths = documents["features"].list.len().to_numpy()
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    indices = documents["features"].explode().to_numpy()
    X = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(documents), len(COEF)))
    return X, documents["label"].to_numpy()


def test_the_noised_loss_of_athr_is_that_of_an_independent_prototype(athr):
    """δ = ½, β_j = 0.15 sin j with j from 1: Σ E loss to six digits, as other code computed it."""
    X, y = athr
    eta = X @ COEF
    loss = np.sum(np.logaddexp(0.0, eta) - y * eta)
    published = {"exact": 1456.25, "gaussian": 1456.16, "quadratic": 1477.08}
    for kind, value in published.items():
        assert loss + noising_penalty(COEF, X, dropout=0.5, kind=kind) == pytest.approx(value, abs=0.006)


def test_monte_carlo_agrees_on_athr(athr):
    X, _ = athr
    exact = noising_penalty(COEF, X, dropout=0.5, kind="exact")
    draws = [
        noising_penalty(COEF, X, dropout=0.5, kind="monte_carlo", n_samples=20, random_state=seed)
        for seed in range(10)
    ]
    error = np.std(draws, ddof=1) / np.sqrt(len(draws))
    assert abs(np.mean(draws) - exact) < 4 * error
