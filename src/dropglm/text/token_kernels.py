"""Compiled loops over texts in UTF-8: lower case, HTML tags, and tokens that are runs of characters.

Lower case and spaces in place of tags have as many bytes as what they replace. Where lower case would not,
or where it depends on the characters around (a final sigma), the text is left to Python.

A token is stored as its place in an array of bytes, and as a key of 64 bits: its bytes, or a hash. The loops
find the same tokens as a regular expression. The classes of 64 ASCII characters are found by a few
comparisons, and the keys of short tokens by one load: half the time of a loop over single characters.
"""

import numpy as np

from dropglm.maths.byte_blocks import bytes_between, copy_bytes, copy_lowered, lowest_bit, packed_bytes
from dropglm.maths.compile import inlined, kernel, part

SPACE, APOSTROPHE, SLASH, LESS, GREATER, UNDERSCORE = 32, 39, 47, 60, 62, 95

_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of FNV-1a
_ONE, _BYTE, _TOP, _FULL = np.uint64(1), np.uint64(8), np.uint64(56), np.uint64(64)
_LONG = np.uint64(0xFF) << _TOP


@kernel
def clean_texts(letters, begins, ends, lowercase, strip_html, strip_accents, lower, out, places, left):
    """Write each text to ``out``, from ``places[i]`` on, and mark in ``left`` those that are not finished.

    ``lower`` has the lower-case forms of code points, or -1 where that has another number of bytes or depends
    on its neighbours; it may be empty if all texts are ASCII. Only ASCII texts have no accents to strip. Both
    ``letters`` and ``out`` need 64 spare bytes. Texts are written in order, so that bytes written after the
    end of one are overwritten.
    """
    for i in range(len(begins)):
        p, q, end = begins[i], places[i], ends[i]
        tags = wide = False
        while p < end:
            if lowercase:
                copy_lowered(letters, p, out, q)
            else:
                copy_bytes(letters, p, out, q)
            tags |= bytes_between(letters, p, LESS, LESS) != 0
            wide |= bytes_between(letters, p, 0x80, 0xFF) != 0
            p, q = p + 64, q + 64
        start, stop = places[i], places[i] + end - begins[i]
        left[i] = wide and (strip_accents or (lowercase and not lower_wide(out, start, stop, lower)))
        if strip_html and tags and not left[i]:
            blank_tags(out, start, stop)


@part
def lower_wide(out, start, stop, lower):
    """Convert the characters that are not ASCII to lower case; return whether this was possible."""
    p = start
    while p < stop:
        p += lowest_bit(bytes_between(out, p, 0x80, 0xFF))
        while p < stop and out[p] >= 0x80:
            code, after = decode(out, p)
            new = lower[code] if code < len(lower) else code
            if new < 0:
                return False
            if new != code:
                encode(new, out, p, after)
            p = after
    return True


@inlined
def encode(code, out, start, stop):
    """Write a code point, which is known to have that many bytes; more than one."""
    p = stop - 1
    while p > start:
        out[p] = 0x80 | (code & 0x3F)
        code >>= 6
        p -= 1
    size = stop - start
    out[start] = ((0xF00 >> size) & 0xFF) | code


@part
def blank_tags(out, start, stop):
    """Replace the bytes of tags, ``</?[a-zA-Z][^<>]*>``, by spaces."""
    p = start
    while p < stop:
        p += lowest_bit(bytes_between(out, p, LESS, LESS))
        if p >= stop or out[p] != LESS:
            continue
        name = p + 1 + (p + 1 < stop and out[p + 1] == SLASH)
        after = name + 1
        if name < stop and 97 <= (out[name] | 32) <= 122:
            found = np.uint64(0)
            while after < stop and not found:
                found = bytes_between(out, after, LESS, LESS) | bytes_between(out, after, GREATER, GREATER)
                after += lowest_bit(found)
            if after < stop and out[after] == GREATER:
                for k in range(p, after + 1):
                    out[k] = SPACE
                p = after
        p += 1


@part
def decode(letters, p):
    """Return the code point that begins at p, and where the next one begins."""
    lead = letters[p]
    code, after = np.int64(lead), p + 1
    if lead >= 0x80:  # 2, 3 or 4 bytes
        more = 1 if lead < 0xE0 else (2 if lead < 0xF0 else 3)
        code = np.int64(lead) & (0x3F >> more)
        for _ in range(more):
            code = code << 6 | (np.int64(letters[after]) & 0x3F)
            after += 1
    return code, after


@part
def long_key(letters, start, stop):
    """Return the key of a token of eight bytes or more: a hash, made negative."""
    h = _OFFSET
    for k in range(start, stop):
        h = (h ^ np.uint64(letters[k])) * _PRIME
    return np.int64(h | _LONG)


@part
def token_key(letters, start, stop):
    """Return the key of a token; with at most seven bytes these bytes, preceded by their number."""
    if stop - start > 7:
        return long_key(letters, start, stop)
    n = np.uint64(stop - start)
    packed = n
    for k in range(start, stop):
        packed = packed << _BYTE | np.uint64(letters[k])
    return np.int64(packed << _BYTE * (np.uint64(7) - n))


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
    """Return the key of the token of this many bytes; see ``token_key``."""
    if size > 7:
        return long_key(letters, start, start + size)
    n = np.uint64(size)
    return np.int64(
        (n << _TOP) | ((packed_bytes(letters, start) >> (_FULL - _BYTE * n)) << (_TOP - _BYTE * n))
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


@kernel
def split_texts(letters, begins, ends, classes, runs, firsts, counts, words):
    """Split texts that are preprocessed; ``words`` are the starts, stops and keys to write."""
    starts, stops, keys = words
    place = 0
    for i in range(len(begins)):
        firsts[i] = place
        place = text_tokens(letters, begins[i], ends[i], classes, runs, starts, stops, keys, place)
        counts[i] = place - firsts[i]


@kernel
def keys_of(letters, ends, keys):
    """Compute the key of each of the concatenated strings."""
    for i in range(len(keys)):
        keys[i] = token_key(letters, ends[i], ends[i + 1])
