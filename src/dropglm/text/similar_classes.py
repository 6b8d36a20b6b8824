"""A warning about classes whose names differ only in case or in blanks, which is often a mistake."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

MOST_LISTED = 5  # groups in the warning


def similar_classes(labels: Iterable[Any]) -> list[list[str]]:
    """Return the groups of labels that differ only in case or in blanks.

    Examples
    --------
    >>> similar_classes(["ham", "Spam", "spam", "spam ", 1])
    [['Spam', 'spam', 'spam ']]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            groups.setdefault(" ".join(label.split()).casefold(), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def warn_similar_classes(counts: Mapping[Any, int | None]) -> None:
    """Warn if classes differ only in case or in blanks.

    Parameters
    ----------
    counts : mapping
        The number of texts of each class, or None if it is not known.
    """
    groups = similar_classes(counts)
    if not groups:
        return
    from dropglm.estimators.warning import stacklevel  # imports scikit-learn

    def named(label: str) -> str:
        count = counts[label]
        return repr(label) if count is None else f"{label!r} ({count:,} text{'' if count == 1 else 's'})"

    listed = "; ".join(" and ".join(map(named, group)) for group in groups[:MOST_LISTED])
    more = f"; and {len(groups) - MOST_LISTED} more groups" if len(groups) > MOST_LISTED else ""
    warnings.warn(
        f"Some classes differ only in case or in blanks: {listed}{more}. If they mean the same, give them "
        "the same name.",
        stacklevel=stacklevel(),
    )
