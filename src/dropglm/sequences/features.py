"""From sentences to rows: features of words, and the numbers of named features."""

from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dropglm.base import checks
from dropglm.base.errors import InputError, InputTypeError, UserError
from dropglm.core.design.storage import BinaryRows, CsrRows

WORDS, NAMES, MATRIX = "words", "names", "matrix"  # what the tokens of a sentence are
WINDOW = 2  # neighbours on each side
AFFIX = 4  # letters of the longest prefix and suffix
NAMED = (list, set, frozenset, dict)


class TokenRows(NamedTuple):
    """The features of the tokens of sentences, one row per token.

    Attributes
    ----------
    rows : CsrRows or BinaryRows
    starts : ndarray of shape (n + 1,)
        The first row of each sentence.
    """

    rows: CsrRows | BinaryRows
    starts: np.ndarray


def word_features(sentence: Iterable[str | tuple[str, ...]]) -> list[list[str]]:
    """Return the names of the features that words have by default.

    They are the word, its lower case, its prefixes and suffixes of up to four letters, its shape, the lower
    case of up to two neighbours on each side, pairs of adjacent words, and shapes and suffixes of adjacent
    words. Given columns, such as parts of speech, add their values in the same window, alone and in pairs and
    triples of adjacent tokens.

    Parameters
    ----------
    sentence : iterable of str or tuple of str
        Words, or tuples of a word and the values of further columns.

    Returns
    -------
    list of list of str
        The names of each token's features.

    See Also
    --------
    SequenceTagger : Uses these features if tokens are words.

    Examples
    --------
    >>> from dropglm.sequences import word_features
    >>> word_features(["In", "Ulm"])[1][:6]
    ['word=Ulm', 'lower=ulm', 'shape=Xxx', 'short=Xx', 'prefix=u', 'suffix=m']
    >>> word_features([("In", "IN"), ("Ulm", "NNP")])[1][-3:]
    ['1[-1]=IN', '1[0]=NNP', '1[-1..0]=IN|NNP']
    """
    tokens = [(token,) if isinstance(token, str) else token for token in sentence]
    n, forms = len(tokens), [_forms(token[0]) for token in tokens]
    lower = [form.lower for form in forms]
    found = [list(form.names) for form in forms]
    for t, names in enumerate(found):
        for o in range(-WINDOW, WINDOW + 1):
            if o and 0 <= t + o < n:
                names.append(f"lower[{o}]={lower[t + o]}")
        if t:
            names.append(f"lower[-1..0]={lower[t - 1]}|{lower[t]}")
            names += forms[t - 1].before
        if t + 1 < n:
            names.append(f"lower[0..1]={lower[t]}|{lower[t + 1]}")
            names += forms[t + 1].after
    for number, column in enumerate(zip(*(token[1:] for token in tokens), strict=True), 1):
        for t, names in enumerate(found):
            for length in (1, 2, 3):
                for o in range(-WINDOW, WINDOW + 2 - length):
                    if t + o >= 0 and t + o + length <= n:
                        where = f"[{o}]" if length == 1 else f"[{o}..{o + length - 1}]"
                        names.append(f"{number}{where}={'|'.join(column[t + o : t + o + length])}")
    return found


class _Forms(NamedTuple):
    """What depends on a word alone: names for itself, and for its neighbours."""

    lower: str
    names: tuple[str, ...]
    before: tuple[str, ...]  # for the next token
    after: tuple[str, ...]


@lru_cache(1 << 16)
def _forms(word: str) -> _Forms:
    lower = word.lower()
    shape = "".join(map(_kind_of_letter, word))
    short = shape[:1] + "".join(b for a, b in pairwise(shape) if a != b)
    lengths = range(1, min(AFFIX, len(lower)) + 1)
    names = [f"word={word}", f"lower={lower}", f"shape={shape}", f"short={short}"]
    names += [name for k in lengths for name in (f"prefix={lower[:k]}", f"suffix={lower[-k:]}")]
    before, after = (
        (f"short[{o}]={short}", f"word[{o}]={word}", f"suffix[{o}]={lower[-3:]}") for o in (-1, 1)
    )
    return _Forms(lower, tuple(names), before, after)


def _kind_of_letter(letter: str) -> str:
    if letter.isalpha():
        return "X" if letter.isupper() else "x"
    return "0" if letter.isdigit() else letter


def kind_of(sentences: Sequence[Any], name: str = "sequences") -> str:
    """Return what the tokens of sentences are, by the first of them."""
    for sentence in sentences:
        if _is_matrix(sentence):
            return MATRIX
        for token in sentence:
            if isinstance(token, (str, tuple)):
                return WORDS
            if isinstance(token, NAMED):
                return NAMES
            raise InputTypeError(
                f"A token of {name} must be a word, a tuple of a word and further columns, a list of "
                f"names of features, or a dictionary of their values, got {type(token).__name__}."
            )
    raise InputError(f"{name} has no token.")


