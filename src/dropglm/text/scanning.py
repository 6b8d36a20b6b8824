"""Loops over bytes: splitting texts into tokens.

A token is stored as its place in an array of UTF-8 bytes, and as a key of 64 bits: its bytes, or a hash.
"""

from dropglm.maths.compile import kernel
from dropglm.text.clean_kernels import blank_tags
from dropglm.text.kernels import token_key
from dropglm.text.scan_kernels import text_tokens
from dropglm.text.string_memory import write_string


@kernel
def split_strings(addresses, raw, lower, strip_html, classes, runs, place, letters, firsts, counts, words):
    """Read the strings at these addresses and split them; those not ``raw`` are preprocessed already.

    Letters and tokens are written from ``place`` on. ``classes`` and ``runs`` are those of ``text_tokens``.
    """
    starts, stops, keys = words
    p, none = place, lower[:0]
    for i in range(len(addresses)):
        end = write_string(addresses[i], lower if raw[i] else none, letters, p)
        if strip_html and raw[i]:
            blank_tags(letters, p, end)
        firsts[i] = place
        place = text_tokens(letters, p, end, classes, runs, starts, stops, keys, place)
        p, counts[i] = end, place - firsts[i]


@kernel
def split_bytes(letters, begins, ends, classes, runs, place, firsts, counts, words):
    """Split preprocessed texts in UTF-8; tokens are written from ``place`` on."""
    starts, stops, keys = words
    for i in range(len(begins)):
        firsts[i] = place
        place = text_tokens(letters, begins[i], ends[i], classes, runs, starts, stops, keys, place)
        counts[i] = place - firsts[i]


@kernel
def keys_of(letters, ends, keys):
    """Compute the key of each of the concatenated strings."""
    for i in range(len(keys)):
        keys[i] = token_key(letters, ends[i], ends[i + 1])
