"""What runs the work on partitions: the boundary between a fit and the machines it uses.

An engine has two verbs. ``keep`` applies a function to every part and leaves the results where they are;
``total`` applies a function to every part and adds the results. The functions are pure, so an engine may call
them again for a part that it has lost.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from dropglm.base.threads import ahead

# Work on a part, given a message that is the same for all parts.
Work = Callable[[Any, Any], Any]
Add = Callable[[Any, Any], Any]


class Engine(Protocol):
    """The interface of an engine.

    Attributes
    ----------
    rereads : bool
        Whether parts are computed anew for every ``total``; it does not pay then to prepare them at length.
    slots : int or None
        How many parts can be worked on at a time; None if it does not matter.

    See Also
    --------
    SerialEngine : The parts one after the other, in this process.

    Examples
    --------
    >>> from dropglm.places.partitions import Engine, SerialEngine
    >>> engine: Engine = SerialEngine()
    >>> engine.rereads
    False
    """

    rereads: bool
    slots: int | None

    def keep(self, work: Work, parts: Sequence[Any], message: Any) -> list[Any]:
        """Return new parts, ``work(part, message)`` of each; a part may be a list of parts."""

    def total(self, work: Work, parts: Sequence[Any], message: Any, add: Add) -> Any:
        """Return the sum of ``work(part, message)`` over all parts.

        Which results are added to which depends only on the number of parts, so that rounding does not depend
        on who computed them, or when. See ``add_in_tree``.
        """


class SerialEngine:
    """One part after the other, in this process.

    Parameters
    ----------
    rereads : bool
        If True, only as many parts as threads are in memory at a time, and each ``total`` loads and prepares
        all of them anew; if False, prepared parts stay in memory.
    threads : int
        How many parts each ``total`` works on at a time; the result does not depend on it.

    See Also
    --------
    Engine : The interface.

    Examples
    --------
    >>> engine = SerialEngine()
    >>> parts = engine.keep(lambda load, factor: factor * load(), [lambda: 1, lambda: 2, lambda: 3], 10)
    >>> engine.total(lambda part, offset: part + offset, parts, 1, lambda a, b: a + b)
    63
    """

    slots: int | None = None

    def __init__(self, *, rereads: bool = False, threads: int = 1) -> None:
        self.rereads = rereads
        self.threads = threads

    def keep(self, work: Work, parts: Sequence[Any], message: Any) -> list[Any]:
        """Return new parts: functions that compute them if parts are read again, else their values."""
        if self.rereads:
            return [partial(_compute, work, part, message) for part in parts]
        return [work(part, message) for part in parts]

    def total(self, work: Work, parts: Sequence[Any], message: Any, add: Add) -> Any:
        """Return the sum of ``work(part, message)`` over all parts."""

        def of(part: Any) -> Any:
            return work(part() if self.rereads else part, message)

        return add_in_tree(ahead(parts, [of] * max(1, self.threads), depth=1), len(parts), add)


def _compute(work: Work, part: Any, message: Any) -> Any:
    return work(_value(part), message)


def _value(part: Any) -> Any:
    if isinstance(part, list):
        return [_value(one) for one in part]
    return part() if isinstance(part, partial) else part


# So many results are added by one task: the sums of a few parts cost less than another step of the tree.
FAN_IN = 8


def add_in_tree(results: Any, count: int, add: Add, fan_in: int = FAN_IN) -> Any:
    """Return the sum of ``count`` results of an iterator, in groups of ``fan_in``, then these in groups, ...

    Every result is released as soon as it is added, so only one per level of the tree is in memory.

    Examples
    --------
    >>> add_in_tree(iter("abcde"), 5, lambda a, b: f"({a}{b})", fan_in=2)
    '(((ab)(cd))e)'
    """
    sums: list[list[Any]] = []  # of each level: how many results, and their sum

    def put(result: Any, level: int) -> None:
        if level == len(sums):
            sums.append([0, None])
        number, so_far = sums[level]
        sums[level] = [number + 1, result if number == 0 else add(so_far, result)]
        if sums[level][0] == fan_in:
            result, sums[level] = sums[level][1], [0, None]
            put(result, level + 1)

    for _ in range(count):
        put(next(results), 0)
    found, total = False, None
    for number, part in sums:
        if number:
            total, found = (add(part, total) if found else part), True
    return total