def check_sentences(sequences: Any, name: str = "sequences") -> list[Any]:
    """Return sentences as a list, each a list of tokens or a matrix."""
    if (
        isinstance(sequences, (str, bytes, dict))
        or not hasattr(sequences, "__iter__")
        or _is_matrix(sequences)
    ):
        raise InputTypeError(f"{name} must be a list of sentences, got {type(sequences).__name__}.")
    found = list(sequences)
    for i, sentence in enumerate(found):
        if _is_matrix(sentence):
            continue
        if isinstance(sentence, (str, bytes, dict)) or not hasattr(sentence, "__iter__"):
            raise InputTypeError(
                f"Sentence {i} of {name} must be a list of tokens or a matrix with a row per token, got "
                f"{type(sentence).__name__}."
            )
        found[i] = list(sentence)
    return found


def _is_matrix(sentence: Any) -> bool:
    return sparse.issparse(sentence) or (isinstance(sentence, np.ndarray) and sentence.dtype.kind in "biuf")


def rows_of_sentences(
    sentences: Sequence[Any],
    kind: str,
    vocabulary: dict[str, int],
    width: int,
    *,
    learn: bool = False,
    name: str = "sequences",
) -> TokenRows:
    """Return the rows of the tokens; ``learn`` adds new names to the vocabulary, else they have no effect."""
    if kind == MATRIX:
        return _rows_of_matrices(sentences, width, name)
    indices, values, ends, starts = array("I"), array("d"), array("q", [0]), array("q", [0])
    for i, sentence in enumerate(sentences):
        try:
            found = _values_of_names(sentence, kind)
        except UserError as error:
            raise _bad_sentence(error, i, kind, name) from None
        for token in found:
            for key, x in token.items():
                j = vocabulary.get(key)
                if j is None:
                    if not learn:
                        continue
                    j = vocabulary[key] = len(vocabulary)
                indices.append(j)
                values.append(x)
            ends.append(len(indices))
        starts.append(len(ends) - 1)
    arrays = np.array(ends, np.int64), np.array(indices, np.uint32), np.array(values, np.float64)
    return TokenRows(cheapest_rows(*arrays), np.array(starts, np.int64))


def cheapest_rows(indptr: np.ndarray, indices: np.ndarray, values: np.ndarray) -> CsrRows | BinaryRows:
    """Return rows without values if all are 1."""
    return BinaryRows(indptr, indices) if (values == 1.0).all() else CsrRows(indptr, indices, values)


def _values_of_names(sentence: list[Any], kind: str) -> list[dict[str, float]]:
    """Return the features of each token by name."""
    allowed = (str, tuple) if kind == WORDS else NAMED
    for token in sentence:
        if not isinstance(token, allowed):
            raise InputTypeError(f"a token is of type {type(token).__name__}")
        if not isinstance(token, (str, dict)) and not all(isinstance(one, str) for one in token):
            raise InputTypeError("the words, columns and names of a token must be strings")
    if kind == WORDS:
        widths = {1 if isinstance(token, str) else len(token) for token in sentence}
        if 0 in widths or len(widths) > 1:
            raise InputError("tokens have different numbers of columns, or none")
    found = word_features(sentence) if kind == WORDS else sentence
    return [dict(_named_values(x) if isinstance(x, dict) else dict.fromkeys(x, 1.0)) for x in found]


def _named_values(values: dict[Any, Any]) -> Iterable[tuple[str, float]]:
    """Yield the features of a dictionary: strings are features of their own; None and 0 are left out."""
    for key, x in values.items():
        if not isinstance(key, str):
            raise InputTypeError("the names of a token's features must be strings")
        if isinstance(x, str):
            yield f"{key}={x}", 1.0
        elif x is not None:
            if not isinstance(x, (Real, np.bool_)):
                raise InputTypeError(f"the value of {key!r} is of type {type(x).__name__}")
            number = float(x)
            if not np.isfinite(number):
                raise InputError(f"the value of {key!r} is not finite")
            if number:
                yield key, number


def _bad_sentence(error: Exception, i: int, kind: str, name: str) -> InputError:
    wanted = (
        "words, or tuples of a word and the same number of columns"
        if kind == WORDS
        else ("lists of names, or dictionaries of numbers and strings")
    )
    return InputError(f"Sentence {i} of {name} cannot be used: {error}; all tokens must be {wanted}.")


def _rows_of_matrices(sentences: Sequence[Any], width: int, name: str) -> TokenRows:
    matrices = []
    for i, sentence in enumerate(sentences):
        if not _is_matrix(sentence):
            raise InputError(f"Sentence {i} of {name} must be a matrix, as the first one is.")
        matrix = (
            sentence
            if len(sentence.shape) == 2 and sentence.shape[0] == 0
            else checks.features(sentence, f"Sentence {i} of {name}")
        )
        if matrix.shape[1] != width:
            raise InputError(
                f"Sentence {i} of {name} has {matrix.shape[1]} columns, but others have {width}."
            )
        matrices.append(sparse.csr_array(matrix))
    X = sparse.csr_array(sparse.vstack(matrices)) if matrices else sparse.csr_array((0, width))
    X.sum_duplicates()
    starts = np.concatenate([[0], np.cumsum([matrix.shape[0] for matrix in matrices])]).astype(np.int64)
    arrays = X.indptr.astype(np.int64), X.indices.astype(np.uint32)
    return TokenRows(CsrRows(*arrays, X.data.astype(np.float64)), starts)
