"""Model files, which contain data and no code, and only what a description lists.

A model file is a skops archive of a single dictionary that holds only numbers, strings, lists and arrays. A
``Record`` describes what a kind of file contains: every name, with its type and range. Files are compared
with it when they are written and when they are read, so nothing else can get into a model, and model files
from untrusted sources are safe to open.

Archives are read and written here without skops, which imports scikit-learn and much of SciPy; that takes two
seconds, and plain data needs none of it. An archive is a ZIP file with a tree of nodes in ``schema.json`` and
a NumPy file for each array. Every node names its type and the loader of skops that builds it. Before anything
is built, every type is compared with those in ``LOADERS``.
"""

import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from math import inf, isfinite
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from dropglm.base.errors import InputError, InputTypeError
from dropglm.base.files import FileError, replacing

FORMAT = 2
# What reads the files of each kind, for messages about a file that something else is given.
READ_BY = {
    "SequenceTagger": "dropglm tag and SequenceTagger.load read it",
    "TextClassifier": "dropglm predict and load_model read it",
}
# Numbers of this size and their products with counts of words are finite in single precision.
LARGEST = 1e15
HUGE = sys.float_info.max
MOST = 1 << 63
HALF = re.compile("[\ud800-\udfff]")
SCHEMA = "schema.json"
LARGE = 1 << 30  # bytes of a member for which the larger headers of ZIP64 are written
# Archives of this version of the format can be opened by skops 0.13 and later.
HEADER = {"protocol": 2, "_skops_version": "0.13"}


class ModelFileError(FileError):
    """A file that is not a model file, is damaged, needs trust, or was written by another version."""


class Kind(NamedTuple):
    """A kind of value that a file may contain.

    Attributes
    ----------
    what : str
        What the value must be, as in "l2 must be a number".
    accepts : callable
        Whether a value is of this kind.
    is_safe : callable or None
        Whether an accepted value may come from an untrusted source; None if all may.
    """

    what: str
    accepts: Callable[[Any], bool]
    is_safe: Callable[[Any], bool] | None = None

    def check(self, value: Any, name: str, trust: bool) -> None:
        """Raise ``ValueError`` unless the value is of this kind, or if it needs trust that is not given."""
        if not self.accepts(value):
            raise InputError(f"{name} must be {self.what}, got {_shortened(value)}")
        if not trust and self.is_safe is not None and not self.is_safe(value):
            raise NeedsTrustError(f"{name} is {_shortened(value)}, not {self.what}")


class NeedsTrustError(InputError):
    """A value that is accepted only from files that the user trusts."""


class Record:
    """A dictionary with these names, all of which must be there unless they are optional.

    Parameters
    ----------
    parts : mapping of str to Kind or Record
    optional : sequence of str
        Names that may be missing.
    or_none : bool
        Whether None may take the place of the dictionary.
    risk : callable or None
        Returns why a dictionary is safe only from a trusted source, or None.

    Examples
    --------
    >>> Record({"l2": number(0.0)}).check({"l2": -1.0}, "settings", trust=False)
    Traceback (most recent call last):
    dropglm.base.errors.InputError: settings.l2 must be a number of at least 0, got -1.0
    """

    def __init__(
        self,
        parts: "Mapping[str, Kind | Record]",
        optional: Sequence[str] = (),
        *,
        or_none: bool = False,
        risk: Callable[[dict[str, Any]], str | None] | None = None,
    ) -> None:
        self.parts, self.optional, self.or_none, self.risk = parts, optional, or_none, risk

    def check(self, value: Any, name: str, trust: bool) -> None:
        """Raise ``ValueError`` that names the first part which is missing, unknown or of another kind."""
        if value is None and self.or_none:
            return
        if not isinstance(value, dict):
            raise InputError(f"{name or 'the content'} must have named parts, got {_shortened(value)}")
        prefix = f"{name}." if name else ""
        unknown = value.keys() - self.parts.keys()
        if unknown:
            first = min(unknown)
            shown = first if first.isidentifier() and len(first) < 60 else _shortened(first)
            raise InputError(f"{prefix}{shown} is not part of such a file")
        for part, kind in self.parts.items():
            if part in value:
                kind.check(value[part], f"{prefix}{part}", trust)
            elif part not in self.optional:
                raise InputError(f"{prefix}{part} is missing")
        reason = None if trust or self.risk is None else self.risk(value)
        if reason is not None:
            raise NeedsTrustError(reason)


