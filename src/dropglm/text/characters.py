"""Characters beside words: a second model, of n-grams of characters, whose predictors are added.

Words that look alike share n-grams of characters, so the model also knows something about words that no
labelled text has: other forms of a word, compounds, misspellings. N-grams stay within words, with a blank on
each side, as those of scikit-learn's ``char_wb``. An explanation adds them to the words that they are part
of, so that it remains a sum over words.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

import numpy as np

from dropglm.base.errors import InputError, InputTypeError
from dropglm.text.ngrams.counting import MAX_NGRAM
from dropglm.text.ngrams.features import NgramFeatures

# Settings that the n-grams of characters share with those of words. Tags are not removed: scikit-learn's
# vectorizer, to which models are exported, cannot do that.
SHARED = (
    *("max_df", "lowercase", "strip_accents", "n_jobs", "verbose"),
    *("binary", "use_idf", "sublinear_tf", "norm", "idf_power", "fields"),
)
FIXED: dict[str, Any] = {"analyzer": "char_wb", "min_df": 2, "strip_html": False}
# Characters of all texts beyond which the others are left out: unlabelled ones first; if the labelled ones
# have more, there are no n-grams of characters. 8 million characters have about 12 million entries, 100 MB.
MOST_CHARACTERS = 1 << 23


def character_settings(words: Any, ngram_range: Any) -> dict[str, Any]:
    """Return the settings of the vectorizer of characters beside one of words."""
    return {name: getattr(words, name) for name in SHARED} | FIXED | {"ngram_range": ngram_range}


def check_characters(value: Any) -> None:
    """Raise an error unless this is a range of n, or None."""
    if value is None:
        return
    try:
        NgramFeatures(**FIXED | {"ngram_range": value})._check()
    except (InputError, InputTypeError):
        raise InputError(
            f"characters must be a pair (a, b) of whole numbers with 1 <= a <= b <= {MAX_NGRAM}, or None, "
            f"got {value!r}.",
            "characters",
        ) from None


def within_budget(labeled: int, unlabeled: Iterable[int]) -> int | None:
    """Return how many of the unlabelled texts have n-grams of characters, given the characters of each.

    None means that the labelled texts alone have too many.

    Examples
    --------
    >>> within_budget(100, [50, 60]), within_budget(MOST_CHARACTERS, [50, 60]), within_budget(1 << 24, [])
    (2, 0, None)
    """
    if labeled > MOST_CHARACTERS:
        return None
    totals = accumulate(unlabeled, initial=labeled)
    return sum(total <= MOST_CHARACTERS for total in totals) - 1


@dataclass(eq=False)
class CharacterHead:
    """Coefficients of n-grams of characters, and the vectorizer that counts them.

    Attributes
    ----------
    vectorizer : NgramFeatures
    coef : ndarray of shape (1, d) for two classes, else (K, d)
    """

    vectorizer: Any
    coef: np.ndarray

    def features(self, texts: Sequence[str], n_jobs: int | None) -> Any:
        """Return the n-grams of characters of texts, a CSR matrix."""
        vectorizer = copy(self.vectorizer)
        vectorizer.n_jobs, vectorizer.verbose = n_jobs, 0
        return vectorizer.transform(texts)

    def predictors(self, X: Any) -> np.ndarray:
        """Return what the n-grams of characters add to the predictors; shape (n, K) or (n, 1)."""
        return np.asarray(X @ self.coef.T)

    def of_words(self, words: Sequence[str], n_jobs: int | None) -> np.ndarray:
        """Return what the characters of words typically add to the predictors; shape (K, words).

        The typical value of an n-gram is its mean in the texts of the fit that contain it.
        """
        vectorizer = copy(self.vectorizer)
        vectorizer.n_jobs, vectorizer.verbose, ngrams = n_jobs, 0, vectorizer.ngrams_
        typical = ngrams.mean_values if len(ngrams.mean_values) else np.ones(1)
        counts = vectorizer._find([vectorizer._as_texts(words)], ngrams, np.dtype(np.float32))
        return np.asarray(counts @ (self.coef * typical).T, np.float64).T

    @staticmethod
    def tokenizer_of(words: Any) -> Callable[[str], list[str]]:
        """Return what splits a text, or a text of a row, into words, given the vectorizer of these."""
        tokenize: Callable[[str], list[str]] = words._text_tokenizer().words
        return tokenize

    def by_word(self, text: str, tokenize: Any) -> dict[str, np.ndarray]:
        """Return what the characters of each word of a text add to the predictors; arrays of shape (K,).

        An n-gram that crosses several tokens, such as a word and a full stop, is shared between them in
        proportion to their characters. Characters of no token, as those of tags, count as words of their own.
        """
        row = self.vectorizer.transform([text])
        names = self.vectorizer.ngrams_.names(row.indices)
        weights = dict(zip(names, (self.coef[:, row.indices] * row.data).T, strict=True))
        shares: dict[str, np.ndarray] = {}
        for mark, own in self.vectorizer._texts_by_mark(text):
            words = self.vectorizer.build_preprocessor()(own).split()
            spans = [
                [(mark + ngram, *span) for ngram, *span in _spans(word, self.vectorizer.ngram_range)]
                for word in words
            ]
            times = Counter(ngram for found in spans for ngram, _, _ in found if ngram in weights)
            for word, found in zip(words, spans, strict=True):
                owners = [mark + owner for owner in _owners(word, tokenize(word))]
                for ngram, start, stop in found:
                    if ngram in weights:
                        places = owners[start:stop]
                        for owner, count in Counter(places).items():
                            share = weights[ngram] * (count / (len(places) * times[ngram]))
                            shares[owner] = shares[owner] + share if owner in shares else share
        return shares

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds."""
        vectorizer = self.vectorizer
        return {
            "ngram_range": list(vectorizer.ngram_range),
            "n_texts": vectorizer.n_texts_,
            "vocabulary": vectorizer.ngrams_._to_state(),
            "coef": self.coef,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], words: Any, rows: int) -> Self:
        """Rebuild the head, after checking its parts; ``rows`` is the number of predictors."""
        settings = character_settings(words, state["ngram_range"])
        vectorizer = NgramFeatures._from_state(settings, state["vocabulary"], state["n_texts"])
        if state["coef"].shape != (rows, len(vectorizer.ngrams_)):
            raise InputError("the coefficients of characters do not match their n-grams and the classes")
        return cls(vectorizer, np.asfortranarray(state["coef"]))


def _spans(word: str, ngram_range: tuple[int, int]) -> Iterator[tuple[str, int, int]]:
    """Yield the n-grams of a word with the characters of the word that they cover; see ``char_wb``.

    A blank on its own covers the character beside it.
    """
    padded = f" {word} "
    for n in range(ngram_range[0], ngram_range[1] + 1):
        for start in range(max(1, len(padded) - n + 1)):
            ngram = padded[start : start + n]
            first = min(max(start - 1, 0), len(word) - 1)
            yield ngram, first, max(min(start + len(ngram) - 1, len(word)), first + 1)
        if n >= len(padded):
            break


def _owners(word: str, tokens: Sequence[str]) -> list[str]:
    """Return the token of each character of a word; characters between tokens belong to the word itself.

    Examples
    --------
    >>> _owners("dull.<b", ["dull", "."])
    ['dull', 'dull', 'dull', 'dull', '.', 'dull.<b', 'dull.<b']
    """
    owners, place = [word] * len(word), 0
    for token in tokens:
        start = word.find(token, place)
        if start >= 0:
            place = start + len(token)
            owners[start:place] = [token] * len(token)
    return owners
