"""How an online text model is rebuilt from what a model file holds, after checks of all of it."""

from typing import Any

import numpy as np

from dropglm.estimators.online_model import OnlineModel
from dropglm.online import RULES, ProgressiveScores, State
from dropglm.text.hashed_features import Buckets, HashedFeatures


def restored_online_settings(state: dict[str, Any]) -> dict[str, Any]:
    """Return the settings as they were before they were saved."""
    settings: dict[str, Any] = state["settings"]
    rule = settings["rule"]
    restored = rule if isinstance(rule, str) else RULES[rule["name"]](*rule["settings"])
    return settings | {"rule": restored}


def restore_hashed(features: HashedFeatures, state: dict[str, Any]) -> None:
    """Give hashed features the names of their columns."""
    features.ngrams_ = Buckets._from_state(state["features"], features._check()[2])
    features.n_texts_ = int(state["n_texts"])


def restore_online(classifier: Any, model: OnlineModel, features: Any, state: dict[str, Any]) -> None:
    """Give a classifier its model and its features, after checking that all parts fit together."""
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
    model._reset(classes, len(features.ngrams_), saved["cells"].dtype)
    _restore_steps(model._state, saved)
    model._progressive_scores = ProgressiveScores(*totals.tolist())
    classifier.vectorizer_, classifier.model_ = features, model
    classifier.classes_, classifier.counts_ = classes, counts


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
