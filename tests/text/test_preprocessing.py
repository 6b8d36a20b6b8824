"""Texts that are preprocessed and split in compiled code give the tokens that Python finds."""

import re
import sys
from unicodedata import combining, is_normalized, normalize

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dropglm import NgramHasher
from dropglm.base.encoded_texts import EncodedTexts
from dropglm.text.ngrams.analysis import Tokenizer
from dropglm.text.ngrams.tokens import (
    ACCENTS,
    CASED,
    MARKS,
    RUNS,
    SPACED_WORDS_AND_PUNCTUATION,
    UNSPACED,
    WORDS_AND_PUNCTUATION,
    Preprocessor,
    as_written,
    clean,
    lower_in_place,
    may_combine,
)

PIECES = [
    "a",
    "B",
    "É",
    "Σ",
    "ΑΣ",
    "İ",
    "K",
    "ẞ",
    "語",
    "😀",
    "<",
    ">",
    "</",
    "<br />",
    "<a",
    "'",
    "_",
    ".",
    " ",
    "\n",
]
PIECES += ["e\u0301", "\u0301", "\u0323", "ᄒ", "ᅡ", "ᆫ", "か\u3099", "手机", "ก็", "กำ", "ကြ", "ཀྱ", "ｶ", "々"]
PIECES += ["\x1c", "\xa0", "\u3000", "Ж", "x" * 63, "Word", "longerword", "\ud800", "0", "-", "&"]
TEXTS = st.lists(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), max_size=4)
# Letters of each width, with lower cases of other lengths, lone surrogates, tags, and irregular letters.
ALPHABET = "e\u0301\u0323\u0344한\u2126か\u3099手ก็ကཀ々"
ALPHABET += "aAzZ09_' <>/!\0\x1f\né\xc9ßÿĀ京\u023a\U0001d400\U0001f600\u212a\ud800\u0130\u03a3ı\ufdfa"
ANY_TEXTS = st.lists(st.text(st.sampled_from(ALPHABET) | st.characters(), max_size=30), max_size=5)
PREPROCESSORS = [
    Preprocessor(),
    Preprocessor(lowercase=False),
    Preprocessor(strip_html=False),
    Preprocessor(lowercase=False, strip_html=False),
    Preprocessor(strip_accents=ACCENTS["unicode"]),
    Preprocessor(strip_accents=ACCENTS["ascii"]),
    Preprocessor(strip_accents=str.swapcase),
    str.upper,
]


class Text(str):
    """A string of a user's class."""


def strings_of(found):
    """Return the tokens of each text as strings."""
    letters = found.letters.tobytes()
    return [
        [letters[found.start[p] : found.stop[p]].decode("utf-8", "surrogatepass") for p in range(a, a + n)]
        for a, n in zip(found.first, found.counts, strict=True)
    ]


@given(TEXTS, st.booleans(), st.booleans())
@example(["<b" + "x" * 200 + ">y", "<b" + "x" * 200 + "<i>"], True, True)
def test_cleaned_texts_are_those_of_the_preprocessor(texts, lowercase, strip_html):
    """A tag has as many spaces as it had bytes, so runs of spaces are compared as one."""
    preprocess = Preprocessor(lowercase, strip_html)
    cleaned = clean(EncodedTexts.of(texts), preprocess)
    assert [squeezed(text) for text in cleaned] == [squeezed(preprocess(text)) for text in texts]


def squeezed(text):
    """Return the text with single spaces."""
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def test_every_character_is_converted_as_python_does():
    """All characters, each between others that it could combine with."""
    characters = [chr(code) for code in range(sys.maxunicode + 1)]
    texts = [
        "".join(f"a{character}b " for character in characters[k : k + 512]) for k in range(0, 0x20000, 512)
    ]
    texts += ["".join(characters[0x20000:])]
    assert list(clean(EncodedTexts.of(texts), Preprocessor(strip_html=False))) == [
        normalize("NFC", text).lower() for text in texts
    ]
    assert (lower_in_place() < 0).sum() < 100


@pytest.mark.parametrize("pattern", RUNS)
@given(TEXTS)
@example(["x" * 200 + "é" + "x" * 200, "é" * 100, "y" * 64, "z" * 63 + " " + "z" * 65])
def test_columns_are_those_of_the_tokens_that_the_pattern_finds(pattern, texts):
    """``re`` finds the tokens of a pattern that means the same, but that is not compiled here."""
    settings = {"bits": 12, "ngram_range": (1, 3)}
    ours = NgramHasher(**settings, token_pattern=pattern)
    theirs = NgramHasher(**settings, token_pattern=f"(?:{pattern.removeprefix('(?u)')})")
    assert Tokenizer(theirs.token_pattern, str).compiled is None
    for first, second in ((ours, theirs), (ours.partial_fit(texts), theirs.partial_fit(texts))):
        difference = first.transform(texts) != second.transform(texts)
        assert difference.nnz == 0
    np.testing.assert_array_equal(ours.ngrams_.letters, theirs.ngrams_.letters)
    np.testing.assert_array_equal(ours.ngrams_.lengths, theirs.ngrams_.lengths)


def test_encoded_texts_are_hashed_like_strings():
    texts = ["A <b>bold</b> claim", "", "naïve CAFÉ ΟΔΟΣ"]
    hasher, encoded = NgramHasher(bits=10), EncodedTexts.of(texts)
    assert (hasher.transform(texts) != hasher.transform(encoded)).nnz == 0
    assert list(encoded) == texts
    assert [encoded[1], encoded[-1]] == ["", texts[2]]
    assert list(encoded[np.array([2, 0])]) == [texts[2], texts[0]]


