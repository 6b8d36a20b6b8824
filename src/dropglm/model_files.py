"""Models in files that hold data and no code.

A file is a skops archive of one dictionary: numbers, strings, lists and arrays of numbers, nothing else.
Before anything is built from it, every type that it names is held against the few that we write; so opening a
file cannot run what it carries, whoever made it.
"""

import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

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


class ModelFileError(ValueError):
    """A file that is no model, or not one for this version."""


def write(path: str | PathLike[str], kind: str, state: dict[str, Any]) -> None:
    """Write a model of that kind; whoever interrupts this finds the old file, or the whole new one."""
    io = _skops()
    content = {"format": FORMAT, "dropglm": version("dropglm"), "kind": kind, "state": state}
    path = Path(path)
    # In the same folder, since a file can be renamed within one disk only.
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise type(error)(f"{path} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(handle, "wb") as file:
            io.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def read(path: str | PathLike[str], kind: str) -> dict[str, Any]:
    """The state of the model of that kind in the file.

    Raises
    ------
    ModelFileError
        In one sentence, if the file is truncated, foreign or newer, or names a type that is no plain data.
    """
    io = _skops()
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            _refuse_foreign(path, archive)
        content = io.load(path)
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error.strerror}.") from None
    except ModelFileError:
        raise
    except zipfile.BadZipFile:
        raise ModelFileError(f"{path} is no model file of dropglm, or a part of one is missing.") from None
    except Exception as error:
        # Whatever skops or NumPy stumbles over in a damaged file; nothing was built from it.
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise ModelFileError(f"{path} is a damaged model file: {reason}.") from None
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise ModelFileError(f"{path} is no model file of dropglm.")
    if content["format"] > FORMAT:
        raise ModelFileError(
            f"{path} was written by dropglm {content.get('dropglm')}, in format {content['format']}; this is "
            f"dropglm {version('dropglm')}, which reads up to format {FORMAT}: install the newer one."
        )
    if content.get("kind") != kind or not isinstance(content.get("state"), dict):
        raise ModelFileError(f"{path} holds a {content.get('kind')!r}, not a {kind}.")
    state: dict[str, Any] = content["state"]
    return state


def _refuse_foreign(path: Path, archive: zipfile.ZipFile) -> None:
    """Look at what the archive says of itself, before anything of it is built."""
    if "schema.json" not in archive.namelist():
        raise ModelFileError(f"{path} is no model file of dropglm.")
    if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
        # We never compress, and so nothing can grow when it is unpacked.
        raise ModelFileError(f"{path} has compressed parts, which dropglm does not write.")
    for node in _nodes(json.loads(archive.read("schema.json"))):
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
            if {"__module__", "__class__", "__loader__"} & part.keys():
                yield part
            todo.extend(part.values())
        elif isinstance(part, list):
            todo.extend(part)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _skops() -> Any:
    try:
        from skops import io
    except ImportError:
        raise ImportError("Model files need skops: pip install 'dropglm[models]'.") from None
    return io
