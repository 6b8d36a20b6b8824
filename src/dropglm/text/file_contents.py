"""What the files of text models may contain: every name, with its type and range.

Texts are never paths, and nothing that a file names is imported, opened or called: functions, encoders and
ways to read files are not in these tables. What the parts of a file must have in common (such as one
coefficient per n-gram) is checked where a model is rebuilt from them.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from dropglm.base.errors import InputTypeError
from dropglm.base.model_files import (
    FLAG,
    HUGE,
    LABEL,
    TEXT,
    Kind,
    Record,
    array,
    either,
    none_or,
    number,
    one_of,
    several,
    to_plain,
    whole,
)
from dropglm.core.predictions import MULTILABEL
from dropglm.text.guarantees import KINDS
from dropglm.text.ngrams.analysis import ANALYZERS, MAX_BITS, STOP_WORDS, stop_word_set
from dropglm.text.ngrams.counting import MAX_NGRAM, NORMS
from dropglm.text.ngrams.tokens import ACCENTS, is_linear

# Memory that any file may take, and how many times its own size one may take beyond that; bytes of a
# coefficient with its sum, and of a page.
FREE_BYTES, MOST_TIMES, CELL, PAGE = 450_000_000, 64, 16, 4096


def _are_classes(value: Any) -> bool:
    """Return whether this is an array of distinct labels, all of one type."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "OUbiuf":
        return False
    labels = value.tolist()
    same_type = len({type(label) for label in labels}) == 1
    return same_type and all(map(LABEL.accepts, labels)) and len(set(labels)) == len(labels) > 1


def _are_counts(value: Any) -> bool:
    """Return whether this is a dictionary of counts."""
    return type(value) is dict and all(map(TEXT.accepts, value)) and all(map(whole().accepts, value.values()))


def _is_origin(value: Any) -> bool:
    """Return whether this says how a table is read, in names and whole numbers."""
    return type(value) is dict and all(map(none_or(either(TEXT, whole())).accepts, value.values()))


def _is_rule(value: Any) -> bool:
    """Return whether this is the name of an update rule, or its name and its settings."""
    if type(value) is not dict:
        return TEXT.accepts(value)
    named = value.keys() == {"name", "settings"} and TEXT.accepts(value["name"])
    return named and several(number()).accepts(value["settings"])


def _memory_risk(online: dict[str, Any]) -> str | None:
    """Return how much memory the coefficients take, if this is much and the file is small.

    A file contains only the columns that have occurred. In memory there are all columns, of which the system
    provides the pages that are written to; averages start from 1 and are written everywhere.
    """
    settings, K, state = online["settings"], len(online["classes"]), online["state"]
    if settings["bits"] is None:
        return None
    arrays = 2 if settings["average"] or settings["l2"] else 1  # with the histories
    needed = arrays * CELL * (K << settings["bits"])
    if not settings["average"]:
        needed = min(needed, arrays * PAGE * K * len(state["used"]))
    if needed <= max(FREE_BYTES, MOST_TIMES * sum(array.nbytes for array in state.values())):
        return None
    return f"it needs {needed / 1e9:.1f} GB of memory, far more than its own size"


CLASSES = Kind("an array of at least two distinct strings, whole numbers or finite numbers", _are_classes)
ORIGIN = Kind("the settings with which a table is read", _is_origin)
COUNTS = Kind("a number of texts for each class", _are_counts)
RULE = Kind("the name of an update rule, or its name and its settings", _is_rule)
FLOATS = "float32 float64"
PATTERN = Kind(
    "a regular expression that consists of classes of characters and their repetition",
    TEXT.accepts,
    is_linear,
)
FRACTION_OR_COUNT = number(0.0)  # of the texts

NGRAMS = {
    "ngram_range": several(whole(1, MAX_NGRAM), 2, 2),
    "lowercase": FLAG,
    "token_pattern": PATTERN,
    "strip_html": FLAG,
}
# How a text becomes a row, apart from ``ngram_weight``
FEATURES = NGRAMS | {
    "binary": FLAG,
    "sublinear_tf": FLAG,
    "use_idf": FLAG,
    "norm": none_or(one_of(*NORMS)),
    "idf_power": number(0.0),
    "analyzer": one_of(*ANALYZERS),
    "stop_words": none_or(either(one_of(*STOP_WORDS), several(TEXT))),
    "strip_accents": none_or(one_of(*ACCENTS)),
}
NUMBERS = f"{FLOATS} int64"
CANDIDATES = either(number(0.0), several(number(0.0)), array(NUMBERS, 1, 0.0, HUGE))
CANDIDATES = none_or(CANDIDATES._replace(what="one or several finite numbers of at least 0"))
WEIGHTS = either(TEXT, several(number()), array(NUMBERS, 1, -HUGE, HUGE))
WEIGHTS = WEIGHTS._replace(what="a name or an array of finite numbers")
CHOSEN = {"dropout": number(0.0, 1.0), "l2": number(0.0), "l2_weights": WEIGHTS, "discount": number(0.0)}
# Those that matter only if the model is fitted again
SELECTION = {
    "min_df": either(FRACTION_OR_COUNT, several(FRACTION_OR_COUNT, 2, 2)),
    "max_df": FRACTION_OR_COUNT,
    "max_features": none_or(whole(1)),
}
SEARCH = {
    "characters": none_or(several(whole(1, MAX_NGRAM), 2, 2)),
    "ngram_weight": CANDIDATES,
    "tune": FLAG,
    "dropout": CANDIDATES,
    "l2": CANDIDATES,
    "discount": CANDIDATES,
    "l2_weights": none_or(either(WEIGHTS, several(WEIGHTS))._replace(what=WEIGHTS.what)),
    "expectation": TEXT,
    "calibrate": FLAG,
    "naive_bayes": FLAG,
    "n_latent": whole(),
    "rounds": whole(),
    "class_weight": none_or(either(TEXT, several(several(LABEL, 2, 2)))),
    "cv": none_or(whole()),
    "scoring": none_or(TEXT),
    "precision": none_or(number(0.0, 1.0)),
    "tol": number(0.0),
    "max_iter": whole(),
    "random_state": none_or(whole()),
}
STEPS = {
    "rule": RULE,
    "rate": none_or(number(0.0)),
    "l2": number(0.0),
    "power": number(0.0),
    "average": FLAG,
    "epochs": whole(1),
    "shuffle": FLAG,
    "random_state": none_or(whole()),
}

