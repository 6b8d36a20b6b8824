"""From words to n-grams to labels."""

from dropglm.text.classifier import TextClassifier
from dropglm.text.vectorizer import NgramVectorizer

__all__ = ["NgramVectorizer", "TextClassifier"]
