"""N-grams numbered and counted as texts come by, before anybody knows which of them will be features."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dropglm.text import kernels
from dropglm.text.tokens import Tokens
from dropglm.threads import each

FEWEST_SLOTS = 1 << 10
LONGEST_NGRAM = 50
# Every thread walks over all tokens, and has room for all of them: more take memory, and save no time.
MOST_SHARDS = 8


class Shard:
    """A part of a table: numbers 0, 1, … for keys in the order of their first appearance, with counts."""

    def __init__(self) -> None:
        self.size = np.zeros(1, np.int64)
        self.slots = np.full(FEWEST_SLOTS, kernels.FREE, np.int32)
        self.nodes = np.empty((0, 4), np.int64)

    def __len__(self) -> int:
        return int(self.size[0])

    def reserve(self, more: int) -> None:
        """Make room for that many new keys, so that no kernel has to grow anything."""
        need = len(self) + more
        self.nodes = _with_room(self.nodes, need)
        if 2 * need > len(self.slots):
            self.slots = empty_slots(need)
            kernels.refill(self.slots, self.nodes[:, kernels.KEY], len(self))


class TokenShard(Shard):
    """Tokens, with their letters."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = np.empty(0, np.uint8)
        self.ends = np.zeros(1, np.int64)

    def reserve(self, more: int, letters: int = 0) -> None:
        """Make room for that many new tokens, which have that many letters."""
        super().reserve(more)
        self.letters = _with_room(self.letters, int(self.ends[len(self)]) + letters)
        self.ends = _with_room(self.ends, len(self) + more + 1)

    def strings(self) -> list[str]:
        """The tokens."""
        return strings(self.letters, self.ends[: len(self) + 1])


class Counting:
    """How many texts have each n-gram, and how often it occurs, for n = 1 to ``longest``.

    The numbers of n-grams are those of the shards, taken in turns: number k of shard s is k·shards + s.
    """

    def __init__(self, longest: int, threads: int) -> None:
        self.shards = min(threads, MOST_SHARDS)
        self.tokens = [TokenShard() for _ in range(self.shards)]
        self.pairs = [[Shard() for _ in range(self.shards)] for _ in range(longest - 1)]
        self.n_texts = 0

    def add(self, tokens: Tokens) -> tuple[np.ndarray, np.ndarray]:
        """The number of the n-gram that begins at each token, and whether it is new to its text.

        Both have shape (longest, tokens), the first axis for n.
        """
        shape = len(self.pairs) + 1, len(tokens.keys)
        numbers, new = np.empty(shape, np.int32), np.empty(shape, np.bool_)
        occurrences = int(tokens.counts.sum())

        def add_tokens(s: int) -> None:
            shard = self.tokens[s]
            shard.reserve(occurrences, letters=len(tokens.letters))
            table = shard.slots, shard.nodes, shard.size, shard.letters, shard.ends
            kernels.add_tokens(tokens, self.n_texts, s, self.shards, *table, numbers[0], new[0])

        def add_pairs(numbered: tuple[int, int]) -> None:
            n, s = numbered
            shard = self.pairs[n - 2][s]
            shard.reserve(occurrences)
            table = shard.slots, shard.nodes, shard.size
            heads, out = numbers[n - 2], (numbers[n - 1], new[n - 1])
            kernels.add_pairs(tokens, self.n_texts, s, self.shards, *table, heads, numbers[0], n, *out)

        each(add_tokens, range(self.shards), self.shards)
        for n in range(2, len(self.pairs) + 2):
            each(add_pairs, [(n, s) for s in range(self.shards)], self.shards)
        self.n_texts += len(tokens.first)
        self._refuse_too_many()
        return numbers, new

    @property
    def numbers(self) -> int:
        """All numbers are below this one, whatever the n."""
        return self.shards * max(
            len(shard) for n in range(1, len(self.pairs) + 2) for shard in self._level(n)
        )

    def _refuse_too_many(self) -> None:
        """Codes, of which there are as many as numbers for each n, have 31 bits."""
        if (self.numbers + self.shards) * (len(self.pairs) + 1) > np.iinfo(np.int32).max:
            raise ValueError(
                f"The first {self.n_texts} texts have more different n-grams than can be numbered; "
                "take a smaller ngram_range."
            )

    def tally(self, n: int, column: int) -> np.ndarray:
        """A column of the nodes of all n-grams, in the order of their numbers; 0 for numbers not in use."""
        return self._in_turns([shard.nodes[: len(shard), column] for shard in self._level(n)], fill=0)

    def spelling(self, n: int, numbers: np.ndarray) -> np.ndarray:
        """The numbers of the n tokens of each of these n-grams; (count, n)."""
        columns = []
        for level in range(n, 1, -1):
            keys = self._in_turns(
                [shard.nodes[: len(shard), kernels.KEY] for shard in self.pairs[level - 2]], fill=0
            )
            columns.append(keys[numbers] & 0xFFFFFFFF)
            numbers = keys[numbers] >> 32
        return np.stack([numbers, *columns[::-1]], axis=1)

    def words(self) -> list[str]:
        """The tokens in the order of their numbers; "" for numbers not in use."""
        words = [""] * (self.shards * max(map(len, self.tokens)))
        for s, shard in enumerate(self.tokens):
            words[s : s + len(shard) * self.shards : self.shards] = shard.strings()
        return words

    def _level(self, n: int) -> Sequence[Shard]:
        return self.tokens if n == 1 else self.pairs[n - 2]

    def _in_turns(self, parts: list[np.ndarray], fill: int) -> np.ndarray:
        whole = np.full((max(map(len, parts)), self.shards), fill, parts[0].dtype)
        for s, part in enumerate(parts):
            whole[: len(part), s] = part
        return whole.ravel()


def empty_slots(keys: int) -> np.ndarray:
    """Slots of a table for that many keys, at most half of them to be taken; a power of two."""
    return np.full(max(FEWEST_SLOTS, 1 << (2 * keys - 1).bit_length()), kernels.FREE, np.int32)


def strings(letters: np.ndarray, ends: np.ndarray) -> list[str]:
    """The strings that stand one after the other."""
    whole, cuts = letters.tobytes(), ends.tolist()
    return [whole[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(cuts)]


def _with_room(array: np.ndarray, need: int) -> np.ndarray:
    """The array, or a longer one that begins like it; half as long again at least, so that this is rare."""
    if need <= len(array):
        return array
    longer = np.empty((max(need, len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
