"""Archives of plain data: what we write, skops reads, and the other way round."""

import json
import time
import zipfile
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skops import io

from dropglm.base import plain_archive

NUMBERS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    NUMBERS,
    lambda values: st.lists(values) | st.lists(values).map(tuple) | st.dictionaries(st.text(), values),
    max_leaves=20,
)
ARRAYS = [
    np.arange(6.0, dtype=np.float32).reshape(2, 3),
    np.asfortranarray(np.arange(6).reshape(2, 3)),
    np.array(["good", "bad"]),
    np.array(["good", 1, None], dtype=object),
    np.array(2.5),
    np.empty(0, np.uint8),
]


@settings(max_examples=50, deadline=None)
@given(VALUES)
def test_skops_and_we_read_what_either_writes(value):
    assert plain_archive.loads(plain_archive.dumps(value)) == value
    assert io.loads(plain_archive.dumps(value)) == value
    assert plain_archive.loads(io.dumps(value)) == value


@pytest.mark.parametrize("array", ARRAYS, ids=repr)
def test_arrays_keep_type_shape_and_order(array):
    writers, readers = (plain_archive.dumps, io.dumps), (plain_archive.loads, io.loads)
    for dumps, loads in zip(writers, readers[::-1], strict=True):
        found = loads(dumps([array]))[0]
        np.testing.assert_array_equal(found, array)
        assert (found.dtype, found.flags.f_contiguous) == (array.dtype, array.flags.f_contiguous)
        assert found.flags.writeable


@pytest.mark.parametrize(
    "change",
    [
        lambda node: node.pop("__loader__"),
        lambda node: node.update(content="[1]"),
        lambda node: node.update(content="{}"),
        lambda node: node.update(content=None),
        lambda node: node.clear(),
    ],
)
def test_changed_nodes_are_refused(change):
    changed = BytesIO()
    with (
        zipfile.ZipFile(BytesIO(plain_archive.dumps([1]))) as old,
        zipfile.ZipFile(changed, "w") as new,
    ):
        schema = json.loads(old.read("schema.json"))
        change(schema["content"][0])
        new.writestr("schema.json", json.dumps(schema))
    with pytest.raises((ValueError, KeyError, TypeError)):
        plain_archive.loads(changed.getvalue())


def test_keys_must_be_strings():
    with pytest.raises(plain_archive.NotPlainError, match=r"builtins\.int"):
        plain_archive.loads(io.dumps({1: 2}))


def test_a_compressed_schema_is_refused_before_it_is_read(monkeypatch):
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(plain_archive.SCHEMA, " " * 100_000 + "{}")
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(plain_archive.NotPlainError, match="compressed"):
        plain_archive.loads(buffer.getvalue())


def test_equal_values_give_equal_bytes_at_any_time(monkeypatch):
    value = {"weights": np.arange(3.0), "names": ["a", "b"]}
    first = plain_archive.dumps(value)
    monkeypatch.setattr(time, "time", lambda: 2e9)
    assert plain_archive.dumps(value) == first
