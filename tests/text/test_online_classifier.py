"""OnlineTextClassifier: learning from a stream of texts in chunks, and model files."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dropglm import NgramHasher, OnlineLogisticRegression, OnlineTextClassifier, TextClassifier
from dropglm.base.model_files import ModelFileError
from dropglm.core.online import AdaGrad, Rule
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


def trained(texts, y, chunks=1, **settings):
    model = OnlineTextClassifier(bits=12, **settings)
    for part in np.array_split(np.arange(len(y)), chunks):
        model.partial_fit([texts[i] for i in part], y[part], classes=["bad", "good"])
    return model


def assert_same(one, other):
    for left, right in zip(one.model_._state, other.model_._state, strict=True):
        assert_array_equal(left, right)
    assert_array_equal(one.counts_, other.counts_)
    assert one.vectorizer_.n_texts_ == other.vectorizer_.n_texts_
    for name in ("letters", "lengths"):
        left, right = (getattr(model.vectorizer_.ngrams_, name) for model in (one, other))
        assert_array_equal(left, right)


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
def test_the_model_does_not_depend_on_chunks(stream, settings, monkeypatch):
    whole = trained(*stream, **settings)
    assert_same(trained(*stream, chunks=7, **settings), whole)
    monkeypatch.setattr("dropglm.text.ngrams.analysis.CHUNK_CHARACTERS", 100)
    assert_same(trained(*stream, n_jobs=2, **settings), whole)


def test_it_equals_a_regression_on_the_hashed_features(stream):
    texts, y = stream
    X = NgramHasher(bits=12).transform(texts)
    model, expected = trained(texts, y), OnlineLogisticRegression("adagrad")
    expected.partial_fit(X, y, classes=["bad", "good"])
    np.testing.assert_allclose(model.predict_proba(texts), expected.predict_proba(X), rtol=2e-4)
    assert model.progressive_accuracy_ == expected.progressive_accuracy_ > 0.9
    assert model.score(texts, y) > 0.97
    assert model.t_ == sum(model.counts_) == 400


@pytest.mark.parametrize("settings", SETTINGS, ids=repr)
def test_a_saved_model_continues_bit_for_bit(stream, settings, tmp_path):
    texts, y = stream
    whole = trained(texts, y, **settings)
    trained(texts[:150], y[:150], **settings).save(tmp_path / "m")
    again = OnlineTextClassifier.load(tmp_path / "m")
    again.partial_fit(texts[150:], y[150:])
    assert_same(again, whole)
    assert str(again.summary_) == str(whole.summary_)
    assert again.top_features() == whole.top_features()


def test_the_top_features_are_the_words_of_each_class(stream):
    model = trained(*stream)
    assert {entry.ngram for entry in model.top_features(4)["good"]} == set(GOOD)
    why = model.explain("a lovely unheard thing")
    assert why.label == "good"
    assert why.contributions[0].ngram == "lovely"
    assert why.unknown == ["unheard", "thing"]
    lines = dict(model.summary_.lines())
    assert lines["texts"].startswith("400 (bad ")
    assert "hashed to 4,096 columns" in lines["n-grams"]


def test_start_from_continues_from_a_text_classifier_with_its_vocabulary(stream, tmp_path):
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


def test_fit_makes_five_passes_in_an_order_given_by_the_random_state(stream):
    texts, y = stream
    one, same_seed, other = (
        OnlineTextClassifier(bits=12, random_state=seed).fit(texts, y) for seed in (0, 0, 1)
    )
    assert_array_equal(one.model_.coef_, same_seed.model_.coef_)
    assert not np.array_equal(one.model_.coef_, other.model_.coef_)
    assert one.score(texts, y) > 0.97
    assert one.counts_.sum() == 400
    assert one.t_ == 5 * 400


def test_invalid_input_raises_and_does_not_change_the_model(stream):
    texts, y = stream
    with pytest.raises(ValueError, match="The first call to partial_fit requires classes"):
        OnlineTextClassifier().partial_fit(texts, y)
    with pytest.raises(ValueError, match="call start_from first"):
        OnlineTextClassifier(bits=None).partial_fit(texts, y, classes=["bad", "good"])
    with pytest.raises(ValueError, match="call start_from first"):
        OnlineTextClassifier(bits=None).fit(texts, y)
    with pytest.raises(ValueError, match="bits must be between 1 and 30"):
        OnlineTextClassifier(bits=40).partial_fit(texts, y, classes=["bad", "good"])
    model, untouched = trained(texts, y), trained(texts, y)
    for bad_texts, bad_y, message in [
        (["x", "y"], ["bad", "ugly"], "Row 1 has the label ugly"),
        (
            ["x", "y"],
            ["bad", None],
            r"Text 1 of X \(counted from 0\) has no label; leave it out, since every",
        ),
        (["x"], ["bad", "good"], r"y has shape \(2,\), but X has 1 texts"),
        (["x", None], ["bad", "good"], "Text 1 of X .* is None"),
        ([], [], "X is empty; give at least one text"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            model.partial_fit(bad_texts, bad_y)
    assert_same(model, untouched)


def test_damaged_files_are_refused(stream, tmp_path):
    from dropglm.base import model_files

    model = trained(*stream)
    damages = {
        "cells": lambda state: state["state"].update(cells=np.zeros((1, 7, 2), np.float32)),
        "infinite": lambda state: state["state"]["time"].__setitem__(0, np.inf),
        "letters": lambda state: state["buckets"].update(letters=np.zeros(3, np.uint8)),
        "classes": lambda state: state.update(classes=np.array(["a", "a"])),
        "counts": lambda state: state.update(counts=np.zeros(5, np.int64)),
        "bits": lambda state: state["settings"].update(bits=13),
        "rule": lambda state: state["settings"].update(rule="none"),
        "used": lambda state: state["state"]["used"].__setitem__(-1, 1 << 40),
        "sums": lambda state: state["state"]["cells"].__setitem__((0, 0, 1), -1.0),
        "buckets": lambda state: state.pop("buckets"),
        "time": lambda state: state["state"]["time"].__setitem__(0, -5.0),
    }
    reasons = {
        "time": "state.time must be an array .* with entries from 0",
        "letters": "the names of the columns do not match",
        "sums": "a sum is negative",
        "rule": "rule 'none' is unknown",
    }
    for name, damage in damages.items():
        state = model._current_model().to_state()
        state = state | {
            "state": {key: value.copy() for key, value in state["state"].items()},
            "buckets": dict(state["buckets"]),
        }
        damage(state)
        content = {"format": model_files.FORMAT, "kind": "OnlineTextClassifier", "state": state}
        (tmp_path / name).write_bytes(model_files.to_archive(model_files.to_plain(content)))
        with pytest.raises(ModelFileError, match=f"damaged model file: {reasons.get(name, '')}"):
            load_model(tmp_path / name)
    model.save(tmp_path / "good")
    with pytest.raises(
        ModelFileError, match="holds a model of kind 'OnlineTextClassifier', not TextClassifier"
    ):
        TextClassifier.load(tmp_path / "good")


def test_invalid_settings_and_a_failed_first_call_do_not_change_the_model(stream, tmp_path):
    texts, y = stream
    model = trained(texts, y)
    with pytest.raises(ValueError, match="cannot change after the first partial_fit"):
        model.set_params(average=True).partial_fit(texts, y)
    with pytest.raises(ValueError, match="average cannot change after the first partial_fit"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    assert model.set_params(average=False).predict(["lovely"]) == ["good"]
    new = OnlineTextClassifier(bits=8)
    with pytest.raises(ValueError, match="label c"):
        new.partial_fit(["x", "y"], ["a", "c"], classes=["a", "b"])
    new.partial_fit(["x", "y"], ["a", "c"], classes=["a", "b", "c"])
    with pytest.raises(TypeError, match="must be a TextClassifier"):
        new.start_from(OnlineLogisticRegression())


def test_texts_of_weight_0_are_ignored(stream):
    texts, y = stream
    weights = np.arange(len(y)) % 2
    model = OnlineTextClassifier(bits=12).partial_fit(texts, y, ["bad", "good"], sample_weight=weights)
    half = OnlineTextClassifier(bits=12).partial_fit(texts[1::2], y[1::2], ["bad", "good"])
    assert_array_equal(model.model_.coef_, half.model_.coef_)
    assert model.progressive_accuracy_ == half.progressive_accuracy_


def test_flags_of_a_pattern_are_saved(stream, tmp_path):
    import re

    model = OnlineTextClassifier(bits=8, lowercase=False, token_pattern=re.compile("[a-z]+", re.IGNORECASE))
    model.partial_fit(*stream, classes=["bad", "good"]).save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert_array_equal(again.predict_proba(["LOVELY Thing"]), model.predict_proba(["LOVELY Thing"]))
    assert again.vectorizer_.tokenize("LOVELY Thing") == ["LOVELY", "Thing"]


class Unsaved(Rule, NamedTuple("Settings", [("rate", float)])):
    """A rule that is not part of dropglm."""

    def increment(self, slope, weight, curvature):
        return 0.0

    def initial_sum(self, c2):
        return 1.0

    def metric(self, s, t):
        return 1.0

    def same_metric_for_all(self):
        return True


def test_a_rule_object_is_saved_with_its_settings_if_it_belongs_to_dropglm(stream, tmp_path):
    texts, y = stream
    model = trained(texts[:200], y[:200], rule=AdaGrad(initial=0.5))
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert type(again.rule) is AdaGrad
    assert again.rule == AdaGrad(initial=0.5)
    assert_same(again.partial_fit(texts[200:], y[200:]), trained(texts, y, rule=AdaGrad(initial=0.5)))
    assert "rule AdaGrad, rate 1.0" in str(model.summary_)
    other = trained(texts, y, rule=Unsaved(0.1))
    assert set(other.top_features(2)["good"][0].ngram.split()) <= set(GOOD)
    with pytest.raises(TypeError, match="the rule Unsaved cannot be saved"):
        other.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_defaults_are_those_of_the_regression():
    ours, theirs = OnlineTextClassifier().get_params(), OnlineLogisticRegression().get_params()
    shared = ours.keys() & theirs.keys()
    assert {"rule", "rate", "l2", "power", "average", "epochs", "shuffle", "random_state"} <= shared
    assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}


def test_the_number_of_features_is_that_of_the_columns(stream):
    model = OnlineTextClassifier(bits=12)
    assert not hasattr(model, "n_features_in_")
    assert model.partial_fit(*stream, classes=["bad", "good"]).n_features_in_ == 4096
    first = TextClassifier(ngram_range=(1, 1), tune=False, l2=1.0).fit(*stream)
    assert OnlineTextClassifier().start_from(first).n_features_in_ == len(first.vectorizer_.ngrams_)


def test_a_diverged_model_neither_predicts_nor_is_saved(stream, tmp_path):
    texts, y = stream
    model = OnlineTextClassifier(bits=12, rate=1.7e308)
    with pytest.raises(ValueError, match=r"diverged by step \d+"):
        model.partial_fit(texts, y, classes=["bad", "good"])
    for use in (lambda: model.predict(texts), lambda: model.save(tmp_path / "m"), lambda: model.summary_):
        with pytest.raises(ValueError, match=r"diverged by step \d+.*Lower rate \(now 1.7e\+308\)"):
            use()
    assert not (tmp_path / "m").exists()
