"""The arrays of a vocabulary in a model file are checked."""

import numpy as np
import pytest
from scipy import sparse

from dropglm.text.file_contents import VOCABULARY
from dropglm.text.ngrams.analysis import Tokenizer
from dropglm.text.ngrams.features import Vocabulary, column_totals
from dropglm.text.ngrams.tokens import WORDS_AND_PUNCTUATION

VALID = {
    "letters": np.frombuffer(b"abc", np.uint8),
    "ends": np.array([0, 1, 3]),
    "spelling": np.array([[0, -1], [0, 1], [1, -1]], np.int32),
    "texts": np.array([3, 1, 2], np.int32),
    "values": np.zeros(0, np.float32),
}


def restored(arrays):
    VOCABULARY.check(arrays, "vocabulary", trust=False)
    return Vocabulary._from_state(arrays)


def test_consistent_arrays_make_a_vocabulary():
    assert restored(VALID).names() == ["a", "a bc", "bc"]


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("letters", np.frombuffer(b"abc", np.int8)),
        ("letters", np.frombuffer(b"abc", np.uint8).reshape(1, 3)),
        ("letters", np.frombuffer(b"abcd", np.uint8)),
        ("ends", np.array([0, 1, 3], np.int32)),
        ("ends", np.array([1, 1, 3])),
        ("ends", np.array([0, 4, 3])),
        ("ends", np.array([0, 2**63 - 1, -2, 3])),  # differences overflow
        ("texts", np.zeros(2, np.int32)),
        ("texts", np.zeros(3)),
        ("texts", -np.ones(3, np.int32)),
        ("values", np.zeros(2, np.float32)),
        ("spelling", np.zeros((0, 2), np.int32)),
        ("spelling", np.array([[0, -1], [-1, -1]], np.int32)),
        ("spelling", np.array([[0, -1, 1]], np.int32)),
        ("spelling", np.array([[0, 2]], np.int32)),
        ("spelling", np.array([[0, -2]], np.int32)),
        ("spelling", np.zeros((1, 51), np.int32)),
        ("spelling", np.zeros((1, 2), np.int64)),
    ],
)
def test_inconsistent_arrays_of_a_vocabulary_are_refused(name, array):
    arrays = VALID | {name: array}
    if name == "spelling":  # so that only the spelling is wrong
        arrays["texts"] = np.ones(len(array), np.int32)
    with pytest.raises(ValueError, match=f"are inconsistent|vocabulary.{name} must be an array"):
        restored(arrays)


def test_a_word_that_occurs_twice_is_refused():
    """Many of them would make the hash table slow."""
    with pytest.raises(ValueError, match="a word is twice in the vocabulary"):
        restored(VALID | {"letters": np.frombuffer(b"aa", np.uint8), "ends": np.array([0, 1, 2])})


def test_mean_values_come_from_totals_of_parts_too(rng):
    X = sparse.random_array((40, 3), density=0.5, rng=rng, format="csr")
    texts = X.astype(bool).sum(axis=0).astype(np.int32)
    whole, merged = (Vocabulary._from_state(VALID | {"texts": texts}) for _ in range(2))
    whole._record_totals(*column_totals(X))
    totals, different = zip(*(column_totals(part) for part in (X[:9], X[9:9], X[9:])), strict=True)
    merged._record_totals(sum(totals), any(different))
    np.testing.assert_allclose(merged.mean_values, whole.mean_values, rtol=1e-6)
    np.testing.assert_allclose(whole.mean_values, X.sum(axis=0) / texts, rtol=1e-6)


def colliding_words(n, slots):
    """Return words of seven letters that all belong into the first of so many slots; see ``mix``."""
    rng, found = np.random.default_rng(0), []
    while len(found) < n:
        letters = rng.integers(97, 123, (1 << 20, 7), np.uint64)
        key = np.full(len(letters), 7, np.uint64)
        for k in range(7):
            key = key << np.uint64(8) | letters[:, k]
        golden, half = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
        h = key * golden
        h = (h ^ (h >> half)) * golden
        h ^= h >> half
        found += letters[h & np.uint64(slots - 1) == 0].astype(np.uint8).tolist()
    return sorted({bytes(word).decode() for word in found[:n]})


def test_words_that_were_chosen_to_have_the_same_hash_are_refused():
    """They would take a quadratic time; so would pairs of words."""
    words = colliding_words(1500, 4096)
    vocabulary = Vocabulary._from_names(words, 1)
    assert len(vocabulary._words) > 1400
    with pytest.raises(ValueError, match="too many words have the same hash"):
        len(vocabulary._tables.word_keys)
    with pytest.raises(ValueError, match="too many words have the same hash"):
        Tokenizer(WORDS_AND_PUNCTUATION, stop_words=frozenset(words))
    usual = Vocabulary._from_names([word[::-1] for word in words], 1)
    assert len(usual._tables.word_keys) == len(words)


def test_pairs_that_were_chosen_to_have_the_same_hash_are_refused():
    head, tail = np.divmod(np.arange(3000**2, dtype=np.uint64), np.uint64(3000))
    golden, half = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
    h = (head << half | tail) * golden
    h = (h ^ (h >> half)) * golden
    h ^= h >> half
    same = np.flatnonzero(h & np.uint64(4095) == 0)[:1500]
    assert len(same) == 1500
    words = np.array([f"w{k:04d}" for k in range(3000)])
    pairs = [f"{words[int(head[k])]} {words[int(tail[k])]}" for k in same]
    vocabulary = Vocabulary._from_names([*words, *pairs], 2)
    with pytest.raises(ValueError, match="too many n-grams have the same hash"):
        len(vocabulary._tables.word_keys)
