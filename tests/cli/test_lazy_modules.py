"""Modules that are loaded when something is taken from them."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest

from dropglm.cli import lazy_modules

CODE = """
import time
{imports}
time.sleep(0.05)
answer = 42
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes a module that is postponed, and imports it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    names = []

    def module(name, imports=""):
        names.append(name)
        (tmp_path / f"{name}.py").write_text(CODE.format(imports=imports))
        lazy_modules.postpone(names)
        return import_module(name)

    yield module
    for name in names:
        sys.modules.pop(name, None)
        lazy_modules._modules.pop(name, None)


def test_code_runs_when_something_is_taken_from_the_module(write):
    module = write("one")
    assert "answer" not in vars(module)
    assert module.__name__ == module.__spec__.name == "one"
    assert module.answer == 42
    assert vars(module)["answer"] == 42
    assert type(module) is type(sys)


def test_unknown_names_raise_an_attribute_error(write):
    module = write("two")
    with pytest.raises(AttributeError, match="no attribute 'question'"):
        print(module.question)


def test_the_version_is_taken_from_the_module(write):
    assert write("six", "__version__ = '6.0'").__version__ == "6.0"


def test_an_error_is_raised_each_time(write):
    module = write("seven", "import no_such_module")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_module"):
            print(module.answer)


def test_threads_wait_until_the_module_is_complete(write):
    module = write("three")
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: module.answer, range(4))) == [42] * 4


def test_a_module_that_imports_itself_sees_what_there_is(write):
    module = write("four", "import four\nassert not hasattr(four, 'answer')")
    assert module.answer == 42


def test_a_forgotten_module_is_found_again(write):
    module = write("five")
    lazy_modules.forget("five")
    assert "five" not in sys.modules
    assert import_module("five") is module
    assert module.answer == 42
    lazy_modules.forget("five")
    assert import_module("five") is module  # not forgotten, since it was loaded


def test_scipy_works_as_before():
    code = """
from dropglm.cli.lazy_modules import HEAVY, postpone
postpone(HEAVY)
import scipy.linalg, scipy.stats
assert "inv" not in vars(scipy.linalg)
from scipy.optimize import minimize
found = minimize(lambda x: x @ x, [1.0]).success
print(scipy.linalg.inv([[2.0]]).item(), scipy.stats.rankdata([3, 1]).tolist(), found)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0.5 [2.0, 1.0] True\n"
