"""OnlineTextClassifier: a stream of texts, in chunks of any size, to a model that can go on at any time."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dropglm import NgramHasher, OnlineLogisticRegression, OnlineTextClassifier, TextClassifier
from dropglm.model_files import ModelFileError
from dropglm.text import load_model

GOOD, BAD = ["lovely", "great", "fun", "moving"], ["dull", "long", "boring", "flat"]
FILLER = list("abcdefghij")
SETTINGS = [{}, {"rule": "dropout", "l2": 1e-3}, {"rule": "sgd", "average": True}]


@pytest.fixture
def stream(rng):
    y = rng.choice(["bad", "good"], size=400)
    return [
        " ".join([*rng.choice(FILLER, 6), *rng.choice(GOOD if label == "good" else BAD, 2)]) for label in y
    ], y


def learnt(texts, y, chunks=1, **settings):
    model = OnlineTextClassifier(bits=12, **settings)
    for part in np.array_split(np.arange(len(y)), chunks):
        model.partial_fit([texts[i] for i in part], y[part], classes=["bad", "good"])
    return model


def same(one, other):
    for left, right in zip(one.model_._state, other.model_._state, strict=True):
        assert_array_equal(left, right)
    assert_array_equal(one.counts_, other.counts_)
    assert one.vectorizer_.n_texts_ == other.vectorizer_.n_texts_
    for name in ("letters", "lengths"):
        left, right = (getattr(model.vectorizer_.ngrams_, name) for model in (one, other))
        assert_array_equal(left, right)


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
def test_chunks_do_not_matter(stream, settings, monkeypatch):
    whole = learnt(*stream, **settings)
    same(learnt(*stream, chunks=7, **settings), whole)
    monkeypatch.setattr("dropglm.text.base.CHUNK_CHARACTERS", 100)
    same(learnt(*stream, n_jobs=2, **settings), whole)


def test_it_learns_what_the_regression_learns_from_the_hashed_rows(stream):
    texts, y = stream
    X = NgramHasher(bits=12).transform(texts)
    model, expected = learnt(texts, y), OnlineLogisticRegression("adagrad")
    expected.partial_fit(X, y, classes=["bad", "good"])
    np.testing.assert_allclose(model.predict_proba(texts), expected.predict_proba(X), rtol=2e-4)
    assert model.progressive_accuracy_ == expected.progressive_accuracy_ > 0.9
    assert model.score(texts, y) > 0.97
    assert model.t_ == sum(model.counts_) == 400


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
def test_a_file_goes_on_bit_for_bit(stream, settings, tmp_path):
    texts, y = stream
    whole = learnt(texts, y, **settings)
    learnt(texts[:150], y[:150], **settings).save(tmp_path / "m")
    again = OnlineTextClassifier.load(tmp_path / "m")
    again.partial_fit(texts[150:], y[150:])
    same(again, whole)
    assert str(again.summary_) == str(whole.summary_)
    assert again.top_features() == whole.top_features()


def test_words_speak_for_their_class(stream):
    model = learnt(*stream)
    assert {entry.ngram for entry in model.top_features(4)["good"]} == set(GOOD)
    why = model.explain("a lovely unheard thing")
    assert why.label == "good"
    assert why.contributions[0].ngram == "lovely"
    assert why.unknown == ["unheard", "thing"]
    said = dict(model.summary_.lines())
    assert said["texts"].startswith("400 (bad ")
    assert "hashed to 4,096 columns" in said["n-grams"]


def test_it_goes_on_from_a_classifier_with_its_words(stream, tmp_path):
    texts, y = stream
    first = TextClassifier(ngram_range=(1, 1), tune=False, l2=1.0).fit(texts[:100], y[:100])
    model = OnlineTextClassifier("dropout").start_from(first)
    np.testing.assert_allclose(model.predict_proba(texts), first.predict_proba(texts), rtol=1e-5)
    model.partial_fit(texts[100:], y[100:])
    assert model.progressive_accuracy_ > 0.95
    assert model.bits is None
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    assert "hashed" not in str(model.summary_)
    assert model.explain("lovely").label == "good"


def test_fit_is_a_pass_in_random_order(stream):
    texts, y = stream
    one, same_seed, other = (
        OnlineTextClassifier(bits=12, random_state=seed).fit(texts, y) for seed in (0, 0, 1)
    )
    assert_array_equal(one.model_.coef_, same_seed.model_.coef_)
    assert not np.array_equal(one.model_.coef_, other.model_.coef_)
    assert one.score(texts, y) > 0.97
    assert one.counts_.sum() == 400


def test_bad_input_gets_a_sentence_and_changes_nothing(stream):
    texts, y = stream
    with pytest.raises(ValueError, match="The first call of partial_fit needs classes"):
        OnlineTextClassifier().partial_fit(texts, y)
    with pytest.raises(ValueError, match="call start_from first"):
        OnlineTextClassifier(bits=None).partial_fit(texts, y, classes=["bad", "good"])
    with pytest.raises(ValueError, match="call start_from first"):
        OnlineTextClassifier(bits=None).fit(texts, y)
    with pytest.raises(ValueError, match="bits must be from 1 to 30"):
        OnlineTextClassifier(bits=40).partial_fit(texts, y, classes=["bad", "good"])
    model, untouched = learnt(texts, y), learnt(texts, y)
    for bad_texts, bad_y, complaint in [
        (["x", "y"], ["bad", "ugly"], "Row 1 has the label ugly"),
        (["x", "y"], ["bad", None], "Row 1 has the label None"),
        (["x"], ["bad", "good"], r"y has shape \(2,\), but there are 1 texts"),
        (["x", None], ["bad", "good"], "Text 1 of X .* is None"),
        ([], [], "There are no texts to learn from"),
    ]:
        with pytest.raises((TypeError, ValueError), match=complaint):
            model.partial_fit(bad_texts, bad_y)
    same(model, untouched)


def test_a_damaged_file_gets_a_sentence(stream, tmp_path):
    from dropglm import model_files

    model = learnt(*stream)
    damages = {
        "cells": lambda state: state["state"].update(cells=np.zeros((1, 7, 2), np.float32)),
        "infinite": lambda state: state["state"]["time"].__setitem__(0, np.inf),
        "letters": lambda state: state["features"].update(letters=np.zeros(3, np.uint8)),
        "classes": lambda state: state.update(classes=np.array(["a", "a"])),
        "counts": lambda state: state.update(counts=np.zeros(5, np.int64)),
        "bits": lambda state: state["settings"].update(bits=13),
        "rule": lambda state: state["settings"].update(rule="none"),
        "used": lambda state: state["state"]["used"].__setitem__(-1, 1 << 40),
        "time": lambda state: state["state"]["time"].__setitem__(0, -5.0),
    }
    for name, damage in damages.items():
        state = model._to_state()
        state = state | {
            "state": {key: value.copy() for key, value in state["state"].items()},
            "features": dict(state["features"]),
        }
        damage(state)
        model_files.write(tmp_path / name, "OnlineTextClassifier", state)
        with pytest.raises(ModelFileError, match="damaged model file"):
            load_model(tmp_path / name)
    model.save(tmp_path / "good")
    with pytest.raises(
        ModelFileError, match="holds a model of kind 'OnlineTextClassifier', not TextClassifier"
    ):
        TextClassifier.load(tmp_path / "good")


def test_bad_settings_and_a_failed_first_call_change_nothing(stream):
    texts, y = stream
    model = learnt(texts, y)
    with pytest.raises(ValueError, match="cannot change after the first partial_fit"):
        model.set_params(average=True).partial_fit(texts, y)
    assert model.set_params(average=False).predict(["lovely"]) == ["good"]
    new = OnlineTextClassifier(bits=8)
    with pytest.raises(ValueError, match="label c"):
        new.partial_fit(["x", "y"], ["a", "c"], classes=["a", "b"])
    new.partial_fit(["x", "y"], ["a", "c"], classes=["a", "b", "c"])
    with pytest.raises(TypeError, match="must be a TextClassifier"):
        new.start_from(OnlineLogisticRegression())


def test_weights_are_factors_and_those_of_0_are_no_texts(stream):
    texts, y = stream
    weights = np.arange(len(y)) % 2
    model = OnlineTextClassifier(bits=12).partial_fit(texts, y, ["bad", "good"], sample_weight=weights)
    half = OnlineTextClassifier(bits=12).partial_fit(texts[1::2], y[1::2], ["bad", "good"])
    assert_array_equal(model.model_.coef_, half.model_.coef_)
    assert model.progressive_accuracy_ == half.progressive_accuracy_


def test_flags_of_a_pattern_are_kept_in_a_file(stream, tmp_path):
    import re

    model = OnlineTextClassifier(bits=8, lowercase=False, token_pattern=re.compile("[a-z]+", re.IGNORECASE))
    model.partial_fit(*stream, classes=["bad", "good"]).save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert_array_equal(again.predict_proba(["LOVELY Thing"]), model.predict_proba(["LOVELY Thing"]))
    assert again.vectorizer_.tokenize("LOVELY Thing") == ["LOVELY", "Thing"]
