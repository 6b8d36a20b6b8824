"""The n-grams that are features: learnt from texts or given by the user, and found in new texts."""

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial, reduce
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np

from dropglm.base import checks
from dropglm.base.errors import InputError, InputTypeError, stacklevel
from dropglm.base.model_files import LARGEST
from dropglm.base.progress import begin_stage
from dropglm.base.registry import lookup
from dropglm.base.threads import PerThread, each, even_pieces, even_ranges
from dropglm.text.ngrams import counting
from dropglm.text.ngrams.analysis import PreparedTexts, TextAnalysis, check_texts
from dropglm.text.ngrams.counting import NONE, NgramRows
from dropglm.text.ngrams.fields import MARKS, divide_by_field, mark_of, readable, texts_of
from dropglm.text.ngrams.merged_counts import (
    CountedNgrams,
    FrequentNgrams,
    NgramTrie,
    copy_strings,
    find_byte,
    sorted_rows,
    sorted_strings,
)
from dropglm.text.ngrams.tokens import (
    BYTES_PER_PIECE,
    THREE_BYTES,
    UNSPACED_CHARACTER,
    TokenBuffers,
    Tokens,
    compile_pattern,
    decode_strings,
    encode_strings,
)

# Sums over entries are split into at most so many pieces, of at least so many entries.
PIECES, ENTRIES_PER_PIECE = 8, 1 << 20


# The arrays of a vocabulary, by their names in model files
IN_FILES = {
    "letters": "_letters",
    "ends": "_ends",
    "spelling": "_spelling",
    "texts": "document_counts",
    "values": "mean_values",
}


class HashTables(NamedTuple):
    """The hash tables of a vocabulary, and the column of each word and each pair, or -1; see ``counting``."""

    word_slots: np.ndarray
    word_keys: np.ndarray
    pair_slots: np.ndarray
    pair_keys: np.ndarray
    columns: tuple[np.ndarray, np.ndarray]


