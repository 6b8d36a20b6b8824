"""Numbering and counting all n-grams of the texts, before the features are selected among them."""

import numpy as np

from dropglm.errors import InputError
from dropglm.text import kernels
from dropglm.text.tokens import TokenRoom, Tokens

MIN_SLOTS = 1 << 10
MAX_NGRAM = 50


class Table:
    """A hash table that numbers keys 0, 1, … in the order of first appearance and counts them."""

    def __init__(self) -> None:
        self.size = np.zeros(1, np.int64)
        self.slots = np.full(MIN_SLOTS, kernels.FREE, np.int32)
        self.nodes = np.empty((0, 4), np.int64)

    def __len__(self) -> int:
        return int(self.size[0])

    def reserve(self, more: int) -> None:
        """Make room for that many new keys, so that the kernels never have to grow an array."""
        need = len(self) + more
        self.nodes = _with_room(self.nodes, need, len(self))
        if 2 * need > len(self.slots):
            self.slots = empty_slots(need)
            kernels.refill(self.slots, self.nodes, len(self))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The arrays that the kernels change."""
        return self.slots, self.nodes, self.size


class NgramCounter:
    """Counts, for n = 1 to ``longest``, the occurrences of each n-gram and the texts that contain it.

    Each thread has a counter of its own; ``merging`` merges them.
    """

    def __init__(self, shortest: int, longest: int, *, binary: bool) -> None:
        self.shortest, self.longest, self.binary = shortest, longest, binary
        self.words, self.pairs = Table(), Table()
        self.letters = np.empty(0, np.uint8)
        self.ends = np.zeros(1, np.int64)
        self.room, self.codes = TokenRoom(), np.empty(1, np.int32)

    def add(self, tokens: Tokens, first_text: int) -> tuple[np.ndarray, np.ndarray]:
        """Count the n-grams of texts first_text, first_text + 1, …

        Returns
        -------
        ndarray
            The codes of the n-grams of each text; see ``kernels``. The next call overwrites them.
        ndarray of shape (n_texts + 1,)
            Where the codes of each text begin, and those of the last one end.
        """
        occurrences, longer = int(tokens.counts.sum()), self.longest - 1
        self.words.reserve(occurrences)
        self.pairs.reserve(occurrences * longer)
        known = len(self.words)
        letters = int(self.ends[known]) + len(tokens.letters)
        self.letters = _with_room(self.letters, letters, int(self.ends[known]))
        self.ends = _with_room(self.ends, known + occurrences + 1, known + 1)
        # One more than needed: the kernel writes repeated codes as well, and then overwrites them.
        self.codes = _with_room(self.codes, occurrences * self.longest + 1, 0)
        start = np.zeros(len(tokens.counts) + 1, np.int64)
        kernels.count_texts(
            tokens,
            kernels.scratch_for(tokens.counts),
            first_text,
            self.shortest,
            self.longest,
            self.binary,
            self.words.arrays,
            self.pairs.arrays,
            self.letters,
            self.ends,
            self.codes,
            start,
        )
        refuse_too_many(len(self.pairs), first_text + len(tokens.counts))
        return self.codes[: start[-1]], start

    def release(self) -> None:
        """Give back the memory, on the thread that calls this."""
        self.words, self.pairs, self.room = Table(), Table(), TokenRoom()


def refuse_too_many(pairs: int, n_texts: int) -> None:
    """Raise if the numbers of pairs, as heads of others, no longer fit into 31 bits."""
    if pairs >= kernels.PAIR:
        raise InputError(
            f"The first {n_texts} texts contain more distinct n-grams than can be numbered; use a smaller "
            "ngram_range."
        )


def empty_slots(keys: int) -> np.ndarray:
    """Return the slots of a table for that many keys: a power of two, at least twice as many as keys."""
    return np.full(max(MIN_SLOTS, 1 << (2 * keys - 1).bit_length()), kernels.FREE, np.int32)


def _with_room(array: np.ndarray, need: int, used: int) -> np.ndarray:
    """Return the array, or a copy of its first rows with room for ``need`` rows, at least twice as long."""
    if need <= len(array):
        return array
    longer = np.empty((max(need, len(array) * 2), *array.shape[1:]), array.dtype)
    longer[:used] = array[:used]
    return longer
