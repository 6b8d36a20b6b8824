"""The comparison of a text classifier with tf-idf and logistic regression."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import LeaveOneGroupOut, StratifiedKFold

from dropglm import TextClassifier
from dropglm.text.comparison import compare_with_baseline, tfidf_baseline
from tests.text.synthetic import random_text


@pytest.fixture
def reviews(rng):
    y = np.array(["good", "bad", "odd"] * 10)
    return [random_text(label, rng) for label in y], y


MODEL = TextClassifier(tune=False, cv=2)


def out_of_fold(fit, texts, y, splits):
    """Return the probabilities that models of the other folds predict."""
    p = np.empty((len(y), len(set(y))))
    for train, test in splits:
        model = fit([texts[k] for k in train], y[train])
        p[test] = model.predict_proba([texts[k] for k in test])
    return p / p.sum(axis=1, keepdims=True)


def test_scores_are_those_of_out_of_fold_predictions(reviews):
    texts, y = reviews
    found = compare_with_baseline(MODEL, texts, y)
    splits = list(StratifiedKFold(2).split(texts, y))
    classes = np.unique(y)
    fits = {
        "model": lambda X, y: clone(MODEL).fit(X, y),
        "baseline": lambda X, y: tfidf_baseline(y).fit(X, y),
    }
    losses = []
    for name, fit in fits.items():
        p, scores = out_of_fold(fit, texts, y, splits), getattr(found, name)
        assert scores.accuracy.mean == pytest.approx(accuracy_score(y, classes[p.argmax(axis=1)]))
        assert scores.log_loss.mean == pytest.approx(log_loss(y, p), rel=1e-6)
        losses.append([-np.log(p[k, classes.tolist().index(y[k])]) for k in range(len(y))])
    difference = np.subtract(*losses)
    assert found.difference.log_loss.mean == pytest.approx(difference.mean(), rel=1e-5)
    assert found.difference.log_loss.standard_error == pytest.approx(
        difference.std() / np.sqrt(len(y)), rel=1e-5
    )
    assert (found.folds, found.texts) == (2, 30)
    assert json.loads(json.dumps(found.to_dict()))["model"]["accuracy"]["mean"] == found.model.accuracy.mean


def test_only_the_classifier_uses_unlabelled_texts(reviews, rng):
    texts, y = reviews
    more = [random_text(label, rng) for label in ["good", "odd"] * 10]
    plain, helped = (compare_with_baseline(MODEL, texts, y, X_unlabeled) for X_unlabeled in (None, more))
    assert plain.baseline == helped.baseline
    assert plain.model != helped.model


def test_classes_with_few_texts_reduce_the_number_of_folds(reviews):
    texts, y = reviews
    y = np.where(np.isin(np.arange(len(y)), [0, 3, 6]), "rare", y)
    found = compare_with_baseline(clone(MODEL).set_params(cv=5), texts, y)
    assert found.folds == 3


def test_classes_with_one_or_two_texts_are_refused(reviews):
    texts, y = reviews
    y = y.copy()
    y[:2] = "rare"
    with pytest.raises(ValueError, match="Class rare has only 2 texts; a comparison with the baseline needs"):
        compare_with_baseline(MODEL, texts, y)


def test_texts_without_words_get_a_sentence():
    wordless = [mark * count for count in range(1, 5) for mark in "!?."]  # without copies
    with pytest.raises(ValueError, match="tf-idf and logistic regression cannot be fitted: "):
        compare_with_baseline(clone(MODEL).set_params(min_df=1), wordless, ["a", "b", "a"] * 4)


def test_folds_of_the_user_are_used(reviews):
    texts, y = reviews
    groups = np.arange(len(y)) // 10
    splits = list(LeaveOneGroupOut().split(texts, y, groups))[:2]
    found = compare_with_baseline(clone(MODEL).set_params(cv=splits), texts, y)
    assert (found.folds, found.texts) == (2, 20)
