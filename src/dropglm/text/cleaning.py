"""Preprocessing of many texts at once, in compiled code."""

from functools import cache

import numpy as np

from dropglm.encoded_texts import SPARE, EncodedTexts
from dropglm.text import clean_kernels
from dropglm.text.preprocessing import Preprocessor
from dropglm.text.string_memory import DOTTED_I, SIGMA, lower_case


def clean(texts: EncodedTexts, preprocess: Preprocessor) -> EncodedTexts:
    """Return the texts in lower case and without tags, as far as the preprocessor says so.

    A tag becomes as many spaces as it has bytes, where the preprocessor itself writes a single one; no token
    pattern that is compiled matches spaces.

    Examples
    --------
    >>> list(clean(EncodedTexts.of(["Très<br>BON", "ΟΔΟΣ"]), Preprocessor()))
    ['très    bon', 'οδος']
    """
    sizes = texts.ends - texts.begins
    places = np.cumsum(sizes) - sizes
    out = np.empty(int(sizes.sum()) + SPARE, np.uint8)
    left = np.zeros(len(texts), np.bool_)
    wide = texts.largest_byte >= 0x80
    lower = lower_in_place() if preprocess.lowercase and wide else np.zeros(0, np.int32)
    settings = preprocess.lowercase, preprocess.strip_html
    clean_kernels.clean_texts(texts.letters, texts.begins, texts.ends, *settings, lower, out, places, left)
    ends = places + sizes
    if left.any():
        rest = np.flatnonzero(left)
        others = EncodedTexts.of([preprocess(texts[i]) for i in rest.tolist()])
        places[rest], ends[rest] = others.begins + len(out), others.ends + len(out)
        out = np.concatenate([out, others.letters])
    return EncodedTexts(out, places, ends)


@cache
def lower_in_place() -> np.ndarray:
    """Return the lower case of each code point, or -1 where it cannot be written over the character.

    That is: it has another number of bytes in UTF-8, or depends on the characters around it. Code points
    after the last one of the table are their own lower case.
    """
    lower = lower_case().copy()
    lower[_utf8_size(lower) != _utf8_size(np.arange(len(lower)))] = -1
    lower[[ord(DOTTED_I), ord(SIGMA)]] = -1
    return lower


def _utf8_size(codes: np.ndarray) -> np.ndarray:
    return 1 + (codes >= 0x80).astype(np.int8) + (codes >= 0x800) + (codes >= 0x10000)
