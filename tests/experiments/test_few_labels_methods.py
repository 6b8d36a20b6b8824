"""Rivals that learn from unlabelled texts, compared with the same steps written out."""

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from dropglm.baselines import EMNaiveBayes
from dropglm.experiments import few_labels as rivals
from dropglm.text.comparison import tfidf_baseline

SEED = 3
CS = 3


@pytest.fixture(autouse=True)
def one_thread():
    """On a busy machine, BLAS with several threads slows small fits many times."""
    with threadpool_limits(1, "blas"):
        yield


@pytest.fixture(scope="module")
def texts():
    """Labelled, unlabelled and test texts of three classes whose words overlap, and the labels."""
    rng = np.random.default_rng(0)
    names = np.array(["one", "two", "three"])

    def draw(n):
        numbers = rng.integers(3, size=n)
        own = [" ".join(f"own{k}{word}" for word in rng.integers(12, size=2)) for k in numbers]
        return [f"{a} {' '.join(f'w{k}' for k in rng.integers(30, size=5))}" for a in own], names[numbers]

    (labeled, y), (unlabeled, _), (test, _) = (draw(n) for n in (30, 200, 40))
    return labeled, y, unlabeled, test


def vectorized(texts, vectorizer):
    labeled, _, unlabeled, test = texts
    vectorizer.fit([*labeled, *unlabeled])
    return [vectorizer.transform(part) for part in (labeled, unlabeled, test)]


def test_tfidf_of_characters_is_the_same_model_in_the_space_of_the_rows(texts):
    labeled, y, _, test = texts
    settings = {"analyzer": "char_wb", "Cs": [0.1, 10.0]}
    model = rivals.tfidf_characters(y, SEED, ngrams=(2, 5), **settings)
    expected = tfidf_baseline(y, ngram_range=(2, 5), random_state=SEED, **settings)
    for pipeline in (model, expected):
        pipeline[-1].set_params(tol=1e-9)
        pipeline.fit(labeled, y)
    assert model[-1].n_features_in_ <= len(y) < expected[-1].n_features_in_
    np.testing.assert_allclose(model[-1].C_, expected[-1].C_)
    np.testing.assert_allclose(model.predict_proba(test), expected.predict_proba(test), rtol=1e-4)


def test_lsa_is_logistic_regression_on_unit_rows_of_singular_vectors(texts):
    labeled, y, unlabeled, test = texts
    model = rivals.lsa(y, SEED, Cs=CS, components=4).fit(labeled, y, unlabeled)
    tfidf = TfidfVectorizer(sublinear_tf=True, min_df=2)
    svd = TruncatedSVD(4, random_state=SEED).fit(tfidf.fit_transform([*labeled, *unlabeled]))
    X, X_test = (svd.transform(tfidf.transform(part)) for part in (labeled, test))
    X, X_test = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, X_test))
    expected = tfidf_baseline(y, Cs=CS, random_state=SEED)[-1].fit(X, y)
    np.testing.assert_array_equal(model.classes_, ["one", "three", "two"])
    np.testing.assert_allclose(model.predict_proba(test), expected.predict_proba(X_test), rtol=1e-6)


def test_self_training_without_confident_predictions_is_logistic_regression(texts):
    labeled, y, unlabeled, test = texts
    model = rivals.self_training(y, SEED, Cs=CS, threshold=1 - 1e-12).fit(labeled, y, unlabeled)
    X, _, X_test = vectorized(texts, TfidfVectorizer(sublinear_tf=True, min_df=2))
    (C,) = np.unique(tfidf_baseline(y, Cs=CS, random_state=SEED)[-1].fit(X, y).C_)
    expected = LogisticRegression(C=C, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(test), expected.predict_proba(X_test), rtol=1e-6)


@pytest.mark.parametrize("components", [None, 4])
def test_self_training_labels_more_texts_with_a_lower_threshold(texts, components):
    labeled, y, unlabeled, _ = texts
    chosen = [
        rivals.self_training(y, SEED, Cs=CS, threshold=threshold, components=components)
        .fit(labeled, y, unlabeled)
        .model_.labeled_iter_
        for threshold in (0.4, 0.99)
    ]
    assert all(len(numbers) == 230 for numbers in chosen)
    assert np.sum(chosen[0] > 0) > np.sum(chosen[1] > 0)


@pytest.mark.parametrize("tfidf", [False, True])
def test_em_naive_bayes_has_the_settings_that_predict_most_held_out_texts(texts, tfidf):
    labeled, y, unlabeled, test = texts
    alpha, discount = (1.0, 0.1), (0.0, 1.0)
    model = rivals.em_naive_bayes(y, SEED, alpha=alpha, discount=discount, tfidf=tfidf, tol=1e-4)
    model.fit(labeled, y, unlabeled)
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2) if tfidf else CountVectorizer(min_df=2)
    X, U, X_test = vectorized(texts, vectorizer)
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    correct = {
        (a, d): np.sum(
            [
                np.sum(EMNaiveBayes(a, d).fit(X[train], y[train], X_unlabeled=U).predict(X[held]) == y[held])
                for train, held in folds.split(X, y)
            ]
        )
        for a in alpha
        for d in discount
    }
    assert len(set(correct.values())) > 1
    best = next(settings for settings in correct if correct[settings] == max(correct.values()))
    assert (model.model_.alpha, model.model_.discount) == best
    expected = EMNaiveBayes(*best).fit(X, y, X_unlabeled=U)
    np.testing.assert_allclose(model.predict_proba(test), expected.predict_proba(X_test), rtol=1e-6)
