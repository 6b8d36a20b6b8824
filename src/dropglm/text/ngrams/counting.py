"""From n-grams to numbers, counts and the rows of a sparse matrix.

All n-grams of the texts are numbered and counted before the features are selected among them.

An n-gram is stored as a pair: its first n - 1 tokens, which are a numbered n-gram themselves, and its last
token, packed into 64 bits. Tokens and pairs are numbered by two hash tables with linear probing; the second
has the n-grams of all n > 1. The tables hold numbers only; keys and counts are kept in arrays ("nodes") in
the order in which they were first seen, so that frequent n-grams, which are seen early, are close to each
other in memory.

The code of an n-gram is its number if it is a token, and -1 - number if it is a pair. Codes are collected
chunk by chunk, until the columns of the matrix are known. The value of n-gram j, of n tokens and with count c
in the text, is then

    x_j = tf(c) · idf_j^p · b^(n - 1),    idf_j = ln(N / N_j) + 1,

where N_j of the N texts in the fit contain it, and tf(c) is c, or 1 + ln c if it is sublinear. Smoothing adds
one to N and to N_j. The row is then divided by its l1 or l2 norm.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.base.errors import InputError
from dropglm.base.threads import each, even_pieces
from dropglm.core.maths.compile import kernel, kernel_helper
from dropglm.text.ngrams.tokens import TokenBuffers, Tokens, token_key

FREE = -1
NONE = -1  # pads the spelling of shorter n-grams
# Columns of the nodes: the key, the last text that contains it, the number of texts that contain it, and the
# number of occurrences. Two nodes fill one cache line.
KEY, SEEN, TEXTS, TIMES = 0, 1, 2, 3
# Slots that may be tried in vain for each slot of a table; with random keys it is less than one. Words of a
# model file may be chosen so that all of them have the same hash, which would take a quadratic time.
MOST_PROBES = 64
BLOCK = 64  # n-grams whose slots are fetched before the first one is used, so that memory latencies overlap
PAIR = 1 << 30  # is added to the number of a pair that is the head of another one

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@kernel_helper
def mix(key):
    """Return a hash of 64 bits, each of which depends on all bits of the key."""
    h = np.uint64(key) * _GOLDEN
    h = (h ^ (h >> _HALF)) * _GOLDEN
    return h ^ (h >> _HALF)


@kernel_helper
def first_slot(key, slots):
    """Return the first slot to probe, from the lower half of the hash; there are 2^k slots."""
    return np.int64(mix(key) & np.uint64(len(slots) - 1))


@kernel_helper
def equal_strings(letters, start, stop, others, begin, end):
    """Return whether two strings are equal."""
    if stop - start != end - begin:
        return False
    k = 0
    while k < stop - start and letters[start + k] == others[begin + k]:
        k += 1
    return k == stop - start


@kernel_helper
def token_slot(letters, start, stop, key, slots, keys, known, ends):
    """Return the slot of this token, or the free slot where it belongs.

    Loops call ``pair_slot`` for the keys that are the tokens themselves: this function counts references to
    its arrays, which takes longer than to find the slot.
    """
    slot = first_slot(key, slots)
    while slots[slot] != FREE:
        found = slots[slot]
        if keys[found, KEY] == key and (
            key >= 0 or equal_strings(letters, start, stop, known, ends[found], ends[found + 1])
        ):
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel_helper
def pair_slot(key, slots, keys):
    """Return the slot of this pair, or of a token whose key is not negative, or the free slot for it."""
    slot = first_slot(key, slots)
    while slots[slot] != FREE and keys[slots[slot], KEY] != key:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel_helper
def count_node(node, text, nodes):
    """Count an occurrence; return whether it is the first one in this text."""
    nodes[node, TIMES] += 1
    if nodes[node, SEEN] == text:
        return False
    nodes[node, SEEN] = text
    nodes[node, TEXTS] += 1
    return True


@kernel_helper
def add_node(key, nodes, size, slots, slot):
    """Add a node and return its number."""
    node = size[0]
    nodes[node, KEY], nodes[node, SEEN], nodes[node, TEXTS], nodes[node, TIMES] = key, -1, 0, 0
    slots[slot] = node
    size[0] += 1
    return node


@kernel
def refill(slots, nodes, size):
    """Insert the first ``size`` nodes into empty slots."""
    for node in range(size):
        slot = first_slot(nodes[node, KEY], slots)
        while slots[slot] != FREE:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = node


def scratch_for(counts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return memory for loops over texts with so many tokens: two long vectors and two short ones."""
    # Allocated here, since "np.empty" in a kernel takes 0.1 s to compile.
    long, short = np.empty((2, counts.max(initial=1)), np.int64), np.empty((2, BLOCK), np.int64)
    return long[0], long[1], short[0], short[1]


