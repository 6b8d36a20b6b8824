"""dropglm label in a real browser, as a person uses it."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from benchmarks.chromium import chromium

from dropglm.labelling.journal import Journal
from tests.cli.command import dropglm, texts, write_csv
from tests.web.browser import needs_browser

pytestmark = needs_browser

TEXTS, TRUTH = texts(80)
SCRIPT = "<script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">"
STRANGE = [f"{SCRIPT} a film", "مرحبا بالعالم فيلم جميل", "🎬 🍿 a film 👩‍👩‍👧", "long film " * 500_000]
TRUTH_OF = dict(zip(TEXTS, TRUTH, strict=True))


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


class Page:
    """The page, and what a person does on it."""

    def __init__(self, driver, address):
        self.driver = driver
        driver.get_log("browser")  # of earlier pages
        driver.get(address)
        self.wait(lambda: self.text)

    def wait(self, condition, seconds=60):
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.driver, seconds, 0.05, (StaleElementReferenceException,))
        return wait.until(lambda _: condition())

    def of(self, id):
        return self.driver.find_element("id", id)

    @property
    def text(self):
        return self.of("text").get_attribute("textContent")

    @property
    def row(self):
        return self.of("place").text

    def press(self, key):
        self.driver.find_element("tag name", "body").send_keys(key)

    def moves_on(self, action):
        before = self.of("place").text, self.of("progress").text
        action()
        self.wait(lambda: (self.of("place").text, self.of("progress").text) != before)

    def label(self):
        """Label the text on the screen as it should be."""
        label = TRUTH_OF.get(self.text, "good")
        self.moves_on(lambda: self.press("1" if label == "good" else "2"))
        return label

    def open(self, id):
        self.driver.execute_script("document.getElementById(arguments[0]).open = true", id)

    def errors(self):
        return [entry for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.fixture(scope="module")
def driver():
    with chromium() as driver:
        yield driver


@pytest.fixture
def folder(tmp_path):
    write_csv(tmp_path / "a.csv", [(text,) for text in TEXTS], header=("text",))
    return tmp_path


def labels_of(folder):
    from dropglm.labelling.answers import Answers
    from dropglm.labelling.text_numbers import TextNumbers

    with Journal(folder / "a.labels.jsonl") as journal:
        answers = Answers(TextNumbers(TEXTS))
        for entry in journal.entries:
            answers.apply(entry)
    return answers.labels()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_from_no_labels_to_a_model(driver, folder):
    """Label, undo, correct, add and rename a class, reload, kill and restart the server, export, train."""
    from selenium.webdriver.common.keys import Keys

    with serving(folder, "--classes", "good,bad") as server:
        page = Page(driver, server.address)
        for _ in range(12):
            page.label()
        first = page.text
        page.label()
        page.moves_on(lambda: page.press("z"))
        assert page.text == first
        page.label()
        page.moves_on(lambda: page.press(Keys.ARROW_LEFT))
        assert page.text == first
        assert "answer 13 of 13" in page.row
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


def test_texts_are_shown_as_they_are_and_run_nothing(driver, folder):
    write_csv(folder / "a.csv", [(text,) for text in STRANGE], header=("text",))
    with serving(folder, "--classes", "a,b") as server:
        page = Page(driver, server.address)
        seen = set()
        while page.text != "All texts are labelled or skipped.":
            text = page.text
            if not page.of("show-all").get_property("hidden"):
                assert len(text) == 20_000
                page.of("show-all").click()
                same = "return document.getElementById('text').textContent === 'long film '.repeat(500000)"
                page.wait(lambda: driver.execute_script(same))
                text = STRANGE[3]
            if text == STRANGE[1]:
                script = "return getComputedStyle(document.getElementById('text')).direction"
                assert driver.execute_script(script) == "rtl"
            seen.add(text)
            page.moves_on(lambda: page.press("1"))
        assert seen == set(STRANGE)
        assert driver.title.startswith("4 labels")
        assert (
            driver.execute_script("return document.querySelectorAll('#text script, #text img').length") == 0
        )
        assert page.errors() == []


def test_a_second_tab_stays_consistent_and_a_second_command_is_refused(driver, folder):
    with serving(folder, "--classes", "good,bad") as server:
        page = Page(driver, server.address)
        one = driver.current_window_handle
        driver.switch_to.new_window("tab")
        other = Page(driver, server.address)
        assert other.text
        driver.switch_to.window(one)
        page.label()
        driver.switch_to.window(driver.window_handles[-1])
        page.wait(lambda: "1 of 80 labelled" in page.of("progress").text)
        page.label()
        driver.close()
        driver.switch_to.window(one)
        page.wait(lambda: "2 of 80 labelled" in page.of("progress").text)
        refused = dropglm("label", "a.csv", "--no-browser", "--port", "0", cwd=folder, code=3)
        assert "another process is using this file" in refused


def test_classes_can_be_made_on_the_page_alone(driver, folder):
    """Without classes, the field for their names has the focus until there are two."""
    from selenium.webdriver.common.keys import Keys

    with serving(folder) as server:
        page = Page(driver, server.address)
        for n, name in enumerate(("good", "bad"), 1):
            page.wait(lambda: driver.switch_to.active_element.get_attribute("id") == "new-name")
            driver.switch_to.active_element.send_keys(name, Keys.ENTER)
            page.wait(lambda n=n: len(page.of("classes").find_elements("tag name", "button")) == n)
        page.wait(lambda: driver.switch_to.active_element.tag_name == "body")
        page.label()
        assert "1 of 80 labelled" in page.of("progress").text


def test_the_page_fits_a_phone_and_works_by_tapping(folder):
    with chromium(390, 800, dark=True) as driver, serving(folder, "--classes", "good,bad") as server:
        page = Page(driver, server.address)
        buttons = page.of("classes").find_elements("tag name", "button")
        page.moves_on(lambda: buttons[0].click())
        page.moves_on(lambda: page.of("undo").click())
        page.moves_on(lambda: page.of("skip").click())
        page.moves_on(lambda: page.of("back").click())
        page.moves_on(lambda: buttons[1].click())
        assert "1 of 80" in page.of("progress").text
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
        assert page.errors() == []
