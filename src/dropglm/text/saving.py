"""What a model file holds of a text classifier."""

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from dropglm import model_files
from dropglm.errors import InputTypeError
from dropglm.text.file_contents import CHOSEN, FEATURES
from dropglm.text.stop_words import stop_word_set

if TYPE_CHECKING:
    from dropglm.estimators import LogisticRegression
    from dropglm.text.vectorizer import NgramVectorizer

# Not saved: they concern the machine and the user that open the file, or are too large for it.
NOT_SAVED = ("n_jobs", "verbose", "device", "embedder")
# Saved as None if they are objects: they matter only for another fit, which then uses the default folds,
# accuracy and a random seed.
SAVED_AS_NONE = ("cv", "random_state", "scoring")
PLAIN = (type(None), bool, int, float, str)


def model_state(vectorizer: "NgramVectorizer", model: "LogisticRegression") -> dict[str, Any]:
    """Return what a file has to hold of the vectorizer and of the model, to predict and to explain."""
    return {
        "classes": np.asarray(model.classes_),
        "multi_class": model.multi_class_,
        "coef": model.coef_,
        "intercept": model.intercept_,
        "chosen": {name: saved_setting(name, getattr(model, name)) for name in CHOSEN},
        "n_texts": vectorizer.n_texts_,
        "ngram_weight": float(vectorizer.ngram_weight),
        "vocabulary": vectorizer.ngrams_._to_state(),
    }


def saved_settings(classifier: Any) -> dict[str, Any]:
    """Return the settings of a text classifier, in types that a file can hold."""
    settings = classifier.get_params()
    return {name: saved_setting(name, settings[name]) for name in settings if name not in NOT_SAVED}


def plain_pattern(pattern: Any) -> Any:
    """Return a token pattern as a string, with its flags, if it is a compiled one.

    Examples
    --------
    >>> plain_pattern(re.compile("[a-z]+", re.IGNORECASE))
    '(?i)[a-z]+'
    """
    if not isinstance(pattern, re.Pattern):
        return pattern
    flags = "".join(letter for letter in "aimsx" if pattern.flags & getattr(re, letter.upper()))
    return f"(?{flags}){pattern.pattern}" if flags else pattern.pattern


def vectorizer_settings(vectorizer: Any) -> dict[str, Any]:
    """Return the settings that say how a fitted vectorizer turns texts into rows, in types for a file."""
    return {name: saved_setting(name, getattr(vectorizer, name)) for name in (*FEATURES, "ngram_weight")}


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
    if all(type(one) in PLAIN for one in (value if type(value) in (list, tuple) else [value])):
        return value
    if name in SAVED_AS_NONE and not isinstance(value, np.generic):
        return None
    if name == "token_pattern":
        return plain_pattern(value)
    # Imported here: the settings of an online model are plain.
    from dropglm.estimators.l2_weights import L2_WEIGHTS, L2Weights
    from dropglm.noise import Dropout
    from dropglm.penalties import EXPECTATIONS, Expectation

    if isinstance(value, range) or (isinstance(value, np.ndarray) and value.dtype.kind in "iuf"):
        return np.asarray(value, np.float64)
    if isinstance(value, (list, tuple)) and name in CHOSEN:
        return type(value)(saved_setting(name, item) for item in value)
    if type(value) is Dropout:
        return float(value.delta)
    if isinstance(value, (Expectation, L2Weights)):
        known: dict[str, Any] = EXPECTATIONS if isinstance(value, Expectation) else L2_WEIGHTS
        value = next((key for key, entry in known.items() if entry == value), value)
    if name == "class_weight" and isinstance(value, dict):
        value = [list(pair) for pair in value.items()]  # since the keys of a file's dictionaries are strings
    if name == "stop_words":
        value = sorted(stop_word_set(value) or ())
    try:
        return model_files.to_plain(value)
    except TypeError:
        kind = value.__name__ if isinstance(value, type) else type(value).__name__
        raise InputTypeError(
            f"A model with {name}={kind} cannot be saved, since model files do not contain code; use joblib."
        ) from None
