"""Docstrings of the packages that this machine has: real text without a download, labelled by package.

The sources are parsed, not imported, so no code of theirs runs. What NumPy attaches to compiled functions at
run time is therefore missing; about a thousand docstrings or more of each package remain. The names of the
packages, the lines that import them and the versions in which something was added are taken out, or telling
the packages apart would be a matter of finding one word. Names of classes stay: that there is a DataFrame is
content. With 300 labels scikit-learn's logistic regression on single words finds 82 % of the packages.
"""

import ast
import gc
import os
import re
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dropglm import checks
from dropglm.datasets.entry import Entry

PACKAGES = ("numpy", "polars", "python", "scipy", "sklearn")
SHORTEST = 80  # characters; below are "Return a copy." and the like
# Tests, what is somebody else's, and what is no library: demonstrations, an editor, jokes.
SKIPPED_FOLDERS = {
    "__pycache__", "_lib", "_pyinstaller", "_vendor", "config", "dist-packages", "distutils", "encodings",
    "ensurepip", "externals", "idlelib", "lib2to3", "pydoc_data", "site-packages", "test", "testing", "tests",
    "turtledemo",
}  # fmt: skip
SKIPPED_FILES = {"antigravity.py", "this.py", "__phello__.py"}

NOBODY = "_"
# Long names also inside others (PolarsError), short ones alone (np, but not input). The look ahead at one
# letter makes it four times as fast.
NAMES = re.compile(
    r"(?=[nspc])(?:numpy|scipy|scikit[-_ ]?learn|sklearn|polars|pola[.-]rs|c?python"
    r"|(?<![a-z])(?:np|sp|pl|py)(?![a-z]))",
    re.IGNORECASE,
)
# With a prompt or without, but no prose that begins with "from".
IMPORTS = re.compile(r"^[ >.]*(?:import [\w.]+(?: as \w+)?(?:,.*)?|from [\w.]+ import .*)$\n?", re.MULTILINE)
VERSIONS = re.compile(r"(?<=\.\. )(versionadded|versionchanged|deprecated)::[ \t]*v?[\d.]+")


def masked(text: str) -> str:
    r"""The text without what gives its package away.

    Examples
    --------
    >>> masked("NumPy's sum.\n\n.. versionadded:: 1.7.0\n\n>>> import numpy as np\n>>> np.sum([1, 2])\n3")
    "_'s sum.\n\n.. versionadded::\n\n>>> _.sum([1, 2])\n3"
    """
    return NAMES.sub(NOBODY, VERSIONS.sub(r"\1::", IMPORTS.sub("", text)))


def root(package: str) -> Path | None:
    """The folder with a package's sources, if it is installed; 'python' is the standard library."""
    if package == "python":
        return Path(sysconfig.get_paths()["stdlib"])
    spec = find_spec(package)  # does not import it
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def sources(folder: Path) -> Iterator[Path]:
    """The Python files below a folder, always in the same order."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(files):
            path = Path(place) / name
            if path.suffix == ".py" and name not in SKIPPED_FILES and path.is_file():  # no dead link
                yield path


def docstrings_of(source: bytes) -> Iterator[str]:
    r"""Docstrings of a module and of its public classes, functions and methods.

    Examples
    --------
    >>> list(docstrings_of(b"'A module.'\nclass A:\n  'A class.'\n  def _f(self):\n    'Ours only.'"))
    ['A module.', 'A class.']
    """
    try:
        todo: list[Any] = [ast.parse(source)]
    except (SyntaxError, ValueError, RecursionError):  # a template, or another Python's
        return
    while todo:
        node = todo.pop(0)
        text = ast.get_docstring(node)
        if text:
            yield text
        # Functions are not entered: what is inside is nobody's to call, and looking took as long as parsing.
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            todo += [
                child
                for child in node.body
                if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
                and not child.name.startswith("_")
            ]


@contextmanager
def undisturbed() -> Iterator[None]:
    """No warnings about others' code, and no search for cycles, of which a parsed source has none.

    That search took 3 of 7 seconds.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if collecting:
            gc.enable()


@cache
def collected() -> dict[str, tuple[str, ...]]:
    """All masked docstrings by package, each text once; those of several packages are nobody's.

    Kept for the process: parsing 1,500 files takes about four seconds.
    """
    texts: dict[str, dict[str, None]] = {}
    with undisturbed():
        for package in PACKAGES:
            folder = root(package)
            files = sources(folder) if folder is not None else ()
            found = (masked(text).strip() for path in files for text in docstrings_of(path.read_bytes()))
            texts[package] = dict.fromkeys(text for text in found if len(text) >= SHORTEST)
    owners = Counter(text for mine in texts.values() for text in mine)
    alone = {package: tuple(text for text in mine if owners[text] == 1) for package, mine in texts.items()}
    return {package: mine for package, mine in alone.items() if mine}


def parts(
    *, n_labeled: int = 300, n_test: int = 1000, n_per_class: int = 1000, random_state: Any = 0
) -> dict[str, Any]:
    """The fields of ``Dataset``: few labelled texts, many unlabelled ones, and a test part."""
    for name, given in (("n_labeled", n_labeled), ("n_test", n_test), ("n_per_class", n_per_class)):
        checks.whole_number(given, name)
        if given < 1:
            raise ValueError(f"{name} must be 1 or more, got {given}.")
    rng = np.random.default_rng(checks.seed(random_state))
    texts: list[str] = []
    labels: list[str] = []
    for package, mine in collected().items():
        chosen = rng.permutation(len(mine))[:n_per_class]
        texts += [mine[k] for k in chosen]
        labels += [package] * len(chosen)
    if n_labeled + n_test > len(texts):
        raise ValueError(
            f"n_labeled and n_test ask for {n_labeled + n_test:,} docstrings, but there are {len(texts):,}."
        )
    order = rng.permutation(len(texts))
    X, y = np.array(texts, object)[order], np.array(labels)[order]
    ends = n_labeled + n_test
    return {
        "texts": X[:n_labeled],
        "y": y[:n_labeled],
        "texts_test": X[n_labeled:ends],
        "y_test": y[n_labeled:ends],
        "unlabeled": X[ends:],
        "class_names": tuple(collected()),  # not all may be installed
    }


DOCSTRINGS = Entry(
    summary="docstrings of installed packages; which package?",
    rows=None,
    classes=PACKAGES,
    terms="Those of the packages, which are on this machine already (BSD, MIT, PSF).",
    citation="The authors of NumPy, polars, Python, SciPy and scikit-learn.",
    note=(
        "Options: n_labeled, n_test, n_per_class, random_state. Labels are the packages' names, which the "
        "texts no longer contain. Rows are shuffled, and depend on the versions installed."
    ),
    parts=parts,
)
