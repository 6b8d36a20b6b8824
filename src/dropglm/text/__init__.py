"""Text classification: from texts to n-grams to classes."""

from dropglm.text.classifier import TextClassifier
from dropglm.text.hashing import NgramHasher
from dropglm.text.model import TextModel, load_model, save_model
from dropglm.text.online_classifier import OnlineTextClassifier
from dropglm.text.vectorizer import NgramVectorizer

__all__ = [
    "NgramHasher",
    "NgramVectorizer",
    "OnlineTextClassifier",
    "TextClassifier",
    "TextModel",
    "load_model",
    "save_model",
]
