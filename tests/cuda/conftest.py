"""A GPU for the tests: a real one if there is one and CuPy, else Numba's simulation.

The simulation must be chosen before Numba's kernels are imported, and it is chosen for the whole process.
"""

import importlib.util
import sys

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


REAL = _is_real()
if not REAL:
    config.ENABLE_CUDASIM = 1


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
