"""The page of dropglm label in a real browser."""

from contextlib import ExitStack
from time import sleep

import pytest

from dropglm.labelling import LabellingSession, TextPool
from dropglm.labelling.output_files import Exports
from dropglm.web.application import application
from dropglm.web.label_page import LabelPage
from dropglm.web.running import serving
from tests.web.browser import needs_browser
from tests.web.label_page import TEXTS, TRUTH_OF, Page

pytestmark = needs_browser

SCRIPT = "<script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">"
STRANGE = [f"{SCRIPT} a film", "مرحبا بالعالم فيلم جميل", "🎬 🍿 a film 👩‍👩‍👧", "long film " * 500_000]
FOCUSED = "return document.activeElement.id"
PRESS_KEYS_WHEN_THE_TEXT_CHANGES = """
window.pressed = false;
const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
new MutationObserver((_, observer) => {
  observer.disconnect();
  press("1");
  press("s");
  setTimeout(() => (window.pressed = true), 150);
}).observe(document.getElementById("text"), { childList: true, characterData: true, subtree: true });
"""


@pytest.fixture
def open_page(browser, tmp_path):
    """Start a session and open its page: ``page, session = open_page(texts, classes=...)``."""
    with ExitStack() as stack:

        def opened(texts=TEXTS, **settings):
            path = tmp_path / "a.labels.jsonl"
            session = stack.enter_context(LabellingSession(texts, path, seed=0, **settings))
            page = LabelPage(session, Exports(session, tmp_path / "a"), "a.csv")
            address = stack.enter_context(serving(application(page.routes(), log=False)))
            return Page(browser, address), session

        yield opened
        browser.get("about:blank")


def test_texts_are_shown_as_they_are_and_run_nothing(open_page, browser):
    page, _ = open_page(STRANGE, classes=["a", "b"])
    seen = set()
    while not page.text.startswith("All texts are labelled or skipped."):
        text = page.text
        if not page.of("show-all").get_property("hidden"):
            assert len(text) == 20_000
            page.of("show-all").click()
            same = "return document.getElementById('text').textContent === 'long film '.repeat(500000)"
            page.wait(lambda: browser.execute_script(same))
            text = STRANGE[3]
        if text == STRANGE[1]:
            script = "return getComputedStyle(document.getElementById('text')).direction"
            assert browser.execute_script(script) == "rtl"
        seen.add(text)
        page.moves_on(lambda: page.press("1"))
    assert seen == set(STRANGE)
    assert browser.title.startswith("4 labels")
    assert browser.execute_script("return document.querySelectorAll('#text script, #text img').length") == 0


def test_a_fit_that_failed_is_said_until_one_succeeds(open_page, monkeypatch):
    page, session = open_page(classes=["good", "bad"])
    assert session.wait(300)

    def fit(*_):
        raise FloatingPointError("bad luck")

    with monkeypatch.context() as patch:
        patch.setattr(TextPool, "fit", fit)
        page.label()
        page.wait(lambda: "The model could not be fitted (bad luck)" in page.message)
        page.wait(lambda: page.of("learning").text == "Learning failed")
    page.label()
    page.wait(lambda: page.of("learning").text == "")


def test_each_action_is_said_and_undone_whole(open_page):
    from selenium.webdriver.common.keys import Keys

    page, session = open_page(classes=["good", "bad"])
    first = page.text
    stays_in_place(page, page.of("skip"))
    page.moves_on(lambda: page.press("1"))
    assert page.message == ""
    second = page.text
    page.moves_on(lambda: page.press("s"))
    assert page.message.startswith("Skipped “")
    third = page.text
    page.moves_on(lambda: page.press(Keys.ARROW_LEFT))
    page.moves_on(lambda: page.press(Keys.ARROW_LEFT))
    page.moves_on(lambda: page.press("2"))
    assert page.message.startswith("Labelled “")
    assert page.message.endswith("as “bad”.")
    assert page.text == second
    page.moves_on(lambda: page.press("z"))
    assert (page.text, page.of("text").get_attribute("class")) == (first, "card answered")
    assert page.message.startswith("Undone: “")
    assert page.message.endswith("is “good” again.")
    assert page.of("message").get_attribute("aria-live") == "polite"
    page.moves_on(lambda: page.press("z"))
    assert page.text == second
    assert page.message.endswith("is no longer skipped.")
    assert third != second
    page.press("n")
    page.of("new-name").send_keys("typo", Keys.ENTER)
    page.wait(lambda: page.classes == ["good", "bad", "typo"])
    assert page.message == "Added the class “typo”."
    page.wait(lambda: page.driver.execute_script(FOCUSED) == "")
    page.press("z")
    page.wait(lambda: page.classes == ["good", "bad"])
    assert page.message == "Undone: the class “typo” is removed."
    assert len(session.answers.labels()) == 1


