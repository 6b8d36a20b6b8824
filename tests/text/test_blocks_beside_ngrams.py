"""A prior learnt from unlabelled texts: latent features that are folded back into the n-grams."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dropglm import (
    Blocks,
    LogisticRegression,
    NgramVectorizer,
    PerBlock,
    TextClassifier,
)
from dropglm.core.noise import Dropout
from dropglm.search.search import Search
from dropglm.text.blocks_beside_ngrams import POWERS, LatentColumns, LatentPrior
from tests.text.synthetic import random_text

QUICK = {"n_latent": 4, "cv": 2, "l2": 0.1}
OTHERS = ["a lovely moving story", "dull and cold music, boring", "", "unknown words"]


def vectorized(texts, **settings):
    vectorizer = NgramVectorizer(**{"ngram_range": (1, 2), "use_idf": True, "norm": "l2"} | settings)
    return vectorizer.fit_transform(texts), vectorizer


def weights_of_words(X, vectorizer, power):
    """Return S: the idf of single words in at least five texts, to this power."""
    names, counts = vectorizer.get_feature_names_out(), np.bincount(X.indices, minlength=X.shape[1])
    idf = np.log((1 + X.shape[0]) / (1 + counts)) + 1.0
    return np.array(
        [
            one**power if " " not in name and n >= 5 else 0.0
            for name, one, n in zip(names, idf, counts, strict=True)
        ]
    )


# The blocks.


@pytest.mark.parametrize("number", range(len(POWERS)))
def test_rows_are_the_first_singular_directions_of_weighted_words(few, number):
    X, vectorizer = vectorized([*few[0], *few[2]], dtype=np.float64)
    S = weights_of_words(X, vectorizer, POWERS[number])
    U, D, _ = np.linalg.svd(X.toarray() * S, full_matrices=False)
    expected = U[:, :4] * D[:4] * np.sqrt(D[:4])
    expected *= np.sqrt(X.shape[0]) / np.linalg.norm(expected)  # rows of X have length 1
    block = LatentPrior.of(X, vectorizer, 4, 1).blocks[number]
    assert_allclose(np.abs(block.rows), np.abs(expected), atol=1e-8)
    # S V D^½ turns rows of n-grams into the same rows.
    assert_allclose(X @ block.fold_back(np.eye(4)), block.rows, atol=1e-8)
    assert_allclose(np.square(block.rows).sum(axis=1).mean(), 1.0)
    words = np.abs(block.fold_back(np.eye(4))).sum(axis=1) > 0.0
    assert_array_equal(words, S > 0.0)


def test_ridge_on_both_blocks_is_a_prior_with_a_low_rank_part(few):
    """Ridge on [X | X A] is ridge with the prior covariance (I + τ A Aᵀ)/λ of the folded coefficients."""
    X, vectorizer = vectorized([*few[0], *few[2]], dtype=np.float64)
    prior, lam, tau = LatentPrior.of(X, vectorizer, 4, 1), 0.3, 5.0
    y = (few[1] == "good").astype(float)
    n, rows, latent = len(y), X[: len(y)].toarray(), prior.blocks[0].rows[: len(y)]
    A = prior.blocks[0].fold_back(np.eye(4))
    both = np.hstack([rows, latent])
    penalty = lam * np.repeat([1.0, 1.0 / tau], [rows.shape[1], 4])
    beta = np.linalg.solve(both.T @ both + np.diag(penalty), both.T @ y)
    folded = beta[:-4] + A @ beta[-4:]
    covariance = (np.eye(rows.shape[1]) + tau * A @ A.T) / lam
    expected = covariance @ rows.T @ np.linalg.solve(rows @ covariance @ rows.T + np.eye(n), y)
    assert_allclose(folded, expected, atol=1e-8)


@pytest.mark.parametrize("storage", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_features_are_not_modified(few, storage):
    X, vectorizer = vectorized(few[2])
    before, given = X.copy(), storage(X)
    kept = np.flatnonzero(np.arange(X.shape[1]) % 3)
    columns = LatentColumns(kept, X.shape[1], [], 3)
    assert_array_equal(columns.select(given).toarray(), before.toarray()[:, kept])
    columns.block_of(columns.select(given), 1.0, kept % 3 * 0.5, 1)
    assert_array_equal(given.toarray(), before.toarray())
    assert LatentPrior.of(given, vectorizer, 3, 1).blocks[0].rows.dtype == np.float32


@pytest.mark.parametrize("norm", [None, "l1", "l2"])
@pytest.mark.parametrize("use_idf", [False, True])
def test_rows_of_both_blocks_have_the_same_mean_square_length(few, norm, use_idf):
    X, vectorizer = vectorized([*few[2], ""], norm=norm, use_idf=use_idf, binary=False)
    for block in LatentPrior.of(X, vectorizer, 4, 1).blocks:
        assert_allclose((block.rows.astype(float) ** 2).sum(), (X.data.astype(float) ** 2).sum(), rtol=1e-5)
    # So scaling all features scales the latent ones.
    scaled = LatentPrior.of(8.0 * X, vectorizer, 4, 1).blocks[0].rows
    assert_allclose(scaled, 8.0 * LatentPrior.of(X, vectorizer, 4, 1).blocks[0].rows, atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"ngram_range": (1, 3)}, lambda name: " " not in name),
        ({"ngram_range": (2, 2)}, lambda name: True),
        ({"ngram_range": (2, 3)}, lambda name: True),
        ({"ngram_range": (2, 3), "analyzer": "char"}, lambda name: True),
        ({"ngram_range": (1, 1), "analyzer": str.split}, lambda name: True),
        ({"vocabulary": ["lovely", "dull", "a lovely", "weak", "never seen"]}, lambda name: " " not in name),
    ],
)
def test_single_words_are_used_or_all_ngrams_if_there_are_none(few, settings, kept):
    X, vectorizer = vectorized(few[2] * 8, **settings)
    A = LatentPrior.of(X, vectorizer, 2, 1).blocks[0].fold_back(np.eye(2, dtype=np.float32))
    counts = np.bincount(X.indices, minlength=X.shape[1])
    expected = [
        kept(name) and n >= 5 for name, n in zip(vectorizer.get_feature_names_out(), counts, strict=True)
    ]
    assert_array_equal(np.abs(A).sum(axis=1) > 0.0, expected)


def test_too_few_words_that_occur_in_five_texts_give_no_block():
    texts = ["one two three four"] * 4 + ["one two three"]
    X, vectorizer = vectorized(texts)
    assert LatentPrior.of(X, vectorizer, 3, 1) is None
    assert LatentPrior.of(X, vectorizer, 2, 1).blocks[0].rows.shape == (5, 1)  # all rows are the same


def test_there_are_fewer_latent_features_than_words(rng):
    words = [f"w{number}" for number in range(60)]
    X, vectorizer = vectorized([" ".join(rng.permutation(words)[:20]) for _ in range(80)])
    assert LatentPrior.of(X, vectorizer, 1000, 1).blocks[0].rows.shape == (80, 59)


def test_threads_do_not_matter(few):
    X, vectorizer = vectorized(few[2])
    one, two = (LatentPrior.of(X, vectorizer, 5, threads) for threads in (1, 2))
    for a, b in zip(one.blocks, two.blocks, strict=True):
        assert_array_equal(a.rows, b.rows)


# The candidates.


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("naive_bayes", [("naive_bayes", 10.0)]),
        ("naive_bayes_unlabeled", [("naive_bayes_unlabeled", 10.0)]),
        ("auto", [("uniform", 0.1), ("naive_bayes", 10.0)]),
        (["uniform", "naive_bayes"], [("uniform", 0.1), ("naive_bayes", 10.0)]),
        (2.0, [(2.0, 1.0)]),
    ],
    ids=repr,
)
def test_search_chooses_one_latent_block_or_none(few, given, expected):
    texts, y, more = few
    model = TextClassifier(**QUICK, l2_weights=given, dropout=0.5).fit(texts, y, X_unlabeled=more)
    inf = np.inf
    tried = [
        PerBlock(own, *others)
        for own, weight in expected
        for others in ((inf, inf), (weight, inf), (inf, weight))
    ]
    assert [params["l2_weights"] for params in model.search_.cv_results_["params"]] == tried
    assert model.search_.dropout == PerBlock(0.5, 0.0, 0.0)
    # The model that is kept is one of n-grams.
    assert model.model_.l2_weights in [own for own, _ in expected]
    assert (model.model_.dropout, model.model_.noise_std) == (0.5, 0.0)
    assert not isinstance(model.summary_.settings["l2_weights"], PerBlock)


def test_array_of_l2_weights_and_grid_of_dropout_are_accepted(few):
    texts, y, more = few
    d = len(TextClassifier(**QUICK).fit(texts, y, X_unlabeled=more).vectorizer_.ngrams_)
    weights = np.linspace(0.5, 2.0, d)
    model = TextClassifier(**QUICK, l2_weights=weights, dropout=[0.5, Dropout(0.2)], discount=[0.0, 0.1])
    model.fit(texts, y, X_unlabeled=more)
    assert len(model.search_.cv_results_["params"]) == 12
    assert_array_equal(model.model_.l2_weights, weights)
    assert model.model_.dropout in (0.5, Dropout(0.2))


@pytest.mark.parametrize("near", [(0,), (0, 1), (2,), (0, 1, 2)], ids=repr)
def test_other_ngram_weights_leave_out_latent_features_that_are_clearly_worse(few, monkeypatch, near):
    texts, y, more = few
    asked, of = [], LatentPrior.of.__func__

    def recorded(cls, X, vectorizer, k, threads, powers=POWERS):
        asked.append(powers)
        return of(cls, X, vectorizer, k, threads, powers)

    monkeypatch.setattr(LatentPrior, "of", classmethod(recorded))
    monkeypatch.setattr(Search, "near_best", lambda self: [self.grid[k] for k in near])
    one = {"dropout": 0.5, "l2_weights": "naive_bayes"}
    model = TextClassifier(**QUICK, **one, ngram_weight=(0.5, 1.0)).fit(texts, y, X_unlabeled=more)
    # Candidate 0 has no latent features, the next have one block each.
    powers = tuple(POWERS[k - 1] for k in near if k)
    assert asked == ([POWERS, powers] if powers else [POWERS])
    assert model.summary_.unlabeled_effect["score_without"] is not None


# The folded model.


def latent_features(model, texts):
    """Return the n-grams of the texts of a fit, and n-grams with latent features."""
    X = model.vectorizer_.transform(texts)
    return X, LatentPrior.of(X, model.vectorizer_, model.n_latent, 1).beside(X, 0)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("settings", [{}, {"norm": None, "use_idf": False}, {"rounds": 0}], ids=repr)
def test_folded_model_predicts_like_the_model_of_both_blocks(K, settings, rng):
    classes = ["good", "bad", "odd"][:K]
    y = np.array(classes * 8)
    texts = [random_text(label, rng) for label in y]
    more = [random_text(label, rng) for label in classes * 20]
    # Without words to choose, the latent features are used; the shares of the classes are not added.
    fixed = {"l2_weights": "uniform", "calibrate": False}
    model = TextClassifier(**QUICK | fixed | settings).fit(texts, y, X_unlabeled=more)
    X, both = latent_features(model, [*texts, *more])
    assert isinstance(both, Blocks)
    found = model.search_.best_estimator_
    assert_allclose(model.model_.decision_function(X), found.decision_function(both), rtol=1e-4, atol=1e-4)
    assert model.model_.coef_.shape == (1 if K == 2 else K, X.shape[1])
    assert model.model_.n_features_in_ == X.shape[1]
    assert [part.shape[1] for part in model.model_.coef_blocks_] == [X.shape[1]]
    if np.isinf(found.l2_weights.values[1:]).all():
        assert_array_equal(model.model_.coef_, found.coef_[:, : X.shape[1]])
    else:
        assert not np.array_equal(model.model_.coef_, found.coef_[:, : X.shape[1]])


def test_folding_uses_the_coefficients_of_every_block(few, rng):
    """Also if several blocks were in the model, and not only the one that a search would choose."""
    texts, y, more = few
    X, vectorizer = vectorized([*texts, *more])
    prior = LatentPrior.of(X, vectorizer, 4, 1)
    both = prior.beside(X, 0)
    fitted = LogisticRegression(PerBlock(0.5, 0.0, 0.0), l2=0.1).fit(both[np.arange(16)], y)
    folded = prior.fold(fitted)
    assert_allclose(folded.decision_function(X), fitted.decision_function(both), atol=1e-4)
    assert_array_equal(folded.intercept_, fitted.intercept_)
    assert fitted.coef_.shape[1] == X.shape[1] + 8  # left as it was
    assert fitted.dropout == PerBlock(0.5, 0.0, 0.0)
    assert folded.dropout == 0.5


@pytest.mark.parametrize("settings", [{}, {"analyzer": "char", "ngram_range": (2, 3)}], ids=repr)
def test_explanation_is_an_exact_sum(few, settings):
    texts, y, more = few
    model = TextClassifier(**QUICK | settings).fit(texts, y, X_unlabeled=more)
    eta = model.decision_function(OTHERS)
    for text, log_odds in zip(OTHERS, eta, strict=True):
        why = model.explain(text)
        total = why.base_difference + sum(entry.weight for entry in why.contributions)
        assert total == pytest.approx(why.difference, abs=1e-5)
        assert why.difference == pytest.approx(abs(log_odds), abs=1e-5)


def test_embeddings_stand_beside_both_and_do_not_fold(few, rng, tmp_path, monkeypatch):
    monkeypatch.setattr(Search, "is_preferred", lambda *searches: True)  # the words suffice here
    texts, y, more = few
    E, F = (rng.normal(size=(len(rows), 3)).astype(np.float32) for rows in (texts, more))
    E[:, 0] += y == "good"
    model = TextClassifier(**QUICK, l2_weights="uniform", calibrate=False)
    model.fit(texts, y, X_unlabeled=more, embeddings=E, embeddings_unlabeled=F)
    X, both = latent_features(model, [*texts, *more])
    found = model.search_.best_estimator_
    assert [part.shape[1] for part in found.coef_blocks_] == [X.shape[1], 4, 4, 3]
    # Embeddings are centred and scaled, by the mean and the size of all of them.
    all_embeddings = np.vstack([E, F])
    scaled = all_embeddings - all_embeddings.mean(axis=0)
    scaled /= np.sqrt(np.square(scaled).sum(axis=1).mean())
    expected = found.decision_function(Blocks(*both.blocks, scaled))
    assert_allclose(
        model.decision_function([*texts, *more], embeddings=all_embeddings), expected, rtol=1e-3, atol=1e-3
    )
    model.save(tmp_path / "m.skops")
    again = TextClassifier.load(tmp_path / "m.skops")
    assert_array_equal(again.predict_proba(more, embeddings=F), model.predict_proba(more, embeddings=F))
    assert model.model_.coef_.shape == (1, X.shape[1])
