"""Packages whose public names are imported when they are first used.

A command, or a program that needs one class, then does not wait for the imports of all others.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


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
