"""From texts to a matrix: tokens, n-grams, vocabularies and hashing."""
