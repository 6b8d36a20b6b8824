"""Compiled loops that map n-grams to columns by hashing."""

import numpy as np

from dropglm.maths.compile import inlined, kernel, part
from dropglm.maths.prefetch import prefetch
from dropglm.text.kernels import mix

SPACE = np.uint8(32)
NAMED = np.uint8(128)  # the bit of a mark that says that the column has a name
STORED_BYTES = 33  # bytes of a name that are stored: 32, and one that says that there would be more
DISTANCE = 16  # n-grams between prefetching a mark and using it
TEXT_MARKS = 127  # the other bits number the texts modulo 127


@inlined
def extend_hash(h, key):
    """Return the hash of an n-gram, given that of its first n - 1 tokens (0 for n = 1) and its last key."""
    return mix(h ^ np.uint64(key))


@kernel
def hash_ngrams(tokens, shortest, longest, first_text, marks, indptr, columns, new, names, sizes):
    """Write the distinct columns of each text's n-grams; texts are numbered from ``first_text``.

    ``marks`` has one byte per column: the last text that contains the column, modulo 127, and a bit that
    says whether the column has a name. A million single bytes fit into the second-level cache; 8 bytes per
    column took three times as long. If ``new`` is not empty, a column is named after the first n-gram hashed
    to it: ``new`` gets the column, ``names`` the n-grams one after the other, and ``sizes`` their
    bytes. Returns the number of names.

    Whether the text already contains a column is not tested by a branch, since half of its predictions would
    fail: the column is always written, and overwritten by the next one if it was a repetition.
    """
    hashes = np.empty(tokens.counts.max() if len(tokens.counts) else 0, np.uint64)
    mask, naming = np.uint64(len(marks) - 1), len(new) > 0
    k, m, b = np.int64(0), np.int64(0), np.int64(0)
    for i in range(len(tokens.first)):
        first, count = tokens.first[i], tokens.counts[i]
        mark = next_mark(first_text + i, marks)
        for p in range(count):
            hashes[p] = np.uint64(0)
        for n in range(1, longest + 1):
            # A loop of its own, which is vectorised: together with prefetching, three quarters of the time.
            for p in range(count - n + 1):
                hashes[p] = extend_hash(hashes[p], tokens.keys[first + p + n - 1])
            for p in range(count - n + 1 if n >= shortest else 0):
                prefetch(marks, hashes[min(p + DISTANCE, count - n)] & mask)
                column = hashes[p] & mask
                columns[k] = column
                before = marks[column]
                k += np.uint8(before & ~NAMED) != mark
                if naming and before < NAMED:
                    new[m] = column
                    sizes[m] = write_ngram(tokens, first + p, n, names[b : b + STORED_BYTES])
                    m, b = m + 1, b + sizes[m]
                marks[column] = mark | (NAMED if naming else before & NAMED)
        indptr[i + 1] = k
    return m


@inlined
def next_mark(text, marks):
    """Return the mark of this text, after removing all marks if its number was used before."""
    mark = np.uint8(text % TEXT_MARKS + 1)
    if mark == 1:
        for j in range(len(marks)):
            marks[j] &= NAMED
    return mark


@part
def write_ngram(tokens, p, n, out):
    """Write n tokens, starting at p and separated by spaces, as far as they fit; return the bytes written."""
    place = 0
    for q in range(p, p + n):
        if q > p and place < len(out):
            out[place] = SPACE
            place += 1
        start, stop = tokens.start[q], tokens.stop[q]
        for letter in range(start, min(stop, start + len(out) - place)):
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
