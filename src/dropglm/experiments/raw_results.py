"""Raw results: store them as one line of JSON per fit, group them and average them."""

import json
import os
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from dropglm.experiments.experiment import Fit, Line
from dropglm.files import FileError, naming_file

IDENTITY = ("experiment", "data", "method", "seed", "parameters")
MEASURED: dict[str, Any] = {"result": dict, "seconds": (int, float), "versions": dict}


class RawResults:
    """The raw results of one experiment, in ``<folder>/<experiment>.jsonl``.

    The file is read once, here; after that lines are only appended. An incomplete last line, left by a run
    that was killed, is ignored and overwritten by the next result.

    Parameters
    ----------
    folder : Path
    experiment : str

    Raises
    ------
    FileError
        If a line of the file is not a raw result.
    """

    def __init__(self, folder: Path, experiment: str) -> None:
        self.experiment = experiment
        self.path = folder / f"{experiment}.jsonl"
        content = self.path.read_bytes() if self.path.exists() else b""
        complete = content.rfind(b"\n") + 1
        self._lines = _parse(content[:complete], self.path)
        self._cut_at = complete if complete < len(content) else None

    def lines(self, fits: Iterable[Fit]) -> list[Line]:
        """Return the results of these fits that are available, in the order of the fits."""
        identities = (identity(self._described(fit)) for fit in fits)
        return [self._lines[key] for key in identities if key in self._lines]

    def missing(self, fits: Iterable[Fit]) -> list[Fit]:
        """Return the fits that have no result yet."""
        return [fit for fit in fits if identity(self._described(fit)) not in self._lines]

    def append(self, fit: Fit, result: Mapping[str, Any], seconds: float) -> None:
        """Write the result of a fit to the file, and make sure that it is on disk."""
        line = self._described(fit) | {"result": dict(result), "seconds": seconds, "versions": _versions()}
        # NaN is not valid JSON; a result that contains one is a bug in the experiment.
        text = json.dumps(line, allow_nan=False).encode() + b"\n"
        if self._cut_at is not None:
            os.truncate(self.path, self._cut_at)
            self._cut_at = None
        with naming_file(self.path), self.path.open("ab") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self._lines[identity(line)] = json.loads(text)

    def _described(self, fit: Fit) -> Line:
        """Return the part of a line that is known before the fit has run."""
        return {
            "experiment": self.experiment,
            "data": fit.data,
            "method": fit.method,
            "seed": fit.seed,
            "parameters": dict(fit.parameters),
        }


def identity(line: Mapping[str, Any]) -> str:
    """Return a string that is equal for two lines only if they are results of the same fit.

    Examples
    --------
    >>> line = {"experiment": "online", "data": "rt", "method": "sgd", "seed": 0, "parameters": {}}
    >>> identity(line) == identity(line | {"seconds": 2}), identity(line) == identity(line | {"seed": 1})
    (True, False)
    """
    return json.dumps([line[name] for name in IDENTITY], sort_keys=True)


def _parse(content: bytes, path: Path) -> dict[str, Line]:
    """Return the lines by identity."""
    lines: dict[str, Line] = {}
    for number, text in enumerate(content.split(b"\n")[:-1], 1):
        try:
            line = json.loads(text, parse_constant=_refuse)
            if not all(isinstance(line[name], kind) for name, kind in MEASURED.items()):
                raise TypeError
            lines[identity(line)] = line
        except (ValueError, KeyError, TypeError, AttributeError):
            raise FileError(
                f"{path}, line {number} is not a raw result; delete this line or the file."
            ) from None
    return lines


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not valid JSON")


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("dropglm", "numpy", "scikit-learn")}
    return packages | {"python": platform.python_version()}


def by(field: str, lines: Iterable[Line]) -> dict[str, list[Line]]:
    """Group lines by the value of a field, in order of first appearance.

    Examples
    --------
    >>> lines = [{"data": "rt", "seed": 0}, {"data": "subj", "seed": 0}, {"data": "rt", "seed": 1}]
    >>> {data: len(group) for data, group in by("data", lines).items()}
    {'rt': 2, 'subj': 1}
    """
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line[field], []).append(line)
    return groups


def with_parameter(name: str, value: Any, lines: Iterable[Line]) -> list[Line]:
    """Return the lines whose parameter of that name has that value."""
    return [line for line in lines if line["parameters"][name] == value]


def values(name: str, lines: Iterable[Line]) -> list[float]:
    """Return one number from the result of each line that has it."""
    return [line["result"][name] for line in lines if name in line["result"]]


def count_seeds(lines: Iterable[Line]) -> str:
    """Return the number of different seeds, in words."""
    number = len({line["seed"] for line in lines})
    return f"{number} seeds" if number > 1 else "1 seed"


def mean_percent(numbers: Iterable[float]) -> str:
    """Return the mean in per cent, or a dash if there are no numbers.

    Examples
    --------
    >>> mean_percent([0.5, 0.75]), mean_percent([])
    ('62.50', '-')
    """
    found = list(numbers)
    return f"{100 * np.mean(found):.2f}" if found else "-"


def mean(numbers: Iterable[float]) -> str:
    """Return the mean with three decimals, or a dash if there are no numbers."""
    found = list(numbers)
    return f"{np.mean(found):.3f}" if found else "-"


def standard_error(numbers: Iterable[float]) -> float | None:
    """Return the standard error of the mean, or None for fewer than two numbers.

    Examples
    --------
    >>> standard_error([0.5, 0.75]), standard_error([0.5])
    (0.125, None)
    """
    found = list(numbers)
    return float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None


def standard_error_percent(numbers: Iterable[float]) -> str:
    """Return the standard error of the mean in per cent, or a dash for fewer than two numbers.

    Examples
    --------
    >>> standard_error_percent([0.5, 0.75]), standard_error_percent([0.5])
    ('12.50', '-')
    """
    error = standard_error(numbers)
    return "-" if error is None else f"{100 * error:.2f}"