def test_a_bulk_answer_of_two_classes_is_undone_by_one_key(open_page, browser, monkeypatch):
    page, session = open_page(classes=["good", "bad"], labels={n: TRUTH_OF[TEXTS[n]] for n in range(20)})
    assert session.wait(60)
    page.open("surest-panel")
    page.of("surest-show").click()
    page.wait(lambda: len(page.of("surest").find_elements("tag name", "select")) == 20)
    for id in ("surest", "accuracy-line"):
        page.wait(lambda id=id: "0 of 10 random texts answered" in page.of(id).text)
    assert page.of("surest-panel").size["height"] < 700  # search and export are not far below
    assert not page.of("surest").find_element("tag name", "button").is_enabled()
    monkeypatch.setattr("dropglm.labelling.session.FEWEST_OUTCOMES", 0)
    page.of("surest-show").click()
    page.wait(lambda: "of these 20 texts are right" in page.of("surest").text)
    accept = page.of("surest").find_element("tag name", "button")
    line = page.of("surest").find_elements("css selector", "button.text")[-1]
    page.moves_on(line.click)
    page.moves_on(lambda: page.press("2"))  # an answer that the list must not overwrite
    page.wait(lambda: accept.text == "Accept 19 as good")
    browser.execute_script(
        "const select = document.querySelector('#surest select'); select.value = 'bad';"
        "select.dispatchEvent(new Event('change'))"
    )
    assert accept.text == "Label 19 texts"
    page.moves_on(accept.click)
    assert "Labelled 19 texts" in page.message
    assert len(session.answers.labels()) == 40
    page.moves_on(lambda: page.press("z"))
    assert page.message == "Undone: the answers for 19 texts are taken back."
    assert len(session.answers.labels()) == 21
    page.moves_on(lambda: page.press("z"))
    page.press("z")
    page.wait(lambda: page.message == "There is nothing to undo.")


def test_search_labels_a_text_and_shows_what_undo_did(open_page, browser):
    page, session = open_page(["a great film", "not a film", "great fun"], classes=["good", "bad"])
    page.open("search-panel")
    page.of("search-words").send_keys("film GREAT")
    browser.execute_script("document.getElementById('search-form').requestSubmit()")
    page.wait(lambda: "1 text" in page.of("found").text)
    label = "return document.querySelector('#found select').value"
    assert [mark.text for mark in page.of("found").find_elements("tag name", "mark")] == ["great", "film"]

    def choose(name):
        browser.execute_script(
            "const select = document.querySelector('#found select'); select.focus();"
            "select.value = arguments[0]; select.dispatchEvent(new Event('change', { bubbles: true }))",
            name,
        )

    choose("good")
    page.wait(lambda: page.message == "Labelled “a great film” as “good”.")
    assert session.answers.labels() == {0: "good"}
    choose("")  # "no label" takes the label back
    page.wait(lambda: page.message == "Skipped “a great film”.")
    assert session.answers.labels() == {}
    page.press("z")  # and keys are those of the page again, as the list has lost the focus
    page.wait(lambda: browser.execute_script(label) == "good")
    assert page.message == "Undone: “a great film” is “good” again."
    page.press("z")
    page.wait(lambda: browser.execute_script(label) == "")
    assert page.message == "Undone: “a great film” is no longer “good”."