@kernel
def count_texts(
    tokens, scratch, first_text, shortest, longest, binary, words, pairs, known, ends, codes, start
):
    """Number and count the n-grams of texts first_text, first_text + 1, …, and write the codes of each text.

    If ``binary``, an n-gram is written once per text. ``words`` and ``pairs`` are slots, nodes and size; the
    scratch is that of ``scratch_for``.
    """
    slots, nodes, size = words
    pair_slots, pair_nodes, pairs_size = pairs
    letters, firsts, counts, token_starts, token_stops, token_keys = tokens
    heads, tails, keys, fetched = scratch
    place = start[0]
    for i in range(len(counts)):
        first, count, text = firsts[i], counts[i], first_text + i
        for begin in range(0, count, BLOCK):
            end = min(begin + BLOCK, count)
            for p in range(begin, end):
                fetched[p - begin] = slots[first_slot(token_keys[first + p], slots)]
            for p in range(begin, end):
                node = fetched[p - begin]
                keys[p - begin] = nodes[node, KEY] if node != FREE else FREE
            for p in range(begin, end):
                q, node = first + p, fetched[p - begin]
                key = token_keys[q]
                if key < 0 or keys[p - begin] != key:
                    begins, stops = token_starts[q], token_stops[q]
                    if key >= 0:
                        slot = pair_slot(key, slots, nodes)
                    else:
                        slot = token_slot(letters, begins, stops, key, slots, nodes, known, ends)
                    if slots[slot] == FREE:
                        node = add_node(key, nodes, size, slots, slot)
                        for j in range(stops - begins):
                            known[ends[node] + j] = letters[begins + j]
                        ends[node + 1] = ends[node] + stops - begins
                    node = np.int64(slots[slot])
                heads[p] = tails[p] = node
                new = count_node(node, text, nodes)
                codes[place] = node
                place += shortest == 1 and (new or not binary)
        for n in range(2, min(longest, count) + 1):
            for begin in range(0, count - n + 1, BLOCK):
                end = min(begin + BLOCK, count - n + 1)
                for p in range(begin, end):
                    key = heads[p] << 32 | tails[p + n - 1]
                    keys[p - begin] = key
                    fetched[p - begin] = pair_slots[first_slot(key, pair_slots)]
                for p in range(begin, end):
                    node = fetched[p - begin]
                    if node != FREE and pair_nodes[node, KEY] != keys[p - begin]:
                        fetched[p - begin] = FREE
                for p in range(begin, end):
                    node = fetched[p - begin]
                    if node == FREE:
                        slot = pair_slot(keys[p - begin], pair_slots, pair_nodes)
                        node = np.int64(pair_slots[slot])
                        if node == FREE:
                            node = add_node(keys[p - begin], pair_nodes, pairs_size, pair_slots, slot)
                    heads[p] = PAIR + node
                    new = count_node(node, text, pair_nodes)
                    codes[place] = -1 - node
                    place += n >= shortest and (new or not binary)
        start[i + 1] = place


@kernel
def drop_tokens(tokens, slots, keys, known, ends):
    """Remove the known tokens from the texts, in place."""
    for i in range(len(tokens.counts)):
        begin = place = tokens.first[i]
        for p in range(begin, begin + tokens.counts[i]):
            start, stop, key = tokens.start[p], tokens.stop[p], tokens.keys[p]
            if slots[token_slot(tokens.letters, start, stop, key, slots, keys, known, ends)] == FREE:
                tokens.start[place], tokens.stop[place], tokens.keys[place] = start, stop, key
                place += 1
        tokens.counts[i] = place - begin


