"""How an online text model is rebuilt from what a model file holds, after checks of all of it."""

from typing import Any

import numpy as np

from dropglm.errors import InputError
from dropglm.estimators.online_model import OnlineModel
from dropglm.online import RULES, ProgressiveScores, State
from dropglm.online.kernels import SUM, UPDATED
from dropglm.registry import lookup
from dropglm.text.hashed_features import Buckets, HashedFeatures
from dropglm.text.tokens import compile_pattern


def restored_online_settings(state: dict[str, Any]) -> dict[str, Any]:
    """Return the settings as they were before they were saved."""
    settings: dict[str, Any] = state["settings"]
    rule = settings["rule"]
    if isinstance(rule, dict):
        kind = lookup(RULES, rule["name"], "rule")
        if len(rule["settings"]) != len(kind._fields):
            raise InputError(f"the rule {rule['name']} has {len(kind._fields)} settings")
        rule = kind(*rule["settings"])
    if (settings["bits"] is None) != ("vocabulary" in state and "vectorizer" in state):
        raise InputError("bits must be None if there is a vocabulary, and only then")
    return settings | {"rule": rule}


def restore_hashed(features: HashedFeatures, state: dict[str, Any]) -> None:
    """Give hashed features the names of their columns."""
    compile_pattern(features.token_pattern)
    features.ngrams_ = Buckets._from_state(state["buckets"], features._check()[2])
    features.n_texts_ = state["n_texts"]


def restore_online(classifier: Any, model: OnlineModel, features: Any, state: dict[str, Any]) -> None:
    """Give a classifier its model and its features, after checking that all parts fit together."""
    classes, counts, totals = state["classes"], state["counts"], state["seen"]
    if not ((np.sort(classes) == classes).all() and counts.shape == classes.shape and totals.shape == (3,)):
        raise InputError("the classes do not match their counts")
    saved = state["state"]
    model._reset(classes, len(features.ngrams_), saved["cells"].dtype)
    _restore_steps(model._state, saved)
    model._progressive_scores = ProgressiveScores(*totals.tolist())
    model._coefficients_at(saved["used"])  # raises if they are not finite
    classifier.vectorizer_, classifier.model_ = features, model
    classifier.classes_, classifier.counts_ = classes, counts


def _restore_steps(state: State, saved: dict[str, np.ndarray]) -> None:
    """Write the saved columns into a new state, after checking their shapes and values."""
    used = saved["used"]
    if not (
        (used[1:] > used[:-1]).all()  # a difference could overflow
        and (not len(used) or used[-1] < state.cells.shape[1])
    ):
        raise InputError("the used columns are not sorted, or out of range")
    K, lazy = len(state.cells), state.histories.shape[1] > 0
    past, time = saved["past"], saved["time"]
    if not (
        saved["cells"].shape == (K, len(used), 2)
        and past.shape == (K, len(used) if lazy else 0, 2)
        and time.shape == state.time.shape
    ):
        raise InputError("the coefficients do not match the features and the classes")
    # The clock of averages starts at 1.
    if (saved["cells"][:, :, SUM] < 0.0).any() or (past[:, :, UPDATED] > time[1] + 1.0).any():
        raise InputError("a sum is negative, or a coefficient was updated after the last step")
    state.cells[:, used], state.time[:] = saved["cells"], saved["time"]
    if lazy:
        state.histories[:, used] = saved["past"]
