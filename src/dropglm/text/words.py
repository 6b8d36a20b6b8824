"""Telling words from punctuation in the names of n-grams."""

from functools import cache
from unicodedata import category

# Punctuation, and the symbols that are typed like it: $ + < = > ^ ` | ~. Other symbols are mostly emoji,
# which mean something on their own; combining marks are parts of words.
PUNCTUATION = frozenset({"Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "Cc", "Cf"})


@cache
def _is_punctuation(character: str) -> bool:
    return category(character) in PUNCTUATION


def only_words(ngram: str) -> bool:
    """Return whether every token of the n-gram has a letter, a digit or an emoji.

    Where a hashed column stands for several n-grams, separated by " | ", it is enough that one of them has
    only words.

    Examples
    --------
    >>> [only_words(ngram) for ngram in ("don't", "mp3 player", "( a", "> _", ", | a lovely")]
    [True, True, False, False, True]
    """
    return any(_words(name.split()) for name in ngram.split(" | "))


def _words(tokens: list[str]) -> bool:
    return bool(tokens) and not any(all(map(_is_punctuation, token)) for token in tokens)
