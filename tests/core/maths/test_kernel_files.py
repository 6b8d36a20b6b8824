"""Compiled functions on disk: found, checked, and compiled again if they no longer fit."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import dropglm
from dropglm.core.maths import kernel_files, vectors
from dropglm.core.maths.kernel_files import PACKAGE, mismatch, read, sources, write

PROGRAM = """
import logging, sys
import numpy as np
logging.basicConfig(format="%(message)s", stream=sys.stdout)
from dropglm.core.maths.vectors import moved
print(moved(np.ones(10), 2.0, np.ones(10)).sum(), "numba.np.linalg" in sys.modules)
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package without compiled functions, elsewhere."""
    place = tmp_path / "copy"
    ignored = shutil.ignore_patterns("__pycache__", "compiled")
    shutil.copytree(PACKAGE, place / "dropglm", ignore=ignored)
    return place / "dropglm"


def run(package, program=PROGRAM, **environment):
    """Return what a program prints that imports the package from there, line by line."""
    unset = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment = unset | {"PYTHONPATH": str(package.parent)} | environment
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_function_is_compiled_once_for_all_processes_and_the_compiler_is_then_not_prepared(package):
    reason, result = run(package)
    assert reason.startswith("compiling functions, since this installation has no compiled ones")
    assert result == "30.0 True"
    assert run(package) == ["30.0 False"]


def test_files_are_found_at_another_path_with_other_times_and_read_only(package, tmp_path):
    run(package)
    moved = tmp_path / "elsewhere" / "dropglm"
    shutil.copytree(package, moved, copy_function=shutil.copy)  # with the time of now
    for path in moved.rglob("*"):
        path.chmod(path.stat().st_mode & ~stat.S_IWUSR & ~stat.S_IWGRP & ~stat.S_IWOTH)
    assert run(moved, HOME="/nonexistent") == ["30.0 False"]


def test_a_change_in_a_file_that_is_only_imported_compiles_again_and_says_so(package):
    run(package)
    with open(package / "core" / "maths" / "instructions.py", "a") as source:
        source.write("# changed\n")
    reason, _ = run(package)
    assert reason == "compiling functions, since core/maths/instructions.py has changed."
    assert run(package) == ["30.0 False"]


def test_a_change_in_another_file_does_not_matter(package):
    run(package)
    with open(package / "search" / "race.py", "a") as source:
        source.write("# changed\n")
    assert run(package) == ["30.0 False"]


def test_without_a_folder_to_write_to_functions_are_compiled_in_each_process(package):
    program = PROGRAM.replace("import logging", "import os; os.access = lambda *_: False; import logging")
    for _ in range(2):
        reason, result = run(package, program)
        assert "no compiled ones" in reason
        assert result == "30.0 True"


def test_without_a_home_no_files_of_the_current_folder_are_trusted(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(kernel_files, "SHIPPED", tmp_path / "file" / "compiled")
    monkeypatch.setattr(kernel_files.AppDirs, "user_cache_dir", "~/.cache/dropglm")
    assert kernel_files.writable_folder.__wrapped__() is None


def test_processes_that_start_together_do_not_disturb_each_other(package):
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    command = [sys.executable, "-P", "-c", PROGRAM]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    processes = [subprocess.Popen(command, env=environment, **pipes, text=True) for _ in range(3)]
    for process in processes:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert "30.0" in output
    assert run(package) == ["30.0 False"]
    assert not list((package / "compiled").glob(".*"))


@pytest.fixture
def conditions():
    """Conditions of a file that was compiled now."""
    name = "core/maths/vectors.py"
    return kernel_files.current_conditions() | {"sources": {name: kernel_files.source_digest(name)}}


def reason(conditions):
    return mismatch(conditions, kernel_files.current_conditions())


def test_conditions_of_now_are_met(conditions):
    assert reason(conditions) == ""


@pytest.mark.parametrize("package", ["numba", "llvmlite"])
def test_another_version_does_not_fit(conditions, package):
    assert (
        reason(conditions | {package: "0.1"})
        == f"they were compiled with {package} 0.1, not {conditions[package]}"
    )


def test_another_processor_does_not_fit_but_the_baseline_does(conditions, monkeypatch):
    assert reason(conditions | {"processor": "i486 0"}) == "they were compiled for another processor (i486)"
    baseline = conditions | {"processor": kernel_files.BASELINE}
    monkeypatch.setattr(kernel_files, "runs_baseline", lambda: True)
    assert reason(baseline) == ""
    monkeypatch.setattr(kernel_files, "runs_baseline", lambda: False)
    monkeypatch.setattr(kernel_files, "current_conditions", lambda: conditions | {"processor": "old 1"})
    assert "another processor" in reason(baseline)


def test_changed_and_missing_sources_do_not_fit(conditions):
    changed = conditions | {"sources": {"core/noise.py": "0"}}
    assert reason(changed) == "core/noise.py has changed"
    assert "gone.py" in reason(conditions | {"sources": {"gone.py": "0"}})


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b + b"x", lambda b: b"", lambda b: b[5:]])
def test_damaged_files_are_not_used(tmp_path, conditions, damage):
    path = tmp_path / "kernel"
    write(path, conditions, b"machine code")
    assert read(path) == (conditions, b"machine code")
    path.write_bytes(damage(path.read_bytes()))
    assert read(path) is None


def test_sources_are_those_that_a_module_imports_directly_or_not():
    found = sources("dropglm.core.objective")
    assert {"core/objective.py", "core/maths/compile.py", "core/design/storage.py"} <= found
    assert not any(name.startswith(("base/", "search/")) for name in found)


def test_kernels_use_nothing_from_base():
    """Which is why files of that room may change without compiling again."""
    program = """
