"""Check the wheel and the source distribution of a folder, each in an environment of its own.

python .ci/dist.py dist
"""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from venv import EnvBuilder

ROOT = Path(__file__).parent.parent
# Tracked files that a source distribution does without.
LEFT_OUT = (".github/", ".pre-commit-config.yaml")
# Quick tests of all layers, and of all files that the distribution has to contain.
TESTS = [
    "tests/test_package.py",
    "tests/base/test_model_files.py",
    "tests/linear/test_fits.py",
    "tests/text/test_vectorizer.py",
    "tests/exports/test_refusals.py",
    "tests/cli/test_commands.py",
    "tests/test_readme.py::test_links_lead_somewhere",
]
ROWS = "text,label\na lovely film,good\na dull film,bad\n" + "lovely and fun,good\ndull and long,bad\n" * 5


def main(folder: Path) -> None:
    """Check both files; raise an error at the first problem."""
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    version = wheel.name.split("-")[1]
    assert sdist.name == f"dropglm-{version}.tar.gz", f"{sdist.name} and {wheel.name} do not match."
    print(f"version {version}", flush=True)
    check_wheel(wheel)
    with TemporaryDirectory() as scratch, tarfile.open(sdist) as archive:
        archive.extractall(scratch, filter="data")
        unpacked = Path(scratch) / f"dropglm-{version}"
        check_files(unpacked)
        try_wheel(wheel, version, Path(scratch) / "wheel")
        try_sdist(unpacked, version, Path(scratch) / "sdist")
    print("Both distributions work.")


def check_wheel(wheel: Path) -> None:
    """Check that the wheel contains the package with its data, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    package = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "dropglm").rglob("*")
        if path.is_file() and not {"__pycache__", "compiled"} & set(path.parts)
    }
    assert package <= inside, f"The wheel lacks {sorted(package - inside)[:5]}."
    compiled = {name for name in inside if name.startswith("dropglm/compiled/")}
    assert len(compiled) > 100, f"The wheel contains only {len(compiled)} compiled functions."
    others = {name for name in inside - package - compiled if ".dist-info/" not in name}
    assert not others, f"The wheel contains {sorted(others)[:5]}."
    print(
        f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {len(compiled)} compiled functions", flush=True
    )


def check_files(unpacked: Path) -> None:
    """Check that the source distribution contains all tracked files."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        print("Git is not available: files of the source distribution are not compared.")
        return
    missing = [
        name
        for name in listed.stdout.splitlines()
        if not name.startswith(LEFT_OUT) and (ROOT / name).exists() and not (unpacked / name).exists()
    ]
    assert not missing, f"The source distribution lacks {missing[:5]}."


def try_wheel(wheel: Path, version: str, folder: Path) -> None:
    """Install the wheel, and train, use, export and describe a model with the command."""
    python = environment(folder, f"{wheel.resolve()}[cli]")
    (folder / "rows.csv").write_text(ROWS, encoding="utf-8")

    def dropglm(*arguments: str, given: str | None = None) -> str:
        command = [python, "-m", "dropglm", *arguments]
        done = run(command, cwd=folder, capture_output=True, encoding="utf-8", input=given)
        assert "compiling" not in done.stderr, done.stderr
        return done.stdout

    assert dropglm("--version").strip() == f"dropglm {version}"
    dropglm("train", "rows.csv", "--out", "model.skops")
    assert '"good"' in dropglm("predict", "model.skops", given="a lovely story\n")
    dropglm("export", "model.skops", "--json", "model.json")
    assert "# Model card: model" in dropglm("card", "model.skops")


def try_sdist(unpacked: Path, version: str, folder: Path) -> None:
    """Install the unpacked source distribution, and run a part of its tests."""
    python = environment(folder, f"{unpacked}[test]")
    code = "import dropglm; print(dropglm.__version__, dropglm.__file__)"
    found, file = run([python, "-c", code], cwd=folder, capture_output=True, text=True).stdout.split()
    assert found == version, f"The source distribution has version {found} once it is installed."
    assert Path(file).is_relative_to(folder), f"dropglm was imported from {file}."
    run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", *TESTS], cwd=unpacked)


def environment(folder: Path, requirement: str) -> str:
    """Return the Python of a new environment with this package."""
    EnvBuilder(with_pip=True).create(folder)
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    run(
        [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "-c",
            ROOT / "constraints.txt",
            requirement,
        ]
    )
    return python


def run(command: list, **settings: object) -> subprocess.CompletedProcess:
    """Run a command without settings of the environment that would find the package elsewhere."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, env=clean, **settings)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed.\n{done.stderr or ''}")
    return done


if __name__ == "__main__":
    main(Path(sys.argv[1]))