def test_a_text_of_a_list_is_shown_whole_and_labelled(open_page, browser):
    from selenium.webdriver.common.keys import Keys

    long = "so " * 300 + "rare-word " + "end " * 300
    page, session = open_page([*TEXTS, long], classes=["good", "bad"])
    before = page.text
    page.open("search-panel")
    page.of("search-words").send_keys("rare-word", Keys.ENTER)
    page.wait(lambda: "1 text" in page.of("found").text)
    assert "rare-word" in page.of("found").text  # though it is far from the beginning
    line = page.of("found").find_element("css selector", "button.text")
    page.moves_on(lambda: line.send_keys(Keys.ENTER))
    assert page.text == long
    assert [mark.text for mark in page.of("text").find_elements("tag name", "mark")] == ["rare-word"]
    assert "not labelled" in page.row
    page.moves_on(lambda: page.press(Keys.ARROW_RIGHT))
    assert page.text == before
    page.moves_on(line.click)
    page.moves_on(lambda: page.press("2"))
    assert (page.text, session.answers.labels()) == (before, {80: "bad"})
    page.wait(lambda: browser.execute_script("return document.querySelector('#found select').value") == "bad")
    page.moves_on(line.click)
    assert "labelled bad" in page.row


def test_a_slow_server_is_noticed(open_page, monkeypatch):
    page, session = open_page(classes=["good", "bad"])
    journal = session.answers.journal
    at_once = journal.append
    monkeypatch.setattr(journal, "append", lambda *entries: (sleep(2), at_once(*entries))[1])
    page.press("1")
    page.wait(lambda: page.message == "Waiting for the server…")
    page.wait(lambda: page.message == "")
    assert len(session.answers.labels()) == 1


def test_a_second_tab_stays_consistent(open_page, browser):
    page, _ = open_page(classes=["good", "bad"])
    one = browser.current_window_handle
    browser.switch_to.new_window("tab")
    Page(browser, page.address)
    browser.switch_to.window(one)
    page.label()
    browser.switch_to.window(browser.window_handles[-1])
    page.wait(lambda: "1 of 80 labelled" in page.of("progress").text)
    page.label()
    browser.close()
    browser.switch_to.window(one)
    page.wait(lambda: "2 of 80 labelled" in page.of("progress").text)
    assert "another tab" in page.message


def test_a_key_does_not_label_a_text_that_has_just_appeared(open_page, browser, monkeypatch):
    """Whoever presses a key when another tab or a late answer changes the text means the text before."""
    page, session = open_page(classes=["good", "bad"])
    browser.execute_script(PRESS_KEYS_WHEN_THE_TEXT_CHANGES)
    session.answer("good")  # in another tab, say
    page.wait(lambda: browser.execute_script("return window.pressed"))
    assert len(session.answers.by_text) == 1
    page.settles()
    browser.execute_script(PRESS_KEYS_WHEN_THE_TEXT_CHANGES)
    journal = session.answers.journal
    at_once = journal.append
    monkeypatch.setattr(journal, "append", lambda *entries: (sleep(0.4), at_once(*entries))[1])
    page.press("1")
    page.wait(lambda: browser.execute_script("return window.pressed"))
    assert len(session.answers.by_text) == 2
    page.label()
    assert len(session.answers.by_text) == 3


def test_a_hidden_guess_stays_hidden_after_a_reload(open_page, browser):
    page, _ = open_page(labels={n: TRUTH_OF[TEXTS[n]] for n in range(20)})
    page.wait(lambda: page.of("guess-line").text.startswith("Guess:"), 60)  # of the first text, without a key
    assert page.of("guess-line").text.endswith("Marked words speak for or against it.")
    assert page.driver.find_elements("css selector", "#text mark")
    page.press("g")
    page.wait(lambda: page.of("guess-line").text == "The guess is hidden.")
    assert not page.driver.find_elements("css selector", "#text mark")
    browser.refresh()
    page.wait(lambda: page.of("guess-line").text == "The guess is hidden.")
    page.press("g")
    page.wait(lambda: page.of("guess-line").text.startswith("Guess:"))


