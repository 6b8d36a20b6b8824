"""Imports that wait until they are needed: optional dependencies, and the public names of our packages.

A command, or a program that needs one class, then does not wait for the imports of all others.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
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


def lazy_names(
    package: str, names: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    names : mapping of str to sequence of str
        For each module of the package, the names that are taken from it. A module without names is itself a
        public name.

    Examples
    --------
    >>> from dropglm import linear
    >>> linear.LinearRegression.__module__
    'dropglm.linear.regression'
    """
    homes = {name: module for module, found in names.items() for name in found or (module,)}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        value = getattr(module, name) if names[homes[name]] else module
        setattr(sys.modules[package], name, value)
        return value

    def names_of_package() -> list[str]:
        return sorted({*sys.modules[package].__all__, *homes})

    return get, names_of_package
