"""Labels of texts: checks, positions among the classes of a model, and hints at likely mistakes.

Hints are about class names that look alike, and about marks of missing labels.
"""

import unicodedata
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from dropglm.base import checks
from dropglm.base.errors import InputError, stacklevel
from dropglm.places.labels import RowLabels, as_rows, several_labels
from dropglm.tables import class_name
from dropglm.tables.errors import listed


def check_text_labels(y: Any, n: int, label_probabilities: Any = None) -> RowLabels:
    """Return the labels of n texts, or raise an error if they cannot be classes.

    Examples
    --------
    >>> check_text_labels(["good", "bad"], 2).classes
    array(['bad', 'good'], dtype='<U4')
    """
    if not n:
        raise InputError("X is empty; give at least two texts with labels.")
    if label_probabilities is None:
        y = text_labels(y, n)
    return RowLabels.of(None, y, n, label_probabilities)


def text_labels(y: Any, n: int) -> np.ndarray:
    """Return the labels of n texts as an array, with a tuple per text or indicators if these have several."""
    if not (y is None or hasattr(y, "__len__") or sparse.issparse(y)):
        y = list(y)
    if several_labels(y, n) is not None:
        return as_rows(y)
    y = np.asarray(y)
    if y.shape != (n,):
        raise InputError(f"y has shape {y.shape}, but X has {n} texts.")
    missing = checks.missing(y)
    if missing is not None:
        raise InputError(
            f"Text {missing} of X (counted from 0) has no label; pass texts without labels as X_unlabeled."
        )
    fraction = checks.fractional(y)
    if fraction is not None:
        raise InputError(
            f"y has fractional numbers such as {float(y[fraction])}; use strings or integers as classes."
        )
    return y


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

# What tables have in place of a missing label, by ``_key``.
MISSING = {"", "-", "--", "?", "na", "n/a", "n.a.", "#n/a", "<na>", "nan", "nil", "none", "null"}
MISSING |= {"missing", "unlabeled", "unlabelled"}
UNLABELED = (
    "leave them out, or pass them as unlabelled texts: X_unlabeled, or --unlabeled on the command line"
)


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


def class_hints(counts: Mapping[Any, int | None], unlabeled: str = UNLABELED) -> list[str]:
    """Return sentences about classes that may be mistakes.

    Parameters
    ----------
    counts : mapping
        The number of texts of each class, or None if it is not known.
    unlabeled : str
        What to do with texts without a label.

    Examples
    --------
    >>> for hint in class_hints({"Spam": 2, "spam ": 1, "NA": None}):
    ...     print(hint)
    Some classes differ only in case or whitespace, or look alike: 'Spam' (2 texts) and 'spam ' (1 text). If \
they mean the same, give them the same name.
    The class 'NA' may mark texts without a label. If so, leave them out, or pass them as unlabelled texts: \
X_unlabeled, or --unlabeled on the command line.
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
    marks = [label for label in counts if isinstance(label, str) and _key(label) in MISSING]
    marks += _minus_one(counts)
    if marks:
        mark = "The class {} may mark" if len(marks) == 1 else "The classes {} may mark"
        hints.append(
            f"{mark.format(' and '.join(map(named, marks)))} texts without a label. If so, {unlabeled}."
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
