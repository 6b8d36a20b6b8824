"""From no labels to a model: the command dropglm label in a process of its own, and a real browser."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from dropglm.labelling.journal import Journal
from tests.cli.command import dropglm, write_csv
from tests.web.browser import needs_browser
from tests.web.label_page import TEXTS, TRUTH_OF, Page

pytestmark = needs_browser


class Server:
    """The command in a process of its own."""

    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dropglm", "label", "a.csv", "--no-browser", "--port", "0", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")},
        )
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line.startswith("Open "):
                self.address = line.split()[1]
                return
        raise AssertionError(f"{lines} {self.process.stderr.read()}")

    @property
    def port(self):
        return self.address.split(":")[2].split("/")[0]

    def stop(self, number):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return out, err


@contextmanager
def serving(folder, *arguments):
    server = Server(folder, *arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()


@pytest.fixture
def folder(tmp_path):
    write_csv(tmp_path / "a.csv", [(text,) for text in TEXTS], header=("text",))
    return tmp_path


def labels_of(folder):
    from dropglm.labelling.answers import Answers, TextNumbers

    with Journal(folder / "a.labels.jsonl") as journal:
        answers = Answers(TextNumbers(TEXTS))
        for entry in journal.entries:
            answers.apply(entry)
    return answers.labels()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_from_no_labels_to_a_model(shared_browser, folder):
    """Label, undo, correct, add and rename a class, reload, kill and restart the server, export, train."""
    from selenium.webdriver.common.keys import Keys

    driver = shared_browser
    with serving(folder, "--classes", "good,bad") as server:
        page = Page(driver, server.address)
        for _ in range(7):
            page.label()
        first = page.text
        page.label()
        page.moves_on(lambda: page.press("z"))
        assert page.text == first
        page.label()
        page.moves_on(lambda: page.press(Keys.ARROW_LEFT))
        assert page.text == first
        assert "answer 8 of 8" in page.row
        assert page.of("forward").is_enabled()
        page.moves_on(lambda: page.press("2" if TRUTH_OF[first] == "good" else "1"))
        page.moves_on(lambda: page.press(Keys.ARROW_LEFT))
        page.moves_on(lambda: page.press("1" if TRUTH_OF[first] == "good" else "2"))
        page.moves_on(lambda: page.press("s"))
        assert "1 skipped" in page.of("progress").text
        page.press("n")
        page.of("new-name").send_keys("odd", Keys.ENTER)
        page.wait(lambda: len(page.of("classes").find_elements("tag name", "button")) == 3)
        page.of("rename").click()
        page.driver.execute_script("document.getElementById('rename-old').value = 'odd'")
        page.of("rename-new").send_keys("even", Keys.ENTER)
        page.wait(lambda: "even" in page.of("classes").text)
        page.wait(lambda: "Guess:" in page.label() or page.of("guess-line").text.startswith("Guess:"))
        assert page.driver.find_elements("css selector", "#text mark")
        page.press("g")
        page.wait(lambda: page.of("guess-line").text == "The guess is hidden.")
        assert not page.driver.find_elements("css selector", "#text mark")
        before = page.text, page.of("progress").text
        driver.refresh()
        page.wait(lambda: (page.text, page.of("progress").text) == before)
        refused = dropglm("label", "a.csv", "--no-browser", "--port", "0", cwd=folder, code=3)
        assert "another process is using this file" in refused
        acknowledged = int(page.of("progress").text.split()[0])
        server.stop(signal.SIGKILL)
        page.wait(lambda: "does not answer" in page.of("message").text)
    kept = labels_of(folder)
    assert len(kept) == acknowledged
    assert all(TRUTH_OF[TEXTS[number]] == label for number, label in kept.items())
    with serving(folder, "--port", server.port) as again:
        assert again.address == server.address
        page.wait(lambda: "started again" in page.of("message").text)
        page.label()
        page.open("export-panel")
        for what, file in (("labels", "a.labelled.csv"), ("model", "a.model"), ("predictions", "a.pred")):
            driver.find_element("css selector", f"[data-export={what}]").click()
            page.wait(lambda file=file: f"Written to {file}" in page.of("export-line").text, 120)
        assert [error for error in page.errors() if "ERR_CONNECTION" not in error["message"]] == []
        out, err = again.stop(signal.SIGINT)
        assert f"{acknowledged + 1} labels in a.labels.jsonl" in out
        assert "Traceback" not in err
    dropglm("train", "a.labelled.csv", "--out", "own.skops", cwd=folder)
    for model in ("own.skops", "a.model.skops"):
        assert dropglm(
            "predict", model, "--text", "text", cwd=folder, stdin='{"text": "lovely great fun warm"}\n'
        )
    assert (folder / "a.predictions.csv").read_text(encoding="utf-8").count("\n") == 81
