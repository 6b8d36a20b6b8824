"""TextClassifier: fitting, tuning and predictions."""

import inspect
import re
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from dropglm import LogisticRegression, LogisticRegressionCV, NgramVectorizer, TextClassifier
from tests.text.synthetic import WORDS, random_text

# The features, by default.
WEIGHTS = {"ngram_range": (1, 2), "min_df": (1, 2), "binary": False, "sublinear_tf": True, "use_idf": True}
WEIGHTS |= {"idf_power": 1.0, "norm": "l2", "ngram_weight": 0.5}


def test_classifier_equals_vectorizer_followed_by_logistic_regression(corpus, fitted):
    texts, y, more = corpus
    words = NgramVectorizer(**WEIGHTS).fit(texts + more)
    model = LogisticRegression(l2=0.3, discount=0.0).fit(
        words.transform(texts), y, X_unlabeled=words.transform(more)
    )
    np.testing.assert_allclose(fitted.model_.coef_, model.coef_, rtol=1e-5, atol=1e-7)
    X = words.transform(more)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        ours, expected = getattr(fitted, method)(more), getattr(model, method)(X)
        if method == "predict":
            assert ours.tolist() == expected.tolist()
        else:
            np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-6)
    assert fitted.score(texts, y) == model.score(words.transform(texts), y)


def test_tuning_tries_one_setting_after_the_other_and_the_summary_reports_the_standard_error(corpus):
    texts, y, more = corpus
    model = TextClassifier(cv=5).fit(texts, y, X_unlabeled=more)
    search = model.search_
    tried = search.cv_results_["params"]
    # Two pairs of dropout and l2 weights, then all of them with the same l2 and a smaller one.
    pairs = [(one["dropout"], one["l2_weights"], one["l2"]) for one in tried]
    assert set(pairs[:2]) == {(0.5, "naive_bayes", 0.1), (0.0, "uniform", 0.1)}
    every = {(dropout, rule) for dropout in (0.5, 0.0) for rule in ("naive_bayes", "uniform")}
    assert set(pairs[:8]) == {(*pair, l2) for pair in every for l2 in (0.1, 0.01)}
    assert len(tried) <= 10
    assert all((one["noise_std"], one["discount"]) == (0.0, 0.0) for one in tried)
    summary = model.summary_
    assert summary.search["score"] == search.best_score_
    assert search.best_scores_.mean() == search.best_score_
    assert summary.search["standard_error"] == pytest.approx(search.best_scores_.std(ddof=1) / np.sqrt(5))
    assert f"log loss {-search.best_score_:.4f} ± {summary.search['standard_error']:.4f}" in str(summary)
    accuracy = np.mean(model.classes_[model.cv_probabilities_.argmax(axis=1)] == y)
    assert summary.search["accuracy"] == accuracy
    low, high = summary.search["accuracy_interval"]
    sure = f"({low:.2f} to {high:.2f} with 95 % confidence)"
    assert f"accuracy {accuracy:.4f} {sure} over 5 folds" in str(summary)
    assert "40" in str(summary)
    assert "60 without" in str(summary)


def test_settings_with_one_value_are_not_tuned(corpus):
    texts, y, _ = corpus
    model = TextClassifier(dropout=0.3, l2=(2.0, 1.0), l2_weights="uniform", cv=2).fit(texts, y)
    assert {point["dropout"] for point in model.search_.cv_results_["params"]} == {0.3}
    assert {point["l2"] for point in model.search_.cv_results_["params"]} == {1.0, 2.0}
    fixed = {"dropout": 0.3, "l2": 2.0, "l2_weights": "naive_bayes", "discount": 0.2}
    # Texts are held out all the same, to choose the factors of the blend.
    for blend in ({}, {"calibrate": False}, {"naive_bayes": False}):
        assert len(TextClassifier(**fixed, **blend, cv=2).fit(texts, y).search_.cv_results_["params"]) == 1
    model = TextClassifier(**fixed, calibrate=False, naive_bayes=False).fit(texts, y)
    assert not hasattr(model, "search_")
    assert (model.model_.dropout, model.model_.l2_weights) == (0.3, "naive_bayes")
    # Without tuning, settings that are None have LogisticRegression's defaults.
    model = TextClassifier(tune=False, l2=2.0).fit(texts, y)
    assert not hasattr(model, "search_")
    assert (model.model_.dropout, model.model_.l2) == (0.5, 2.0)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("dropout", [0.1, 0.2]),
        ("l2", (1.0, 2.0)),
        ("discount", np.array([0.1, 0.2])),
        ("l2_weights", ["uniform", "naive_bayes"]),
    ],
)
def test_several_values_need_tuning(corpus, name, values):
    texts, y, _ = corpus
    message = re.escape(f"tune=False needs a single value for {name}, got {values!r}.")
    with pytest.raises(ValueError, match=message):
        TextClassifier(tune=False, **{name: values}).fit(texts, y)


