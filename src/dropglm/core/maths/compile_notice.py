"""A notice for users who wait while functions are compiled."""

from collections.abc import Callable

_notices: list[Callable[[], None]] = []


def before_compiling(notice: Callable[[], None] | None) -> None:
    """Call ``notice`` once, right before the first function that is not on disk is compiled; None: nothing.

    Examples
    --------
    >>> before_compiling(lambda: print("This takes a moment."))
    >>> about_to_compile()
    This takes a moment.
    >>> about_to_compile()
    """
    _notices[:] = [] if notice is None else [notice]


def about_to_compile() -> None:
    """Give the notice, unless it has been given."""
    while _notices:
        _notices.pop()()
