"""TextClassifier: what is kept when a model is saved, pickled or loaded."""

import json
import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from dropglm import OnlineTextClassifier, TextClassifier, load_model
from dropglm.core.families import Family
from dropglm.core.l2_weights import L2_WEIGHTS, L2Weights, uniform_weights
from dropglm.core.noise import Dropout, Gaussian
from dropglm.core.penalties import EXPECTATIONS, Expectation, Quadratic
from tests.text.synthetic import random_text


@pytest.mark.parametrize(
    "labels",
    [["good", "bad"], [1, 0], [True, False], [2.0, -3.0], np.array(["good", "bad"], object), [10**12, -3]],
    ids=repr,
)
def test_predictions_have_the_type_of_the_labels(corpus, labels, tmp_path):
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


def test_numpy_settings_and_compiled_patterns_can_be_saved(corpus, tmp_path):
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


def test_objects_of_dropglm_are_accepted_and_the_model_can_be_saved(corpus, tmp_path):
    texts, y, _ = corpus
    expected = TextClassifier(tune=False, dropout=0.3, expectation="quadratic", l2_weights="naive_bayes")
    expected.fit(texts, y)
    model = TextClassifier(tune=False, dropout=Dropout(0.3), expectation=EXPECTATIONS["quadratic"])
    model.set_params(l2_weights=L2_WEIGHTS["naive_bayes"]).fit(texts, y)
    np.testing.assert_array_equal(model.predict_proba(texts), expected.predict_proba(texts))
    by_class = clone(model).set_params(expectation=Quadratic).fit(texts, y)
    np.testing.assert_array_equal(by_class.predict_proba(texts), expected.predict_proba(texts))
    assert json.loads(json.dumps(model.summary_.to_dict()))["settings"]["dropout"] == repr(Dropout(0.3))
    assert expected.summary_.settings["dropout"] == 0.3
    model.save(tmp_path / "m.skops")
    loaded = TextClassifier.load(tmp_path / "m.skops")
    np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    assert str(loaded.summary_) == str(model.summary_)
    assert (loaded.dropout, loaded.expectation, loaded.l2_weights) == (0.3, "quadratic", "naive_bayes")
    assert (loaded.model_.dropout, loaded.model_.l2_weights) == (0.3, "naive_bayes")
    np.testing.assert_array_equal(loaded.fit(texts, y).predict_proba(texts), expected.predict_proba(texts))


class OwnNoise(Dropout):
    """A noise that dropglm does not know."""


class OwnPenalty(Quadratic):
    """A penalty that dropglm does not know."""


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"dropout": OwnNoise(0.5)}, "dropout=OwnNoise"),
        ({"dropout": [0.5, OwnNoise(0.4)], "tune": True}, "dropout=OwnNoise"),
        ({"dropout": Gaussian(0.5)}, "dropout=Gaussian"),
        ({"expectation": OwnPenalty}, "expectation=OwnPenalty"),
        ({"expectation": Expectation("own", {Family: OwnPenalty})}, "expectation=Expectation"),
        ({"l2_weights": L2Weights(lambda rows: uniform_weights(rows))}, "l2_weights=L2Weights"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_model_with_objects_of_the_user_cannot_be_saved(corpus, tmp_path, settings, named):
    texts, y, _ = corpus
    fixed = {"tune": False, "l2": 1.0, "l2_weights": "uniform", "discount": 0.1, "cv": 2}
    model = TextClassifier(**fixed | settings).fit(texts, y)
    with pytest.raises(
        TypeError, match=f"A model with {named} cannot be saved.* do not contain code; use joblib"
    ):
        model.save(tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("labels", [("good", "bad"), (1, 0), (True, False)], ids=repr)
def test_class_weights_are_saved_for_labels_of_any_type(corpus, tmp_path, labels):
    texts, y, _ = corpus
    y = np.where(y == "good", *labels)
    weights = dict(zip(labels, (5.0, 1.0), strict=True))
    model = TextClassifier(tune=False, class_weight=weights).fit(texts, y)
    model.save(tmp_path / "m.skops")
    loaded = TextClassifier.load(tmp_path / "m.skops")
    assert loaded.class_weight == weights
    np.testing.assert_array_equal(loaded.fit(texts, y).predict_proba(texts), model.predict_proba(texts))


def test_a_set_of_stop_words_is_saved_and_functions_are_refused(tmp_path, corpus):
    texts, y, *_ = corpus
    model = TextClassifier(tune=False, stop_words={"the", "a"}).fit(texts, y)
    model.save(tmp_path / "m.skops")
    loaded = TextClassifier.load(tmp_path / "m.skops")
    assert loaded.stop_words == ["a", "the"]
    np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    for settings in ({"analyzer": str.split, "ngram_range": (1, 1)}, {"strip_accents": str.strip}):
        model = TextClassifier(tune=False, **settings).fit(texts, y)
        with pytest.raises(TypeError, match="cannot be saved, since model files do not contain code"):
            model.save(tmp_path / "m.skops")


def test_fitted_classifier_can_be_pickled_and_checked(fitted, corpus):
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(fitted))
    copy = pickle.loads(pickle.dumps(fitted))
    check_is_fitted(copy)
    np.testing.assert_array_equal(copy.predict_proba(corpus[0]), fitted.predict_proba(corpus[0]))


def test_columns_are_saved_and_loaded(fitted, tmp_path):
    fitted.text_column_, fitted.label_column_ = "review", "stars"
    fitted.save(tmp_path / "m.skops")
    loaded = TextClassifier.load(tmp_path / "m.skops")
    assert (loaded.text_column_, loaded.label_column_) == ("review", "stars")


@pytest.mark.parametrize("K", [2, 3])
def test_an_online_model_that_continues_a_classifier_is_saved_with_its_features(K, tmp_path, rng):
    y = ["good", "bad", "odd"][:K] * 12
    texts = [random_text(label, rng) for label in y]
    settings = {"cv": 2, "stop_words": ["the", "of"], "characters": None}
    model = OnlineTextClassifier().start_from(TextClassifier(**settings).fit(texts, y))
    model.partial_fit(texts, y)
    model.save(tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    for one in (again, model):
        one.partial_fit(texts[:9], y[:9])
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
