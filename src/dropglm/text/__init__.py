"""From words to n-grams to labels."""

from dropglm.text.classifier import TextClassifier
from dropglm.text.hashing import NgramHasher
from dropglm.text.loading import load_model
from dropglm.text.model import TextModel
from dropglm.text.online_classifier import OnlineTextClassifier
from dropglm.text.vectorizer import NgramVectorizer

__all__ = [
    "NgramHasher",
    "NgramVectorizer",
    "OnlineTextClassifier",
    "TextClassifier",
    "TextModel",
    "load_model",
]
