"""From words to n-grams to labels."""

from dropglm.text.vectorizer import NgramVectorizer

__all__ = ["NgramVectorizer"]
