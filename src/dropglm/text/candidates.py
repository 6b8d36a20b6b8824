"""Counted n-grams among which the features are selected."""

from typing import NamedTuple

import numpy as np

NONE = -1  # pads the spelling of shorter n-grams


class Candidates(NamedTuple):
    """N-grams that occur in the right number of texts.

    Attributes
    ----------
    letters, ends : ndarray
        The tokens, concatenated in UTF-8, and the offsets where each begins and the last one ends.
    spelling : ndarray of shape (n_ngrams, largest n)
        The numbers of the tokens of each n-gram, padded with -1.
    texts, times : ndarray of shape (n_ngrams,)
        In how many texts each n-gram occurs, and how often.
    n_texts : int
        Number of texts.
    """

    letters: np.ndarray
    ends: np.ndarray
    spelling: np.ndarray
    texts: np.ndarray
    times: np.ndarray
    n_texts: int