def test_unknown_scorer_is_refused_before_the_texts_are_read():
    message = r"^scoring 'acc' is unknown; did you mean 'accuracy'\? Known: 'accuracy', "
    with pytest.raises(ValueError, match=message) as caught:
        TextClassifier(scoring="acc").fit(iter(()), [])
    assert "mean_squared_error" not in str(caught.value)


def test_vector_of_l2_weights_is_a_single_value(corpus):
    texts, y, _ = corpus
    expected = TextClassifier(tune=False, l2=2.0).fit(texts, y)
    ones = np.ones(expected.n_features_in_)
    fixed = {"dropout": 0.5, "l2": 2.0, "discount": 1.0, "l2_weights": ones}
    fixed |= {"calibrate": False, "naive_bayes": False}
    for model in (TextClassifier(tune=False, l2=2.0, l2_weights=ones), TextClassifier(**fixed)):
        model.fit(texts, y)
        assert not hasattr(model, "search_")
        np.testing.assert_array_equal(model.predict_proba(texts), expected.predict_proba(texts))


def test_scikit_learn_can_search_and_score_it(corpus):
    texts, y, more = corpus
    assert cross_val_score(TextClassifier(tune=False), texts, y, cv=2).mean() > 0.8
    search = GridSearchCV(TextClassifier(tune=False), {"l2": [0.1, 10.0]}, cv=2).fit(
        texts, y, X_unlabeled=more
    )
    assert search.best_estimator_.summary_.unlabeled == len(more)
    assert clone(search.best_estimator_).get_params()["l2"] == search.best_params_["l2"]


def test_as_many_unlabelled_texts_as_labelled_ones_are_not_split_silently(corpus):
    """scikit-learn's searches split every argument that is as long as X."""
    texts, y, more = corpus
    unlabeled = (more * 2)[: len(texts)]
    with pytest.raises(ValueError, match="X_unlabeled has as many rows as X"):
        GridSearchCV(TextClassifier(tune=False), {"l2": [0.1, 10.0]}, cv=2, error_score="raise").fit(
            texts, y, X_unlabeled=unlabeled
        )
    model = TextClassifier(tune=False).fit(texts, y, X_unlabeled=unlabeled)
    assert model.summary_.unlabeled == len(texts)


