"""TextClassifier: words in, labels and reasons out."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from dropglm import LogisticRegression, LogisticRegressionCV, NgramVectorizer, TextClassifier

WORDS = {
    "good": "lovely great fun moving warm",
    "bad": "dull boring long weak cold",
    "odd": "weird eerie queer",
}


def written(label, rng):
    words = [*WORDS[label].split(), "a", "the", "film", "cast", "story", "music", "and", "of", "with"]
    return " ".join(rng.choice(words, size=8))


@pytest.fixture
def corpus(rng):
    y = np.array(["good", "bad"] * 40)
    return [written(label, rng) for label in y], y, [written(label, rng) for label in ["good", "bad"] * 30]


@pytest.fixture
def fitted(corpus):
    texts, y, more = corpus
    return TextClassifier(tune=False, l2=0.3, tol=1e-4).fit(texts, y, X_unlabeled=more)


def test_it_is_a_vectorizer_and_a_logistic_regression(corpus, fitted):
    texts, y, more = corpus
    words = NgramVectorizer(ngram_range=(1, 2), min_df=2).fit(texts + more)
    model = LogisticRegression(l2=0.3).fit(words.transform(texts), y, X_unlabeled=words.transform(more))
    np.testing.assert_allclose(fitted.model_.coef_, model.coef_, rtol=1e-5, atol=1e-7)
    X = words.transform(more)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        ours, expected = getattr(fitted, method)(more), getattr(model, method)(X)
        if method == "predict":
            assert ours.tolist() == expected.tolist()
        else:
            np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-6)
    assert fitted.score(texts, y) == model.score(words.transform(texts), y)


def test_it_tunes_itself_and_says_how_sure_it_is(corpus):
    texts, y, more = corpus
    model = TextClassifier().fit(texts, y, X_unlabeled=more)
    search = model.search_
    assert len(search.cv_results_["params"]) == 16
    assert model.model_ is search.best_estimator_
    said = model.summary_
    assert said.search["score"] == search.best_score_
    scores = [search.cv_results_[f"split{k}_test_score"][search.best_index_] for k in range(5)]
    assert said.search["standard_error"] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(5))
    assert f"accuracy {search.best_score_:.4f} ±" in str(said)
    assert "40" in str(said)
    assert "60 without" in str(said)


def test_given_settings_are_not_tuned(corpus):
    texts, y, _ = corpus
    model = TextClassifier(dropout=0.3, l2=(2.0, 1.0), l2_weights="uniform", cv=2).fit(texts, y)
    assert {point["dropout"] for point in model.search_.cv_results_["params"]} == {0.3}
    assert {point["l2"] for point in model.search_.cv_results_["params"]} == {1.0, 2.0}
    model = TextClassifier(dropout=0.3, l2=2.0, l2_weights="naive_bayes", discount=0.2).fit(texts, y)
    assert not hasattr(model, "search_")
    assert (model.model_.dropout, model.model_.l2_weights) == (0.3, "naive_bayes")
    # Without tuning what is not given is LogisticRegression's, also beside a grid.
    model = TextClassifier(tune=False, l2=(2.0, 1.0), cv=2).fit(texts, y)
    assert {point["dropout"] for point in model.search_.cv_results_["params"]} == {0.5}


@pytest.mark.parametrize(
    "labels",
    [["good", "bad"], [1, 0], [True, False], [2.0, -1.0], np.array(["good", "bad"], object), [10**12, -1]],
    ids=repr,
)
def test_labels_of_any_type_come_back(corpus, labels, tmp_path):
    texts, y, _ = corpus
    y = np.asarray(labels)[(y == "bad").astype(int)]
    model = TextClassifier(tune=False).fit(texts, y)
    assert set(model.predict(texts).tolist()) == set(np.asarray(labels).tolist())
    assert model.predict(texts).dtype == y.dtype
    model.save(tmp_path / "model.skops")
    again = TextClassifier.load(tmp_path / "model.skops")
    assert again.predict(texts).tolist() == model.predict(texts).tolist()
    assert again.classes_.dtype == model.classes_.dtype
    assert str(again.explain(texts[0])) == str(model.explain(texts[0]))


@pytest.mark.parametrize("penalty", ["gaussian", "quadratic"])  # one against the rest, and multinomial
def test_contributions_and_base_add_up_to_the_predictor(rng, penalty):
    y = np.array(list(WORDS) * 20)
    texts = [written(label, rng) for label in y]
    model = TextClassifier(tune=False, expectation=penalty).fit(texts, y)
    explained = model.explain(texts[0] + " unheard words, UNHEARD")
    total = np.array(explained.base) + np.sum([entry.weights for entry in explained.contributions], axis=0)
    scores = model.decision_function([texts[0]])[0]
    np.testing.assert_allclose(total - total.mean(), scores - scores.mean(), rtol=1e-4, atol=1e-5)
    assert explained.unknown == ["unheard", "words", ","]
    assert explained.label == model.predict([texts[0]])[0]
    np.testing.assert_allclose(
        list(explained.probabilities.values()), model.predict_proba([texts[0]])[0], rtol=1e-5
    )
    for label, features in model.top_features(3).items():
        assert len(features) == 3
        assert {feature.ngram for feature in features} & set(WORDS[label].split())


def test_two_classes_add_up_too(fitted, corpus):
    text = corpus[0][0]
    explained = fitted.explain(text)
    total = explained.base[1] + sum(entry.weights[1] for entry in explained.contributions)
    assert total == pytest.approx(fitted.decision_function([text])[0], rel=1e-4)
    sizes = [abs(entry.weight) for entry in explained.contributions]
    assert sizes == sorted(sizes, reverse=True)
    assert all(entry.weight >= 0 for entry in explained.contributions)
    assert fitted.explain("").contributions == []


def test_scikit_learn_may_search_and_score_it(corpus):
    texts, y, more = corpus
    assert cross_val_score(TextClassifier(tune=False), texts, y, cv=2).mean() > 0.8
    search = GridSearchCV(TextClassifier(tune=False), {"l2": [0.1, 10.0]}, cv=2).fit(
        texts, y, X_unlabeled=more
    )
    assert search.best_estimator_.summary_.unlabeled == len(more)
    assert clone(search.best_estimator_).get_params()["l2"] == search.best_params_["l2"]


def test_few_texts_of_a_class_make_few_folds(corpus):
    texts, y, _ = corpus
    few = np.flatnonzero(y == "good")[:3]
    rows = np.concatenate([few, np.flatnonzero(y == "bad")])
    model = TextClassifier().fit([texts[k] for k in rows], y[rows])
    assert model.summary_.search["folds"] == 3
    with pytest.raises(ValueError, match="Class good has one text only"):
        TextClassifier().fit([texts[k] for k in rows[2:]], y[rows[2:]])


@pytest.mark.parametrize(
    ("settings", "texts", "y", "complaint"),
    [
        ({}, "text", ["a"], "texts must be a list"),
        ({}, ["one", "two"], ["a"], r"y has shape \(1,\), but there are 2 texts"),
        ({"tune": False}, ["one", "one"], ["a", "a"], "one class only"),
        ({}, ["one", None], ["a", "b"], r"Text 1 .* is None"),
        ({"tune": "no"}, ["one", "two"], ["a", "b"], "tune must be True or False"),
        ({"tune": False, "dropout": 1.5}, ["one", "one"], ["a", "b"], "dropout"),
        ({"l2_weights": "bayes"}, ["one one", "one"] * 2, ["a", "b"] * 2, "l2_weights 'bayes' is unknown"),
    ],
    ids=repr,
)
def test_bad_input_gets_a_sentence(settings, texts, y, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        TextClassifier(**settings).fit(texts, y)


def test_an_unfitted_one_says_so(tmp_path):
    model = TextClassifier()
    for call in (
        lambda: model.predict(["a"]),
        lambda: model.explain("a"),
        model.top_features,
        lambda: model.save(tmp_path / "m"),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_the_search_is_that_of_the_estimator(corpus):
    texts, y, _ = corpus
    model = TextClassifier(cv=3).fit(texts, y)
    assert isinstance(model.search_, LogisticRegressionCV)
    refit = TextClassifier(tune=False).fit(texts, y)
    assert not hasattr(refit, "search_")


def test_weights_of_one_against_the_rest_are_as_they_are_and_multinomial_ones_sum_to_zero(rng):
    y = np.array(list(WORDS) * 20)
    texts = [written(label, rng) for label in y]
    for penalty, multinomial in (("gaussian", False), ("quadratic", True)):
        model = TextClassifier((1, 1), tune=False, expectation=penalty).fit(texts, y)
        coef = model.model_.coef_ - model.model_.coef_.mean(axis=0) * multinomial
        columns = model.vectorizer_.vocabulary_
        for entry in model.explain(texts[0]).contributions:
            np.testing.assert_allclose(entry.weights, coef[:, columns[entry.ngram]], atol=1e-6)
            k = np.argmax(np.abs(entry.weights))
            assert (entry.label, entry.weight) == (model.classes_[k], entry.weights[k])


def test_frequent_ngrams_come_before_rare_ones_of_the_same_weight(fitted):
    words = fitted.vectorizer_
    share = words.ngrams_.texts / words.n_texts_
    spread = dict(zip(words.get_feature_names_out(), np.sqrt(share * (1 - share)), strict=True))
    for entries in fitted.top_features(20).values():
        effects = [entry.weight * spread[entry.ngram] for entry in entries]
        assert effects == sorted(effects, reverse=True)


def test_no_ngram_speaks_for_a_class_with_a_weight_below_zero(fitted):
    everything = fitted.top_features(10_000)
    assert all(entry.weight > 0 for entries in everything.values() for entry in entries)
    assert sum(map(len, everything.values())) <= fitted.summary_.features
    with pytest.raises(ValueError, match="k must be above 0"):
        fitted.top_features(0)


def test_the_summary_counts_iterations_settings_and_what_did_not_converge(rng):
    y = np.array(list(WORDS) * 20)
    texts = [written(label, rng) for label in y]
    model = TextClassifier(cv=3, l2=(3.0, 1e-3), dropout=0.5, l2_weights="uniform").fit(texts, y)
    said, table = model.summary_, model.search_.cv_results_
    assert said.iterations == sum(result.n_iter for result in model.model_.result_)
    assert said.settings["discount"] is None
    means = table["mean_test_score"]
    assert said.search["within"] == np.sum(means >= means.max() - said.search["standard_error"])
    assert said.converged
    with pytest.warns(ConvergenceWarning):
        model = TextClassifier(tune=False, max_iter=1).fit(texts, y)
    assert not model.summary_.converged
    assert "NOT converged" in str(model.summary_)
    one_fold = [(np.arange(40), np.arange(40, 60))]
    model = TextClassifier(cv=one_fold, l2=(3.0, 1.0), dropout=0.5, l2_weights="uniform").fit(texts, y)
    assert "over 1 fold; the best of 2 settings" in str(model.summary_)


def test_settings_of_numpy_and_patterns_survive_the_file(corpus, tmp_path):
    texts, y, _ = corpus
    model = TextClassifier(
        ngram_range=(np.int64(1), np.int64(2)),
        min_df=np.int64(1),
        lowercase=np.bool_(False),
        strip_html=np.bool_(False),
        token_pattern=re.compile(r"\w+"),
        l2=np.logspace(-1, 1, 2),
        dropout=np.float64(0.3),
        l2_weights="uniform",
        cv=StratifiedKFold(2),
        random_state=np.random.RandomState(0),
        class_weight={"good": 2.0, "bad": 1.0},
        n_jobs=2,
    ).fit(texts, y)
    model.save(tmp_path / "m.skops")
    again = TextClassifier.load(tmp_path / "m.skops")
    assert (again.lowercase, again.token_pattern, again.n_jobs) == (False, r"\w+", None)
    others = ["A <b>lovely</b> LOVELY film", "dull!"]
    np.testing.assert_array_equal(again.predict_proba(others), model.predict_proba(others))
    assert again.vectorizer_.n_texts_ == len(texts)
    assert again.class_weight == {"good": 2.0, "bad": 1.0}


def test_a_fit_that_fails_leaves_the_old_model_whole(fitted, corpus):
    before = fitted.predict_proba(corpus[0])
    with pytest.raises(ValueError, match="one class only"):
        fitted.fit(["other words", "other texts"], ["a", "a"])
    np.testing.assert_array_equal(fitted.predict_proba(corpus[0]), before)


def test_missing_labels_of_every_kind_and_fractions_get_a_sentence():
    import pandas as pd

    texts = ["one", "two", "three", "four"]
    for y in (
        ["a", "b", None, "a"],
        [0.0, 1.0, np.nan, 1.0],
        pd.Series(["a", "b", None, "a"], dtype="string"),
        pd.Series([True, False, None, True], dtype="boolean"),
    ):
        with pytest.raises(ValueError, match=r"Text 2 \(counted from 0\) has no label"):
            TextClassifier(tune=False).fit(texts, y)
    with pytest.raises(ValueError, match=r"fractions, such as 0\.5; give classes as strings"):
        TextClassifier(tune=False).fit(texts, [0.0, 0.5, 1.0, 0.5])