def number(low: float = -HUGE, high: float = HUGE) -> Kind:
    """Return the kind of finite numbers in a range."""
    least = "" if low == -HUGE else f" of at least {low:g}"
    most = "" if high == HUGE else f" of at most {high:g}"
    what = f"a number{' and'.join(filter(None, (least, most)))}"
    return Kind(what, lambda value: type(value) in (int, float) and low <= value <= high)


def whole(low: int = 0, high: int = MOST) -> Kind:
    """Return the kind of whole numbers in a range."""
    return Kind(
        f"a whole number from {low} to {high}", lambda value: type(value) is int and low <= value <= high
    )


def one_of(*names: str) -> Kind:
    """Return the kind of these names."""
    what = f"one of {', '.join(map(repr, names))}" if len(names) > 1 else repr(names[0])
    return Kind(what, lambda value: type(value) is str and value in names)


def either(*kinds: Kind) -> Kind:
    """Return the kind of values that are of one of these kinds."""
    return Kind(
        " or ".join(kind.what for kind in kinds), lambda value: any(kind.accepts(value) for kind in kinds)
    )


def several(kind: Kind, low: int = 0, high: float = inf) -> Kind:
    """Return the kind of lists and tuples whose entries are of this kind, ``low`` to ``high`` of them."""
    return Kind(
        f"a list in which each entry is {kind.what}",
        lambda value: (
            type(value) in (list, tuple) and low <= len(value) <= high and all(map(kind.accepts, value))
        ),
    )


def array(dtypes: str, ndim: int, low: float = -LARGEST, high: float = LARGEST) -> Kind:
    """Return the kind of arrays of one of these types, with finite entries in a range.

    Examples
    --------
    >>> array("float32 float64", 1, 0.0).accepts(np.array([1.0, np.nan]))
    False
    """
    names = dtypes.split()
    return Kind(
        f"an array of {ndim} dimension{'s' * (ndim > 1)} and type {' or '.join(names)}, with entries from "
        f"{low:g} to {high:g}",
        lambda value: (
            isinstance(value, np.ndarray)
            and value.ndim == ndim
            and value.dtype.name in names
            and value.dtype.isnative
            # A comparison with NaN is false.
            and (not value.size or bool(value.min() >= low and value.max() <= high))
        ),
    )


FLAG = Kind("True or False", lambda value: type(value) is bool)
# Halves of surrogate pairs cannot be printed, nor written to any other file.
TEXT = Kind("a string of Unicode", lambda value: type(value) is str and not HALF.search(value))
LABEL = Kind(
    "a string of Unicode, True, False or a finite number",
    lambda value: (
        type(value) is bool
        or TEXT.accepts(value)
        or (type(value) is int and -MOST <= value < 2 * MOST)
        or (type(value) is float and isfinite(value))
    ),
)


def none_or(kind: Kind) -> Kind:
    """Return the kind of values that are None or of this kind."""
    return kind._replace(
        what=f"{kind.what} or None", accepts=lambda value: value is None or kind.accepts(value)
    )


def write(path: str | PathLike[str], kind: str, state: dict[str, Any], contents: Record) -> None:
    """Write a model of that kind; the old file is replaced in one step, or left unchanged on failure.

    Raises
    ------
    TypeError, ValueError
        If the state has a part that the contents of such a file do not allow, so that it could not be read.
    """
    plain = to_plain(state)
    try:
        contents.check(plain, "", trust=True)
    except ValueError as error:
        raise InputError(f"The model cannot be saved: {error}.") from None
    content = {"format": FORMAT, "dropglm": _version(), "kind": kind, "state": plain}
    try:
        with replacing(path) as stream:
            write_archive(content, stream)
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
    raise InputTypeError(f"A model file cannot hold {value!r}, which is of type {type(value).__name__}.")


