"""What Python knows about characters, as tables for other languages: word characters, blanks, lower case.

Other languages disagree with Python on all three, and so do their versions with each other, since each
follows one version of Unicode. Exported models hold the tables of the Python that wrote them.
"""

import re
import sys
from functools import cache

from dropglm.text.ngrams.tokens import CASED, characters

SIGMA, FINAL_SIGMA = "Σ", "ς"
Ranges = tuple[tuple[int, int], ...]


@cache
def matching(pattern: str) -> Ranges:
    """Return the code points of characters that match a pattern, as pairs of the first and last of a run.

    Examples
    --------
    >>> matching("[a-cx]")
    ((97, 99), (120, 120))
    """
    runs = re.finditer(f"(?:{pattern})+", characters(sys.maxunicode + 1))
    return tuple((run.start(), run.end() - 1) for run in runs)


@cache
def lower_case() -> dict[str, str]:
    """Return the lower case of each character that has another one, irrespective of its neighbours.

    Examples
    --------
    >>> lower_case()["Ä"], len(lower_case()["İ"]), "ä" in lower_case()
    ('ä', 2, False)
    """
    return {character: character.lower() for character in characters(CASED) if character.lower() != character}


@cache
def around_sigma() -> tuple[Ranges, Ranges]:
    """Return the characters that decide between the two lower cases of Σ: cased ones, and ignored ones.

    It is ς if the nearest character before it that is not ignored is cased and the nearest one after it is
    not, and σ otherwise. Characters that are ignored are not among the cased ones here.
    """
    final, final_after_cased = _before_final_sigma(""), _before_final_sigma("A")
    return _ranges(final), _ranges(final_after_cased - final)


def _before_final_sigma(before: str) -> set[int]:
    """Return the characters after which, with this text before them, the lower case of Σ is ς."""
    # One line per character, so that one call converts all; line ends are neither cased nor ignored.
    lines = "\n".join(f"{before}{' ' if c == chr(10) else c}{SIGMA}" for c in characters(sys.maxunicode + 1))
    return {code for code, line in enumerate(lines.lower().split("\n")) if line[-1] == FINAL_SIGMA}


def _ranges(codes: set[int]) -> Ranges:
    """Return numbers as pairs of the first and last of a run.

    Examples
    --------
    >>> _ranges({7, 3, 4})
    ((3, 4), (7, 7))
    """
    found: list[tuple[int, int]] = []
    for code in sorted(codes):
        first = found.pop()[0] if found and found[-1][1] == code - 1 else code
        found.append((first, code))
    return tuple(found)
