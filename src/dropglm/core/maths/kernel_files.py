"""Machine code of kernels on disk: in the package, where it was installed, or compiled before by this user.

Each file has one kernel for given types of its arguments. It starts with a line that says what the code was
compiled with, and from which sources: Python, Numba, llvmlite, the processor, and the content of all files
of this package that the kernel's module imports. A file is used only if all of this still holds, whatever
its place and time. Otherwise the kernel is compiled, and a sentence says why.

Code that comes with the package is compiled for a baseline processor, which nearly all machines have; code
that is compiled on the way, for the processor at hand.
"""

import ast
import hashlib
import json
import os
import pickle
import platform
import secrets
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite.binding import get_host_cpu_name
from numba import types
from numba.core.caching import _Cache
from numba.core.codegen import get_host_cpu_features
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

config: Any = numba.config
PACKAGE = Path(__file__).parents[2]
SHIPPED = PACKAGE / "compiled"

# The baseline by machine: the name by which LLVM knows it, and features of which a host must have all.
# x86-64-v3 are processors since 2013 (Intel) and 2015 (AMD). With it a fit to IMDB's bigrams takes 0.88 s of
# processor time, and 0.86 s with all instructions of an AMD Zen 5; to count bigrams takes 0.70 and 0.64 s.
X86 = "x86-64-v3", ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
BASELINES = {"x86_64": X86, "AMD64": X86, "aarch64": ("generic", ()), "arm64": ("generic", ())}
BASELINE, NEEDED = BASELINES.get(platform.machine(), (None, ()))

# Why the last function that was looked for must be compiled, in words.
_reason = ""


class KernelFiles(_Cache):
    """The compiled forms of one kernel, as Numba's dispatchers load and save them.

    Parameters
    ----------
    name : str
        The kernel's name, with its module.
    module : str
        The module whose sources, and those that it imports, the kernel was compiled from.
    """

    def __init__(self, name: str, module: str) -> None:
        self.name = name
        self.module = module

    @property
    def cache_path(self) -> str:
        """The folder that files are written to."""
        return str(writable_folder())

    @property
    def conditions(self) -> dict[str, str]:
        """What kernels are compiled with in this process: versions, and the processor."""
        return current_conditions()

    def to_bytes(self, kernel: Any) -> bytes:
        """Return a compiled kernel as bytes."""
        assert not kernel.library.has_dynamic_globals, f"{self.name} uses addresses of this process."
        return dumps(kernel._reduce())

    def from_bytes(self, code: bytes, target_context: Any) -> Any:
        """Return the kernel that was stored."""
        rtsys.initialize(target_context)  # functions that allocate memory call it
        return CompileResult._rebuild(target_context, *pickle.loads(code))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kernel for these types, or None if it has to be compiled.

        Numba's own cache declares all that it can compile before it loads the first function, which takes
        0.15 s; the compiler does so by itself before it compiles.
        """
        global _reason
        reason = ""
        for folder in places():
            path = folder / self._file_name(sig)
            found = read(path)
            if found is not None:
                conditions, code = found
                reason = mismatch(conditions, self.conditions)
                if not reason:
                    return self.from_bytes(code, target_context)
            elif path.exists():
                reason = f"{path} is damaged"
        _reason = reason or _reason_of_absence()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a compiled kernel, unless a class of another package is among its types.

        Such a class could not be found again by other processes, and changes of its methods would go
        unnoticed. It is not written either if there is no place for it, as in some containers, or if the
        sources cannot be read, as in a zip file.
        """
        modules = {self.module, *(kind.instance_class.__module__ for kind in named_tuples(sig))}
        folder = writable_folder()
        if folder is None or not all(map(is_ours, modules)) or not all(map(sources, modules)):
            return
        names = sorted(set().union(*map(sources, modules)))
        conditions = self.conditions | {"sources": {name: source_digest(name) for name in names}}
        with suppress(OSError):
            write(folder / self._file_name(sig), conditions, self.to_bytes(data))

    def enable(self) -> None:
        """Do nothing: the files are always used."""

    def disable(self) -> None:
        """Do nothing: the files are always used."""

    def flush(self) -> None:
        """Do nothing: files that no longer fit are written again."""

    def _file_name(self, sig: Any) -> str:
        classes = [
            f"{kind.instance_class.__module__}.{kind.instance_class.__qualname__}"
            for kind in named_tuples(sig)
        ]
        digest = hashlib.blake2b(f"{sig} {classes}".encode(), digest_size=8).hexdigest()
        return f"{self.name}.{digest}.{sys.implementation.cache_tag}"


def is_ours(module: str | None) -> bool:
    """Return whether a module belongs to this package."""
    return module is not None and module.split(".")[0] == __name__.split(".")[0]


def reason_to_compile() -> str:
    """Return why the function that was looked for last has to be compiled: the end of a sentence."""
    return _reason


def named_tuples(kinds: Any) -> Iterator[Any]:
    """Yield the types of named tuples among these, also inside others."""
    for kind in kinds:
        if isinstance(kind, types.BaseNamedTuple):
            yield kind
        if isinstance(kind, types.BaseTuple):
            yield from named_tuples(kind)


# --- places -----------------------------------------------------------------------------------------------


def places() -> list[Path]:
    """Return the folders where kernels are looked for, in this order."""
    own = writable_folder()
    return [SHIPPED] if own in (None, SHIPPED) else [own, SHIPPED]


