"""The page of ``dropglm serve`` in a real browser."""

import json
import shutil
import subprocess

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from dropglm import TextClassifier
from dropglm.web.application import application
from dropglm.web.running import serving
from dropglm.web.serving import TextService
from tests.text.synthetic import texts_with_labels
from tests.web.browser import needs_browser

pytestmark = needs_browser
TITLE = "films: bad or good?"


@pytest.fixture(scope="module")
def address(model):
    with serving(application(TextService(model, "films").routes(), log=False)) as address:
        yield address


def text_of(browser, name):
    return browser.find_element(By.ID, name).text


def wait_for(browser, condition):
    return WebDriverWait(browser, 10, poll_frequency=0.05).until(lambda _: condition())


def words(browser, table):
    return [cell.text for cell in browser.find_elements(By.CSS_SELECTOR, f"#{table} td:first-child")]


def type_text(browser, text):
    box = browser.find_element(By.ID, "text")
    box.clear()
    browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", box, text
    )


def test_the_prediction_changes_while_typing(browser, address):
    browser.get(address)
    wait_for(browser, lambda: text_of(browser, "model") == TITLE)
    assert text_of(browser, "classes") == "2 classes: bad, good"
    box = browser.find_element(By.ID, "text")
    box.send_keys(" ")  # an empty box predicts nothing
    for name in ("verdict", "bars", "words", "request"):
        assert not browser.find_element(By.ID, name).is_displayed()
    box.send_keys("a wonderful film")
    wait_for(browser, lambda: "wonderful" in words(browser, "supporting"))
    assert text_of(browser, "label") == "good"
    assert browser.switch_to.active_element == box
    box.send_keys(", but dull, long and boring")
    wait_for(browser, lambda: text_of(browser, "label") == "bad")
    assert "boring" in words(browser, "supporting")
    assert "wonderful" in words(browser, "opposing")
    assert "but" in text_of(browser, "unknown")
    box.clear()
    box.send_keys(" ")
    wait_for(browser, lambda: not browser.find_element(By.ID, "verdict").is_displayed())


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_request_of_an_answer_is_a_command(browser, address):
    browser.get(address)
    type_text(browser, 'it\'s a "wonderful" film;\n$HOME `x` \\ é🎬')
    wait_for(browser, lambda: "wonderful" in words(browser, "supporting"))
    browser.find_element(By.CSS_SELECTOR, "#request summary").click()
    browser.find_element(By.ID, "copy").click()
    wait_for(browser, lambda: text_of(browser, "copied"))
    command = browser.find_element(By.ID, "curl").get_attribute("textContent")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["explanations"][0]["label"] == text_of(browser, "label")
    assert browser.execute_script("return String(getSelection())") == command


def test_all_classes_can_be_seen(browser):
    names = [f"class {n}" for n in range(30)]
    model = TextClassifier((1, 1), tune=False, min_df=1).fit([f"word{n}" for n in range(30)] * 2, names * 2)
    with serving(application(TextService(model, "many").routes(), log=False)) as address:
        browser.get(address)
        wait_for(browser, lambda: browser.title == "many: which of 30 classes?")
        type_text(browser, "word7")
        wait_for(browser, lambda: text_of(browser, "label") == "class 7")
        assert sorted(words(browser, "bars")) == sorted(names)
        assert browser.find_element(By.ID, "bars").size["height"] < 300
        assert text_of(browser, "classes").endswith("class 9")


@pytest.mark.parametrize(
    "text", ["<script>document.title = 1</script><b>x</b>", "فيلم رائع", "🎬👩‍👩‍👧", "\ud800"]
)
def test_texts_are_shown_as_text(browser, address, text):
    browser.get(address)
    wait_for(browser, lambda: text_of(browser, "model") == TITLE)
    if text == "\ud800":  # Selenium cannot send it
        browser.execute_script("window.half = '\\ud800'; document.getElementById('text').value = window.half")
        browser.execute_script("document.getElementById('text').dispatchEvent(new Event('input'))")
        wait_for(browser, lambda: "%" in text_of(browser, "probability"))
    else:
        type_text(browser, text)
        wait_for(browser, lambda: "Unknown" in text_of(browser, "unknown"))
    assert browser.title == TITLE
    assert browser.find_elements(By.CSS_SELECTOR, "main script, main b") == []
    assert not browser.find_element(By.ID, "error").is_displayed()


def test_a_long_text_is_answered(browser, address):
    browser.get(address)
    box = browser.find_element(By.ID, "text")
    browser.execute_script("arguments[0].value = 'boring film '.repeat(9000).slice(0, 100000)", box)
    browser.execute_script("arguments[0].dispatchEvent(new Event('input'))", box)
    wait_for(browser, lambda: text_of(browser, "label") == "bad" and words(browser, "supporting"))
    assert "100,000 characters" in text_of(browser, "full")


def test_names_of_classes_and_words_are_only_text(browser):
    names = ["<img src=x onerror=alert(1)>", "جيد"]
    model = TextClassifier((1, 1), tune=False, min_df=1, strip_html=False)
    model.fit(["<b> one", "two"] * 3, names * 3)
    with serving(application(TextService(model, "<i>m</i>").routes(), log=False)) as address:
        browser.get(address)
        type_text(browser, "<b> one")
        wait_for(browser, lambda: "one" in words(browser, "supporting"))
        assert text_of(browser, "label") == names[0]
        assert text_of(browser, "model") == f"<i>m</i>: {names[0]} or {names[1]}?"
        assert browser.find_elements(By.CSS_SELECTOR, "img, i, main b") == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_its_width(browser, look, address, width, dark):
    look(width, dark)
    browser.get(address)
    type_text(browser, "a wonderful film with a boring story " + "Donaudampfschifffahrt" * 20)
    wait_for(browser, lambda: "wonderful" in words(browser, "supporting"))
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    background = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 200) == dark
    sizes = browser.execute_script("return [...document.querySelectorAll('td, p')].map(e => e.scrollWidth)")
    assert max(sizes) <= width


def test_it_says_when_the_server_is_gone(browser, model):
    with serving(application(TextService(model, "films").routes(), log=False)) as address:
        browser.get(address)
        wait_for(browser, lambda: text_of(browser, "classes"))
    type_text(browser, "a film")
    wait_for(browser, lambda: "does not answer" in text_of(browser, "error"))
    browser.get_log("browser")  # it has noted the refused connection


def test_several_labels_are_shown_with_the_words_for_and_against_one(browser):
    texts, labels = texts_with_labels(60)
    model = TextClassifier(tune=False).fit(texts, labels)
    with serving(application(TextService(model, "reviews").routes(), log=False)) as address:
        browser.get(address)
        wait_for(browser, lambda: text_of(browser, "classes") == "3 labels: bad, good, odd")
        type_text(browser, "lovely great fun, but dull boring long")
        wait_for(browser, lambda: text_of(browser, "label") == "bad, good")
        assert "against" in text_of(browser, "side")
        assert text_of(browser, "heading").endswith("which texts get above 50.0 %")
        type_text(browser, "?")
        wait_for(browser, lambda: text_of(browser, "label") == "no label")
