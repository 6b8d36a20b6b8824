"""Modules of other packages that are loaded when they are used, not when they are imported.

scikit-learn, SciPy and Numba import large parts of SciPy and other packages, and pandas if it is installed,
for functions that our commands never call; this takes longer than to import everything else. Importing one of
these modules gives an empty module, whose code runs when something is taken from it. Only commands do this,
not the library: it concerns the whole process.
"""

import sys
from collections.abc import Collection, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any

HEAVY = frozenset(
    {
        *("pandas", "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats"),
        *("numpy.char", "numpy.ctypeslib", "numpy.f2py", "numpy.fft", "numpy.polynomial", "numpy.testing"),
        *("asyncio", "narwhals", "narwhals.stable", "narwhals.stable.v2", "yaml"),
    }
)

_lock = RLock()
_modules: dict[str, ModuleType] = {}  # all that were postponed


def postpone(names: Collection[str]) -> None:
    """Postpone loading modules of these names until something is taken from them."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(names))


def forget(name: str) -> None:
    """Remove a module that has not been loaded from ``sys.modules``, as if nothing had imported it.

    Checks for data frames look there for pandas, and would load it. A later import finds the same module.
    """
    if type(sys.modules.get(name)) is _Postponed:
        del sys.modules[name]


class _Finder(MetaPathFinder):
    """Finds modules as usual, and postpones some of them."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.names:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _PostponedLoader(spec.loader)
        return spec


class _PostponedLoader(Loader):
    """Makes a module that runs its code later."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return _modules.get(spec.name) or self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader
        if module.__name__ not in _modules:
            module.__class__ = _Postponed
            _modules[module.__name__] = module


class _Postponed(ModuleType):
    """A module whose code has not run, or is running."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":  # the import system asks for such names
            raise AttributeError(name)
        with _lock:  # other threads wait until the module is complete
            if type(self) is _Postponed:
                if "_is_running" in vars(self):  # the module imports itself
                    raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
                self._is_running = True
                try:
                    self.__loader__.exec_module(self)  # type: ignore[union-attr]
                finally:
                    del self._is_running
                self.__class__ = ModuleType  # type: ignore[assignment]
        return getattr(self, name)