@cache
def writable_folder() -> Path | None:
    """Return the folder that kernels are written to, or None if there is no such place.

    It is ``$NUMBA_CACHE_DIR`` if that is set, otherwise the folder in the package, otherwise one among the
    user's caches, where every installation has its own.
    """
    installation = hashlib.blake2b(str(PACKAGE).encode(), digest_size=8).hexdigest()
    given = config.CACHE_DIR
    user = Path(given or AppDirs("dropglm", appauthor=False).user_cache_dir) / f"kernels-{installation}"
    for folder in [user] if given else [SHIPPED, user]:
        with suppress(OSError):
            # Without a home, the cache would be below the current folder, whose files are not to be trusted.
            if folder.is_absolute() or given:
                folder.mkdir(parents=True, exist_ok=True)
                if os.access(folder, os.W_OK):
                    return folder
    return None


# --- files ------------------------------------------------------------------------------------------------


def read(path: Path) -> tuple[dict[str, Any], bytes] | None:
    """Return the conditions of a file and its code, or None if it does not exist or is damaged."""
    try:
        first, code = path.read_bytes().split(b"\n", 1)
        conditions = json.loads(first)
        complete = isinstance(conditions, dict) and {"code", "sources"} <= set(conditions)
        return (conditions, code) if complete and conditions.pop("code") == _digest(code) else None
    except (OSError, ValueError):
        return None


def write(path: Path, conditions: dict[str, Any], code: bytes) -> None:
    """Write a file as a whole: processes that start at the same time find all of it or nothing."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        part.write_bytes(json.dumps(conditions | {"code": _digest(code)}).encode() + b"\n" + code)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


# --- conditions -------------------------------------------------------------------------------------------


@cache
def current_conditions() -> dict[str, str]:
    """Return what kernels are compiled with in this process."""
    return {"numba": numba.__version__, "llvmlite": llvmlite.__version__, "processor": processor()}


def processor() -> str:
    """Return the processor that this process compiles for: the baseline, or the host's name and features."""
    name = config.CPU_NAME or get_host_cpu_name()
    features = get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES
    return f"{name} {_digest(features.encode())}" if features else name


@cache
def runs_baseline() -> bool:
    """Return whether this machine can run code for the baseline processor."""
    return BASELINE is not None and {f"+{name}" for name in NEEDED} <= set(get_host_cpu_features().split(","))


def mismatch(conditions: dict[str, Any], current: dict[str, str]) -> str:
    """Return why code that was compiled under these conditions cannot be used now, or "" if it can be."""
    for package, version in current.items():
        if package != "processor" and conditions.get(package) != version:
            return f"they were compiled with {package} {conditions.get(package)}, not {version}"
    target = conditions.get("processor", "unknown")
    if target != current["processor"] and not (target == BASELINE and runs_baseline()):
        return f"they were compiled for another processor ({target.split()[0]})"
    changed = [name for name, digest in conditions["sources"].items() if source_digest(name) != digest]
    return f"{changed[0]} has changed" if changed else ""


def _reason_of_absence() -> str:
    if SHIPPED.is_dir() and any(SHIPPED.iterdir()):
        return "they are used for the first time with data of these types"
    return "this installation has no compiled ones (`dropglm compile` compiles all of them)"


def usable_files(folder: Path = SHIPPED) -> list[Path]:
    """Return the files of a folder that any machine with the baseline processor can use."""
    found = [(path, read(path)) for path in sorted(folder.glob(f"*.{sys.implementation.cache_tag}"))]
    now = current_conditions() | {"processor": BASELINE or ""}
    return [path for path, file in found if file and "processor" in file[0] and not mismatch(file[0], now)]


def mark_complete(folder: Path) -> None:
    """Note that a folder has all functions that are compiled ahead of their use, from the present sources."""
    names = [path.name for path in usable_files(folder)]
    write(folder / mark(), _whole_package() | {"files": names}, b"")


def is_complete(folder: Path) -> bool:
    """Return whether a folder has all functions that are compiled ahead of their use."""
    found = read(folder / mark())
    if found is None or "files" not in found[0]:
        return False
    names = found[0].pop("files")
    return found[0] == _whole_package() and all((folder / name).exists() for name in names)


def mark() -> str:
    """Return the name of the file that notes that all functions are there."""
    return f"complete.{sys.implementation.cache_tag}"


def _whole_package() -> dict[str, Any]:
    files = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    versions = {name: condition for name, condition in current_conditions().items() if name != "processor"}
    return versions | {"sources": {name: source_digest(name) for name in files}}


@cache
def source_digest(name: str) -> str | None:
    """Return a digest of a source file, named from the package's folder; None if there is no such file."""
    try:
        return _digest((PACKAGE / name).read_bytes())
    except OSError:
        return None


@cache
def sources(module: str) -> frozenset[str]:
    """Return the files of a module and of all modules of this package that it imports, directly or not.

    The room ``base`` and this file are left out: they have nothing that kernels use.

    Examples
    --------
    >>> sorted(sources("dropglm.core.maths.vectors"))[:2]
    ['core/maths/compile.py', 'core/maths/instructions.py']
    """
    found: set[str] = set()
    waiting = [module]
    while waiting:
        path = _path(waiting.pop())
        if path is None or (name := path.relative_to(PACKAGE).as_posix()) in found:
            continue
        found.add(name)
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module and is_ours(node.module):
                waiting += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return frozenset(found)


def _path(module: str) -> Path | None:
    """Return the file of a module of this package; None if there is none, or if it is left out."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    if path == PACKAGE or path.is_relative_to(PACKAGE / "base") or module == __name__:
        return None
    return next(filter(Path.is_file, (path / "__init__.py", path.with_suffix(".py"))), None)
