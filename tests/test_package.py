"""Importing and packaging: public names, dependencies, compiled code."""

import ast
import os
import re
import runpy
import signal
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

import dropglm
import dropglm.linear
import dropglm.text

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def python(code, **environment):
    command = [sys.executable, "-W", "error", "-c", code]
    run = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **environment}
    )
    return run.stdout.strip()


@pytest.mark.parametrize("package", [dropglm, dropglm.linear, dropglm.text], ids=lambda p: p.__name__)
def test_every_public_name_can_be_imported(package):
    """They are imported when first used, so each is asked for in a process of its own."""
    names = [name for name in package.__all__ if name != "__version__"]
    code = f"import {package.__name__} as package"
    code += "".join(f"\nassert package.{name}.__name__ == {name!r}" for name in names)
    python(f"{code}\nassert {sorted(names)} == sorted(set({names}) & set(dir(package)))")
    assert dropglm.__version__ == version("dropglm")


def test_public_subpackages_are_attributes_of_the_package():
    assert python("import dropglm; print(dropglm.baselines.NBSVM.__name__, dropglm.plots.__name__)") == (
        "NBSVM dropglm.plots"
    )


def test_importing_neither_compiles_nor_loads_optional_dependencies():
    code = """
import sys
import sklearn.linear_model  # imports some of them, if they are installed
before = set(sys.modules)
import dropglm
loaded = {name for name in sys.modules if name.startswith("dropglm.")}
assert loaded == {"dropglm.base", "dropglm.base.imports", "dropglm.base.errors"}
for name in dropglm.__all__:
    getattr(dropglm, name)
from numba.core.dispatcher import Dispatcher
ours = [module for name, module in sys.modules.items() if name.startswith("dropglm")]
functions = [value for module in ours for value in vars(module).values() if isinstance(value, Dispatcher)]
extras = {"matplotlib", "polars", "pandas", "typer", "rich", "skops", "pooch", "starlette", "uvicorn"}
extras &= set(sys.modules) - before
assert len(functions) > 10
print([function.__name__ for function in functions if function.signatures] + sorted(extras))
"""
    assert python(code) == "[]"


def test_help_is_shown_without_importing_libraries():
    code = """
import sys
import dropglm.cli.app
print(sorted({"sklearn", "numba", "numpy", "polars", "skops", "matplotlib"} & set(sys.modules)))
"""
    assert python(code) == "[]"


def test_an_unknown_name_raises_an_attribute_error():
    assert "TextClassifier" in dir(dropglm)
    assert not {"Any", "TYPE_CHECKING", "lazy_names", "_find"} & set(dir(dropglm))
    with pytest.raises(AttributeError, match="no attribute 'TextClasifier'"):
        print(dropglm.TextClasifier)


def test_overflow_raises_an_error_without_a_warning():
    code = """
from dropglm import noising_penalty
for coef, X, settings in (
    ([1e200], [[1e-200]], {"noise_std": 1.0}),
    ([[1e155], [0.0]], [[1.0]], {"family": "multinomial", "expectation": "quadratic", "noise_std": 0.5}),
    ([1e300, -1e300], [[1e300, 1e300]], {"expectation": "monte_carlo", "noise_std": 1e300, "n_samples": 9}),
    ([800.0], [[1.0]], {"family": "poisson", "expectation": "exact", "dropout": 0.5}),
):
    try:
        noising_penalty(coef, X, return_gradient=True, **settings)
    except ValueError as error:
        print("overflows" in str(error))
"""
    assert python(code).split() == ["True"] * 4
    assert python(code, NUMBA_DISABLE_JIT="1").split() == ["True"] * 4


def imported(path):
    """Yield the modules that a file imports, by a statement or by a call."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "_import",
            "import_extra",
            "import_module",
        ):
            yield from (each.value for each in node.args[:1] if isinstance(each, ast.Constant))


def names(requirements):
    return {
        re.match(r"[\w-]+", each)[0]
        .replace("-", "_")
        .replace("scikit_learn", "sklearn")
        .replace("_cuda13x", "")
        for each in requirements
    }


def test_every_import_is_a_declared_dependency():
    files = list((ROOT / "src").rglob("*.py"))
    modules = {module.partition(".")[0] for path in files for module in imported(path)}
    declared = names(PROJECT["dependencies"]) | names(
        each
        for extra in ("tables", "models", "plots", "data", "cli", "label", "dask", "export", "cuda")
        for each in PROJECT["optional-dependencies"][extra]
    )
    declared.add("distributed")  # by dask[distributed]
    standard = {*sys.stdlib_module_names, "compression"}  # that one since Python 3.14
    # Users who have the folder of an embedder have installed the package that reads it.
    of_embedders = {"model2vec", "sentence_transformers"}
    of_rivals = {"pycrfsuite"}  # which an experiment compares with if it is installed
    assert modules - standard - declared == of_embedders | of_rivals
    assert declared - modules == set()


def test_changelog_and_citation_have_the_version_of_the_package():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\S+)$", changelog, re.MULTILINE)
    assert Version(PYPROJECT["tool"]["hatch"]["version"]["fallback-version"]) > Version(released[0][0])
    assert Version(dropglm.__version__) >= Version(released[0][0])
    assert f"version: {released[0][0]}\n" in citation
    assert f"date-released: {released[0][1]}\n" in citation


def test_the_oldest_versions_are_the_lower_bounds_of_what_is_declared():
    printed = subprocess.run(
        [sys.executable, ROOT / ".ci" / "oldest.py"], check=True, capture_output=True, text=True
    ).stdout
    oldest = dict(line.split("==") for line in printed.splitlines() if "==" in line)
    assert {"numpy", "scipy", "polars", "typer", "skops", "matplotlib", "pooch", "pytest"} <= set(oldest)
    assert f"scikit-learn>={oldest['scikit-learn']}" in PROJECT["dependencies"]


def test_the_suite_hears_ctrl_c_also_in_the_background_of_a_script():
    """There the shell lets a process ignore it, and three tests would wait in vain."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        runpy.run_path(str(ROOT / "conftest.py"))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
