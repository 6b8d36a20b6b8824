"""The features of a vectorizer: n-grams learnt from texts, or given by the user, and found in new texts."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from dropglm.base import checks
from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.model_files import LARGEST
from dropglm.base.registry import lookup
from dropglm.base.threads import PerThread, each, even_pieces
from dropglm.text.ngrams.analysis import TextAnalysis
from dropglm.text.ngrams.counting import NgramCounter
from dropglm.text.ngrams.counts import CountedNgrams
from dropglm.text.ngrams.matrix import NORMS, Columns, NgramRows, Weighting, inverse_document_frequencies
from dropglm.text.ngrams.tokens import PIECE, WORDS_AND_PUNCTUATION, Prepared, TokenRoom, compile_pattern
from dropglm.text.ngrams.vocabulary import Selection, Vocabulary, column_names


@dataclass(eq=False, repr=False)
class NgramFeatures(TextAnalysis):
    """Features that are the n-grams of a vocabulary; ``NgramVectorizer`` without scikit-learn's interface."""

    ngram_range: tuple[int, int] = (1, 1)
    min_df: float | tuple[float, float] = 1
    max_df: float = 1.0
    max_features: int | None = None
    _: KW_ONLY
    binary: bool = True
    use_idf: bool = False
    smooth_idf: bool = True
    sublinear_tf: bool = False
    norm: str | None = None
    idf_power: float = 1.0
    ngram_weight: float = 1.0
    lowercase: bool = True
    token_pattern: str | None = WORDS_AND_PUNCTUATION
    strip_html: bool = True
    strip_accents: str | Callable[[str], str] | None = None
    stop_words: str | Iterable[str] | None = None
    analyzer: str | Callable[[Any], Iterable[str]] = "word"
    preprocessor: Callable[[Any], str] | None = None
    tokenizer: Callable[[str], Iterable[str]] | None = None
    vocabulary: Mapping[str, int] | Iterable[str] | None = None
    input: str = "content"
    encoding: str = "utf-8"
    decode_error: str = "strict"
    dtype: Any = np.float32
    n_jobs: int | None = None
    verbose: int = 0
    ngrams_: Vocabulary = field(init=False)
    n_texts_: int = field(init=False)
    _tfidf: Weighting = field(init=False)

    @classmethod
    def _from_state(cls, settings: dict[str, Any], vocabulary: Mapping[str, Any], n_texts: int) -> Self:
        """Rebuild fitted features from parts of a model file, after checking all of it."""
        features = cls(**settings)
        features._check()
        compile_pattern(features.token_pattern)
        ngrams = Vocabulary._from_state(vocabulary)
        # No n-gram is in more texts than there are; a damaged file must not give logarithms of negative
        # numbers.
        features._set_vocabulary(ngrams, max(1, n_texts, int(ngrams.document_counts.max())))
        if features.analyzer != "word":
            # Longer n-grams of characters cannot be in the vocabulary; listing them would take memory.
            longest = max(map(len, ngrams._words))
            shortest, most = features.ngram_range
            features.ngram_range = (min(shortest, longest), min(most, longest))
        # The hash tables of the words, and of stop words, are built now: chosen words could have the same
        # hash.
        len(ngrams._tables.word_keys)
        features._tokenizer()
        return features

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each n-gram."""
        return {name: column for column, name in enumerate(self._vocabulary().names())}

    @property
    def fixed_vocabulary_(self) -> bool:
        """Whether the features were given as ``vocabulary``."""
        return self.vocabulary is not None

    @property
    def idf_(self) -> np.ndarray:
        """The inverse document frequency of each n-gram; may be set, if ``use_idf``."""
        if not self.use_idf:
            raise AttributeError("idf_ exists only if use_idf is True.")
        checks.fitted(self, "_tfidf")
        return self._tfidf.idf_

    @idf_.setter
    def idf_(self, values: Any) -> None:
        if not self.use_idf:
            raise InputError("idf_ cannot be set if use_idf is False.")
        idf, d = checks.numbers(values, "idf_"), len(self._vocabulary())
        if idf.shape != (d,):
            raise InputError(f"idf_ has shape {idf.shape}, but the vocabulary has {d} n-grams.")
        self._set_weights(idf)

    def transform(self, X: Iterable[Any]) -> Any:
        """Return the matrix of the texts; n-grams that are not in the vocabulary are ignored.

        Parameters
        ----------
        X : iterable of str
            Texts.

        Returns
        -------
        CSR matrix of shape (n, n_features)
            One row per text.
        """
        vocabulary = self._vocabulary()
        checks.fitted(self, "_tfidf")
        threads = checks.threads(self.n_jobs)
        rows = self._find(self._chunks(X, threads), vocabulary)
        matrix = self._to_matrix(rows, [vocabulary._tables.columns], self._tfidf.factors.dtype)
        self._tfidf.apply(matrix, threads)
        return matrix

    def _begin_fit(self) -> None:
        """Check the settings and warn of odd ones."""
        self._check()
        self._warn_of_settings()
        self._warn_of_integers()

    def _check(self) -> tuple[int, int]:
        """Check all settings; return the smallest and the largest n."""
        self._check_weights()
        self._selection().check()
        return self._check_analysis()

    def _selection(self) -> Selection:
        # max_features ranks by the column sums of the matrix, as scikit-learn does.
        dtype = np.dtype(self.dtype)
        rank_type = dtype if dtype.kind == "f" else np.int64
        return Selection(self.min_df, self.max_df, self.max_features, bool(self.binary), rank_type)

    def _learn(self, X: Iterable[Any], rows: NgramRows | None) -> Columns:
        """Count n-grams and select features; return the columns of what each counter has numbered."""
        selection, threads = self._selection(), checks.threads(self.n_jobs)
        counted = self._count(X, rows, lambda n: selection.document_range(n, 2)[0])
        n, (shortest, _) = counted.n_texts, self._check_analysis()
        candidates = counted.trie.candidates(shortest, partial(selection.document_range, n), n)
        vocabulary, chosen = selection.select(candidates)
        self._set_vocabulary(vocabulary, n)
        return [] if rows is None else counted.columns_of(candidates.numbers[chosen], threads)

    def _count(
        self, X: Iterable[Any], rows: NgramRows | None = None, fewest: Callable[[int], float] = lambda n: 0
    ) -> CountedNgrams:
        """Count the n-grams of the texts, and store those of each row.

        N-grams of several words may be left out if they are in fewer texts than ``fewest`` of their number.
        """
        shortest, longest = self._check_analysis()
        threads = checks.threads(self.n_jobs)
        counters = PerThread(partial(NgramCounter, shortest, longest, binary=bool(self.binary)))

        def count(texts: Prepared, piece: tuple[int, int], first_text: int) -> None:
            with counters.one() as (number, counter):
                codes, start = counter.add(texts.tokens(*piece, counter.room), first_text)
                if rows is not None:
                    rows.add(first_text, codes, start, number)

        n = self._each_piece(count, self._chunks(X, threads), threads)
        return CountedNgrams.of(counters.made or [counters.make()], n, threads, fewest(n))

    def _find(self, chunks: Iterable[list[Any]], vocabulary: Vocabulary) -> NgramRows:
        """Look up the n-grams of the texts in the vocabulary."""
        (shortest, _), threads = self._check_analysis(), checks.threads(self.n_jobs)
        rooms, rows = PerThread(TokenRoom), NgramRows()
        len(vocabulary._tables.word_keys)  # built once, before several threads need them

        def find(texts: Prepared, piece: tuple[int, int], first_text: int) -> None:
            with rooms.one() as (_, room):
                tokens = texts.tokens(*piece, room)
                codes = np.empty(int(tokens.counts.sum()) * vocabulary._longest + 1, np.int32)
                start = np.zeros(len(tokens.counts) + 1, np.int64)
                vocabulary._find(tokens, shortest, codes, start)
                rows.add(first_text, codes[: start[-1]], start, 0)

        self._each_piece(find, chunks, threads)
        return rows

    def _each_piece(
        self,
        work: Callable[[Prepared, tuple[int, int], int], None],
        chunks: Iterable[list[Any]],
        threads: int,
    ) -> int:
        """Call ``work`` for all texts, piece by piece; return the number of texts."""
        tokenizer, n = self._tokenizer(), 0
        for chunk in chunks:
            texts = tokenizer.prepare(chunk)

            def on_piece(piece: tuple[int, int], texts: Prepared = texts, before: int = n) -> None:
                work(texts, piece, before + piece[0])

            each(on_piece, even_pieces(texts.cost, PIECE), threads)
            n += len(chunk)
        return n

    def _count_given(self, X: Iterable[Any], *, keep: bool) -> Any:
        """Count the texts that contain each given n-gram; if ``keep``, return the matrix of counts."""
        vocabulary = self._given_for_fit()
        self.ngrams_, matrix = vocabulary, None
        texts, n = np.zeros(len(vocabulary), np.int64), 0
        chunks = self._chunks(X, checks.threads(self.n_jobs))
        for batch in [chunks] if keep else ([chunk] for chunk in chunks):
            rows = self._find(batch, vocabulary)
            matrix = self._to_matrix(rows, [vocabulary._tables.columns], self._value_type())
            texts += np.bincount(matrix.indices, minlength=len(vocabulary))
            n += matrix.shape[0]
        self._set_vocabulary(vocabulary._with_counts(texts), n)
        return matrix

    def _to_matrix(self, rows: NgramRows, columns: Columns, dtype: np.dtype) -> Any:
        """Return the matrix before it is weighted."""
        binary, threads = bool(self.binary), checks.threads(self.n_jobs)
        return rows.to_matrix(columns, len(self.ngrams_), binary=binary, dtype=dtype, threads=threads)

    def _given(self) -> Vocabulary:
        """Return the vocabulary that the user gave."""
        return Vocabulary._from_names(column_names(self.vocabulary), self._check_analysis()[1])

    def _given_for_fit(self) -> Vocabulary:
        """Return the vocabulary that the user gave; warn if some of it cannot occur."""
        vocabulary = self._given()
        converted = self.lowercase and self.preprocessor is None
        if converted and any(any(map(str.isupper, name)) for name in vocabulary.names()):
            warnings.warn(
                "Upper case characters found in vocabulary while 'lowercase' is True. These entries will not "
                "be matched with any documents.",
                stacklevel=3,
            )
        return vocabulary

    def _vocabulary(self) -> Vocabulary:
        """Return the features; those that were given need no fit, nor do their weights without idf."""
        if not hasattr(self, "ngrams_") and self.vocabulary is not None:
            self.ngrams_ = self._given()
            if not self.use_idf:
                self._set_weights(None)
        checks.fitted(self, "ngrams_")
        return self.ngrams_

    def _set_vocabulary(self, vocabulary: Vocabulary, n_texts: int) -> None:
        """Store the features, and the weights that follow from them and the settings."""
        self.ngrams_, self.n_texts_ = vocabulary, n_texts
        counts, smooth = vocabulary.document_counts, bool(self.smooth_idf)
        idf = inverse_document_frequencies(counts, n_texts, smooth=smooth) if self.use_idf else None
        self._set_weights(idf)

    def _set_weights(self, idf: np.ndarray | None) -> None:
        """Store the weights that follow from the features, their idf and the settings."""
        dtype, factors = self._value_type(), np.empty(0)
        if idf is None or not self.use_idf:
            idf = np.empty(0)
        with np.errstate(over="ignore"):
            if self.use_idf or self.ngram_weight != 1.0:
                powers = self.ngram_weight ** np.arange(float(self.ngrams_._longest))
                factors = powers[self.ngrams_._lengths - 1]
            if self.use_idf:
                factors *= idf**self.idf_power
        if not factors.max(initial=0.0) <= LARGEST:
            raise InputError(
                f"idf_power={self.idf_power:g} and ngram_weight={self.ngram_weight:g} give n-grams weights "
                f"beyond {LARGEST:g}; use smaller values."
            )
        settings = bool(self.use_idf), bool(self.smooth_idf), bool(self.sublinear_tf), self.norm
        self._tfidf = Weighting(*settings, idf.astype(dtype), factors.astype(dtype))

    def _value_type(self) -> np.dtype:
        """Return the type of the matrix: integers cannot hold weighted values."""
        dtype = np.dtype(self.dtype)
        counts = not self.use_idf and not self.sublinear_tf and self.norm is None and self.ngram_weight == 1.0
        return dtype if dtype.kind == "f" or counts else np.dtype(np.float64)

    def _check_weights(self) -> None:
        for name in ("binary", "use_idf", "smooth_idf", "sublinear_tf"):
            checks.yes_or_no(getattr(self, name), name)
        if self.norm is not None:
            lookup(NORMS, self.norm, "norm")
        checks.not_negative(self.idf_power, "idf_power")
        checks.positive(self.ngram_weight, "ngram_weight")
        if np.dtype(self.dtype).char not in "bBhHiIlLqQfd":
            raise InputTypeError(f"dtype must be an integer type, float32 or float64, got {self.dtype!r}.")

    def _warn_of_integers(self) -> None:
        if self._value_type() != np.dtype(self.dtype):
            warnings.warn(
                "Weighted entries are returned as float64: a floating-point 'dtype' should be used.",
                stacklevel=4,
            )

    def _describe(self, text: str) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
        """Return the columns of a text, their values and n-grams, and the words that are in no feature."""
        row = self.transform([text])
        known = self.ngrams_._word_set
        unknown = [token for token in dict.fromkeys(self.tokenize(text)) if token not in known]
        return row.indices, row.data, self.ngrams_.names(row.indices), unknown
