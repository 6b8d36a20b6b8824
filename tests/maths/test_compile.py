"""What compiling changes, and leaves as it was."""

import gc
from types import FunctionType

import pytest
from numba import njit

from dropglm.maths.compile import COMMON


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("name", ["dropglm.maths", "elsewhere"])
def test_garbage_collection_stops_only_while_a_function_of_this_package_is_compiled(
    monkeypatch, enabled, name
):
    function = FunctionType((lambda x: x + 1).__code__, {"__name__": name})
    compiled = njit(function, **COMMON)
    during = []
    compile_ = compiled._compiler.compile
    monkeypatch.setattr(
        compiled._compiler, "compile", lambda *args: during.append(gc.isenabled()) or compile_(*args)
    )
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        assert compiled(1) == 2
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert during == [enabled and name == "elsewhere"]
