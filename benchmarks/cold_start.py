"""Time until the first result, measured in fresh processes, and after an installation.

A wheel is built and installed several times, each time into an empty folder. The first command of each
installation is compared with the second; so are those of a user without a home, who cannot write to the
packages. Only root can run commands as another user, who has to be able to run this Python.

python -m benchmarks.cold_start
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.markdown import ROOT
from benchmarks.processes import run

Rows = list[tuple[str, ...]]
HEADER = ("whole process", "fastest", "median", "relative to the import")
INSTALLED = ("after an installation", "first time", "second time", "first / second")
FIRST = ("inside a process", "first call", "second call")
ROUNDS = 7
INSTALLATIONS = 4
NOBODY = "nobody"  # a user of every Unix
IMPORT = "import sklearn.linear_model"

FIRST_CALL = """
import time
import numpy as np
from scipy import sparse
from dropglm import noising_penalty
X = sparse.random_array((1000, 500), density=0.02, rng=np.random.default_rng(0), format="csr")
for _ in range(2):
    start = time.perf_counter()
    noising_penalty(np.ones(500), X, dropout=0.5, expectation={expectation!r}, return_gradient=True)
    print(time.perf_counter() - start)
"""

FIRST_FIT = """
import time
import numpy as np
from scipy import sparse
from dropglm import LogisticRegression
X = sparse.random_array((1000, 500), density=0.02, rng=np.random.default_rng(0), format="csr")
for _ in range(2):
    start = time.perf_counter()
    LogisticRegression(dropout=0.5, l2=1.0).fit(X, np.arange(1000) % 2)
    print(time.perf_counter() - start)
"""

FIRST_TEXTS = """
import time
from dropglm import TextClassifier
texts = ["a fine film", "a dull film"] * 10
for _ in range(2):
    start = time.perf_counter()
    TextClassifier({settings}).fit(texts, [1, 0] * 10).predict(texts)
    print(time.perf_counter() - start)
"""

FIRST_RESULTS = {
    "gaussian penalty with gradient": FIRST_CALL.format(expectation="gaussian"),
    "fit of a LogisticRegression": FIRST_FIT,
    "fit and prediction of a TextClassifier with fixed settings": FIRST_TEXTS.format(settings="tune=False"),
    "fit and prediction of a TextClassifier, tuned": FIRST_TEXTS.format(settings=""),
}


def dropglm() -> list[str]:
    """Return the command, as it was installed beside Python if it was."""
    script = Path(sys.executable).parent / "dropglm"
    return [str(script)] if script.exists() else [sys.executable, "-m", "dropglm"]


def commands(folder: Path) -> dict[str, tuple[list[str], str]]:
    """Return command lines and their standard input, by title; trains the model that they read."""
    texts = ["a fine film", "a dull film", "fine music", "dull music"] * 5
    lines = [f"{text},{'bad' if 'dull' in text else 'good'}\n" for text in texts]
    (folder / "texts.csv").write_text("text,label\n" + "".join(lines))
    train = [*dropglm(), "train", "texts.csv", "--quiet", "--no-tune", "--out", "model.skops"]
    run(train, folder)
    return {
        f'`python -c "{IMPORT}"`': ([sys.executable, "-c", IMPORT], ""),
        "`dropglm predict model.skops` of one text": (
            [*dropglm(), "predict", "model.skops"],
            "a fine text\n",
        ),
        '`dropglm explain model.skops "a fine text"`': (
            [*dropglm(), "explain", "model.skops", "a fine text"],
            "",
        ),
        "`dropglm train texts.csv --no-tune`, 20 texts": (train, ""),
        "`dropglm --help`": ([*dropglm(), "--help"], ""),
    }


def processes() -> Rows:
    """Return the fastest and the median of alternating runs of commands."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        lines = commands(folder)
        times: dict[str, list[float]] = {title: [] for title in lines}
        for _ in range(ROUNDS):
            for title, (command, text) in lines.items():
                times[title].append(run(command, folder, text=text).seconds)
            print(", ".join(f"{taken[-1]:.2f} s" for taken in times.values() if taken), flush=True)
    scikit_learn = min(next(iter(times.values())))
    return [
        (title, f"{min(taken):.2f} s", f"{np.median(taken):.2f} s", f"**{min(taken) / scikit_learn:.2f}**")
        for title, taken in times.items()
    ]


def first_results() -> Iterator[tuple[str, ...]]:
    """Yield rows of (task, first, second): medians over fresh processes."""
    for what, code in FIRST_RESULTS.items():
        outputs = [subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(5)]
        first, second = np.median([[float(line) for line in output.split()] for output in outputs], axis=0)
        yield what, f"{first:.2f} s", f"{second:.2f} s"


def after_installation() -> Rows:
    """Return the first and the second run of README's commands, the fastest over several installations."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
        run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], folder)
        (wheel,) = folder.glob("*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        run([*dropglm(), "data", "export", "docstrings"], folder)
        users = ["", NOBODY] if hasattr(os, "geteuid") and os.geteuid() == 0 else [""]
        times: dict[tuple[str, str], list[list[float]]] = {}
        for number in range(INSTALLATIONS):
            for user in users:
                packages = folder / f"packages-{number}{user}"
                run([*pip, "install", "--no-deps", "--target", str(packages), str(wheel)], folder)
                for command, taken in _first_and_second(folder, packages, user).items():
                    times.setdefault((command, user), []).append(taken)
                    print(command, user, *(f"{seconds:.2f} s" for seconds in taken), flush=True)
    rows: Rows = []
    for (command, user), runs in times.items():
        first, second = np.min(runs, axis=0)
        who = " by a user without a home, packages read-only" if user else ""
        rows.append(
            (f"`dropglm {command}`{who}", f"{first:.2f} s", f"{second:.2f} s", f"**{first / second:.2f}**")
        )
    return rows


def _first_and_second(folder: Path, packages: Path, user: str) -> dict[str, list[float]]:
    """Return the seconds of two runs of each command with an installation, by the command's name."""
    environment = {name: value for name, value in os.environ.items() if user == "" or name != "HOME"}
    environment |= {"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"}
    work = folder / f"work-{packages.name}"
    work.mkdir()
    as_user: Any = {}
    if user:
        import pwd

        as_user = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
        for path in (packages, *packages.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        shutil.chown(work, user)
    train = "train ../docstrings.csv --unlabeled ../docstrings_unlabeled.csv --out model.skops --quiet"
    taken: dict[str, list[float]] = {}
    for command in (train, "predict model.skops"):
        for _ in range(2):
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-m", "dropglm", *command.split()],
                cwd=work,
                env=environment,
                input="Split the string at the given delimiter.\n",
                text=True,
                capture_output=True,
                **as_user,
            )
            taken.setdefault(command.split()[0], []).append(time.perf_counter() - start)
            if done.returncode or "compiling" in done.stderr:
                sys.exit(f"{command}: {done.stderr}")
    return taken


if __name__ == "__main__":
    for rows in ((INSTALLED, *after_installation()), (HEADER, *processes()), (FIRST, *first_results())):
        for row in rows:
            print(
                "".join(f"{cell:<70}" if k == 0 else f"{cell:>14}" for k, cell in enumerate(row)), flush=True
            )