@kernel
def index_tokens(letters, ends, slots, keys):
    """Compute the keys of distinct tokens, which are concatenated, and insert them into empty slots."""
    left = MOST_PROBES * len(slots)
    for number in range(len(keys)):
        key = token_key(letters, ends[number], ends[number + 1])
        slot = first_slot(key, slots)
        while slots[slot] != FREE:
            slot = (slot + 1) & (len(slots) - 1)
            left -= 1
        if left < 0:
            raise InputError("too many words have the same hash")
        slots[slot], keys[number, KEY] = number, key


@kernel
def index_ngrams(spelling, slots, keys, token_columns, pair_columns):
    """Number the pairs of given n-grams, and write their columns; return how many pairs there are."""
    size, left = 0, MOST_PROBES * (len(slots) + spelling.size)
    for column in range(len(spelling)):
        head, n = np.int64(spelling[column, 0]), 1
        while n < spelling.shape[1] and spelling[column, n] >= 0:
            key = head << 32 | np.int64(spelling[column, n])
            slot = pair_slot(key, slots, keys)
            left -= (slot - first_slot(key, slots)) & (len(slots) - 1)
            if left < 0:
                raise InputError("too many n-grams have the same hash")
            if slots[slot] == FREE:
                slots[slot], keys[size, KEY], pair_columns[size] = size, key, -1
                size += 1
            head, n = PAIR + np.int64(slots[slot]), n + 1
        if n == 1:
            token_columns[head] = column
        else:
            pair_columns[head - PAIR] = column
    return size


@kernel
def find_texts(
    tokens, scratch, shortest, longest, slots, keys, known, ends, pair_slots, pair_keys, codes, start
):
    """Write the codes of those n-grams of each text that are known."""
    letters, firsts, counts, token_starts, token_stops, token_keys = tokens
    heads, tails, wanted, fetched = scratch
    place = start[0]
    for i in range(len(counts)):
        first, count = firsts[i], counts[i]
        for begin in range(0, count, BLOCK):
            end = min(begin + BLOCK, count)
            for p in range(begin, end):
                fetched[p - begin] = slots[first_slot(token_keys[first + p], slots)]
            for p in range(begin, end):
                q, node = first + p, fetched[p - begin]
                key = token_keys[q]
                if node != FREE and (key < 0 or keys[node, KEY] != key):
                    if key >= 0:
                        slot = pair_slot(key, slots, keys)
                    else:
                        begins, stops = token_starts[q], token_stops[q]
                        slot = token_slot(letters, begins, stops, key, slots, keys, known, ends)
                    node = np.int64(slots[slot])
                heads[p] = tails[p] = node
                codes[place] = node
                place += shortest == 1 and node != FREE
        for n in range(2, min(longest, count) + 1):
            for begin in range(0, count - n + 1, BLOCK):
                end = min(begin + BLOCK, count - n + 1)
                for p in range(begin, end):
                    # Negative if the head or the tail is unknown; no key of the table is.
                    key = heads[p] << 32 | tails[p + n - 1]
                    wanted[p - begin] = key
                    fetched[p - begin] = pair_slots[first_slot(key, pair_slots)] if key >= 0 else FREE
                for p in range(begin, end):
                    node = fetched[p - begin]
                    if node != FREE and pair_keys[node, KEY] != wanted[p - begin]:
                        node = np.int64(pair_slots[pair_slot(wanted[p - begin], pair_slots, pair_keys)])
                    heads[p] = PAIR + node if node != FREE else FREE
                    codes[place] = -1 - node
                    place += n >= shortest and node != FREE
        start[i + 1] = place


MIN_SLOTS = 1 << 10
MAX_NGRAM = 50


