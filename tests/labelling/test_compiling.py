"""Everything that a fit needs is compiled beforehand, and nothing of that delays labelling."""

import gc
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher

from dropglm.labelling import LabellingSession
from dropglm.labelling import compiling as compiling_module
from dropglm.labelling.background_trainer import BackgroundTrainer
from dropglm.labelling.compiling import compile_fits, compiling
from tests.labelling.texts import topic_texts


def test_fits_compile_nothing_that_was_not_compiled_before(topics):
    """Functions forget what they were compiled for; the machine code is read from files again."""
    pool, _ = topics
    assert len(pool.features.blocks) == 2
    # By type: isinstance asks the object itself, which fails for references to what no longer exists.
    functions = [one for one in gc.get_objects() if issubclass(type(one), Dispatcher) and _is_ours(one)]
    for one in functions:
        one._reset_overloads()

    def versions():
        return sum(len(one.signatures) for one in functions)

    compile_fits()
    before = versions()
    for n, classes in ((2, 2), (6, 2), (9, 3), (40, 3)):
        pool.fit({k: str(k % classes) for k in range(n)}).words_of_classes()
    assert before == versions() > 20


def _is_ours(function):
    """Return whether it is one of ours that can be compiled again: not for given types only."""
    return function.py_func.__module__.startswith("dropglm.") and function._can_compile


def test_the_process_ends_with_the_block():
    begin = time.perf_counter()
    with compiling():
        pass
    assert time.perf_counter() - begin < 5.0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="the state of processes is in /proc")
def test_the_process_is_gone_when_it_has_ended(monkeypatch):
    """Not a zombie that stays as long as texts are labelled."""
    monkeypatch.setattr(compiling_module.sys, "executable", "/bin/true")
    monkeypatch.setattr(compiling_module.os, "cpu_count", lambda: 2)
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    before = children.read_text().split()
    with compiling():
        deadline = time.monotonic() + 20
        while children.read_text().split() != before:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_nobody_waits_for_functions_to_compile(tmp_path, monkeypatch):
    """Texts are shown and answered meanwhile, and a session that ends does not wait."""
    compiled = threading.Event()
    monkeypatch.setattr(BackgroundTrainer, "_compile", lambda self: compiled.wait(30))
    texts, _ = topic_texts(60)
    begin = time.perf_counter()
    with LabellingSession(texts, tmp_path / "a.labels.jsonl", classes=["a", "b"]) as session:
        for number in range(30):
            session.answer("ab"[number % 2])
        assert not session.is_ready
        assert session.is_learning
    assert time.perf_counter() - begin < 10.0
    compiled.set()


SLOW = """
import sys, threading, time
from dropglm.labelling.background_trainer import BackgroundTrainer

begun = threading.Event()

def compile_slowly(self):
    print("begins", flush=True)
    begun.set()
    time.sleep(SECONDS)
    print("ends", flush=True)

BackgroundTrainer._compile = compile_slowly
"""


def test_python_waits_for_functions_that_a_closed_session_compiles(tmp_path):
    """If it ended before, machine code would be unloaded while it runs."""
    script = SLOW.replace("SECONDS", "2.5") + (
        "from dropglm.labelling import LabellingSession\n"
        "with LabellingSession(['a film', 'a song'], sys.argv[1]): begun.wait(30)\n"
        "print('closed', flush=True)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "a.labels.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split()) == (0, ["begins", "closed", "ends"]), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_the_command_ends_while_functions_are_compiled(tmp_path):
    (tmp_path / "a.csv").write_text("text\na film\na song\n")
    script = SLOW.replace("SECONDS", "60") + "from dropglm.cli import main\nmain()"
    command = [sys.executable, "-c", script, "label", "a.csv", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        said = ""
        for line in process.stdout:
            said += line
            if "Open " in said and "begins" in said:
                break
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert rest.endswith("0 labels in a.labels.jsonl; run the command again to continue.\n")
