"""The features of a vectorizer: n-grams learnt from texts, or given by the user, and found in new texts."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from dropglm import checks
from dropglm.text.analysis import TextAnalysis
from dropglm.text.counting import NgramCounter
from dropglm.text.fixed_vocabulary import column_names, warn_of_upper_case
from dropglm.text.ngram_counts import NONE
from dropglm.text.ngram_rows import NgramRows
from dropglm.text.selection import Selection
from dropglm.text.vocabulary import Vocabulary
from dropglm.text.weighting import WeightedFeatures


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
        """
        vocabulary = self._vocabulary()
        checks.fitted(self, "_tfidf")
        rows = self._find(self._chunks(X), vocabulary)
        matrix = self._to_matrix(rows, vocabulary._column_of, self._tfidf.factors.dtype)
        self._tfidf.apply(matrix, rows.threads)
        return matrix

    def _begin_fit(self) -> int:
        """Check the settings, warn of odd ones, and return the smallest n."""
        shortest, _ = self._check()
        self._warn_of_settings()
        self._warn_of_integers()
        return shortest

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

    def _learn(self, X: Iterable[Any], rows: NgramRows | None) -> np.ndarray:
        """Count n-grams and select features; return the column of each code of the counter."""
        counter, selection = self._count(X, rows), self._selection()
        n, (shortest, longest) = counter.n_texts, self._check_analysis()
        if not any(map(len, counter.tokens)):
            raise ValueError(f"The fit has an empty vocabulary: none of the {n} texts has a token to count.")
        counts, codes = counter.to_counts(shortest, partial(selection.document_range, n), self._settings())
        vocabulary, chosen = selection.select(counts)
        self._set_vocabulary(vocabulary, n)
        column_of = np.full(longest * counter.n_numbers, NONE, np.int32)
        column_of[codes[chosen]] = np.arange(len(chosen), dtype=np.int32)
        return column_of

    def _count(self, X: Iterable[Any], rows: NgramRows | None) -> NgramCounter:
        """Count the n-grams of the texts, and store those of each row."""
        threads = checks.threads(self.n_jobs)
        tokenizer, counter = self._tokenizer(threads), NgramCounter(self._check_analysis()[1], threads)
        for chunk in self._chunks(X):
            tokens = tokenizer.split(chunk)
            numbers, new = counter.add(tokens)
            if rows is not None:
                rows.add(tokens, numbers, new if self.binary else np.ones_like(new))
        return counter

    def _find(self, chunks: Iterable[list[Any]], vocabulary: Vocabulary) -> NgramRows:
        """Look up the n-grams of the texts in the vocabulary."""
        threads = checks.threads(self.n_jobs)
        tokenizer, rows = self._tokenizer(threads), NgramRows(self._check_analysis()[0], threads)
        for chunk in chunks:
            tokens = tokenizer.split(chunk)
            rows.add(tokens, *vocabulary._find(tokens, threads))
        return rows

    def _count_given(self, X: Iterable[Any], *, keep: bool) -> Any:
        """Count the texts that contain each given n-gram; if ``keep``, return the matrix of counts."""
        vocabulary = self._given()
        if self.lowercase and self.preprocessor is None:
            warn_of_upper_case(vocabulary.names())
        self.ngrams_, matrix = vocabulary, None
        texts, n = np.zeros(len(vocabulary), np.int64), 0
        for batch in [self._chunks(X)] if keep else ([chunk] for chunk in self._chunks(X)):
            rows = self._find(batch, vocabulary)
            matrix = self._to_matrix(rows, vocabulary._column_of, self._value_type())
            texts += np.bincount(matrix.indices, minlength=len(vocabulary))
            n += matrix.shape[0]
        self._set_vocabulary(vocabulary._with_counts(texts), n)
        return matrix

    def _to_matrix(self, rows: NgramRows, column_of: np.ndarray, dtype: np.dtype) -> Any:
        """Return the matrix before it is weighted."""
        return rows.to_matrix(column_of, len(self.ngrams_), binary=bool(self.binary), dtype=dtype)

    def _given(self) -> Vocabulary:
        """Return the vocabulary that the user gave."""
        return Vocabulary._from_names(column_names(self.vocabulary), self._check_analysis()[1])

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
