"""Archives of plain data in the format of skops, read and written without importing it.

skops imports scikit-learn and much of SciPy, which takes two seconds; numbers, strings, lists, dictionaries
and arrays need none of it. An archive is a ZIP file with a tree of nodes in ``schema.json`` and a NumPy file
for each array. Every node names its type and the loader of skops that builds it. Before anything is built,
every type is compared with those in ``LOADERS``, so archives from untrusted sources are safe to open.
"""

import json
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import IO, Any

import numpy as np

from dropglm.base.errors import InputError

SCHEMA = "schema.json"
LARGE = 1 << 30  # bytes of a member for which the larger headers of ZIP64 are written
# Archives of this version of the format can be opened by skops 0.13 and later.
HEADER = {"protocol": 2, "_skops_version": "0.13"}


class NotPlainError(InputError):
    """An archive that is not one of plain data; the message says why, as the rest of a sentence."""


def dumps(value: Any) -> bytes:
    """Return an archive of numbers, strings, lists, tuples, dictionaries with string keys, and arrays.

    Examples
    --------
    >>> loads(dumps({"l2": 0.5, "ngrams": (1, 2)}))
    {'l2': 0.5, 'ngrams': (1, 2)}
    """
    buffer = BytesIO()
    dump(value, buffer)
    return buffer.getvalue()


def dump(value: Any, stream: IO[bytes]) -> None:
    """Write an archive as ``dumps`` returns it; arrays are not copied as a whole."""
    if not stream.seekable():
        stream.write(dumps(value))
        return
    with zipfile.ZipFile(stream, "w") as archive:
        schema = _to_node(value, archive) | HEADER
        archive.writestr(_member(SCHEMA), json.dumps(schema))


def loads(data: bytes) -> Any:
    """Return what an archive holds.

    Raises
    ------
    NotPlainError
        If this is not an archive of skops, or if it contains anything but plain data. Damaged archives may
        raise other errors as well.
    """
    with zipfile.ZipFile(BytesIO(data)) as archive:
        schema = _checked_schema(archive, len(data))
        return _from_node(schema, archive)


