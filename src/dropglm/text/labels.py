"""Labels of texts: checks, positions among the classes of a model, and hints at likely mistakes.

Hints are about class names that look alike, and about marks of missing labels.
"""

import unicodedata
import warnings
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from dropglm.base import checks
from dropglm.base.errors import InputError, stacklevel
from dropglm.base.gpu_arrays import to_host
from dropglm.places.labels import as_rows, has_several, with_labels
from dropglm.tables import class_name
from dropglm.tables.errors import listed


def check_text_labels(y: Any, n: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the labels of n texts that are not missing, and which texts these are; None if all of them.

    Labels that cannot be classes raise an error. If texts have several labels, there is a tuple per text, or
    a matrix of 0 and 1.

    Examples
    --------
    >>> check_text_labels(["good", "bad"], 2)
    (array(['good', 'bad'], dtype='<U4'), None)
    >>> check_text_labels([1, None], 2)
    (array([1]), array([ True, False]))
    >>> check_text_labels([["a", "b"], None], 2)
    (array([('a', 'b')], dtype=object), array([ True, False]))
    """
    y = y if hasattr(y, "__len__") or y is None or sparse.issparse(y) else list(y)
    if not n:
        raise InputError("X is empty; give at least two texts with labels.")
    if has_several(y):
        known = with_labels(y)
        return (as_rows(y), None) if known.all() else (as_rows(kept_entries(y, known, "y")), known)
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise InputError(f"y has shape {labels.shape}, but X has {n} texts.")
    missing, kept = checks.without_label(labels), None
    if missing.any():
        kept = ~missing
        labels = labels[kept]
        # The type is that of the other labels alone: gaps make floats or objects of integers.
        if isinstance(y, (list, tuple)):
            labels = np.asarray(kept_entries(y, kept, "y"))
        elif labels.dtype == object and not all(isinstance(label, str) for label in labels):
            labels = np.asarray(labels.tolist())
    infinite = checks.missing(labels)
    if infinite is not None:
        raise InputError(f"y has the label {labels[infinite]}; use strings or integers as classes.")
    fraction = checks.fractional(labels)
    if fraction is not None:
        raise InputError(
            f"y has fractional numbers such as {float(labels[fraction])}; use strings or integers as classes."
        )
    return labels, kept


def kept_entries(given: Any, kept: np.ndarray, name: str) -> Any:
    """Return the entries of those of the texts that are kept; ``given`` has one entry per text.

    Examples
    --------
    >>> kept_entries([("a", 1), None], np.array([True, False]), "groups")
    [('a', 1)]
    """
    given = to_host(given)
    if not hasattr(given, "__len__") or len(given) != len(kept):
        raise InputError(f"{name} must have one entry for each of the {len(kept)} texts of X.")
    if hasattr(given, "shape"):
        return np.asarray(given)[kept]
    return [entry for entry, keep in zip(given, kept, strict=True) if keep]


def find_class_numbers(y: Any, classes: Any) -> np.ndarray:
    """Return the position of each label among the classes of a model; -1 if it is not one of them.

    Labels of another type match by the name of their class: 1 in a Parquet file is "1" in a CSV file. True,
    true and TRUE are the same label unless they are several classes.

    Examples
    --------
    >>> find_class_numbers(["2", "1", "3"], [1, 2])
    array([ 1,  0, -1])
    >>> find_class_numbers([True, 1], [1, 2])
    array([-1,  0])
    """
    values, labels = y if isinstance(y, list) else np.asarray(y).tolist(), np.asarray(classes).tolist()
    by_name = {_match(label): k for k, label in enumerate(labels)}
    exact = {(type(label), label): k for k, label in enumerate(labels)}
    kinds = [(type(value), value) for value in values]  # since True == 1
    numbers = {kind: exact.get(kind, by_name.get(_match(kind[1]), -1)) for kind in set(kinds)}
    return np.array([numbers[kind] for kind in kinds], np.intp)


def _match(label: Any) -> str | None:
    name = class_name(label)
    return name.lower() if name and name.lower() in ("true", "false") else name


def not_a_class(y: Any, numbers: np.ndarray, classes: Any) -> InputError:
    """Return the error about the first label that is not a class; ``numbers`` are those of the labels."""
    row = int((numbers < 0).argmax())
    others = ", nor is any other label" if len(numbers) > 1 and (numbers < 0).all() else ""
    return InputError(
        f"row {row + 1} has the label {np.asarray(y).tolist()[row]!r}, which is not a class of the "
        f"model{others}; its classes are {listed(np.asarray(classes).tolist())}."
    )


MOST_LISTED = 5  # groups in a hint

# What people write in place of a missing label, by ``_key``.
MISSING = {"", "-", "--", "?", "na", "n/a", "n.a.", "#n/a", "<na>", "nan", "nil", "none", "null"}
MISSING |= {"missing", "unlabeled", "unlabelled"}


def similar_classes(labels: Iterable[Any]) -> list[list[str]]:
    r"""Return the groups of labels that look alike: they differ only in case, whitespace or encoding.

    Examples
    --------
    >>> similar_classes(["ham", "Spam", "spam", "spam ", "spam\u200b", 1])
    [['Spam', 'spam', 'spam ', 'spam\u200b']]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            groups.setdefault(_key(label), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def class_hints(counts: Mapping[Any, int | None]) -> list[str]:
    """Return sentences about classes that may be mistakes.

    Parameters
    ----------
    counts : mapping
        The number of texts of each class, or None if it is not known.

    Examples
    --------
    >>> for hint in class_hints({"Spam": 2, "spam ": 1, "NA": None}):
    ...     print(hint)
    Some classes differ only in case or whitespace, or look alike: 'Spam' (2 texts) and 'spam ' (1 text). If \
they mean the same, give them the same name.
    The class 'NA' may mark texts without a label. If so, leave the label empty in the table (None in Python).
    >>> print(*class_hints({"new": 2, "late": 3, "late;new": 1}))
    The class 'late;new' consists of other classes. If a text may have several labels, give --separator ';' \
(in Python, a list of labels per text).
    """

    def named(label: Any) -> str:
        count = counts[label]
        return quoted(label) + ("" if count is None else f" ({count:,} text{'' if count == 1 else 's'})")

    hints, groups = [], similar_classes(counts)
    if groups:
        listed = "; ".join(" and ".join(map(named, group)) for group in groups[:MOST_LISTED])
        more = f"; and {len(groups) - MOST_LISTED} more groups" if len(groups) > MOST_LISTED else ""
        hints.append(
            f"Some classes differ only in case or whitespace, or look alike: {listed}{more}. If they mean "
            "the same, give them the same name."
        )
    joined = next(
        (
            (label, mark)
            for label, mark in product(counts, ";|,")
            if isinstance(label, str)
            and mark in label
            and all(one.strip() in counts for one in label.split(mark))
        ),
        None,
    )
    if joined:
        hints.append(
            f"The class {joined[0]!r} consists of other classes. If a text may have several labels, give "
            f"--separator {joined[1]!r} (in Python, a list of labels per text)."
        )
    marks = [label for label in counts if isinstance(label, str) and _key(label) in MISSING]
    marks += _minus_one(counts)
    if marks:
        mark = "The class {} may mark" if len(marks) == 1 else "The classes {} may mark"
        hints.append(
            f"{mark.format(' and '.join(map(named, marks)))} texts without a label. If so, leave the label "
            "empty in the table (None in Python)."
        )
    return hints


def warn_about_classes(counts: Mapping[Any, int | None]) -> None:
    """Warn of classes that may be mistakes; see ``class_hints``."""
    for hint in class_hints(counts):
        warnings.warn(hint, stacklevel=stacklevel())


def quoted(label: Any) -> str:
    r"""Return the label in quotes, with characters that are not seen, or seen as others, as escapes.

    Examples
    --------
    >>> print(quoted("sound\u200b"), quoted("caf\u00e9"), quoted("cafe\u0301"))
    'sound\u200b' 'café' 'cafe\u0301'
    """
    shown = repr(label)
    if unicodedata.is_normalized("NFC", shown):
        return shown
    return "".join(ascii(one)[1:-1] if unicodedata.combining(one) else one for one in shown)


def _key(label: str) -> str:
    """Return what labels that look alike have in common; characters of category Cf have no width."""
    seen = "".join(one for one in label if unicodedata.category(one) != "Cf")
    return " ".join(unicodedata.normalize("NFC", seen.casefold()).split())


def _minus_one(labels: Iterable[Any]) -> list[Any]:
    """Return -1, which marks unlabelled rows in scikit-learn; not from 1 and -1, and not from scales."""
    names = {class_name(label) or "": label for label in labels}
    negative = [name for name in names if name.startswith("-")]
    return [names["-1"]] if negative == ["-1"] and set(names) != {"-1", "1"} else []
