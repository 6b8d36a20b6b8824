"""Several labels per row in scikit-learn's conventions: scores, searches, pipelines, callbacks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import accuracy_score, f1_score, get_scorer, log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils import get_tags

from dropglm import LogisticRegression, LogisticRegressionCV, OnlineLogisticRegression, TextClassifier
from tests.text.synthetic import texts_with_labels

X, Y = make_multilabel_classification(160, 12, n_classes=4, random_state=0)
NAMES = np.array(["a", "b", "c", "d"])
LISTS = [NAMES[row > 0].tolist() for row in Y]
SEARCH = LogisticRegressionCV(dropout=0.5, l2=(1.0, 10.0), l2_weights="uniform", cv=2)


def test_tags_say_who_takes_several_labels():
    for estimator in (LogisticRegression(), LogisticRegressionCV(), TextClassifier()):
        assert get_tags(estimator).classifier_tags.multi_label
    for other in (OnlineLogisticRegression(), LogisticRegression(class_weight="balanced")):
        assert not get_tags(other).classifier_tags.multi_label


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_the_score_is_the_share_of_rows_whose_labels_are_all_right(seed):
    model = LogisticRegression().fit(X, Y)
    rows = np.random.default_rng(seed).integers(len(X), size=60)
    w = np.random.default_rng(seed).uniform(size=60)
    expected = accuracy_score(Y[rows], model.predict(X[rows]), sample_weight=w)
    for given_labels in (Y[rows], sparse.csr_array(Y[rows]), Y[rows].tolist()):
        assert model.score(X[rows], given_labels, w) == pytest.approx(expected)
    named = LogisticRegression().fit(X, LISTS)
    assert named.score(X[rows], [LISTS[k] for k in rows], w) == pytest.approx(expected)


def test_a_search_scores_labels_like_its_scorer():
    model = SEARCH.fit(X, Y)
    P = model.predict_proba(X)
    assert model.score(X, Y) == pytest.approx(
        -np.mean([log_loss(y, p) for y, p in zip(Y.T, P.T, strict=True)])
    )
    assert model.score(X, sparse.csr_array(Y)) == model.score(X, Y)
    model = LogisticRegressionCV(dropout=0.5, l2=1.0, cv=2, scoring="accuracy").fit(X, LISTS)
    assert model.score(X, LISTS) == accuracy_score(Y, model.predict(X))


@pytest.mark.parametrize("scoring", ["f1_micro", "f1_macro", "average_precision", "roc_auc"])
def test_any_scorer_of_several_labels_chooses_settings(scoring):
    model = LogisticRegressionCV(
        dropout=0.5, l2=(1.0, 10.0), l2_weights="uniform", cv=2, scoring=scoring, calibrate=False
    ).fit(X, Y)
    halves = [model.cv_results_[f"split{k}_test_score"][model.best_index_] for k in (0, 1)]
    assert_allclose(np.mean(halves), model.best_scores_.mean(), atol=0.02)
    assert model.score(X, Y) == pytest.approx(get_scorer(scoring)(model, X, Y))


def test_cross_validation_and_searches_of_scikit_learn_take_indicators():
    scores = cross_val_score(LogisticRegression(), X, Y, scoring="f1_micro", cv=3)
    for score, (train, test) in zip(scores, KFold(3).split(X), strict=True):
        predicted = LogisticRegression().fit(X[train], Y[train]).predict(X[test])
        assert score == f1_score(Y[test], predicted, average="micro")
    found = GridSearchCV(LogisticRegression(), {"l2": [0.1, 10.0]}, scoring="f1_macro", cv=2).fit(X, Y)
    assert found.predict(X).shape == Y.shape
    assert found.score(X, Y) == f1_score(Y, found.predict(X), average="macro")


def test_a_warm_start_of_labels_needs_no_iteration():
    model = LogisticRegression(warm_start=True).fit(X, Y)
    coef = model.coef_
    assert model.fit(X, Y).n_iter_.max() <= 1
    assert_allclose(model.coef_, coef, atol=1e-3)


class Seen:
    """What callbacks of a fit are given after each iteration."""

    def __init__(self):
        self.labels, self.scores = [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        if context.task_name == "iteration":
            self.labels.append(y)
            self.scores.append(fitted_estimator.score(X, y))
        return False


@pytest.mark.parametrize("labels", [Y, LISTS], ids=["indicators", "lists"])
def test_callbacks_are_given_the_indicators_of_labels(labels):
    """Also if rows have none of the labels, whose number is not that of a class."""
    pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks")
    assert not Y.any(axis=1).all()
    seen = Seen()
    model = LogisticRegression().set_callbacks(seen).fit(X, labels)
    assert len(seen.labels) == model.n_iter_.sum()
    assert all(np.array_equal(y, Y) for y in seen.labels)
    assert seen.scores[-1] == pytest.approx(model.score(X, Y))


def test_text_classifiers_in_pipelines_and_searches():
    texts, lists = texts_with_labels(90)
    labels = MultiLabelBinarizer().fit_transform(lists)
    pipeline = make_pipeline(TextClassifier(tune=False))
    found = GridSearchCV(pipeline, {"textclassifier__l2": [0.01, 10.0]}, scoring="f1_micro", cv=2)
    found.fit(texts, labels)
    assert found.best_params_ == {"textclassifier__l2": 0.01}
    assert found.best_score_ > 0.7
    assert_array_equal(found.predict(texts).shape, labels.shape)
    assert cross_val_score(pipeline, texts, labels, cv=2).shape == (2,)


def test_a_text_classifier_scores_labels_in_any_form():
    texts, lists = texts_with_labels(60)
    labels = MultiLabelBinarizer().fit_transform(lists)
    named = TextClassifier(tune=False).fit(texts, lists)
    numbered = TextClassifier(tune=False).fit(texts, labels)
    expected = accuracy_score(labels, numbered.predict(texts))
    stored = sparse.csr_array(labels)
    numbers = [np.flatnonzero(row).tolist() for row in labels]
    for model, y in (
        (named, lists),
        (named, labels),
        (numbered, labels),
        (numbered, stored),
    ):
        assert model.score(texts, y) == expected
    assert numbered.score(texts, numbers) == expected
    assert named.score(texts, [[*one, "other"] for one in lists]) == 0.0
