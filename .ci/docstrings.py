"""Check the reference: every public name is on its page, and numpydoc finds nothing missing in its docstring.

python .ci/docstrings.py
"""

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from numpydoc.docscrape import FunctionDoc
from numpydoc.validate import validate
from sklearn.base import BaseEstimator

PAGES = Path(__file__).parent.parent / "docs" / "reference" / "api"
# A name belongs to the first module of this list that exports it.
MODULES = [
    "dropglm",
    *(
        f"dropglm.{name}"
        for name in ("text", "sequences", "labelling", "exports", "plots", "baselines", "dask")
    ),
    *(f"dropglm.{name}" for name in ("places.partitions", "datasets", "linear")),
    *(f"dropglm.core.{name}" for name in ("latent", "families", "noise", "penalties", "online")),
]
# Not required: where the text starts and the quotes end, an extended summary, and the mood of verbs, which
# numpydoc guesses from their last letter.
LAYOUT = {"GL01", "GL02", "ES01", "SS05"}
# Required of names, but not of their methods, nor of exceptions: See Also and Examples.
NAMES_ONLY = {"SA01", "EX01"}
# Methods of classes to derive from have a line each; their arguments are those of the formulas.
ONE_LINE = (
    "dropglm.core.noise.",
    "dropglm.core.penalties.",
    "dropglm.core.online.",
    "dropglm.places.partitions.",
)


def names() -> Iterator[tuple[str, Any]]:
    """Yield every public name with its object, once."""
    seen: list[Any] = []
    for module in MODULES:
        found = import_module(module)
        for name in found.__all__:
            thing = getattr(found, name)
            if name != "__version__" and not any(thing is other for other in seen):
                seen.append(thing)
                yield f"{module}.{name}", thing


def methods(name: str, thing: type) -> Iterator[str]:
    """Yield the public methods and properties of a class that are ours and replace no others."""
    for member in dir(thing):
        owners = [base for base in thing.__mro__ if member in vars(base)]
        ours = [base for base in owners if base.__module__.startswith("dropglm")]
        if member.startswith("_") or not ours or ours[0] is not owners[0] or len(ours) > 1:
            continue
        found = inspect.getattr_static(thing, member)
        function = getattr(found, "fget", None) or getattr(found, "__func__", found)
        if inspect.isfunction(function) and function.__module__.startswith("dropglm"):
            yield f"{name}.{member}"


def missing(name: str, exempt: set[str]) -> Iterator[str]:
    """Yield what numpydoc finds in the docstring of a name or method, but for exempt codes."""
    yield from (f"{name}: {code} {text}" for code, text in validate(name)["errors"] if code not in exempt)


def exempt_codes(name: str, thing: Any) -> set[str]:
    """Return the codes that do not apply to a public name."""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return LAYOUT | NAMES_ONLY | {"PR01"}
    # Fields of records are described once, as attributes, and protocols have no parameters.
    listed = ", ".join(each.name for each in FunctionDoc(thing)["Attributes"])
    parameters = set(inspect.signature(thing).parameters)
    is_record = inspect.isclass(thing) and (is_dataclass(thing) or issubclass(thing, tuple))
    described = is_record and parameters <= set(listed.split(", "))
    return LAYOUT | ({"PR01"} if described or getattr(thing, "_is_protocol", False) else set())


def problems() -> Iterator[str]:
    """Yield what is missing."""
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.rst"))
    listed = set(re.findall(r"^   (\w+)$", pages, re.MULTILINE))
    checked: set[Any] = set()
    for name, thing in names():
        if name.rpartition(".")[2] not in listed:
            yield f"{name}: not on a page of docs/reference/api"
        if inspect.isfunction(thing) or inspect.isclass(thing):
            yield from missing(name, exempt_codes(name, thing))
        if (
            inspect.isclass(thing)
            and issubclass(thing, BaseEstimator)
            and not FunctionDoc(thing)["Attributes"]
        ):
            yield f"{name}: no Attributes section"
        for method in methods(name, thing) if inspect.isclass(thing) else ():
            result = validate(method)
            where = result["file"], result["file_line"]
            if where not in checked:
                checked.add(where)
                one_line = {"PR01", "RT01"} if method.startswith(ONE_LINE) else set()
                yield from missing(method, LAYOUT | NAMES_ONLY | one_line)


if __name__ == "__main__":
    found = list(problems())
    print("\n".join(found))
    sys.exit(f"{len(found)} problems in docstrings." if found else 0)
