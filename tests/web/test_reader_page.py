"""The page of ``examples/readers``, which scores a text in the browser without a server behind it."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from benchmarks.exports import READERS
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from dropglm.exports import write_json
from tests.web.browser import needs_browser

pytestmark = needs_browser


class Silent(SimpleHTTPRequestHandler):
    # Windows may take .mjs for something else, and browsers refuse such modules.
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript"}

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=READERS))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_text_is_scored_while_it_is_typed(browser, address, model, tmp_path):
    write_json(model, tmp_path / "model.json")
    (tmp_path / "other.json").write_text("{}")
    browser.get(f"{address}/index.html")

    def shown(part):
        WebDriverWait(browser, 10, poll_frequency=0.05).until(
            lambda _: part in browser.find_element(By.ID, "out").text
        )

    browser.find_element(By.ID, "file").send_keys(str(tmp_path / "other.json"))
    shown("not a model of this format")
    browser.find_element(By.ID, "file").send_keys(str(tmp_path / "model.json"))
    text = "A WONDERFUL <b>story</b>"
    browser.find_element(By.ID, "text").send_keys(text)
    p = model.predict_proba([text])[0]
    shown(f"good {p[1]:.3f}, bad {p[0]:.3f}")