import gc, sys, dropglm.compiling, dropglm.labelling, dropglm.text, dropglm.search, dropglm.baselines
from types import ModuleType
from numba.core.dispatcher import Dispatcher
for one in gc.get_objects():
    if issubclass(type(one), Dispatcher) and one.py_func.__module__.startswith("dropglm."):
        function = one.py_func
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
            assert not str(module).startswith("dropglm.base"), (function, name)
"""
    run(PACKAGE, program)


def test_classes_of_others_are_not_written(tmp_path, monkeypatch):
    """They could not be found again, and nobody would notice changes of them."""
    from typing import NamedTuple

    class Pair(NamedTuple):
        a: float
        b: float

    monkeypatch.setattr(kernel_files, "writable_folder", lambda: tmp_path)
    files = kernel_files.KernelFiles("dropglm.test", "dropglm.core.maths.vectors")
    files.save_overload((numba.typeof(Pair(1.0, 2.0)),), None)
    assert not list(tmp_path.iterdir())
    assert files._file_name((numba.typeof(Pair(1.0, 2.0)),)) != files._file_name((numba.typeof((1.0, 2.0)),))


def test_numba_finds_and_writes_functions_as_expected(tmp_path, monkeypatch):
    """What this package replaces of Numba is private: this fails if it is called in another way."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    monkeypatch.setattr(kernel_files, "SHIPPED", folder)
    monkeypatch.setattr(kernel_files, "writable_folder", lambda: folder)
    arrays = [np.ones(4, np.float32)] * 2

    def dispatcher():
        from dropglm.core.maths.compile import summing_kernel

        return summing_kernel(vectors._dot.py_func)

    for compiled in (True, False):
        function, sums = dispatcher(), np.zeros(1)
        function(np.array([0, 4]), np.zeros(1, np.int64), *arrays, sums)
        assert sums[0] == 4.0
        assert bool(function.stats.cache_hits) is not compiled
    (path,) = folder.iterdir()
    assert path.name.startswith("dropglm.core.maths.vectors._dot.")
    assert json.loads(path.read_bytes().split(b"\n")[0])["numba"] == numba.__version__


def test_the_package_is_where_it_is_imported_from():
    assert Path(dropglm.__file__).parent == PACKAGE
