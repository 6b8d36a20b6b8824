"""Compiled loops that map n-grams to columns by hashing."""

import numpy as np

from dropglm.maths.compile import inlined, kernel
from dropglm.text.kernels import mix

SPACE = np.uint8(32)
NAMED = np.uint8(128)  # the bit of a mark that says that the column has a name
TEXT_MARKS = 127  # the other bits number the texts modulo 127


@inlined
def extend_hash(h, key):
    """Return the hash of an n-gram, given that of its first n - 1 tokens (0 for n = 1) and its last key."""
    return mix(h ^ np.uint64(key))


@kernel
def hash_ngrams(tokens, shortest, longest, first_text, marks, letters, lengths, indptr, columns):
    """Write the distinct columns of each text's n-grams; texts are numbered from ``first_text``.

    ``marks`` has one byte per column: the last text that contains the column, modulo 127, and a bit that
    says whether the column has a name. A million single bytes fit into the second-level cache; 8 bytes per
    column took three times as long. If ``letters`` is not empty, a column is named after the first n-gram
    hashed to it. Whether the text already contains a column is not tested by a branch, since half of its
    predictions would fail: the column is always written, and overwritten by the next one if it was a
    repetition.
    """
    mask = np.uint64(len(marks) - 1)
    hashes = np.zeros(tokens.counts.max() if len(tokens.counts) else 0, np.uint64)
    naming = len(letters) > 0
    k = np.int64(0)
    for i in range(len(tokens.first)):
        start, mark = tokens.first[i], np.uint8((first_text + i) % TEXT_MARKS + 1)
        if mark == 1:
            for j in range(len(marks)):
                marks[j] &= NAMED
        hashes[: tokens.counts[i]] = 0
        for n in range(1, longest + 1):
            for p in range(tokens.counts[i] - n + 1):
                h = extend_hash(hashes[p], tokens.keys[start + p + n - 1])
                hashes[p] = h
                if n >= shortest:
                    column = np.int64(h & mask)
                    columns[k] = column
                    before = marks[column]
                    k += np.uint8(before & ~NAMED) != mark
                    if naming and before < NAMED:
                        lengths[column] = write_ngram(tokens, start + p, n, letters[column])
                    marks[column] = mark | (NAMED if naming else before & NAMED)
        indptr[i + 1] = k


@inlined
def write_ngram(tokens, p, n, out):
    """Write n tokens, starting at p and separated by spaces, as far as they fit; return the bytes written."""
    place = 0
    for q in range(p, p + n):
        if q > p and place < len(out):
            out[place] = SPACE
            place += 1
        for letter in range(tokens.start[q], min(tokens.stop[q], tokens.start[q] + len(out) - place)):
            out[place] = tokens.letters[letter]
            place += 1
    return place


@kernel
def ngram_columns(tokens, n, size, columns):
    """Write the column of the n-gram that starts at each token of a single text."""
    for p in range(len(columns)):
        h = np.uint64(0)
        for q in range(p, p + n):
            h = extend_hash(h, tokens.keys[tokens.first[0] + q])
        columns[p] = np.int64(h & np.uint64(size - 1))