class CountingHashTable:
    """A hash table that numbers keys 0, 1, … in the order of first appearance and counts them."""

    def __init__(self) -> None:
        self.size = np.zeros(1, np.int64)
        self.slots = np.full(MIN_SLOTS, FREE, np.int32)
        self.nodes = np.empty((0, 4), np.int64)

    def __len__(self) -> int:
        return int(self.size[0])

    def reserve(self, more: int) -> None:
        """Make room for that many new keys, so that the kernels never have to grow an array."""
        need = len(self) + more
        self.nodes = _with_room(self.nodes, need, len(self))
        if 2 * need > len(self.slots):
            self.slots = empty_slots(need)
            refill(self.slots, self.nodes, len(self))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The arrays that the kernels change."""
        return self.slots, self.nodes, self.size


class NgramCounter:
    """Counts, for n = 1 to ``longest``, the occurrences of each n-gram and the texts that contain it.

    Each thread has a counter of its own; ``CountedNgrams`` merges them.
    """

    def __init__(self, shortest: int, longest: int, *, binary: bool) -> None:
        self.shortest, self.longest, self.binary = shortest, longest, binary
        self.words, self.pairs = CountingHashTable(), CountingHashTable()
        self.letters = np.empty(0, np.uint8)
        self.ends = np.zeros(1, np.int64)
        self.room, self.codes = TokenBuffers(), np.empty(1, np.int32)

    def add(self, tokens: Tokens, first_text: int) -> tuple[np.ndarray, np.ndarray]:
        """Count the n-grams of texts first_text, first_text + 1, …

        Returns
        -------
        ndarray
            The codes of the n-grams of each text; the next call overwrites them.
        ndarray of shape (n_texts + 1,)
            Where the codes of each text begin, and those of the last one end.
        """
        occurrences, longer = int(tokens.counts.sum()), self.longest - 1
        self.words.reserve(occurrences)
        self.pairs.reserve(occurrences * longer)
        known = len(self.words)
        # N-grams of characters overlap: together they have more bytes than the texts.
        last = int(tokens.first[-1] + tokens.counts[-1])
        used = slice(int(tokens.first[0]), last)
        letters = int(self.ends[known] + tokens.stop[used].sum() - tokens.start[used].sum())
        self.letters = _with_room(self.letters, letters, int(self.ends[known]))
        self.ends = _with_room(self.ends, known + occurrences + 1, known + 1)
        # One more than needed: the kernel writes repeated codes as well, and then overwrites them.
        self.codes = _with_room(self.codes, occurrences * self.longest + 1, 0)
        start = np.zeros(len(tokens.counts) + 1, np.int64)
        settings = self.shortest, self.longest, self.binary
        table = self.words.arrays, self.pairs.arrays, self.letters, self.ends
        count_texts(tokens, scratch_for(tokens.counts), first_text, *settings, *table, self.codes, start)
        refuse_too_many(len(self.pairs), first_text + len(tokens.counts))
        return self.codes[: start[-1]], start

    def release(self) -> None:
        """Give back the memory, on the thread that calls this."""
        self.words, self.pairs, self.room = CountingHashTable(), CountingHashTable(), TokenBuffers()


def refuse_too_many(pairs: int, n_texts: int) -> None:
    """Raise if the numbers of pairs, as heads of others, no longer fit into 31 bits."""
    if pairs >= PAIR:
        raise InputError(
            f"The first {n_texts} texts contain more distinct n-grams than can be numbered; use a smaller "
            "ngram_range."
        )


def empty_slots(keys: int) -> np.ndarray:
    """Return the slots of a table for that many keys: a power of two, at least twice as many as keys."""
    return np.full(max(MIN_SLOTS, 1 << (2 * keys - 1).bit_length()), FREE, np.int32)


def token_table(letters: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slots and the keys of a hash table of distinct tokens, which are concatenated."""
    keys, slots = np.empty((len(ends) - 1, 1), np.int64), empty_slots(len(ends) - 1)
    index_tokens(letters, ends, slots, keys)
    return slots, keys


def _with_room(array: np.ndarray, need: int, used: int) -> np.ndarray:
    """Return the array, or a copy of its first rows with room for ``need`` rows, at least twice as long."""
    if need <= len(array):
        return array
    longer = np.empty((max(need, len(array) * 2), *array.shape[1:]), array.dtype)
    longer[:used] = array[:used]
    return longer


