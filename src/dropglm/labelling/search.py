"""Search in the texts by words and phrases."""

import re
from typing import NamedTuple

from dropglm.labelling.text_numbers import TextNumbers

FOUND = 50  # texts that a search lists
PARTS = re.compile(r'[“”„"]([^“”„"]*)(?:[“”„"]|$)|([^\s“”„"]+)')  # keyboards of phones type curly marks


class SearchResult(NamedTuple):
    """Numbers of the first texts that a query finds, and how many it finds."""

    numbers: list[int]
    total: int


def search(numbers: TextNumbers, query: str, k: int = FOUND) -> SearchResult:
    """Return the texts that contain all words of a query, in any order and in any case; of copies, the first.

    Parameters
    ----------
    numbers : TextNumbers
        The texts.
    query : str
        Words, or parts of words. Words in quotation marks are a phrase, which must occur as it is but for
        the blanks between the words.
    k : int, default=50
        Maximal number of texts that are listed.

    Examples
    --------
    >>> texts = TextNumbers(["A great, great film", "a film that is not great", "great fun"])
    >>> search(texts, "film GREAT")
    SearchResult(numbers=[0, 1], total=2)
    >>> search(texts, '"great film"')
    SearchResult(numbers=[0], total=1)
    """
    wanted = [(phrase or word).casefold().split() for phrase, word in PARTS.findall(query)]
    words = [part[0] for part in wanted if len(part) == 1]
    phrases = [re.compile(r"\s+".join(map(re.escape, part))) for part in wanted if len(part) > 1]
    if not words and not phrases:
        return SearchResult([], 0)
    found = [
        number
        for number, text in enumerate(map(str.casefold, numbers.texts))
        if numbers.copy_of[number] == number
        and all(word in text for word in words)
        and all(phrase.search(text) for phrase in phrases)
    ]
    return SearchResult(found[:k], len(found))
