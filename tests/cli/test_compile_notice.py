"""The notice to users of a terminal while functions are compiled."""

import pytest
from numba import njit

from dropglm.base.progress import about_to_compile, before_compiling
from dropglm.cli import terminal
from dropglm.core.maths.compile import KernelCompiler


@pytest.fixture
def in_terminal(monkeypatch):
    """Standard error looks like a terminal; no notice is left over."""
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    yield
    before_compiling(None)


def test_the_notice_is_given_once_before_the_first_compilation(in_terminal, capsys):
    terminal.announce_compilation(quiet=False)
    assert capsys.readouterr().err == ""
    for power in (2, 3):
        assert njit(lambda x, power=power: x**power, pipeline_class=KernelCompiler)(2) == 2**power
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["dropglm: compiling functions for this machine, since they are used for the first time."]


def test_there_is_no_notice_if_it_is_not_wanted(in_terminal, capsys):
    terminal.announce_compilation(quiet=False)
    terminal.announce_compilation(quiet=True)
    about_to_compile()
    assert capsys.readouterr().err == ""


def test_there_is_no_notice_in_a_log(in_terminal, monkeypatch, capsys):
    monkeypatch.setattr(terminal, "is_terminal", lambda: False)
    terminal.announce_compilation(quiet=False)
    about_to_compile()
    assert capsys.readouterr().err == ""