@pytest.mark.parametrize(
    ("settings", "texts", "y", "message"),
    [
        ({}, "text", ["a"], "string object received as X"),
        ({}, ["one", "two"], ["a"], r"y has shape \(1,\), but X has 2 texts"),
        ({"tune": False}, ["one", "one"], ["a", "a"], "only one class"),
        ({}, ["one", None], ["a", "b"], r"Text 1 .* is None"),
        ({"tune": "no"}, ["one", "two"], ["a", "b"], "tune must be True or False"),
        ({"tune": False, "dropout": 1.5}, ["one", "one"], ["a", "b"], "dropout"),
        ({"l2_weights": "bayes"}, ["one one", "one"] * 2, ["a", "b"] * 2, "l2_weights 'bayes' is unknown"),
        ({}, [], [], "X is empty; give at least two texts with labels."),
    ],
    ids=repr,
)
def test_bad_input_raises_a_clear_error(settings, texts, y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        TextClassifier(**settings).fit(texts, y)


def test_unfitted_classifier_raises_not_fitted_error(tmp_path):
    model = TextClassifier()
    for call in (
        lambda: model.predict(["a"]),
        lambda: model.explain("a"),
        model.top_features,
        lambda: model.save(tmp_path / "m"),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_search_is_stored_only_if_settings_were_tuned(corpus):
    texts, y, _ = corpus
    model = TextClassifier(cv=3).fit(texts, y)
    assert isinstance(model.search_, LogisticRegressionCV)
    refit = TextClassifier(tune=False).fit(texts, y)
    assert not hasattr(refit, "search_")


def test_summary_reports_iterations_search_and_convergence(rng):
    y = np.array(list(WORDS) * 20)
    texts = [random_text(label, rng) for label in y]
    model = TextClassifier(cv=3, l2=(3.0, 1e-3), dropout=0.5, l2_weights="uniform").fit(texts, y)
    summary, table = model.summary_, model.search_.cv_results_
    assert summary.iterations == sum(result.n_iter for result in model.model_.result_)
    assert summary.settings["discount"] is None
    means = table["mean_test_score"]
    assert summary.search["within"] == np.sum(means >= means.max() - summary.search["standard_error"])
    assert summary.converged
    with pytest.warns(ConvergenceWarning):
        model = TextClassifier(tune=False, max_iter=1).fit(texts, y)
    assert not model.summary_.converged
    assert "NOT converged" in str(model.summary_)
    one_fold = [(np.arange(40), np.arange(40, 60))]
    model = TextClassifier(cv=one_fold, l2=(3.0, 1.0), dropout=0.5, l2_weights="uniform").fit(texts, y)
    assert "over 1 fold; the best of 2 settings" in str(model.summary_)


def test_failed_fit_leaves_the_previous_model_unchanged(fitted, corpus):
    before = fitted.predict_proba(corpus[0])
    with pytest.raises(ValueError, match="only one class"):
        fitted.fit(["other words", "other texts"], ["a", "a"])
    np.testing.assert_array_equal(fitted.predict_proba(corpus[0]), before)


def test_labels_that_cannot_be_classes_raise_a_clear_error():
    texts = ["one", "two", "three", "four"]
    for y, message in (
        ([0.0, 0.5, 1.0, 0.5], r"fractional numbers such as 0\.5; use strings or integers as classes"),
        ([0.0, None, 1.0, 0.5], r"fractional numbers such as 0\.5"),
        ([0.0, np.inf, 1.0, 1.0], r"y has the label inf; use strings or integers as classes"),
        ([None, np.nan, None, None], r"No text of X has a label; give texts of at least two classes"),
        ([None, "a", None, "a"], r"y has only one class, a; a classifier needs at least 2 classes"),
    ):
        with pytest.raises(ValueError, match=message):
            TextClassifier(tune=False).fit(texts, y)


def test_texts_are_called_X_in_every_method(fitted):
    for name in ("fit", "predict", "predict_proba", "predict_log_proba", "decision_function", "score"):
        assert next(iter(inspect.signature(getattr(fitted, name)).parameters)) == "X"
    names = ["X", "y", "sample_weight", "X_unlabeled", "embeddings", "embeddings_unlabeled", "groups"]
    names += ["label_probabilities", "second_labels"]
    assert list(inspect.signature(fitted.fit).parameters) == names


def test_public_attributes_are_the_documented_ones(fitted):
    documented = {
        *("fit", "predict", "predict_proba", "predict_log_proba", "decision_function", "score"),
        *("top_features", "explain", "save", "load", "classes_", "n_features_in_", "vectorizer_", "model_"),
        *("summary_", "multilabel_", "thresholds_", "text_column_", "label_column_", "label_separator_"),
        *("to_sklearn", "selective", "predict_sets", "calibrate_on", "compare_with_training", "evidence_"),
    }  # and search_ and cv_probabilities_, after tuning
    of_scikit_learn = {"get_params", "set_params", "get_metadata_routing"}
    public = {name for name in dir(fitted) if not name.startswith("_")} - set(fitted.get_params())
    public = {name for name in public if not name.endswith("_request")}
    assert public - of_scikit_learn == documented


def test_defaults_agree_with_logistic_regression(corpus):
    texts, y, more = corpus
    theirs = LogisticRegression().get_params()
    for name in ("expectation", "class_weight", "tol", "max_iter", "n_jobs", "random_state", "verbose"):
        assert TextClassifier().get_params()[name] == theirs[name]
    assert TextClassifier(tune=False).fit(texts, y, X_unlabeled=more).model_.discount == 0.0


def test_number_of_features_is_the_number_of_ngrams(fitted):
    assert fitted.n_features_in_ == len(fitted.vectorizer_.get_feature_names_out()) > 0
    assert not hasattr(TextClassifier(), "n_features_in_")


def test_predicting_does_not_change_the_vectorizer(fitted):
    fitted.set_params(n_jobs=2).predict(["a lovely film"])
    assert fitted.vectorizer_.n_jobs is None


def test_predictions_during_a_refit_belong_to_one_of_the_two_fits():
    """The two fits differ in their number of features, so parts of both do not go together."""
    small = ["good film", "bad film"] * 2, ["a", "b"] * 2
    large = [f"good film number {k}" for k in range(9)] + ["bad"], ["c"] * 9 + ["d"]
    model = TextClassifier(tune=False, min_df=1).fit(*small)
    possible = [
        TextClassifier(tune=False, min_df=1).fit(*data).predict_proba(["good film"]).tolist()
        for data in (small, large)
    ]
    done, errors, seen = threading.Event(), [], []

    def predict():
        try:
            while not done.is_set():
                seen.append(model.predict_proba(["good film"]).tolist())
                assert seen[-1] in possible
                assert {label in "abcd" for label in model.top_features(1)} == {True}
                assert model.explain("good film").label in "abcd"
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=predict) for _ in range(2)]
    for thread in threads:
        thread.start()
    for turn in range(20):
        model.fit(*(small if turn % 2 else large))
    done.set()
    for thread in threads:
        thread.join()
    assert not errors
    assert seen


def test_verbose_shows_progress_on_standard_error(corpus, capsys):
    texts, y, _ = corpus
    TextClassifier(cv=2, l2=(1.0, 0.1)).fit(texts, y).predict(texts)
    assert capsys.readouterr() == ("", "")
    TextClassifier(cv=2, l2=(1.0, 0.1), verbose=1).fit(texts, y)
    output, progress = capsys.readouterr()
    assert output == ""
    assert "80 texts" in progress


def test_the_score_takes_a_list_of_labels():
    model = TextClassifier(tune=False).fit(["a lovely film", "a dull film"], ["good", "bad"])
    assert model.score(["lovely", "dull", "dull"], ["good", "bad", "good"]) == pytest.approx(2 / 3)
