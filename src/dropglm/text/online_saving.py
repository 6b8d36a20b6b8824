"""What a model file holds of an online text classifier: enough to continue learning as if uninterrupted."""

from typing import Any

import numpy as np

from dropglm.errors import InputTypeError
from dropglm.online import RULES, State
from dropglm.online.kernels import BETA_TOTAL
from dropglm.text.saving import saved_settings, vectorizer_settings


def online_state(classifier: Any) -> dict[str, Any]:
    """Return what a file has to hold of an ``OnlineTextClassifier``."""
    model, vectorizer = classifier.model_, classifier.vectorizer_
    state = model._check_fitted()._state
    if state.histories.shape[1] or not np.isfinite(state.cells).all():
        model._coefficients()  # raises if they are not finite
    return {
        "settings": saved_settings(classifier) | {"rule": _saved_rule(classifier.rule)},
        "classes": np.asarray(classifier.classes_),
        "counts": classifier.counts_,
        "state": _used_columns(state),
        "seen": np.array(model._progressive_scores),
        "n_texts": vectorizer.n_texts_,
        "columns": classifier._saved_columns(),
    } | (
        {"buckets": vectorizer.ngrams_._to_state()}
        if classifier.bits is not None
        # With the settings of a TextClassifier's n-grams, most of which an online classifier does not have.
        else {"vocabulary": vectorizer.ngrams_._to_state(), "vectorizer": vectorizer_settings(vectorizer)}
    )


def _saved_rule(rule: Any) -> Any:
    """Return the rule in types that a file can hold: its name, or its name and its settings."""
    if isinstance(rule, str):
        return rule
    names = [name for name, kind in RULES.items() if type(rule) is kind]
    if not names:
        raise InputTypeError(
            f"A model with the rule {type(rule).__name__} cannot be saved, since model files do not hold "
            "code; use joblib, or a rule of dropglm."
        )
    return {"name": names[0], "settings": [float(setting) for setting in rule]}


def _used_columns(state: State) -> dict[str, np.ndarray]:
    """Return the state of the columns that have occurred; of hashed columns, often few have."""
    occurred, lazy = (state.cells != 0).any(axis=(0, 2)), state.histories.shape[1] > 0
    if lazy:
        occurred |= (state.histories[:, :, BETA_TOTAL] != 0).any(axis=0)
    used = np.flatnonzero(occurred)
    histories = state.histories[:, used] if lazy else state.histories
    return {"used": used, "cells": state.cells[:, used], "past": histories, "time": state.time}