@dataclass(eq=False, repr=False)
class Vocabulary:
    """The n-grams that are features, one per column.

    Parameters
    ----------
    _letters, _ends : ndarray
        The tokens, concatenated in UTF-8, and the offsets where each begins and the last one ends.
    _spelling : ndarray of shape (n_features, largest n)
        The token numbers of each feature, padded with -1.
    document_counts : ndarray of shape (n_features,)
        Number of texts in the fit that contain each feature.
    mean_values : ndarray of shape (n_features,), or empty
        Mean value of each feature in the texts of the fit that contain it, if a text classifier has recorded
        it; empty if all of them are 1.
    """

    _letters: np.ndarray
    _ends: np.ndarray
    _spelling: np.ndarray
    document_counts: np.ndarray
    mean_values: np.ndarray = field(default_factory=partial(np.empty, 0, np.float32))

    @classmethod
    def _from_names(cls, names: Sequence[str], longest: int) -> Self:
        """Return a vocabulary of given n-grams of at most ``longest`` tokens, in this order.

        Names that cannot be such an n-gram, since they have more words, become a token that no text has.
        """
        spelled = [name.split(" ") for name in names]
        spelled = [
            words if len(words) <= longest else [name] for words, name in zip(spelled, names, strict=True)
        ]
        words = sorted({word for ngram in spelled for word in ngram})
        number = {word: k for k, word in enumerate(words)}
        spelling = np.full((len(names), max(map(len, spelled))), NONE, np.int32)
        for column, ngram in enumerate(spelled):
            spelling[column, : len(ngram)] = [number[word] for word in ngram]
        return cls(*encode_strings(words), spelling, np.zeros(len(names), np.int32))

    def _with_counts(self, document_counts: np.ndarray) -> Self:
        """Return the same features with other document counts."""
        return type(self)(self._letters, self._ends, self._spelling, document_counts.astype(np.int32))

    def __len__(self) -> int:
        return len(self._spelling)

    def names(self, columns: np.ndarray | None = None) -> list[str]:
        """Return the n-grams of these columns, or of all columns, with spaces between their tokens."""
        rows = self._spelling if columns is None else self._spelling[columns]
        if self._longest == 1:
            return [self._words[number] for number in rows[:, 0].tolist()]
        return [" ".join([self._words[number] for number in row if number >= 0]) for row in rows.tolist()]

    def _record_totals(self, totals: np.ndarray, different: bool) -> None:
        """Record the mean value of each feature, given the ``column_totals`` of all texts in the fit."""
        if different:
            self.mean_values = (totals / np.maximum(self.document_counts, 1)).astype(np.float32)

    def __getstate__(self) -> dict[str, np.ndarray]:
        """Leave out the hash tables, which are rebuilt when needed."""
        return {name: getattr(self, name) for name in IN_FILES.values()}

    def _to_state(self) -> dict[str, np.ndarray]:
        """Return the arrays for a model file."""
        return {key: getattr(self, name) for key, name in IN_FILES.items()}

    @classmethod
    def _from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild a vocabulary from a model file, after checking its arrays: the kernels trust them."""
        letters, ends, spelling, counts, values = (state[key] for key in IN_FILES)
        words, longest = len(ends) - 1, spelling.shape[-1]
        if not (
            words >= 0
            and ends[0] == 0
            and ends[-1] == len(letters)
            and (ends[1:] >= ends[:-1]).all()  # a difference could overflow
            and len(counts) == len(spelling)
            and len(values) in (0, len(spelling))
            and spelling.size
            and longest <= counting.MAX_NGRAM
            and max(words, spelling.size) * longest <= np.iinfo(np.int32).max
            and (spelling[:, 0] >= 0).all()
            and spelling.max() < words
            and spelling.min() >= NONE
            and not ((spelling[:, :-1] == NONE) & (spelling[:, 1:] != NONE)).any()
        ):
            raise InputError("the arrays of the vocabulary are inconsistent")
        vocabulary = cls(letters, ends, spelling, counts, values)
        if len(set(vocabulary._words)) < words:  # decoding them raises unless the letters are UTF-8
            raise InputError("a word is twice in the vocabulary")  # many would make the hash table slow
        return vocabulary

    @property
    def _longest(self) -> int:
        """The largest n."""
        return int(self._spelling.shape[1])

    @property
    def _lengths(self) -> np.ndarray:
        """The number of tokens of each feature."""
        lengths = np.ones(len(self), np.int64)
        for column in self._spelling.T[1:]:
            lengths += column != NONE
        return lengths

    @cached_property
    def _word_counts(self) -> np.ndarray:
        """The number of words of each feature; adjacent characters of unspaced scripts are one word."""
        joins = np.zeros(len(self._ends), np.bool_)  # the last one is that of NONE
        if self._longest > 1 and self._letters.max(initial=0) >= THREE_BYTES:
            joins[:-1] = [UNSPACED_CHARACTER.fullmatch(word) is not None for word in self._words]
        counts = self._lengths
        for before, after in pairwise(self._spelling.T):
            counts -= joins[before] & joins[after]
        return counts

    @cached_property
    def _words(self) -> list[str]:
        return decode_strings(self._letters, self._ends)

    @cached_property
    def _word_set(self) -> frozenset[str]:
        return frozenset(self._words)

    @cached_property
    def _tables(self) -> HashTables:
        slots, keys = counting.token_table(self._letters, self._ends)
        most = int(np.maximum(self._lengths - 1, 0).sum())  # each n-gram may have n - 1 pairs of its own
        pair_slots, pair_keys = counting.empty_slots(most), np.empty((most, 1), np.int64)
        columns = np.full(len(keys), NONE, np.int32), np.empty(most, np.int32)
        pairs = counting.index_ngrams(self._spelling, pair_slots, pair_keys, *columns)
        return HashTables(slots, keys, pair_slots, pair_keys[:pairs], (columns[0], columns[1][:pairs]))

    def _find(self, tokens: Tokens, shortest: int, codes: np.ndarray, start: np.ndarray) -> None:
        """Write the codes of the known n-grams of each text, and where those of each text end."""
        slots, keys, *pairs = self._tables[:4]
        table = slots, keys, self._letters, self._ends, *pairs
        scratch = counting.scratch_for(tokens.counts)
        counting.find_texts(tokens, scratch, shortest, self._longest, *table, codes, start)


def column_totals(X: Any) -> tuple[np.ndarray, bool]:
    """Return the sum of each column of a CSR matrix, and if any entry is not 1.

    Both can be added up over parts of the texts.
    """
    pieces = even_ranges(len(X.data), max(ENTRIES_PER_PIECE, len(X.data) // PIECES))  # which saves memory
    sums = (np.bincount(X.indices[a:b], X.data[a:b], minlength=X.shape[1]) for a, b in pieces)
    return reduce(np.add, sums), bool((X.data != 1).any())


def column_names(vocabulary: Any) -> list[str]:
    """Return the n-gram of each column of a given vocabulary.

    Parameters
    ----------
    vocabulary : mapping of str to int, or iterable of str
        The column of each n-gram, or the n-grams in the order of their columns; those of a set are sorted.

    Examples
    --------
    >>> column_names({"dull": 1, "film": 0})
    ['film', 'dull']
    >>> column_names(["dull", "film", "dull"])
    Traceback (most recent call last):
    dropglm.base.errors.InputError: Duplicate term in vocabulary: 'dull'.
    """
    if isinstance(vocabulary, str) or not isinstance(vocabulary, Iterable):
        raise InputTypeError(f"vocabulary must be a mapping or an iterable of strings, got {vocabulary!r}.")
    names = sorted(vocabulary) if isinstance(vocabulary, (set, frozenset)) else list(vocabulary)
    if not names:
        raise InputError("An empty vocabulary was passed as the parameter vocabulary.")
    if isinstance(vocabulary, Mapping):
        columns = {int(column): name for name, column in vocabulary.items()}
        if len(columns) < len(names):
            raise InputError("Vocabulary contains repeated indices.")
        missing = next((j for j in range(len(names)) if j not in columns), None)
        if missing is not None:
            raise InputError(f"Vocabulary of size {len(names)} doesn't contain index {missing}.")
        names = [columns[j] for j in range(len(names))]
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise InputTypeError(f"vocabulary must contain strings, got {name!r}.")
        if name in seen:
            raise InputError(f"Duplicate term in vocabulary: {name!r}.")
        seen.add(name)
    return names


# Strings as places in an array of letters: the letters, where each string begins, and where it ends
Strings = tuple[np.ndarray, np.ndarray, np.ndarray]


class Selection(NamedTuple):
    """Which n-grams become features.

    Attributes
    ----------
    min_df : int, float or pair of these
        The smallest number of texts that contain a feature; a float is a share of the texts. Of a pair, the
        first is for single words and the second for longer n-grams.
    max_df : int or float
        The largest number of texts that contain a feature.
    max_features : int or None
        If given, keep only the most frequent n-grams.
    by_texts : bool
        Whether those occur in most texts, or most often.
    rank_type : type
        The type in which counts are compared. scikit-learn's choice among equal counts depends on the type,
        and so does ours.
    """

    min_df: float | tuple[float, float]
    max_df: float
    max_features: int | None
    by_texts: bool
    rank_type: Any

    def check(self) -> None:
        """Raise an error if a setting is invalid."""
        if isinstance(self.min_df, (tuple, list)) and len(self.min_df) != 2:
            raise InputError(
                f"min_df must be one value, or a pair for words and for longer n-grams, got {self.min_df!r}."
            )
        for name, value in (*(("min_df", one) for one in self._smallest()), ("max_df", self.max_df)):
            checks.not_negative(value, name)
            if not isinstance(value, Integral) and value > 1.0:
                raise InputError(f"{name} must be a whole number of texts or a share in [0, 1], got {value}.")
        if self.max_features is not None:
            checks.whole_number(self.max_features, "max_features", least=1)

    def document_range(self, n_texts: int, n: int = 1) -> tuple[float, float]:
        """Return the smallest and the largest number of texts that contain a feature of n words."""
        words, longer = self._smallest()
        low, high = (
            bound if isinstance(bound, Integral) else bound * n_texts
            for bound in (words if n == 1 else longer, self.max_df)
        )
        return low, high

    def _smallest(self) -> tuple[float, float]:
        """Return min_df of single words and of longer n-grams."""
        if isinstance(self.min_df, (tuple, list)):
            return self.min_df[0], self.min_df[1]
        return self.min_df, self.min_df

    def select(self, candidates: FrequentNgrams) -> tuple[Vocabulary, np.ndarray]:
        """Return the features in alphabetical order, and the position of each among the candidates."""
        n = candidates.n_texts
        if len(candidates.ends) == 1:
            raise InputError(f"The fit has an empty vocabulary: none of the {n} texts has a token to count.")
        if not len(candidates.texts):
            (low, high), (longer, _) = (self.document_range(n, k) for k in (1, 2))
            least = f"{low:g}" if low == longer else f"{low:g} (words) or {longer:g} (longer n-grams)"
            short, long = self._smallest()
            now = f"{short}" if short == long else f"{short}, {long} for longer n-grams"
            raise InputError(
                f"The fit has an empty vocabulary: no n-gram occurs in at least {least} and at most {high:g} "
                f"of the {n} texts; lower min_df (now {now}) or raise max_df (now {self.max_df}).",
                *("min_df", "max_df"),
            )
        words = candidates.letters, candidates.ends[:-1], candidates.ends[1:]
        words, spelling, order = _sort_alphabetically(words, candidates.spelling)
        if self.max_features is not None and len(order) > self.max_features:
            ranks = (candidates.texts if self.by_texts else candidates.times)[order].astype(self.rank_type)
            largest = np.sort((-ranks).argsort()[: self.max_features])
            words, spelling, again = _sort_alphabetically(words, spelling[largest])
            order = order[largest][again]
        return Vocabulary(*copy_strings(*words), spelling, candidates.texts[order].astype(np.int32)), order


def _sort_alphabetically(words: Strings, spelling: np.ndarray) -> tuple[Strings, np.ndarray, np.ndarray]:
    """Return the words in use, the features spelled with them, and the order of the features.

    The words are sorted, and so are the features.
    """
    letters, starts, stops = words
    occurs = np.zeros(len(starts) + 1, np.bool_)  # the last entry is for NONE
    occurs[spelling] = True
    used = np.flatnonzero(occurs[:-1])
    number_of = np.full(len(starts) + 1, NONE, np.int32)
    number_of[used] = np.arange(len(used), dtype=np.int32)
    words = letters, starts[used], stops[used]
    if spelling.shape[1] > 1:
        _refuse_spaces(*words)
    numbers = number_of[spelling]
    ranked = numbers.copy()
    ranked[:, :-1] += np.int32(len(used)) * (numbers[:, 1:] != NONE)  # followed by a space; see ``_ranks``
    order = sorted_rows(np.where(numbers != NONE, _ranks(*words)[ranked], NONE), 2 * len(used))
    return words, numbers[order], order


def _refuse_spaces(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> None:
    """Raise if a word contains a space."""
    spaced = find_byte(letters, starts, stops, 32, 32)
    if spaced >= 0:
        word = letters[starts[spaced] : stops[spaced]].tobytes().decode("utf-8", "surrogatepass")
        raise InputError(
            f"token_pattern matches {word!r}, which contains a space and cannot be distinguished from an "
            "n-gram of its words; use a pattern whose tokens contain no spaces."
        )


def _ranks(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    r"""Return the rank of each word, and then that of each word with a space at its end.

    The words are sorted, and none of them contains a space. Names of n-grams then compare like the sequences
    of their words' ranks, provided that each word but the last is taken together with the space after it:
    "a b" comes before "a!", but after "a\x01".
    """
    n = len(starts)
    rank = np.concatenate([np.arange(0, 2 * n, 2), np.arange(1, 2 * n, 2)]).astype(np.int32)
    # A word comes right before the same word with a space, unless a longer word continues it with a control
    # character, which sorts before a space.
    if find_byte(letters, np.minimum(starts + 1, stops), stops, 0, 31) >= 0:
        rank[_sorted_with_spaces(letters, starts, stops)] = np.arange(2 * n, dtype=np.int32)
    return rank


def _sorted_with_spaces(letters: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the order of all words and, after them, of all words with a space at their end."""
    letters, ends = copy_strings(letters, starts, stops)
    words = ends[1:] - ends[:-1]
    spaced = np.full(len(letters) + len(words), ord(" "), np.uint8)
    places = np.arange(len(letters)) + np.repeat(np.arange(len(words)), words)
    spaced[places] = letters
    first, last = ends[:-1] + np.arange(len(words)), ends[1:] + np.arange(len(words))
    return sorted_strings(spaced, np.tile(first, 2), np.concatenate([last, last + 1]))


