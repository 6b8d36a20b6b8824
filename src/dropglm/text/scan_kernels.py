"""Compiled loops that find the tokens of a text in UTF-8, for patterns that match runs of word characters.

They find the same tokens as a regular expression. The classes of 64 ASCII characters are found by a few
comparisons, and the keys of short tokens by one load: half the time of a loop over single characters.
"""

import numpy as np

from dropglm.maths.byte_blocks import bytes_between, lowest_bit, packed_bytes
from dropglm.maths.compile import inlined, part
from dropglm.text.kernels import decode, long_key

APOSTROPHE, UNDERSCORE, SPACE = 39, 95, 32
_FULL, _BYTE, _SHORT = np.uint64(64), np.uint64(8), np.uint64(56)
_ONE = np.uint64(1)


@inlined
def word_mask(letters, p, apostrophes):
    """Return which of 64 bytes are ASCII letters, digits, underscores or, if wanted, apostrophes."""
    words = bytes_between(letters, p, 97, 122) | bytes_between(letters, p, 65, 90)
    words |= bytes_between(letters, p, 48, 57) | bytes_between(letters, p, UNDERSCORE, UNDERSCORE)
    if apostrophes:
        words |= bytes_between(letters, p, APOSTROPHE, APOSTROPHE)
    return words


@inlined
def space_mask(letters, p):
    """Return which of 64 bytes are ASCII white space."""
    return bytes_between(letters, p, 9, 13) | bytes_between(letters, p, 28, SPACE)


@part
def key_at(letters, start, size):
    """Return the key of the token of this many bytes; see ``kernels.token_key``."""
    if size > 7:
        return long_key(letters, start, start + size)
    n = np.uint64(size)
    return np.int64(
        (n << _SHORT) | ((packed_bytes(letters, start) >> (_FULL - _BYTE * n)) << (_SHORT - _BYTE * n))
    )


@part
def text_tokens(letters, begin, end, classes, runs, starts, stops, keys, n):
    """Write where the tokens of a text begin and end, and their keys, from place n on; return the next place.

    Runs are apostrophes, singles and shortest: tokens are runs of at least ``shortest`` word characters, with
    ``apostrophes`` also of those, and with ``singles`` all other visible characters. ``classes`` has the
    classes of all characters that occur.
    """
    apostrophes, singles, shortest = runs
    p = begin
    while p < end:
        size = min(lowest_bit(bytes_between(letters, p, 0x80, 0xFF)), end - p)
        words = word_mask(letters, p, apostrophes)
        others = ~(words | space_mask(letters, p)) if singles else np.uint64(0)
        if size < 64:
            words &= (_ONE << np.uint64(size)) - _ONE
            others &= (_ONE << np.uint64(size)) - _ONE
        begins = (words & ~(words << _ONE)) | others
        after = p + size
        while begins:
            k = lowest_bit(begins)
            begins &= begins - _ONE
            length = lowest_bit(~(words >> np.uint64(k)))
            if k + length >= size and p + size < end:
                # The run may continue after these bytes, so the next block starts with it.
                after = p + k
                break
            counts = length == 0 or length >= shortest
            length = length or 1
            starts[n], stops[n], keys[n] = p + k, p + k + length, key_at(letters, p + k, length)
            n += counts
        if after == p:  # a character that is not ASCII, or a very long run
            after, n = next_token(letters, p, end, classes, shortest, starts, stops, keys, n)
        p = after
    return n


@part
def next_token(letters, p, end, classes, shortest, starts, stops, keys, n):
    """Find a token at p by the class of each character; return where to continue and the number of tokens."""
    start, length = p, 0
    code, after = decode(letters, p)
    while p < end and classes[code] == 1:
        length, p = length + 1, after
        if p < end:
            code, after = decode(letters, p)
    counts = length > 0 and length >= shortest
    if length == 0:
        counts, p = classes[code] == 2, after
    if counts:
        starts[n], stops[n], keys[n] = start, p, key_at(letters, start, p - start)
        n += 1
    return p, n
