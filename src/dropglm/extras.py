"""Optional dependencies, imported when they are first needed."""

from importlib import import_module
from typing import Any


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """Import an optional module, or say how to install it.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        Extra of dropglm that installs it.
    purpose : str
        What needs it, with its verb, as in ``"Tables need"``; the error message starts with it.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        If the module is not installed.

    Examples
    --------
    >>> import_extra("json", "tables", "Tables need").loads("[1]")
    [1]
    >>> import_extra("no_such_module", "tables", "Tables need")
    Traceback (most recent call last):
    ImportError: Tables need no_such_module; install it with: pip install 'dropglm[tables]'.
    """
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(f"{purpose} {package}; install it with: pip install 'dropglm[{extra}]'.") from None
