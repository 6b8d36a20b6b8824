"""A GPU for the tests: a real one if there is one and CuPy, else Numba's simulation.

The simulation must be chosen before Numba's kernels are imported, and it is chosen for the whole process.
"""

import importlib.util
import sys
import threading

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


LOCK = threading.Lock()
REAL = _is_real()
if not REAL and importlib.util.find_spec("numba_cuda") is not None:
    config.ENABLE_CUDASIM = 1
    from numba.cuda.simulator.kernelapi import FakeCUDAShared
    from numba.np.numpy_support import as_dtype

    FakeCUDAShared.array = _shared_array


@pytest.fixture(autouse=True)
def gpu():
    """Skip where Numba's kernels are missing, and let simulated threads take turns quickly meanwhile."""
    pytest.importorskip("numba_cuda", reason="needs numba-cuda")
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def real_gpu():
    """Skip without a real GPU; return CuPy."""
    if not REAL:
        pytest.skip("needs an NVIDIA GPU and CuPy")
    import cupy

    return cupy