class Piece(NamedTuple):
    """The codes of some texts, where those of each text begin, and the source of their numbers."""

    codes: np.ndarray
    start: np.ndarray
    source: int


# For each source of numbers, the columns of its words and those of its pairs, or -1
Columns = Sequence[tuple[np.ndarray, np.ndarray]]


class NgramRows:
    """The codes of the n-grams of each text, piece by piece; see ``counting``."""

    def __init__(self) -> None:
        self.pieces: dict[int, Piece] = {}  # by the number of the first text

    def add(self, first_text: int, codes: np.ndarray, start: np.ndarray, source: int) -> None:
        """Store the codes of texts first_text, first_text + 1, …, in the numbers of this source."""
        self.pieces[first_text] = Piece(codes.copy(), start, source)

    def to_matrix(self, columns: Columns, n_features: int, *, binary: bool, dtype: Any, threads: int) -> Any:
        """Build the CSR matrix, given the columns of words and pairs for each source.

        This overwrites and releases the stored codes.
        """
        pieces = [piece for _, piece in sorted(self.pieces.items())]
        self.pieces = {}
        digits = max(1, -(-(n_features - 1).bit_length() // DIGIT))

        def convert(piece: Piece) -> tuple[np.ndarray, np.ndarray]:
            length, times = np.empty(len(piece.start) - 1, np.int64), np.empty(len(piece.codes), np.int32)
            places = np.empty(RADIX, np.int64)
            codes_to_columns(*piece[:2], *columns[piece.source], digits, places, length, times)
            return length, times

        counted = each(convert, pieces, threads)
        indptr = np.cumsum(np.concatenate([[0], *(length for length, _ in counted)]))
        index_type = np.int32 if max(indptr[-1], n_features) <= np.iinfo(np.int32).max else np.int64
        indices, data = np.empty(indptr[-1], index_type), np.empty(indptr[-1], dtype)
        first_rows = np.cumsum([0, *(len(length) for length, _ in counted)])

        def copy(k: int) -> None:
            piece, (length, times) = pieces[k], counted[k]
            row_starts = indptr[first_rows[k] : first_rows[k + 1]]
            copy_rows(piece.codes, times, piece.start, length, row_starts, binary, indices, data)
            pieces[k] = counted[k] = None  # type: ignore[call-overload]  # release the memory

        each(copy, range(len(counted)), threads)
        return _csr_type()(
            (data, indices, indptr.astype(index_type)), shape=(int(first_rows[-1]), n_features)
        )


def _csr_type() -> Any:
    """Return the type of matrices that scikit-learn's settings ask for, without importing it."""
    sklearn = sys.modules.get("sklearn")
    interface = None if sklearn is None else sklearn.get_config().get("sparse_interface")
    return sparse.csr_array if interface == "sparray" else sparse.csr_matrix


def row_range(X: "sparse.csr_matrix", first: int, last: int) -> "sparse.csr_matrix":
    """Return rows first to last - 1, which share their memory with X."""
    start, stop = X.indptr[first], X.indptr[last]
    parts = X.data[start:stop], X.indices[start:stop], X.indptr[first : last + 1] - start
    return type(X)(parts, shape=(last - first, X.shape[1]))


DIGIT = 8  # bits
RADIX = 1 << DIGIT
FEW = 24  # entries up to which insertion is faster


@kernel_helper
def sort(values, scratch, first, last, places, digits):
    """Sort non-negative integers with this many digits in base 256; the scratch is overwritten.

    A row has a few hundred columns, in no order: a general sort mispredicts half of its branches, and takes
    a few seconds to compile.
    """
    if last - first <= FEW:
        for k in range(first + 1, last):
            value, place = values[k], k
            while place > first and values[place - 1] > value:
                values[place] = values[place - 1]
                place -= 1
            values[place] = value
        return
    source, target = values, scratch
    for shift in range(0, DIGIT * digits, DIGIT):
        for j in range(RADIX):
            places[j] = 0
        for k in range(first, last):
            places[(source[k] >> shift) & (RADIX - 1)] += 1
        total = first
        for j in range(RADIX):
            count = places[j]
            places[j] = total
            total += count
        for k in range(first, last):
            j = (source[k] >> shift) & (RADIX - 1)
            target[places[j]] = source[k]
            places[j] += 1
        source, target = target, source
    if digits % 2:
        for k in range(first, last):
            values[k] = scratch[k]


@kernel
def codes_to_columns(codes, start_of, word_columns, pair_columns, digits, places, length, times):
    """Replace the codes of each text by its distinct columns in ascending order, and count each of them.

    Columns have so many digits in base 256; ``places`` has 256 numbers, and is overwritten.
    """
    for i in range(len(length)):
        start = stop = start_of[i]
        for k in range(start_of[i], start_of[i + 1]):
            code = codes[k]
            column = word_columns[code] if code >= 0 else pair_columns[-1 - code]
            codes[stop] = column
            stop += column >= 0
        sort(codes, times, start, stop, places, digits)
        kept = start
        for k in range(start, stop):
            if kept > start and codes[kept - 1] == codes[k]:
                times[kept - 1] += 1
            else:
                codes[kept], times[kept] = codes[k], 1
                kept += 1
        length[i] = kept - start


@kernel
def copy_rows(columns, times, start_of, length, row_start, binary, indices, data):
    """Copy the first ``length[i]`` columns of each text i, and their counts, to where its row begins."""
    for i in range(len(length)):
        for k in range(length[i]):
            indices[row_start[i] + k] = columns[start_of[i] + k]
            data[row_start[i] + k] = 1 if binary else times[start_of[i] + k]


NORMS = {"l1": 1, "l2": 2}
ENTRIES_PER_PIECE = 1 << 16  # entries per task


def inverse_document_frequencies(document_counts: np.ndarray, n_texts: int, *, smooth: bool) -> np.ndarray:
    """Return ln(N / N_j) + 1 for each n-gram; if ``smooth``, as if one more text contained all of them.

    Examples
    --------
    >>> inverse_document_frequencies(np.array([1, 4]), 4, smooth=False).round(3)
    array([2.386, 1.   ])
    """
    return np.log((n_texts + smooth) / (document_counts + float(smooth))) + 1.0


class Weighting(NamedTuple):
    """The weights of a fitted vectorizer: its settings in the fit, and what follows from them.

    Attributes
    ----------
    use_idf, smooth_idf, sublinear_tf : bool
    norm : str or None
    idf_ : ndarray of shape (n_features,), or empty
        The inverse document frequencies, if they are used, in the type of the matrix.
    factors : ndarray of shape (n_features,), or empty
        idf_j^p · b^(n - 1) for each column, in the type of the matrix; empty if all of them are 1.
    """

    use_idf: bool
    smooth_idf: bool
    sublinear_tf: bool
    norm: str | None
    idf_: np.ndarray
    factors: np.ndarray

    def apply(self, X: Any, threads: int, counts: np.ndarray | None = None) -> None:
        """Write the weighted values of counts, by default those of X itself, into a CSR matrix."""
        norm = 0 if self.norm is None else NORMS[self.norm]
        if counts is None:
            if not (len(self.factors) or self.sublinear_tf or norm):
                return
            counts = X.data

        def weigh(piece: tuple[int, int]) -> None:
            weigh_rows(counts, X.data, X.indices, X.indptr, *piece, self.factors, self.sublinear_tf, norm)

        each(weigh, even_pieces(X.indptr, ENTRIES_PER_PIECE), threads)


@kernel
def weigh_rows(counts, data, indices, indptr, first, last, factors, sublinear, norm):
    """Multiply rows first to last - 1 by the weights, then divide each by its l1 or l2 norm; 0 means no norm.

    Rows of zeros stay as they are.
    """
    weighted = len(factors) > 0
    for i in range(first, last):
        size = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            value = float(counts[k])
            if sublinear and value != 1.0:
                value = 1.0 + math.log(value)
            if weighted:
                value *= factors[indices[k]]
            data[k] = value
            size += value * value if norm == 2 else abs(value)
        if norm == 2:
            size = math.sqrt(size)
        if norm != 0 and size > 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                data[k] /= size
