"""The notice to users while functions are compiled."""

import pytest
from numba import njit

from dropglm.base.progress import about_to_compile, before_compiling
from dropglm.cli import terminal
from dropglm.core.maths.compile import KernelCompiler


@pytest.fixture(autouse=True)
def no_notice_left():
    yield
    before_compiling(None)


def test_the_notice_is_given_once_before_the_first_compilation(capsys):
    terminal.announce_compilation()
    assert capsys.readouterr().err == ""
    for power in (2, 3):
        assert njit(lambda x, power=power: x**power, pipeline_class=KernelCompiler)(2) == 2**power
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dropglm: compiling functions, since ")


def test_there_is_no_notice_if_it_is_not_wanted(capsys):
    terminal.announce_compilation()
    terminal.announce_compilation(quiet=True)
    about_to_compile("the sources have changed")
    assert capsys.readouterr().err == ""
