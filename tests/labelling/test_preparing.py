"""A session that prepares its first model delays nobody, neither while texts are labelled nor at the end."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from dropglm.labelling import LabellingSession
from dropglm.labelling.background_trainer import BackgroundTrainer
from tests.labelling.texts import topic_texts


def test_nobody_waits_for_the_first_model(tmp_path, monkeypatch):
    """Texts are shown and answered meanwhile, and a session that ends does not wait."""
    prepared = threading.Event()
    monkeypatch.setattr(BackgroundTrainer, "_fit", lambda self, lesson: prepared.wait(30))
    texts, _ = topic_texts(60)
    begin = time.perf_counter()
    with LabellingSession(texts, tmp_path / "a.labels.jsonl", classes=["a", "b"]) as session:
        for number in range(30):
            session.answer("ab"[number % 2])
        assert not session.is_ready
        assert session.is_learning
    assert time.perf_counter() - begin < 10.0
    prepared.set()


SLOW = """
import sys, threading, time
from dropglm.labelling.background_trainer import BackgroundTrainer

begun = threading.Event()

def fit_slowly(self, lesson):
    print("begins", flush=True)
    begun.set()
    time.sleep(SECONDS)
    print("ends", flush=True)

BackgroundTrainer._fit = fit_slowly
"""


def test_python_waits_for_what_a_closed_session_computes(tmp_path):
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
def test_the_command_ends_while_the_first_model_is_fitted(tmp_path):
    (tmp_path / "a.csv").write_text("text\na film\na song\n")
    script = SLOW.replace("SECONDS", "60") + "from dropglm.cli import main\nmain()"
    command = [sys.executable, "-c", script, "label", "a.csv", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        said = ""
        for line in process.stdout:
            said += line
            if "Open " in said and "begins" in said:
                break
        time.sleep(1.0)  # until the server answers
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert rest.endswith("0 labels in a.labels.jsonl; run the command again to continue.\n")