def test_classes_can_be_made_on_the_page_alone(open_page, browser):
    """Without classes, the page asks for two of them, and a class key does not pass in silence."""
    from selenium.webdriver.common.keys import Keys

    page, _ = open_page()
    page.wait(lambda: page.of("first-classes").is_displayed())
    browser.execute_script("document.activeElement.blur()")
    page.press("1")
    assert "no classes yet" in page.message
    for n, name in enumerate(("good", "x" * 100), 1):
        page.wait(lambda: browser.execute_script(FOCUSED) == "new-name")
        browser.switch_to.active_element.send_keys(name, Keys.ENTER)
        page.wait(lambda n=n: len(page.classes) == n)
    page.wait(lambda: browser.execute_script(FOCUSED) == "")
    assert not page.of("first-classes").is_displayed()
    assert page.of("classes").size["height"] < 60
    page.label()
    assert "1 of 80 labelled" in page.of("progress").text
    for name, why in (
        (" ", "A class needs a name, and this one is blank."),
        ("good", "There is already a class “good”."),
    ):
        page.of("new-name").send_keys(name, Keys.ENTER)
        page.wait(lambda why=why: page.message == why)
        page.of("new-name").clear()
    browser.execute_script("document.activeElement.blur()")
    browser.get_log("browser")  # Chromium reports refused requests


def test_a_class_without_labels_can_be_removed(open_page, browser):
    page, session = open_page(classes=["good", "bad"])
    page.label()
    unused, used = (1, 0) if session.answers.is_used(0) else (0, 1)
    page.of("rename").click()
    choose = (
        "const one = document.getElementById('rename-old'); one.selectedIndex = arguments[0];"
        "one.dispatchEvent(new Event('change'))"
    )
    browser.execute_script(choose, used)
    assert not page.of("remove").is_enabled()
    browser.execute_script(choose, unused)
    page.of("remove").click()
    page.wait(lambda: len(page.classes) == 1)
    assert page.message.startswith("Removed the class “")


def stays_in_place(page, button):
    """Return the top of a button, which no message moves."""
    top = button.location["y"]
    say = "document.getElementById(arguments[0]).textContent = arguments[1]"
    for where, said in (
        ("learning", "Learning…"),
        ("learning", ""),
        ("message", "long one " * 40),
        ("message", ""),
    ):
        page.driver.execute_script(say, where, said)
        assert button.location["y"] == top
    return top


def test_the_page_fits_a_phone_and_works_by_tapping(open_page, browser, look):
    look(390, dark=True)
    page, _ = open_page(classes=["good", "bad" * 33])
    buttons = page.of("classes").find_elements("tag name", "button")
    top = stays_in_place(page, buttons[0])
    page.moves_on(lambda: buttons[0].click())
    assert buttons[0].location["y"] == top
    page.moves_on(lambda: page.of("undo").click())
    page.moves_on(lambda: page.of("skip").click())
    page.moves_on(lambda: page.of("back").click())
    page.moves_on(lambda: buttons[1].click())
    assert "1 of 80" in page.of("progress").text
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


def test_the_surest_texts_appear_when_there_is_a_model(open_page, browser):
    page, _ = open_page(classes=["good", "bad"])
    page.open("surest-panel")
    page.of("surest-show").click()
    page.wait(lambda: page.of("surest").text == "The model has not learnt this class yet.")
    for _ in range(6):
        page.label()
    page.wait(lambda: page.of("surest").find_elements("tag name", "li"))


DRAW = """
const [points, done] = arguments;
import("./static/curve.js").then(({ drawCurve }) => {
  const box = document.getElementById("curve");
  drawCurve(box, points);
  const width = box.firstChild.viewBox.baseVal.width;
  const texts = [...box.querySelectorAll("text")];
  done(texts.filter((one) => one.getBBox().x < 0 || one.getBBox().x + one.getBBox().width > width).length);
});
"""


def test_the_numbers_beside_the_curve_are_whole(open_page, browser):
    open_page(classes=["good", "bad"])
    for low in (0.0, 0.67):
        points = [[50, 0.9, low, 1.0, 10], [12_345, 1.0, low, 1.0, 14]]
        assert browser.execute_async_script(DRAW, points) == 0
