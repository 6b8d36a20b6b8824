"""The loop that turns n-grams into numbers without a table of them."""

import numpy as np

from dropglm.maths.compile import inlined, kernel
from dropglm.text.kernels import mixed

SPACE = np.uint8(32)


@inlined
def longer(h, key):
    """The hash of an n-gram, from that of its first n - 1 tokens (0 if there are none) and its last."""
    return mixed(h ^ np.uint64(key))


@kernel
def hash_ngrams(tokens, shortest, longest, first_text, seen, indptr, columns, places):
    """The columns of each text's n-grams, each once, and the token and the n where each was found first.

    ``seen`` has the last text that has each column; the texts are first_text, first_text + 1, …
    A place is token · longest + n - 1. Whether a column is new is no branch: half of the guesses fail.
    """
    mask = np.uint64(len(seen) - 1)
    hashes = np.zeros(tokens.counts.max() if len(tokens.counts) else 0, np.uint64)
    k = 0
    for i in range(len(tokens.first)):
        start, text = tokens.first[i], first_text + i
        hashes[: tokens.counts[i]] = 0
        for n in range(1, longest + 1):
            for p in range(tokens.counts[i] - n + 1):
                hashes[p] = longer(hashes[p], tokens.keys[start + p + n - 1])
                if n >= shortest:
                    column = np.int64(hashes[p] & mask)
                    columns[k], places[k] = column, (start + p) * longest + n - 1
                    k += seen[column] != text
                    seen[column] = text
        indptr[i + 1] = k


@kernel
def note(tokens, longest, columns, places, texts, letters, lengths):
    """Count the texts that have each column, and keep the letters of the first n-gram that came to it."""
    for k in range(len(columns)):
        column = columns[k]
        if texts[column] == 0:
            lengths[column] = spell(tokens, places[k] // longest, places[k] % longest + 1, letters[column])
        texts[column] += 1


@inlined
def spell(tokens, p, n, room):
    """Write the n tokens from p on, with spaces between them, as far as there is room; the letters used."""
    place = 0
    for q in range(p, p + n):
        if q > p and place < len(room):
            room[place] = SPACE
            place += 1
        for letter in range(tokens.start[q], min(tokens.stop[q], tokens.start[q] + len(room) - place)):
            room[place] = tokens.letters[letter]
            place += 1
    return place


@kernel
def columns_of(tokens, n, size, columns):
    """The column of the n-gram that begins at each token of one text."""
    for p in range(len(columns)):
        h = np.uint64(0)
        for q in range(p, p + n):
            h = longer(h, tokens.keys[tokens.first[0] + q])
        columns[p] = np.int64(h & np.uint64(size - 1))
