"""Search in the texts by words and phrases."""

import re
from typing import NamedTuple

from dropglm.labelling.text_numbers import TextNumbers

FOUND = 50  # texts that a search lists
BEFORE = 50  # characters of an excerpt before the first word that was found
PARTS = re.compile(r'[“”„"]([^“”„"]*)(?:[“”„"]|$)|([^\s“”„"]+)')  # keyboards of phones type curly marks


class SearchResult(NamedTuple):
    """What a query finds.

    Attributes
    ----------
    numbers : list of int
        Numbers of the first texts.
    total : int
        Number of all texts.
    wanted : list of list of str
        The words and phrases that were searched for, each as a list of words.
    """

    numbers: list[int]
    total: int
    wanted: list[list[str]]

    def near(self, text: str) -> int:
        """Return where an excerpt of a text starts that shows one of the words or phrases.

        Examples
        --------
        >>> found = search(TextNumbers(["a film"]), "film")
        >>> found.near("a film"), found.near("so " * 100 + "film")
        (0, 250)
        """
        first = re.search("|".join(map(_pattern, self.wanted)), text.casefold())
        return first.start() - BEFORE if first is not None and first.start() > 2 * BEFORE else 0


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
    SearchResult(numbers=[0, 1], total=2, wanted=[['film'], ['great']])
    >>> search(texts, '"great film"')
    SearchResult(numbers=[0], total=1, wanted=[['great', 'film']])
    """
    wanted = [words for parts in PARTS.findall(query) if (words := "".join(parts).casefold().split())]
    words = [part[0] for part in wanted if len(part) == 1]
    phrases = [re.compile(_pattern(part)) for part in wanted if len(part) > 1]
    if not wanted:
        return SearchResult([], 0, [])
    found = [
        number
        for number, text in enumerate(map(str.casefold, numbers.texts))
        if numbers.copy_of[number] == number
        and all(word in text for word in words)
        and all(phrase.search(text) for phrase in phrases)
    ]
    return SearchResult(found[:k], len(found), wanted)


def _pattern(words: list[str]) -> str:
    return r"\s+".join(map(re.escape, words))
