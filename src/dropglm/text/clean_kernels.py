"""Compiled loops that preprocess texts in UTF-8: lower case, and spaces in place of HTML tags.

Neither changes the number of bytes of a text. Where lower case would, or where it depends on the characters
around (a final sigma), the text is left to Python.
"""

import numpy as np

from dropglm.maths.byte_blocks import bytes_between, copy_bytes, copy_lowered, lowest_bit
from dropglm.maths.compile import inlined, kernel, part
from dropglm.text.kernels import decode

LESS, GREATER, SLASH, SPACE = 60, 62, 47, 32


@kernel
def clean_texts(letters, begins, ends, lowercase, strip_html, lower, out, places, left):
    """Write each text to ``out``, from ``places[i]`` on, and mark in ``left`` those that are not finished.

    ``lower`` has the lower-case forms of code points, or -1 where that has another number of bytes or depends
    on its neighbours; it may be empty if all texts are ASCII. Both ``letters`` and ``out`` need 64
    spare bytes. Texts are written in order, so that bytes written after the end of one are overwritten.
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
        left[i] = wide and lowercase and not lower_wide(out, start, stop, lower)
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
