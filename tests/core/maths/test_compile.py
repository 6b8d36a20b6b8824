"""Compiling functions."""

import gc
from typing import ClassVar

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from dropglm.core.maths.compile import KernelCompiler, kernel, on_disk


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
