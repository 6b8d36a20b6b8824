"""Models in files that hold data and no code.

A file is a skops archive of one dictionary: numbers, strings, lists and arrays of numbers, nothing else.
Before anything is built from it, every type that it names is held against the few that we write; so opening a
file cannot run what it carries, whoever made it.
"""

import io
import json
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dropglm.files import FileError, replacing

FORMAT = 1

# (module, class, loader) of all that may stand in a file
PLAIN = {
    ("builtins", "dict", "DictNode"),
    ("builtins", "list", "ListNode"),
    ("builtins", "tuple", "TupleNode"),
    ("builtins", "str", "JsonNode"),
    ("builtins", "str", "TypeNode"),  # of a dictionary's keys
    ("numpy", "ndarray", "NdArrayNode"),
}


class ModelFileError(FileError):
    """A file that is no model, or not one for this version."""


def write(path: str | PathLike[str], kind: str, state: dict[str, Any]) -> None:
    """Write a model of that kind; whoever interrupts this finds the old file, or the whole new one."""
    content = {"format": FORMAT, "dropglm": version("dropglm"), "kind": kind, "state": plain(state)}
    data = _skops().dumps(content)
    try:
        with replacing(path) as stream:
            stream.write(data)
    except OSError as error:
        raise type(error)(f"{path} cannot be written: {error.strerror or error}.") from None


def plain(value: Any) -> Any:
    """The value in the types that a file may hold; a ``TypeError`` if it has none of them.

    Examples
    --------
    >>> plain({"l2": np.float64(0.5), "ngrams": (np.int64(1), 2)})
    {'l2': 0.5, 'ngrams': (1, 2)}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, float, str, np.ndarray):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {str(key): plain(item) for key, item in value.items()}
    raise TypeError(f"A model file cannot hold {value!r}, a {type(value).__name__}.")


def read(path: str | PathLike[str], *kinds: str) -> tuple[str, dict[str, Any]]:
    """The kind of the model in the file, one of these, and its state.

    Raises
    ------
    ModelFileError
        In one sentence, if the file is truncated, foreign or newer, or names a type that is no plain data.
    """
    skops = _skops()
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error.strerror or error}.") from None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _refuse_foreign(path, archive, len(data))
        content = skops.loads(data)
    except ModelFileError:
        raise
    except zipfile.BadZipFile:
        raise ModelFileError(f"{path} is no model file of dropglm, or a part of one is missing.") from None
    except Exception as error:
        # Whatever zipfile, skops or NumPy stumbles over in a damaged file; nothing was built from it.
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise ModelFileError(f"{path} is a damaged model file: {reason}.") from None
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise ModelFileError(f"{path} is no model file of dropglm.")
    if content["format"] > FORMAT:
        raise ModelFileError(
            f"{path} was written by dropglm {content.get('dropglm')}, in format {content['format']}; this is "
            f"dropglm {version('dropglm')}, which reads up to format {FORMAT}: install the newer one."
        )
    kind, state = content.get("kind"), content.get("state")
    if kind not in kinds or not isinstance(state, dict):
        raise ModelFileError(f"{path} holds a {kind!r}, not a {' or '.join(kinds)}.")
    return kind, state


def _refuse_foreign(path: str | PathLike[str], archive: zipfile.ZipFile, size: int) -> None:
    """Look at what the archive says of itself, before anything of it is built."""
    members = archive.infolist()
    if "schema.json" not in archive.namelist():
        raise ModelFileError(f"{path} is no model file of dropglm.")
    # We never compress and never use a part twice, so nothing can grow when it is read.
    grows = any(member.compress_type != zipfile.ZIP_STORED for member in members)
    nodes = list(_nodes(json.loads(archive.read("schema.json"))))
    parts = [node["file"] for node in nodes if "file" in node]
    if grows or sum(member.file_size for member in members) > size or len(set(parts)) < len(parts):
        raise ModelFileError(f"{path} has parts that are compressed or used twice, as no model file has.")
    for node in nodes:
        named = tuple(node.get(key) for key in ("__module__", "__class__", "__loader__"))
        if named not in PLAIN:
            module, name, _ = named
            raise ModelFileError(
                f"{path} holds a {module}.{name}, not plain data only; nothing of it was built or run."
            )


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part of a schema that says how it is to be built."""
    todo = [schema]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if {"__module__", "__class__", "__loader__", "file"} & part.keys():
                yield part
            todo.extend(part.values())
        elif isinstance(part, list):
            todo.extend(part)


def _skops() -> Any:
    try:
        from skops import io
    except ImportError:
        raise ImportError("Model files need skops: pip install 'dropglm[models]'.") from None
    return io
