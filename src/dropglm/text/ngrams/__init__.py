"""From texts to a matrix of n-grams.

In the order in which a text passes through them: ``analysis`` (the settings, and texts in chunks), ``tokens``
(clean and split), ``counting`` (number the n-grams of each text, and build rows of the matrix),
``merged_counts`` (merge the counts of threads or partitions, and choose the n-grams), ``features`` (the
vocabulary, and texts after the fit). ``hashed`` needs no vocabulary. ``vectorizer`` adds scikit-learn's
interface.
"""
