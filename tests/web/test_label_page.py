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

        def opened(texts=TEXTS, columns=None, **settings):
            path = tmp_path / "a.labels.jsonl"
            session = stack.enter_context(LabellingSession(texts, path, seed=0, **settings))
            page = LabelPage(session, Exports(session, tmp_path / "a"), "a.csv", columns)
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
    assert (page.text, page.of("item").get_attribute("class")) == (first, "card answered")
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


def test_a_bulk_answer_is_undone_by_one_key(open_page, browser, monkeypatch):
    page, session = open_page(classes=["good", "bad"], labels={n: TRUTH_OF[TEXTS[n]] for n in range(20)})
    assert session.wait(60)
    page.open("surest-panel")
    page.of("surest-show").click()
    page.wait(lambda: len(page.of("surest").find_elements("tag name", "li")) == 20)
    for id in ("surest", "accuracy-line"):
        page.wait(lambda id=id: "0 of 10 random texts" in page.of(id).text)
    assert page.of("surest-panel").size["height"] < 700  # search and export are not far below
    assert not page.of("surest").find_element("tag name", "button").is_enabled()
    monkeypatch.setattr("dropglm.labelling.session.FEWEST_OUTCOMES", 0)
    page.of("surest-show").click()
    page.wait(lambda: "of these 20 texts are right" in page.of("surest").text)
    accept = page.of("surest").find_element("tag name", "button")
    lines = page.of("surest").find_elements("css selector", "button.text")
    page.moves_on(lines[-1].click)
    page.moves_on(lambda: page.press("2"))  # an answer that the list must not overwrite
    page.wait(lambda: accept.text == "Accept 19 as good")
    assert page.of("surest").find_elements("css selector", "li.done .note")[0].text == "labelled bad"
    browser.execute_script("document.querySelector('#surest input').click()")  # left out
    assert accept.text == "Accept 18 as good"
    page.moves_on(accept.click)
    assert "Labelled 18 texts" in page.message
    assert len(session.answers.labels()) == 39
    page.wait(lambda: accept.text == "Accept 0 as good")
    assert len(page.of("surest").find_elements("css selector", "li.done")) == 19  # rows stay where they are
    page.moves_on(lambda: page.press("z"))
    assert page.message == "Undone: the answers for 18 texts are taken back."
    assert len(session.answers.labels()) == 21
    page.wait(lambda: accept.text == "Accept 18 as good")
    page.moves_on(lambda: page.press("z"))
    session.rename_class("good", "fine")
    page.wait(lambda: page.of("surest").find_element("tag name", "button").text == "Accept 20 as fine")


def test_texts_of_a_search_are_labelled_with_the_keys_of_the_page(open_page, browser):
    from selenium.webdriver.common.keys import Keys

    long = "so " * 300 + "rare-word " + "end " * 300
    others = [f"a rare-word {n} lovely fun" for n in range(3)]
    known = {"classes": ["good", "bad"], "labels": {n: TRUTH_OF[TEXTS[n]] for n in range(30)}}
    page, session = open_page([*TEXTS, long, *others], **known)
    assert session.wait(60)
    before = page.text
    page.press("/")
    page.of("search-words").send_keys("RARE-word", Keys.ENTER)
    page.wait(lambda: "4 texts" in page.of("found").text)
    assert browser.execute_script(FOCUSED) == ""
    rows = page.of("found").find_elements("tag name", "li")
    assert "rare-word" in rows[0].text  # though it is far from the beginning
    assert "not labelled, guess: " in rows[1].text
    places = [row.location["y"] for row in rows]

    def notes():
        return [row.find_element("css selector", ".note").text for row in rows]

    page.moves_on(lambda: page.press(Keys.ARROW_DOWN))
    assert page.text == long
    assert [mark.text for mark in page.of("text").find_elements("css selector", "mark.found")] == [
        "rare-word"
    ]
    assert "not labelled" in page.row
    assert "1 of 4 in the list" in page.row
    page.moves_on(lambda: page.press("1"))  # and the next text of the list follows
    assert page.text == others[0]
    assert page.of("guess-line").text.startswith("Guess: good")
    assert page.of("text").find_elements("css selector", "mark.for")
    page.moves_on(lambda: page.press(Keys.ENTER))
    assert page.text == others[1]
    page.wait(lambda: notes()[:2] == ["labelled good", "labelled good"])
    page.moves_on(lambda: page.press("s"))
    page.wait(lambda: notes()[2] == "skipped")
    page.moves_on(lambda: page.press("z"))
    assert page.text == others[1]
    page.wait(lambda: notes()[2].startswith("not labelled"))
    page.moves_on(lambda: page.press(Keys.ARROW_UP))
    assert "labelled good" in page.row
    page.moves_on(lambda: page.press(Keys.ESCAPE))
    assert page.text == others[1]  # whose answer was taken back
    page.moves_on(lambda: page.press("s"))
    assert page.text == before
    assert [row.location["y"] for row in rows] == places
    assert {number for number in session.answers.labels() if number >= 80} == {80, 81}
    line = page.of("found").find_element("css selector", "button.text")
    page.moves_on(lambda: line.send_keys(Keys.ENTER))
    page.moves_on(lambda: page.press(Keys.ARROW_RIGHT))
    assert page.text == before


