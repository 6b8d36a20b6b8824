"""What a model file holds of an online text classifier: enough to continue learning as if uninterrupted."""

from typing import Any, TypeVar

import numpy as np

from dropglm.online import RULES, ProgressiveScores, State
from dropglm.online.kernels import BETA_TOTAL
from dropglm.text.hashing import Buckets, NgramHasher
from dropglm.text.saving import restore_vectorizer, saved_settings, vectorizer_settings
from dropglm.text.vectorizer import NgramVectorizer

Classifier = TypeVar("Classifier")


def online_state(classifier: Any) -> dict[str, Any]:
    """Return what a file has to hold of an ``OnlineTextClassifier``."""
    model, vectorizer = classifier.model_, classifier.vectorizer_
    model._coefficients()  # raises if they are not finite
    return {
        "settings": saved_settings(classifier) | {"rule": _saved_rule(classifier.rule)},
        "classes": np.asarray(classifier.classes_),
        "counts": classifier.counts_,
        "state": _used_columns(model._state),
        "seen": np.array(model._progressive_scores),
        "n_texts": vectorizer.n_texts_,
        "features": vectorizer.ngrams_._to_state(),
        # The settings of a TextClassifier's n-grams, most of which an online classifier does not have.
        "vectorizer": vectorizer_settings(vectorizer) if classifier.bits is None else {},
    }


def restore_online(kind: type[Classifier], state: dict[str, Any]) -> Classifier:
    """Rebuild the classifier, after checking that its parts fit together."""
    settings = state["settings"]
    classifier: Any = kind(**settings | {"rule": _restore_rule(settings["rule"])})
    classes, counts, totals = state["classes"], state["counts"], state["seen"]
    if not (
        classes.ndim == 1
        and len(set(classes.tolist())) == len(classes) > 1
        and (np.sort(classes) == classes).all()
        and (str(counts.dtype), counts.shape) == ("int64", classes.shape)
        and (str(totals.dtype), totals.shape) == ("float64", (3,))
    ):
        raise ValueError("the classes do not match their counts")
    saved = state["state"]
    if saved["cells"].dtype not in (np.float32, np.float64):
        raise ValueError("the coefficients are not floating-point numbers")
    classifier.vectorizer_ = _restore_features(classifier, state)
    model = classifier._model_with_current_settings()
    model._reset(classes, len(classifier.vectorizer_.ngrams_), saved["cells"].dtype)
    _restore_steps(model._state, saved)
    model._progressive_scores = ProgressiveScores(*totals.tolist())
    classifier.model_, classifier.classes_, classifier.counts_ = model, classes, counts
    return classifier


def _saved_rule(rule: Any) -> Any:
    """Return the rule in types that a file can hold: its name, or its name and its settings."""
    if isinstance(rule, str):
        return rule
    names = [name for name, kind in RULES.items() if type(rule) is kind]
    if not names:
        raise TypeError(
            f"A model with the rule {type(rule).__name__} cannot be saved, since model files do not hold "
            "code; use joblib, or a rule of dropglm."
        )
    return {"name": names[0], "settings": [float(setting) for setting in rule]}


def _restore_rule(saved: Any) -> Any:
    return saved if isinstance(saved, str) else RULES[saved["name"]](*saved["settings"])


def _restore_features(classifier: Any, state: dict[str, Any]) -> NgramHasher | NgramVectorizer:
    if classifier.bits is None:
        settings = classifier._settings_shared_with(NgramVectorizer) | state.get("vectorizer", {})
        return restore_vectorizer(state["features"] | {"n_texts": state["n_texts"]}, settings)
    hasher = classifier._new_hasher()
    hasher.ngrams_ = Buckets._from_state(state["features"], len(hasher.ngrams_))
    hasher.n_texts_ = int(state["n_texts"])
    return hasher


def _used_columns(state: State) -> dict[str, np.ndarray]:
    """Return the state of the columns that have occurred; of hashed columns, often few have."""
    occurred, lazy = (state.cells != 0).any(axis=(0, 2)), state.histories.shape[1] > 0
    if lazy:
        occurred |= (state.histories[:, :, BETA_TOTAL] != 0).any(axis=0)
    used = np.flatnonzero(occurred)
    histories = state.histories[:, used] if lazy else state.histories
    return {"used": used, "cells": state.cells[:, used], "past": histories, "time": state.time}


def _restore_steps(state: State, saved: dict[str, np.ndarray]) -> None:
    """Write the saved columns into a new state, after checking their shapes and values."""
    used = saved["used"]
    if not (
        (str(used.dtype), used.ndim) == ("int64", 1)
        and (np.diff(used) > 0).all()
        and (not len(used) or 0 <= used[0] <= used[-1] < state.cells.shape[1])
    ):
        raise ValueError("the used columns are not sorted, or out of range")
    K, lazy = len(state.cells), state.histories.shape[1] > 0
    expected = (
        ("cells", state.cells.dtype, (K, len(used), 2)),
        ("past", state.histories.dtype, (K, len(used) if lazy else 0, 2)),
        ("time", state.time.dtype, state.time.shape),
    )
    for name, dtype, shape in expected:
        array = saved[name]
        if array.dtype != dtype or array.shape != shape or not np.isfinite(array).all():
            raise ValueError("the coefficients do not match the features and the classes")
    if (saved["time"] < 0).any():
        raise ValueError("the step counter is negative")
    state.cells[:, used], state.time[:] = saved["cells"], saved["time"]
    if lazy:
        state.histories[:, used] = saved["past"]
