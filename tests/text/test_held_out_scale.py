"""Where a text is held out, its row is scaled as if the text were new."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.model_selection import StratifiedKFold

from dropglm import Blocks, LogisticRegression, NgramVectorizer, TextClassifier
from dropglm.search import search
from tests.text.synthetic import random_text

some_texts = st.lists(
    st.lists(st.sampled_from(["ape", "bee", "cat", "dog", "eel", "fox"]), max_size=6).map(" ".join),
    min_size=3,
    max_size=8,
)


def new_row(texts, i, X, names, how):
    """Return row i of X, as a vectorizer that was fitted to the other texts would have it, but for idf.

    It has the same n-grams, if the others have them, and the length 1; 0 if there are none.
    """
    try:
        known = set(NgramVectorizer(**how).fit([*texts[:i], *texts[i + 1 :]]).get_feature_names_out())
    except ValueError:  # no n-grams at all
        known = set()
    row = np.where([name in known for name in names], X[i], 0.0)
    length = np.abs(row).sum() if how["norm"] == "l1" else np.sqrt(row @ row)
    return row / length if length else row


@settings(max_examples=100)
@given(
    texts=some_texts,
    norm=st.sampled_from(["l1", "l2"]),
    min_df=st.sampled_from([1, 2, (1, 2), 0.4]),
    longest=st.integers(1, 2),
    use_idf=st.booleans(),
    ngram_weight=st.sampled_from([1.0, 0.5]),
)
def test_a_scaled_row_is_that_of_a_vectorizer_without_the_text(
    texts, norm, min_df, longest, use_idf, ngram_weight
):
    how = {"norm": norm, "min_df": min_df, "ngram_range": (1, longest), "use_idf": use_idf}
    how |= {"ngram_weight": ngram_weight, "dtype": np.float64}
    vectorizer = NgramVectorizer(**how)
    try:
        rows = vectorizer.fit_transform(texts)
    except ValueError:
        assume(False)
    scale, X, names = vectorizer._held_out_scale(rows), rows.toarray(), vectorizer.get_feature_names_out()
    for i, text in enumerate(texts):
        expected = new_row(texts, i, X, names, how)
        known = expected != 0.0
        assert_allclose(scale[i] * X[i, known], expected[known], rtol=1e-9)
        assert (scale[i] == 0.0) == (not known.any())
        if known.any() and not use_idf:  # so that the values do not depend on the other texts
            others = NgramVectorizer(**how).fit([*texts[:i], *texts[i + 1 :]])
            row = others.transform([text]).toarray()[0]
            found = dict(zip(others.get_feature_names_out(), row, strict=True))
            assert_allclose([found.get(name, 0.0) for name in names], expected, rtol=1e-9)


def test_rows_of_any_length_are_not_scaled():
    vectorizer = NgramVectorizer(norm=None)
    assert vectorizer._held_out_scale(vectorizer.fit_transform(["a b", "b c", "c d"])) is None


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("width", [0, 3])
def test_probabilities_of_held_out_texts_are_those_of_scaled_rows(K, width, monkeypatch, rng):
    """By separate fits to the rows of the other folds, which are not scaled; embeddings never are."""
    monkeypatch.setattr(search, "SEARCH_TOL", 1e-6)
    monkeypatch.setattr(search.Search, "is_preferred", lambda *searches: True)
    y = np.array(["good", "bad", "odd"][:K] * 10)
    texts = [f"{random_text(label, rng)} own{i} word{i}" for i, label in enumerate(y)]
    one = {"dropout": 0.5, "l2": 0.1, "l2_weights": "uniform", "discount": 0.0}
    alone = {"calibrate": False, "naive_bayes": False, "min_df": 1, "tol": 1e-6, "max_iter": 5000}
    alone |= {"ngram_weight": (0.5,)}  # a grid, so that settings are tuned
    E = rng.normal(size=(len(y), width)) if width else None
    model = TextClassifier(**one, **alone, cv=3).fit(texts, y, embeddings=E)
    X = model.vectorizer_.transform(texts)
    names = model.vectorizer_.get_feature_names_out()
    how = {"norm": "l2", "min_df": 1, "ngram_range": model.ngram_range}
    new = np.array([new_row(texts, i, X.toarray(), names, how) for i in range(len(texts))])
    rows, new_rows = X, new
    if width:
        E -= E.mean(axis=0)
        E /= np.sqrt(np.square(E).sum(axis=1).mean())
        rows, new_rows = Blocks(X, E), Blocks(new, E)
    chosen, p = model.search_.best_params_, np.empty((len(y), K))
    for train, test in StratifiedKFold(3).split(X, y):
        fit = LogisticRegression(**chosen, tol=1e-6, max_iter=5000).fit(rows[train], y[train])
        p[test] = fit.predict_proba(new_rows[test])
    assert_allclose(model.cv_probabilities_, p, atol=1e-3)
    shorter = np.linalg.norm(np.where(new, X.toarray(), 0.0), axis=1)
    assert shorter.max() < 0.9  # otherwise there would be nothing to scale
