"""How the parts of a text model are rebuilt from what a model file holds, after checks of all of it."""

from typing import Any

from dropglm.estimators.predictions import FittedLogistic
from dropglm.text.features import NgramFeatures
from dropglm.text.tokens import compile_pattern
from dropglm.text.vocabulary import Vocabulary


def restored_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a classifier as they were before they were saved."""
    weights = settings["class_weight"]
    return settings | {"class_weight": dict(weights) if isinstance(weights, list) else weights}


def restore_features(features: NgramFeatures, state: dict[str, Any]) -> None:
    """Give features with the settings of a file its vocabulary, after checking both."""
    features._check()
    compile_pattern(features.token_pattern)
    vocabulary = Vocabulary._from_state(state["vocabulary"])
    # No n-gram is in more texts than there are; a damaged file must not give logarithms of negative numbers.
    n_texts = max(1, state["n_texts"], int(vocabulary.document_counts.max()))
    features._set_vocabulary(vocabulary, n_texts)
    if features.analyzer != "word":
        # Longer n-grams of characters cannot be in the vocabulary; listing them would take memory.
        longest = max(map(len, vocabulary._words))
        shortest, most = features.ngram_range
        features.ngram_range = (min(shortest, longest), min(most, longest))
    # The hash tables of the words, and of stop words, are built now: chosen words could have the same hash.
    len(vocabulary._tables.word_keys)
    features._tokenizer()


def restore_coefficients(state: dict[str, Any], n_features: int) -> FittedLogistic:
    """Rebuild the fitted model, after checking its coefficients against the features and the classes."""
    classes, coef, intercept = state["classes"], state["coef"], state["intercept"]
    rows = 1 if len(classes) == 2 else len(classes)
    if coef.shape != (rows, n_features) or intercept.shape != (rows,):
        raise ValueError("the coefficients do not match the vocabulary and the classes")
    return FittedLogistic(classes, coef, intercept, state["multi_class"], n_features)