@dataclass(eq=False, repr=False)
class NgramFeatures(TextAnalysis):
    """Features that are the n-grams of a vocabulary; ``NgramVectorizer`` without scikit-learn's interface.

    The defaults are the paper's features: words that occur or not. A ``TextClassifier`` has others where they
    classify better: pairs of words too, of those that occur twice, tf-idf and rows of length 1. Hashed
    n-grams and the ``OnlineTextClassifier`` have pairs but no weights, which would need counts of all texts.
    """

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
    vocabulary: Mapping[str, int] | Iterable[str] | None = None
    dtype: Any = np.float32
    ngrams_: Vocabulary = field(init=False)
    n_texts_: int = field(init=False)
    _tfidf: counting.Weighting = field(init=False)

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
            longest = max(1, *map(len, ngrams._words))
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
        chunks = self._chunks(X, checks.threads(self.n_jobs))
        matrix = self._find(chunks, vocabulary, self._tfidf.factors.dtype)
        self._weigh(matrix)
        return matrix

    def _weigh(self, matrix: Any, counts: np.ndarray | None = None) -> None:
        """Write the weighted values of counts, by default those of the matrix itself, into it."""
        self._tfidf.apply(matrix, checks.threads(self.n_jobs), counts)
        if self.fields is not None and self.norm is not None:
            divide_by_field(matrix, self._field_of_columns, len(self.fields), counting.NORMS[self.norm])

    @property
    def _field_of_columns(self) -> np.ndarray:
        """The number of the field of each n-gram."""
        ngrams = self.ngrams_
        marks = ngrams._letters[ngrams._ends[:-1]][ngrams._spelling[:, 0]]
        return np.searchsorted(np.frombuffer(MARKS, np.uint8), marks)

    def _begin_fit(self) -> None:
        """Check the settings and warn of odd ones."""
        self._check()
        self._warn_of_settings()
        if self._value_type() != np.dtype(self.dtype):
            warnings.warn(
                "Weighted entries are returned as float64: a floating-point 'dtype' should be used.",
                stacklevel=stacklevel(),
            )

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

    def _learn(self, X: Iterable[Any], rows: NgramRows | None) -> counting.Columns:
        """Count n-grams and select features; return the columns of what each counter has numbered."""
        selection = self._selection()
        counted = self._count(X, rows, lambda n: selection.document_range(n, 2)[0])
        numbers = self._select(counted.trie, counted.n_texts)
        return [] if rows is None else counted.columns_of(numbers, checks.threads(self.n_jobs))

    def _select(self, trie: NgramTrie, n_texts: int) -> np.ndarray:
        """Select features among the n-grams of all texts; return their numbers in the trie."""
        (shortest, _), selection = self._check_analysis(), self._selection()
        candidates = trie.frequent_ngrams(shortest, partial(selection.document_range, n_texts), n_texts)
        if self.fields is not None:
            candidates = candidates.within_fields()
        vocabulary, chosen = selection.select(candidates)
        self._set_vocabulary(vocabulary, n_texts)
        return candidates.numbers[chosen]

    def _count(
        self,
        X: Iterable[Any],
        rows: NgramRows | None = None,
        fewest: Callable[[int], float] = lambda n: 0,
    ) -> CountedNgrams:
        """Count the n-grams of the texts, and store those of each row.

        N-grams of several words may be left out if they are in fewer texts than ``fewest`` of their number.
        """
        shortest, longest = self._check_analysis()
        threads = checks.threads(self.n_jobs)
        counters = PerThread(partial(counting.NgramCounter, shortest, longest, binary=bool(self.binary)))

        def count(texts: PreparedTexts, piece: tuple[int, int], first_text: int) -> None:
            with counters.one() as (number, counter):
                codes, start = counter.add(texts.tokens(*piece, counter.room), first_text)
                if rows is not None:
                    rows.add(first_text, codes, start, number)

        n = self._each_piece(count, self._chunks(X, threads), threads)
        begin_stage("Selecting n-grams")
        return CountedNgrams.of(counters.made or [counters.make()], n, threads, fewest(n))

    def _find(self, chunks: Iterable[list[Any]], vocabulary: Vocabulary, dtype: np.dtype) -> Any:
        """Look up the n-grams of the texts in the vocabulary; return the matrix of counts."""
        (shortest, _), threads = self._check_analysis(), checks.threads(self.n_jobs)
        rooms, rows = PerThread(TokenBuffers), NgramRows()
        len(vocabulary._tables.word_keys)  # built once, before several threads need them

        def find(texts: PreparedTexts, piece: tuple[int, int], first_text: int) -> None:
            with rooms.one() as (_, room):
                tokens = texts.tokens(*piece, room)
                codes = np.empty(int(tokens.counts.sum()) * vocabulary._longest + 1, np.int32)
                start = np.zeros(len(tokens.counts) + 1, np.int64)
                vocabulary._find(tokens, shortest, codes, start)
                rows.add(first_text, codes[: start[-1]], start, 0)

        self._each_piece(find, chunks, threads)
        return self._to_matrix(rows, [vocabulary._tables.columns], dtype)

    def _each_piece(
        self,
        work: Callable[[PreparedTexts, tuple[int, int], int], None],
        chunks: Iterable[list[Any]],
        threads: int,
    ) -> int:
        """Call ``work`` for all texts, piece by piece; return the number of texts."""
        tokenizer, n = self._tokenizer(), 0
        for chunk in chunks:
            texts = tokenizer.prepare(chunk)

            def on_piece(piece: tuple[int, int], texts: PreparedTexts = texts, before: int = n) -> None:
                work(texts, piece, before + piece[0])

            each(on_piece, even_pieces(texts.cost, BYTES_PER_PIECE), threads)
            n += len(chunk)
        return n

    def _count_given(self, X: Iterable[Any], *, keep: bool) -> Any:
        """Count the texts that contain each given n-gram; if ``keep``, return the matrix of counts."""
        vocabulary = self._given_for_fit()
        self.ngrams_, matrix = vocabulary, None
        texts, n = np.zeros(len(vocabulary), np.int64), 0
        chunks = self._chunks(X, checks.threads(self.n_jobs))
        for batch in [chunks] if keep else ([chunk] for chunk in chunks):
            matrix = self._find(batch, vocabulary, self._value_type())
            texts += np.bincount(matrix.indices, minlength=len(vocabulary))
            n += matrix.shape[0]
        self._set_vocabulary(vocabulary._with_counts(texts), n)
        return matrix

    def _to_matrix(self, rows: NgramRows, columns: counting.Columns, dtype: np.dtype) -> Any:
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
                stacklevel=stacklevel(),
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
        idf = counting.inverse_document_frequencies(counts, n_texts, smooth=smooth) if self.use_idf else None
        self._set_weights(idf)

    def _set_weights(self, idf: np.ndarray | None) -> None:
        """Store the weights that follow from the features, their idf and the settings."""
        dtype, factors = self._value_type(), np.empty(0)
        if idf is None or not self.use_idf:
            idf = np.empty(0)
        with np.errstate(over="ignore"):
            if self.use_idf or self.ngram_weight != 1.0:
                powers = self.ngram_weight ** np.arange(float(self.ngrams_._longest))
                factors = powers[self.ngrams_._word_counts - 1]
            if self.use_idf:
                factors *= idf**self.idf_power
        if not factors.max(initial=0.0) <= LARGEST:
            raise InputError(
                f"idf_power={self.idf_power:g} and ngram_weight={self.ngram_weight:g} give n-grams weights "
                f"beyond {LARGEST:g}; use smaller values."
            )
        settings = bool(self.use_idf), bool(self.smooth_idf), bool(self.sublinear_tf), self.norm
        self._tfidf = counting.Weighting(*settings, idf.astype(dtype), factors.astype(dtype))

    def _value_type(self) -> np.dtype:
        """Return the type of the matrix: integers cannot hold weighted values."""
        dtype = np.dtype(self.dtype)
        counts = not self.use_idf and not self.sublinear_tf and self.norm is None and self.ngram_weight == 1.0
        return dtype if dtype.kind == "f" or counts else np.dtype(np.float64)

    def _check_weights(self) -> None:
        for name in ("binary", "use_idf", "smooth_idf", "sublinear_tf"):
            checks.yes_or_no(getattr(self, name), name)
        if self.norm is not None:
            lookup(counting.NORMS, self.norm, "norm")
        checks.not_negative(self.idf_power, "idf_power")
        checks.positive(self.ngram_weight, "ngram_weight")
        if np.dtype(self.dtype).char not in "bBhHiIlLqQfd":
            raise InputTypeError(f"dtype must be an integer type, float32 or float64, got {self.dtype!r}.")

    def _held_out_scale(self, X: Any) -> np.ndarray | None:
        """Return by how much each row of the fit would be longer if its text were new.

        N-grams that no other text has would then not be in the vocabulary, and the others would have the
        length 1 between them; a row without others is 0. None if rows are not normalised.

        Parameters
        ----------
        X : CSR matrix of shape (n, n_features)
            Rows of texts that were in the fit.

        Returns
        -------
        ndarray of shape (n,), or None
        """
        if self.norm is None:
            return None
        known = self._known_if_new()
        powers = np.abs(X.data) ** counting.NORMS[self.norm]
        powers = type(X)((powers, X.indices, X.indptr), shape=X.shape)
        sizes, new = powers @ known.astype(X.dtype), np.ones(1, X.dtype)
        if self.fields is not None:  # fields without known n-grams would be empty
            own = known[:, None] & (self._field_of_columns[:, None] == np.arange(len(self.fields)))
            new = (powers @ own.astype(X.dtype) > 0.0).mean(axis=1).astype(X.dtype)
        sizes, new = (one ** (1.0 / counting.NORMS[self.norm]) for one in (sizes, new))
        return np.divide(new, sizes, out=np.zeros_like(sizes), where=sizes > 0.0)

    def _known_if_new(self) -> np.ndarray:
        """Return which n-grams of a text of the fit would be in the vocabulary if the text were new."""
        selection, counts = self._selection(), self.ngrams_.document_counts - 1
        words, longer = (selection.document_range(self.n_texts_ - 1, n)[0] for n in (1, 2))
        known: np.ndarray = counts >= np.where(self.ngrams_._lengths == 1, max(words, 1), max(longer, 1))
        return known

    def _typicality(self, X: Iterable[str], *, in_fit: bool = False) -> np.ndarray | None:
        """Return the two statistics of texts that ``guarantees.Typical`` describes; None unless of words.

        Those of texts that were ``in_fit`` are what they would be if the text were new. Words and n-grams
        that are not known count as often as they occur, others once.
        """
        shortest, longest = self._check_analysis()
        if shortest != 1 or self.analyzer != "word":
            return None
        ngrams, plain = self.ngrams_, copy(self)
        plain.binary, plain.verbose = False, 0
        texts, tokenizer = check_texts(X), self._tokenizer()
        counts = plain._find(iter([texts]), ngrams, self._tfidf.factors.dtype)
        n_tokens = tokenizer.split(texts).counts
        n = self.n_texts_ - in_fit
        known = self._known_if_new() if in_fit else np.ones(len(ngrams), np.bool_)
        # One column per sum over the known n-grams of a text.
        ones = type(counts)((np.ones_like(counts.data), counts.indices, counts.indptr), shape=counts.shape)
        words = counts @ (known & (ngrams._lengths == 1)).astype(np.float64)
        # With weights 1, 2 and 4 of a pair, this statistic notices 0.53, 0.93 and 1.00 of the batches of news
        # with film reviews (100 training texts).
        f = ngrams._lengths**2.0 * (ngrams.document_counts - in_fit) / max(n, 1)
        shares = ones @ np.where(known, f, 0.0)
        repeated = (counts - ones) @ known.astype(np.float64)
        total = sum(np.maximum(n_tokens - length + 1, 0) for length in range(1, longest + 1))
        return np.column_stack(
            [words / np.maximum(n_tokens, 1), shares / np.sqrt(np.maximum(total - repeated, 1.0))]
        )

    def _describe(self, text: str) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
        """Return the columns of a text, their values and n-grams, and the words that are in no feature."""
        row = self.transform([text])
        known = self.ngrams_._word_set
        unknown = [token for token in dict.fromkeys(self.tokenize(text)) if token not in known]
        return row.indices, row.data, self.ngrams_.names(row.indices), unknown

    def _as_texts(self, words: Sequence[str]) -> list[str]:
        """Return texts of single words; marked words of fields become rows."""
        if self.fields is None:
            return list(words)
        fields = self.fields
        return [json.dumps({fields[MARKS.index(ord(word[0]))]: word[1:]}) for word in words]

    def _readable(self, names: Iterable[str]) -> list[str]:
        """Return the names of n-grams, with those of fields in place of marks."""
        return [readable(name, self.fields) for name in names]

    def _texts_by_mark(self, text: str) -> list[tuple[str, str]]:
        """Return the texts of a row with the marks of their fields; without fields, the text itself."""
        if self.fields is None:
            return [("", text)]
        return [(mark_of(k), one) for k, one in enumerate(texts_of([text], self.fields))]
