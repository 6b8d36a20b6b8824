"""What a model file holds of a text classifier, and how the classifier is rebuilt from it."""

import re
from typing import Any

import numpy as np

from dropglm import model_files
from dropglm.estimators import LogisticRegression
from dropglm.text.vectorizer import NgramVectorizer
from dropglm.text.vocabulary import Vocabulary

CHOSEN = ("dropout", "l2", "l2_weights", "discount")
# Not saved: they concern the machine and the user that open the file.
NOT_SAVED = ("n_jobs", "verbose")
# Saved as None if they are objects that a file cannot hold; predictions do not need them.
ONLY_FOR_FITTING = (
    "class_weight",
    "cv",
    "dropout",
    "discount",
    "expectation",
    "l2",
    "random_state",
    "l2_weights",
    "scoring",
)


def model_state(vectorizer: NgramVectorizer, model: LogisticRegression) -> dict[str, Any]:
    """Return what a file has to hold of the vectorizer and of the model, to predict and to explain."""
    return {
        "classes": np.asarray(model.classes_),
        "multi_class": model.multi_class_,
        "coef": model.coef_,
        "intercept": model.intercept_,
        "chosen": {name: getattr(model, name) for name in CHOSEN if _is_plain(getattr(model, name))},
        "n_texts": vectorizer.n_texts_,
        **vectorizer.ngrams_._to_state(),
    }


def saved_settings(classifier: Any) -> dict[str, Any]:
    """Return the settings of a text classifier, in types that a file can hold."""
    settings = {name: value for name, value in classifier.get_params().items() if name not in NOT_SAVED}
    pattern = classifier.token_pattern
    if isinstance(pattern, re.Pattern):
        flags = "".join(letter for letter in "aimsx" if pattern.flags & getattr(re, letter.upper()))
        settings["token_pattern"] = f"(?{flags}){pattern.pattern}" if flags else pattern.pattern
    dropped = [name for name in ONLY_FOR_FITTING if name in settings and not _is_plain(settings[name])]
    return settings | dict.fromkeys(dropped)


def restore_vectorizer(state: dict[str, Any], settings: dict[str, Any]) -> NgramVectorizer:
    """Rebuild the vectorizer, after checking its settings and its vocabulary."""
    vectorizer = NgramVectorizer(**settings)
    vectorizer._check()
    vectorizer.ngrams_ = Vocabulary._from_state(state)
    vectorizer.n_texts_ = max(1, int(state["n_texts"]))
    return vectorizer


def restore_model(state: dict[str, Any], n_features: int) -> LogisticRegression:
    """Rebuild the model, after checking its coefficients against the features and the classes."""
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
    model = LogisticRegression(**state["chosen"])
    model.coef_, model.intercept_, model.multi_class_ = coef, intercept, state["multi_class"]
    model.classes_, model.n_features_in_ = classes, n_features
    return model


def _is_plain(value: Any) -> bool:
    """Return whether a file can hold the value."""
    try:
        model_files.to_plain(value)
    except TypeError:
        return False
    return True
