"""Model files, which contain data and no code.

A model file is a skops archive of a single dictionary that holds only numbers, strings, lists and numeric
arrays. Before anything is built from a file, every type that it names is compared with the few types that we
write. Model files from untrusted sources are therefore safe to open.
"""

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dropglm.extras import import_extra
from dropglm.files import FileError, replacing

FORMAT = 1

# The nodes that a file may contain, as (module, class, loader)
ALLOWED_NODES = {
    ("builtins", "dict", "DictNode"),
    ("builtins", "list", "ListNode"),
    ("builtins", "tuple", "TupleNode"),
    ("builtins", "str", "JsonNode"),
    ("builtins", "str", "TypeNode"),  # the type of a dictionary's keys
    ("numpy", "ndarray", "NdArrayNode"),
}


class ModelFileError(FileError):
    """A file that is not a model file, is damaged, or was written by a newer version."""


def write(path: str | PathLike[str], kind: str, state: dict[str, Any]) -> None:
    """Write a model of that kind; the old file is replaced in one step, or left unchanged on failure."""
    content = {"format": FORMAT, "dropglm": version("dropglm"), "kind": kind, "state": to_plain(state)}
    data = _skops().dumps(content)
    try:
        with replacing(path) as stream:
            stream.write(data)
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
    skops = _skops()
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error.strerror or error}.") from None
    with reporting_damage(path):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_archive(path, archive, len(data))
        content = skops.loads(data)
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise ModelFileError(f"{path} is not a dropglm model file.")
    if content["format"] > FORMAT:
        raise ModelFileError(
            f"{path} was written by dropglm {content.get('dropglm')}, in format {content['format']}. This is "
            f"dropglm {version('dropglm')}, which reads up to format {FORMAT}; install the newer version."
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
    except zipfile.BadZipFile:
        raise ModelFileError(f"{path} is not a dropglm model file, or it is truncated.") from None
    except MemoryError:
        raise ModelFileError(f"{path} needs more memory than is available.") from None
    except Exception as error:  # zipfile, skops and NumPy raise many types for damaged files
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise ModelFileError(f"{path} is a damaged model file: {reason}.") from error


def _check_archive(path: str | PathLike[str], archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive that declares anything but plain data, before anything is built from it."""
    members = archive.infolist()
    if "schema.json" not in archive.namelist():
        raise ModelFileError(f"{path} is not a dropglm model file.")
    # Our files are not compressed and no member is used twice, so reading never takes much more memory than
    # the size of the file.
    compressed = any(member.compress_type != zipfile.ZIP_STORED for member in members)
    nodes = list(_nodes(json.loads(archive.read("schema.json"))))
    used = [node["file"] for node in nodes if "file" in node]
    if compressed or sum(member.file_size for member in members) > size or len(set(used)) < len(used):
        raise ModelFileError(
            f"{path} has members that are compressed or used twice; no model file of dropglm has."
        )
    for node in nodes:
        declared = tuple(node.get(key) for key in ("__module__", "__class__", "__loader__"))
        if declared not in ALLOWED_NODES:
            module, name, _ = declared
            raise ModelFileError(
                f"{path} contains a {module}.{name}; model files may contain plain data only. Nothing in it "
                "was loaded or run."
            )


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of a skops schema that declares how an object is built."""
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
    return import_extra("skops.io", "models", "Model files need")
