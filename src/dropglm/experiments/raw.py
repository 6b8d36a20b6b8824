"""Raw results: a file of JSON, one line a fit, that only grows."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dropglm.experiments.experiment import Line
from dropglm.files import FileError

FOUND: dict[str, Any] = {"result": dict, "seconds": (int, float), "versions": dict}
IDENTITY = ("experiment", "data", "method", "seed", "parameters")


def identity(line: Mapping[str, Any]) -> str:
    """What tells a fit from all others.

    Examples
    --------
    >>> line = {"experiment": "online", "data": "rt", "method": "sgd", "seed": 0, "parameters": {}}
    >>> identity(line) == identity(line | {"seconds": 2}), identity(line) == identity(line | {"seed": 1})
    (True, False)
    """
    return json.dumps([line[name] for name in IDENTITY], sort_keys=True)


def read(path: Path) -> dict[str, Line]:
    """The lines by identity, without a last one that was cut off."""
    if not path.exists():
        return {}
    lines: dict[str, Line] = {}
    for number, text in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            line = json.loads(text, parse_constant=_refuse)
            if not all(isinstance(line[name], kind) for name, kind in FOUND.items()):
                raise TypeError
            lines[identity(line)] = line
        except (ValueError, KeyError, TypeError, AttributeError):
            raise FileError(
                f"{path}, line {number} is no raw result; delete that line or the file."
            ) from None
    return lines


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def mend(path: Path) -> None:
    """Cut off a last line without an end, which a killed run has left."""
    if path.exists():
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(path, whole)


def append(path: Path, line: Line) -> None:
    """Add a line, and see to it that it stays."""
    # NaN is no JSON; a result that has one is a mistake of the experiment.
    text = json.dumps(line, allow_nan=False)
    with path.open("ab") as file:
        file.write(text.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
