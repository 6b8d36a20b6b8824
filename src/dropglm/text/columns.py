"""Tables of texts, numbers and categories: which columns are used, and what they are as features.

A row travels as a string, a JSON object with the values of its columns, wherever a text does: through fits,
partitions, files and services. Its texts have n-grams (``ngrams.fields``). The other columns become two
sparse blocks beside the n-grams, one of numbers and one of categories, and a fitted model has their
coefficients in a ``ColumnHead``.

A number v becomes u, the share of the numbers in the fit that are smaller, so that neither outliers nor units
matter. Its features are the normal score of u, and two sets of hat functions of u, a coarse and a fine one:
sums of them bend, and the penalty prefers smooth sums. A date is the number of its days, with its weekday and
its month as categories. A category has a feature of its own if several rows have it; the others share one. A
missing value is a category as well.
"""

import json
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.registry import quoted
from dropglm.tables import class_name
from dropglm.text.ngrams.fields import check_fields, decode_row, texts_of

KINDS = ("text", "numeric", "categorical")
# A column of strings has categories if at most this share of the rows have a value that no other row has, and
# its values have few words; otherwise it has texts.
MOST_SINGLE, MOST_WORDS = 0.2, 6.0
SHOWN = 5  # values of an error


class Columns(NamedTuple):
    """The columns of a table that a model uses.

    Attributes
    ----------
    text, numeric, categorical : tuple of str
        Their names. Numeric ones may be dates.
    left_out : dict of str
        Why other columns are not used, if they were looked at.

    Examples
    --------
    >>> columns = Columns.found_in({"review": ["so dull", "lovely film"], "price": [3, None], "x": [1, 1]})
    >>> print(columns)
    text: review; numeric: price; left out: x (a single value)
    >>> columns.rows([{"review": "dull", "price": "4"}])
    ['{"review": "dull", "price": 4.0}']
    """

    text: tuple[str, ...]
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    left_out: Mapping[str, str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns that are used."""
        return (*self.text, *self.numeric, *self.categorical)

    @property
    def others(self) -> tuple[str, ...]:
        """The names of those that are not texts."""
        return (*self.numeric, *self.categorical)

    @property
    def are_plain_texts(self) -> bool:
        """Whether there is a single column of texts and nothing else."""
        return len(self.names) == len(self.text) == 1

    def __str__(self) -> str:
        parts = [f"{kind}: {', '.join(getattr(self, kind))}" for kind in KINDS if getattr(self, kind)]
        others = ", ".join(f"{name} ({why})" for name, why in self.left_out.items())
        return "; ".join([*parts, *([f"left out: {others}"] if others else [])])

    def check(self) -> Self:
        """Raise an error unless there is a column of texts, and no column is named twice."""
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise InputError(f"The column {twice[0]!r} is named twice; a column is of one kind.", *KINDS)
        if not self.text:
            raise InputError(
                "There is no column of texts, which the model needs; name one as "
                "text, or use scikit-learn's HistGradientBoostingClassifier for other columns alone.",
                "text",
            )
        check_fields(self.text)
        return self

    @classmethod
    def found_in(
        cls,
        table: Any,
        more: Any = None,
        *,
        text: Iterable[str] | str | None = None,
        numeric: Iterable[str] | str | None = None,
        categorical: Iterable[str] | str | None = None,
    ) -> Self:
        """Return the columns of a table, by the types of their values unless they are named."""
        table, more = as_table(table), None if more is None else as_table(more)
        names, known = column_names(table), [] if more is None else column_names(more)
        given: dict[str, tuple[str, ...]] = {}
        for kind, own in zip(KINDS, (text, numeric, categorical), strict=True):
            if own is not None:
                given[kind] = (own,) if isinstance(own, str) else tuple(own)
        for name in (name for own in given.values() for name in own):
            if name not in names:
                raise no_column(name, names)
        found: dict[str, list[str]] = {kind: list(given.get(kind, ())) for kind in KINDS}
        left_out = {}
        if len(given) < len(KINDS):
            taken = {name for own in given.values() for name in own}
            for name in names:
                if name in taken:
                    continue
                values = [*column_of(table, name), *(column_of(more, name) if name in known else ())]
                kind, why = kind_of(values)
                if why or kind in given:
                    left_out[name] = why or f"{kind} columns were named"
                else:
                    found[kind].append(name)
        text, numeric, categorical = (tuple(found[kind]) for kind in KINDS)
        return cls(text, numeric, categorical, left_out).check()

    def rows(self, X: Any, name: str = "X") -> list[str]:
        """Return the rows of a table as strings.

        Parameters
        ----------
        X : data frame, mapping of columns, or sequence of mappings or of rows as strings
        name : str
            Its name, for errors.
        """
        if self.are_plain_texts and not is_table(X):
            X = [one if isinstance(one, Mapping) else {self.text[0]: one} for one in X]
        columns = self._columns_of(X, name)
        rows = []
        for number, values in enumerate(zip(*(columns[one] for one in self.names), strict=True)):
            try:
                rows.append(self.encode(values))
            except BadValueError as error:
                raise InputError(f"Row {number} of {name} (counted from 0) {error}", *KINDS[1:]) from None
        return rows

    def encode(self, values: Sequence[Any]) -> str:
        """Return the values of a row, in the order of our names, as a string; a single text as it is."""
        encoders = (
            [_text] * len(self.text) + [_number] * len(self.numeric) + [_category] * len(self.categorical)
        )
        found: list[Any] = []
        for encode, name, value in zip(encoders, self.names, values, strict=True):
            try:
                found.append(encode(value))
            except BadValueError as error:
                raise BadValueError(f"has {_short(value)} in column {name!r}, which {error}") from None
        if self.are_plain_texts:
            return found[0]
        return json.dumps(dict(zip(self.names, found, strict=True)), ensure_ascii=False)

    def _columns_of(self, X: Any, name: str) -> dict[str, Sequence[Any]]:
        """Return the values of each column."""
        if is_table(X):
            there = column_names(X)
            for column in self.names:
                if column not in there:
                    raise no_column(column, there, name)
            return {column: column_of(X, column) for column in self.names}
        if isinstance(X, str | bytes) or not isinstance(X, Iterable):
            raise InputTypeError(
                f"{name} must be a data frame, or a list of rows with the columns {quoted(self.names)}."
            )
        rows = [decode_row(row, k) if isinstance(row, str) else row for k, row in enumerate(X)]
        for number, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise InputTypeError(f"Row {number} of {name} (counted from 0) is not a mapping of columns.")
            for column in self.names:
                if column not in row:
                    raise no_column(column, list(row), f"row {number} of {name}")
        return {column: [row[column] for row in rows] for column in self.names}

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds."""
        return {kind: list(getattr(self, kind)) for kind in KINDS}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild the columns, after checking them."""
        text, numeric, categorical = (tuple(state[kind]) for kind in KINDS)
        return cls(text, numeric, categorical).check()


def plain_texts(columns: Columns | None, rows: Sequence[str]) -> Sequence[str]:
    """Return the texts of rows, for encoders and people: those of a row as one string."""
    if columns is None or columns.are_plain_texts:
        return rows
    found, size = texts_of(rows, columns.text), len(columns.text)
    return ["\n".join(filter(None, found[k : k + size])) for k in range(0, len(found), size)]


def as_table(X: Any) -> Any:
    """Return a list of rows as a mapping of columns, those of the first row; a table as it is."""
    if is_table(X) or isinstance(X, str | bytes) or not isinstance(X, Iterable):
        return X
    rows = [decode_row(row, k) if isinstance(row, str) else row for k, row in enumerate(X)]
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        raise InputTypeError("X must be a data frame, or a list of mappings with the values of columns.")
    return {name: [row.get(name) for row in rows] for name in rows[0]}


def is_table(X: Any) -> bool:
    """Return whether this has columns: a data frame, a table of pyarrow, or a mapping."""
    return hasattr(X, "columns") or hasattr(X, "column_names") or isinstance(X, Mapping)


def column_names(X: Any) -> list[str]:
    """Return the names of the columns of a table."""
    if not is_table(X):
        raise InputTypeError(f"X must be a data frame of polars, pandas or pyarrow, got {type(X).__name__}.")
    names = X.column_names if hasattr(X, "column_names") else X if isinstance(X, Mapping) else X.columns
    found = list(names)
    for name in found:
        if not isinstance(name, str):
            raise InputTypeError(f"The names of columns must be strings, got {name!r}.")
    twice = [name for name, count in Counter(found).items() if count > 1]
    if twice:
        raise InputError(f"{found.count(twice[0])} columns are named {twice[0]!r}; rename all but one.")
    return found


def column_of(X: Any, name: str) -> list[Any]:
    """Return the values of a column as objects of Python; missing ones are None."""
    column = X[name]
    for method in ("to_pylist", "to_list", "tolist"):  # of pyarrow, of polars and pandas, of NumPy
        if hasattr(column, method):
            column = getattr(column, method)()
            break
    return [None if is_missing(value) else value for value in column]


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas' NA; an array
        return type(value).__name__ == "NAType"


def no_column(name: str, names: Sequence[str], where: str = "X") -> InputError:
    """Return the error about a column that is not there."""
    return InputError(f"{where} has no column {name!r}; its columns: {quoted(map(str, names))}.")


def kind_of(values: Sequence[Any]) -> tuple[str, str]:
    """Return of which kind a column is, and why it cannot be used, if so.

    Examples
    --------
    >>> [kind_of(own)[0] for own in ([1, 2.5], ["1", "2"], [True, False], ["de", "fr"] * 9, ["a film", "b"])]
    ['numeric', 'numeric', 'categorical', 'categorical', 'text']
    """
    known = [value for value in values if value is not None and value != ""]
    if not known:
        return "", "no values"
    if any(isinstance(value, list | dict | tuple | bytes) or hasattr(value, "shape") for value in known):
        return "", "lists or records"
    counts = Counter(map(str, known))
    if len(counts) == 1 and len(known) == len(values):
        return "", "a single value"
    if all(isinstance(value, bool) for value in known):
        return "categorical", ""
    if all(not isinstance(value, bool) and _is_number_or_date(value) for value in known):
        return "numeric", ""
    single = sum(count == 1 for count in counts.values()) / len(known)
    words = sum(len(value.split()) * count for value, count in counts.items()) / len(known)
    return ("text" if single > MOST_SINGLE or words > MOST_WORDS else "categorical"), ""


def _is_number_or_date(value: Any) -> bool:
    try:
        return _number(value) is not None
    except BadValueError:
        return False


class BadValueError(InputError):
    """A value that a column cannot have."""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _text(value: Any) -> str:
    return "" if is_missing(value) else str(value)


def _category(value: Any) -> str | None:
    if isinstance(value, list | dict | tuple | bytes):
        raise BadValueError("is not a category.")
    return None if is_missing(value) else class_name(value.isoformat() if isinstance(value, date) else value)


def _number(value: Any) -> float | str | None:
    """Return a number, or a date and time in the form of ISO 8601; None if it is missing."""
    if is_missing(value):
        return None
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, time):
        return timedelta(hours=value.hour, minutes=value.minute, seconds=value.second).total_seconds()
    if isinstance(value, date):
        return _iso(value)
    if isinstance(value, str) and not value.strip():
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        try:
            return _iso(datetime.fromisoformat(value.strip()))
        except (AttributeError, ValueError):
            raise BadValueError(
                "is neither a number nor a date such as 2026-11-19; make the column categorical or a text, "
                "or leave it out."
            ) from None
    if math.isinf(found):
        raise BadValueError("is not finite.")
    return None if math.isnan(found) else found


def _iso(value: date) -> str:
    if not isinstance(value, datetime):
        return value.isoformat()
    value = value.replace(tzinfo=None)  # as on the clock there, which its weekday belongs to
    return (value if value.time() != time() else value.date()).isoformat()


COARSE, FINE = 4, 16  # hat functions of a number
MOST_SHARES = 256  # pairs of a number and its share that are stored
FEWEST_ROWS = 2  # of a category with a feature of its own
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
EPOCH = datetime(1970, 1, 1)
LARGEST_WHOLE = 1e15  # number that is shown without a fraction or an exponent

_SHARES = np.linspace(0.0, 1.0, 1001)[1:-1]
NORMAL_SCORES = _SHARES, np.array([NormalDist().inv_cdf(share) for share in _SHARES.tolist()])

# For some rows: the numbers of the rows, the columns of a block and the values in them
Entries = tuple[np.ndarray, np.ndarray, np.ndarray]


class NumberScale(NamedTuple):
    """How numbers become shares u of the numbers in the fit, and these features.

    Attributes
    ----------
    grid, shares : ndarrays
        Numbers in ascending order, and u of each; between them u is interpolated.

    Examples
    --------
    >>> scale = NumberScale.of(Counter({1.0: 1, 2.0: 2, 100.0: 1}))
    >>> scale.shares, scale.width
    (array([0.125, 0.5  , 0.875]), 4)
    """

    grid: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, counts: Mapping[float, int]) -> Self:
        """Return the scale of numbers with these counts."""
        grid = np.array(sorted(counts), np.float64)
        times = np.array([counts[value] for value in grid.tolist()], np.float64)
        shares = (np.cumsum(times) - 0.5 * times) / times.sum() if len(grid) else np.empty(0)
        if len(grid) > MOST_SHARES:
            wanted = np.linspace(shares[0], shares[-1], MOST_SHARES)
            kept = np.unique(np.searchsorted(shares, wanted).clip(0, len(grid) - 1))
            grid, shares = grid[kept], shares[kept]
        return cls(grid, shares)

    @property
    def knots(self) -> list[np.ndarray]:
        """Where the hat functions have their peaks: those of each set; none if there are not two numbers."""
        n = len(self.shares)
        if n < 2:
            return []
        if n <= COARSE:
            return [self.shares]
        fine = self.shares if n <= FINE else np.linspace(self.shares[0], self.shares[-1], FINE)
        return [np.linspace(self.shares[0], self.shares[-1], COARSE), fine]

    @property
    def width(self) -> int:
        """Number of features."""
        knots = self.knots
        return int(bool(knots)) + sum(map(len, knots))

    def entries(self, values: np.ndarray) -> Entries:
        """Return the features of numbers, of which missing ones are NaN."""
        known, knots = np.flatnonzero(~np.isnan(values)), self.knots
        if not knots:
            return known[:0], known[:0], np.empty(0)
        u = np.interp(values[known], self.grid, self.shares)
        found, first = [(known, np.zeros_like(known), np.interp(u, *NORMAL_SCORES))], 1
        for peaks in knots:
            place = np.interp(u, peaks, np.arange(len(peaks)))
            left = np.minimum(place.astype(np.intp), len(peaks) - 2)
            found.append((known, first + left, 1.0 - (place - left)))
            found.append((known, first + left + 1, place - left))
            first += len(peaks)
        return joined(found)


class Categories(NamedTuple):
    """The values of a column that have features of their own, and whether others, and missing ones, have one.

    Examples
    --------
    >>> Categories.of(Counter({"de": 5, "fr": 2, "it": 1, None: 3}))
    Categories(names=('de', 'fr'), rare=True, missing=True)
    """

    names: tuple[str, ...]
    rare: bool
    missing: bool

    @classmethod
    def of(cls, counts: Mapping[Any, int]) -> Self:
        """Return the categories of a column with these values."""
        known = {name: count for name, count in counts.items() if name is not None}
        names = sorted(name for name, count in known.items() if count >= FEWEST_ROWS)
        return cls(tuple(names), len(names) < len(known), None in counts)

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.names) + self.rare + self.missing

    def entries(self, values: Sequence[Any]) -> Entries:
        """Return the features of values, of which missing ones are None."""
        number = {name: k for k, name in enumerate(self.names)}
        rare = len(self.names) if self.rare else -1
        number_of_missing = len(self.names) + self.rare if self.missing else -1
        columns = np.array(
            [number_of_missing if value is None else number.get(value, rare) for value in values], np.intp
        )
        rows = np.flatnonzero(columns >= 0)
        return rows, columns[rows], np.ones(len(rows))


def joined(parts: Sequence[Entries]) -> Entries:
    """Return the entries of several features."""
    rows, columns, values = (np.concatenate(own) for own in zip(*parts, strict=True))
    return rows, columns, values


@dataclass(frozen=True, eq=False)
class ColumnCode:
    """A column of numbers, dates or categories as features.

    Attributes
    ----------
    name : str
    scale : NumberScale or None
        Of its numbers, or of the days of its dates.
    categories : tuple of Categories
        Of its values; of the weekdays and months of dates; of numbers, whether they are missing.
    """

    name: str
    scale: NumberScale | None
    categories: tuple[Categories, ...]

    @classmethod
    def of(cls, name: str, counts: Counter[Any], *, numeric: bool) -> Self:
        """Return the code of a column with these values."""
        if not numeric:
            return cls(name, None, (Categories.of(counts),))
        kinds = {isinstance(value, str) for value in counts if value is not None}
        if len(kinds) > 1:
            example = next(value for value in counts if isinstance(value, str))
            raise InputError(f"Column {name!r} has numbers and dates, such as {example!r}; give one of both.")
        if kinds != {True}:
            numbers = Counter({value: n for value, n in counts.items() if value is not None})
            return cls(name, NumberScale.of(numbers), (Categories((), rare=False, missing=None in counts),))
        days: Counter[float] = Counter()
        weekdays: Counter[str | None] = Counter()
        months: Counter[str | None] = Counter()
        for value, n in counts.items():
            day, weekday, month = _parts_of_date(value)
            if day is not None:
                days[day] += n
            weekdays[weekday] += n
            months[month] += n
        plain = Categories.of(months)._replace(missing=False)  # the weekday is missing as well
        return cls(name, NumberScale.of(days), (Categories.of(weekdays), plain))

    @property
    def is_date(self) -> bool:
        """Whether its values are dates."""
        return len(self.categories) == 2

    @property
    def width(self) -> int:
        """Number of features."""
        return (self.scale.width if self.scale else 0) + sum(one.width for one in self.categories)

    def entries(self, values: Sequence[Any]) -> Entries:
        """Return the features of values."""
        views: list[Any] = [values]
        if self.scale is not None:
            for value in values:
                if value is not None and isinstance(value, str) is not self.is_date:
                    what = "dates" if self.is_date else "numbers"
                    raise InputError(f"Column {self.name!r} has {value!r}, but the model knows {what} there.")
            if self.is_date:
                values, *views = zip(*map(_parts_of_date, values), strict=True)
        found, first = [], 0
        if self.scale is not None:
            found.append(self.scale.entries(np.array(values, np.float64)))
            first = self.scale.width
        for categories, own in zip(self.categories, views, strict=True):
            rows, columns, ones = categories.entries(own)
            found.append((rows, first + columns, ones))
            first += categories.width
        return joined(found)

    def shown(self, value: Any) -> str:
        """Return the column and a value for an explanation."""
        if value is None:
            return f"{self.name}: missing"
        if self.scale is not None:
            whole = not self.is_date and float(value).is_integer() and abs(value) < LARGEST_WHOLE
            return f"{self.name}: {value if self.is_date else int(value) if whole else format(value, 'g')}"
        (categories,) = self.categories
        if value in categories.names:
            return f"{self.name}: {value}"
        return f"{self.name}: {value} ({'rare' if categories.rare else 'unknown'})"


def _parts_of_date(value: str | None) -> tuple[float | None, str | None, str | None]:
    """Return the day since 1970, the weekday and the month of a date."""
    if value is None:
        return None, None, None
    found = datetime.fromisoformat(value)
    return (found - EPOCH) / timedelta(1), WEEKDAYS[found.weekday()], f"{found.month:02d}"


def values_of(rows: Iterable[str], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values of columns of rows."""
    decoded = [decode_row(row, number) for number, row in enumerate(rows)]
    return {name: [values.get(name) for values in decoded] for name in names}


def count_values(rows: Iterable[str], names: Sequence[str]) -> Counter[tuple[str, Any]]:
    """Return how often each value of each column occurs; counts of several parts can be added."""
    return Counter((name, value) for name, own in values_of(rows, names).items() for value in own)


def counts_by_column(counts: Counter[tuple[str, Any]], names: Sequence[str]) -> dict[str, Counter[Any]]:
    """Return the counts of each column."""
    found: dict[str, Counter[Any]] = {name: Counter() for name in names}
    for (name, value), count in counts.items():
        found[name][value] = count
    return found


@dataclass(frozen=True, eq=False)
class ColumnFeatures:
    """The columns of numbers and dates as one block of features, and those of categories as another one.

    Attributes
    ----------
    codes : tuple of ColumnCode
        Those with numbers come first.
    sizes : tuple of float
        By which the features of each block are divided, so that the root mean square of the lengths of its
        rows is 1.
    missing : mapping of str to int
        How many rows of the fit have no value, by column; empty if the model comes from a file.
    """

    codes: tuple[ColumnCode, ...]
    sizes: tuple[float, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: Columns, counts: Mapping[str, Counter[Any]]) -> Self:
        """Return the features of columns, given the values in the fit."""
        codes = (
            ColumnCode.of(name, counts[name], numeric=name in columns.numeric) for name in columns.others
        )
        missing = {name: counts[name][None] for name in columns.others if counts[name][None]}
        return cls(tuple(codes), missing=missing)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(code.name for code in self.codes)

    def summary(self) -> dict[str, Any]:
        """Return what is done with each column, for summaries."""
        return {
            "numeric": [code.name for code in self.codes if code.scale],
            "dates": [code.name for code in self.codes if code.is_date],
            "missing": dict(self.missing),
            "categories": {code.name: len(code.categories[0].names) for code in self.codes if not code.scale},
            "rare": [code.name for code in self.codes if code.categories[0].rare],
            "blocks": [name for name, width in self._widths.items() if width],
        }

    @property
    def _widths(self) -> dict[str, int]:
        """The number of features of numbers and dates, and of categories."""
        numbers = sum(code.width for code in self.codes if code.scale is not None)
        return {"numbers": numbers, "categories": self.starts[-1] - numbers}

    @property
    def starts(self) -> list[int]:
        """The first feature of each column, and the number of all features."""
        return [0, *np.cumsum([code.width for code in self.codes]).tolist()]

    @property
    def cuts(self) -> list[int]:
        """Where each block begins, and where the last one ends."""
        return sorted({0, self._widths["numbers"], self.starts[-1]})

    def with_sizes(self, squares: np.ndarray, n: int) -> Self:
        """Return the features with the sizes of blocks, given the sums of their squares over n rows."""
        return replace(self, sizes=tuple(float(np.sqrt(one / n)) or 1.0 for one in squares))

    def squares(self, X: Any) -> np.ndarray:
        """Return the sum of the squares of the features of each block."""
        return np.array([np.square(one.data, dtype=np.float64).sum() for one in self.blocks(X)])

    def blocks(self, X: Any) -> list[Any]:
        """Return the features of rows block by block."""
        return [X[:, start:end] for start, end in pairwise(self.cuts)]

    def __call__(self, rows: Sequence[str]) -> Any:
        """Return the features of rows, a CSR array."""
        values, starts, cuts = values_of(rows, self.names), self.starts, self.cuts
        sizes = self.sizes or [1.0] * (len(cuts) - 1)
        parts = []
        for code, start in zip(self.codes, starts, strict=False):
            own, columns, entries = code.entries(values[code.name])
            size = sizes[min(bisect_right(cuts, start), len(sizes)) - 1]
            parts.append((own, start + columns, entries / size))
        places, columns, entries = joined(parts)
        shape = len(rows), starts[-1]
        X = sparse.csr_array((entries.astype(np.float32), (places, columns)), shape=shape)
        X.sum_duplicates()
        X.eliminate_zeros()
        return X

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds."""
        scales = [code.scale for code in self.codes if code.scale is not None]
        lengths = np.array([len(scale.grid) for scale in scales], np.int64)
        empty = [np.empty(0)]
        return {
            "grids": np.concatenate([*empty, *(scale.grid for scale in scales)]),
            "shares": np.concatenate([*empty, *(scale.shares for scale in scales)]),
            "lengths": lengths,
            "dates": [code.is_date for code in self.codes],
            **{
                name: [getattr(one, name) for code in self.codes for one in code.categories]
                for name in Categories._fields
            },
            "sizes": list(self.sizes),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], columns: Columns) -> Self:
        """Rebuild the features, after checking their parts."""
        ends = np.cumsum(state["lengths"]).tolist()
        names = columns.others
        views = [2 if is_date else 1 for is_date in state["dates"]]
        categories = [
            Categories(tuple(own), rare, missing)
            for own, rare, missing in zip(*(state[name] for name in Categories._fields), strict=True)
        ]
        sizes = {len(state["grids"]), len(state["shares"]), ends[-1] if ends else 0}
        if (
            len(names) != len(views)
            or len(ends) != len(columns.numeric)
            or sum(views) != len(categories)
            or len(sizes) > 1
            or any(state["dates"][len(ends) :])
        ):
            raise InputError("the columns of the table do not match their features")
        scales = [
            NumberScale(*(state[name][start:end] for name in ("grids", "shares")))
            for start, end in zip([0, *ends], ends, strict=False)
        ]
        if any((np.diff(own) < 0).any() for scale in scales for own in scale):
            raise InputError("the numbers of a column are not sorted")
        rest = iter(categories)
        codes = [
            ColumnCode(
                name, scales[k] if k < len(scales) else None, tuple(next(rest) for _ in range(views[k]))
            )
            for k, name in enumerate(names)
        ]
        features = cls(tuple(codes), tuple(state["sizes"]))
        if len(features.sizes) != len(features.cuts) - 1 or not all(features.sizes):
            raise InputError("the sizes of the blocks of columns do not match the columns")
        return features


class ColumnContributions(NamedTuple):
    """What the columns of a row add to the predictors: a name and a vector for each column."""

    names: list[str]
    weights: np.ndarray  # (rows of coef, columns)


@dataclass(eq=False)
class ColumnHead:
    """Coefficients of the features of columns.

    Attributes
    ----------
    features : ColumnFeatures
    coef : ndarray of shape (1, k) for two classes, else (K, k)
    """

    features: ColumnFeatures
    coef: np.ndarray

    def combined(self, others: Sequence["ColumnHead"], factors: Sequence[np.ndarray]) -> "ColumnHead":
        """Return the sum of the coefficients of several models, times their factors."""
        coef = sum(t * one.coef for t, one in zip(factors, (self, *others), strict=True))
        return ColumnHead(self.features, np.asarray(coef, np.float32))

    def predictors(self, X: Any) -> np.ndarray:
        """Return what the columns add to the predictors; shape (n, K) or (n, 1)."""
        return np.asarray(X @ self.coef.T)

    def contributions(self, row: str) -> ColumnContributions:
        """Return what each column of a row adds to the predictors."""
        x = np.asarray(self.features([row]).toarray()[0], np.float64)
        starts, values = self.features.starts, values_of([row], self.features.names)
        weights = np.add.reduceat(
            np.append(self.coef * x, np.zeros((len(self.coef), 1)), axis=1), starts[:-1], axis=1
        )
        # A column without features has the next one's first term.
        widths = np.diff(starts)
        weights[:, widths == 0] = 0.0
        names = [code.shown(values[code.name][0]) for code in self.features.codes]
        return ColumnContributions(names, weights)

    def to_state(self) -> dict[str, Any]:
        """Return what a model file holds."""
        return self.features.to_state() | {"coef": self.coef}

    @classmethod
    def from_state(cls, state: dict[str, Any], columns: Columns, rows: int) -> Self:
        """Rebuild the head, after checking its parts; ``rows`` is the number of predictors."""
        features = ColumnFeatures.from_state(state, columns)
        if state["coef"].shape != (rows, features.starts[-1]):
            raise InputError("the coefficients of the columns do not match their features and the classes")
        return cls(features, np.asarray(state["coef"]))
