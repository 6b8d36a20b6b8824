"""What of a text classifier is kept in a model file, and how it is taken out again."""

import re
from typing import Any

import numpy as np

from dropglm import model_files
from dropglm.estimators import LogisticRegression
from dropglm.text.vectorizer import NgramVectorizer
from dropglm.text.vocabulary import Vocabulary

CHOSEN = ("dropout", "l2", "l2_weights", "discount")
VOCABULARY = ("letters", "ends", "spelling", "texts")
# How many threads are of use, and who wants to see bars, is for those who open the file to say.
FOR_THE_READER = ("n_jobs", "verbose")
# Left out if they are objects: the search is over.
SEARCHED = ("class_weight", "cv", "dropout", "discount", "l2", "random_state", "l2_weights", "scoring")


def state_of(classifier: Any) -> dict[str, Any]:
    """All that is needed to predict and to explain."""
    settings = settings_of(classifier)
    model, vectorizer = classifier.model_, classifier.vectorizer_
    return {
        "settings": settings,
        "classes": np.asarray(classifier.classes_),
        "multi_class": model.multi_class_,
        "coef": model.coef_,
        "intercept": model.intercept_,
        "chosen": {name: getattr(model, name) for name in CHOSEN},
        "summary": classifier.summary_.to_dict(),
        "n_texts": vectorizer.n_texts_,
        **{name: getattr(vectorizer.ngrams_, name) for name in VOCABULARY},
    }


def settings_of(classifier: Any) -> dict[str, Any]:
    """Its settings, in types that a file can hold."""
    settings = {name: value for name, value in classifier.get_params().items() if name not in FOR_THE_READER}
    pattern = classifier.token_pattern
    if isinstance(pattern, re.Pattern):
        flags = "".join(letter for letter in "aimsx" if pattern.flags & getattr(re, letter.upper()))
        settings["token_pattern"] = f"(?{flags}){pattern.pattern}" if flags else pattern.pattern
    return settings | {name: None for name in SEARCHED if name in settings and not _is_plain(settings[name])}


def restored_vectorizer(state: dict[str, Any], settings: dict[str, Any]) -> NgramVectorizer:
    """The vectoriser with its vocabulary, whose arrays must fit each other."""
    vectorizer = NgramVectorizer(**settings)
    vectorizer._check()
    vectorizer.ngrams_ = Vocabulary(*(state[name] for name in VOCABULARY)).check()
    vectorizer.n_texts_ = max(1, int(state["n_texts"]))
    return vectorizer


def restored_model(state: dict[str, Any], d: int) -> LogisticRegression:
    """The model over d features, whose coefficients must fit them and the classes."""
    classes, coef, intercept = state["classes"], state["coef"], state["intercept"]
    rows = 1 if len(classes) == 2 else len(classes)
    if not (
        coef.shape == (rows, d)
        and intercept.shape == (rows,)
        and coef.dtype in (np.float32, np.float64)
        and intercept.dtype in (np.float32, np.float64)
        and np.isfinite(coef).all()
        and np.isfinite(intercept).all()
        and state["multi_class"] in ("multinomial", "ovr")
        and classes.ndim == 1
        and len(set(classes.tolist())) == len(classes) > 1
    ):
        raise ValueError("the coefficients do not fit the vocabulary and the classes")
    model = LogisticRegression(**state["chosen"])
    model.coef_, model.intercept_, model.multi_class_ = coef, intercept, state["multi_class"]
    model.classes_, model.n_features_in_ = classes, d
    return model


def _is_plain(value: Any) -> bool:
    """Whether a file can hold it."""
    try:
        model_files.plain(value)
    except TypeError:
        return False
    return True
