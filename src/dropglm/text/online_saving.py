"""What of an online text classifier is kept in a file: enough to go on learning as if it had not stopped."""

from typing import Any, TypeVar

import numpy as np

from dropglm.estimators import OnlineLogisticRegression
from dropglm.online import State
from dropglm.online.kernels import BETA_TOTAL
from dropglm.text.hashing import Buckets, NgramHasher
from dropglm.text.saving import restore_vectorizer, saved_settings
from dropglm.text.vectorizer import NgramVectorizer

Classifier = TypeVar("Classifier")


def state_of_online(classifier: Any) -> dict[str, Any]:
    """All that is known, the past of the steps included."""
    model, vectorizer = classifier.model_, classifier.vectorizer_
    return {
        "settings": saved_settings(classifier),
        "classes": np.asarray(classifier.classes_),
        "counts": classifier.counts_,
        "state": _of_used_columns(model._state),
        "seen": model._progressive_totals,
        "n_texts": vectorizer.n_texts_,
        "features": vectorizer.ngrams_._to_state(),
    }


def restored_online(classifier: Classifier, state: dict[str, Any]) -> Classifier:
    """The classifier with what it had learnt, if all of it fits together."""
    found: Any = classifier
    classes, counts, seen = state["classes"], state["counts"], state["seen"]
    if not (
        classes.ndim == 1
        and len(set(classes.tolist())) == len(classes) > 1
        and (np.sort(classes) == classes).all()
        and (str(counts.dtype), counts.shape) == ("int64", classes.shape)
        and (str(seen.dtype), seen.shape) == ("float64", (3,))
    ):
        raise ValueError("the classes do not fit what was counted")
    kept = state["state"]
    if kept["cells"].dtype not in (np.float32, np.float64):
        raise ValueError("the coefficients are no floats")
    found.vectorizer_ = _restored_features(found, state)
    model = found._tried()
    model._reset(classes, len(found.vectorizer_.ngrams_), kept["cells"].dtype)
    model._state, model._progressive_totals = _restored_steps(model, kept), seen
    found.model_, found.classes_, found.counts_ = model, classes, counts
    return classifier


def _restored_features(classifier: Any, state: dict[str, Any]) -> NgramHasher | NgramVectorizer:
    if classifier.bits is None:
        shared = classifier._settings_shared_with(NgramVectorizer)
        return restore_vectorizer(state["features"] | {"n_texts": state["n_texts"]}, shared)
    hasher = classifier._hasher()
    hasher.ngrams_ = Buckets._from_state(state["features"], len(hasher.ngrams_))
    hasher.n_texts_ = int(state["n_texts"])
    return hasher


def _of_used_columns(state: State) -> dict[str, np.ndarray]:
    """The state without the columns of which nothing is known: of hashed ones often most."""
    known, lazy = (state.cells != 0).any(axis=(0, 2)), state.histories.shape[1] > 0
    if lazy:
        known |= (state.histories[:, :, BETA_TOTAL] != 0).any(axis=0)
    used = np.flatnonzero(known)
    past = state.histories[:, used] if lazy else state.histories
    return {"used": used, "cells": state.cells[:, used], "past": past, "time": state.time}


def _restored_steps(model: OnlineLogisticRegression, kept: dict[str, np.ndarray]) -> State:
    """The state of the steps: a new one, with what was kept, whose shapes must fit it."""
    state, used = model._state, kept["used"]
    if not (
        (str(used.dtype), used.ndim) == ("int64", 1)
        and (np.diff(used) > 0).all()
        and (not len(used) or 0 <= used[0] <= used[-1] < state.cells.shape[1])
    ):
        raise ValueError("the columns in use are not in order")
    lazy = state.histories.shape[1] > 0
    shapes = {
        "cells": (len(state.cells), len(used), 2),
        "past": (len(state.cells), len(used) if lazy else 0, 2),
        "time": state.time.shape,
    }
    for name, shape in shapes.items():
        known, array = state._asdict()["histories" if name == "past" else name], kept[name]
        if array.dtype != known.dtype or array.shape != shape or not np.isfinite(array).all():
            raise ValueError("the coefficients do not fit the features and the classes")
    if (kept["time"] < 0).any():
        raise ValueError("time runs forward")
    state.cells[:, used], state.time[:] = kept["cells"], kept["time"]
    if lazy:
        state.histories[:, used] = kept["past"]
    return state
