"""A real browser, and models to serve."""

import pytest
from benchmarks.chromium import chromium

from dropglm import TextClassifier

TEXTS = [
    "a wonderful film, warm and funny",
    "a dull film, long and boring",
    "an odd story with a great cast",
    "a boring story, bad cast",
]
LABELS = ["good", "bad", "good", "bad"]


@pytest.fixture(scope="session")
def model():
    return TextClassifier((1, 2), tune=False).fit(TEXTS * 5, LABELS * 5)


@pytest.fixture(scope="session")
def model_file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "films.skops"
    model.save(path)
    return path


@pytest.fixture(scope="session")
def shared_browser():
    with chromium() as driver:
        yield driver


@pytest.fixture
def browser(shared_browser):
    """A browser; afterwards, its console must be empty: no error, nothing refused by the policy."""
    shared_browser.get_log("browser")
    yield shared_browser
    shared_browser.get("about:blank")
    assert [entry["message"] for entry in shared_browser.get_log("browser")] == []


@pytest.fixture
def look(browser):
    """Set the width of the page and its colours: ``look(390, dark=True)``."""

    def set_look(width, dark=False, height=900):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme = "dark" if dark else "light"
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )

    yield set_look
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
