"""What estimators that read n-grams share: their settings of tokens, checked."""

from numbers import Integral
from typing import Any

from sklearn.base import BaseEstimator

from dropglm import checks
from dropglm.text.counting import LONGEST_NGRAM
from dropglm.text.tokens import Tokenizer


class ReadsTexts(BaseEstimator):
    """An estimator whose input is strings."""

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


class NgramReader(ReadsTexts):
    """Has ``ngram_range``, ``lowercase``, ``token_pattern`` and ``strip_html``."""

    def tokens(self, text: str) -> list[str]:
        """The tokens of one text, known or not."""
        if not isinstance(text, str):
            raise TypeError(f"text must be a string, got {text!r}.")
        return self._tokenizer(1).words(text)

    def _check_ngrams(self) -> tuple[int, int]:
        """The smallest and the largest n, if what is said of n-grams is in order."""
        n = self.ngram_range
        if not (isinstance(n, (tuple, list)) and len(n) == 2 and all(isinstance(k, Integral) for k in n)):
            raise TypeError(f"ngram_range must be a pair of whole numbers such as (1, 2), got {n!r}.")
        if not 1 <= n[0] <= n[1] <= LONGEST_NGRAM:
            raise ValueError(
                f"ngram_range must be a pair (a, b) with 1 <= a <= b <= {LONGEST_NGRAM}, got {n!r}."
            )
        checks.yes_or_no(self.lowercase, "lowercase")
        checks.yes_or_no(self.strip_html, "strip_html")
        return int(n[0]), int(n[1])

    def _tokenizer(self, threads: int) -> Tokenizer:
        return Tokenizer(
            self.token_pattern,
            lowercase=bool(self.lowercase),
            strip_html=bool(self.strip_html),
            threads=threads,
        )
