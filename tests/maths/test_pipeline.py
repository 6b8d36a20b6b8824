"""The compiler of kernels: what it leaves out, and what it leaves as it was."""

import gc

import numpy as np
import pytest
from numba import njit
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.errors import TypingError

from dropglm.maths.compile import UNUSED, KernelCompiler, kernel


@pytest.fixture
def watched():
    """A compiler that notes its steps, and whether the garbage collector is on when it chooses them."""

    class Watched(KernelCompiler):
        seen, steps = [], []

        def define_pipelines(self):
            [pipeline] = super().define_pipelines()
            self.seen.append(gc.isenabled())
            self.steps.append([step.name() for step, _ in pipeline.passes])
            return [pipeline]

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


def test_exactly_the_unused_steps_are_left_out(watched):
    """A step that Numba renames is noticed."""
    everything = []

    class Default(Compiler):
        def define_pipelines(self):
            everything.extend(
                step.name() for step, _ in DefaultPassBuilder.define_nopython_pipeline(self.state).passes
            )
            return super().define_pipelines()

    for compiler in (Default, watched):
        njit(lambda x: x, pipeline_class=compiler)(1)
    assert set(everything) >= UNUSED
    assert watched.steps == [[name for name in everything if name not in UNUSED]]


def test_kernels_compute_what_their_python_functions_do(rng):
    def mixed(values, bounds, out):
        low, high = bounds
        for i in range(len(values)):
            out[i] = min(max(values[i], low), high) if i % 3 else (values[i], i)[0] ** 2

    values, expected, found = rng.normal(size=50), np.empty(50), np.empty(50)
    mixed(values, (-0.5, 0.5), expected)
    kernel(mixed)(values, (-0.5, 0.5), found)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
