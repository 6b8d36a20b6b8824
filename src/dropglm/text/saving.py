"""What a model file holds of a text classifier, and how the classifier is rebuilt from it."""

import re
from typing import Any

import numpy as np

from dropglm import model_files
from dropglm.estimators import LogisticRegression
from dropglm.estimators.l2_weights import L2_WEIGHTS, L2Weights
from dropglm.noise import Dropout
from dropglm.penalties import EXPECTATIONS, Expectation
from dropglm.text.vectorizer import NgramVectorizer
from dropglm.text.vocabulary import Vocabulary

CHOSEN = ("dropout", "l2", "l2_weights", "discount")
# Not saved: they concern the machine and the user that open the file, or are too large for it.
NOT_SAVED = ("n_jobs", "verbose", "embedder")
# Saved as None if they are objects that a file cannot hold: they matter only for another fit, which then uses
# the default folds, accuracy and a random seed.
SAVED_AS_NONE = ("cv", "random_state", "scoring")
# The settings that may be objects.
OBJECTS = (
    *CHOSEN,
    "expectation",
    "class_weight",
    "analyzer",
    "stop_words",
    "strip_accents",
    *SAVED_AS_NONE,
)
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


def model_state(vectorizer: NgramVectorizer, model: LogisticRegression) -> dict[str, Any]:
    """Return what a file has to hold of the vectorizer and of the model, to predict and to explain."""
    return {
        "classes": np.asarray(model.classes_),
        "multi_class": model.multi_class_,
        "coef": model.coef_,
        "intercept": model.intercept_,
        "chosen": {name: saved_setting(name, getattr(model, name)) for name in CHOSEN},
        "n_texts": vectorizer.n_texts_,
        "ngram_weight": float(vectorizer.ngram_weight),
        **vectorizer.ngrams_._to_state(),
    }


def saved_settings(classifier: Any) -> dict[str, Any]:
    """Return the settings of a text classifier, in types that a file can hold."""
    settings = {name: value for name, value in classifier.get_params().items() if name not in NOT_SAVED}
    pattern = classifier.token_pattern
    if isinstance(pattern, re.Pattern):
        flags = "".join(letter for letter in "aimsx" if pattern.flags & getattr(re, letter.upper()))
        settings["token_pattern"] = f"(?{flags}){pattern.pattern}" if flags else pattern.pattern
    return settings | {name: saved_setting(name, settings[name]) for name in OBJECTS if name in settings}


def vectorizer_settings(vectorizer: NgramVectorizer) -> dict[str, Any]:
    """Return the settings that say how a fitted vectorizer turns texts into rows, in types for a file."""
    names = vectorizer.get_params().keys() - {*NOT_SAVED, "dtype", "max_df", "max_features", "min_df"}
    return {name: saved_setting(name, getattr(vectorizer, name)) for name in sorted(names)}


def saved_setting(name: str, value: Any) -> Any:
    """Return the value of a setting in types that a file can hold.

    Objects of dropglm are replaced by the number or the name that means the same.

    Raises
    ------
    TypeError
        If a refit needs an object that no number or name stands for, such as the user's own noise.

    Examples
    --------
    >>> from dropglm.noise import Dropout
    >>> saved_setting("dropout", [0.2, Dropout(0.5)])
    [0.2, 0.5]
    """
    if isinstance(value, (list, tuple)) and name in CHOSEN:
        return type(value)(saved_setting(name, item) for item in value)
    if type(value) is Dropout:
        return float(value.delta)
    if isinstance(value, (Expectation, L2Weights)):
        known: dict[str, Any] = EXPECTATIONS if isinstance(value, Expectation) else L2_WEIGHTS
        value = next((key for key, entry in known.items() if entry == value), value)
    if name == "class_weight" and isinstance(value, dict):
        value = [list(pair) for pair in value.items()]  # since the keys of a file's dictionaries are strings
    if isinstance(value, (set, frozenset)):
        value = sorted(value)  # stop words
    try:
        return model_files.to_plain(value)
    except TypeError:
        if name in SAVED_AS_NONE:
            return None
        kind = value.__name__ if isinstance(value, type) else type(value).__name__
        raise TypeError(
            f"A model with {name}={kind} cannot be saved, since model files do not contain code; use joblib."
        ) from None


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


def restore_vectorizer(state: dict[str, Any], settings: dict[str, Any]) -> NgramVectorizer:
    """Rebuild the vectorizer, after checking its settings and its vocabulary."""
    chosen = {"ngram_weight": state["ngram_weight"]} if "ngram_weight" in state else {}
    vectorizer = NgramVectorizer(**settings | chosen)
    vectorizer._check()
    vocabulary = Vocabulary._from_state(state)
    # No n-gram is in more texts than there are; a damaged file must not give logarithms of negative numbers.
    n_texts = max(1, int(state["n_texts"]), int(vocabulary.document_counts.max()))
    vectorizer._set_vocabulary(vocabulary, n_texts)
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
