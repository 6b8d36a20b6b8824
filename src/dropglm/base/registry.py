"""Look up objects by name, and suggest the nearest name for an unknown one."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from dropglm.base.errors import InputError, InputTypeError

Entry = TypeVar("Entry")

# Other words for a name, where the most similar name means something else.
SYNONYMS = {"gpu": "cuda"}


def lookup(registry: Mapping[str, Entry], name: Any, parameter: str) -> Entry:
    """Return the entry of that name.

    Parameters
    ----------
    registry : mapping of str to object
    name : str
    parameter : str
        What the name stands for, used in the message.

    Raises
    ------
    TypeError
        If the name is not a string.
    ValueError
        If the registry has no such entry.

    Examples
    --------
    >>> lookup({"logistic": 1, "linear": 2}, "logistc", "family")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dropglm.base.errors.InputError: family 'logistc' is unknown; did you mean 'logistic'? Known: ...
    """
    if not isinstance(name, str):
        raise InputTypeError(f"{parameter} must be a name, got {name!r}; known: {quoted(registry)}.")
    if name in registry:
        return registry[name]
    near = nearest(name, registry)
    hint = f"did you mean {near!r}? Known" if near is not None else "known"
    raise InputError(f"{parameter} {name!r} is unknown; {hint}: {quoted(registry)}.")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is most similar to the given one, ignoring case, or None if none is similar.

    If the given one is the beginning of a single name, return that name.

    Examples
    --------
    >>> nearest("acc", ["accuracy", "jaccard"])
    'accuracy'
    >>> nearest("LABELS", ["text", "label"])
    'label'
    >>> nearest("stars", ["text", "label"]) is None
    True
    >>> nearest("gpu", ["cpu", "cuda"])
    'cuda'
    """
    folded = {other.casefold().strip(): other for other in names}
    given = name.casefold().strip()
    meant = SYNONYMS.get(given)
    if meant in folded:
        return folded[meant]
    near = [other for other in folded if given and other.startswith(given)]
    if len(near) != 1:
        near = get_close_matches(given, folded, n=1)
    return folded[near[0]] if near else None


def quoted(names: Iterable[str]) -> str:
    """Return the names in quotes and in alphabetical order, for a message."""
    return ", ".join(repr(name) for name in sorted(names))
