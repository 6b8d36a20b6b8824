"""How the parts of a text model are rebuilt from what a model file holds, after checks of all of it."""

from typing import Any

import numpy as np

from dropglm.estimators.predictions import FittedLogistic
from dropglm.text.features import NgramFeatures
from dropglm.text.vocabulary import Vocabulary

# Settings that files of version 0.2 lack, with the values that reproduce the features of that version.
SETTINGS_OF_VERSION_0_2: dict[str, Any] = {
    "binary": True,
    "sublinear_tf": False,
    "use_idf": False,
    "norm": None,
    "idf_power": 1.0,
    "ngram_weight": 1.0,
    "calibrate": False,
    "naive_bayes": False,
    "n_latent": 0,
    "rounds": 0,
}


def columns_of(state: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return the columns of the training table, which files of version 0.2.0 and earlier do not have."""
    columns = state.get("columns", {"text": None, "label": None})
    text, label = columns["text"], columns["label"]
    if not all(name is None or isinstance(name, str) for name in (text, label)):
        raise ValueError("the names of the columns are not strings")
    return text, label


def restored_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings as they were before they were saved; those that a file lacks are of version 0.2.

    Examples
    --------
    >>> restored_settings({"binary": False})["norm"], restored_settings({"norm": "l2"})["norm"]
    (None, 'l2')
    """
    if isinstance(settings.get("class_weight"), list):
        settings = settings | {"class_weight": dict(settings["class_weight"])}
    return SETTINGS_OF_VERSION_0_2 | settings


def restore_features(features: NgramFeatures, state: dict[str, Any]) -> None:
    """Give features with the settings of a file its vocabulary, after checking both."""
    if "ngram_weight" in state:
        features.ngram_weight = state["ngram_weight"]
    features._check()
    vocabulary = Vocabulary._from_state(state)
    # No n-gram is in more texts than there are; a damaged file must not give logarithms of negative numbers.
    n_texts = max(1, int(state["n_texts"]), int(vocabulary.document_counts.max()))
    features._set_vocabulary(vocabulary, n_texts)


def restore_coefficients(state: dict[str, Any], n_features: int) -> FittedLogistic:
    """Rebuild the fitted model, after checking its coefficients against the features and the classes."""
    classes, coef, intercept = state["classes"], state["coef"], state["intercept"]
    rows = 1 if len(classes) == 2 else len(classes)
    if not (
        coef.shape == (rows, n_features)
        and intercept.shape == (rows,)
        and coef.dtype in (np.float32, np.float64)
        and intercept.dtype in (np.float32, np.float64)
        and np.isfinite(coef).all()
        and np.isfinite(intercept).all()
        and state["multi_class"] in ("multinomial", "ovr")
        and classes.ndim == 1
        and len(set(classes.tolist())) == len(classes) > 1
    ):
        raise ValueError("the coefficients do not match the vocabulary and the classes")
    return FittedLogistic(classes, coef, intercept, state["multi_class"], n_features)
