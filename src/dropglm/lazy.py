"""Packages whose public names are imported when they are first used.

A command, or a program that needs one class, then does not wait for the imports of all others.
"""

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, modules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    A block of imports under ``if TYPE_CHECKING:`` says which names the package takes from where. Type
    checkers read it, and so does this function: it looks there when a name is first used.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    modules : sequence of str
        Modules of the package that are public names themselves.

    Examples
    --------
    >>> from dropglm import estimators
    >>> estimators.LinearRegression.__module__
    'dropglm.estimators.regression'
    """

    @cache
    def homes() -> dict[str, str]:
        """Return the module of each name that is imported for type checkers."""
        import ast

        source = sys.modules[package].__loader__.get_source(package)  # type: ignore[union-attr]
        blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
        imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
        return {name.name: str(node.module) for node in imports for name in node.names}

    def get(name: str) -> Any:
        if name in modules:
            value: Any = import_module(f"{package}.{name}")
        elif name in homes():
            value = getattr(import_module(homes()[name]), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def names_of_package() -> list[str]:
        return sorted({*sys.modules[package].__all__, *modules, *homes()})

    return get, names_of_package