@pytest.mark.parametrize("preprocess", PREPROCESSORS, ids=range(len(PREPROCESSORS)))
@given(texts=ANY_TEXTS)
@example(texts=["\ufdfa", "\u0130" * 9])  # grow to many times their bytes
def test_tokens_are_those_of_the_regular_expression(preprocess, texts):
    for pattern in RUNS:
        tokenizer = Tokenizer(pattern, preprocess)
        assert strings_of(tokenizer.split(texts)) == [tokenizer.words(text) for text in texts]


def test_texts_without_doubtful_characters_are_in_nfc():
    """All characters that NFC changes, alone or after another one, are among the doubtful ones."""
    doubtful = may_combine()
    assert not doubtful[:0x300].any()
    assert is_normalized("NFC", "".join(chr(code) for code in np.flatnonzero(~doubtful)))
    for character in map(chr, range(CASED)):
        parts = normalize("NFD", character)
        if normalize("NFC", character) != character or combining(character):
            assert doubtful[ord(character)]
        elif parts != character:
            assert doubtful[ord(parts[-1])]


@given(ANY_TEXTS)
def test_decomposed_texts_give_the_same_rows(texts):
    hashers = NgramHasher(bits=12), NgramHasher(bits=12, lowercase=False, strip_html=False)
    decomposed = [normalize("NFD", text) for text in texts]
    for hasher in hashers:
        expected = hasher.transform(texts)
        for given_texts in (decomposed, EncodedTexts.of(decomposed)):
            assert (hasher.transform(given_texts) != expected).nnz == 0


def test_decomposed_words_are_tokens_as_a_whole():
    tokenizer = Tokenizer(WORDS_AND_PUNCTUATION, Preprocessor())
    composed = normalize("NFC", "schöne Größe")
    for text in (composed, normalize("NFD", composed)):
        assert tokenizer.words(text) == strings_of(tokenizer.split([text]))[0] == composed.lower().split()


def test_a_preprocessor_of_the_user_decides_on_normalisation():
    tokenizer = Tokenizer(WORDS_AND_PUNCTUATION, str.lower)
    assert strings_of(tokenizer.split(["e\u0301"])) == [["e\u0301"]]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("iPhone手机很好", "iphone 手 机 很 好"),
        ("映画、とてもｶｯｺｲｲ2時間", "映 画 、 と て も ｶ ｯ ｺ ｲ ｲ 2 時 間"),
        ("ดีมาก it's", "ด ี ม า ก it's"),
        ("ལྷ་ས ລາວ ខ្មែរ မြန်", "ལ ྷ ་ ས ລ າ ວ ខ ្ ម ែ រ မ ြ န ်"),
        ("인생은 아름다워", "인생은 아름다워"),
        ("人々〇𠀀㐂", "人 々 〇 𠀀 㐂"),
    ],
)
def test_scripts_without_spaces_have_one_token_per_character(text, tokens):
    tokenizer = Tokenizer(WORDS_AND_PUNCTUATION, Preprocessor())
    assert tokenizer.words(text) == strings_of(tokenizer.split([text]))[0] == tokens.split()


@pytest.mark.parametrize(
    "text", ["यह फ़िल्म अच्छी है ।", "இது நல்ல படம் .", "এটা খুব ভালো ।", "كِتَابٌ جَيِّدٌ", "می‌خواهم", "שָׁלוֹם"]
)
def test_vowel_signs_are_part_of_words(text):
    tokenizer = Tokenizer(WORDS_AND_PUNCTUATION, Preprocessor())
    tokens = normalize("NFC", text).split()
    assert tokenizer.words(text) == strings_of(tokenizer.split([text]))[0] == tokens
    assert tokenizer.words(text.replace(" ।", "।")) == tokens


@given(st.text(st.sampled_from("很好aé'1 ！ก็かカ가\n") | st.characters()))
def test_only_letters_of_unspaced_scripts_are_split_further(text):
    """Everything else has the tokens of the pattern for words between spaces, which does not know marks."""
    text = re.sub(rf"(?![\w\s])[{MARKS}]", " ", text)
    before = re.findall(SPACED_WORDS_AND_PUNCTUATION, text)
    split = [part for token in before for part in re.split(f"([{UNSPACED}])", token) if part]
    assert re.findall(WORDS_AND_PUNCTUATION, text) == split


@pytest.mark.parametrize(
    ("ngram", "shown"),
    [
        ("很 好", "很好"),
        ("不 是 很", "不是很"),
        ("iphone 很 好", "iphone 很好"),
        ("好 iphone", "好 iphone"),
        ("很好 电影", "很好 电影"),
        ("很 好 | so dull | 不 好", "很好 | so dull | 不好"),
        ("ด ี", "ดี"),
        ("인생은 아름다워", "인생은 아름다워"),
    ],
)
def test_ngrams_of_unspaced_scripts_are_shown_without_blanks(ngram, shown):
    assert as_written(ngram) == shown


def test_strings_of_other_classes_are_read():
    texts = [np.str_("Un <b>été"), Text("Ünder Ā"), np.str_(""), Text("plain")]
    tokenizer = Tokenizer(WORDS_AND_PUNCTUATION, Preprocessor())
    assert strings_of(tokenizer.split(texts)) == [tokenizer.words(text) for text in texts]
