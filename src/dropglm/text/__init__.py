"""Text classification: from texts to n-grams to classes."""

from typing import TYPE_CHECKING

from dropglm.base.imports import lazy_names

if TYPE_CHECKING:
    from dropglm.text.classifier import TextClassifier
    from dropglm.text.guarantees import Selective, Unlike
    from dropglm.text.metrics import confident_mistakes, suspicious_labels
    from dropglm.text.model import TextModel, load_model, save_model
    from dropglm.text.ngrams.merged_counts import NgramCounts
    from dropglm.text.ngrams.vectorizer import NgramHasher, NgramVectorizer
    from dropglm.text.online_classifier import OnlineTextClassifier
    from dropglm.text.table_classifier import TableClassifier

__all__ = [
    "NgramCounts",
    "NgramHasher",
    "NgramVectorizer",
    "OnlineTextClassifier",
    "Selective",
    "TableClassifier",
    "TextClassifier",
    "TextModel",
    "Unlike",
    "confident_mistakes",
    "load_model",
    "save_model",
    "suspicious_labels",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "classifier": ("TextClassifier",),
        "guarantees": ("Selective", "Unlike"),
        "metrics": ("confident_mistakes", "suspicious_labels"),
        "model": ("TextModel", "load_model", "save_model"),
        "ngrams.merged_counts": ("NgramCounts",),
        "online_classifier": ("OnlineTextClassifier",),
        "table_classifier": ("TableClassifier",),
        "ngrams.vectorizer": ("NgramHasher", "NgramVectorizer"),
    },
)