SUMMARY = Record(
    {
        "texts": COUNTS,
        "unlabeled": whole(),
        "features": whole(),
        "settings": Record(
            {
                "dropout": either(number(0.0), TEXT),
                "l2": number(0.0),
                "l2_weights": either(TEXT, number()),
                **dict.fromkeys(("discount", "scale", "naive_bayes", "ngram_weight"), none_or(number())),
                **dict.fromkeys(("words", "characters"), none_or(number())),
            },
            optional=("words", "characters"),
        ),
        "search": Record(
            {
                "scoring": TEXT,
                **dict.fromkeys(("folds", "points", "within", "never_held_out"), whole()),
                "score": number(),
                "standard_error": none_or(number()),
                "score_of_shares": none_or(number()),
                "accuracy": number(),
                "accuracy_interval": several(number(0.0, 1.0), 2, 2),
                "l2_at_edge": FLAG,
                "groups": none_or(whole()),
            },
            optional=("score_of_shares", "accuracy_interval", "groups"),  # which older files lack
            or_none=True,
        ),
        "iterations": whole(),
        "converged": FLAG,
        "embedding": Record(
            {
                "dimension": whole(),
                "name": none_or(TEXT),
                # Older files have one number.
                "noise": either(several(number(0.0)), number(0.0)),
                "l2_weight": either(several(none_or(number(0.0))), number(0.0)),
            },
            or_none=True,
        ),
        "unlabeled_effect": Record(
            {
                **dict.fromkeys(
                    ("score", "accuracy", "score_without", "accuracy_without"), none_or(number())
                ),
                "n_latent": whole(),
                "rare_words": FLAG,
                "rounds": whole(),
                "discriminant_rounds": whole(),
                "discount": number(0.0),
            },
            optional=("score", "accuracy", "discriminant_rounds"),  # which older files lack
            or_none=True,
        ),
        **dict.fromkeys(("characters", "copies", "contradictory"), whole()),
        "several_labels": Record(
            {"texts": whole(), "without": whole(), "micro_f1": none_or(number(0.0, 1.0))}, or_none=True
        ),
        "columns": Record(
            {
                **dict.fromkeys(("numeric", "dates", "rare", "blocks"), several(TEXT)),
                **dict.fromkeys(("missing", "categories"), COUNTS),
                "dropout": several(number(0.0, 1.0)),
                "l2_weight": several(none_or(number(0.0))),
            },
            or_none=True,
        ),
        "second_hand": Record(
            {
                "sources": several(TEXT),
                "texts": whole(),
                "agreement": several(none_or(number(0.0, 1.0))),
                "used": several(FLAG),
                **dict.fromkeys(("score", "score_without"), number()),
            },
            or_none=True,
        ),
    },
    optional=("characters", "copies", "contradictory", "several_labels", "second_hand", "columns"),
)
VOCABULARY = Record(
    {
        "letters": array("uint8", 1, 0, 255),
        "ends": array("int64", 1, 0),
        "spelling": array("int32", 2),
        "texts": array("int32", 1, 0),
        "values": array("float32", 1),
    }
)
BUCKETS = Record({"letters": array("uint8", 1, 0, 255), "lengths": array("uint8", 1, 0, 255)})
EMBEDDING = Record(
    {
        "mean": array(FLOATS, 1),
        "coef": array(FLOATS, 2),
        "fingerprint": Record(
            {"dimension": whole(1), "name": none_or(TEXT), "probes": none_or(array("float32", 2))}
        ),
    },
    or_none=True,
)
CHARACTERS = Record(
    {
        "ngram_range": several(whole(1, MAX_NGRAM), 2, 2),
        "n_texts": whole(),
        "vocabulary": VOCABULARY,
        "coef": array(FLOATS, 2),
    },
    or_none=True,
)
# The columns of tables that a model takes, and the features of those that are not texts
TABLE = Record(dict.fromkeys(("text", "numeric", "categorical"), several(TEXT)), or_none=True)
COLUMN_FEATURES = Record(
    {
        **dict.fromkeys(("grids", "shares"), array("float64", 1, -HUGE, HUGE)),
        "lengths": array("int64", 1, 0),
        "names": several(several(TEXT)),
        **dict.fromkeys(("dates", "rare", "missing"), several(FLAG)),
        "sizes": several(number(0.0), 0, 2),
        "coef": array(FLOATS, 2),
    },
    or_none=True,
)
COLUMNS = Record({"text": none_or(TEXT), "label": none_or(TEXT), "separator": TEXT}, optional=("separator",))
# Rows that were held out, on which guarantees rest, and what training texts look like when they are new
EVIDENCE = Record(
    {
        **dict.fromkeys(("top", "own"), array("float32", 1, 0.0, 1.0)),
        "right": array("uint8", 1, 0, 1),
        "kind": one_of(*KINDS),
    },
    or_none=True,
)
TYPICAL = Record(dict.fromkeys(("known", "shared"), array("float32", 1, 0.0)), or_none=True)

