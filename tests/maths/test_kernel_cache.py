"""Loading compiled functions from disk."""

import os
import subprocess
import sys

import numpy as np

from dropglm.maths.compile import kernel, on_disk

PROGRAM = """
import sys
import numpy as np
from dropglm.text.token_kernels import keys_of

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


def test_functions_that_are_not_compiled_are_left_alone():
    assert on_disk(len) is len


def test_a_function_without_a_file_is_compiled_in_every_process():
    namespace: dict = {}
    exec("def double(values):\n    for i in range(len(values)):\n        values[i] *= 2", namespace)
    values = np.arange(3.0)
    kernel(namespace["double"])(values)
    np.testing.assert_array_equal(values, [0.0, 2.0, 4.0])
