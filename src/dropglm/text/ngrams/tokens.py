"""From texts to tokens, which are stored as positions in one long array of bytes.

Before a text is split, it is normalised to NFC and converted to lower case, and HTML tags and accents are
removed. ``Preprocessor`` says what is done, to one string. ``clean`` does the same to many texts in UTF-8, in
compiled code and without the GIL: 8 times as fast. Lower case and spaces in place of tags have as many bytes
as what they replace. Where lower case would not, or where it depends on the characters around (a final
sigma), the text is left to Python, and so are texts that are not in NFC. Only texts with a character that may
combine with its neighbours are checked for that.

Scripts that do not separate words, such as Chinese, Japanese and Thai, have one token per character, so that
pairs of characters are bigrams. Vowel signs, as those of Hindi and Tamil, are part of their words.

If the tokens of a pattern are runs of characters of one class, or single characters of another, a loop over
bytes finds them. Another loop finds n-grams of characters, each of which is a token. For all other patterns,
Python's ``re`` finds the tokens, or a function of the user. A token is stored as its place in an array of
bytes, and as a key of 64 bits: its bytes, or a hash. The classes of 64 ASCII characters are found by a few
comparisons, and the keys of short tokens by one load: half the time of a loop over single characters.
"""

import re
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple
from unicodedata import combining, decomposition, is_normalized, normalize

import numpy as np

from dropglm.base.encoded_texts import SPARE, EncodedTexts
from dropglm.base.errors import InputError
from dropglm.base.registry import lookup
from dropglm.core.maths.compile import inlined, kernel, kernel_helper
from dropglm.core.maths.instructions import bytes_between, copy_bytes, copy_lowered, lowest_bit, packed_bytes

SPACE, APOSTROPHE, SLASH, LESS, GREATER, UNDERSCORE = 32, 39, 47, 60, 62, 95
COMBINING = 0xCC  # first byte of U+0300, the first character that may combine with others
DOUBTFUL = 1 << 24  # added to code points that NFC may change

_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of FNV-1a
_ONE, _BYTE, _TOP, _FULL = np.uint64(1), np.uint64(8), np.uint64(56), np.uint64(64)
_LONG = np.uint64(0xFF) << _TOP


@kernel
def clean_texts(letters, begins, ends, lowercase, strip_html, strip_accents, table, out, places, left, check):
    """Write each text to ``out``, from ``places[i]`` on, and mark in ``left`` those that are not finished.

    Texts that may not be in NFC are marked in ``check``. ``table`` is that of ``replacements``, or empty if
    characters that are not ASCII stay as they are. Only ASCII texts have no accents to strip. Both
    ``letters`` and ``out`` need 64 spare bytes. Texts are written in order, so that bytes written after the
    end of one are overwritten.
    """
    for i in range(len(begins)):
        p, q, end = begins[i], places[i], ends[i]
        tags = wide = False
        while p < end:
            if lowercase:
                copy_lowered(letters, p, out, q)
            else:
                copy_bytes(letters, p, out, q)
            tags |= bytes_between(letters, p, LESS, LESS) != 0
            wide |= bytes_between(letters, p, 0x80, 0xFF) != 0
            p, q = p + 64, q + 64
        start, stop = places[i], places[i] + end - begins[i]
        left[i], check[i] = wide and strip_accents, False
        if wide and len(table) and not left[i]:
            left[i], check[i] = replace_wide(out, start, stop, table)
        if strip_html and tags and not left[i]:
            blank_tags(out, start, stop)


@kernel_helper
def replace_wide(out, start, stop, table):
    """Replace characters that are not ASCII; return whether it was impossible, and whether to check NFC."""
    p, doubtful = start, False
    while p < stop:
        p += lowest_bit(bytes_between(out, p, 0x80, 0xFF))
        while p < stop and out[p] >= 0x80:
            code, after = decode(out, p)
            new = table[code] if code < len(table) else code | DOUBTFUL
            if new < 0:
                return True, False
            doubtful |= new >= DOUBTFUL
            new &= DOUBTFUL - 1
            if new != code:
                encode(new, out, p, after)
            p = after
    return False, doubtful


