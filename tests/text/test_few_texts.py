"""TextClassifier with few texts of each class, and its blend with naive Bayes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from dropglm import LogisticRegression, LogisticRegressionCV, TextClassifier, load_model
from dropglm.text.training import GRID, ngram_weights_of
from tests.search.test_blended_search import ratios
from tests.text.synthetic import random_text


def topics(K, n, seed=0):
    """Return n texts of each of K topics, which have some words of their own, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.tile([f"topic {k:02d}" for k in range(K)], n)
    own = [[f"{label.replace(' ', '')}word{j}" for j in range(3)] for label in y]
    texts = [" ".join(rng.permutation([*words, *rng.choice(["the", "of", "a"], 3)])) for words in own]
    return texts, y


@pytest.mark.parametrize("K", [2, 5, 30])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_texts_of_many_classes_are_told_apart(K, n):
    texts, y = topics(K, n)
    others, truth = topics(K, 3, seed=1)
    model = TextClassifier().fit(texts, y)
    assert model.score(others, truth) == 1.0
    p = model.predict_proba(others)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-5)
    assert np.isfinite(model.model_.coef_).all()
    assert hasattr(model, "search_") == hasattr(model, "cv_probabilities_") == (n > 1)
    if n > 1:
        repeats = min(4, max(1, 400 // (K * K * n)))  # 400 over texts times classes
        assert model.summary_.search["folds"] == min(n, 5) * repeats
        assert model.cv_probabilities_.shape == (K * n, K)
        assert np.mean(model.classes_[model.cv_probabilities_.argmax(axis=1)] == y) == 1.0


def test_one_text_of_each_class_is_fitted_with_the_default_settings():
    texts, y = topics(4, 1)
    model = TextClassifier().fit(texts, y)
    plain = TextClassifier(tune=False).fit(texts, y)
    assert_array_equal(model.predict_proba(texts), plain.predict_proba(texts))
    assert model.summary_.search is None
    with pytest.raises(AttributeError, match="search_ exists only if settings were tuned"):
        _ = model.search_


def test_the_only_text_of_a_class_is_never_held_out(corpus):
    texts, y, _ = corpus
    rows = [*np.flatnonzero(y == "good")[:1], *np.flatnonzero(y == "bad")]
    model = TextClassifier(cv=5).fit([texts[k] for k in rows], y[rows])
    assert model.summary_.search["folds"] == 5
    assert_array_equal(np.isnan(model.cv_probabilities_).any(axis=1), [True] + [False] * 40)
    assert model.classes_.tolist() == ["bad", "good"]
    assert model.summary_.search["accuracy"] == 1.0  # of the held-out texts, which are all bad
    few = [*np.flatnonzero(y == "good")[:3], *np.flatnonzero(y == "bad")]
    assert TextClassifier(cv=5).fit([texts[k] for k in few], y[few]).summary_.search["folds"] == 5
    model = TextClassifier(cv=5, scoring="f1_macro").fit([texts[k] for k in few], y[few])
    assert model.summary_.search["folds"] == 3
    with pytest.raises(ValueError, match="Class good has only one row, too few for cross-validation"):
        TextClassifier(scoring="f1_macro").fit([texts[k] for k in rows], y[rows])


def test_texts_without_a_word_in_common_do_not_blow_up():
    """Held-out texts have no known word, so nothing is known of naive Bayes' factor."""
    texts, y = ["apple pear", "plum fig", "rock stone", "sand clay"], ["fruit"] * 2 + ["ground"] * 2
    model = TextClassifier().fit(texts, y)
    assert model.search_.naive_bayes_ == 0.0
    assert_allclose(model.cv_probabilities_, 0.5, atol=1e-6)
    assert np.abs(model.model_.coef_).max() < 10.0
    assert model.predict(texts).tolist() == y


def test_texts_without_words_are_held_out_like_others():
    model = TextClassifier(min_df=1).fit(["lovely film"] + [""] * 9, ["good", "bad"] * 5)
    assert np.isfinite(model.predict_proba(["lovely film", ""])).all()


@pytest.mark.parametrize("K", [2, 3])
def test_the_model_is_the_blend_of_a_fit_naive_bayes_and_the_shares_of_the_classes(K, rng):
    """With one candidate and without characters, only factors are fitted to held-out texts."""
    labels = ["good", "bad", "odd"][:K] * 12
    texts, y = [random_text(label, rng) for label in labels], np.array(labels)
    texts, y = texts[3:], y[3:]  # classes of different sizes
    one = {"dropout": 0.5, "l2": 0.1, "l2_weights": "uniform", "characters": None}
    model = TextClassifier(cv=3, **one).fit(texts, y)
    X = model.vectorizer_.transform(texts)
    found = model.search_
    alone = LogisticRegression(**found.best_params_).fit(X, y)
    blended = found.scale_ * alone.coef_ + found.naive_bayes_ * ratios(X.toarray().astype(float), y)
    assert_allclose(found.best_estimator_.coef_, blended, rtol=1e-3, atol=1e-4)
    t = np.vdot(model.model_.coef_, blended) / np.vdot(blended, blended)
    assert model.summary_.settings["words"] == pytest.approx(t, rel=0.01)
    assert_allclose(model.model_.coef_, t * blended, rtol=1e-3, atol=1e-4)
    shares = np.log(np.unique(y, return_counts=True)[1] / len(y))
    o = shares[1:] - shares[:1] if K == 2 else shares
    intercept = t * found.scale_ * alone.intercept_ + (1.0 - t) * o
    assert_allclose(model.model_.intercept_, intercept, rtol=1e-3, atol=1e-4)
    assert found.naive_bayes_ > 0.0
    p = model.cv_probabilities_
    scores = [
        -log_loss(y[test], p[test], labels=model.classes_) for _, test in StratifiedKFold(3).split(X, y)
    ]
    assert np.mean(scores) == pytest.approx(found.best_score_, rel=1e-5)
    assert model.summary_.settings["scale"] == pytest.approx(found.scale_, rel=0.01)
    assert model.summary_.settings["naive_bayes"] == pytest.approx(found.naive_bayes_, rel=0.01)


def test_a_saved_model_predicts_and_explains_as_before(tmp_path, rng):
    labels = ["good", "bad", "odd"] * 10
    texts = [random_text(label, rng) for label in labels]
    model = TextClassifier(cv=2).fit(texts, labels)
    model.save(tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    assert str(again.explain(texts[0])) == str(model.explain(texts[0]))
    assert str(again.summary_) == str(model.summary_)
    assert not hasattr(again, "cv_probabilities_")


@pytest.mark.parametrize("K", [2, 6])
def test_the_grid_is_the_same_for_any_number_of_classes(K):
    texts, y = topics(K, 2)
    search = TextClassifier().fit(texts, y).search_
    assert {name: getattr(search, name) for name in GRID} == GRID
    assert search.extend_l2
    given = TextClassifier(l2=(3.0, 2.0)).fit(texts, y).search_
    assert not given.extend_l2
    assert sorted(set(given.cv_results_["param_l2"])) == [2.0, 3.0]
    assert {name: getattr(given, name) for name in GRID} == GRID | {"l2": (3.0, 2.0)}


def test_defaults_of_the_search_agree_with_logistic_regression_cv():
    ours, theirs = TextClassifier().get_params(), LogisticRegressionCV().get_params()
    for name in ("scoring", "calibrate", "cv", "expectation", "class_weight", "tol", "max_iter"):
        assert ours[name] == theirs[name]
    assert (ours["naive_bayes"], theirs["naive_bayes"]) == (True, False)


def test_the_weight_of_longer_ngrams_is_chosen_by_the_score_and_saved(corpus, tmp_path):
    texts, y, _ = corpus
    each = [TextClassifier(ngram_weight=weight, cv=3).fit(texts, y) for weight in (0.5, 1.0)]
    better = max(each, key=lambda model: model.search_.best_score_)
    model = TextClassifier(ngram_weight=(0.5, 1.0), cv=3).fit(texts, y)
    assert model.vectorizer_.ngram_weight == better.ngram_weight == model.summary_.settings["ngram_weight"]
    assert_array_equal(model.predict_proba(texts), better.predict_proba(texts))
    model.save(tmp_path / "model")
    assert_array_equal(load_model(tmp_path / "model").predict_proba(texts), better.predict_proba(texts))
    with pytest.raises(ValueError, match="ngram_weight is an empty grid"):
        TextClassifier(ngram_weight=()).fit(texts, y)
    with pytest.raises(ValueError, match="tune=False needs a single value for ngram_weight"):
        TextClassifier(ngram_weight=(0.5, 1.0), tune=False).fit(texts, y)


def test_both_weights_are_tried_only_with_many_texts():
    model, few, many = TextClassifier(), np.array([500, 500]), np.array([500, 501])
    assert ngram_weights_of(model, few) == (0.5,)
    assert ngram_weights_of(model, many) == (0.5, 1.0)
    assert ngram_weights_of(model, np.array([91] * 11)) == (0.5, 1.0)
    settled = {"dropout": 0.5, "l2": 1.0, "discount": 0.1, "l2_weights": "uniform"}
    settled |= {"calibrate": False, "naive_bayes": False}
    characters = {"analyzer": "char_wb", "ngram_range": (2, 3)}
    for settings in ({"tune": False}, settled, {"ngram_range": (1, 1)}, characters):
        assert ngram_weights_of(TextClassifier(**settings), many) == (0.5,)
    assert ngram_weights_of(TextClassifier(ngram_weight=0.3), many) == (0.3,)


def test_a_grid_without_anything_to_choose_it_on_is_mentioned():
    texts, y = ["good film", "Good film", "bad film"], ["pos", "pos", "neg"]
    with pytest.warns(
        UserWarning, match="Nothing can be held out to choose l2: every class has a single text"
    ):
        model = TextClassifier(l2=(1.0, 0.1)).fit(texts, y)
    assert model.summary_.settings["l2"] == 0.01
