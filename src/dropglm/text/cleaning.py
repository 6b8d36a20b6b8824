"""Preprocessing of many texts at once, in compiled code."""

import sys
from functools import cache

import numpy as np

from dropglm.encoded_texts import SPARE, EncodedTexts
from dropglm.text import clean_kernels
from dropglm.text.preprocessing import Preprocessor


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
    wide = preprocess.lowercase and clean_kernels.any_wide(texts.letters, texts.begins, texts.ends)
    lower = lower_case() if wide else np.zeros(0, np.int32)
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
def lower_case() -> np.ndarray:
    """Return the lower-case form of every code point, or -1 where one character is not enough to know it.

    That is: its lower-case form has another number of bytes in UTF-8, or depends on the characters around it.
    """
    codes = np.arange(sys.maxunicode + 1, dtype=np.int32)
    unclear = [0x130, 0x3A3]  # İ becomes two characters; Σ becomes ς at the end of a word
    known = codes.astype("<u4")
    known[unclear] = 0
    everything = known.tobytes().decode("utf-32-le", "surrogatepass").lower()
    lower = np.frombuffer(everything.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int32)
    lower[_utf8_size(lower) != _utf8_size(codes)] = -1
    lower[unclear] = -1
    return lower


def _utf8_size(codes: np.ndarray) -> np.ndarray:
    return 1 + (codes >= 0x80).astype(np.int8) + (codes >= 0x800) + (codes >= 0x10000)