@inlined
def encode(code, out, start, stop):
    """Write a code point, which is known to have that many bytes; more than one."""
    p = stop - 1
    while p > start:
        out[p] = 0x80 | (code & 0x3F)
        code >>= 6
        p -= 1
    size = stop - start
    out[start] = ((0xF00 >> size) & 0xFF) | code


@kernel_helper
def blank_tags(out, start, stop):
    """Replace the bytes of tags, ``</?[a-zA-Z][^<>]*>``, by spaces."""
    p = start
    while p < stop:
        p += lowest_bit(bytes_between(out, p, LESS, LESS))
        if p >= stop or out[p] != LESS:
            continue
        name = p + 1 + (p + 1 < stop and out[p + 1] == SLASH)
        after = name + 1
        if name < stop and 97 <= (out[name] | 32) <= 122:
            found = np.uint64(0)
            while after < stop and not found:
                found = bytes_between(out, after, LESS, LESS) | bytes_between(out, after, GREATER, GREATER)
                after += lowest_bit(found)
            if after < stop and out[after] == GREATER:
                for k in range(p, after + 1):
                    out[k] = SPACE
                p = after
        p += 1


@kernel_helper
def decode(letters, p):
    """Return the code point that begins at p, and where the next one begins."""
    lead = letters[p]
    code, after = np.int64(lead), p + 1
    if lead >= 0x80:  # 2, 3 or 4 bytes
        more = 1 if lead < 0xE0 else (2 if lead < 0xF0 else 3)
        code = np.int64(lead) & (0x3F >> more)
        for _ in range(more):
            code = code << 6 | (np.int64(letters[after]) & 0x3F)
            after += 1
    return code, after


@kernel_helper
def long_key(letters, start, stop):
    """Return the key of a token of eight bytes or more: a hash, made negative."""
    h = _OFFSET
    for k in range(start, stop):
        h = (h ^ np.uint64(letters[k])) * _PRIME
    return np.int64(h | _LONG)


@kernel_helper
def token_key(letters, start, stop):
    """Return the key of a token; with at most seven bytes these bytes, preceded by their number."""
    if stop - start > 7:
        return long_key(letters, start, stop)
    n = np.uint64(stop - start)
    packed = n
    for k in range(start, stop):
        packed = packed << _BYTE | np.uint64(letters[k])
    return np.int64(packed << _BYTE * (np.uint64(7) - n))


@inlined
def word_mask(letters, p, apostrophes):
    """Return which of 64 bytes are ASCII letters, digits, underscores or, if wanted, apostrophes."""
    words = bytes_between(letters, p, 97, 122) | bytes_between(letters, p, 65, 90)
    words |= bytes_between(letters, p, 48, 57) | bytes_between(letters, p, UNDERSCORE, UNDERSCORE)
    if apostrophes:
        words |= bytes_between(letters, p, APOSTROPHE, APOSTROPHE)
    return words


@inlined
def space_mask(letters, p):
    """Return which of 64 bytes are ASCII white space."""
    return bytes_between(letters, p, 9, 13) | bytes_between(letters, p, 28, SPACE)


@kernel_helper
def key_at(letters, start, size):
    """Return the key of the token of this many bytes; see ``token_key``."""
    if size > 7:
        return long_key(letters, start, start + size)
    return short_key(packed_bytes(letters, start) >> (_FULL - _BYTE * np.uint64(size)), size)


@kernel_helper
def short_key(packed, size):
    """Return the key of the last bytes of a number, which are one to seven; see ``token_key``."""
    n = np.uint64(size)
    return np.int64((n << _TOP) | ((packed << (_FULL - _BYTE * n)) >> _BYTE))


