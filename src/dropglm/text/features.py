"""The features of a vectorizer: n-grams learnt from texts, or given by the user, and found in new texts."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from dropglm import checks
from dropglm.text.analysis import TextAnalysis
from dropglm.text.counting import NgramCounter
from dropglm.text.ngram_counts import CountedNgrams
from dropglm.text.ngram_rows import Columns, NgramRows
from dropglm.text.per_thread import PerThread
from dropglm.text.selection import Selection
from dropglm.text.tokens import PIECE, Prepared, TokenRoom
from dropglm.text.vocabulary import Vocabulary, column_names, warn_of_upper_case
from dropglm.text.weighting import WeightedFeatures
from dropglm.threads import each, even_pieces


class NgramFeatures(TextAnalysis, WeightedFeatures):
    """Features that are the n-grams of a vocabulary; ``NgramVectorizer`` without scikit-learn's interface."""

    min_df: Any
    max_df: float
    max_features: int | None
    vocabulary: Any
    n_jobs: int | None

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each n-gram."""
        return {name: column for column, name in enumerate(self._vocabulary().names())}

    @property
    def fixed_vocabulary_(self) -> bool:
        """Whether the features were given as ``vocabulary``."""
        return self.vocabulary is not None

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
        counted, selection, threads = self._count(X, rows), self._selection(), checks.threads(self.n_jobs)
        n, (shortest, _) = counted.n_texts, self._check_analysis()
        within = partial(selection.document_range, n)
        candidates = counted.trie.candidates(shortest, within, n)
        vocabulary, chosen = selection.select(candidates, threads)
        self._set_vocabulary(vocabulary, n)
        return [] if rows is None else counted.columns_of(candidates.numbers[chosen], threads)

    def _count(self, X: Iterable[Any], rows: NgramRows | None) -> CountedNgrams:
        """Count the n-grams of the texts, and store those of each row."""
        shortest, longest = self._check_analysis()
        threads = checks.threads(self.n_jobs)
        counters = PerThread(partial(NgramCounter, shortest, longest, binary=bool(self.binary)))

        def count(texts: Prepared, piece: tuple[int, int], first_text: int) -> None:
            with counters.one() as (number, counter):
                codes, start = counter.add(texts.tokens(*piece, counter.room), first_text)
                if rows is not None:
                    rows.add(first_text, codes, start, number)

        n = self._each_piece(count, self._chunks(X, threads), threads)
        return CountedNgrams.of(counters.made or [counters.make()], n, threads)

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
        if self.lowercase and self.preprocessor is None:
            warn_of_upper_case(vocabulary.names())
        return vocabulary

    def _vocabulary(self) -> Vocabulary:
        """Return the features; those that were given need no fit, nor do their weights without idf."""
        if not hasattr(self, "ngrams_") and self.vocabulary is not None:
            self.ngrams_ = self._given()
            if not self.use_idf:
                self._set_weights(None)
        checks.fitted(self, "ngrams_")
        return self.ngrams_

    def _describe(self, text: str) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
        """Return the columns of a text, their values and n-grams, and the words that are in no feature."""
        row = self.transform([text])
        known = self.ngrams_._word_set
        unknown = [token for token in dict.fromkeys(self.tokenize(text)) if token not in known]
        return row.indices, row.data, self.ngrams_.names(row.indices), unknown
