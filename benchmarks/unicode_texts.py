"""Texts of random characters, for comparisons of what splits them into tokens."""

import sys
from collections.abc import Sequence
from unicodedata import normalize

import numpy as np

# What tokens, tags and lower case depend on: white space, quotes, digits of other scripts, marks, ligatures,
# characters without a simple lower case, and blanks that only some languages take for white space.
ODD = list("<>/'_-.!AZaz09 \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u3000\ufeff")
ODD += list("İıΣσςΑάßẞŉǅǆÅΩKſﬁ０９²½Ⅷ٣ा́̇ͅʰ’·\u00ad\u200b\u200d京都한あ日本語สิกีທ្កမြང་ｶﾞ々🙂𝔘𐐀\U0001e900ᏸꭰ")
TAGS = ["<br />", "</p>", "<a href='Σ'>", "<İ>", "<b", "< i>", "<1>", "<<u>>", "<é>", "<p\n>"]


def random_texts(n: int, seed: int = 0, words: Sequence[str] = ()) -> list[str]:
    """Return texts in NFC, of characters from all of Unicode, odd ones, tags and the given words."""
    rng = np.random.default_rng(seed)
    every = [chr(code) for code in range(1, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    letters = [c for c in every if c.isalpha() and c.lower() != c]
    pools = [ODD, TAGS, [f" {word} " for word in words] or ODD, letters, every]
    shares = np.array([0.35, 0.05, 0.25, 0.15, 0.2])
    texts = []
    for size in rng.integers(0, 40, n).tolist():
        chosen = rng.choice(len(pools), size, p=shares).tolist()
        places = rng.random(size).tolist()
        text = "".join(pools[k][int(u * len(pools[k]))] for k, u in zip(chosen, places, strict=True))
        texts.append(normalize("NFC", text))
    return texts
