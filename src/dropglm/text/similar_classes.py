"""Hints at class names that are often mistakes: names that look alike, and marks of missing labels."""

import unicodedata
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from dropglm.tables import class_name

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
        return visible(label) + ("" if count is None else f" ({count:,} text{'' if count == 1 else 's'})")

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
        from dropglm.estimators.warning import stacklevel  # imports scikit-learn

        warnings.warn(hint, stacklevel=stacklevel())


def visible(label: Any) -> str:
    r"""Return the label in quotes, with characters that are not seen, or seen as others, as escapes.

    Examples
    --------
    >>> print(visible("sound\u200b"), visible("caf\u00e9"), visible("cafe\u0301"))
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
