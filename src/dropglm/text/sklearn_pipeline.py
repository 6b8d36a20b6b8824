"""Fitted vectorizers and text models as scikit-learn's own.

A feature of scikit-learn's ``TfidfVectorizer`` is tf(c) · idf_j, divided by the norm of the row. With idf_j^p
· b^(n - 1) in the place of idf_j, it is ours for all settings of weights. Both convert texts to lower case
and remove accents in the same way, but only ours normalises them to NFC first. HTML tags, which scikit-learn
does not remove, are left to the token pattern: they match it outside of its group, so they become empty
tokens, and these are stop words. N-grams of characters are those of scikit-learn's ``char_wb``, in a
``FeatureUnion`` with those of words.
"""

import re
from copy import copy
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline

from dropglm.base.errors import InputError
from dropglm.linear.sklearn_models import sklearn_classifier
from dropglm.text.file_contents import plain_pattern
from dropglm.text.fitted_model import FittedTextModel, refuse_columns
from dropglm.text.ngrams.hashed import HashedFeatures
from dropglm.text.ngrams.tokens import HTML_TAG, RUNS

OVERRIDDEN = ("decode", "build_preprocessor", "build_tokenizer", "build_analyzer")
SHARED = ("input", "encoding", "decode_error", "ngram_range", "binary", "lowercase", "strip_accents")


def sklearn_pipeline(fitted: FittedTextModel) -> Pipeline:
    """Return a vectorizer, or a union of two, and a classifier of scikit-learn that predict like ours."""
    if fitted.head is not None and fitted.head.is_used:
        raise InputError(
            "The model uses embeddings, which a pipeline of scikit-learn cannot compute; train it without an "
            "embedder."
        )
    refuse_columns(fitted, "a pipeline of scikit-learn")
    # Sums over the n-grams of a text are in the type of the result, which single precision is too coarse for.
    ngrams, model = sklearn_vectorizer(fitted.vectorizer, np.float64), fitted.model
    if fitted.characters is not None:
        characters = sklearn_vectorizer(fitted.characters.vectorizer, np.float64)
        ngrams = FeatureUnion([("words", ngrams), ("characters", characters)])
        model = copy(model)
        model.coef_ = np.hstack([model._dense_coef(), fitted.characters.coef])
    return Pipeline([("ngrams", ngrams), ("model", sklearn_classifier(model, np.float64))])


def vectorizers(pipeline: Pipeline) -> list[CountVectorizer]:
    """Return the vectorizers of a pipeline: that of words and, if there is one, that of characters."""
    ngrams = pipeline["ngrams"]
    return [one for _, one in ngrams.transformer_list] if isinstance(ngrams, FeatureUnion) else [ngrams]


def sklearn_vectorizer(vectorizer: Any, dtype: Any = None) -> CountVectorizer:
    """Return scikit-learn's ``TfidfVectorizer``, or its ``CountVectorizer`` if counts are not weighted."""
    if isinstance(vectorizer, HashedFeatures):
        raise InputError(
            "N-grams are hashed with a function that scikit-learn does not have; train a TextClassifier, or "
            "an OnlineTextClassifier that starts from one (start_from)."
        )
    changed = [name for name in OVERRIDDEN if vectorizer._overrides(name)]
    if changed:
        raise InputError(
            f"{type(vectorizer).__name__} overrides {', '.join(changed)}, so scikit-learn's vectorizer would "
            "differ from it; pass a preprocessor, tokenizer or analyzer instead."
        )
    weights, names = vectorizer._tfidf, vectorizer._vocabulary().names()
    settings = {name: getattr(vectorizer, name) for name in SHARED} | _analysis(vectorizer)
    settings |= {
        "ngram_range": tuple(vectorizer.ngram_range),
        "vocabulary": names,
        "dtype": dtype or weights.factors.dtype.type,
    }
    if not (len(weights.factors) or weights.sublinear_tf or weights.norm):
        counts = CountVectorizer(**settings)
        counts._validate_vocabulary()
        return counts
    tfidf = TfidfVectorizer(**settings, norm=weights.norm, sublinear_tf=weights.sublinear_tf)
    # Without factors they are 1: its other setting, use_idf=False, cannot be set without a fit.
    factors = weights.factors if len(weights.factors) else np.ones(len(names))
    tfidf.idf_ = factors.astype(settings["dtype"])
    return tfidf


def _analysis(vectorizer: Any) -> dict[str, Any]:
    """Return the settings that say how a text becomes n-grams."""
    words = vectorizer.analyzer == "word"
    stop_words = vectorizer.get_stop_words() if words else None
    settings: dict[str, Any] = {
        "analyzer": vectorizer.analyzer,
        "preprocessor": vectorizer.preprocessor,
        "tokenizer": vectorizer.tokenizer if words else None,
        "token_pattern": None,
        "stop_words": None if stop_words is None else sorted(stop_words),
    }
    if words and vectorizer.tokenizer is None:
        settings["token_pattern"] = plain_pattern(vectorizer.token_pattern)
    if callable(vectorizer.analyzer) or vectorizer.preprocessor is not None or not vectorizer.strip_html:
        return settings
    pattern = settings["token_pattern"]
    if pattern in RUNS and vectorizer.strip_accents is None:
        # None of these patterns matches more than the first character of a tag, and the tag comes first.
        tokens = re.sub(r"^\(\?u\)", "", pattern)
        settings["token_pattern"] = f"{HTML_TAG.pattern}|({tokens})"
        settings["stop_words"] = ["", *(settings["stop_words"] or ())]
    else:
        settings["preprocessor"] = vectorizer.build_preprocessor()
    return settings
