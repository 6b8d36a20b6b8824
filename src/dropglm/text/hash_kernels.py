"""The loop that turns n-grams into numbers without a table of them."""

import numpy as np

from dropglm.maths.compile import inlined, kernel
from dropglm.text.kernels import mix

SPACE = np.uint8(32)
NAMED = np.uint8(128)
TEXTS = 127


@inlined
def longer(h, key):
    """The hash of an n-gram, from that of its first n - 1 tokens (0 if there are none) and its last."""
    return mix(h ^ np.uint64(key))


@kernel
def hash_ngrams(tokens, shortest, longest, first_text, marks, letters, lengths, indptr, columns):
    """The columns of each text's n-grams, each once; the texts are first_text, first_text + 1, …

    ``marks`` has a byte a column, so that a million of them stay in the second cache (with 8 bytes it took
    three times as long): the last text that has it, modulo 127, and a bit that says that it has a name. If
    there is room for letters, columns are named by the first n-gram that comes to them. Whether a text has
    a column already is no branch: half of the guesses would fail.
    """
    mask = np.uint64(len(marks) - 1)
    hashes = np.zeros(tokens.counts.max() if len(tokens.counts) else 0, np.uint64)
    naming = len(letters) > 0
    k = np.int64(0)
    for i in range(len(tokens.first)):
        start, mark = tokens.first[i], np.uint8((first_text + i) % TEXTS + 1)
        if mark == 1:
            for j in range(len(marks)):
                marks[j] &= NAMED
        hashes[: tokens.counts[i]] = 0
        for n in range(1, longest + 1):
            for p in range(tokens.counts[i] - n + 1):
                h = longer(hashes[p], tokens.keys[start + p + n - 1])
                hashes[p] = h
                if n >= shortest:
                    column = np.int64(h & mask)
                    columns[k] = column
                    known = marks[column]
                    k += np.uint8(known & ~NAMED) != mark
                    if naming and known < NAMED:
                        lengths[column] = spell(tokens, start + p, n, letters[column])
                    marks[column] = mark | (NAMED if naming else known & NAMED)
        indptr[i + 1] = k


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
