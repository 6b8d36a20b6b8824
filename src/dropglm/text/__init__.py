"""Text classification: from texts to n-grams to classes."""

from dropglm.text.classifier import TextClassifier
from dropglm.text.hashing import NgramHasher
from dropglm.text.label_check import confident_mistakes, suspicious_labels
from dropglm.text.model import TextModel, load_model, save_model
from dropglm.text.online_classifier import OnlineTextClassifier
from dropglm.text.vectorizer import NgramVectorizer

__all__ = [
    "NgramHasher",
    "NgramVectorizer",
    "OnlineTextClassifier",
    "TextClassifier",
    "TextModel",
    "confident_mistakes",
    "load_model",
    "save_model",
    "suspicious_labels",
]
