"""Compiling functions, and loading them from disk."""

import gc
import os
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from dropglm.core.maths.compile import KernelCompiler, kernel, on_disk

PROGRAM = """
import sys
from typing import ClassVar
import numpy as np
from dropglm.text.ngrams.tokens import keys_of

keys, ends = np.empty(2, np.int64), np.array([0, 1, 12])
keys_of(np.frombuffer(b"abcdefghijkl", np.uint8), ends, keys)
print(*keys, "numba.np.linalg" in sys.modules)
keys = np.empty(2, np.uint64)
keys_of(np.frombuffer(b"abcdefghijkl", np.uint8), ends, keys)
print(*keys.view(np.int64))
"""


def test_the_compiler_is_prepared_only_if_it_is_needed(tmp_path):
    """The second process loads both forms; a third one that lacks one of them compiles it after loading."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def run():
        command = (sys.executable, "-c", PROGRAM)
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    first = run()
    assert first[:2] == first[3:]
    assert first[2] == "True"
    again = run()
    assert again == [*first[:2], "False", *first[3:]]
    newest = max(tmp_path.rglob("*keys_of*.nbc"), key=lambda path: path.stat().st_mtime_ns)
    newest.unlink()
    assert run() == again


SHARED = """
import numpy as np
from dropglm.core.maths.vectors import moved

assert moved(np.ones(10**6), 2.0, np.ones(10**6), threads=2).sum() == 3e6
"""


def test_a_shared_loop_is_compiled_once_for_all_processes(tmp_path):
    """Numba's cache finds the function that shares the loop by the loop's file and name."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    written = []
    for _ in range(2):
        subprocess.run((sys.executable, "-c", SHARED), env=environment, check=True)
        written.append({path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")})
    assert any("_leader" in path.name for path in written[0])
    assert written[0] == written[1]


def test_functions_that_are_not_compiled_are_left_alone():
    assert on_disk(len) is len


def test_a_function_without_a_file_is_compiled_in_every_process():
    namespace: dict = {}
    exec("def double(values):\n    for i in range(len(values)):\n        values[i] *= 2", namespace)
    values = np.arange(3.0)
    kernel(namespace["double"])(values)
    np.testing.assert_array_equal(values, [0.0, 2.0, 4.0])


@pytest.fixture
def watched():
    """A compiler that notes whether the garbage collector is on while it works."""

    class Watched(KernelCompiler):
        seen: ClassVar[list[bool]] = []

        def define_pipelines(self):
            self.seen.append(gc.isenabled())
            return super().define_pipelines()

    return Watched


def test_the_collector_is_off_while_a_function_is_compiled_and_on_again_afterwards(watched):
    assert njit(lambda x: 2 * x, pipeline_class=watched)(3) == 6
    assert watched.seen == [False]
    assert gc.isenabled()


def test_the_collector_is_on_again_after_a_failure(watched):
    with pytest.raises(TypingError):
        njit(lambda x: x.nothing, pipeline_class=watched)(3)
    assert watched.seen == [False]
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off(watched):
    gc.disable()
    try:
        njit(lambda x: 2 * x, pipeline_class=watched)(3)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_kernels_compute_what_their_python_functions_do(rng):
    def mixed(values, bounds, out):
        low, high = bounds
        for i in range(len(values)):
            out[i] = min(max(values[i], low), high) if i % 3 else (values[i], i)[0] ** 2

    values, expected, found = rng.normal(size=50), np.empty(50), np.empty(50)
    mixed(values, (-0.5, 0.5), expected)
    kernel(mixed)(values, (-0.5, 0.5), found)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
