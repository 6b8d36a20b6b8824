"""Warnings point to the line of the user's own code."""

import warnings
from functools import partial

import pytest

from dropglm.base.errors import stacklevel


def function_in(module, source):
    """Return the function ``call`` of a module of that name, compiled from its source."""
    names = {"__name__": module, "warnings": warnings, "stacklevel": stacklevel}
    exec(compile(source, f"{module}.py", "exec"), names)
    return names["call"]


WARN = "def call():\n    warnings.warn('Careful.', stacklevel=stacklevel())\n"
CALL = "def call(inner):\n    inner()\n"


@pytest.mark.parametrize("between", [[], ["dropglm.linear.logistic"], ["sklearn.pipeline", "dropglm.search"]])
def test_a_warning_skips_the_frames_of_this_package_and_of_sklearn(between):
    call = function_in("dropglm.core.problem", WARN)
    for module in between:
        call = partial(function_in(module, CALL), call)
    with pytest.warns(UserWarning, match="Careful") as caught:
        call()
    assert caught[0].filename == __file__


def test_a_warning_of_the_users_own_code_points_to_the_call_itself():
    with pytest.warns(UserWarning, match="Careful") as caught:
        function_in("notebook", WARN)()
    assert caught[0].filename == "notebook.py"
