"""Optional dependencies, imported when they are first needed."""

from importlib import import_module
from typing import Any

from dropglm.base.errors import MissingPackageError, UserError


class BrokenPackageError(UserError, ImportError):
    """A package that is installed, but cannot be imported."""


def import_extra(module: str, extra: str, purpose: str, *parameters: str) -> Any:
    """Import an optional module, or say how to install it or what is wrong with it.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        Extra of dropglm that installs it.
    purpose : str
        What needs it, with its verb, as in ``"Tables need"``; the error message starts with it.
    *parameters : str
        Parameters that the purpose mentions.

    Returns
    -------
    module

    Raises
    ------
    MissingPackageError
        An ImportError: the module is not installed.
    BrokenPackageError
        If it is installed, but its import fails, as if a module that it needs is missing.

    Examples
    --------
    >>> import_extra("json", "tables", "Tables need").loads("[1]")
    [1]
    >>> import_extra("no_such_module", "tables", "Tables need")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dropglm.base.errors.MissingPackageError: Tables need no_such_module; install it with: pip install ...
    """
    package, install = module.partition(".")[0], f"pip install 'dropglm[{extra}]'"
    try:
        import_module(package)  # whose error names it, where that of a module within names the module
        return import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == package:
            message = f"{purpose} {package}; install it with: {install}."
            raise MissingPackageError(message, *parameters) from None
        raise BrokenPackageError(
            f"{purpose} {package}, which is installed but cannot be imported ({str(error).rstrip('.')}); "
            f"repair it, for example with: {install} --force-reinstall.",
            *parameters,
        ) from error
