"""Strings that compiled code reads are those that Python encodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dropglm.text import string_memory, tokens
from dropglm.text.preprocessing import ACCENTS, Preprocessor
from dropglm.text.tokens import RUNS, WORDS_AND_PUNCTUATION, Tokenizer

# Letters of each width, with lower cases of other lengths, lone surrogates, tags, and irregular letters.
ALPHABET = "aAzZ09_' <>/!\0\x1f\né\xc9ßÿĀ京\u023a\U0001d400\U0001f600\u212a\ud800\u0130\u03a3ı"
TEXTS = st.lists(st.text(st.sampled_from(ALPHABET) | st.characters(), max_size=30), min_size=1, max_size=5)
PREPROCESSORS = [
    Preprocessor(),
    Preprocessor(lowercase=False),
    Preprocessor(strip_html=False),
    Preprocessor(strip_accents=ACCENTS["unicode"]),
    Preprocessor(strip_accents=ACCENTS["ascii"]),
    Preprocessor(strip_accents=str.swapcase),
    str.upper,
]


class Text(str):
    """A string of a user's class, which stores its characters elsewhere."""


def strings_of(found):
    """Return the tokens of each text as strings."""
    letters = found.letters.tobytes()
    return [
        [letters[found.start[p] : found.stop[p]].decode("utf-8", "surrogatepass") for p in range(a, a + n)]
        for a, n in zip(found.first, found.counts, strict=True)
    ]


def test_this_interpreter_is_supported():
    assert string_memory.readable()


@pytest.mark.parametrize("preprocess", PREPROCESSORS, ids=range(len(PREPROCESSORS)))
@given(texts=TEXTS)
def test_tokens_are_those_of_the_regular_expression(preprocess, texts):
    for pattern in RUNS:
        tokenizer = Tokenizer(pattern, preprocess, threads=2)
        assert strings_of(tokenizer.split(texts)) == [tokenizer.words(text) for text in texts]


def test_strings_of_other_classes_are_read():
    texts = [np.str_("Un <b>été"), Text("Ünder Ā"), np.str_(""), Text("plain")]
    tokenizer = Tokenizer(WORDS_AND_PUNCTUATION, Preprocessor(), threads=1)
    assert strings_of(tokenizer.split(texts)) == [tokenizer.words(text) for text in texts]


@given(texts=TEXTS)
def test_where_strings_cannot_be_read_they_are_encoded(texts):
    tokenizer = Tokenizer(WORDS_AND_PUNCTUATION, Preprocessor(), threads=1)
    expected = strings_of(tokenizer.split(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "readable", lambda: False)
        assert strings_of(tokenizer.split(texts)) == expected


def test_lower_case_is_that_of_every_character():
    everything = [chr(code) for code in range(0x110000)]
    different = [code for code, character in enumerate(everything) if character.lower() != character]
    table = string_memory.lower_case()
    assert max(different) < len(table)
    expected = [ord(c) if string_memory.is_irregular(c) else ord(c.lower()) for c in everything[: len(table)]]
    regular = [not string_memory.is_irregular(c) for c in everything[: len(table)]]
    np.testing.assert_array_equal(table[regular], np.array(expected)[regular])
