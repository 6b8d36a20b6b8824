"""How a text becomes tokens: the settings that scikit-learn's vectorizers share, and what they build.

Built-in settings for words use the compiled loops of ``tokens`` and ``kernels``. N-grams of characters and
functions of the user are lists of strings, which are then counted by the same loops.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dropglm.errors import InputTypeError
from dropglm.registry import lookup
from dropglm.text.base import NgramSettings, text_chunks
from dropglm.text.ngram_strings import ANALYZERS, Chain, Without
from dropglm.text.preprocessing import Preprocessor, accent_function
from dropglm.text.stop_words import TokenSource, WithoutStopWords, stop_word_set, warn_of_inconsistent
from dropglm.text.tokens import RUNS, FunctionTokenizer, Tokenizer, compile_pattern


def _read_file(document: Any) -> Any:
    return document.read()


def _read_path(document: Any) -> bytes:
    with open(document, "rb") as file:
        return file.read()


def _read_content(document: Any) -> Any:
    return document


INPUTS: dict[str, Callable[[Any], Any]] = {
    "content": _read_content,
    "file": _read_file,
    "filename": _read_path,
}
# Besides ngram_range and stop_words, what the n-grams of a text depend on.
ANALYSIS = (
    "lowercase",
    "token_pattern",
    "strip_html",
    "strip_accents",
    "analyzer",
    "preprocessor",
    "tokenizer",
)


class TextAnalysis(NgramSettings):
    """Features with scikit-learn's settings for the analysis of texts.

    As in scikit-learn, a subclass may override ``build_preprocessor``, ``build_tokenizer`` or
    ``build_analyzer``.
    """

    analyzer: Any
    preprocessor: Any
    tokenizer: Any
    stop_words: Any
    strip_accents: Any
    input: str
    encoding: str
    decode_error: str
    verbose: int

    def decode(self, doc: Any) -> Any:
        """Return a document as text: read the file, if ``input`` says so, and decode bytes.

        Parameters
        ----------
        doc : str, bytes, file object or path
            The document.

        Returns
        -------
        str
            Its text.
        """
        if self.input != "content":
            doc = lookup(INPUTS, self.input, "input")(doc)
        return doc.decode(self.encoding, self.decode_error) if isinstance(doc, bytes) else doc

    def build_preprocessor(self) -> Callable[[Any], str]:
        """Return the function that is applied to a text before it is split.

        Returns
        -------
        callable
            From a text to a text.
        """
        if self.preprocessor is not None:
            return self.preprocessor
        return Preprocessor(bool(self.lowercase), bool(self.strip_html), accent_function(self.strip_accents))

    def build_tokenizer(self) -> Callable[[str], list[str]]:
        """Return the function that splits a preprocessed text.

        Returns
        -------
        callable
            From a text to a list of tokens.
        """
        return compile_pattern(self.token_pattern).findall if self.tokenizer is None else self.tokenizer

    def build_analyzer(self) -> Callable[[Any], list[str]]:
        """Return the function that lists the n-grams of a document, whether or not they are features.

        Returns
        -------
        callable
            From a document to a list of strings.
        """
        return Chain((self.decode, *self._steps()))

    def get_stop_words(self) -> frozenset[str] | None:
        """Return the stop words.

        Returns
        -------
        frozenset of str, or None
            The words that are left out; None if there are none.
        """
        return stop_word_set(self.stop_words)

    def _steps(self) -> Sequence[Callable[[Any], Any]]:
        """Return the functions that lead from a decoded document to the list of its n-grams."""
        if callable(self.analyzer):
            return (self.analyzer,)
        steps: list[Callable[[Any], Any]] = [self.build_preprocessor()]
        if self.analyzer == "word":
            steps.append(self.build_tokenizer())
            stop_words = self.get_stop_words()
            steps += [] if stop_words is None else [Without(stop_words)]
        return *steps, lookup(ANALYZERS, self.analyzer, "analyzer")(*self.ngram_range)

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(TextAnalysis, name)

    def _splits_words(self) -> bool:
        """Return whether n-grams consist of tokens; otherwise each n-gram is a single string."""
        return (
            isinstance(self.analyzer, str)
            and self.analyzer == "word"
            and not self._overrides("build_analyzer")
        )

    def _tokenizer(self) -> TokenSource:
        if self._overrides("build_analyzer"):
            return FunctionTokenizer(self.build_analyzer())
        if not self._splits_words():
            return FunctionTokenizer(Chain(tuple(self._steps())))
        preprocess, stop_words = self.build_preprocessor(), self.get_stop_words()
        tokenizer: TokenSource
        if self.tokenizer is not None or self._overrides("build_tokenizer"):
            tokenizer = FunctionTokenizer(Chain((preprocess, self.build_tokenizer())))
        else:
            tokenizer = Tokenizer(self.token_pattern, preprocess)
        return WithoutStopWords(tokenizer, stop_words) if stop_words else tokenizer

    def _chunks(self, X: Any, threads: int) -> Iterator[list[Any]]:
        """Yield the decoded documents in lists; functions of the user may accept other objects than texts."""
        own = (
            self.preprocessor is not None or callable(self.analyzer) or self._overrides("build_preprocessor")
        )
        decode = None if self._overrides("build_analyzer") else self.decode
        objects = own or decode is None
        return text_chunks(
            X,
            verbose=bool(self.verbose),
            decode=decode,
            objects=objects,
            threads=threads,
            strings=self._keeps_strings(),
        )

    def _keeps_strings(self) -> bool:
        """Return whether strings need not be decoded."""
        return self.input == "content" and type(self).decode is TextAnalysis.decode

    def _settings(self) -> dict[str, Any]:
        """Return the settings on which the n-grams of a text depend; functions by their names."""
        named = {name: _value_or_name(getattr(self, name)) for name in ANALYSIS}
        return named | {"ngram_range": tuple(self.ngram_range), "stop_words": self.get_stop_words()}

    def _check_analysis(self) -> tuple[int, int]:
        """Check the settings; return the smallest and largest number of tokens of the n-grams to count."""
        words = self._splits_words()
        shortest, longest = self._check_ngrams()
        lookup(INPUTS, self.input, "input")
        accent_function(self.strip_accents)
        if not callable(self.analyzer):
            lookup(ANALYZERS, self.analyzer, "analyzer")
        for name in ("preprocessor", "tokenizer"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise InputTypeError(f"{name} must be a function or None, got {value!r}.")
        return (shortest, longest) if words else (1, 1)

    def _warn_of_settings(self) -> None:
        """Warn of settings that have no effect, and of stop words that never occur."""
        ignored: dict[str, str] = {}
        if self.tokenizer is not None:
            ignored["token_pattern"] = "'tokenizer' is not None"
        if callable(self.analyzer):
            ignored |= dict.fromkeys(("preprocessor", "ngram_range"), "'analyzer' is callable")
        if callable(self.analyzer) or self.analyzer != "word":
            ignored |= dict.fromkeys(("stop_words", "token_pattern", "tokenizer"), "'analyzer' != 'word'")
        defaults = {"token_pattern": tuple(RUNS), "ngram_range": ((1, 1),)}
        for name, reason in ignored.items():
            value = getattr(self, name)
            if value is not None and not (name in defaults and value in defaults[name]):
                warnings.warn(f"The parameter {name!r} will not be used since {reason}.", stacklevel=4)
        stop_words = self.get_stop_words()
        if stop_words and self._splits_words():
            tokenize = Chain((self.build_preprocessor(), self.build_tokenizer()))
            warn_of_inconsistent(stop_words, tokenize)


def _value_or_name(setting: Any) -> Any:
    """Return a setting, or the name of a function: many cannot be pickled, or are not equal to their copy."""
    # Without the module: "__main__" has another name in other processes.
    return getattr(setting, "__qualname__", type(setting).__qualname__) if callable(setting) else setting