def test_enter_accepts_the_guess_that_is_shown(open_page):
    from selenium.webdriver.common.keys import Keys

    page, session = open_page(labels={n: TRUTH_OF[TEXTS[n]] for n in range(20)})
    page.wait(lambda: page.of("guess-line").text.startswith("Guess:"), 60)
    guess = page.of("guess-line").find_element("tag name", "b").text
    number = session.current.number
    page.moves_on(lambda: page.press(Keys.ENTER))
    assert session.answers.labels()[number] == guess
    page.moves_on(page.of("accept").click)
    page.moves_on(page.of("skip").click)  # and the button that was clicked does not take the key
    page.moves_on(lambda: page.press(Keys.ENTER))
    assert (len(session.answers.labels()), len(session.answers.by_text)) == (23, 24)
    page.press("g")
    page.press(Keys.ENTER)
    page.wait(lambda: page.message == "There is no guess to accept.")
    assert not page.of("accept").is_enabled()
    page.press("g")


def test_suspicious_labels_are_fixed_and_kept_with_the_keys_of_the_page(open_page):
    from selenium.webdriver.common.keys import Keys

    labels = {n: TRUTH_OF[TEXTS[n]] for n in range(60)} | {3: "good"}  # which is wrong
    page, session = open_page(classes=["good", "bad"], labels=labels)
    assert session.wait(60)
    page.open("suspects-panel")
    page.wait(lambda: len(page.of("suspects").find_elements("tag name", "li")) == 2)
    rows = page.of("suspects").find_elements("tag name", "li")
    first, second = (int(row.get_attribute("data-number")) for row in rows)

    def note(row):
        return row.find_element("css selector", ".note").text

    page.moves_on(lambda: page.press(Keys.ARROW_DOWN))
    assert page.of("guess-line").text.startswith("Guess: bad")
    page.moves_on(lambda: page.press(Keys.ENTER))
    page.wait(lambda: note(rows[0]) == "labelled bad")
    assert "2 of 2 in the list" in page.row
    own = labels[second]
    page.moves_on(lambda: page.press("1" if own == "good" else "2"))
    page.wait(lambda: note(rows[1]) == f"kept as {own}")
    page.moves_on(lambda: page.press("z"))
    page.wait(lambda: "predicted" in note(rows[1]))
    page.press("k")
    page.wait(lambda: note(rows[1]) == f"kept as {own}")
    assert (session.answers.labels()[first], session.answers.by_text[second].kept) == ("bad", True)


def test_columns_of_the_table_are_shown_with_the_text(open_page, browser):
    columns = {
        "title": [f"<b>{n}</b>" for n in range(80)],
        "url": [f"https://a.org/{n}" for n in range(79)] + [None],
    }
    page, session = open_page(classes=["good", "bad"], columns=columns)
    for _ in range(2):
        number = session.current.number
        assert page.of("columns").text.split("\n")[1] == f"<b>{number}</b>"
        link = page.of("columns").find_element("tag name", "a")
        assert link.get_attribute("href") == f"https://a.org/{number}"
        assert "noreferrer" in link.get_attribute("rel")
        page.label()


def test_many_classes_scroll_and_are_found_by_name(open_page, browser):
    from selenium.webdriver.common.keys import Keys

    page, session = open_page(classes=[f"class_{n}" for n in range(60)])
    assert page.of("classes").size["height"] < 500
    assert page.of("skip").location["y"] < 900
    page.press("c")
    page.moves_on(lambda: page.of("find-class").send_keys("S_37", Keys.ENTER))
    assert list(session.answers.labels().values()) == ["class_37"]
    assert browser.execute_script(FOCUSED) == ""
    assert len([name for name in page.classes if name]) == 60


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
    assert page.of("legend").text == "Words for and against it, by strength"
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
    assert page.of("classes").size["height"] < 90
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
