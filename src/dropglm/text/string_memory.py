"""Reading Python strings in compiled code, from the memory in which CPython stores them.

To encode a string in UTF-8, Python needs a new object and holds the GIL: 0.1 s for 100,000 reviews, which
other threads wait for. A compiled loop reads characters without either. The layout is that of CPython 3.11
and later with a GIL (PEP 393): a header with the length at byte 16 and the state at byte 32, then the
characters, of 1, 2 or 4 bytes each. ``readable`` compares it with what Python says about some strings; where
it differs, callers encode the strings instead.
"""

import platform
import sys
from ctypes import c_int64, c_uint32
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from dropglm.maths.compile import kernel, part

LENGTH, STATE = 16, 32  # offsets in the header
ASCII_HEADER = sys.getsizeof("") - 1
WIDE_HEADER = str.__basicsize__ - 8  # of other strings; characters stored elsewhere have their address here
CASED = 0x20000  # beyond these code points, no character has another lower case
# Their lower case is two characters, or depends on their neighbours.
DOTTED_I, SIGMA = "İ", "Σ"


def _reader(bits: int) -> Any:
    """Return a function of compiled code that reads the number of so many bits at an address."""

    def typed(typing_context: Any, address: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
            return builder.load(pointer)

        return types.Integer.from_bitwidth(bits, signed=bits == 64)(types.int64), write

    return intrinsic(typed)


_read_8, _read_16, _read_32, _read_64 = map(_reader, (8, 16, 32, 64))


@part
def describe(address):
    """Return the address of a string's characters, their number, bytes per character, and if it is ASCII."""
    state = np.int64(_read_32(address + STATE))
    ascii = (state >> 6) & 1
    place = address + (ASCII_HEADER if ascii else WIDE_HEADER)
    if not (state >> 5) & 1:  # not compact
        place = _read_64(address + WIDE_HEADER)
    return place, _read_64(address + LENGTH), (state >> 2) & 7, ascii == 1


@kernel
def write_kinds(addresses, kinds):
    """Write the bytes per character of each string."""
    for i in range(len(addresses)):
        kinds[i] = describe(addresses[i])[2]


@part
def write_character(code, letters, p):
    """Write a code point in UTF-8 at p; return where the next one begins."""
    if code < 0x80:
        letters[p] = code
        return p + 1
    more = 1 if code < 0x800 else (2 if code < 0x10000 else 3)  # bytes after the first
    for k in range(p + more, p, -1):
        letters[k] = 0x80 | code & 0x3F
        code >>= 6
    letters[p] = (0x780 >> more & 0xFF) | code
    return p + more + 1


@part
def write_string(address, lower, letters, p):
    """Write a string in UTF-8 at p, in lower case if there is a table for it; return where it ends."""
    place, length, kind, ascii = describe(address)
    if ascii:
        if len(lower):
            for k in range(length):
                letter = _read_8(place + k)
                letters[p + k] = np.uint8(letter + (np.uint8(letter - 65) < 26) * 32)
        else:
            for k in range(length):
                letters[p + k] = _read_8(place + k)
        return p + length
    for k in range(length):
        if kind == 1:
            code = np.int64(_read_8(place + k))
        elif kind == 2:
            code = np.int64(_read_16(place + 2 * k))
        else:
            code = np.int64(_read_32(place + 4 * k))
        if code < len(lower):
            code = np.int64(lower[code])
        p = write_character(code, letters, p)
    return p


def addresses_of(texts: list[str]) -> np.ndarray:
    """Return where the strings are stored; they stay there as long as the list exists."""
    return np.fromiter(map(id, texts), np.int64, len(texts))


@cache
def readable() -> bool:
    """Return whether this interpreter stores strings in the way that the loops expect."""
    if platform.python_implementation() != "CPython" or sys.maxsize < 1 << 32:
        return False
    jit: Any = config
    if jit.DISABLE_JIT or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    class_of_user = type("Text", (str,), {})
    expected = {"": 1, "a": 1, "one two": 1, "é": 1, "ÿa": 1, "Ā": 2, "京都": 2, "a\U0001f600": 4}
    return all(
        c_int64.from_address(id(text) + LENGTH).value == len(text)
        and (c_uint32.from_address(id(text) + STATE).value >> 2) & 31
        == kind | (type(text) is str) << 3 | text.isascii() << 4
        for text, kind in [*expected.items(), (class_of_user("été"), 1), (class_of_user("京"), 2)]
    )


def bytes_per_character(addresses: np.ndarray) -> np.ndarray:
    """Return in how many bytes each string stores a character: 1, 2 or 4."""
    kinds = np.empty_like(addresses)
    if len(addresses):
        write_kinds(addresses, kinds)
    return kinds


def is_irregular(text: str) -> bool:
    """Return whether the lower case of a text is not that of its characters one by one."""
    return DOTTED_I in text or SIGMA in text


def characters(size: int) -> str:
    """Return the string of the first code points, lone surrogates included."""
    # Three hundred times as fast as joining chr(0), chr(1), …
    return np.arange(size, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


@cache
def lower_case() -> np.ndarray:
    """Return the lower case of each code point, but for the irregular ones."""
    everything = characters(CASED).replace(DOTTED_I, "\0").replace(SIGMA, "\0")
    return np.frombuffer(everything.lower().encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int32)