@kernel_helper
def text_tokens(letters, begin, end, classes, runs, starts, stops, keys, n):
    """Write where the tokens of a text begin and end, and their keys, from place n on; return the next place.

    Runs are apostrophes, singles and shortest: tokens are runs of at least ``shortest`` word characters, with
    ``apostrophes`` also of those, and with ``singles`` all other visible characters. ``classes`` has the
    classes of all characters that occur.
    """
    apostrophes, singles, shortest = runs
    p = begin
    while p < end:
        size = min(lowest_bit(bytes_between(letters, p, 0x80, 0xFF)), end - p)
        words = word_mask(letters, p, apostrophes)
        others = ~(words | space_mask(letters, p)) if singles else np.uint64(0)
        if size < 64:
            words &= (_ONE << np.uint64(size)) - _ONE
            others &= (_ONE << np.uint64(size)) - _ONE
        begins = (words & ~(words << _ONE)) | others
        after = p + size
        while begins:
            k = lowest_bit(begins)
            begins &= begins - _ONE
            length = lowest_bit(~(words >> np.uint64(k)))
            if k + length >= size and p + size < end:
                # The run may continue after these bytes, so the next block starts with it.
                after = p + k
                break
            counts = length == 0 or length >= shortest
            length = length or 1
            starts[n], stops[n], keys[n] = p + k, p + k + length, key_at(letters, p + k, length)
            n += counts
        if after == p:  # a character that is not ASCII, or a very long run
            after, n = next_token(letters, p, end, classes, shortest, starts, stops, keys, n)
            while after < end and letters[after] >= 0x80:
                after, n = next_token(letters, after, end, classes, shortest, starts, stops, keys, n)
        p = after
    return n


@kernel_helper
def next_token(letters, p, end, classes, shortest, starts, stops, keys, n):
    """Find a token at p by the class of each character; return where to continue and the number of tokens."""
    start, length = p, 0
    code, after = decode(letters, p)
    while p < end and classes[code] == 1:
        length, p = length + 1, after
        if p < end:
            code, after = decode(letters, p)
    counts = length > 0 and length >= shortest
    if length == 0:
        counts, p = classes[code] == 2, after
    if counts:
        starts[n], stops[n], keys[n] = start, p, key_at(letters, start, p - start)
        n += 1
    return p, n


@kernel
def split_texts(letters, begins, ends, classes, runs, firsts, counts, words):
    """Split texts that are preprocessed; ``words`` are the starts, stops and keys to write."""
    starts, stops, keys = words
    place = 0
    for i in range(len(begins)):
        firsts[i] = place
        place = text_tokens(letters, begins[i], ends[i], classes, runs, starts, stops, keys, place)
        counts[i] = place - firsts[i]


@kernel
def split_characters(letters, begins, ends, classes, settings, out, offsets, firsts, counts, words):
    """Find the n-grams of characters of texts that are preprocessed; otherwise like ``split_texts``.

    The settings are those of ``Characters``. Texts are written to ``out``; ``offsets`` is overwritten.
    """
    starts, stops, keys = words
    place = q = 0
    for i in range(len(begins)):
        firsts[i] = place
        text = begins[i], ends[i], classes, settings, out, q, offsets
        q, place = text_characters(letters, *text, starts, stops, keys, place)
        counts[i] = place - firsts[i]


@kernel_helper
def text_characters(letters, p, end, classes, settings, out, q, offsets, starts, stops, keys, n):
    """Write a text from q on, and its n-grams from place n on; return the next places of both.

    One blank is written in place of several characters of white space. If ``within``, also in place of a
    single one, and before the first word and after the last; n-grams then do not cross words, which share the
    blanks between them.

    Whether there are enough characters is not tested by a branch, since words have all lengths: an n-gram is
    always written, and overwritten by the next one if it is too short.
    """
    shortest, longest, within = settings
    first = c = 0  # numbers of the first character of this word, and of the next one
    recent = np.uint64(SPACE)  # the last eight bytes that were written
    if within:
        offsets[0], out[q], c, q = q, SPACE, 1, q + 1
    while p < end or (within and first < c - 1):
        is_space, after = True, p
        if p < end:
            code, after = decode(letters, p)
            is_space = classes[code] != 1
        ends_word = is_blank = is_space & within
        if ends_word and first == c - 1:  # after another blank
            p = after
            continue
        if is_space and not within:
            stop = after_spaces(letters, after, end, classes)
            is_blank, after = stop > after, stop
        offsets[c] = q
        if is_blank:
            out[q], recent, q = SPACE, recent << _BYTE | np.uint64(SPACE), q + 1
        else:
            for k in range(p, after):
                out[q], recent, q = letters[k], recent << _BYTE | np.uint64(letters[k]), q + 1
        p, c = after, c + 1
        for size in range(shortest, longest + 1):
            start = offsets[max(c - size, first)]
            starts[n], stops[n], keys[n] = start, q, short_key(recent, min(q - start, 7))
            if q - start > 7:
                keys[n] = long_key(out, start, q)
            # A word that is shorter than all n-grams is one as a whole.
            n += (c - size >= first) | (ends_word & (size == shortest))
        if ends_word:
            first = c - 1
            if shortest == 1:  # the blank before the word
                starts[n], stops[n], keys[n] = q - 1, q, short_key(recent, 1)
                n += 1
    return q, n


