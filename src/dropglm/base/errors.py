"""Errors about what users pass: one sentence each, which names the parameter; and where warnings point to.

They are a ``ValueError`` or a ``TypeError`` for those who call the library. The command line recognises them
by their class and names its options in them; an error of any other class is a defect of this package.
"""

import sys


class UserError(Exception):
    """An error that users can do something about; its message is a sentence for them.

    Parameters
    ----------
    message : str
        What is wrong, where, and what to do.
    *parameters : str
        Parameters that the message advises to change, as ``set NAME``, ``lower NAME``, ``raise NAME``,
        ``pass NAME``, ``as NAME`` or ``NAME=value``.

    Examples
    --------
    >>> error = InputError("The scores overflow; lower rate.", "rate")
    >>> str(error), error.parameters
    ('The scores overflow; lower rate.', ('rate',))
    """

    def __init__(self, message: str = "", *parameters: str) -> None:
        super().__init__(message, *parameters)  # all of them, so that errors can be pickled

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that the message advises to change."""
        return self.args[1:]


class InputError(UserError, ValueError):
    """A value that cannot be used."""


class InputTypeError(UserError, TypeError):
    """A value of a type that cannot be used."""


class MissingPackageError(UserError, ImportError):
    """An optional package that is not installed."""


class ClusterError(UserError, RuntimeError):
    """Workers of a cluster that are lost or do not answer."""


class TooLargeError(MemoryError, UserError):  # in this order, else it cannot be pickled
    """Data that does not fit into memory; the message names the size and a remedy."""


def stacklevel() -> int:
    """Return the ``stacklevel`` with which a warning points to the user's own line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None:
        package = frame.f_globals.get("__name__", "").split(".")[0]
        if package not in ("dropglm", "sklearn"):
            break
        frame, level = frame.f_back, level + 1
    return level