def read(
    path: str | PathLike[str], contents: Mapping[str, Record], *, trust: bool = False
) -> tuple[str, dict[str, Any]]:
    """Return the kind of the model in the file, which must be one of those described, and its state.

    Parameters
    ----------
    path : str or path-like
    contents : mapping of str to Record
        What a file of each kind may contain.
    trust : bool, default=False
        Whether to accept what is safe only if the author of the file is trusted.

    Raises
    ------
    ModelFileError
        If the file is truncated or damaged, is not a model file, was written by another version, or contains
        anything that is not described.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error.strerror or error}.") from None
    with reporting_damage(path):
        content = from_archive(data)
    if not isinstance(content, dict) or type(content.get("format")) is not int:
        raise ModelFileError(f"{path} is not a dropglm model file.")
    if content["format"] != FORMAT:
        newer = content["format"] > FORMAT
        raise ModelFileError(
            f"{path} was written by dropglm {_shortened(content.get('dropglm')).strip(chr(39))}, in format "
            f"{_shortened(content['format'])}. This is dropglm {_version()}, which reads format "
            f"{FORMAT}; {'install the newer version' if newer else 'train the model again'}."
        )
    kind, state = content.get("kind"), content.get("state")
    if not isinstance(kind, str) or kind not in contents or not isinstance(state, dict):
        other = f"; {READ_BY[kind]}" if kind in READ_BY else ""
        raise ModelFileError(
            f"{path} holds a model of kind {_shortened(kind)}, not {' or '.join(contents)}{other}."
        )
    with reporting_damage(path):
        contents[kind].check(state, "", trust)
    return kind, state


@contextmanager
def reporting_damage(path: str | PathLike[str]) -> Iterator[None]:
    """Turn any error while a file is decoded or a model rebuilt into a ``ModelFileError``."""
    try:
        yield
    except ModelFileError:
        raise
    except NeedsTrustError as error:
        raise ModelFileError(
            f"{path} is safe to open only if you trust its author: {error}. If you do, open it with "
            "trust=True, on the command line with --trust."
        ) from None
    except NotPlainError as error:
        raise ModelFileError(f"{path} {error}.") from None
    except zipfile.BadZipFile:
        raise ModelFileError(f"{path} is not a dropglm model file, or it is truncated.") from None
    except MemoryError:
        raise ModelFileError(f"{path} needs more memory than is available.") from None
    except Exception as error:  # zipfile, json and NumPy raise many types for damaged files
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        reason = reason if len(reason) <= 300 else f"{reason[:300]}…"
        raise ModelFileError(f"{path} is a damaged model file: {reason}.") from error


def _version() -> str:
    # 0.1 s, which opening a file need not take
    from importlib.metadata import version

    return version("dropglm")


def _shortened(value: Any) -> str:
    """Return a value as it is shown in a message."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


class NotPlainError(InputError):
    """An archive that is not one of plain data; the message says why, as the rest of a sentence."""


def to_archive(value: Any) -> bytes:
    """Return an archive of numbers, strings, lists, tuples, dictionaries with string keys, and arrays.

    Examples
    --------
    >>> from_archive(to_archive({"l2": 0.5, "ngrams": (1, 2)}))
    {'l2': 0.5, 'ngrams': (1, 2)}
    """
    buffer = BytesIO()
    write_archive(value, buffer)
    return buffer.getvalue()


def write_archive(value: Any, stream: IO[bytes]) -> None:
    """Write an archive as ``to_archive`` returns it; arrays are not copied as a whole."""
    if not stream.seekable():
        stream.write(to_archive(value))
        return
    with zipfile.ZipFile(stream, "w") as archive:
        schema = _to_node(value, archive) | HEADER
        archive.writestr(_member(SCHEMA), json.dumps(schema))


def from_archive(data: bytes) -> Any:
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


def _load_scalar(node: dict[str, Any], archive: zipfile.ZipFile) -> Any:
    value = json.loads(node["content"])
    if isinstance(value, (dict, list)):
        raise InputError("a number or string is neither")
    return value


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
    ("builtins", "tuple", "TupleNode"): lambda node, archive: tuple(_load_list(node, archive)),
    ("builtins", "str", "JsonNode"): _load_scalar,
    ("builtins", "str", "TypeNode"): lambda node, archive: str,  # the type of a dictionary's keys
    ("numpy", "ndarray", "NdArrayNode"): _load_array,
}
