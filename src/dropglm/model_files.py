"""Model files, which contain data and no code.

A model file is a skops archive of a single dictionary that holds only numbers, strings, lists and arrays; see
``plain_archive``. Model files from untrusted sources are safe to open.
"""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dropglm import plain_archive
from dropglm.files import FileError, replacing

FORMAT = 1


class ModelFileError(FileError):
    """A file that is not a model file, is damaged, or was written by a newer version."""


def write(path: str | PathLike[str], kind: str, state: dict[str, Any]) -> None:
    """Write a model of that kind; the old file is replaced in one step, or left unchanged on failure."""
    content = {"format": FORMAT, "dropglm": _version(), "kind": kind, "state": to_plain(state)}
    try:
        with replacing(path) as stream:
            plain_archive.dump(content, stream)
    except OSError as error:
        raise type(error)(f"{path} cannot be written: {error.strerror or error}.") from None


def to_plain(value: Any) -> Any:
    """Convert the value to the types that a file may hold; raise ``TypeError`` if that is not possible.

    Examples
    --------
    >>> to_plain({"l2": np.float64(0.5), "ngrams": (np.int64(1), 2)})
    {'l2': 0.5, 'ngrams': (1, 2)}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.ndim == 1:
        items, value = value.tolist(), np.empty(len(value), object)
        value[:] = [to_plain(item) for item in items]
    if value is None or type(value) in (bool, int, float, str, np.ndarray):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(to_plain(item) for item in value)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {str(key): to_plain(item) for key, item in value.items()}
    raise TypeError(f"A model file cannot hold {value!r}, which is of type {type(value).__name__}.")


def read(path: str | PathLike[str], *kinds: str) -> tuple[str, dict[str, Any]]:
    """Return the kind of the model in the file, which must be one of ``kinds``, and its state.

    Raises
    ------
    ModelFileError
        If the file is truncated or damaged, is not a model file, was written by a newer version, or contains
        anything but plain data.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error.strerror or error}.") from None
    with reporting_damage(path):
        content = plain_archive.loads(data)
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise ModelFileError(f"{path} is not a dropglm model file.")
    if content["format"] > FORMAT:
        raise ModelFileError(
            f"{path} was written by dropglm {content.get('dropglm')}, in format {content['format']}. This is "
            f"dropglm {_version()}, which reads up to format {FORMAT}; install the newer version."
        )
    kind, state = content.get("kind"), content.get("state")
    if kind not in kinds or not isinstance(state, dict):
        raise ModelFileError(f"{path} holds a model of kind {kind!r}, not {' or '.join(kinds)}.")
    return kind, state


@contextmanager
def reporting_damage(path: str | PathLike[str]) -> Iterator[None]:
    """Turn any error while a file is decoded or a model rebuilt into a ``ModelFileError``."""
    try:
        yield
    except ModelFileError:
        raise
    except plain_archive.NotPlainError as error:
        raise ModelFileError(f"{path} {error}.") from None
    except zipfile.BadZipFile:
        raise ModelFileError(f"{path} is not a dropglm model file, or it is truncated.") from None
    except MemoryError:
        raise ModelFileError(f"{path} needs more memory than is available.") from None
    except Exception as error:  # zipfile, json and NumPy raise many types for damaged files
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise ModelFileError(f"{path} is a damaged model file: {reason}.") from error


def _version() -> str:
    # 0.1 s, which opening a file need not take
    from importlib.metadata import version

    return version("dropglm")
