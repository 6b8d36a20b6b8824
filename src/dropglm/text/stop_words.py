"""Words that are dropped from the texts before n-grams are formed."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from dropglm.errors import InputTypeError
from dropglm.registry import lookup
from dropglm.text import kernels
from dropglm.text.counting import empty_slots
from dropglm.text.tokens import Prepared, TokenRoom, Tokens, encode_strings

# Those of scikit-learn, copied so that predictions need not import it
_ENGLISH = """
a about above across after afterwards again against all almost alone along already also although always am
among amongst amoungst amount an and another any anyhow anyone anything anyway anywhere are around as at
back be became because become becomes becoming been before beforehand behind being below beside besides
between beyond bill both bottom but by call can cannot cant co con could couldnt cry de describe detail do
done down due during each eg eight either eleven else elsewhere empty enough etc even ever every everyone
everything everywhere except few fifteen fifty fill find fire first five for former formerly forty found
four from front full further get give go had has hasnt have he hence her here hereafter hereby herein
hereupon hers herself him himself his how however hundred i ie if in inc indeed interest into is it its
itself keep last latter latterly least less ltd made many may me meanwhile might mill mine more moreover
most mostly move much must my myself name namely neither never nevertheless next nine no nobody none noone
nor not nothing now nowhere of off often on once one only onto or other others otherwise our ours ourselves
out over own part per perhaps please put rather re same see seem seemed seeming seems serious several she
should show side since sincere six sixty so some somehow someone something sometime sometimes somewhere
still such system take ten than that the their them themselves then thence there thereafter thereby
therefore therein thereupon these they thick thin third this those though three through throughout thru thus
to together too top toward towards twelve twenty two un under until up upon us very via was we well were
what whatever when whence whenever where whereafter whereas whereby wherein whereupon wherever whether which
while whither who whoever whole whom whose why will with within without would yet you your yours yourself
yourselves
"""
STOP_WORDS = {"english": frozenset(_ENGLISH.split())}


class TokenSource(Protocol):
    """Something that splits texts into tokens."""

    def prepare(self, texts: Sequence[Any]) -> Prepared:
        """Return texts that can be split on any thread."""

    def words(self, text: Any) -> list[str]:
        """Return the tokens of one text as strings."""


class StopWords:
    """A hash table of stop words."""

    def __init__(self, words: frozenset[str]) -> None:
        self.letters, self.ends = encode_strings(sorted(words))
        self.keys, self.slots = np.empty((len(words), 1), np.int64), empty_slots(len(words))
        kernels.index_tokens(self.letters, self.ends, self.slots, self.keys)

    def drop_from(self, tokens: Tokens) -> None:
        """Drop the stop words, in place."""
        kernels.drop_tokens(tokens, self.slots, self.keys, self.letters, self.ends)


class PreparedWithStopWords(NamedTuple):
    """Texts from which stop words are dropped after they are split."""

    texts: Prepared
    stop_words: StopWords

    @property
    def cost(self) -> np.ndarray:
        """Cumulative length."""
        return self.texts.cost

    def tokens(self, first: int, last: int, room: TokenRoom) -> Tokens:
        """Return the tokens of texts first to last - 1 that are not stop words."""
        tokens = self.texts.tokens(first, last, room)
        self.stop_words.drop_from(tokens)
        return tokens


class WithoutStopWords:
    """Splits texts with another tokenizer and drops the stop words."""

    def __init__(self, tokenizer: TokenSource, stop_words: frozenset[str]) -> None:
        self.tokenizer = tokenizer
        self.stop_words = stop_words
        self.table = StopWords(stop_words)

    def prepare(self, texts: Sequence[Any]) -> Prepared:
        """Return texts that can be split on any thread."""
        return PreparedWithStopWords(self.tokenizer.prepare(texts), self.table)

    def words(self, text: Any) -> list[str]:
        """Return the tokens of one text that are not stop words."""
        return [word for word in self.tokenizer.words(text) if word not in self.stop_words]


def stop_word_set(stop_words: Any) -> frozenset[str] | None:
    """Return the stop words: those of a built-in list, those given, or None.

    Examples
    --------
    >>> stop_word_set("englsh")
    Traceback (most recent call last):
    dropglm.errors.InputError: stop_words 'englsh' is unknown; did you mean 'english'? Known: 'english'.
    """
    if stop_words is None:
        return None
    if isinstance(stop_words, str):
        return lookup(STOP_WORDS, stop_words, "stop_words")
    words = frozenset(stop_words) if isinstance(stop_words, Iterable) else frozenset([stop_words])
    for word in words:
        if not isinstance(word, str):
            raise InputTypeError(f"stop_words must be 'english' or a list of strings, got {word!r}.")
    return words


def warn_of_inconsistent(stop_words: frozenset[str], tokenize: Callable[[str], list[str]]) -> None:
    """Warn if a stop word is split or changed like a text, so that it would never be dropped."""
    try:
        tokens = {token for word in stop_words for token in tokenize(word)}
    except Exception:
        return  # a preprocessor or tokenizer of the user that expects other objects than words
    if not tokens <= stop_words:
        warnings.warn(
            "Your stop_words may be inconsistent with your preprocessing. Tokenizing the stop words "
            f"generated tokens {sorted(tokens - stop_words)} not in stop_words.",
            stacklevel=5,
        )