@kernel_helper
def after_spaces(letters, p, end, classes):
    """Return where the first character from p on begins that is not white space."""
    while p < end:
        code, after = decode(letters, p)
        if classes[code] == 1:
            break
        p = after
    return p


@kernel
def keys_of(letters, ends, keys):
    """Compute the key of each of the concatenated strings."""
    for i in range(len(keys)):
        keys[i] = token_key(letters, ends[i], ends[i + 1])


# A "<" before a letter or a slash, up to the next ">", unless another "<" comes first
HTML_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")

CASED = 0x20000  # beyond these code points, no character has another lower case
# Their lower case is two characters, or depends on their neighbours.
DOTTED_I, SIGMA = "İ", "Σ"

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


@lru_cache(maxsize=1 << 14)
def _strip_part(part: str) -> str:
    return "".join(character for character in normalize("NFKD", part) if not combining(character))


def strip_unicode(text: str) -> str:
    """Return the text without accents; the same as scikit-learn's ``strip_accents_unicode``.

    ASCII characters neither have accents nor combine with their neighbours, so only the parts between them
    are converted: 0.06 s instead of 0.2 s for IMDB's training reviews.

    Examples
    --------
    >>> strip_unicode("Là-bas, déjà vu")
    'La-bas, deja vu'
    """
    return text if text.isascii() else _NOT_ASCII.sub(lambda match: _strip_part(match[0]), text)


def strip_ascii(text: str) -> str:
    """Return the text without accents and without characters that are not ASCII, as scikit-learn does.

    Examples
    --------
    >>> strip_ascii("déjà vu ☺")
    'deja vu '
    """
    return normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


ACCENTS: dict[str, Callable[[str], str]] = {"ascii": strip_ascii, "unicode": strip_unicode}


@dataclass(frozen=True)
class Preprocessor:
    """Converts texts to NFC, then to lower case, replaces HTML tags by spaces and removes accents.

    In NFC, an accented letter is one character, also where a text has the letter and the accent as two.

    Examples
    --------
    >>> Preprocessor(lowercase=True, strip_html=True, strip_accents=ACCENTS["unicode"])("Très<br />Bon")
    'tres bon'
    """

    lowercase: bool = True
    strip_html: bool = True
    strip_accents: Callable[[str], str] | None = None

    @property
    def is_built_in(self) -> bool:
        """Whether no function of the user is called."""
        return self.strip_accents is None or self.strip_accents in ACCENTS.values()

    def __call__(self, text: str) -> str:
        """Return the preprocessed text."""
        text = normalize("NFC", text)
        if self.lowercase:
            text = text.lower()
        if self.strip_html and "<" in text:
            text = HTML_TAG.sub(" ", text)
        return text if self.strip_accents is None else self.strip_accents(text)


def accent_function(strip_accents: Any) -> Callable[[str], str] | None:
    """Return the function that removes accents: one of the user, one of these names, or none."""
    if strip_accents is None or callable(strip_accents):
        return strip_accents
    return lookup(ACCENTS, strip_accents, "strip_accents")


