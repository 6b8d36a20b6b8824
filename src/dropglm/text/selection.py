"""Which n-grams become features."""

import numpy as np

from dropglm.text import kernels
from dropglm.text.counting import Counting
from dropglm.text.tokens import joined
from dropglm.text.vocabulary import NONE, Vocabulary, alphabetical


def select(
    counting: Counting,
    ngram_range: tuple[int, int],
    texts: tuple[float, float],
    limit: int | None,
    weights: tuple[int, type],
) -> tuple[Vocabulary, np.ndarray]:
    """The vocabulary, and the column of each code of the counting (or -1 if it is no feature).

    Parameters
    ----------
    counting : Counting
        What all texts have.
    ngram_range : pair of int
        The smallest and the largest n.
    texts : pair of numbers
        The fewest and the most texts that may have a feature.
    limit : int, optional
        At most that many features, those with the largest weights.
    weights : pair
        The column of the counting's nodes that they are, and the type of numbers to compare them as: the
        choice of scikit-learn among equal ones depends on it, and so does ours.
    """
    shortest, longest = ngram_range
    low, high = max(texts[0], 1), texts[1]
    spellings, codes, sizes, counts = [], [], [], []
    for n in range(shortest, longest + 1):
        with_it = counting.tally(n, kernels.TEXTS)
        numbers = np.flatnonzero((with_it >= low) & (with_it <= high))
        spelling = np.full((len(numbers), longest), NONE, np.int64)
        spelling[:, :n] = counting.spelling(n, numbers)
        spellings.append(spelling)
        codes.append(numbers * longest + n - 1)
        sizes.append(counting.tally(n, weights[0])[numbers])
        counts.append(with_it[numbers])
    code, size, count = np.concatenate(codes), np.concatenate(sizes), np.concatenate(counts)
    words, spelling, order = _alphabetically(counting.words(), np.concatenate(spellings))
    if limit is not None and len(order) > limit:
        largest = np.sort((-size[order].astype(weights[1])).argsort()[:limit])
        words, spelling, again = _alphabetically(words, spelling[largest])
        order = order[largest][again]
    vocabulary = Vocabulary(*joined(words), spelling, count[order].astype(np.int32))
    column_of = np.full(longest * counting.numbers, NONE, np.int32)
    column_of[code[order]] = np.arange(len(order), dtype=np.int32)
    return vocabulary, column_of


def _alphabetically(words: list[str], spelling: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The words that occur and the features spelt by them, in alphabetical order; and the features' order."""
    used = np.unique(spelling[spelling != NONE])
    used = np.array(sorted(used.tolist(), key=words.__getitem__), np.int64)
    renumbered = np.full(len(words) + 1, NONE, np.int32)  # the last is for NONE
    renumbered[used] = np.arange(len(used), dtype=np.int32)
    words = [words[k] for k in used]
    spaced = next((word for word in words if " " in word), None)
    if spaced is not None and spelling.shape[1] > 1:
        raise ValueError(
            f"token_pattern takes {spaced!r} for a token, which could not be told from an n-gram of its "
            "words; take one without spaces."
        )
    spelling = renumbered[spelling]
    order = alphabetical(words, spelling)
    return words, spelling[order], order
