"""Pictures of the page of ``dropglm label`` after some labels, taken in a real browser.

python -m benchmarks.label_picture            the picture of docs/labelling.md
python -m benchmarks.label_picture FOLDER     pictures of two widths, light and dark

Needs Debian's chromium and chromium-driver. The texts are docstrings, and the labels are their packages.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.chromium import chromium
from benchmarks.markdown import ROOT
from dropglm import load_dataset
from dropglm.labelling import LabellingSession
from dropglm.labelling.output_files import Exports
from dropglm.web.application import application
from dropglm.web.label_page import LabelPage
from dropglm.web.running import serving

PICTURE = ROOT / "docs/labelling.png"
LABELS = 150
READY = """
const done = arguments[0];
const isReady = () => document.querySelector("#curve .dot") && document.querySelector("#words b");
const look = () => isReady() ? done() : setTimeout(look, 50);
look();
"""


def labelled_session(folder: Path) -> tuple[LabellingSession, Exports]:
    """Return a session in which docstrings were labelled, two of them wrongly."""
    data = load_dataset("docstrings")
    assert data.texts is not None
    assert data.texts_test is not None
    assert data.y_test is not None
    texts, truth = [*data.texts, *data.texts_test], [*data.y, *data.y_test]
    session = LabellingSession(texts, folder / "docstrings.labels.jsonl", classes=data.class_names, seed=1)
    for n in range(LABELS):
        session.wait()
        assert session.current is not None
        label = truth[session.current.number]
        session.answer(label if n not in (60, 61) else data.class_names[data.class_names.index(label) - 1])
    session.wait()
    return session, Exports(session, folder / "docstrings")


def take(driver: Any, address: str, path: Path, *, panels: bool) -> None:
    driver.get(address)
    driver.set_script_timeout(120)
    driver.execute_async_script(READY)
    if panels:
        script = "for (const one of arguments[0]) document.getElementById(one).open = true"
        driver.execute_script(script, ["words-panel", "suspects-panel", "surest-panel", "search-panel"])
        driver.execute_script("document.getElementById('surest-show').click()")
        driver.execute_async_script("setTimeout(arguments[0], 4000)")
        height = driver.execute_script("return document.documentElement.scrollHeight")
        size = driver.execute_script("return innerWidth")
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": size, "height": min(height, 4000), "deviceScaleFactor": 1, "mobile": size < 500},
        )
    driver.save_screenshot(str(path))


def main() -> None:
    with TemporaryDirectory() as folder:
        session, exports = labelled_session(Path(folder))
        page = LabelPage(session, exports, "docstrings.csv")
        with session, serving(application(page.routes(), log=False)) as address:
            if len(sys.argv) == 1:
                with chromium(1200, 900) as driver:
                    take(driver, address, PICTURE, panels=False)
                return
            for width, height in ((1200, 800), (390, 844)):
                for dark in (False, True):
                    name = f"label-{width}-{'dark' if dark else 'light'}"
                    with chromium(width, height, dark=dark) as driver:
                        take(driver, address, Path(sys.argv[1]) / f"{name}.png", panels=False)
                        take(driver, address, Path(sys.argv[1]) / f"{name}-panels.png", panels=True)


if __name__ == "__main__":
    main()
