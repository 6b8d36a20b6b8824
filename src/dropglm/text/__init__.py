"""From words to n-grams to labels."""

from dropglm.text.classifier import TextClassifier
from dropglm.text.hashing import NgramHasher
from dropglm.text.vectorizer import NgramVectorizer

__all__ = ["NgramHasher", "NgramVectorizer", "TextClassifier"]