TEXT_CLASSIFIER = Record(
    {
        "settings": Record(FEATURES | SELECTION | SEARCH, optional=("precision",)),
        "summary": SUMMARY,
        "classes": CLASSES,
        "multi_class": one_of("multinomial", "ovr", MULTILABEL),
        "thresholds": none_or(array("float64", 1, 0.0, 1.0)),
        "coef": array(FLOATS, 2),
        "intercept": array(FLOATS, 1),
        "chosen": Record(CHOSEN),
        "n_texts": whole(),
        "ngram_weight": number(0.0),
        "vocabulary": VOCABULARY,
        "characters": CHARACTERS,
        "embedding": EMBEDDING,
        "table": TABLE,
        "column_features": COLUMN_FEATURES,
        "columns": COLUMNS,
        "evidence": EVIDENCE,
        "typical": TYPICAL,
    },
    optional=("characters", "embedding", "thresholds", "evidence", "typical", "table", "column_features"),
)
ONLINE_TEXT_CLASSIFIER = Record(
    {
        "settings": Record(NGRAMS | STEPS | {"bits": none_or(whole(1, MAX_BITS))}),
        "classes": CLASSES,
        "counts": array("int64", 1, 0),
        "state": Record(
            {
                "used": array("int64", 1, 0),
                "cells": array(FLOATS, 3),
                "past": array("float64", 3),
                "time": array("float64", 1, 0.0),
            }
        ),
        "seen": array("float64", 1, 0.0),
        "n_texts": whole(),
        # One of the two: the names of hashed columns, or the n-grams of a TextClassifier and their settings
        "buckets": BUCKETS,
        "vocabulary": VOCABULARY,
        "vectorizer": Record(FEATURES | {"ngram_weight": number(0.0)}),
        "columns": COLUMNS,
    },
    optional=("buckets", "vocabulary", "vectorizer"),
    risk=_memory_risk,
)
ONLINE_TRAINING = Record(
    {
        "model": ONLINE_TEXT_CLASSIFIER,
        "epoch": whole(),
        "row": whole(),
        "bad_rows": whole(),
        "class_changes": whole(),
        "last_class": whole(-1),
        "last_learnt_row": whole(),
        "last_learnt_checksum": whole(),
        "origin": ORIGIN,
        "first_bad_rows": several(TEXT),
        "unlabeled_rows": whole(),
    },
    optional=("unlabeled_rows",),
)
MODELS = {"OnlineTextClassifier": ONLINE_TEXT_CLASSIFIER, "TextClassifier": TEXT_CLASSIFIER}
CHECKPOINTS = {"OnlineTraining": ONLINE_TRAINING}

# Not saved: they concern the machine and the user that open the file, or are too large for it.
NOT_SAVED = ("n_jobs", "verbose", "device", "embedder")
# Saved as None if they are objects: they matter only for another fit, which then uses the default folds,
# accuracy and a random seed.
SAVED_AS_NONE = ("cv", "random_state", "scoring")
PLAIN = (type(None), bool, int, float, str)


def saved_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a text classifier, in types that a file can hold."""
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


def saved_setting(name: str, value: Any) -> Any:
    """Return the value of a setting in types that a file can hold.

    Objects of dropglm are replaced by the number or the name that means the same.

    Raises
    ------
    TypeError
        If a refit needs an object that no number or name stands for, such as the user's own noise.

    Examples
    --------
    >>> from dropglm.core.noise import Dropout
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
    from dropglm.core.l2_weights import L2_WEIGHTS, L2Weights
    from dropglm.core.noise import Dropout
    from dropglm.core.penalties import EXPECTATIONS, Expectation

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
        return to_plain(value)
    except TypeError:
        kind = value.__name__ if isinstance(value, type) else type(value).__name__
        raise InputTypeError(
            f"A model with {name}={kind} cannot be saved, since model files do not contain code; use joblib."
        ) from None
