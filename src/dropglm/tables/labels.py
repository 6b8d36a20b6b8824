"""How a label of a table becomes a class: one rule for all formats, and for all commands that read labels.

Each label has a name, which depends on this label alone, so that a stream gives the same classes as a table
in memory. Labels with the same name are the same class. Once all names are known, classes are numbers or
booleans if all of their names are.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")  # fits into 64 bits
WHOLE = re.compile(r"-?0\.0|(-?[1-9][0-9]*)\.0")


@lru_cache(1000, typed=True)  # few, since a label may be a whole text by mistake
def class_name(label: Any) -> str | None:
    """Return the name of the class of a label; None if the label is missing: null, NaN or blank.

    Strings are names as they are; numbers, ``true`` and ``false`` are written as in JSON. A whole number is
    written without a fraction, also where it comes as a string: a column of integers with a gap becomes
    floats in pandas, and 1 becomes 1.0, also in the CSV or Parquet file that is then written.

    Examples
    --------
    >>> [class_name(label) for label in (1, 1.0, "1", "1.0", 1.5, "01", True, "sound ")]
    ['1', '1', '1', '1', '1.5', '01', 'true', 'sound ']
    >>> [class_name(label) for label in (None, float("nan"), " ")]
    [None, None, None]
    """
    if label is None or label != label:
        return None
    name = str(label).lower() if isinstance(label, bool) else str(label)
    whole = WHOLE.fullmatch(name)
    return whole[1] or "0" if whole else name if name.strip() else None


def class_names(labels: Iterable[Any]) -> list[str]:
    """Return the names of the classes of labels, or of classes; that of a missing label is empty."""
    return [class_name(label) or "" for label in labels]


def class_type(names: Collection[str], *, fractions: bool = False) -> type:
    """Return the type of classes with these names: int or bool if all of them are, else str.

    Numbers with fractions are names, not a scale; with ``fractions``, their type is float.

    Examples
    --------
    >>> class_type(["1", "0"]), class_type(["1", "01"]), class_type(["true", "false"])
    (<class 'int'>, <class 'str'>, <class 'bool'>)
    >>> class_type(["1", "1.5"]), class_type(["1", "1.5"], fractions=True)
    (<class 'str'>, <class 'float'>)
    """
    names = set(names)
    if all(map(INTEGER.fullmatch, names)):
        return int
    if names <= {"true", "false"}:
        return bool
    return float if fractions and all(map(_is_number, names)) else str


def to_classes(names: Sequence[str], kind: type | None = None) -> "np.ndarray":
    """Return classes for names; ``kind`` is the ``class_type`` of all names, if these are some of them.

    Examples
    --------
    >>> to_classes(["1", "0", "1"])
    array([1, 0, 1])
    """
    import numpy as np

    kind = kind or class_type(names)
    if kind is bool:
        return np.array([name == "true" for name in names], np.bool_)
    return np.array(names, {int: np.int64, float: np.float64, str: object}[kind])


def _is_number(name: str) -> bool:
    try:
        return class_name(float(name)) == name and name not in ("inf", "-inf")
    except ValueError:
        return False