def clean(texts: EncodedTexts, preprocess: Preprocessor, out: np.ndarray | None = None) -> EncodedTexts:
    """Return the texts as the preprocessor would, which must be built in.

    A tag becomes as many spaces as it has bytes, where the preprocessor itself writes a single one; no token
    pattern that is compiled matches spaces.

    Parameters
    ----------
    texts : EncodedTexts
        The texts.
    preprocess : Preprocessor
        What to do.
    out : ndarray of uint8, or None
        Memory for the result, with room for all texts and 64 spare bytes.

    Examples
    --------
    >>> list(clean(EncodedTexts.of(["Très<br>BON", "ΟΔΟΣ"]), Preprocessor()))
    ['très    bon', 'οδος']
    """
    lowercase, strip_html, accents = preprocess.lowercase, preprocess.strip_html, preprocess.strip_accents
    largest = texts.largest_byte
    if not (lowercase or strip_html or accents) and largest < COMBINING:
        return texts
    sizes = texts.ends - texts.begins
    places, total = np.cumsum(sizes) - sizes, int(sizes.sum())
    if out is None:
        out = np.empty(total + SPARE, np.uint8)
    left, check = np.zeros((2, len(texts)), np.bool_)
    needed = largest >= (0x80 if lowercase else COMBINING)
    table = replacements(lowercase, largest >= COMBINING) if needed else np.zeros(0, np.int32)
    settings = lowercase, strip_html, accents is not None
    clean_texts(texts.letters, texts.begins, texts.ends, *settings, table, out, places, left, check)
    ends = places + sizes
    for i in np.flatnonzero(check).tolist():
        left[i] = not is_normalized("NFC", texts[i])
    if left.any():
        rest = np.flatnonzero(left)
        others = EncodedTexts.of([preprocess(texts[i]) for i in rest.tolist()])
        places[rest], ends[rest] = others.begins + total, others.ends + total
        out = np.concatenate([out[:total], others.letters])
    return EncodedTexts(out, places, ends)


@cache
def replacements(lowercase: bool, doubtful: bool) -> np.ndarray:
    """Return what replaces each code point: its lower case or itself.

    It is -1 where that has another number of bytes in UTF-8, or depends on the characters around it. Code
    points after the last one of the table are their own lower case. If wanted, ``DOUBTFUL`` is added to those
    that NFC may change; that takes 30 ms, and without characters from U+0300 on there are none.
    """
    table = lower_in_place() if lowercase else np.arange(CASED, dtype=np.int32)
    return table | np.where(may_combine(), np.int32(DOUBTFUL), np.int32(0)) if doubtful else table


def may_combine() -> np.ndarray:
    """Return for each code point whether a text with it may not be in NFC, whatever its other characters.

    These are combining marks, the second parts of composed characters, and what NFC replaces. A text without
    them is in NFC.
    """
    everything = characters(CASED)
    found = np.fromiter(map(combining, everything), np.uint8, CASED) > 0
    found[0x1161:0x1176] = found[0x11A8:0x11C3] = True  # vowels and final consonants of Hangul syllables
    for character, parts in zip(everything, map(decomposition, everything), strict=True):
        if parts and not parts.startswith("<"):
            found[[int(part, 16) for part in parts.split()[1:]]] = True
            found[ord(character)] |= not is_normalized("NFC", character)
    return found


def lower_in_place() -> np.ndarray:
    """Return the lower case of each code point, or -1 where it cannot be written over the character."""
    everything = characters(CASED).replace(DOTTED_I, "\0").replace(SIGMA, "\0")
    encoded = everything.lower().encode("utf-32-le", "surrogatepass")
    lower = np.frombuffer(encoded, np.uint32).astype(np.int32)
    lower[_utf8_size(lower) != _utf8_size(np.arange(len(lower)))] = -1
    return lower


def _utf8_size(codes: np.ndarray) -> np.ndarray:
    return 1 + (codes >= 0x80).astype(np.int8) + (codes >= 0x800) + (codes >= 0x10000)


