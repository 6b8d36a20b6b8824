"""Rows with several texts: each field has n-grams of its own.

A row is a JSON object, as a string, so that it travels wherever a text does. Every token begins with one
byte that says which field it is from, so a word in a title is another feature than the same word in a body.
N-grams of tokens of two fields are never features.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dropglm.base.encoded_texts import SPARE
from dropglm.base.errors import InputError
from dropglm.text.ngrams.tokens import TokenBuffers, Tokens, keys_of

# Control characters that are no white space
MARKS = bytes([*range(1, 9), *range(14, 28)])


def decode_row(row: str, number: int = 0) -> dict[str, Any]:
    """Return the values of a row.

    Examples
    --------
    >>> decode_row('{"title": "so dull", "price": 3.5}')
    {'title': 'so dull', 'price': 3.5}
    """
    try:
        values = json.loads(row)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        shown = row if len(row) <= 40 else f"{row[:40]}…"
        raise InputError(
            f"Row {number} (counted from 0) is {shown!r}, not a JSON object with the columns of the model."
        )
    return values


def texts_of(rows: Iterable[str], fields: Sequence[str]) -> list[str]:
    """Return the texts of rows, those of one row after those of another; missing ones are empty.

    Examples
    --------
    >>> texts_of(['{"title": "so dull", "body": null}'], ["title", "body"])
    ['so dull', '']
    """
    decoded = (decode_row(row, number) for number, row in enumerate(rows))
    return [values.get(field) or "" for values in decoded for field in fields]


def mark_of(field: int) -> str:
    """Return the character with which the tokens of a field begin."""
    return chr(MARKS[field])


def readable(name: str, fields: Sequence[str] | None) -> str:
    r"""Return the name of an n-gram with that of its field in place of the marks.

    Examples
    --------
    >>> readable("\x02so \x02dull", ["title", "body"]), readable("so dull", None)
    ('body: so dull', 'so dull')
    """
    if fields is None:
        return name
    mark = name[0]
    return f"{fields[MARKS.index(ord(mark))]}: {name[1:].replace(f' {mark}', ' ')}"


def check_fields(fields: Any) -> None:
    """Raise an error unless these are distinct names, or None."""
    if fields is None:
        return
    names = isinstance(fields, (list, tuple)) and all(isinstance(name, str) for name in fields)
    if not names or not fields or len(set(fields)) < len(fields):
        raise InputError(f"fields must be a list of different names, or None, got {fields!r}.")
    if len(fields) > len(MARKS):
        raise InputError(f"There are {len(fields)} columns of texts, but at most {len(MARKS)} are supported.")


class FieldTokenizer:
    """Splits the fields of rows as a tokenizer splits texts, and marks their tokens.

    Parameters
    ----------
    tokenizer : Tokenizer
    fields : sequence of str
    """

    def __init__(self, tokenizer: Any, fields: Sequence[str]) -> None:
        self.tokenizer, self.fields = tokenizer, tuple(fields)

    def prepare(self, rows: Sequence[str]) -> "FieldTexts":
        """Return rows that can be split on any thread."""
        return FieldTexts(self.tokenizer.prepare(texts_of(rows, self.fields)), len(self.fields))

    def split(self, rows: Sequence[str], room: TokenBuffers | None = None) -> Tokens:
        """Return the tokens of all rows."""
        return self.prepare(rows).tokens(0, len(rows), room or TokenBuffers())

    def words(self, row: str) -> list[str]:
        """Return the marked tokens of one row."""
        return [
            mark_of(field) + word
            for field, text in enumerate(texts_of([row], self.fields))
            for word in self.tokenizer.words(text)
        ]


class FieldTexts(NamedTuple):
    """The texts of rows, so many of them per row."""

    texts: Any
    fields: int

    @property
    def cost(self) -> np.ndarray:
        """Cumulative number of tokens."""
        return np.asarray(self.texts.cost[:: self.fields])

    def tokens(self, first: int, last: int, room: TokenBuffers) -> Tokens:
        """Return the marked tokens of rows first to last - 1."""
        found = self.texts.tokens(first * self.fields, last * self.fields, room)
        n = int(found.counts.sum())
        before = np.cumsum(found.counts) - found.counts
        places = np.repeat(found.first - before, found.counts) + np.arange(n)  # stop words leave gaps
        start, sizes = found.start[places], found.stop[places] - found.start[places] + 1
        ends = np.zeros(n + 1, np.int64)
        np.cumsum(sizes, out=ends[1:])
        letters = np.zeros(int(ends[-1]) + SPARE, np.uint8)
        # Each token is copied with the byte before it, in place of which its mark is written.
        letters[: ends[-1]] = found.letters[np.repeat(start - 1 - ends[:-1], sizes) + np.arange(ends[-1])]
        of_text = np.resize(np.frombuffer(MARKS, np.uint8)[: self.fields], len(found.counts))
        letters[ends[:-1]] = np.repeat(of_text, found.counts)
        keys = np.empty(n, np.int64)
        keys_of(letters, ends, keys)
        counts = found.counts.reshape(-1, self.fields).sum(axis=1)
        return Tokens(letters, np.cumsum(counts) - counts, counts, ends[:-1], ends[1:], keys)


def within_one_field(letters: np.ndarray, starts: np.ndarray, spelling: np.ndarray) -> np.ndarray:
    """Return which n-grams have tokens of one field only.

    Parameters
    ----------
    letters, starts : ndarrays
        The words, and where each begins.
    spelling : ndarray of shape (n_ngrams, longest)
        The word numbers of each n-gram, padded with -1.
    """
    marks = np.append(letters[starts], 0)
    own = marks[spelling]
    return np.asarray(((own == own[:, :1]) | (spelling < 0)).all(axis=1))


def divide_by_field(X: Any, field_of: np.ndarray, fields: int, power: int) -> None:
    """Give the part of each field in the rows of a CSR matrix the same norm, so that rows of all have norm 1.

    Parameters
    ----------
    X : CSR matrix, changed in place
    field_of : ndarray of shape (d,)
        The field of each column.
    fields : int
    power : int
        1 or 2, of the norm.
    """
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    places = rows * fields + field_of[X.indices]
    sums = np.bincount(places, np.abs(X.data) ** power, minlength=X.shape[0] * fields)
    sizes = (fields * sums) ** (1.0 / power)
    X.data /= sizes[places].astype(X.dtype)
