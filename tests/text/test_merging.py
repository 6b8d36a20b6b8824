"""Several counters, merged, have counted what a single one counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm import NgramVectorizer
from dropglm.text.ngrams.analysis import Tokenizer
from dropglm.text.ngrams.counting import NgramCounter
from dropglm.text.ngrams.merged_counts import CountedNgrams
from dropglm.text.ngrams.tokens import WORDS_AND_PUNCTUATION, Preprocessor, decode_strings

WORDS = st.sampled_from(["a", "b", "ab", "understand", "understood", "understanding", "été", "!"])
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), min_size=1, max_size=12)


def counted(texts, counters, longest):
    """Count each text by one of the counters; return what they have counted, by the n-gram's words."""
    tokenizer = Tokenizer(WORDS_AND_PUNCTUATION, Preprocessor())
    made = [NgramCounter(1, longest, binary=False) for _ in range(counters)]
    codes = []
    for k, text in enumerate(texts):
        counter = k * 7 % counters
        codes.append((counter, made[counter].add(tokenizer.split([text]), k)[0].copy()))
    whole = CountedNgrams.of(made, len(texts), threads=2)
    counts = whole.trie.frequent_ngrams(1, lambda n: (1, np.inf), len(texts))
    words = decode_strings(counts.letters, counts.ends)
    names = [" ".join(words[k] for k in row if k >= 0) for row in counts.spelling.tolist()]
    by_name = dict(zip(names, zip(counts.texts.tolist(), counts.times.tolist(), strict=True), strict=True))
    columns = whole.columns_of(counts.numbers, threads=2)
    rows = [[names[columns[c][0][k] if k >= 0 else columns[c][1][-1 - k]] for k in row] for c, row in codes]
    return by_name, rows


@given(texts=TEXTS, counters=st.integers(2, 5), longest=st.integers(1, 4), piece=st.integers(1, 9))
def test_counts_and_rows_are_those_of_one_counter(texts, counters, longest, piece):
    """Also if several tasks merge the n-grams of one length."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dropglm.text.ngrams.merged_counts.NGRAMS_PER_PIECE", piece)
        found = counted(texts, counters, longest)
    assert found == counted(texts, 1, longest)


@pytest.mark.parametrize("threads", [2, 5, 70])
def test_a_fit_does_not_depend_on_the_number_of_threads(threads, monkeypatch):
    """Even if every text is a task of its own, and there are more threads than shards."""
    monkeypatch.setattr("dropglm.text.ngrams.features.BYTES_PER_PIECE", 1)
    texts = [f"{'a b ' * (k % 5)}word{k % 11} word{k % 7} {'é' * (k % 3)}" for k in range(300)]
    settings = {"ngram_range": (1, 3), "min_df": 2, "binary": False}
    one, several = NgramVectorizer(**settings), NgramVectorizer(**settings, n_jobs=threads)
    expected, found = one.fit_transform(texts), several.fit_transform(texts)
    assert several.vocabulary_ == one.vocabulary_
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert (several.transform(texts) != expected).nnz == 0