def characters(size: int) -> str:
    """Return the string of the first code points, lone surrogates included."""
    # Three hundred times as fast as joining chr(0), chr(1), …
    return np.arange(size, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


# Characters of scripts that do not separate words by spaces, as ranges in a character class. Hangul does.
UNSPACED = "".join(
    (
        r"\u0e00-\u0eff",  # Thai, Lao
        r"\u0f00-\u0fff",  # Tibetan
        r"\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\U000116d0-\U000116ff",  # Burmese
        r"\u1780-\u17ff",  # Khmer
        r"\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f",  # Hiragana, Katakana
        r"\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c",  # Han: iteration marks and numerals
        r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",  # Han
    )
)
UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
THREE_BYTES = 0xE0  # the smallest first byte of characters of three or more bytes, which these are
# Marks that are part of words but not of \w: vowel signs, accents that NFC leaves alone, and joiners
MARKS = "".join(
    (
        r"\u0300-\u036f\u200c\u200d",
        r"\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7",  # Hebrew
        r"\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06ed\u08ca-\u08ff",  # Arabic
        r"\u0900-\u0963\u0966-\u0dff",  # from Devanagari to Sinhala, without the full stop
    )
)
# Words including apostrophes, and every other visible character on its own
WORDS_AND_PUNCTUATION = rf"(?:[^\W{UNSPACED}]|[{MARKS}'])+|[{UNSPACED}]|[^\w\s]"
SPACED_WORDS_AND_PUNCTUATION = r"[\w']+|[^\w\s]"  # of models of earlier versions
WORDS_OF_TWO_LETTERS = r"(?u)\b\w\w+\b"  # scikit-learn's default

BYTES_PER_PIECE = 1 << 18  # bytes per task
ASCII, TWO_BYTES, ALL = 1 << 7, 1 << 16, sys.maxunicode + 1  # how many code points a table has


class Tokens(NamedTuple):
    """The tokens of several texts; those of text i are ``first[i]`` … ``first[i] + counts[i] - 1``."""

    letters: np.ndarray  # UTF-8
    first: np.ndarray
    counts: np.ndarray
    start: np.ndarray  # of each token in letters
    stop: np.ndarray
    keys: np.ndarray  # see token_key


class TokenBuffers:
    """Memory for texts and tokens, which is used again and again: new memory takes as long as the scan."""

    def __init__(self) -> None:
        self.letters = np.empty(0, np.uint8)
        self.words = np.empty((3, 0), np.int64)

    def reserve(self, letters: int, tokens: int) -> None:
        """Make room for texts of so many bytes, and for so many tokens."""
        if letters + SPARE > len(self.letters):
            self.letters = np.empty(letters * 5 // 4 + SPARE, np.uint8)
        if tokens > self.words.shape[1]:
            self.words = np.empty((3, tokens * 5 // 4), np.int64)


class Runs(NamedTuple):
    """A pattern for runs of at least ``shortest`` characters of one class, or single ones of another."""

    run: str
    single: str | None
    shortest: int

    @property
    def tokens_per_byte(self) -> int:
        """How many tokens there are at most."""
        return 1

    def split(self, texts: EncodedTexts, room: TokenBuffers) -> Tokens:
        """Return the tokens of texts that are preprocessed; they are stored in the room."""
        room.reserve(0, texts.size * self.tokens_per_byte)
        firsts, counts = np.empty((2, len(texts)), np.int64)
        found = firsts, counts, tuple(room.words)
        split_texts(texts.letters, texts.begins, texts.ends, *scanner(texts, self), *found)
        return Tokens(texts.letters, firsts, counts, *room.words)


RUNS = {
    WORDS_AND_PUNCTUATION: Runs(rf"[^\W{UNSPACED}]|[{MARKS}']", rf"[{UNSPACED}]|[^\w\s{MARKS}']", 1),
    SPACED_WORDS_AND_PUNCTUATION: Runs(r"[\w']", r"[^\w\s']", 1),
    WORDS_OF_TWO_LETTERS: Runs(r"\w", None, 2),
    WORDS_OF_TWO_LETTERS.removeprefix("(?u)"): Runs(r"\w", None, 2),
}
VISIBLE = Runs(r"\S", None, 1)

_BLANK_WITHIN = re.compile(rf"(?<!\S)([{UNSPACED}]) (?=[{UNSPACED}](?!\S))")


def as_written(ngram: str) -> str:
    """Return an n-gram without the blanks between characters of scripts that do not separate words.

    Examples
    --------
    >>> as_written("很 好"), as_written("iphone 很 好 !"), as_written("so dull")
    ('很好', 'iphone 很好 !', 'so dull')
    """
    return ngram if ngram.isascii() else _BLANK_WITHIN.sub(r"\1", ngram)


class Characters(NamedTuple):
    """N-grams of ``shortest`` to ``longest`` characters, each of them a token; ``within`` words or not."""

    shortest: int
    longest: int
    within: bool

    @property
    def tokens_per_byte(self) -> int:
        """How many n-grams there are at most, also of blanks, which belong to the words on both sides."""
        return self.longest - self.shortest + 2

    def split(self, texts: EncodedTexts, room: TokenBuffers) -> Tokens:
        """Return the n-grams of texts that are preprocessed; they are stored in the room."""
        size = texts.size + 2 * len(texts)  # with a blank on each side
        room.reserve(0, size * self.tokens_per_byte)
        letters = np.empty(size, np.uint8)
        offsets = np.empty(texts.lengths.max(initial=0) + 2, np.int64)
        firsts, counts = np.empty((2, len(texts)), np.int64)
        settings = scanner(texts, VISIBLE)[0], tuple(self)
        found = letters, offsets, firsts, counts, tuple(room.words)
        split_characters(texts.letters, texts.begins, texts.ends, *settings, *found)
        return Tokens(letters, firsts, counts, *room.words)


def scanner(texts: EncodedTexts, runs: Runs) -> tuple[np.ndarray, tuple[bool, bool, int]]:
    """Return ``classes`` and ``runs`` of ``text_tokens`` for these texts."""
    # The table of all characters takes 0.1 s, that of the first 65,536 a fortieth of it.
    largest = texts.largest_byte
    classes = character_classes(runs, ASCII if largest < 0x80 else TWO_BYTES if largest < 0xF0 else ALL)
    return classes, (bool(classes[ord("'")] == 1), runs.single is not None, runs.shortest)


@cache
def character_classes(runs: Runs, size: int = ALL) -> np.ndarray:
    """Return for the first characters 1 if it is part of a run, 2 if it is a token on its own, else 0."""
    everything = characters(size)
    table = np.zeros(len(everything), np.uint8)
    for number, pattern in ((1, runs.run), (2, runs.single)):
        for match in re.finditer(f"(?:{pattern})+", everything) if pattern else ():
            table[match.start() : match.end()] = number
    return table


def compile_pattern(pattern: Any) -> re.Pattern[str]:
    """Compile the pattern; if it has a group, the group is the token."""
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise InputError(f"token_pattern {pattern!r} is not a regular expression: {error}.") from None
    if compiled.groups > 1:
        raise InputError(
            f"More than 1 capturing group in token pattern {pattern!r}; use at most one, which is the token."
        )
    return compiled


# A class of characters or one character, not a group, anchor or reference; then how often it may occur
_CLASS = r"(?:\[\^?(?:\\.|[^\[\]\\])+\]|\\[wWdDsS]|\\[^\w\s]|[^\\\[\](){}*+?|^$])"
_REPETITION = r"(?:[+*?]|\{\d{1,2}(?:,\d{0,2})?\})?"
_ALTERNATIVE = f"{_CLASS}{{1,8}}{_REPETITION}"
LINEAR = re.compile(rf"(?:\(\?[aimsu]+\))?{_ALTERNATIVE}(?:\|{_ALTERNATIVE}){{0,15}}")
LONGEST_PATTERN = 500


def is_linear(pattern: str) -> bool:
    r"""Return whether finding a pattern takes a time proportional to the length of any text.

    That is known of alternatives which are a few classes of characters, only the last of them repeated: each
    either fails within a few characters or ends where the repetition does, so nothing is read again. It is
    also known of the patterns that our own loops find.

    Examples
    --------
    >>> is_linear(r"#?\w+|[^\w\s]"), is_linear(r"#\w+|[^\w\s]"), is_linear(r"(?:\w|\s)+!")
    (False, True, False)
    """
    if pattern in RUNS:
        return True
    if len(pattern) > LONGEST_PATTERN or not LINEAR.fullmatch(pattern):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of patterns that may mean something else in a later Python
            re.compile(pattern)
    except (re.error, Warning, OverflowError):
        return False
    return True


def encode_strings(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate the strings in UTF-8; return the bytes and the offsets of all beginnings and of the end."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=ends[1:])
    return np.frombuffer(bytearray().join(encoded), np.uint8), ends


def decode_strings(letters: np.ndarray, ends: np.ndarray) -> list[str]:
    """Return the strings that ``encode_strings`` concatenated."""
    whole, cuts = letters.tobytes(), ends.tolist()
    return [whole[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(cuts)]
