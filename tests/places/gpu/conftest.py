"""A GPU for the tests: a real one if there is one and CuPy, else Numba's simulation.

The simulation must be chosen before Numba's kernels are imported, and it is chosen for the whole process.
"""

import importlib.util
import math
import sys
import threading
from functools import cache
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
import pytest
from numba import config


def _is_real():
    if config.ENABLE_CUDASIM or importlib.util.find_spec("cupy") is None:
        return False
    import cupy

    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


def _shared_array(self, shape, dtype, alignment=None):
    """Numba's simulated shared memory, but only one thread of a block at a time looks whether it is there.

    Without the lock, two threads that come at the same time get different arrays, and sums are wrong.
    """
    frame = sys._getframe(1)
    place = frame.f_code.co_filename, frame.f_lineno
    with LOCK:
        if place not in self._allocations:
            self._allocations[place] = np.empty(shape, as_dtype(dtype))
        return self._allocations[place]


class Place(NamedTuple):
    """The number of a thread or of a block, in up to three dimensions."""

    x: int
    y: int
    z: int


class SimulatedThread(threading.Thread):
    """A thread of all simulated blocks, one after the other; kernels ask it for its place in the grid."""

    def __init__(self, number):
        super().__init__(daemon=True)
        self.threadIdx = Place(number, 0, 0)
        self.calls, self.errors = SimpleQueue(), SimpleQueue()
        self.start()

    def run(self):
        while True:
            work, arguments, self.blockIdx, self.barrier = self.calls.get()
            error = None
            try:
                work(*arguments)
            except BaseException as caught:
                self.barrier.abort()  # the others must not wait
                error = caught
            self.errors.put(error)

    def syncthreads(self):
        self.barrier.wait(timeout=60)


@cache
def _threads(count):
    return [SimulatedThread(number) for number in range(count)]


def _run_block(self, grid_point, *arguments):
    """Run a simulated block on threads that live on, and that wait for each other at a barrier.

    Numba's own loop starts threads anew and asks all of them in turn whether they wait, which takes four
    times as long.
    """
    threads = _threads(math.prod(self._block_dim))
    barrier = threading.Barrier(len(threads))
    for thread in threads:
        thread.calls.put((self._f, arguments, Place(*grid_point), barrier))
    errors = [error for error in [thread.errors.get() for thread in threads] if error is not None]
    for error in sorted(errors, key=lambda one: isinstance(one, threading.BrokenBarrierError)):
        raise error


LOCK = threading.Lock()
REAL = _is_real()
if not REAL and importlib.util.find_spec("numba_cuda") is not None:
    config.ENABLE_CUDASIM = 1
    from numba.cuda.simulator.kernel import BlockManager
    from numba.cuda.simulator.kernelapi import FakeCUDAShared
    from numba.np.numpy_support import as_dtype

    FakeCUDAShared.array = _shared_array
    BlockManager.run = _run_block


@pytest.fixture(autouse=True)
def gpu():
    """Skip where Numba's kernels are missing; let threads take turns as before after a simulation."""
    pytest.importorskip("numba_cuda", reason="needs numba-cuda")
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def real_gpu():
    """Skip without a real GPU; return CuPy."""
    if not REAL:
        pytest.skip("needs an NVIDIA GPU and CuPy")
    import cupy

    return cupy