def _to_node(value: Any, archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the node of a value; arrays become members of the archive."""
    if isinstance(value, dict):
        key_types = _node("list", "ListNode", content=[_node("str", "TypeNode")] * len(value))
        content = {key: _to_node(item, archive) for key, item in value.items()}
        return _node("dict", "DictNode", content=content, key_types=key_types)
    if isinstance(value, (list, tuple)):
        name = "list" if isinstance(value, list) else "tuple"
        return _node(name, f"{name.title()}Node", content=[_to_node(item, archive) for item in value])
    if not isinstance(value, np.ndarray):
        return _node("str", "JsonNode", content=json.dumps(value), is_json=True)
    if value.dtype.kind == "O":
        items = [_to_node(item, archive) for item in value.tolist()]
        return _array_node(type="json", content=items, shape=_to_node(value.shape, archive))
    member = f"{len(archive.namelist())}.npy"
    with archive.open(_member(member), "w", force_zip64=value.nbytes > LARGE) as file:
        if value.ndim and value.size and value.flags.c_contiguous and value.dtype.kind in "biuf":
            # Without the copies of ``write_array``, which take 16 MB
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(value))
            file.write(value.data.cast("B"))
        else:
            np.lib.format.write_array(file, value, allow_pickle=False)
    return _array_node(type="numpy", file=member)


def _member(name: str) -> zipfile.ZipInfo:
    """Return a member with a fixed date, so that equal values give equal bytes."""
    member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    member.external_attr = 0o600 << 16  # readable once unpacked, as without a date
    return member


def _node(name: str, loader: str, **content: Any) -> dict[str, Any]:
    return {"__class__": name, "__module__": "builtins", "__loader__": loader} | content


def _array_node(**content: Any) -> dict[str, Any]:
    return _node("ndarray", "NdArrayNode", **content) | {"__module__": "numpy"}


def _checked_schema(archive: zipfile.ZipFile, size: int) -> Any:
    """Return the schema, after refusing an archive that declares anything but plain data."""
    members = archive.infolist()
    if SCHEMA not in archive.namelist():
        raise NotPlainError("is not a dropglm model file")
    # Our files are not compressed and no member is used twice, so reading never takes much more memory than
    # the size of the file.
    refused = NotPlainError("has members that are compressed or used twice; no model file of dropglm has")
    compressed = any(member.compress_type != zipfile.ZIP_STORED for member in members)
    if compressed or sum(member.file_size for member in members) > size:
        raise refused
    schema = json.loads(archive.read(SCHEMA))
    nodes = list(_nodes(schema))
    used = [node["file"] for node in nodes if "file" in node]
    if len(set(used)) < len(used):
        raise refused
    for node in nodes:
        if _declared(node) not in LOADERS:
            module, name, _ = _declared(node)
            raise NotPlainError(
                f"contains a {_printable(module)}.{_printable(name)}; model files may contain plain data "
                "only. Nothing in it was loaded or run"
            )
    return schema


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every part of a schema that declares how an object is built."""
    todo = [schema]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if {"__module__", "__class__", "__loader__", "file"} & part.keys():
                yield part
            todo.extend(part.values())
        elif isinstance(part, list):
            todo.extend(part)


def _printable(name: Any) -> str:
    """Return a name as it is shown in a message: a terminal may act on control characters."""
    return name[:60] if isinstance(name, str) and name[:60].isprintable() else ascii(name)[:60]


def _declared(node: dict[str, Any]) -> tuple[Any, Any, Any]:
    return node.get("__module__"), node.get("__class__"), node.get("__loader__")


def _from_node(node: dict[str, Any], archive: zipfile.ZipFile) -> Any:
    return LOADERS[_declared(node)](node, archive)


def _load_dict(node: dict[str, Any], archive: zipfile.ZipFile) -> dict[str, Any]:
    key_types = _from_node(node["key_types"], archive)
    if key_types != [str] * len(node["content"]):
        raise InputError("the keys of a dictionary are not strings")
    return {key: _from_node(item, archive) for key, item in node["content"].items()}


def _load_list(node: dict[str, Any], archive: zipfile.ZipFile) -> list[Any]:
    return [_from_node(item, archive) for item in node["content"]]


def _load_tuple(node: dict[str, Any], archive: zipfile.ZipFile) -> tuple[Any, ...]:
    return tuple(_load_list(node, archive))


def _load_scalar(node: dict[str, Any], archive: zipfile.ZipFile) -> Any:
    value = json.loads(node["content"])
    if isinstance(value, (dict, list)):
        raise InputError("a number or string is neither")
    return value


def _load_string_type(node: dict[str, Any], archive: zipfile.ZipFile) -> type[str]:
    return str


def _load_array(node: dict[str, Any], archive: zipfile.ZipFile) -> np.ndarray:
    if node["type"] == "numpy":
        data = archive.read(node["file"])
        array = np.lib.format.read_array(BytesIO(data), allow_pickle=False)
        if array.size > len(data):  # strings of length 0, of which a few bytes can declare any number
            raise InputError("an array has more entries than bytes")
        return array
    if node["type"] != "json":
        raise InputError(f"an array is of type {node['type']!r}")
    items = _load_list(node, archive)
    if _from_node(node["shape"], archive) != (len(items),):
        raise InputError("an array of objects is not one-dimensional")
    array = np.empty(len(items), object)
    array[:] = items
    return array


# The nodes that an archive may contain, as (module, class, loader of skops), and how they are built.
LOADERS: dict[tuple[Any, Any, Any], Callable[[dict[str, Any], zipfile.ZipFile], Any]] = {
    ("builtins", "dict", "DictNode"): _load_dict,
    ("builtins", "list", "ListNode"): _load_list,
    ("builtins", "tuple", "TupleNode"): _load_tuple,
    ("builtins", "str", "JsonNode"): _load_scalar,
    ("builtins", "str", "TypeNode"): _load_string_type,  # the type of a dictionary's keys
    ("numpy", "ndarray", "NdArrayNode"): _load_array,
}
