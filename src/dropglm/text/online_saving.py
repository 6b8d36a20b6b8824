"""What of an online text classifier is kept in a file: enough to go on learning as if it had not stopped."""

import re
from typing import Any, TypeVar

import numpy as np

from dropglm.estimators import OnlineLogisticRegression
from dropglm.online import State
from dropglm.text.hashing import Buckets, NgramHasher
from dropglm.text.saving import FOR_THE_READER, VOCABULARY, is_plain, restored_vectorizer
from dropglm.text.vectorizer import NgramVectorizer

Classifier = TypeVar("Classifier")


def state_of_online(classifier: Any) -> dict[str, Any]:
    """All that is known, the past of the steps included."""
    settings = {name: value for name, value in classifier.get_params().items() if name not in FOR_THE_READER}
    if isinstance(classifier.token_pattern, re.Pattern):
        settings["token_pattern"] = classifier.token_pattern.pattern
    if not is_plain(classifier.random_state):
        settings["random_state"] = None
    model, vectorizer = classifier.model_, classifier.vectorizer_
    if isinstance(vectorizer, NgramHasher):
        features: dict[str, Any] = vectorizer.ngrams_.to_state()
    else:
        features = {name: getattr(vectorizer.ngrams_, name) for name in VOCABULARY}
    return {
        "settings": settings,
        "classes": np.asarray(classifier.classes_),
        "counts": classifier.counts_,
        "state": dict(zip(State._fields, model.state_, strict=True)),
        "seen": model.seen_,
        "n_texts": vectorizer.n_texts_,
        "features": features,
    }


def restored_online(classifier: Classifier, state: dict[str, Any]) -> Classifier:
    """The classifier with what it had learnt, if all of it fits together."""
    found: Any = classifier
    found.vectorizer_ = _restored_features(found, state)
    d = len(found.vectorizer_.ngrams_)
    model = found._model()
    model._rule()
    model.n_features_in_ = d
    classes, counts, seen = state["classes"], state["counts"], state["seen"]
    if not (
        classes.ndim == 1
        and len(set(classes.tolist())) == len(classes) > 1
        and (np.sort(classes) == classes).all()
        and (str(counts.dtype), counts.shape) == ("int64", classes.shape)
        and (str(seen.dtype), seen.shape) == ("float64", (3,))
    ):
        raise ValueError("the classes do not fit what was counted")
    model._begin(classes, state["state"]["cells"].dtype)
    model.state_, model.seen_ = _restored_steps(model, state["state"]), seen
    found.model_, found.classes_, found.counts_ = model, classes, counts
    return classifier


def _restored_features(classifier: Any, state: dict[str, Any]) -> NgramHasher | NgramVectorizer:
    if classifier.bits is None:
        shared = classifier._shared(NgramVectorizer)
        return restored_vectorizer(state["features"] | {"n_texts": state["n_texts"]}, shared)
    hasher = classifier._hasher()
    hasher.ngrams_ = Buckets.from_state(state["features"], 1 << int(classifier.bits))
    hasher.n_texts_ = max(1, int(state["n_texts"]))
    return hasher


def _restored_steps(model: OnlineLogisticRegression, arrays: dict[str, np.ndarray]) -> State:
    """The state of the steps, whose arrays must have the shapes of a new one's."""
    expected = model.state_
    found = State(*(np.array(arrays[name]) for name in State._fields))
    for ours, theirs in zip(expected, found, strict=True):
        fits = theirs.dtype in (np.float32, np.float64) and theirs.dtype == ours.dtype
        if not (fits and theirs.shape == ours.shape and np.isfinite(theirs).all()):
            raise ValueError("the coefficients do not fit the features and the classes")
    return found
